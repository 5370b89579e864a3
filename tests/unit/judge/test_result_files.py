"""Results files of mteb, SentEval, SimCSE and RepliCSE."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from cases import cases
from scipy.stats import bootstrap, spearmanr

from replicse.cli import main
from replicse.errors import BadInput
from replicse.judge.values.pairs import pack_pairs
from replicse.judge.values.result_differences import compare_results
from replicse.judge.values.result_files import read_results

SEVEN = (68.4, 82.41, 74.38, 80.91, 78.56, 76.85, 72.23)
STS = {f"STS{12 + n}": {"all": {"spearman": {"all": SEVEN[n] / 100, "wmean": 0.5}}} for n in range(5)}
SENTEVAL = STS | {
    "STSBenchmark": {"dev": {"spearman": [0.82, 0.0]}, "test": {"spearman": [0.7685, 0.0]}},
    "SICKRelatedness": {"test": {"spearman": 0.7223}},
}
NAMES = ("STS12", "STS13", "STS14", "STS15", "STS16", "STSBenchmark", "SICKRelatedness")
ROW = "+----+\n| {} | Avg. |\n+----+\n| {} | 76.25 |\n+----+\n"
TABLE = ROW.format(" | ".join(NAMES), " | ".join(map(str, SEVEN)))
DEVELOPMENT = ROW.format("STSBenchmark | SICKRelatedness", "82.45 | 0.00")
EVALUATION = {"eval_stsb_spearman": 0.8245, "eval_sickr_spearman": 0.7389}
WORSE = {"eval_stsb_spearman": 0.81, "eval_MR": 80.1}
SENTEVAL_LOG = """\
2026-11-01 09:00:00,1 : ***** Transfer task : STS12 *****
2026-11-01 09:00:01,1 : MSRpar : pearson = 0.5, spearman = 0.4
2026-11-01 09:00:01,1 : ALL : pearson = 0.7, spearman = 0.684
2026-11-01 09:00:01,1 : ALL (weighted average) : Pearson = 0.7,             Spearman = 0.67
2026-11-01 09:00:01,1 : ALL (average) : Pearson = 0.7,             Spearman = 0.66
2026-11-01 09:00:02,1 : ***** Transfer task : STSBenchmark*****
2026-11-01 09:00:02,1 : train : pearson = 0.7, spearman = 0.9
2026-11-01 09:00:02,1 : dev : pearson = 0.7, spearman = 0.8
2026-11-01 09:00:02,1 : test : pearson = 0.7, spearman = 0.75
2026-11-01 09:00:02,1 : ALL : pearson = 0.7, spearman = 0.77
2026-11-01 09:00:03,1 : ***** Transfer task : SST Binary classification *****
2026-11-01 09:00:03,1 : Dev acc : 84.0 Test acc : 84.5 for             SST Binary classification
2026-11-01 09:00:04,1 : ***** Transfer task : SST Fine-Grained classification *****
2026-11-01 09:00:04,1 : Dev acc : 40.0 Test acc : 41.0 for             SST Fine-Grained classification
"""
PRINTED = """some line
{'STS12': {'MSRpar': {'pearson': (np.float64(0.5), 0.0), 'nsamples': 750},
 'all': {'pearson': {'all': np.float64(0.7)},
 'spearman': {'all': np.float64(0.684), 'wmean': 0.67}}},
 'MR': {'devacc': 81.0, 'acc': 81.2, 'ndev': 9, 'ntest': 10662}}
