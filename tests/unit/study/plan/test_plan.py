"""Planning: shared runs, chains, adjustments of a scale, published spreads, and mistakes in paper files."""

import shutil
import subprocess
import sys

import pytest
import yaml
from made_up import RECIPE, made_plan, write_paper, write_scores
from places import ROOT
from planned import WORKFLOW, shipped_plan

from replicse.errors import BadInput
from replicse.study.paper.scales import load_scale
from replicse.study.plan.graph import graph_of
from replicse.study.plan.notes import notes
from replicse.study.plan.planner import load_plan
from replicse.study.results.tabulate import borrowed_spread, item_result, table_rows
from replicse.study.results.values import Evaluations

CONFIG = {"scale": "micro", "papers": {"simcse": ["table3", "figure2"], "repro": ["table5"]}, "seeds": [0, 1]}


def plan_of(**changes):
    return shipped_plan(**{**CONFIG, **changes})


@pytest.fixture
def workflow(tmp_path):
    """A copy of the workflow's data that a test may break: the papers of CONFIG, and those with published spreads."""
    for name in ("papers/simcse", "papers/repro", "papers/simple", "scales"):
        shutil.copytree(WORKFLOW / name, tmp_path / name)
    return tmp_path


def edit(path, change):
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    change(document)
    path.write_text(yaml.safe_dump(document, allow_unicode=True), encoding="utf-8")


def test_tables_share_runs():
    plan = plan_of()
    table3, table5 = (plan.runs_of(plan.item(name)) for name in ("simcse/table3", "repro/table5"))
    assert table5 < table3, "the reproduction's dropout table asks for runs that SimCSE's asks for"
    figure2 = plan.runs_of(plan.item("simcse/figure2"))
    assert len(figure2 - table3) == 2, "only 'delete one word' is new, once per seed"


def test_a_study_may_ask_for_some_rows_of_an_item():
    plan = plan_of(rows={"simcse/table3": ["p0.1", "p0.0"]})
    item = plan.item("simcse/table3")
    assert [row.id for row in item.rows] == ["p0.0", "p0.1"]
    assert item.notes[-1] == "This study asks for 2 of the 8 rows."
    assert (
        item.baseline == "p0.1"
        and plan_of(rows={"simcse/table3": ["p0.0"]}).item("simcse/table3").baseline == ""
    )
    assert len(plan.evaluation_files(item)) == 4
    for rows, words in (
        ({"simcse/table3": ["p0.11"]}, 'rows.simcse/table3 names "p0.11"; did you mean "p0.1"'),
        ({"simcse/table33": ["p0.1"]}, 'rows names "simcse/table33"; did you mean "simcse/table3"'),
    ):
        with pytest.raises(BadInput, match=words):
            plan_of(rows=rows)


def test_every_seed_is_a_whole_chain_from_its_own_backbone():
    one, three = plan_of(seeds=[0]), plan_of(seeds=[0, 1, 2])
    for fresh in (True, False):
        count = [sum(bool(run.init.fresh) == fresh for run in plan.runs.values()) for plan in (one, three)]
        assert count[1] == 3 * count[0] and (count[0] == 1 or not fresh)
    starts = {run.seed: run.init.run for run in three.runs.values() if run.init.run}
    assert {three.runs[start].seed for start in starts.values()} == {0, 1, 2}
    for run in three.runs.values():
        if run.init.run:
            assert run.init.run == starts[run.seed], "rows of one seed stand on one backbone"
            assert three.runs[run.init.run].seed == run.seed
    assert set(one.runs) < set(three.runs), "the chains of a seed are the same in every study"


def test_what_a_run_generates_with_is_of_its_own_chain():
    plan = plan_of(papers={"simcse": ["table1"], "diffcse": ["table11"]}, seeds=[0, 1])
    for run_id, run in plan.runs.items():
        behind = {plan.checkpoints[folder] for folder in plan.needed_folders(run_id)}
        assert {plan.runs[each].seed for each in behind} <= {run.seed}
    replaced = [run for run in plan.runs.values() if "encoder" in str(run.views[-1].plain())]
    generated = [
        run for run in plan.runs.values() if any(hasattr(term, "generator") for term in run.objective)
    ]
    assert len(replaced) == len(generated) == 2


