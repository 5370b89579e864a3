"""A workspace's papers: adjustments of runs, and limits of searches."""

import pytest
import yaml
from made_up import RECIPE, write_paper
from planned import WORKFLOW

from replicse.cli import main
from replicse.compile.compiler import compile_study
from replicse.compile.jobs import list_jobs
from replicse.compile.remarks import remarks
from replicse.compile.specifications import Specifications

COLUMN = {"id": "stsb", "metric": "spearman", "metric_path": "sts-dev/STS-B/all"}
TABLE = {"columns": [COLUMN], "rows": [{"id": "own", "encoder": {"use": "own"}}]}
OWN = {"like": "simcse/unsup", "optimisation": {"batch_size": 64, "steps": 30}}


def write_scale(folder, **keys):
    scale = {"name": "tiny", "extends": "micro", **keys}
    (folder / "scales" / "tiny.yaml").write_text(yaml.safe_dump(scale))


@pytest.fixture
def mine(workspace):
    """Create a workspace with a paper `mine`.

    The recipe only sets batch size and steps; other settings are from the parent recipe.
    """
    (workspace / "scales").mkdir()
    write_paper(workspace, "mine", {"table1": TABLE}, recipes={"own": OWN})
    return workspace


def study(scale="micro", paper="mine"):
    """Compile all items of a paper, by default at scale micro."""
    return compile_study({"scale": scale, "papers": {paper: "all"}, "seeds": [0]}, WORKFLOW)


def contrastive_run(study):
    (run,) = (run for run in study.runs.values() if run.objective[0].term == "infonce")
    return run


def optimisation(study):
    run = contrastive_run(study)
    return run.optimisation.batch_size, run.optimisation.steps, run.optimisation.learning_rate


def test_a_packaged_scale_keeps_what_an_own_recipe_writes_and_adjusts_the_rest(mine):
    assert optimisation(study()) == (64, 30, pytest.approx(3e-4))


def test_rules_of_an_own_scale_apply_to_own_recipes(mine):
    write_scale(mine)
    assert optimisation(study("tiny")) == (64, 30, pytest.approx(3e-4)), "its rules are those of micro"
    write_scale(mine, adjust=[])
    assert optimisation(study("tiny")) == (64, 30, 3e-5)
    write_scale(mine, adjust=[{"path": "optimisation.batch_size", "at_most": 8}])
    assert optimisation(study("tiny")) == (8, 30, 3e-5)


def test_a_row_of_an_own_table_is_kept_and_a_packaged_first_stage_is_adjusted(mine):
    """The user's row is kept, but a packaged first stage is adjusted.

    The second stage starts from the run that is also trained for the package's table.
    """
    second = {**OWN, "init": {"use": "simcse/unsup", "run": {"optimisation": {"batch_size": 32}}}}
    row = {"id": "own", "encoder": {"use": "own", "run": {"optimisation": {"learning_rate": 1e-3}}}}
    write_paper(mine, "two", {"table1": {**TABLE, "rows": [row]}}, recipes={"own": second})
    made = study(paper="two")
    last = next(run for run in made.runs.values() if run.optimisation.steps == 30)
    first = made.runs[last.init.run]
    assert last.optimisation.learning_rate == 1e-3
    assert (first.optimisation.batch_size, first.optimisation.steps) == (32, 20)


def test_searches_of_an_own_paper_are_run_completely_at_packaged_scales(mine):
    """Packaged scales run all of a search of a user's paper.

    For shipped papers, micro uses four other learning rates, and two jobs of a random search.
    """
    draw = {"jobs": 5, "domains": {"dropout.hidden": {"uniform": [0, 0.3]}}}
    rows = [
        {"id": "s0", "encoder": {"use": "own", "grid": {"optimisation.learning_rate": [2e-2, 3e-2]}}},
        {"id": "s1", "encoder": {"use": "own", "draw": draw}},
    ]
    table = {"columns": [{**COLUMN, "over": {"jobs": "max"}}], "rows": rows}
    write_paper(mine, "found", {"table1": table}, recipes={"own": OWN})

    def jobs(scale):
        return [len(cell.jobs[0]) for cell in study(scale, "found").cells["found/table1"]]

    assert jobs("micro") == [2, 5]
    write_scale(mine, draws=3, grids={"optimisation.learning_rate": [3e-2]})
    assert jobs("tiny") == [1, 3]