"""
PREFIXED = """\
07/01/2026 10:00:00 - INFO - __main__ -   ***** Eval results *****
07/01/2026 10:00:00 - INFO - __main__ -     eval_stsb_spearman = 0.809
07/01/2026 10:00:00 - INFO - __main__ -     eval_MR = 77.1
"""
EVALUATOR = "epoch,steps,cosine_pearson,cosine_spearman\n0.5,10,0.7,0.9\n1.0,20,0.7,0.82\n"
STEPS = [{"step": step, "eval_dev_spearman_cosine": score} for step, score in ((10, 0.9), (20, 0.7))]
MARKED = r"""
Model & STS12 & STS13 & STS14 & STS15 \\
ours & \textbf{68.40} & \underline{82.41}$_{\pm 0.3}$ & 74.38 ± 0.12 & see text \\
"""
GOLD = np.arange(120) / 24
OURS = {"avg": 75.5, "STS12": {"all": 68.4, "n": 3108, "low": 66.0}}


def mteb(task, main_score, subset="default", split="test", **more):
    """Return a results file of the current mteb with a single score.

    Args:
        task: Name of the task.
        main_score: Score from 0 to 1.
        subset: Name of the subset. Default: "default".
        split: Name of the split. Default: "test".
        more: Further fields of the score.
    """
    entry = {"main_score": main_score, "hf_subset": subset, "languages": ["eng-Latn"], **more}
    return {"task_name": task, "mteb_version": "1.14.17", "scores": {split: [entry]}}


def old(task, **splits):
    """Return a results file of mteb before 1.11."""
    return {"mteb_dataset_name": task, "mteb_version": "1.0.2", "dataset_version": None, **splits}


MODEL = {
    "model_name": "org/a",
    "model_revision": "e34f",
    "task_results": [mteb("STS12", 0.7), mteb("STSBenchmark", 0.8)],
}


def cosine(spearman):
    return {"cos_sim": {"pearson": 0.1, "spearman": spearman}, "evaluation_time": 3.1}


def written(file, document):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(document if isinstance(document, str) else json.dumps(document))
    return file


@pytest.mark.parametrize(
    ("name", "document", "scores"),
    [
        ("a.json", mteb("STS12", 0.7237), {"mteb/STS12": 72.37, "sts/STS12/all": 72.37}),
        ("a.json", mteb("SICK-R", 0.8), {"mteb/SICK-R": 80, "sts/SICK-R/all": None}),
        ("a.json", mteb("STS17", 0.8, "en-en"), {"mteb/STS17": 80}),
        ("a.json", mteb("STS17", 0.8, "es-en"), {"mteb/STS17": None, "mteb/STS17/test/es-en": 80}),
        ("a.json", mteb("MSMARCO", 0.3, split="dev"), {"mteb/MSMARCO": 30}),
        ("a.json", mteb("MindSmallReranking", None, map=0.3, mrr=0.4), {"mteb/MindSmallReranking": 30}),
        ("a.json", mteb("SciFact", None, map_at_1000=0.3, ndcg_at_10=0.6), {"mteb/SciFact": 60}),
        ("a.json", old("STSBenchmark", test=cosine(0.8)), {"sts/STS-B/all": 80}),
        ("a.json", old("STSBenchmark", test={"cos_sim": 0.8}, validation=None), {"mteb/STSBenchmark": 80}),
        ("a.json", old("STS17", test={"en-en": cosine(0.8), "de-en": cosine(0.3)}), {"mteb/STS17": 80}),
        ("a.json", old("TwitterSemEval2015", test={"max": {"ap": 0.7}}), {"mteb/TwitterSemEval2015": 70}),
        ("a.json", old("BUCC", test={"de-en": {"accuracy": 0.9, "f1": 0.91}}), {"mteb/BUCC/test/de-en": 91}),
        ("STS13.json", {"mteb_version": "0.0.2", "test": cosine(0.8)}, {"mteb/STS13": 80}),
        ("a.json", SENTEVAL, {"sts/avg": 76.2486, "sts-dev/STS-B/all": 82, "sts/STS12/wmean": 50}),
        ("a.json", STS, {"sts/avg": None, "sts/STS16/all": 78.56}),
        ("a.json", {"STSBenchmark": {"spearman": 0.647}}, {"variants/stsb-regressor/STS-B": 64.7}),
        ("a.json", {"MR": {"devacc": 81.0, "acc": 81.2}}, {"transfer/MR/accuracy": 81.2}),
        ("a.txt", f"------ test ------\n{TABLE}", {"sts/avg": 76.2486, "sts/SICK-R/all": 72.23}),
        ("a.log", TABLE.replace("74.38", "0.00"), {"sts/avg": None, "sts/STS14/all": None, "mteb/STS13": 82.41}),
        ("a.txt", TABLE.replace("|", "&").replace("&\n", "\\\\\n"), {"sts/avg": 76.2486}),
        ("a.txt", f"------ dev ------\n{DEVELOPMENT}", {"sts-dev/STS-B/all": 82.45, "sts-dev/SICK-R/all": None}),
        ("eval_results.txt", "epoch = 1.0\neval_stsb_spearman = 0.8245\n", {"sts-dev/STS-B/all": 82.45}),
        ("eval_results.json", EVALUATION, {"sts-dev/SICK-R/all": 73.89}),
        (
            "trainer_state.json",
            {"best_metric": 0.8245, "log_history": [{"loss": 1}, EVALUATION, WORSE]},
            {"sts-dev/STS-B/all": 82.45, "transfer-dev/MR/dev_accuracy": None},
        ),
        ("all.json", {"model_results": [MODEL]}, {"mteb/STS12": 70, "mteb/STSBenchmark": 80}),
        ("a.log", SENTEVAL_LOG, {"sts/STS12/all": 68.4, "sts/STS12/wmean": 67, "sts/STS12/mean": 66,
         "sts/STS-B/all": 75, "sts-dev/STS-B/all": 80, "transfer/SST2/accuracy": 84.5,
         "transfer-dev/SST2/dev_accuracy": 84}),
        ("a.out", PRINTED, {"sts/STS12/all": 68.4, "sts/STS12/wmean": 67, "transfer/MR/accuracy": 81.2}),
        ("a.log", PREFIXED, {"sts-dev/STS-B/all": 80.9, "transfer-dev/MR/dev_accuracy": 77.1}),
        ("similarity_evaluation_sts-dev_results.csv", EVALUATOR, {"eval/sts-dev/spearman_cosine": 82}),
        ("trainer_state.json", {"log_history": STEPS}, {"eval/dev/spearman_cosine": 70}),
        ("trainer_state.json", {"log_history": STEPS, "best_metric": 0.9}, {"eval/dev/spearman_cosine": 90}),
        ("wandb-summary.json", {"_step": 9, **STEPS[0]}, {"eval/dev/spearman_cosine": 90}),
        ("a.tex", MARKED, {"sts/STS12/all": 68.4, "sts/STS13/all": 82.41, "sts/STS14/all": 74.38}),
        ("a.json", {"suites": {"sts": OURS}}, {"sts/avg": 75.5, "sts/STS12/all": 68.4, "sts/STS12/n": None}),
    ],
)  # fmt: skip
def test_a_file_says_its_scores_x_100(tmp_path, name, document, scores):
    results = read_results(written(tmp_path / name, document))
    assert {path: results.score(path) for path in scores} == pytest.approx(scores)


@cases
def test_a_file_without_a_score_is_refused_and_left_as_it_is(tmp_path, name, document):
    with pytest.raises(
        BadInput,
        match=rf"{name}: (cannot find a results file of mteb, SentEval, SimCSE|cannot parse JSON)",
    ) as told:
        read_results(written(tmp_path / name, document))
    assert "delete" not in str(told.value)


def test_a_folder_is_read_past_what_it_lacks(tmp_path):
    """A folder with missing results is loaded.

    The folder of a model has a single revision, which is used. An average needs all of its tasks.
    """
    model, revision = tmp_path / "org__a", tmp_path / "org__a" / "e34f"
    files = {
        "STS12": mteb("STS12", 0.7),
        "SciFact": mteb("SciFact", None),
        "broken": "{",
        "model_meta": {"name": "a"},
    }
    for name, document in files.items():
        written(revision / f"{name}.json", document)
    written(model / "1_Pooling" / "config.json", {"pooling_mode": "mean"})
    (model / "model.safetensors").touch()
    with pytest.raises(BadInput, match="is an encoder; evaluate it with replicse evaluate --encoder"):
        read_results(model)
    (model / "model.safetensors").unlink()
    shutil.rmtree(model / "1_Pooling")
    results = read_results(model)
    assert results.place == revision and results.scores == {"mteb/STS12": pytest.approx(70)}
    assert results.settings["model/name"] == "a" and results.settings["STS12: mteb_version"] == "1.14.17"
    passed = {name: remark for remark, names in results.remarks.items() for name in names}
    assert passed["mteb/SciFact"].startswith("skipped") and "cannot parse JSON" in passed["broken.json"]
    written(model / "abcd" / "STS12.json", mteb("STS12", 0.8))
    with pytest.raises(BadInput, match=r"specify a folder: .*org__a/abcd, .*org__a/e34f"):
        read_results(model)


def test_one_of_several_models_in_a_file_is_named(tmp_path):
    other = {**MODEL, "model_name": "org/b", "task_results": [mteb("STS12", 0.9)]}
    file = written(tmp_path / "all.json", {"model_results": [MODEL, other]})
    with pytest.raises(BadInput, match=r"specify a model, such as .*all\.json:org/a: org/a, org/b"):
        read_results(file)
    assert read_results(Path(f"{file}:org/b")).score("mteb/STS12") == 90
    with pytest.raises(BadInput, match="does not contain model org/c, only org/a, org/b"):
        read_results(Path(f"{file}:org/c"))


def test_scores_of_other_rows_have_no_difference_nor_has_their_average(tmp_path):
    """Scores on other rows have no difference, nor has their average.

    Row counts of SentEval and dataset revisions of mteb show which data were used.
    """
    results = []
    for name, rows in (("a", 750), ("b", 459)):
        tasks = {task: dict(parts) for task, parts in SENTEVAL.items()}
        tasks["STS12"]["MSRpar"] = {"nsamples": rows}
        results.append(read_results(written(tmp_path / f"{name}.json", tasks)))
    found = compare_results(*results)
    other = {name for name, score in found.scores.items() if score.standing == "another dataset"}
    assert other == {"sts/STS12/all", "sts/avg"}
    assert found.scores["sts/avg"].difference is None and found.scores["sts/STS13/all"].difference == 0
    assert vars(found.data["sts/STS12/all"]["n"]) == {"a": "750", "b": "459"}
    tasks = [mteb("STS12", 0.7) | {"dataset_revision": revision} for revision in "ab"]
    one, two = (read_results(written(tmp_path / each["dataset_revision"] / "x.json", each)) for each in tasks)
    assert compare_results(one, two).scores["mteb/STS12"].standing == "another dataset"


def test_two_encoders_of_other_tokenizers_and_some_tasks_say_so(tmp_path, capsys, monkeypatch):
    """Different tokenizers and incomplete averages are reported.

    An average of only some tasks is null, and must not be reported as a skipped score.
    """
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        sts = {"STS12": {"all": 68.4}, "STS13": {"all": None}, "STS14": {"all": 250}, "avg": None}
        written(tmp_path / f"{name}.json", {"suites": {"sts": sts}, "tokenizer": f"of {name}"})
    assert main(["compare", "a.json", "b.json"]) == 0
    text = capsys.readouterr().out
    assert "tokenizer: of a in A, of b in B" in text and "A: not measured: sts/STS13/all\n" in text
    assert "A: skipped, value 250: sts/STS14/all\n" in text
    assert "null" not in text and "avg" not in text


def test_one_table_compares_each_task_once(tmp_path, capsys, monkeypatch):
    """Each task is compared once in a table.

    The first aggregation that is in both results should be used.
    """
    monkeypatch.chdir(tmp_path)
    long = "AmazonCounterfactualClassification"
    for name, score, version in (("a", 0.7, "1"), ("b", 0.7005, "2")):
        written(Path(name, "STS12.json"), mteb("STS12", score) | {"mteb_version": version})
        written(Path(name, f"{long}.json"), mteb(long, score + (name == "b") * 0.02, "en-ext"))
        written(Path(name, f"Only{name}.json"), mteb(f"Only{name}", score))
    assert main(["compare", "a", "b"]) == main(["diagnose", "a", "b", "--markdown"]) == 0
    text, block, _ = capsys.readouterr().out.split("```\n")
    assert text == block and max(map(len, text.splitlines())) <= 80 and "1 of 2 scores differ" in text
    assert "STS12: mteb_version: 1 in A, 2 in B" in text and "Only in B: mteb/Onlyb" in text
    assert main(["compare", "a", "b", "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)["scores"]
    assert scores["mteb/STS12"]["standing"] == "within numerics"
    assert scores[f"mteb/{long}/test/en-ext"]["standing"] == "beyond numerics"
    seven, one = (read_results(written(tmp_path / f"{len(each)}.json", each)) for each in (SENTEVAL, STS))
    assert list(compare_results(one, seven).scores) == [f"sts/{name}/all" for name in STS]
    with pytest.raises(
        BadInput, match=r"A and B do not share a score; A contains the scores sts/STS12/all 68\.40"
    ):
        compare_results(one, read_results(written(tmp_path / "c.json", mteb("SciFact", 0.1))))
    assert main(["compare", "a", "absent/b"]) == 2 and "absent/b does not exist" in capsys.readouterr().err


def evaluated(folder, name, cosines, gold=GOLD, **more):
    """Write a result of `evaluate --out` with its pairs.

    Args:
        folder: Folder of the files.
        name: Name of the file without suffix.
        cosines: Array of cosines.
        gold: Array of gold scores. Default: `GOLD`.
        more: Further entries of the result.
    """
    scores = {"all": float(100 * spearmanr(cosines, gold).statistic), "mean": 1.0}
    written(folder / f"{name}.json", {"suites": {"sets": {"rated": {"spearman": scores}}}, **more})
    return written(folder / f"{name}.pairs.json", {"sets/rated/spearman": pack_pairs(cosines, gold)})


def test_a_difference_has_a_paired_interval_over_sentence_pairs(tmp_path, capsys, monkeypatch):
    """The interval is that of scipy's paired bootstrap of the difference."""
    monkeypatch.chdir(tmp_path)
    noise = np.random.default_rng(5).normal(size=(3, len(GOLD)))
    sides = {"a": GOLD + 2 * noise[0], "b": GOLD + 2 * noise[0] + 0.3 * noise[1], "c": GOLD + noise[2]}
    for name, cosines in sides.items():
        evaluated(tmp_path, name, cosines)
    evaluated(tmp_path, "other", GOLD + noise[1], GOLD[::-1])

    def difference(a, b, gold):
        return spearmanr(b, gold).statistic - spearmanr(a, gold).statistic

    for second, is_real in (("b", False), ("c", True)):
        assert main(["compare", "a.json", f"{second}.json", "--json"]) == 0
        score = json.loads(capsys.readouterr().out)["scores"]["sets/rated/spearman/all"]
        data = (sides["a"], sides[second], GOLD)
        drawn = bootstrap(
            data, difference, paired=True, vectorized=False, n_resamples=999, method="percentile", rng=1
        )
        expected = [100 * drawn.confidence_interval.low, 100 * drawn.confidence_interval.high]
        assert [score["low"], score["high"]] == pytest.approx(expected, abs=1.5)
        assert score["difference"] == pytest.approx(100 * difference(*data), abs=0.01)
        assert (score["low"] > 0) == is_real
    assert main(["compare", "a.json", "c.json"]) == 0
    text = capsys.readouterr().out
    assert f"{score['low']:+.2f} to {score['high']:+.2f}" in text and "paired bootstrap" in text
    assert main(["compare", "a.json", "other.json", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["scores"]["sets/rated/spearman/all"]["low"] is None


def test_several_results_are_one_table_with_the_best_in_bold(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "one.json", SENTEVAL)
    written(tmp_path / "a_b.json", STS)
    better = dict.fromkeys(("STS12", "STS13"), 90.0)
    written(tmp_path / "c.json", {"suites": {"sts": {task: {"all": each} for task, each in better.items()}}})
    words = ["compare", "one.json", "a_b.json", "c.json"]
    assert main([*words, "--format", "markdown"]) == 0
    header, _, one, _, last = capsys.readouterr().out.splitlines()
    assert (
        header.startswith("| encoder | STS12 | STS13 |") and "| sts-dev/STS-B/all | sts/STS-B/all |" in header
    )
    # The averages of results with missing tasks are empty.
    assert header.endswith("| avg |") and one.endswith("| 76.25 |") and last.endswith("|  |")
    assert last.startswith("| c.json | **90.00** | **90.00** |  |") and "**68.40**" not in one
    assert main([*words, "--format", "latex"]) == 0
    assert r"a\_b.json & 68.40 & 82.41" in capsys.readouterr().out
    assert main([*words, "--format", "csv"]) == 0
    assert "\nc.json,90.00,90.00,,,," in capsys.readouterr().out
    assert main(words) == 0
    assert "90.00*" in capsys.readouterr().out
    evaluated(tmp_path, "d", GOLD, inputs={"data": {"sets/rated": "1"}})
    evaluated(tmp_path, "e", GOLD, inputs={"data": {"sets/rated": "2"}})
    assert main(["compare", "d.json", "e.json", "--format", "markdown"]) == 0
    told = capsys.readouterr()
    assert "**" not in told.out and "sets/rated/spearman/all: computed on different datasets" in told.err
    Path("study", "items").mkdir(parents=True)
    assert main([*words, "study"]) == 2 and "study: is a study" in capsys.readouterr().err