def test_a_scale_may_have_one_backbone_for_all_seeds(workflow):
    edit(workflow / "scales" / "micro.yaml", lambda scale: scale["backbones"]["bert-base"]["run"].pop("seed"))
    plan = load_plan({**CONFIG, "papers": {"simcse": ["table5"]}, "seeds": [5, 6]}, workflow)
    cells = {cell.row.id: cell for cell in plan.described("simcse/table5") if cell.column.id == "avg"}
    assert cells["unsup-simcse-bert-base"].seeds == (5, 6)
    assert cells["bert-base-first-last"].seeds == (0,), "the seed of the scale's pre-training"
    crossed = {"papers": {"simcse": ["table3"]}, "crossed": {"simcse/table3": ["p0.1"]}}
    with pytest.raises(
        BadInput, match=r"crossed names row p0.1 of simcse/table3, but .*micro.yaml pre-trains"
    ):
        load_plan({**CONFIG, **crossed}, workflow)


def test_a_crossed_row_is_run_under_every_seed_on_every_backbone():
    asked = {
        "papers": {"simcse": ["table3"]},
        "rows": {"simcse/table3": ["p0.0", "p0.1"]},
        "seeds": [0, 1, 2],
    }
    plain, plan = plan_of(**asked), plan_of(**asked, crossed={"simcse/table3": ["p0.1"]})
    assert len(plan.runs) == len(plain.runs) + 6, "the chains of one seed are those of the table"
    lines = {cell.protocol: cell for cell in plan.cells["simcse/table3"] if cell.row.id == "p0.1"}
    for seed in (0, 1, 2):
        cell = lines[f"on-backbone-{seed}"]
        assert cell.seeds == (0, 1, 2) and cell.jobs[seed] == lines["as-described"].jobs[seed]
        runs = [plan.runs[plan.encoders[name].source.run] for name in cell.encoders]
        assert {plan.runs[run.init.run].seed for run in runs} == {seed}
    assert any(entry["id"] == "on-backbone-2" for entry in plan.record["protocols"])
    for crossed, words in (
        ({"simcse/table3": ["p0.11"]}, 'crossed.simcse/table3 names "p0.11"; did you mean "p0.1"'),
        ({"simcse/table33": ["p0.1"]}, 'crossed names "simcse/table33"; did you mean "simcse/table3"'),
    ):
        with pytest.raises(BadInput, match=words):
            plan_of(**asked, crossed=crossed)


def test_a_trajectory_ends_where_its_runs_end_at_a_scale(workflow):
    whole = load_plan({**CONFIG, "papers": {"simcse": ["figure2"]}}, workflow)
    file = workflow / "scales/micro.yaml"
    file.write_text(
        file.read_text().replace("optimisation.steps, at_most: 20", "optimisation.steps, at_most: 15")
    )
    cut = load_plan({**CONFIG, "papers": {"simcse": ["figure2"]}}, workflow)
    for plan, last in ((whole, 20), (cut, 10)):
        assert {run.trajectory.steps()[-1] for run in plan.runs.values() if run.trajectory.every} == {last}
        cells = plan.cells["simcse/figure2"]
        shown = {cell.column.step for cell in cells if cell.jobs}
        assert shown == {None, *range(0, last + 1, 10)}
        assert {cell.column.step for cell in cells} == {None, *range(0, 101, 10)}