def test_steps_that_the_epochs_of_a_recipe_do_not_reach_are_told(mine, capsys):
    corpus = {"format": "table", "file": "own.csv", "text": "sentence", "rows": 200}
    (mine / "own.csv").write_text("sentence\n" + "A sentence of our own.\n" * 200)
    (mine / "papers/mine/corpora.yaml").write_text(yaml.safe_dump({"corpora": {"ours": corpus}}))

    def told(**options):
        recipe = {**OWN, "corpus": "ours", "optimisation": {"batch_size": 64, "steps": 1000, **options}}
        (mine / "papers/mine/recipes.yaml").write_text(yaml.safe_dump({"own": recipe}))
        assert main(["plan", "mine", "--all"]) == 0
        return " ".join(capsys.readouterr().out.split())

    ends = (
        "row own: optimisation.epochs ends the run after 4 steps of 1,000 (200 rows of ours); remove epochs"
    )
    assert ends in told(epochs=1) and "ends the run" not in told(epochs=250)
    assert "ends the run" not in told()
    run = contrastive_run(study())
    assert (run.optimisation.steps, run.optimisation.epochs) == (1000, None)


def write_corpus(workspace, paper):
    file = workspace / "papers" / paper / "own.csv"
    file.write_text("sentence\n" + f"A sentence of {paper}.\n" * 20)
    corpus = {"format": "table", "file": f"papers/{paper}/own.csv", "text": "sentence", "rows": 20}
    (file.parent / "corpora.yaml").write_text(yaml.safe_dump({"corpora": {"own": corpus}}))


def test_another_paper_changes_no_job_of_a_paper(mine):
    """A further paper does not change the jobs of a paper.

    Items once contained the evaluation datasets of all papers, so all tables were outdated after a dataset was added.
    """

    def specifications():
        made = Specifications(study(paper="first"))
        stages = {stage for stage, _ in made.jobs} - {"judge", "report"}
        return {key: made.text(job) for key, job in made.jobs.items() if key[0] in stages}

    write_paper(mine, "first", {"table1": TABLE}, recipes={"own": {**OWN, "corpus": "own"}})
    write_corpus(mine, "first")
    before = specifications()
    write_paper(mine, "second", {"table1": TABLE}, recipes={"own": {**OWN, "corpus": "own"}})
    write_corpus(mine, "second")
    (mine / "rated.csv").write_text("a,b,score\none,two,3\n")
    rated = {"file": "rated.csv", "first": "a", "second": "b", "score": "score", "range": [0, 5]}
    (mine / "papers/second/sets.yaml").write_text(yaml.safe_dump({"sets": {"rated": rated}}))
    assert specifications() == before
    assert "rated" in study(paper="first").own_sets


def test_two_papers_may_have_corpora_of_one_name(mine):
    """Two papers can use the same name for a corpus.

    The template uses the name `own` for each corpus. A second paper must not change the ids of the first
    paper's runs.
    """
    write_paper(mine, "first", {"table1": TABLE}, recipes={"own": {**OWN, "corpus": "own"}})
    write_corpus(mine, "first")
    alone = study(paper="first")
    rows = [
        {"id": "own", "encoder": {"use": "own"}},
        {"id": "of-first", "encoder": {"use": "first/own"}},
        {"id": "by-row", "encoder": {"use": "simcse/unsup", "run": {"corpus": "own"}}},
        {"id": "fit", "encoder": {"use": "first/own", "postprocess": {"name": "centring", "fit": "own"}}},
    ]
    recipes = {"own": {"like": "first/own", "corpus": "own"}}
    write_paper(mine, "second", {"table1": {**TABLE, "rows": rows}}, recipes=recipes)
    write_corpus(mine, "second")
    assert dict(study(paper="first").runs) == dict(alone.runs)
    both = study(paper="second")
    encoders = {cell.row.id: cell.encoders[0] for cell in both.cells["second/table1"]}
    read = {row: both.run_of(encoder).corpus for row, encoder in encoders.items()}
    assert both.encoders[encoders["fit"]].postprocess.fit == read["own"]
    assert read["own"] == read["by-row"] == {**read["of-first"], "file": "papers/second/own.csv"}
    assert read["of-first"]["file"] == "papers/first/own.csv" and read["own"]["name"] == "own"
    stores = [job.payload["corpus"] for (stage, _), job in list_jobs(both).items() if stage == "store"]
    assert sorted((each["file"], each["rows"]) for each in stores if each["name"] == "own") == [
        ("papers/first/own.csv", 20),
        ("papers/second/own.csv", 20),
    ]


