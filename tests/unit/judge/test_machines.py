"""Records contain the machine; results from two machines are marked."""

from pathlib import Path

import micro
import pytest
import torch
from made_up import RECIPE, made_plan, write_evaluation, write_paper

from replicse.compile.item_plan import plan_item
from replicse.files import read_json, write_json
from replicse.judge.report.build_report import judged_item
from replicse.judge.report.csv_rows import table_rows, tidy_rows
from replicse.judge.report.explain_cell import cell_story, find_cell
from replicse.judge.values.machines import describe_mixture, machine_of, recorded_machines
from replicse.judge.values.measurements import Measurements
from replicse.judge.verdicts.tabulate import item_result
from replicse.provenance.record import computed
from replicse.runtime.machine import hardware
from replicse.show.content.tables import grid_of, remarks
from replicse.training.loop import Trainer

CPU = torch.device("cpu")


def record(processor="One", device="cpu", **more):
    """Return the provenance record of a job as a dict.

    Args:
        processor: Name of the processor. Default: "One".
        device: Device. Default: "cpu".
        more: Further fields of the record.
    """
    made = {"device": device, "accelerator": "", "threads": 2, "kernel": {"oneDNN": "3.12"}}
    build = {"torch_build": {"__version__": "2.13"}, "settings": {"OMP_NUM_THREADS": "2"}}
    place = {"processor": processor, "kernel_flags": "fma avx2 avx512f amx_tile"}
    return {**made, "hardware": place, "numerics": build, **more}


def test_a_record_says_device_precision_threads_and_kernels():
    found = computed(CPU, "bf16")
    assert (found["device"], found["accelerator"], found["precision"]) == ("cpu", "", "bf16")
    assert found["threads"] == torch.get_num_threads() and found["hardware"] == hardware()
    assert found["kernel"]["instructions"] == torch.backends.cpu.get_cpu_capability()
    assert found["kernel"]["oneDNN"] in torch.__config__.show()


def test_a_run_that_is_resumed_elsewhere_names_both_machines(tmp_path, monkeypatch):
    root, job = micro.dev_root(tmp_path / "data"), micro.job(tmp_path)
    visit = Trainer._visit

    def visit_then_die(self, step, loss):
        if step == 14:
            raise MemoryError
        visit(self, step, loss)

    def trainer(machine):
        return Trainer(
            job, root, tmp_path / "out", tmp_path / "state", CPU, record(machine), save_every_seconds=0.0
        )

    monkeypatch.setattr(Trainer, "_visit", visit_then_die)
    with pytest.raises(MemoryError):
        trainer("One").run()
    monkeypatch.setattr(Trainer, "_visit", visit)
    second = trainer("Two")
    second.run()
    assert second.machines == [record("One"), record("Two")]
    both = recorded_machines({**record("Two"), "resumed_from": [record("One")]})
    assert [machine.processor for machine in both] == ["Two", "One"]
    assert describe_mixture(both).startswith("computed on 2 machines: One (")


RECIPES = {"first": RECIPE, "second": {"like": "first", "init": {"use": "first"}}}
TABLE = {
    "setting": {"metric": "spearman"},
    "columns": [{"id": "a", "metric_path": "sts/STS12/all"}],
    "rows": [{"id": "r", "encoder": {"use": "second"}}],
}


class Study:
    """A synthetic table with a cell of two runs, which start from two others."""

    def __init__(self, folder):
        reported = [{"item": "table1", "row": "r", "column": "a", "value": "70.0"}]
        write_paper(folder / "workflow", "made", {"table1": TABLE}, reported, RECIPES)
        self.plan = made_plan(folder / "workflow")
        (self.cell,) = self.plan.cells["made/table1"]
        self.runs = [self.plan.encoders[encoder].source.run for encoder in self.cell.encoders]
        self.starts = [self.plan.runs[run].init.run for run in self.runs]
        self.evaluated(record(), record())
        self.trained(dict.fromkeys([*self.runs, *self.starts], record()))

    def evaluated(self, *records):
        for place, (encoder, made) in enumerate(zip(self.cell.encoders, records, strict=True)):
            file = Path(self.plan.paths.evaluation(encoder, "fast"))
            write_evaluation(self.plan, file, {"sts/STS12/all": 70.0 + place})
            write_json(
                file, {**read_json(file), "provenance": {**made, "package_sha256": "abcdef0123456789"}}
            )

    def trained(self, records):
        for run, made in records.items():
            write_json(self.plan.paths.run(run, "provenance.json"), made)

    @property
    def result(self):
        return item_result(plan_item(self.plan, self.plan.item("made/table1")), Measurements(self.plan))

    def why(self):
        cell = find_cell(self.plan, "made/table1/r/a")
        return cell_story(cell, self.result, Measurements(self.plan), (), ())


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Study(tmp_path)


def test_one_machine_is_named_and_nothing_is_marked(study):
    (cell,) = study.result.cells
    assert cell.machines == (machine_of(record()),) and "machines" not in cell.reason
    assert study.why()["made"] == [study.plan.runs[study.runs[0]].precision, str(cell.machines[0])]
    for line in tidy_rows([study.result]):
        assert line["machine"] == str(cell.machines[0]) and line["package"] == "abcdef012345"
    assert remarks(judged_item(study.result)) == () and ("mixed" not in dict(facts(study.result)))


def facts(result):
    return grid_of(judged_item(result)).results[0].cells[0].facts


MIXES = {
    "two seeds": lambda study: study.evaluated(record(), record("Two")),
    "trained elsewhere": lambda study: study.trained({study.runs[0]: record("Two")}),
    "begun elsewhere": lambda study: study.trained({study.starts[1]: record("Two")}),
    "resumed elsewhere": lambda study: study.trained({study.runs[1]: record(resumed_from=[record("Two")])}),
}


def test_one_machine_with_two_versions_of_a_package_is_marked(study):
    old = {"torch": "2.13", "scikit-learn": "1.6", "zuko": "1.6"}
    new = {"torch": "2.13", "scikit-learn": "1.7", "zuko": "1.7"}
    study.evaluated(record(versions=old), record(versions=new))
    mark = "computed on 2 sets of package versions: "
    (row,) = table_rows(study.result)
    assert mark in row["reason"] and "scikit-learn 1.6 | " in row["reason"]
    assert study.why()["made"][1] == "numbers from 2 sets of package versions:"
    assert dict(facts(study.result))["mixed"].startswith(mark)
    study.evaluated(record(versions=old), record())
    assert "computed on" not in study.result.cells[0].reason


@pytest.mark.parametrize("mix", MIXES)
def test_what_two_machines_made_is_marked(study, mix):
    MIXES[mix](study)
    result = study.result
    one, two = map(str, result.cells[0].machines)
    mark = f"computed on 2 machines: {one} | {two}"
    (row,) = table_rows(result)
    assert row["reason"].endswith(f"; {mark}") and row["verdict"] == "undetermined"
    assert mark in study.why()["verdict"][0]
    assert study.why()["made"][1:] == ["numbers from 2 machines:", one, two]
    assert remarks(judged_item(result)) == (f"Cells that are {mark}: 1 of 1.",)
    assert dict(facts(result))["mixed"] == mark
