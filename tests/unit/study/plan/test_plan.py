"""Planning: shared runs, chains, adjustments of a scale, published spreads, and mistakes in paper files."""

import json
import shutil
import statistics
import subprocess
import sys
from collections import Counter

import pytest
import yaml
from made_up import RECIPE, made_plan, write_paper, write_scores
from places import ROOT
from pydantic import ValidationError

from replicse.errors import BadInput
from replicse.registry import digests, runs
from replicse.registry.runs import Run
from replicse.registry.terms import TermParameters
from replicse.study.paper import models
from replicse.study.paper.config import checked_config, read_config
from replicse.study.paper.papers import load_paper, load_papers
from replicse.study.paper.scales import Adjust, load_scale
from replicse.study.plan import planner
from replicse.study.plan.graph import graph_of
from replicse.study.plan.notes import notes
from replicse.study.plan.planner import load_plan
from replicse.study.results.tabulate import FIELDS, borrowed_spread, item_result, table_rows
from replicse.study.results.values import Evaluations

WORKFLOW = ROOT / "workflow"
CONFIG = {"scale": "micro", "papers": {"simcse": ["table3", "figure2"], "repro": ["table5"]}, "seeds": [0, 1]}


def plan_of(**changes):
    return load_plan({**CONFIG, **changes}, WORKFLOW)


@pytest.fixture
def workflow(tmp_path):
    """A copy of the workflow's data that a test may break."""
    for name in ("papers", "scales"):
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


def test_a_config_that_is_written_whole_stands_alone_over_any_other_file(tmp_path):
    """A page offers `--config results/micro/config.json`, which once left what config.yaml adjudicates."""
    own = {"scale": "stronger", "papers": {"simcse": ["table1"]}, "seeds": [0, 1], "precision": "bf16"}
    config = checked_config(own, "config.json")
    (tmp_path / "config.json").write_text(json.dumps(config.whole()))
    layered = read_config([ROOT / "config.yaml", tmp_path / "config.json"])
    assert checked_config(layered, "config.json").bearing_on("simcse/table1") == config.bearing_on(
        "simcse/table1"
    )
    assert not layered["adjudicate"], "config.yaml adjudicates simcse/table1"


def test_a_further_config_file_may_leave_papers_out_and_name_less_than_the_first():
    plan = plan_of(
        papers={"simcse": ["table3"], "repro": [], "diffcse": []},
        rows={"diffcse/table7": ["ratio-30"]},
        adjudicate=["repro/table4"],
    )
    assert list(plan.items) == ["simcse/table3"] and list(plan.record["papers"]) == ["simcse"]
    with pytest.raises(BadInput, match="papers asks for no item"):
        plan_of(papers={"simcse": []})


def test_only_rows_with_steps_keep_checkpoints():
    plan = plan_of(papers={"repro": ["figure1"]}, seeds=[0])
    trajectories = {
        cell.row.id for cell in plan.cells["repro/figure1"] if cell.metric_path.startswith("trajectory/")
    }
    assert trajectories == {"unsup-simcse", "delete-one-word", "no-dropout"}
    assert sum(bool(run.trajectory.every) for run in plan.runs.values()) == 3


@pytest.mark.parametrize("scale", ["micro", "compact"])
def test_every_seed_is_a_whole_chain_from_its_own_backbone(scale):
    one, three = plan_of(scale=scale, seeds=[0]), plan_of(scale=scale, seeds=[0, 1, 2])
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


def test_the_precision_of_a_config_stands_above_the_scale():
    plan = plan_of(precision="bf16", seeds=[0])
    assert {run.precision for run in plan.runs.values()} == {plan.record["precision"]} == {"bf16"}


def test_an_item_alone_brings_in_only_its_runs():
    plan = plan_of()
    files = plan.evaluation_files(plan.item("simcse_table3"))
    assert len(files) == 16
    assert all(file.endswith("/fast.json") for file in files)
    trajectory = plan.evaluation_files(plan.item("simcse/figure2"))
    assert sum(file.endswith("/trajectory.json") for file in trajectory) == 8


def test_a_run_keeps_checkpoints_only_where_a_figure_asks():
    kept = [run for run in plan_of().runs.values() if run.trajectory.every]
    assert len(kept) == 8
    without = plan_of(papers={"simcse": ["table3"]})
    assert not any(run.trajectory.every for run in without.runs.values())
    assert set(without.runs) < set(plan_of().runs), "asking for a trajectory renames no run"


def test_strides_of_one_run_that_differ_are_told_with_the_item(workflow):
    edit(
        workflow / "papers" / "repro" / "tables" / "figure1.yaml",
        lambda item: item["trajectory"].update(every=5),
    )
    with pytest.raises(
        BadInput, match=r"repro/tables/figure1\.yaml: trajectory: two items ask one run for every 10"
    ):
        load_plan({**CONFIG, "papers": {"simcse": ["figure2"], "repro": ["figure1"]}}, workflow)


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


