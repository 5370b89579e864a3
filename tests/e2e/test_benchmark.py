"""`replicse benchmark`: measurements, files, and how `plan` uses them."""

import json

import pytest
import torch
from places import ROOT
from pretended import pretended_gpu
from read_once import papers_read_once

from replicse.cli import main
from replicse.compile.speed import Speed
from replicse.registry.runs import Run
from replicse.training.benchmark import Bench

pytestmark = pytest.mark.usefixtures("papers_read_once")
__all__ = ["papers_read_once"]

WORDS = ("--scale", "micro", "--workflow", str(ROOT / "workflow"))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.yaml").write_text("scale: micro\npapers: {simcse: [table3]}\nseeds: [0]\n")
    return tmp_path


def test_a_cpu_gets_as_many_rows_as_its_memory_holds(tmp_path):
    parts = {"init": {"hub": "a"}, "corpus": {}, "objective": [{"term": "infonce"}]}
    run = Run.of({**parts, "views": [{"column": "text"}] * 2, "optimisation": {"batch_size": 512}}, "here")
    small = Bench(tmp_path, torch.device("cpu"), memory_gib=8.0)
    assert small.fitting(run, (2, 32)) == 512
    assert 2 <= small.fitting(run, (24, 1024)) < 64
    assert Bench(tmp_path, torch.device("cuda"), memory_gib=8.0).fitting(run, (24, 1024)) == 512


def test_steps_are_timed_between_two_synchronisations(tmp_path):
    """The timer should wait for the GPU only before and after all steps.

    Waiting at each step once took part of the measured time.
    """
    parts = {"init": {"hub": "a"}, "corpus": {}, "objective": [{"term": "infonce"}], "precision": "fp16"}
    run = Run.of({**parts, "views": [{"column": "text"}] * 2, "optimisation": {"batch_size": 4}}, "here")
    with pretended_gpu() as work:
        assert Bench(tmp_path, torch.device("cuda"), steps=5).rate(run, (1, 32), []) > 0
    assert [wait for wait in work.waits if "copy" not in wait].count(
        "synchronize in runtime/devices.py, read_clock"
    ) == 2
    assert not [wait for wait in work.waits if "training/loop.py" in wait and "_open_model" not in wait]


def test_this_machine_is_measured_and_the_plan_takes_its_hours_from_it(folder, capsys):
    assert main(["plan", *WORDS]) == 0
    assert "estimated for one CPU core" in capsys.readouterr().out
    words = ["simcse/table3", "diffcse/table4", "--steps", "3"]
    assert main(["benchmark", *WORDS, *words]) == 0
    out = capsys.readouterr().out
    (file,) = folder.glob("results/micro/throughput/*.json")
    assert "rtd-" in out and f"wrote results/micro/throughput/{file.name}" in out
    record = Speed.of(json.loads(file.read_text()), "record")
    assert main(["plan", *WORDS, "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert (plan["device"], plan["measured"]) == (record.device, record.when)
    assert plan["hours_interval"][0] < plan["hours"] < plan["hours_interval"][1]
    assert main(["plan", *WORDS, "--device", "CPU core"]) == 0
    assert "estimated for one CPU core" in capsys.readouterr().out

    shapes = [(each["precision"], each["views"], each["layers"]) for each in record.shapes]
    assert (
        2 <= len(shapes) <= 4
        and shapes[-1] == ("bf16", *shapes[0][1:])
        and record.flops.keys() == record.rates.keys()
    )
    assert record.rates.keys() == {"fp32", "bf16"} and "times as fast as fp32 on" in out
    slow = {**json.loads(file.read_text()), "device": "some", "rates": {"fp32": 20, "bf16": 12.6}}
    half = "bf16 is 0.63 times as fast as fp32 on some"
    for precision, rates, said, line in (
        ("fp32", slow["rates"], True, False),
        ("bf16", slow["rates"], True, True),
        ("bf16", {}, False, False),
    ):
        file.write_text(json.dumps({**slow, "rates": rates}))
        for verb in ("plan", "doctor"):
            main([verb, *WORDS, "--config", f"precision={precision}"])
            text = capsys.readouterr().out
            assert (half in text, "precision: fp32 in the config" in text) == (said, line)

    file.write_text('{"device": "x"}')
    assert main(["plan", *WORDS]) == 2
    assert 'lacks the key "flops"; delete the file, and let replicse benchmark' in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--steps", "1"], "--steps is 1, but should be at least 2"),
        (["--scale", "paper", "--device", "cpu"], "precision fp16 needs a GPU"),
    ],
)
def test_what_cannot_be_measured_is_refused(folder, capsys, words, told):
    assert main(["benchmark", *WORDS, *words]) == 2
    assert told in capsys.readouterr().err
    assert not (folder / "results").exists()