def test_a_scale_that_extends_another_says_only_what_differs(workflow):
    file = workflow / "scales" / "mine.yaml"
    file.write_text(
        "name: mine\nextends: compact\nbackbones: {bert-base: {run: {optimisation: {batch_size: 80}}}}\n"
    )
    mine, compact = load_scale(file), load_scale(workflow / "scales" / "compact.yaml")
    own, base = (scale.backbones["bert-base"].run for scale in (mine, compact))
    assert own.optimisation.batch_size == 80 != base.optimisation.batch_size
    assert own.objective == base.objective and own.init == base.init
    assert mine.backbones["bert-small"] == compact.backbones["bert-small"]
    assert mine.corpora == compact.corpora and mine.adjust == compact.adjust


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "name: mine\nextends: compakt",
            'extends is "compakt", which is no other scale.*did you mean "compact"',
        ),
        ("name: mine\nextends: other", "which is no other scale"),
        ("extends: micro", "it lacks a name of its own; give name: mine"),
        (
            "name: mine\nextends: micro\ncomparable: true",
            "comparable: true, but .* is pre-trained by the scale",
        ),
    ],
)
def test_a_mistake_in_what_a_scale_extends_is_told(workflow, text, words):
    (workflow / "scales" / "other.yaml").write_text("name: other\nextends: mine\n")
    (workflow / "scales" / "mine.yaml").write_text(f"{text}\n")
    with pytest.raises(BadInput, match=words):
        load_scale(workflow / "scales" / "mine.yaml")


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"scale": "mikro"}, ['scale is "mikro"', 'did you mean "micro"']),
        ({"seeds": [0, "two"]}, ['seeds[1] is "two"', "a whole number"]),
        ({"seeds": [0, 1, 0]}, ["seeds is [0, 1, 0]", "each seed once"]),
        ({"papers": {"simcse": ["tabel3"]}}, ['papers.simcse names "tabel3"', 'did you mean "table3"']),
        ({"sceal": 1}, ['unknown key "sceal"', 'did you mean "scale"']),
        ({"data": {"source": "disk"}}, ['data.source is "disk"', "embedded, hub, local"]),
    ],
)
def test_a_mistake_in_the_config_is_one_sentence(config, words):
    with pytest.raises(BadInput) as error:
        plan_of(**config)
    text = str(error.value)
    assert text.startswith("config.yaml: "), text
    assert all(word in text for word in words), text
    assert "\n" not in text


def test_planning_needs_no_torch():
    code = (
        "import sys; from pathlib import Path; from replicse.study.plan.planner import load_plan;"
        "load_plan({'scale': 'paper', 'papers': {'simcse': 'all'}, 'seeds': [0]}, Path('workflow'));"
        "import replicse.study.results.verdict, replicse.study.results.tabulate, replicse.study.judge.audit;"
        "import replicse.cli; print({'torch', 'scipy', 'pandas', 'transformers'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def table3(change):
    """Return a file of table 3 and a change of it."""
    return "papers/simcse/tables/table3.yaml", change


@pytest.mark.parametrize(
    ("file", "change", "words"),
    [
        (
            *table3(lambda table: table["encoder"].update(use="unsupp")),
            'table3.yaml: row p0.0.*recipe "unsupp" is unknown.*did you mean "unsup"',
        ),
        (*table3(lambda table: table["rows"].append(dict(table["rows"][0]))), 'no row twice; "p0.0" is'),
        (*table3(lambda table: table.update(id="simcse/table4")), '"simcse/table4".*"simcse/table3"'),
        (
            *table3(lambda table: table["setting"].pop("metric")),
            r"table3\.yaml has no metric there; give it setting: {metric: spearman}",
        ),
        (
            "papers/simcse/tables/table4.yaml",
            lambda table: table["rows"][1].update(printed={"overlap": "lexical-overlap/qpq"}),
            'table4.yaml: row .*: printed names.*did you mean "lexical-overlap/qqp"',
        ),
        (
            "papers/simcse/recipes.yaml",
            lambda recipes: recipes["unsup"]["init"].update(backbone="bert-bass"),
            'micro.yaml hold no "bert-bass".*did you mean "bert-base"',
        ),
    ],
)
def test_a_mistake_in_a_paper_file_is_one_sentence(workflow, file, change, words):
    edit(workflow / file, change)
    with pytest.raises(BadInput, match=words) as error:
        load_plan({**CONFIG, "papers": {"simcse": ["table3", "table4"]}}, workflow)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("file", "line", "words"),
    [
        ("tables/table3.yaml", "rows: [", r"table3.yaml:\d+: "),
        (
            "reported.csv",
            "table3,p0.1,stsb-dev,spearman,82.5,Table 3,again",
            r"reported.csv:\d+: .*given twice",
        ),
        ("reported.csv", "table3,p9,stsb-dev,spearman,82.5,,", r"reported.csv:\d+: .*source is empty"),
        ("reported.csv", "table3,p9,stsb-dev", r"reported.csv:\d+: .*expected 7 fields"),
        (
            "reported.csv",
            "table3,p0.11,stsb-dev,spearman,82.5,T,",
            "table3.yaml shows none there.*p0.1/stsb-dev",
        ),
        (
            "reported.csv",
            "table3,p0.1,stsb-dev,accuracy,82.5,T,",
            'table3.yaml has the metric "spearman" there',
        ),
    ],
)
def test_a_line_that_cannot_be_read_or_that_no_cell_shows_is_named(workflow, file, line, words):
    path = workflow / "papers" / "simcse" / file
    path.write_text(path.read_text(encoding="utf-8") + line + "\n", encoding="utf-8")
    with pytest.raises(BadInput, match=words):
        load_plan(CONFIG, workflow)


