"""`replicse benchmark`: what is measured of a study's steps, where it is stored, and what `plan` makes of it."""

import json

import pytest
from places import ROOT

from replicse.cli import main
from replicse.study.plan.cost import Shape, Throughput
from replicse.training.benchmark import Bench, measured

WORDS = ("--scale", "micro", "--workflow", str(ROOT / "workflow"))
SHAPE = Shape(layers=2, hidden=32, batch_size=16, max_length=32, precision="fp32", passes=2)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.yaml").write_text("scale: micro\npapers: {simcse: [table3]}\nseeds: [0]\n")
    return tmp_path


def test_rows_per_second_have_the_interval_of_their_mean():
    even = measured(SHAPE, 16, [0.5] * 50)
    assert even.rate == pytest.approx((32, 32, 32)) and even.steps == 50
    # Ten blocks of five steps: half of them take 1 s, half 3 s; Student's t with 9 degrees is 2.262.
    uneven = measured(SHAPE, 16, ([1.0] * 5 + [3.0] * 5) * 5)
    half = 2.262 * (10 / 9) ** 0.5 / 10**0.5
    assert uneven.rate == pytest.approx((16 / (2 + half), 8, 16 / (2 - half)), rel=1e-3)


def test_a_cpu_gets_as_many_rows_as_its_memory_holds(tmp_path):
    import torch

    large = SHAPE.model_copy(update={"layers": 24, "hidden": 1024, "batch_size": 512})
    small = Bench(tmp_path, torch.device("cpu"), memory_gib=8.0)
    assert small.fitting(SHAPE) == SHAPE
    assert 2 <= small.fitting(large).batch_size < 64
    assert Bench(tmp_path, torch.device("cuda"), memory_gib=8.0).fitting(large) == large


def test_this_machine_is_measured_and_the_plan_takes_its_hours_from_it(folder, capsys):
    assert main(["plan", *WORDS]) == 0
    assert "an estimate for one CPU core" in capsys.readouterr().out
    words = ["simcse/table3", "diffcse/table4", "--shapes", "3", "--steps", "3", "--name", "This Machine"]
    assert main(["benchmark", *WORDS, *words]) == 0
    out = capsys.readouterr().out
    assert "wrote results/micro/throughput/this-machine.json" in out
    document = json.loads((folder / "results/micro/throughput/this-machine.json").read_text())
    record = Throughput.of(document, "record")
    assert sum(not one.shape.encode for one in record.shapes) == 3
    assert {one.shape.passes for one in record.shapes if not one.shape.encode} > {2.0}
    assert all(one.low <= one.rows_per_second <= one.high for one in record.shapes)
    assert main(["plan", *WORDS, "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert (plan["device"], plan["measured"]) == ("This Machine", record.when)
    assert plan["hours_interval"][0] < plan["hours"] < plan["hours_interval"][1]
    assert main(["plan", *WORDS, "--device", "CPU core"]) == 0
    assert "an estimate for one CPU core" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--steps", "1"], "--steps is 1; expected at least 2"),
        (["--scale", "paper", "--device", "cpu"], "precision fp16 needs a GPU"),
    ],
)
def test_what_cannot_be_measured_is_refused(folder, capsys, words, told):
    assert main(["benchmark", *WORDS, *words]) == 2
    assert told in capsys.readouterr().err
    assert not (folder / "results").exists()