def test_a_scale_stands_for_symbolic_names_and_adjusts_sizes():
    micro, paper = plan_of(), plan_of(scale="paper")
    small = next(run for run in micro.runs.values() if run.init.run)
    large = next(iter(paper.runs.values()))
    assert large.init.hub == "bert-base-uncased"
    assert large.optimisation.learning_rate == pytest.approx(3e-5)
    assert large.optimisation.batch_size == 64
    assert small.optimisation.learning_rate == pytest.approx(3e-4)
    assert small.optimisation.batch_size == 16
    assert not any(run.init.run for run in paper.runs.values())


def test_a_scale_bounds_the_widths_of_a_head_where_a_run_gives_them():
    scale = load_scale(WORKFLOW / "scales" / "micro.yaml")
    wide = {"kind": "projector", "layers": 3, "width": 8192, "output": 8192, "final_norm": False}

    def adjusted(**parts):
        return scale.adjusted(Run.of(parts, "here"), "here").given()

    assert adjusted(head=wide)["head"] == {**wide, "width": 128, "output": 128}
    narrow = {"kind": "projector", "width": 32}
    for head in (narrow, {"kind": "projector"}, {"kind": "mlp"}):
        assert adjusted(head=head)["head"] == head
    assert "head" not in adjusted()
    for rule in ({"path": "head.width", "set": 8}, {"path": "head.layers", "at_most": 2}):
        with pytest.raises(ValidationError, match=rule["path"]):
            Adjust(**rule)


def test_a_scale_that_extends_another_says_only_what_differs():
    compact, stronger = (load_scale(WORKFLOW / "scales" / f"{name}.yaml") for name in ("compact", "stronger"))
    small, large = (scale.backbones["bert-base"].run for scale in (compact, stronger))
    assert large.init.fresh.architecture.layers > small.init.fresh.architecture.layers
    assert large.objective == small.objective and large.optimisation.batch_size == 96
    assert stronger.backbones["bert-small"] == compact.backbones["bert-small"]
    assert stronger.corpora == compact.corpora and stronger.adjust != compact.adjust


@pytest.mark.parametrize("base", ["compakt", "stronger", "[compact]"])
def test_a_scale_extends_another_one_that_there_is(workflow, base):
    file = workflow / "scales" / "stronger.yaml"
    file.write_text(f"name: stronger\nextends: {base}\n")
    with pytest.raises(BadInput, match=r"stronger\.yaml: extends is .*, which is no other scale") as told:
        load_scale(file)
    assert base != "compakt" or 'did you mean "compact"' in str(told.value)


def test_a_scale_that_extends_another_has_a_name_of_its_own(workflow):
    file = workflow / "scales" / "tiny.yaml"
    file.write_text("extends: micro\n")
    with pytest.raises(BadInput, match=r"tiny\.yaml: it lacks a name of its own; give name: tiny"):
        load_scale(file)


def test_a_grid_and_a_scale_without_a_value_in_common_are_told():
    scale = load_scale(WORKFLOW / "scales" / "micro.yaml").replace(
        grids={"optimisation.learning_rate": (1e-5,)}
    )
    with pytest.raises(BadInput, match=r"but it has .*; give the grid one of the scale's values, or"):
        scale.jobs(models.EncoderRequest(grid={"optimisation.learning_rate": (3e-5,)}), "here")


def test_two_scales_that_extend_each_other_are_refused(workflow):
    for name, base in (("stronger", "compact"), ("compact", "stronger")):
        (workflow / "scales" / f"{name}.yaml").write_text(f"name: {name}\nextends: {base}\n")
    with pytest.raises(BadInput, match="no other scale"):
        load_scale(workflow / "scales" / "compact.yaml")


def test_columns_are_tokenised_once_for_all_runs_that_share_them():
    plan = plan_of()
    assert len(plan.stores) == 2, "the plain text, and the text with one word deleted"
    lengths = {store["max_length"] for store in plan.stores.values()}
    assert lengths == {32}


def test_a_job_names_only_relative_files():
    plan = plan_of()
    for run in plan.runs:
        job = graph_of(plan)["train", run].payload
        assert not any(path.startswith("/") for path in [job["init"], job["tokenizer"], *job["stores"]])


def test_the_plan_is_the_same_each_time():
    def written(plan):
        jobs = [
            (cell.key, cell.protocol, cell.jobs, cell.seeds)
            for cells in plan.cells.values()
            for cell in cells
        ]
        return json.dumps(
            [jobs, [graph_of(plan)["train", run].payload for run in plan.runs], plan.stores, plan.record]
        )

    first, second = (written(plan_of(adjudicate="all")) for _ in "ab")
    assert first == second