def cells_of(plan, item):
    """Return the cells of an item's CSV by row, column and protocol."""
    rows = table_rows(item_result(plan, plan.item(item), Evaluations(plan)))
    return {(cell["row"], cell["column"], cell["protocol"]): cell for cell in rows}


# Chains: a run that starts where the run of another recipe ends

PAIRS = [{"column": "anchor"}, {"column": "positive"}]
STAGES = {
    "plain": RECIPE,
    "second": {"like": "plain", "init": {"use": "plain"}, "corpus": "nli", "views": PAIRS},
    "third": {"like": "second", "init": {"use": "second", "keep_head": True, "checkpoint": "last"}},
    "longer": {"like": "second", "init": {"use": "plain", "run": {"optimisation": {"epochs": 2}}}},
    "endless": {"like": "second", "init": {"use": "again"}},
    "again": {"like": "second", "init": {"use": "endless"}},
}  # fmt: skip
SCORE = [{"id": "avg", "metric_path": "sts/avg"}]


def scores_of(*recipes, column=SCORE[0], **more):
    """Return a table with one column, and a row of each recipe under its name."""
    rows = [{"id": name, "encoder": {"use": name}} for name in recipes]
    return {"setting": {"metric": "spearman"}, "columns": [column], "rows": rows, **more}


def chain_plan(folder, *rows, **config):
    write_paper(folder, "made", {"table1": scores_of(*rows)}, recipes=STAGES)
    return made_plan(folder, **config)


def runs_behind(plan, row, item="made/table1"):
    """Return the spec behind each seed of a row."""
    (cell,) = [cell for cell in plan.cells[item] if cell.row.id == row and cell.column.id == "avg"]
    return [plan.runs[plan.encoders[name].source.run] for (name,) in cell.jobs]


def test_a_chain_starts_from_a_real_run_of_the_same_seed(tmp_path):
    plan = chain_plan(tmp_path, "second", seeds=[3, 4])
    last = runs_behind(plan, "second")
    assert [run.seed for run in last] == [3, 4]
    first = [plan.runs[run.init.run] for run in last]
    assert [run.seed for run in first] == [3, 4], "the spread of the first stage is part of the spread"
    assert [run.init.hub for run in first] == ["bert-base-uncased"] * 2
    assert len({run.run_id for run in (*last, *first)}) == len(plan.runs) == 4
    assert plan.runs_of(plan.item("made/table1")) == set(plan.runs)


def test_a_chain_waits_for_the_checkpoint_that_it_starts_from(tmp_path):
    plan = chain_plan(tmp_path, "second", seeds=[0])
    (run,) = runs_behind(plan, "second")
    folder = f"results/paper/runs/{run.init.run}/best"
    assert graph_of(plan)["train", run.run_id].payload["init"] == folder
    assert f"{folder}/model.safetensors" in graph_of(plan)["train", run.run_id].needs
    assert (
        graph_of(plan)["train", run.run_id].payload["tokenizer"]
        == graph_of(plan)["train", run.init.run].payload["tokenizer"]
    )


LABELLED = {
    **RECIPE,
    "corpus": "course-sst",
    "views": [{"column": "first"}],
    "objective": [{"term": "cross-entropy", "task": "sst", "classes": 5}],
}
HEADED = {"head": "mlp", "pooling": {"train": "cls-head"}}


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ({**RECIPE, "pooling": {"train": "cls"}}, HEADED, "trains none"),
        ({**RECIPE, "head": "projector"}, HEADED, "has a projector of other sizes"),
        (
            LABELLED,
            {"objective": [{"term": "cross-entropy", "task": "sst", "classes": 2}]},
            "has another head of task sst; take it away",
        ),
    ],
)
def test_a_head_that_an_earlier_run_does_not_have_cannot_be_kept(tmp_path, before, after, problem):
    recipes = {
        "plain": before,
        "next": {"like": "plain", "init": {"use": "plain", "keep_head": True}, **after},
    }
    write_paper(tmp_path, "made", {"table1": scores_of("next")}, recipes=recipes)
    with pytest.raises(BadInput, match=f"the run of made/plain {problem}"):
        made_plan(tmp_path)


