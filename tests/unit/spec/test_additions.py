"""The user's corpora and datasets, in configs and papers.

Tests names, sizes, and the jobs that use them.
"""

import pytest
from cases import cases
from made_up import RECIPE, write_paper

from replicse.compile.compiler import compile_study
from replicse.compile.jobs import list_jobs
from replicse.compile.needs import data_files, tables
from replicse.errors import BadInput
from replicse.spec.layers import mappings, workspace_files

CORPUS = {"file": "mine.csv", "format": "table", "text": "sentence"}
PAIRS = {"file": "pairs.csv", "first": "a", "second": "b", "score": "c", "range": [0, 5]}
LABELS = {"file": "labels.csv", "text": "a", "label": "b"}
COLUMNS = {
    "rated": "sets/rated/spearman/all",
    "topics": "sets/topics/accuracy",
    "task": "mteb/SICK-BR-STS",
    "average": "mteb/average/STS",
}


@pytest.fixture
def plan(tmp_path, monkeypatch):
    """Return a function that compiles a paper with the user's datasets.

    The paper has a run on the corpus `mine`, and a column for each kind of dataset.
    """
    monkeypatch.chdir(tmp_path)

    def made(columns=COLUMNS, scale="micro", rows=("trained",), workflow="workflow", change=None, **config):
        """Compile an own table, by default one row at scale micro."""
        if not (tmp_path / workflow).exists():
            table = {"columns": [], "rows": []}
            for name, path in columns.items():
                table["columns"].append({"id": name, "metric": "m", "metric_path": path})
            for row in rows:
                table["rows"].append({"id": row, "encoder": {"use": row, "run": change or {}}})
            recipes = {"trained": {**RECIPE, "corpus": "mine"}, "other": RECIPE}
            write_paper(tmp_path / workflow, "made", {"table1": table}, recipes=recipes)
        values = {"scale": scale, "papers": {"made": "all"}, "seeds": [0], **config}
        return compile_study(values, tmp_path / workflow)

    return made


def own(**more):
    return {"corpora": {"mine": CORPUS}, "sets": {"rated": PAIRS, "topics": LABELS}, **more}


def options(plan, group):
    (job,) = (
        job for key, job in list_jobs(plan).items() if key[0] == "evaluate" and key[1].endswith(f".{group}")
    )
    return job.payload["options"], job


def test_a_config_brings_corpora_and_sets_along(plan):
    made = plan(**own())
    assert made.scale.corpora["mine"].text == "sentence" and "wiki" in made.scale.corpora
    jobs = list_jobs(made)
    read = {key[0]: workspace_files(mappings([job.files])) for key, job in jobs.items() if job.files}
    assert read["evaluate"] == ["labels.csv", "pairs.csv"]
    stores = [workspace_files(mappings([job.files])) for key, job in jobs.items() if key[0] == "store"]
    assert sorted(stores) == [[], ["mine.csv"]], "the backbone is pre-trained on the scale's corpus"
    assert tables(made) == ["labels.csv", "mine.csv", "pairs.csv"]
    assert not {*tables(made)} & {*data_files(made)}, "they lie in the working directory"


def test_a_run_selects_by_a_set_and_is_given_that_set_alone(plan):
    rule = {"selection": {"metric": "sets/rated/spearman/all"}}
    made = plan({"topics": COLUMNS["topics"]}, change=rule, **own())
    (job,) = (
        job for (stage, *_), job in list_jobs(made).items() if stage == "train" and job.files.get("options")
    )
    assert job.payload["run"]["selection"]["options"] == {"sets": {"rated": {"format": "table", **PAIRS}}}
    assert workspace_files(mappings([job.files])) == ["pairs.csv"] and "pairs.csv" in tables(made)
    with pytest.raises(BadInput, match=r'selection.metric: sets of papers and config do not contain "rated"'):
        plan({"task": COLUMNS["task"]}, change=rule, **{**own(), "sets": {"topics": LABELS}})
    rule["selection"]["metric"] = "sets/topics/spearman/all"
    with pytest.raises(BadInput, match=r'set "topics" has accuracy and dev_accuracy, not spearman/all'):
        plan(change=rule, workflow="other", **own())


def test_a_job_is_given_what_its_cells_read_and_no_more(plan):
    made = plan(**own())
    given, job = options(made, "sets")
    assert set(given["sets"]["sets"]) == {"rated", "topics"} and job.payload["suite"] == ["sets"]
    given, _ = options(made, "mteb")
    assert given["mteb"]["data"] == "miniature"
    assert len(given["mteb"]["tasks"]) == 11 and {"SICK-BR-STS", "BIOSSES"} <= set(given["mteb"]["tasks"])
    made = plan({"rated": COLUMNS["rated"], "all": "mteb/average/all"}, workflow="second", **own())
    given, job = options(made, "sets")
    assert given == {"sets": {"sets": {"rated": {"format": "table", **PAIRS}}}}
    assert workspace_files(mappings([job.files])) == ["pairs.csv"]
    assert options(made, "mteb")[0] == {"mteb": {"data": "miniature"}}, "all 56 are not listed"
    assert tables(made) == ["mine.csv", "pairs.csv"]


@cases
def test_what_does_not_fit_is_refused_in_a_sentence(plan, config, problem):
    with pytest.raises(BadInput, match=problem):
        plan(**own(**config))


PLUGIN = '''"""A corpus format."""

from typing import Literal

from replicse.registry.corpora import OneColumn, OneFile


class Shouted(OneColumn, OneFile):
    """Lines in capitals."""

    format: Literal["shouted"]


def shouted(root, corpus):
    """Yield the lines in capitals."""
    return ((line.upper(),) for line in (root / corpus.file).read_text().splitlines())
'''


def test_a_corpus_of_a_config_may_be_of_a_format_that_its_plug_in_brings(plan, tmp_path):
    (tmp_path / "shouted.py").write_text(PLUGIN)
    corpora = {"mine": {"format": "shouted", "file": "mine.txt"}}
    made = plan(**own(corpora=corpora, plugins=["shouted.py"]))
    assert made.scale.corpora["mine"].plain() == corpora["mine"]
    with pytest.raises(BadInput, match=r'corpora\.mine\.format is "shouted"'):
        plan(**own(corpora=corpora))
