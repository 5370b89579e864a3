"""Results files of mteb, SentEval and ours: scores by metric path, settings, and what differs between two."""

import json

import pytest

from replicse.errors import BadInput
from replicse.study.judge.result_files import compare_results, read_results

MTEB = {
    "task_name": "STS12",
    "dataset_revision": "a0d554a",
    "mteb_version": "2.26.24",
    "scores": {"test": [{"main_score": 0.7237, "hf_subset": "default", "languages": ["eng-Latn"]}]},
    "evaluation_time": 3.1,
}
OLD = {
    "mteb_dataset_name": "STS12",
    "dataset_revision": "fdf8427",
    "mteb_version": "0.0.2",
    "test": {"cos_sim": {"pearson": 0.71, "spearman": 0.72}, "evaluation_time": 3.1},
}
SENTEVAL = {
    "STS12": {"MSRpar": {"nsamples": 750}, "all": {"spearman": {"all": 0.684, "mean": 0.7, "wmean": 0.71}}},
    "STSBenchmark": {"dev": {"spearman": [0.82, 0.0]}, "test": {"spearman": [0.7685, 0.0]}},
    "MR": {"devacc": 81.0, "acc": 81.2},
}


def written(folder, name, document):
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(document))
    return file


def test_a_file_of_mteb_is_its_main_score_and_that_of_the_same_test_set_here(tmp_path):
    results = read_results(written(tmp_path, "STS12.json", MTEB))
    assert results.tool == "mteb" and results.score("mteb/STS12") == pytest.approx(72.37)
    assert results.score("sts/STS12/all") == pytest.approx(72.37)
    assert results.settings["STS12: dataset_revision"] == "a0d554a"
    old = read_results(written(tmp_path, "old.json", OLD))
    assert old.score("sts/STS12/all") == pytest.approx(72.0)
    broken = {**OLD, "validation": {"cos_sim": "a b"}}
    assert read_results(written(tmp_path, "broken.json", broken)).scores == old.scores


def test_sick_r_of_mteb_is_another_test_set(tmp_path):
    sick = {**MTEB, "task_name": "SICK-R"}
    assert read_results(written(tmp_path, "SICK-R.json", sick)).score("sts/SICK-R/all") is None


def test_a_file_of_senteval(tmp_path):
    scores = read_results(written(tmp_path, "results.json", SENTEVAL)).scores
    assert scores["sts/STS12/all"] == pytest.approx(68.4) and scores["sts/STS12/wmean"] == pytest.approx(71)
    assert scores["sts/STS-B/all"] == pytest.approx(76.85) and scores["sts-dev/STS-B/all"] == 82
    assert scores["transfer/MR/accuracy"] == 81.2
    trained = {"STSBenchmark": {"devpearson": 0.7, "pearson": 0.65, "spearman": 0.647}}
    scores = read_results(written(tmp_path, "trained.json", trained)).scores
    assert scores == {"variants/stsb-regressor/STS-B": pytest.approx(64.7)}


def test_a_file_of_ours(tmp_path):
    ours = {
        "encoder": "folder", "pooling": "cls", "max_length": 512,
        "suites": {"sts": {"avg": 75.5, "STS12": {"all": 68.4, "n": 3108, "low": 66.0}}},
        "provenance": {"device": "cpu", "versions": {"torch": "2"}},
    }  # fmt: skip
    results = read_results(written(tmp_path, "ours.json", ours))
    assert results.scores == {"sts/avg": 75.5, "sts/STS12/all": 68.4}
    assert results.settings["versions/torch"] == "2" and results.settings["pooling"] == "cls"


@pytest.mark.parametrize("document", [{"results": {"hellaswag": {"acc": 0.6}}}, [1, 2], {}])
def test_a_file_of_another_tool_is_refused(tmp_path, document):
    file = written(tmp_path, "other.json", document)
    with pytest.raises(BadInput, match=r"other\.json: no results file of mteb, SentEval or RepliCSE"):
        read_results(file)


def test_two_results_differ_in_settings_and_in_scores_beyond_numerics(tmp_path):
    first = read_results(written(tmp_path, "a/STS12.json", MTEB))
    part = {"test": [{"main_score": 0.7232, "hf_subset": "default"}]}
    second = read_results(
        written(tmp_path, "b/STS12.json", {**MTEB, "dataset_revision": "fff", "scores": part})
    )
    found = compare_results(first, second)
    assert found.settings == {"STS12: dataset_revision": ("a0d554a", "fff")}
    assert found.standing("mteb/STS12/test") == "within numerics"
    assert found.scores.keys() == {"mteb/STS12/test"}, "one score has one name"
    far = read_results(written(tmp_path, "c/STS12.json", OLD))
    assert compare_results(first, far).standing("mteb/STS12/test") == "beyond numerics"
    assert compare_results(first, first).standing("mteb/STS12/test") == "equal"
    ours = read_results(written(tmp_path, "d.json", {"suites": {"sts": {"STS12": {"all": 72.37}}}}))
    assert compare_results(first, ours).scores.keys() == {"sts/STS12/all"}


def test_results_without_a_common_score_are_refused(tmp_path):
    first = read_results(written(tmp_path, "a.json", MTEB))
    second = read_results(written(tmp_path, "b.json", {**MTEB, "task_name": "SciFact"}))
    with pytest.raises(BadInput, match="share no score"):
        compare_results(first, second)