def test_the_plan_notes_augmentations_that_leave_view_pairs_equal():
    plan = shipped_plan(scale="paper", papers={"noncontrastive": ["table1"]})
    found = [note for note in notes(plan) if "view pairs are equal" in note]
    assert [note.partition(":")[0] for note in found] == ["shuffle 0.05", "shuffle 0.1"]
    assert all("about 25%" in note and "noncontrastive/table1" in note for note in found)


def test_a_chain_without_a_beginning_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"row endless: the run starts from itself.*break the circle"):
        chain_plan(tmp_path, "endless")


# Searches


def search_plan(folder, over, **row):
    grid = {"optimisation.batch_size": [32, 64, 128], "optimisation.learning_rate": [1e-5, 3e-5]}
    column = SCORE[0] | ({"over": over} if over else {})
    rows = [{"id": "a", "encoder": {"use": "plain", "grid": grid}, **row}]
    write_paper(folder, "made", {"table1": scores_of(column=column, rows=rows)})
    return made_plan(folder)


def test_a_search_runs_its_jobs_under_one_seed(tmp_path):
    plan = search_plan(tmp_path, {"jobs": "max"})
    (cell,) = plan.cells["made/table1"]
    assert cell.seeds == (0,) and [len(group) for group in cell.jobs] == [6]
    tried = [plan.runs[plan.encoders[name].source.run].optimisation for name in cell.encoders]
    assert {(each.batch_size, each.learning_rate) for each in tried} == {
        (size, rate) for size in (32, 64, 128) for rate in (1e-5, 3e-5)
    }


@pytest.mark.parametrize(
    ("over", "row", "words"),
    [
        # Six jobs were once shown as the mean of six seeds.
        (None, {}, "row a is a search; say in over.jobs what is taken of its jobs"),
        ({"jobs": "max"}, {"encoder": {"use": "plain"}}, r"over\.jobs is given, but row a is no search"),
        (
            {"jobs": {"argmax": "pooling.train"}},
            {},
            '"pooling.train", "cls-head" in a run of row a; expected the path',
        ),
        (
            {"jobs": {"argmax": "optimisation.steps"}},
            {},
            "None in a run of row a; expected the path of a number",
        ),
    ],
)
def test_what_a_search_does_not_show_is_refused_before_anything_is_run(tmp_path, over, row, words):
    with pytest.raises(BadInput, match=f"column avg: .*{words}"):
        search_plan(tmp_path, over, **row)


# Numbers that identify


def test_an_encoder_that_no_seed_of_the_study_changes_is_a_lone_value():
    plan = shipped_plan(scale="micro", papers={"simcse": ["table5"]}, seeds=[5, 6])
    cells = {cell.row.id: cell for cell in plan.described("simcse/table5") if cell.column.id == "avg"}
    baseline, trained = cells["bert-base-first-last"], cells["unsup-simcse-bert-base"]
    assert trained.seeds == (5, 6) and len(trained.jobs) == 2
    assert baseline.seeds == (5, 6), "each seed pre-trains its own backbone"
    paper = shipped_plan(scale="paper", papers={"simcse": ["table5"]}, seeds=[5, 6])
    released = {cell.row.id: cell for cell in paper.described("simcse/table5")}["bert-base-first-last"]
    assert released.seeds == (None,)


# Published spreads

STS = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R", "avg")


def spreads(plan, item):
    """Return the spreads that cells of the text's protocol borrow, by row and column."""
    found = {cell.key[1:3]: borrowed_spread(plan, cell) for cell in plan.described(item)}
    return {key: spread.sd for key, spread in found.items() if spread is not None}


@pytest.fixture(scope="module")
def everything():
    papers = {"simcse": "all", "repro": "all", "diffcse": "all"}
    return plan_of(scale="paper", papers=papers, adjudicate="all")