def test_planning_needs_no_torch():
    code = (
        "import sys;"
        "from pathlib import Path; from replicse.study.paper.config import read_config;"
        "from replicse.study.plan.planner import load_plan;"
        "config = read_config([Path('config.yaml')], 'paper', 5) | {'adjudicate': 'all'};"
        "load_plan(config, Path('workflow')); assert 'torch' not in sys.modules;"
        "import replicse.study.results.verdict, replicse.study.results.tabulate, replicse.cli;"
        "assert not {'torch', 'scipy', 'pandas', 'transformers'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_planning_hashes_what_it_names_about_once(monkeypatch):
    """A run's id was once worked out at each use: twelve times a run, two fifths of planning."""
    hashed, real = [], digests.digest

    def counted(*given):
        hashed.append(given)
        return real(*given)

    for module in (runs, models):
        monkeypatch.setattr(module, "digest", counted)
    config = read_config([ROOT / "config.yaml"], "paper", 5) | {"adjudicate": "all"}
    plan = load_plan(config, ROOT / "workflow")
    named = len(plan.runs) + len(plan.encoders)
    assert named <= len(hashed) < 1.5 * named


def test_a_run_is_plain_data_only_where_it_is_named_and_where_a_job_is_told_of_it(monkeypatch):
    """From its recipe to its job it is one model, checked when it was read and once more by the job."""
    papers, config = load_papers(WORKFLOW), checked_config({**CONFIG, "papers": "all"}, "here")
    calls = Counter()

    def counted(kind, name):
        real = getattr(kind, name)
        real = getattr(real, "__func__", real)

        def crossing(of, *given):
            calls[f"{kind.__name__}.{name}"] += 1
            return real(of, *given)

        monkeypatch.setattr(kind, name, classmethod(crossing) if name == "of" else crossing)

    for name in ("plain", "given", "of", "canonical"):
        counted(runs.Run, name)
    counted(TermParameters, "of")
    plan = planner.plan_of(config, papers, WORKFLOW)
    assert calls["Run.given"] == calls["Run.of"] == 0
    assert len(plan.runs) <= calls["Run.plain"] == calls["Run.canonical"], "to be hashed"
    calls.clear()
    graph_of(plan)
    assert calls == {"Run.plain": len(plan.runs)}
    calls.clear()
    # Terms are checked again where a search or a protocol changes them, and nowhere else.
    for paper, item, changed in (("simcse", "table3", 0), ("diffcse", "table12", 1)):
        planner.plan_of(checked_config({**CONFIG, "papers": {paper: [item]}}, "here"), papers, WORKFLOW)
        assert bool(calls.pop("TermParameters.of", 0)) == changed


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"scale": "mikro"}, ['scale is "mikro"', 'did you mean "micro"']),
        ({"seeds": [0, "two"]}, ['seeds[1] is "two"', "a whole number"]),
        ({"seeds": [0, -1]}, ["seeds[1] is -1", "at least 0"]),
        ({"seeds": [2**64]}, ["seeds[0] is 18446744073709551616", "below 18446744073709551616"]),
        ({"seeds": [0, 1, 0]}, ["seeds is [0, 1, 0]", "each seed once"]),
        ({"seeds": []}, ["seeds is []"]),
        ({"papers": {"simsce": "all"}}, ['"simsce"', 'did you mean "simcse"']),
        ({"papers": {"simcse": ["tabel3"]}}, ['papers.simcse names "tabel3"', 'did you mean "table3"']),
        ({"papers": {"simcse": "everything"}}, ['papers.simcse is "everything"']),
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


@pytest.mark.parametrize(
    ("file", "change", "words"),
    [
        (
            "papers/simcse/tables/table3.yaml",
            lambda table: table["rows"][1]["encoder"]["run"].update(dropuot={}),
            ["table3.yaml", 'unknown key "dropuot"', 'did you mean "dropout"'],
        ),
        (
            "papers/simcse/tables/table3.yaml",
            lambda table: table["encoder"].update(use="unsupp"),
            ["table3.yaml: row p0.0", 'recipe "unsupp" is unknown', 'did you mean "unsup"'],
        ),
        (
            "papers/simcse/tables/table3.yaml",
            lambda table: table["rows"].append(dict(table["rows"][0])),
            ["table3.yaml", 'no row twice; "p0.0" is'],
        ),
        (
            "papers/simcse/tables/table3.yaml",
            lambda table: table.update(id="simcse/table4"),
            ['"simcse/table4"', '"simcse/table3"'],
        ),
        (
            "papers/simcse/recipes.yaml",
            lambda recipes: recipes["unsup"].update(corpus="wikki"),
            ['micro.yaml hold no "wikki"', 'did you mean "wiki"'],
        ),
        (
            "papers/simcse/recipes.yaml",
            lambda recipes: recipes["unsup"]["init"].update(backbone="bert-bass"),
            ['micro.yaml hold no "bert-bass"', 'did you mean "bert-base"'],
        ),
        (
            "papers/simcse/tables/table3.yaml",
            lambda table: table["rows"][0]["encoder"]["run"]["dropout"].update(hidden=3),
            ["table3.yaml", "rows[0] (p0.0).encoder.run.dropout.hidden is 3", "below 1"],
        ),
    ],
)
def test_a_mistake_in_a_paper_file_is_one_sentence(workflow, file, change, words):
    edit(workflow / file, change)
    with pytest.raises(BadInput) as error:
        load_plan(CONFIG, workflow)
    text = str(error.value)
    assert all(word in text for word in words), text
    assert "\n" not in text


