"""Evaluation datasets are recorded and checked.

A truncated or replaced file must never result in a score.
"""

import gzip
import shutil
from pathlib import Path

import pytest
from job_files import write_job
from places import ROOT
from small_stsb import write_stsb

from replicse.cli import main
from replicse.compile.compiler import compile_study
from replicse.compile.jobs import list_jobs
from replicse.compile.needs import data_files
from replicse.data.corpora import read_corpus
from replicse.data.sets import data_folder, recorded_sets
from replicse.errors import BadInput
from replicse.files import read_json, sha256_of
from replicse.spec.datasets import load_datasets

PAIRS = [(4.0, "a man", "a dog"), (1.5, "one", "two"), (0.0, "here", "there")]
SIZES = load_datasets(ROOT / "workflow").plain()["sizes"]


def data(root: Path, out: Path, sizes: dict) -> int:
    payload = {"source": "local", "root": str(root), "sizes": sizes}
    return main(write_job(out.parent, "data", payload, [out]))


def test_rows_and_sha256_of_the_sets_that_are_there_are_recorded(tmp_path, senteval):
    root = write_stsb(tmp_path, {"dev": PAIRS, "test": PAIRS[:2]})
    for sign in ("pos", "neg"):
        senteval(f"MR/rt-polarity.{sign}", f"{sign} .\n" * 4)
    sizes = {"data/sts/STS-B/test": 2, "data/transfer/MR/all": 8, "data/sts/STS-B/train": 5749}
    assert data(root, tmp_path / "data.json", sizes) == 0
    sets = read_json(tmp_path / "data.json")["sets"]
    assert {name: entry["rows"] for name, entry in sets.items()} == {
        "data/sts/STS-B/dev": {"STS-B": 3},
        "data/sts/STS-B/test": {"STS-B": 2},
        "data/transfer/MR/all": {"": 8},
    }
    file = "SentEval/downstream/STS/STSBenchmark/sts-dev.csv"
    assert sets["data/sts/STS-B/dev"]["sha256"] == {file: sha256_of(root / file)}
    assert len(sets["data/transfer/MR/all"]["sha256"]) == 2
    assert data_folder(tmp_path / "data.json") == root


def test_the_papers_scale_runs_on_a_folder_of_evaluation_sets_alone(tmp_path):
    """Scale paper should run if the data root only has evaluation datasets.

    The hub has SentEval as an archive; here it is a folder, and other files are recorded as missing.
    """
    root = write_stsb(tmp_path / "data", {"dev": PAIRS})
    config = {"scale": "paper", "papers": {"repro": ["table2"]}, "seeds": [0]}
    plan = compile_study({**config, "data": {"source": "local", "root": str(root)}}, ROOT / "workflow")
    payload = {**list_jobs(plan)["data", ""].payload, "sizes": {}}
    assert "SentEval" in payload["file"]
    assert main(write_job(tmp_path, "data", payload, [tmp_path / "data.json"])) == 0
    record = read_json(tmp_path / "data.json")
    assert list(record["sets"]) == ["data/sts/STS-B/dev"]
    for one in record["files"]:
        assert one["missing"]
    assert data_files(plan) == []


@pytest.mark.parametrize("change", ["replaced", "gone"])
def test_a_set_that_changed_behind_its_record_is_refused_where_it_is_read(
    tmp_path, capsys, monkeypatch, change
):
    root = write_stsb(tmp_path / "data", {"dev": PAIRS})
    record = tmp_path / "data.json"
    assert data(root, record, {}) == 0
    file = root / "SentEval/downstream/STS/STSBenchmark/sts-dev.csv"
    if change == "gone":
        file.unlink()
    else:
        file.write_text(file.read_text().replace("1.5", "2.5"))
    monkeypatch.setenv("REPLICSE_DATA", str(record))
    assert main(["evaluate", "--encoder", "none", "--suite", "sts-dev", "--out", "x.json"]) == 2
    assert f"{file} is not the file in {record}; put it back" in capsys.readouterr().err


def test_the_real_sets_have_their_sizes_and_a_cut_one_is_named(real_data, tmp_path, capsys):
    sts = tmp_path / "SentEval" / "downstream" / "STS"
    shutil.copytree(real_data / "SentEval" / "downstream" / "STS", sts)
    assert recorded_sets(tmp_path, SIZES).keys() == {name for name in SIZES if "sts/STS" in name}
    benchmark, news = sts / "STSBenchmark" / "sts-test.csv", sts / "STS12-en-test"
    whole = benchmark.read_bytes()
    benchmark.write_bytes(b"".join(whole.splitlines(keepends=True)[:50]))
    assert data(tmp_path, tmp_path / "data.json", SIZES) == 2
    error = capsys.readouterr().err
    cut = f"{benchmark}: 50 rows of sts/STS-B/test; expected 1,379; replace it with SentEval's original file"
    assert cut in error
    words = ["evaluate", "--encoder", ".", "--suite", "sts", "--data", str(tmp_path), "--out", "x.json"]
    assert main(words) == 2 and cut in capsys.readouterr().err
    benchmark.write_bytes(whole.replace(b"\ta girl is styling her hair .", b'\t"""a"" girl"', 1))
    assert (
        main(words) == 2 and f'{benchmark}:1: a cell is in quotes, with "" inside' in capsys.readouterr().err
    )
    benchmark.write_bytes(whole)
    for kind in ("input", "gs"):
        file = news / f"STS.{kind}.MSRvid.txt"
        file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:700]))
    assert data(tmp_path, tmp_path / "data.json", SIZES) == 2
    assert "STS.gs.MSRvid.txt: 700 rows of sts/STS12/test; expected 750" in capsys.readouterr().err


@pytest.mark.parametrize(("rows", "about", "fits"), [(20, False, True), (21, False, False), (22, True, True),
                                                     (23, True, False), (18, False, False)])  # fmt: skip
def test_a_corpus_has_the_rows_that_its_recipe_expects(tmp_path, rows, about, fits):
    with gzip.open(tmp_path / "text.gz", "wt") as stream:
        stream.write("a line of text\n" * 20)
    recipe = {"name": "wiki", "format": "lines", "file": "text.gz", "rows": rows, "about": about}
    if fits:
        assert len(read_corpus(tmp_path, recipe)["text"]) == 20
        return
    with pytest.raises(BadInput) as caught:
        read_corpus(tmp_path, recipe)
    expected = f"expected {'about ' if about else ''}{rows}; put the complete file there"
    assert str(caught.value) == f"{tmp_path / 'text.gz'}: 20 rows of corpus wiki; {expected}"
