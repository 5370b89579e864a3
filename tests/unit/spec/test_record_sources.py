"""The record of measurements by others: loading, and mistakes in files."""

from statistics import fmean, stdev

import pytest
import yaml
from cases import cases

from replicse.cli.diagnose import FACTS
from replicse.errors import BadInput
from replicse.spec.cell_id import CellId
from replicse.spec.papers import load_paper, load_papers
from replicse.spec.record import Facts, SourceSetting, check_record, load_record
from replicse.workspace import packaged

WORKFLOW = packaged("workflow")
AVERAGE = "simcse/table5/unsup-simcse-bert-base/avg"
SOURCE = {
    "who": "a laboratory",
    "repository": "lab/code",
    "commit": "a" * 40,
    "year": 2022,
    "code": "princeton-nlp/SimCSE",
    "settings": {
        "printed": {"encoder": "retrained", "read_off": "table", "as": "printed"},
        "four": {"encoder": "retrained", "read_off": "table", "differs": {"devices": 4}},
        "variant": {"encoder": "retrained", "read_off": "table", "as": "eval-251"},
    },
}
LINES = [f"{AVERAGE},printed,0,75.30,scores.csv", f"{AVERAGE},four,,74.8,{'b' * 40}:old/scores.csv"]


def write_source(folder, name="lab", source=SOURCE, lines=LINES):
    """Write the two files of a source; the default source is valid."""
    (folder / "record").mkdir(parents=True, exist_ok=True)
    (folder / "record" / f"{name}.yaml").write_text(yaml.safe_dump(source))
    (folder / "record" / f"{name}.csv").write_text("\n".join(["cell,setting,seed,value,place", *lines]))


@pytest.fixture(scope="module")
def simcse():
    return {"simcse": load_paper(WORKFLOW / "papers" / "simcse")}


def test_every_committed_source_passes():
    record = load_record(WORKFLOW)
    check_record(record, load_papers(WORKFLOW))
    assert {reading.source for reading in record.readings} == record.sources.keys()


def test_fifty_seeds_have_the_mean_and_extremes_of_their_readme():
    # README of hppRC/simple-simcse at 03ce1c5. Cells borrow the standard deviation 0.84.
    cell = CellId("simcse/table5", "unsup-simcse-bert-base", "avg", "spearman")
    readings = [each for each in load_record(WORKFLOW).of_cell(cell) if each.source == "simple-simcse"]
    values = [reading.number.value for reading in readings]
    assert len(values) == 50
    assert [round(number, 2) for number in (fmean(values), min(values), max(values))] == [75.11, 73.16, 76.7]
    assert round(stdev(values), 2) == 0.84


def test_a_reading_has_its_setting_its_rounding_and_a_link(tmp_path, simcse):
    write_source(tmp_path)
    record = load_record(tmp_path)
    check_record(record, simcse)
    first, second = record.of_cell(
        CellId("simcse/table5", "unsup-simcse-bert-base", "avg", "spearman", "as-run")
    )
    assert (first.seed, second.seed) == (0, None)
    assert (first.number.value, first.number.half_digit) == (75.3, 0.005)
    assert (second.number.value, second.number.half_digit) == (74.8, 0.05)
    assert record.setting(first).is_printed and record.setting(second).facts == {"devices": 4}
    assert record.link(first) == f"https://github.com/lab/code/blob/{'a' * 40}/scores.csv"
    assert record.link(second) == f"https://github.com/lab/code/blob/{'b' * 40}/old/scores.csv"


def test_a_reading_names_the_metric_of_a_column_that_has_two(tmp_path, simcse):
    final = "simcse/figure2/unsup-simcse/final"
    write_source(tmp_path, lines=[f"{final}/uniformity,printed,,-2.4,log.txt"])
    record = load_record(tmp_path)
    check_record(record, simcse)
    assert record.of_cell(CellId("simcse/figure2", "unsup-simcse", "final", "uniformity"))
    assert not record.of_cell(CellId("simcse/figure2", "unsup-simcse", "final", "alignment"))
    write_source(tmp_path, lines=[f"{final},printed,,-2.4,log.txt"])
    with pytest.raises(
        BadInput, match=r'lab\.csv:2: cell .* does not have a number; did you mean ".*/final/'
    ):
        check_record(load_record(tmp_path), simcse)


def test_the_workspace_adds_a_source_and_replaces_one(tmp_path, monkeypatch):
    package, workspace = tmp_path / "package", tmp_path / "workspace"
    write_source(package)
    write_source(workspace, lines=[f"{AVERAGE},printed,1,76.1,scores.csv"])
    write_source(workspace, "mine", {**SOURCE, "who": "me"}, [f"{AVERAGE},printed,,75.9,log.txt"])
    monkeypatch.chdir(workspace)
    record = load_record(package)
    assert [reading.value for reading in record.readings] == ["76.1", "75.9"]
    assert record.sources["mine"].who == "me"


@cases
def test_a_mistake_in_the_readings_names_file_line_and_remedy(lines, problem, tmp_path, simcse):
    filled = [line.replace("AVERAGE", AVERAGE) for line in lines]
    write_source(tmp_path, lines=filled)
    with pytest.raises(BadInput, match=problem):
        check_record(load_record(tmp_path), simcse)


@cases
def test_a_mistake_in_the_source_names_file_and_key(change, problem, tmp_path):
    write_source(tmp_path, source={**SOURCE, **change})
    with pytest.raises(BadInput, match=rf"lab\.yaml:\d+: .*{problem}"):
        load_record(tmp_path)


def test_a_pooling_that_is_not_known_is_refused(tmp_path, simcse):
    pooled = {"encoder": "released", "read_off": "table", "differs": {"pooling": "cls-hed"}}
    write_source(tmp_path, source={**SOURCE, "settings": {"pooled": pooled}}, lines=[])
    with pytest.raises(
        BadInput, match=r'lab\.yaml: settings\.pooled\.differs\.pooling .*; did you mean "cls-head"'
    ):
        check_record(load_record(tmp_path), simcse)


def test_both_files_of_a_source_are_needed(tmp_path):
    write_source(tmp_path)
    (tmp_path / "record" / "lab.csv").rename(tmp_path / "record" / "other.csv")
    with pytest.raises(BadInput, match=r"other\.csv: other\.yaml is missing; create it with the source"):
        load_record(tmp_path)


def test_facts_have_the_words_of_diagnose():
    words = {field.alias for field in Facts.model_fields.values()}
    assert words <= FACTS.keys()
    assert SourceSetting.of(
        {"encoder": "released", "read_off": "table", "differs": {"learning-rate": 1e-5}}, "here"
    ).facts == {"learning-rate": 1e-5}
