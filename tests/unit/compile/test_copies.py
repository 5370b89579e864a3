"""Outputs that were changed since their job wrote them are not used."""

import json
import os
import re
from pathlib import Path

import pytest
from made_up import write_scores
from planned import shipped_plan

from replicse.cli import main
from replicse.compile.copies import check_inputs, describe_file, is_unchanged, write_copy
from replicse.compile.item_plan import plan_item
from replicse.compile.job import COPY
from replicse.compile.specifications import Specifications
from replicse.errors import BadInput
from replicse.files import write_json, write_text
from replicse.judge.values.measurements import Measurements
from replicse.judge.verdicts.table import ItemResult
from replicse.judge.verdicts.tabulate import item_result

STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
ITEM = "simcse/table3"


@pytest.fixture
def study():
    return shipped_plan(papers={"simcse": ["table3"]})


def finish(study, stage):
    """Write the copies of the jobs of a stage whose outputs exist."""
    specifications = Specifications(study)
    for job in specifications.jobs.values():
        if job.stage == stage and job.out.exists():
            write_copy(job.copy, json.loads(specifications.text(job)))


def each_damaged_digit(file):
    """Change each digit of the numbers in a JSON file, one at a time."""
    text = file.read_text()
    numbers = STRING.sub(lambda match: " " * len(match[0]), text)
    for place in (match.start() for match in re.finditer(r"\d", numbers)):
        digit = str((int(text[place]) + 1) % 10)
        file.write_text(text[:place] + digit + text[place + 1 :])
        yield place
    file.write_text(text)


def test_no_damaged_digit_of_an_evaluation_is_accepted(study):
    write_scores(study, [ITEM], lambda cell, place: 71.0625 + place)
    finish(study, "evaluate")
    count = 0
    for name in study.evaluation_files(study.items[ITEM]):
        assert Measurements(study).evaluation(name)
        for _ in each_damaged_digit(Path(name)):
            count += 1
            with pytest.raises(BadInput, match=r"changed since its job wrote it; delete it and run"):
                Measurements(study).evaluation(name)
        assert Measurements(study).evaluation(name)
    assert count > 40


def test_no_damaged_digit_of_an_item_is_accepted(study):
    write_scores(study, [ITEM], lambda cell, place: 71.0625 + place)
    finish(study, "evaluate")
    result = item_result(plan_item(study, study.items[ITEM]), Measurements(study))
    file = Path(study.paths.item(ITEM))
    write_json(file, result.plain())
    Path(study.paths.table(ITEM)).parent.mkdir(parents=True)
    Path(study.paths.table(ITEM)).write_text("")
    finish(study, "tabulate")
    assert ItemResult.read(file) == result
    for _ in each_damaged_digit(file):
        with pytest.raises(BadInput, match="changed since its job wrote it"):
            ItemResult.read(file)


def test_changed_weights_are_found_by_their_digest(tmp_path):
    """Weights of the same size were once used although they were changed."""
    file = tmp_path / "model.safetensors"
    file.write_bytes(bytes(1_000_001))
    date = file.stat().st_mtime_ns
    description = json.loads(json.dumps(describe_file(file)))
    assert is_unchanged(str(file), description)
    file.write_bytes(bytes(1_000_000) + b"1")
    os.utime(file, ns=(date, date))
    assert not is_unchanged(str(file), description)
    assert is_unchanged(str(file), {"bytes": 1_000_001}), "the description of an earlier version"
    assert not is_unchanged(str(file), {"bytes": 1_000_000}) and not is_unchanged(str(file), None)


def test_a_damaged_file_that_is_no_input_is_written_again_with_an_input(tmp_path, monkeypatch):
    """The tokenizer of a kept encoder was once to be deleted, but no job wrote it again."""
    monkeypatch.chdir(tmp_path)
    weights = Path("backbones/own", "model.safetensors")
    tokenizer = Path("backbones/own", "tokenizer.json")
    for file in (weights, tokenizer):
        write_text(file, "{}")
    outputs = [str(weights), str(tokenizer)]
    write_copy(weights.with_name(COPY), {"digests": {}, "outputs": outputs})
    check_inputs([str(weights)])
    write_text(tokenizer, "{ }")
    with pytest.raises(
        BadInput, match=r"tokenizer.json: changed .*; delete backbones/own/model.safetensors and run"
    ):
        check_inputs([str(weights)])
    with pytest.raises(BadInput, match=r"tokenizer.json: changed .*; delete it and run"):
        check_inputs(outputs)


def test_a_job_with_a_damaged_input_does_not_start(study, capsys):
    specifications = Specifications(study)
    specifications.write()
    jobs = specifications.jobs.values()
    store = next(job for job in jobs if job.stage == "store")
    tokenizer = next(job for job in jobs if job.stage == "tokenizer" and job.outputs[0] in store.inputs)
    file = Path(tokenizer.outputs[0])
    file.parent.mkdir(parents=True)
    file.write_text("{}")
    finish(study, "tokenizer")
    file.write_text("{ }")
    assert main(["job", str(specifications.place(store))]) == 2
    assert f"{file}: changed since its job wrote it; delete it and run" in capsys.readouterr().err
    assert not store.copy.exists()