def test_verbs_say_in_a_line_what_the_scale_changes(mine, capsys):
    line = (
        "scale micro trains mine with optimisation.learning_rate 0.0003 instead of 3e-05, selection.every 10 instead of"
        " 125; values that your recipes write are kept, and adjust: [] in a scale of your own keeps all"
    )
    for words in (["validate"], ["plan", "mine"], ["run", "-n", "mine"]):
        assert main(words) == 0
        printed = capsys.readouterr()
        told = " ".join((printed.out + printed.err).split())
        assert line in told, words
        assert "noncontrastive/" not in told, "remarks are on the papers of this folder"
    assert main(["show", "mine/table1"]) == 0
    assert f"S{line[1:]}." in " ".join(capsys.readouterr().out.split())
    write_scale(mine, adjust=[])
    assert main(["plan", "mine", "--scale", "tiny"]) == 0
    assert "instead of" not in capsys.readouterr().out


def test_defaults_that_no_recipe_writes_are_named_too(mine, capsys):
    plain = {**RECIPE, "optimisation": {"learning_rate": 1e-3}}
    write_paper(mine, "plain", {"table1": TABLE}, recipes={"own": plain})
    assert main(["plan", "plain"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert (
        "trains plain with optimisation.batch_size 16 instead of 64, optimisation.steps 20, selection" in told
    )


def test_a_rate_a_step_count_and_a_fraction_that_are_likely_mistakes_are_noted(mine, capsys):
    printed = [{"item": "table1", "row": "own", "column": "stsb", "metric": "spearman", "value": "0.76"}]
    write_paper(mine, "likely", {"table1": TABLE}, printed, {"own": OWN})

    def notes(**options):
        recipe = {**OWN, "corpus": "ours", "optimisation": {"batch_size": 64, "steps": 30, **options}}
        (mine / "papers/likely/recipes.yaml").write_text(yaml.safe_dump({"own": recipe}))
        return list(remarks(study(paper="likely")))

    corpus = {"format": "table", "file": "own.csv", "text": "sentence", "rows": 640}
    (mine / "own.csv").write_text("sentence\n" + "A sentence of our own.\n" * 640)
    (mine / "papers/likely/corpora.yaml").write_text(yaml.safe_dump({"corpora": {"ours": corpus}}))
    told = "\n".join(notes())
    assert told.count('the value of likely/table1/own/stsb is "0.76"; multiply scores by 100') == 1
    told = "\n".join(notes(learning_rate=1, steps=10000))
    assert "diverge" not in told and "times" not in told
    assert "learning_rate is 1000; most losses diverge" in "\n".join(notes(learning_rate=1000))
    assert "steps read the 640 rows of ours 1,001 times" in "\n".join(notes(steps=10010))


def test_columns_are_repeated_as_rows_are(mine):
    years = [{"year": 12}, {"year": 13}]
    inner = {"id": "sts{year}", "metric": "spearman", "metric_path": "sts/STS{year}/all"}
    table = {**TABLE, "columns": [COLUMN, {"for_each": years, "columns": [inner]}]}
    write_paper(mine, "wide", {"table1": table}, recipes={"own": OWN})
    paths = [cell.metric_path for cell in study(paper="wide").cells["wide/table1"]]
    assert paths == ["sts-dev/STS-B/all", "sts/STS12/all", "sts/STS13/all"]