@pytest.mark.parametrize(
    ("item", "cells"),
    [
        ("simcse/table1", {("none", "stsb-dev"): 0.97}),
        ("simcse/tableA1", {}),
        ("simcse/tableE1", {}),
        ("repro/table5", {("p0.1", "stsb-dev"): 0.97, ("p0.1", "stsb-dev-delta"): 0.97}),
        (
            "simcse/table5",
            {
                **{
                    ("unsup-simcse-bert-base", column): spread
                    for column, spread in zip(
                        STS, (1.51, 1.33, 1.25, 1.02, 0.87, 1.12, 0.97, 0.84), strict=True
                    )
                },
                ("unsup-simcse-roberta-base", "avg"): 0.21,
                ("unsup-simcse-roberta-large", "avg"): 0.50,
            },
        ),
    ],
)
def test_only_the_measured_recipe_borrows_and_each_backbone_its_own(everything, item, cells):
    assert spreads(everything, item) == cells


@pytest.mark.parametrize(
    "change",
    [
        {"pooling": "cls-head"},
        {"checkpoint": "last"},
        {"postprocess": {"name": "whitening", "fit": "target"}},
        {"run": {"optimisation": {"batch_size": 128}}},
        {"run": {"dropout": {"attention": 0.05}}},
        {"run": {"precision": "bf16"}},
    ],
)
def test_whatever_differs_from_the_recipe_ends_the_loan(workflow, change):
    def differ(table):
        row = next(row for row in table["rows"] if row["id"] == "p0.1")
        row["encoder"] = {**row.get("encoder", {}), **change}

    edit(workflow / "papers" / "simcse" / "tables" / "table3.yaml", differ)
    config = {"scale": "paper", "papers": {"simcse": ["table3"]}, "seeds": [0]}
    assert spreads(load_plan(config, workflow), "simcse/table3") == {}


def test_the_reruns_of_several_people_are_lent_to_nobody(everything):
    """DiffCSE's 1.02 is of four reruns by others: it says how machines differ, not how seeds do."""
    assert not any("diffcse" in row for row, _ in spreads(everything, "diffcse/table1"))
    assert {spread.degrees for each in everything.measured.values() for spread in each.values()} <= {9, 49}


def test_a_smaller_scale_borrows_nothing():
    plan = plan_of(scale="compact", papers={"simcse": ["table3", "table5"]})
    assert not any(spreads(plan, item) for item in plan.items)


@pytest.mark.parametrize(("seeds", "borrowed"), [(1, "yes"), (4, "yes"), (10, "yes")])
def test_a_borrowed_spread_is_marked_at_any_number_of_seeds(tmp_path, monkeypatch, seeds, borrowed):
    monkeypatch.chdir(tmp_path)
    plan = plan_of(
        scale="paper", papers={"simcse": ["table3"]}, seeds=list(range(seeds)), adjudicate=["simcse/table3"]
    )
    write_scores(plan, ["simcse/table3"], lambda cell, place: 82 + (-1) ** place)
    cells = cells_of(plan, "simcse/table3")
    own = cells.pop(("p0.1", "stsb-dev", "as-described"))
    assert own["borrowed"] == borrowed
    assert own["verdict"] in ("within seed spread", "higher", "lower")
    assert ("p0.1", "stsb-dev", "eval-250") in cells
    assert not any(cell["borrowed"] for cell in cells.values()), "neither ablations nor variants borrow"
    if seeds == 1:
        assert {cell["verdict"] for cell in cells.values()} == {"undetermined"}


# Numbers of the running text


@pytest.mark.parametrize(
    ("over", "printed", "words"),
    [
        ({}, {"statistic": "sd"}, "prints a sd; its column takes over seeds the mean"),
        (
            {"over": {"seeds": {"percentile": 75}}},
            {"statistic": "percentile", "q": 95},
            "prints a percentile 95; its column takes over seeds the 75th percentile",
        ),
    ],
)
def test_a_printed_statistic_under_a_column_of_another_one_is_refused(tmp_path, over, printed, words):
    number = {"item": "table1", "row": "plain", "column": "avg", "value": "7", "seeds": 50, **printed}
    write_paper(tmp_path, "made", {"table1": scores_of("plain", column=SCORE[0] | over)}, [number])
    with pytest.raises(BadInput, match=rf"reported\.csv: table1 plain/avg/spearman .*{words}"):
        made_plan(tmp_path)