def test_broken_yaml_names_the_line(workflow):
    path = workflow / "papers" / "simcse" / "tables" / "table3.yaml"
    path.write_text(path.read_text() + "rows: [\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"table3.yaml:\d+: "):
        load_plan(CONFIG, workflow)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("table3,p0.1,stsb-dev,spearman,82.5,Table 3,again", ["given twice"]),
        ("table3,p9,stsb-dev,spearman,82.5,,", ["source is empty"]),
        ("table3,p9,stsb-dev", ["expected 7 fields"]),
    ],
)
def test_a_mistake_in_reported_numbers_names_the_line(workflow, line, words):
    path = workflow / "papers" / "simcse" / "reported.csv"
    path.write_text(path.read_text() + line + "\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"reported.csv:\d+: ") as error:
        load_plan(CONFIG, workflow)
    assert all(word in str(error.value) for word in words)


def cells_of(plan, item):
    """Return the cells of an item's CSV by row, column and protocol."""
    rows = table_rows(item_result(plan, plan.item(item), Evaluations(plan)))
    return {(cell["row"], cell["column"], cell["protocol"]): cell for cell in rows}


def test_cells_hold_the_mean_over_seeds_and_the_printed_delta(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = plan_of()
    write_scores(plan, ["repro/table5"], lambda cell, place: (70.0, 72.0)[place])
    cells = cells_of(plan, "repro/table5")
    score = cells["p0.1", "stsb-dev", "as-described"]
    assert (score["reported"], float(score["reproduced"]), score["n_seeds"]) == ("81.61", 71.0, "2")
    assert float(score["delta"]) == pytest.approx(71.0 - 81.61)
    assert score["verdict"] == "not comparable", "a smaller scale never gets a verdict"
    assert (score["low"], score["high"]) == ("", ""), "two seeds give no interval"
    delta = cells["p0.1", "stsb-dev-delta", "as-described"]
    assert (delta["reported"], float(delta["reproduced"])) == ("-0.89", pytest.approx(71.0 - 82.5))
    assert set(score) == set(FIELDS)


def test_what_has_not_run_is_blank_and_what_collapsed_has_failed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = plan_of()
    (nothing, *_) = cells_of(plan, "simcse/table3").values()
    assert (nothing["reproduced"], nothing["delta"], nothing["verdict"]) == ("", "", "not run")
    failures = {"sts-dev/STS-B/all": "all cosines are equal"}
    write_scores(plan, ["simcse/table3"], lambda cell, place: (None, 70.0)[place], failures=failures)
    (broken, *_) = cells_of(plan, "simcse/table3").values()
    assert (broken["reproduced"], broken["verdict"]) == ("", "failed")
    assert "all cosines are equal" in broken["reason"]


def test_only_the_paper_scale_judges(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = plan_of(scale="paper", seeds=[0, 1, 2, 3, 4])
    write_scores(plan, ["simcse/table3"], lambda cell, place: (82.0, 82.2, 82.6, 82.4, 82.8)[place])
    cells = cells_of(plan, "simcse/table3")
    assert len(cells) == 8
    assert cells["p0.1", "stsb-dev", "as-described"]["verdict"] == "within seed spread"
    assert cells["p0.0", "stsb-dev", "as-described"]["verdict"] == "higher"


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


def chain_plan(folder, *rows, **config):
    table = {"setting": {"metric": "spearman"}, "columns": SCORE,
             "rows": [{"id": name, "encoder": {"use": name}} for name in rows]}  # fmt: skip
    write_paper(folder, "made", {"table1": table}, recipes=STAGES)
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


def test_prefixes_of_chains_are_planned_once(tmp_path):
    plan = chain_plan(tmp_path, "plain", "second", "third", "longer", seeds=[0])
    plain, second, third, longer = (
        runs_behind(plan, row)[0] for row in ("plain", "second", "third", "longer")
    )
    assert second.init.run == plain.run_id and third.init.run == second.run_id
    changed = plan.runs[longer.init.run]
    assert changed.optimisation.epochs == 2 and changed.run_id != plain.run_id
    assert set(plan.runs) == {run.run_id for run in (plain, second, third, longer, changed)}


def test_what_is_kept_along_a_chain_is_part_of_the_run(tmp_path):
    plan = chain_plan(tmp_path, "third", seeds=[0])
    (run,) = runs_behind(plan, "third")
    assert (run.init.keep_head, run.init.checkpoint) == (True, "last")
    assert graph_of(plan)["train", run.run_id].payload["run"]["init"] == {
        "run": run.init.run,
        "keep_head": True,
        "checkpoint": "last",
    }
    assert plan.init_folder(run).endswith("/last")
    assert plan.init_folder(plan.runs[run.init.run]).endswith("/best")


@pytest.mark.parametrize(
    ("before", "problem"),
    [
        ({"pooling": {"train": "cls"}}, "trains none"),
        ({"head": "projector"}, "has a projector of other sizes"),
    ],
)
def test_a_head_that_an_earlier_run_does_not_have_cannot_be_kept(tmp_path, before, problem):
    recipes = {"plain": {**RECIPE, **before},
               "next": {"like": "plain", "init": {"use": "plain", "keep_head": True},
                        "head": "mlp", "pooling": {"train": "cls-head"}}}  # fmt: skip
    table = {
        "setting": {"metric": "spearman"},
        "columns": SCORE,
        "rows": [{"id": "a", "encoder": {"use": "next"}}],
    }
    write_paper(tmp_path, "made", {"table1": table}, recipes=recipes)
    with pytest.raises(BadInput, match=f"keep_head is true, but the run of made/plain {problem}"):
        made_plan(tmp_path)


def test_a_head_of_a_task_that_an_earlier_run_has_otherwise_cannot_be_kept(tmp_path):
    labelled = {
        **RECIPE, "corpus": "course-sst", "views": [{"column": "first"}],
        "objective": [{"term": "cross-entropy", "task": "sst", "classes": 5}],
    }  # fmt: skip
    recipes = {
        "plain": labelled,
        "next": {"like": "plain", "init": {"use": "plain", "keep_head": True},
                 "objective": [{"term": "cross-entropy", "task": "sst", "classes": 2}]},
    }  # fmt: skip
    table = {
        "setting": {"metric": "spearman"},
        "columns": SCORE,
        "rows": [{"id": "a", "encoder": {"use": "next"}}],
    }
    write_paper(tmp_path, "made", {"table1": table}, recipes=recipes)
    with pytest.raises(BadInput, match="the run of made/plain has another head of task sst; take it away"):
        made_plan(tmp_path)


def test_the_plan_notes_a_pooler_that_the_scale_does_not_pretrain():
    config = {"papers": {"twotier": ["table3"]}, "seeds": [0]}
    at_paper, at_micro = (load_plan({**config, "scale": scale}, WORKFLOW) for scale in ("paper", "micro"))
    assert at_paper.without_pooler == set()
    assert any("keep the pooler of bert-base draw one" in note for note in notes(at_micro))


def test_the_plan_notes_what_is_left_of_searches():
    def told(scale, item, seeds=(0,)):
        paper, name = item.split("/")
        values = {"scale": scale, "papers": {paper: [name]}, "seeds": list(seeds)}
        return [note for note in notes(load_plan(values, WORKFLOW)) if note.startswith(f"{item}: ")]

    assert told("micro", "simcse/tableA1") == told("paper", "noncontrastive/table2") == []
    assert told("micro", "simcse/tableA1", (3, 4)) == ["simcse/tableA1: a search takes seed 3 alone"]
    grid = "1 of 6 values of terms.barlow-twins.off_diagonal_weight"
    assert told("micro", "noncontrastive/table2") == [
        f"noncontrastive/table2: this scale tries {grid} in all rows"
    ]
    assert told("micro", "noncontrastive/table1", (0, 1)) == [
        f"noncontrastive/table1: this scale tries {grid} in 20 of 40 rows; 2 of 50 drawn jobs in 20 of 40 rows,"
        " and a search takes seed 0 alone"
    ]


def test_the_plan_notes_augmentations_that_leave_view_pairs_equal():
    plan = load_plan({"scale": "paper", "papers": {"noncontrastive": ["table1"]}, "seeds": [0]}, WORKFLOW)
    found = [note for note in notes(plan) if "view pairs are equal" in note]
    assert [note.partition(":")[0] for note in found] == ["shuffle 0.05", "shuffle 0.1"]
    assert all("about 25%" in note and "noncontrastive/table1" in note for note in found)


def test_a_recipe_of_another_paper_starts_from_its_own_paper(tmp_path):
    table = {
        "columns": SCORE,
        "setting": {"metric": "spearman"},
        "rows": [{"id": "a", "encoder": {"use": "other/second"}}],
    }
    write_paper(tmp_path, "other", {}, recipes=STAGES)
    write_paper(
        tmp_path, "made", {"table1": table}, recipes={"plain": {**RECIPE, "corpus": "nli-entailment"}}
    )
    (run,) = runs_behind(made_plan(tmp_path, seeds=[0]), "a")
    plan = made_plan(tmp_path, seeds=[0])
    assert plan.runs[run.init.run].corpus["name"] == "wiki"


def test_a_chain_without_a_beginning_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"row endless: the run starts from itself.*break the circle"):
        chain_plan(tmp_path, "endless")


# Searches


def search_plan(folder, over, **row):
    grid = {"optimisation.batch_size": [32, 64, 128], "optimisation.learning_rate": [1e-5, 3e-5]}
    column = {"id": "avg", "metric_path": "sts/avg", **({"over": over} if over else {})}
    table = {"setting": {"metric": "spearman"}, "columns": [column],
             "rows": [{"id": "a", "encoder": {"use": "plain", "grid": grid}, **row}]}  # fmt: skip
    write_paper(folder, "made", {"table1": table})
    return made_plan(folder)


def test_a_search_that_does_not_say_what_is_taken_of_its_jobs_is_refused(tmp_path):
    """Six jobs were once shown as the mean of six seeds."""
    with pytest.raises(
        BadInput, match=r"column avg: row a is a search; say in over.jobs what is taken of its jobs"
    ):
        search_plan(tmp_path, None)


def test_a_search_runs_its_jobs_under_one_seed(tmp_path):
    plan = search_plan(tmp_path, {"jobs": "max"})
    (cell,) = plan.cells["made/table1"]
    assert cell.seeds == (0,) and [len(group) for group in cell.jobs] == [6]
    tried = [plan.runs[plan.encoders[name].source.run].optimisation for name in cell.encoders]
    assert {(each.batch_size, each.learning_rate) for each in tried} == {
        (size, rate) for size in (32, 64, 128) for rate in (1e-5, 3e-5)
    }


@pytest.mark.parametrize(
    ("path", "value"),
    [("pooling.train", '"cls-head"'), ("optimisation.steps", "None"), ("terms.rtd.ratio", "None")],
)
def test_an_argmax_that_shows_no_number_is_refused_before_anything_is_run(tmp_path, path, value):
    wanted = rf'column avg: over\.jobs\.argmax is "{path}", {value} in a run of row a; expected the path of a number'
    with pytest.raises(BadInput, match=wanted):
        search_plan(tmp_path, {"jobs": {"argmax": path}})


def test_data_of_the_hub_without_a_commit_are_told(tmp_path):
    plan = load_plan({"scale": "paper", "papers": {"simcse": ["table3"]}, "seeds": [0]}, WORKFLOW)
    assert plan.unpinned == {"princeton-nlp/datasets-for-simcse"}
    local = {"data": {"source": "local", "root": "data"}}
    plan = load_plan({"scale": "paper", "papers": {"simcse": ["table3"]}, "seeds": [0], **local}, WORKFLOW)
    assert plan.unpinned == set()


def test_a_choice_without_a_search_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"column avg: over\.jobs is given, but row a is no search"):
        search_plan(tmp_path, {"jobs": "max"}, encoder={"use": "plain"})


# Numbers that identify


def test_the_precision_of_a_scale_is_part_of_the_names_of_its_runs(tmp_path):
    table = {
        "columns": SCORE,
        "setting": {"metric": "spearman"},
        "rows": [{"id": "a", "encoder": {"use": "plain"}}],
    }
    write_paper(tmp_path, "made", {"table1": table})
    (tmp_path / "scales").unlink()
    (tmp_path / "scales").mkdir()
    text = (WORKFLOW / "scales" / "paper.yaml").read_text(encoding="utf-8")
    (tmp_path / "scales" / "paper.yaml").write_text(text, encoding="utf-8")
    names = {}
    for precision in ("fp32", "bf16", "fp16"):
        edit(
            tmp_path / "scales" / "paper.yaml",
            lambda scale, precision=precision: scale.update(precision=precision),
        )
        plan = made_plan(tmp_path, seeds=[0])
        (run,) = runs_behind(plan, "a")
        assert run.precision == precision
        assert graph_of(plan)["train", run.run_id].payload["run"].get("precision", "fp32") == precision
        names[precision] = run.run_id
    assert len(set(names.values())) == 3


def test_at_the_scale_of_the_papers_each_trains_in_its_own_precision_unless_the_config_says_another():
    tables = {"simcse": ["table3"], "simple": ["table1"]}
    plan = load_plan({"scale": "paper", "papers": tables, "seeds": [0]}, WORKFLOW)
    found = {
        item: {plan.runs[run].precision for run in plan.runs_of(plan.item(item))}
        for item in ("simcse/table3", "simple/table1")
    }
    assert found == {"simcse/table3": {"fp16"}, "simple/table1": {"fp32"}}
    chosen = load_plan({"scale": "paper", "papers": tables, "seeds": [0], "precision": "bf16"}, WORKFLOW)
    assert {run.precision for run in chosen.runs.values()} == {"bf16"}
    assert chosen.record["precision"] == "bf16" and plan.record["precision"] == "papers"


def test_another_precision_than_the_papers_is_told_beside_the_cell():
    told = {}
    for precision in ("fp16", "bf16"):
        values = {"scale": "paper", "papers": {"simcse": ["table3"]}, "seeds": [0], "precision": precision}
        plan = load_plan(values, WORKFLOW)
        result = item_result(plan, plan.item("simcse/table3"), Evaluations(plan))
        (told[precision],) = {cell.precision for cell in result.cells}
    assert told == {"fp16": "fp16", "bf16": "bf16; the paper: fp16"}


def test_an_encoder_that_no_seed_of_the_study_changes_is_a_lone_value():
    plan = load_plan({"scale": "micro", "papers": {"simcse": ["table5"]}, "seeds": [5, 6]}, WORKFLOW)
    cells = {cell.row.id: cell for cell in plan.described("simcse/table5") if cell.column.id == "avg"}
    baseline, trained = cells["bert-base-first-last"], cells["unsup-simcse-bert-base"]
    assert trained.seeds == (5, 6) and len(trained.jobs) == 2
    assert baseline.seeds == (5, 6), "each seed pre-trains its own backbone"
    paper = load_plan({"scale": "paper", "papers": {"simcse": ["table5"]}, "seeds": [5, 6]}, WORKFLOW)
    released = {cell.row.id: cell for cell in paper.described("simcse/table5")}["bert-base-first-last"]
    assert released.seeds == (None,)


# Published spreads

STS = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R", "avg")


def spreads(plan, item):
    """Return the spreads that cells of the text's protocol borrow, by row and column."""
    found = {cell.key[1:3]: borrowed_spread(plan, cell) for cell in plan.described(item)}
    return {key: spread for key, spread in found.items() if spread is not None}


@pytest.fixture(scope="module")
def everything():
    papers = {"simcse": "all", "repro": "all", "diffcse": "all"}
    return load_plan({"scale": "paper", "papers": papers, "seeds": [0, 1], "adjudicate": "all"}, WORKFLOW)


@pytest.mark.parametrize(
    ("item", "cells"),
    [
        ("simcse/table1", {("none", "stsb-dev"): 0.97}),
        ("simcse/table2", {("unsup-simcse", "one-encoder"): 0.97}),
        ("simcse/table3", {("p0.1", "stsb-dev"): 0.97}),
        ("simcse/table6", {("cls-head-train-only", "unsup"): 0.97}),
        ("simcse/tableA1", {}),
        ("simcse/tableC1", {}),
        ("simcse/tableE1", {}),
        ("repro/table5", {("p0.1", "stsb-dev"): 0.97, ("p0.1", "stsb-dev-delta"): 0.97}),
    ],
)
def test_only_the_measured_recipe_borrows(everything, item, cells):
    assert spreads(everything, item) == cells


def test_each_backbone_borrows_its_own_spread_where_one_is_published(everything):
    found = spreads(everything, "simcse/table5")
    bert = dict(zip(STS, (1.51, 1.33, 1.25, 1.02, 0.87, 1.12, 0.97, 0.84), strict=True))
    assert found == {
        **{("unsup-simcse-bert-base", column): spread for column, spread in bert.items()},
        ("unsup-simcse-roberta-base", "avg"): 0.21,
        ("unsup-simcse-roberta-large", "avg"): 0.50,
    }, "supervised, post-processed and released encoders borrow nothing"
    assert spreads(everything, "repro/table6")["unsup-simcse-bert-large", "avg"] == 1.74
    diffcse = {
        key: spread for key, spread in spreads(everything, "diffcse/table1").items() if "diffcse" in key[0]
    }
    assert diffcse == {("diffcse-bert-base", "avg"): 1.02}, "from four reruns"


def test_the_published_spreads_are_those_of_fifty_seeds_and_of_four_reruns():
    assert {
        key: entry.sd
        for key, entry in load_paper(WORKFLOW / "papers" / "reruns").reported.items()
        if entry.sd
    } == {
        ("table1", "diffcse-bert-base", "avg", "spearman"): 1.02,
        ("table2", "simcse-seeds", "avg", "spearman"): 0.84,
        ("table4", "promptbert-print", "avg", "spearman"): 0.15,
        ("table4", "promptroberta-print", "avg", "spearman"): 0.25,
    }
    simple = load_paper(WORKFLOW / "papers" / "simple").reported
    for row in ("bert-base", "bert-large", "roberta-base", "roberta-large"):
        for column in ("avg", "stsb-dev"):
            mean, least, most = (
                simple["table1", row, name, "spearman"] for name in (column, f"{column}-min", f"{column}-max")
            )
            assert mean.statistic == "mean" and mean.seeds == least.seeds == most.seeds == 50
            assert least.number.value < mean.number.value < most.number.value
            assert 3.5 < (most.number.value - least.number.value) / mean.sd < 6.5, (
                "the range of 50 normal draws"
            )
    # Four reruns: 77.00, 77.33, 77.44 and 75.25.
    values = [77.00, 77.33, 77.44, 75.25]
    assert statistics.stdev(values) == pytest.approx(1.02, abs=0.005)
    assert statistics.mean(values) == pytest.approx(76.76, abs=0.0051)


@pytest.mark.parametrize("scale", ["micro", "compact"])
def test_a_smaller_scale_borrows_nothing(scale):
    plan = plan_of(scale=scale, papers={"simcse": ["table3", "table5"]})
    assert not any(spreads(plan, item) for item in plan.items)


@pytest.mark.parametrize(
    "change",
    [
        {"pooling": "cls-head"},
        {"checkpoint": "last"},
        {"postprocess": {"name": "whitening", "fit": "target"}},
        {"run": {"optimisation": {"batch_size": 128}}},
        {"run": {"dropout": {"attention": 0.05}}},
        {"run": {"encoders": "two"}},
        {"run": {"precision": "bf16"}},
    ],
)
def test_whatever_differs_from_the_recipe_ends_the_loan(workflow, change):
    def differ(table):
        row = next(row for row in table["rows"] if row["id"] == "p0.1")
        row["encoder"] = {**row.get("encoder", {}), **change}

    config = {**CONFIG, "scale": "paper", "papers": {"simcse": ["table3"]}}
    assert spreads(load_plan(config, workflow), "simcse/table3") == {("p0.1", "stsb-dev"): 0.97}
    edit(workflow / "papers" / "simcse" / "tables" / "table3.yaml", differ)
    assert spreads(load_plan(config, workflow), "simcse/table3") == {}


def test_without_published_spreads_nothing_is_borrowed(workflow):
    shutil.rmtree(workflow / "papers" / "simple")
    config = {**CONFIG, "scale": "paper", "papers": {"simcse": ["table3"]}}
    assert spreads(load_plan(config, workflow), "simcse/table3") == {}


@pytest.mark.parametrize(("seeds", "borrowed"), [(1, "yes"), (4, "yes"), (5, "")])
def test_a_borrowed_spread_is_marked_below_five_seeds(tmp_path, monkeypatch, seeds, borrowed):
    monkeypatch.chdir(tmp_path)
    plan = plan_of(
        scale="paper", papers={"simcse": ["table3"]}, seeds=list(range(seeds)), adjudicate=["simcse/table3"]
    )
    write_scores(plan, ["simcse/table3"], lambda cell, place: 82 + 0.1 * place)
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
    ("cell", "value", "place"),
    [
        (("two-encoders", "full", "spearman"), "84.2", "Section 4"),
        (("qqp", "overlap", "percent"), "60", "Section 4"),
        (("paranmt", "overlap", "percent"), "55", "Section 4"),
        (("entailment", "overlap", "percent"), "39", "Section 4"),
    ],
)
def test_a_row_may_point_to_a_number_of_the_running_text(everything, cell, value, place):
    found = {each.key[1:]: each.reported for each in everything.described("simcse/table4")}
    assert (found[cell].value, found[cell].source) == (value, place)


