"""A crate contains the inputs of all scores.

`validate` can compute the scores again.
"""

import hashlib
import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
from made_up import write_scores

from replicse.cli import main
from replicse.compile.compiler import compile_study
from replicse.compile.paths import Paths
from replicse.evaluation.correlation import spearman
from replicse.files import read_json, write_json
from replicse.judge.report.judge_study import results_of
from replicse.judge.values.measurements import Measurements
from replicse.judge.values.pairs import pack_pairs
from replicse.workspace import workflow_folder

CONFIG = {"scale": "micro", "papers": {"simcse": ["table3"]}, "rows": {"simcse/table3": ["p0.0", "p0.1"]}}
TASK, HOME = "sts-dev/STS-B", "reports/studies/mine"
VERSIONS = {"torch": "2.13.0"}


@pytest.fixture
def study(workspace):
    """Create a kept study with scored pairs, training histories and weights."""
    study = compile_study(CONFIG | {"seeds": [0, 1]}, workflow_folder())
    random = np.random.default_rng(0)
    gold = random.integers(0, 6, 60).astype(float)
    cosine = random.normal(size=60) + gold
    write_scores(study, study.items, lambda cell, place: 100 * spearman(cosine, gold))
    made = {"accelerator": "NVIDIA H100", "seconds": 1800, "versions": VERSIONS}
    for file in study.evaluation_files(study.items["simcse/table3"]):
        evaluation = read_json(file) | {"pairs": {TASK: pack_pairs(cosine, gold)}, "provenance": made}
        write_json(file, evaluation)
    for place, run in enumerate(study.runs):
        write_json(study.paths.run(run, "metrics.json"), {"history": []})
        write_json(study.paths.run(run, "provenance.json"), made)
        for name in ("model.safetensors", "config.json", "tokenizer.json"):
            for checkpoint in ("best", "last"):
                file = Path(study.paths.run(run, checkpoint, name))
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(f"{name} {place} {checkpoint}")
    write_json(study.paths.config, study.config.whole())
    kept = Paths("micro", "mine")
    for result in results_of(study.items, Measurements(study)):
        write_json(kept.item(result.item), result.plain())
    write_json(kept.config, study.config.whole())
    write_json(kept.record, {"title": "Mine"})
    return study


def changed(crate, name, change):
    """Write a crate again with a changed JSON file.

    Args:
        crate: Path of the crate.
        name: Path of the JSON file in the crate.
        change: Function that changes the loaded dict in place.

    Returns:
        The path of the new crate.
    """
    with zipfile.ZipFile(crate) as old, zipfile.ZipFile("changed.zip", "w") as new:
        for each in old.namelist():
            content = old.read(each)
            if each == name:
                document = json.loads(content)
                change(document)
                content = json.dumps(document).encode()
            new.writestr(each, content)
    return "changed.zip"


def test_scores_are_computed_again_from_the_pairs_of_a_crate(study, capsys):
    assert main(["keep", "mine", "--crate", "mine.zip"]) == 0
    encoders = list(map(Path, study.evaluation_files(study.items["simcse/table3"])))
    with zipfile.ZipFile("mine.zip") as crate:
        names = {*crate.namelist()}
        evidence = json.loads(crate.read(f"{HOME}/evidence.json"))
    assert {f"{HOME}/encoders/{file.parent.name}/{file.name}" for file in encoders} < names
    for run in study.runs:
        assert {f"{HOME}/runs/{run}/metrics.json", f"{HOME}/runs/{run}/provenance.json"} < names
    assert "environment.yml" in names
    assert not [name for name in names if name.endswith(".safetensors")]
    hours = {"training": len(study.runs) / 2, "evaluation": len(encoders) / 2}
    assert evidence["hours"] == {"NVIDIA H100": hours}
    assert [each["versions"] for each in evidence["environments"]] == [VERSIONS]
    capsys.readouterr()
    assert main(["validate", "mine.zip", "--json"]) == 0
    counts = {"evaluations": 4, "scores": 4, "values": 4, "runs": len(study.runs)}
    assert json.loads(capsys.readouterr().out) == counts


def test_another_pair_or_another_cell_is_found(study, capsys):
    assert main(["keep", "mine", "--crate", "mine.zip"]) == 0
    file = next(iter(study.evaluation_files(study.items["simcse/table3"])))
    place = f"{HOME}/encoders/{Path(file).parent.name}/{Path(file).name}"

    def swap(evaluation):
        sides = evaluation["pairs"][TASK]
        sides["cosine"] = pack_pairs(np.arange(60.0), np.arange(60.0))["cosine"]

    assert main(["validate", changed("mine.zip", place, swap)]) == 2
    assert f"changed.zip, {place}: {TASK}/all is" in " ".join(capsys.readouterr().err.split())

    def raise_score(evaluation):
        evaluation["suites"]["sts-dev"]["STS-B"]["all"] += 0.04  # below the rounding of pairs in old files

    assert main(["validate", changed("mine.zip", place, raise_score)]) == 2
    message = " ".join(capsys.readouterr().err.split())
    assert (
        "simcse/table3/p0." in message
        and "sts-dev/STS-B/all of" in message
        and "but the evaluation has" in message
    )


def test_weights_go_where_the_user_names_and_removed_ones_keep_their_checksum(study, capsys):
    run, *others = sorted(study.runs)
    folder = Path(study.paths.run(run))
    checkpoints = ("best", "last") if study.runs[run].selection.every else ("last", "best")
    text = (folder / checkpoints[0] / "model.safetensors").read_bytes()
    checksum = hashlib.sha256(text).hexdigest()
    checksums = {"best": "0" * 64, "last": "0" * 64, checkpoints[0]: checksum}
    lines = [f"{digits}  {name}/model.safetensors" for name, digits in checksums.items()]
    (folder / "discarded.sha256").write_text("\n".join(lines))
    for name in ("best", "last"):
        (folder / name / "model.safetensors").unlink()
    assert main(["keep", "mine", "--crate", "mine.zip", "--weights", "out"]) == 0
    assert f"weights removed after evaluation, not in out: {run}" in " ".join(capsys.readouterr().err.split())
    with zipfile.ZipFile("mine.zip") as crate:
        weights = json.loads(crate.read(f"{HOME}/evidence.json"))["weights"]
    assert weights.keys() == study.runs.keys() and weights[run] == checksum
    for other in others:
        content = Path("out", other, "model.safetensors").read_bytes()
        assert hashlib.sha256(content).hexdigest() == weights[other]
    assert {file.name for file in Path("out", others[0]).iterdir()} == {
        "model.safetensors",
        "config.json",
        "tokenizer.json",
    }


def test_a_crate_without_evaluations_says_how_to_write_one_with_them(study, capsys):
    shutil.rmtree("results")
    assert main(["keep", "mine", "--crate", "mine.zip"]) == 0
    assert "so the crate does not contain scores of pairs" in " ".join(capsys.readouterr().err.split())
    assert main(["validate", "mine.zip"]) == 2
    assert "mine.zip: does not contain evaluations; write the crate in the folder" in " ".join(
        capsys.readouterr().err.split()
    )
    assert main(["keep", "mine", "--crate", "mine.zip", "--weights", "out"]) == 2
    assert "are not the results of mine" in " ".join(capsys.readouterr().err.split())
    assert main(["keep", "mine", "--weights", "out"]) == 2
    assert "add --crate FILE.zip" in " ".join(capsys.readouterr().err.split())
