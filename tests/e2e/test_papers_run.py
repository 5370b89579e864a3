"""Run papers of tests/papers at scale micro in a single study.

The papers use plug-ins, the user's ELECTRA, and a template for each view.
"""

import json
import shutil
import sys
from pathlib import Path

import pytest
import small_study
import yaml
from made_up import plugins_of, write_electra, write_workflow, write_workspace
from micro import sentences
from places import ROOT
from snakemake_runs import copied, ran

from replicse.files import read_rows

PLUGINS = sorted(folder.name for folder in (ROOT / "tests" / "papers").glob("*/") if plugins_of(folder))
ROWS = {"promptbert/ablation": ["unsup-bert", "one-template"], "promptbert/wording": ["this-colon"]}
RESULTS = Path("results") / "micro"


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Run a study of all of these papers; return the folder."""
    folder = copied(tmp_path_factory.mktemp("papers"))
    shutil.rmtree(folder / "workflow")
    write_workflow(folder / "workflow")
    plugins = []
    for key in PLUGINS:
        plugins += write_workspace(folder, key)["plugins"]
    papers = dict.fromkeys([*PLUGINS, "electra"], "all") | {"promptbert": ["ablation", "wording"]}
    config = {"scale": "micro", "seeds": [0], "papers": papers, "rows": ROWS, "plugins": plugins}
    (folder / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    electra = folder / RESULTS / "data" / "electra-tiny"
    electra.mkdir(parents=True)
    write_electra(electra, sentences(100))
    words = [
        sys.executable,
        "-m",
        "replicse",
        "run",
        *PLUGINS,
        "electra/table1",
        "promptbert",
        "--cores",
        "2",
    ]
    done = ran(*words, cwd=folder, env=small_study.environment(folder))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    pages = [f"reports/micro/{item}.html" for item in ("electra/table1", *ROWS)]
    for page in pages:
        assert page in done.stdout and (folder / page).is_file(), done.stdout
    return folder


def numbers(study, paper):
    """Load a paper's numbers.

    Returns:
        Dict from (item, row, column) to a score.
    """
    tables = (study / RESULTS / "tables" / paper).glob("*.csv")
    found = {}
    for table in tables:
        for cell in read_rows(table):
            value = float(cell["reproduced"])
            assert -100 <= value <= 100
            found[table.stem, cell["row"], cell["column"]] = value
    assert found
    return found


@pytest.mark.parametrize("paper", PLUGINS)
def test_a_paper_with_plugins_names_them_in_its_records(study, paper):
    assert numbers(study, paper)
    named = set()
    for pattern in ("runs/*/provenance.json", "encoders/*/*.json"):
        for file in (study / RESULTS).glob(pattern):
            record = json.loads(file.read_text())
            plugins = record.get("provenance", record).get("plugins", ())
            named.update(plugin["name"] for plugin in plugins)
    known = yaml.safe_load((study / "config.yaml").read_text())["plugins"]
    assert named <= set(known) and paper in {Path(name).parts[1] for name in named}


def evaluations(study, paper):
    """Load the evaluations of all encoders of a paper as a list of dicts."""
    encoders = set()
    for file in (study / RESULTS / "items" / paper).glob("*.json"):
        for cell in json.loads(file.read_text())["cells"]:
            encoders.update(cell["encoders"])
    return [json.loads((study / RESULTS / "encoders" / name / "fast.json").read_text()) for name in encoders]


def test_a_users_electra_is_trained_and_evaluated(study):
    cells = numbers(study, "electra")
    assert len(cells) == 4 and cells["table1", "before", "avg"] != cells["table1", "after", "avg"]
    (trained,) = (
        Path(each["encoder"]) for each in evaluations(study, "electra") if "runs" in each["encoder"]
    )
    assert json.loads((study / trained / "config.json").read_text())["model_type"] == "electra"


def test_promptbert_is_read_at_its_mask(study):
    cells = numbers(study, "promptbert")
    averages = {cell: value for cell, value in cells.items() if cell[2] == "avg"}
    assert len(averages) == len(set(averages.values())) == 3
    assert cells["wording", "this-colon", "gain"] != 0, "a full stop is no part of the text"
    stops = []
    for each in evaluations(study, "promptbert"):
        assert each["pooling"]["pooling"] == "mask"
        stops.append(each["pooling"].get("full_stop", False))
    assert sorted(stops) == [False, True, True, True]