def test_pointing_to_a_number_that_the_text_does_not_hold_is_a_mistake(workflow):
    def misspell(table):
        row = next(row for row in table["rows"] if row["id"] == "qqp")
        row["printed"] = {"overlap": "lexical-overlap/qpq"}

    edit(workflow / "papers" / "simcse" / "tables" / "table4.yaml", misspell)
    with pytest.raises(BadInput) as error:
        load_plan({**CONFIG, "papers": {"simcse": ["table4"]}}, workflow)
    text = str(error.value)
    assert "table4.yaml: row qqp: printed names" in text
    assert 'did you mean "lexical-overlap/qqp"?' in text


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("tabel3,p0.1,stsb-dev,spearman,82.5,Table 3,", ['item "tabel3"', 'did you mean "table3"']),
        (
            "table3,p0.11,stsb-dev,spearman,82.5,Table 3,",
            ["table3.yaml shows none there", "p0.1/stsb-dev/spearman"],
        ),
        (
            "table3,p0.1,stsb-dev,accuracy,82.5,Table 3,",
            ['table3.yaml has the metric "spearman" there'],
        ),
    ],
)
def test_a_printed_number_that_no_cell_shows_is_a_mistake(workflow, line, words):
    path = workflow / "papers" / "simcse" / "reported.csv"
    path.write_text(path.read_text() + line + "\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"reported\.csv: ") as error:
        load_plan(CONFIG, workflow)
    assert all(word in str(error.value) for word in words), str(error.value)


def test_a_printed_number_under_a_column_without_a_metric_is_a_mistake(workflow):
    edit(
        workflow / "papers" / "simcse" / "tables" / "table3.yaml",
        lambda table: table["setting"].pop("metric"),
    )
    with pytest.raises(
        BadInput, match=r"table3\.yaml has no metric there; give it setting: {metric: spearman}"
    ):
        load_plan(CONFIG, workflow)


@pytest.mark.parametrize(
    ("over", "printed", "words"),
    [
        (None, {"statistic": "sd", "seeds": 50}, "prints a sd; its column takes over seeds the mean"),
        (
            {"seeds": "max"},
            {"statistic": "min", "seeds": 50},
            "prints a min; its column takes over seeds the max",
        ),
        (
            {"seeds": {"percentile": 75}},
            {"statistic": "percentile", "q": 95, "seeds": 50},
            "prints a percentile 95; its column takes over seeds the 75th percentile",
        ),
    ],
)
def test_a_printed_statistic_under_a_column_of_another_one_is_refused(tmp_path, over, printed, words):
    column = {"id": "avg", "metric_path": "sts/avg", **({"over": over} if over else {})}
    table = {
        "setting": {"metric": "spearman"},
        "columns": [column],
        "rows": [{"id": "a", "encoder": {"use": "plain"}}],
    }
    write_paper(
        tmp_path,
        "made",
        {"table1": table},
        [{"item": "table1", "row": "a", "column": "avg", "value": "7", **printed}],
    )
    with pytest.raises(BadInput, match=r"reported\.csv: table1 a/avg/spearman ") as error:
        made_plan(tmp_path)
    assert words in str(error.value)


@pytest.mark.parametrize("base", ["micro", "compact"])
def test_a_smaller_scale_cannot_say_that_it_is_comparable(workflow, base):
    (workflow / "scales" / "mine.yaml").write_text(f"name: mine\nextends: {base}\ncomparable: true\n")
    with pytest.raises(BadInput, match=r"mine\.yaml: comparable: true, but .* is pre-trained by the scale"):
        load_scale(workflow / "scales" / "mine.yaml")
