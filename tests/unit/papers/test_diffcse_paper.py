"""DiffCSE as data: its printed numbers and what its tables ask for at each scale."""

import csv
import re
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from functools import cache

import pytest
from places import ROOT

from replicse.study.paper.papers import load_paper, recipe_of
from replicse.study.plan.planner import load_plan

WORKFLOW = ROOT / "workflow"
PAPER = WORKFLOW / "papers" / "diffcse"

COUNTS = {
    "table1": 136,
    "table2": 96,
    "table3": 18,
    "table4": 8,
    "table5": 8,
    "table6": 16,
    "table7": 6,
    "table8": 8,
    "table9": 21,
    "table10": 6,
    "table11": 9,
    "table12": 6,
    "table13": 6,
    "table14": 6,
    "table15": 20,
    "text": 55,
    "script": 13,
    "readme": 1,
    "notebook": 76,
}
CELLS = {
    "table1": 168,
    "table2": 128,
    "table3": 18,
    "table4": 8,
    "table5": 8,
    "table6": 16,
    "table7": 6,
    "table8": 8,
    "table9": 36,
    "table10": 42,
    "figure2": 4,
    "table11": 15,
    "table12": 8,
    "table13": 8,
    "table14": 6,
    "table15": 20,
}
STS_COLUMNS = ["STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R"]
TRANSFER_COLUMNS = ["MR", "CR", "SUBJ", "MPQA", "SST2", "TREC", "MRPC"]
PARTS = {"table1": STS_COLUMNS, "table2": TRANSFER_COLUMNS}
PLACES = {
    "text": r"(Abstract|Section|Appendix) ?",
    "script": r"run_diffcse\.sh of voidism/DiffCSE$",
    "readme": r"README of voidism/DiffCSE$",
    "notebook": r"diffcse_evaluation\.ipynb of voidism/DiffCSE, ",
}


@cache
def plan_at(scale, *papers, seeds=(0,)):
    """Return the plan of all items of some papers, by name: `all` leaves out the two large searches."""
    wanted = {paper: list(load_paper(WORKFLOW / "papers" / paper).items) for paper in papers or ("diffcse",)}
    return load_plan({"scale": scale, "papers": wanted, "seeds": list(seeds)}, WORKFLOW)


@cache
def rows_of(paper):
    path = WORKFLOW / "papers" / paper / "reported.csv"
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines(), strict=True))


@cache
def numbers_of(paper):
    """Return item, row, column -> printed value of correlations and accuracies, which never share a cell."""
    wanted = ("spearman", "accuracy")
    return {(r["item"], r["row"], r["column"]): r["value"] for r in rows_of(paper) if r["metric"] in wanted}


def trained(plan):
    return [run for run in plan.runs.values() if not run.init.fresh]


def terms_of(run):
    return [term.term for term in run.objective]


def the_run(plan, item, row, column):
    """Return the run behind a cell with one seed."""
    cell = next(
        cell
        for cell in plan.cells[f"diffcse/{item}"]
        if (cell.row.id, cell.column.id) == (row, column) and cell.protocol == "as-described"
    )
    (encoder,) = cell.encoders
    return plan.runs[plan.encoders[encoder].source.run]


def rtd_of(run):
    (term,) = [term for term in run.objective if term.term == "rtd"]
    return term


# printed numbers ----------------------------------------------------------------------------------------------


def test_every_item_has_all_its_printed_values():
    assert dict(Counter(row["item"] for row in rows_of("diffcse"))) == COUNTS


def test_no_cell_is_given_twice_and_each_names_its_place():
    keys = Counter((r["item"], r["row"], r["column"], r["metric"]) for r in rows_of("diffcse"))
    assert [key for key, times in keys.items() if times > 1] == []
    for row in rows_of("diffcse"):
        assert row["value"] and row["value"] == row["value"].strip(), row
        assert re.fullmatch(r"[a-z0-9.]+(-[a-z0-9.]+)*", row["row"]), row
        place = PLACES.get(row["item"], rf"Table {row['item'][5:]}; read in ")
        assert re.match(place, row["source"]), row


def test_numbers_are_plain_numbers_with_the_printed_decimals():
    decimals = {"spearman": 2, "accuracy": 2, "recall": 2, "alignment": 3, "uniformity": 3}
    for row in rows_of("diffcse"):
        if row["metric"] == "text":
            continue
        assert re.fullmatch(r"-?\d+(\.\d+)?(e-\d+)?[MG]?", row["value"]), row
        if row["metric"] in decimals:
            assert len(row["value"].partition(".")[2]) == decimals[row["metric"]], row


def test_printed_averages_are_the_means_of_their_rows():
    values, off, seen = numbers_of("diffcse"), {}, 0
    for item, columns in PARTS.items():
        for row in {key[1] for key in values if key[0] == item}:
            mean = sum(Decimal(values[item, row, column]) for column in columns) / len(columns)
            seen += 1
            if abs(mean - Decimal(values[item, row, "avg"])) > Decimal("0.005"):
                off[item, row] = str(round(mean, 2))
    assert seen == 17 + 12
    assert off == {("table2", "bert-base-avg"): "84.95"}, "copied with its slip from SimCSE's Table E.1"


def test_rows_copied_from_simcse_agree_with_simcse():
    ours, theirs, seen = numbers_of("diffcse"), numbers_of("simcse"), 0
    marked = {(r["item"], r["row"]) for r in rows_of("diffcse") if "Gao et al. (2021), Table" in r["note"]}
    for item, row in marked:
        source = {"table1": "table5", "table2": "tableE1"}[item]
        original = row if (source, row, "avg") in theirs else f"unsup-{row}"
        for column in [*PARTS[item], "avg"]:
            assert ours[item, row, column] == theirs[source, original, column], (item, row, column)
            seen += 1
    assert seen == (11 + 9) * 8


def test_what_simcse_itself_quotes_is_named_by_its_first_source():
    """SimCSE marks rows of Reimers and Gurevych and of Zhang et al.; a copy of them is still theirs."""
    first = {
        (r["item"], r["row"]): r["note"].partition(",")[0]
        for r in rows_of("simcse")
        if r["note"].startswith("quoted: ")
    }
    seen = 0
    for row in rows_of("diffcse"):
        source = {"table1": "table5", "table2": "tableE1"}.get(row["item"])
        if "Gao et al. (2021), Table" in row["note"]:
            wanted = first.get((source, row["row"]), "quoted: Gao et al. (2021)")
            assert row["note"].partition(",")[0] == wanted, row
            seen += "as in Gao" in row["note"]
    assert seen == 7 * 8


def test_rows_marked_as_quoted_are_quoted_or_run_again():
    noted = {(r["item"], r["row"]) for r in rows_of("diffcse") if r["note"].startswith("quoted: ")}
    items = plan_at("paper").papers["diffcse"].items
    quoted = {(name, row.id) for name, item in items.items() for row in item.rows if row.quoted}
    assert quoted <= noted
    again = {row for item, row in noted - quoted if item == "table2"}
    assert again == {
        "simcse-bert-base",
        "simcse-bert-base-mlm",
        "simcse-roberta-base",
        "simcse-roberta-base-mlm",
    }
    assert {item for item, _ in noted - quoted} == {"table2"}, "the rest of Table 2 is copied and not run"


def test_numbers_printed_in_two_tables_agree():
    value = numbers_of("diffcse")
    columns = ("stsb-dev", "transfer-dev")
    for column in columns:
        for item, row in (("table5", "simcse-no-batchnorm"), ("table6", "simcse"), ("table15", "simcse")):
            assert value[item, row, column] == value["table3", "simcse", column]
        for item, row in (("table5", "diffcse-batchnorm"), ("table6", "distilbert-base")):
            assert value[item, row, column] == value["table3", "diffcse", column]
        for edit in ("replace", "insert", "delete"):
            assert (
                value["table15", f"equivariance-{edit}-15", column] == value["table4", f"{edit}-15", column]
            )
    assert value["table7", "ratio-30", "stsb-dev"] == value["table3", "diffcse", "stsb-dev"]
    assert value["table8", "lambda-0.005", "stsb-dev"] == value["table3", "diffcse", "stsb-dev"]
    assert value["table8", "lambda-0", "stsb-dev"] == value["table5", "simcse-batchnorm", "stsb-dev"]
    # Why the transfer columns are taken for runs with their own settings.
    assert value["table4", "replace-15", "stsb-dev"] == value["table7", "ratio-15", "stsb-dev"]
    assert value["table4", "replace-15", "transfer-dev"] == value["table3", "diffcse", "transfer-dev"]


def test_the_log_of_the_authors_agrees_with_table_1():
    values = {(r["row"], r["column"], r["metric"]): r["value"] for r in rows_of("diffcse")}
    for row in ("diffcse-bert-base", "diffcse-roberta-base"):
        for column in STS_COLUMNS:
            place = (
                (f"{column}-test", "spearman") if column in ("STS-B", "SICK-R") else (column, "spearman-all")
            )
            assert numbers_of("diffcse")["table1", row, column] == values[row, *place]
    assert values["diffcse-bert-base", "STS-B-dev", "spearman"] == "84.56"


def test_recalls_are_shares_of_194_queries():
    recalls = [Decimal(r["value"]) for r in rows_of("diffcse") if r["item"] == "table10"]
    counts = [round(recall * 194 / 100) for recall in recalls]
    assert counts == [151, 180, 186, 153, 185, 189]
    for recall, count in zip(recalls, counts, strict=True):
        assert round(Decimal(100 * count) / 194, 2) == recall


def test_deviations_are_sorted_under_items_that_exist():
    text = (PAPER / "deviations.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
    assert len(headings) == len(set(headings))
    assert set(headings) == {"general", "figure2", *COUNTS}


# what is run --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", ["micro", "compact", "paper"])
def test_every_item_has_all_its_cells_at_every_scale(scale):
    plan = plan_at(scale)
    assert {item.removeprefix("diffcse/"): len(cells) for item, cells in plan.cells.items()} == CELLS


@pytest.mark.parametrize("scale", ["micro", "compact", "paper"])
def test_every_printed_number_has_its_cell_with_all_protocols_run(scale):
    papers = dict.fromkeys(("simcse", "repro", "diffcse"), "all")
    config = {"scale": scale, "papers": papers, "adjudicate": "all", "seeds": [0]}
    plan = load_plan(config, WORKFLOW)
    shown = {cell.key for cells in plan.cells.values() for cell in cells}
    printed = {(f"diffcse/{item}", *place) for item, *place in plan.papers["diffcse"].reported}
    assert {key for key in printed - shown if key[0] in plan.items} == set()
    assert {protocol.id for protocol in plan.papers["diffcse"].protocols} <= {
        cell.protocol for cell in plan.cells["diffcse/table3"]
    }


def test_the_embedded_study_stays_small():
    plan, others = plan_at("micro", "simcse", "repro", "diffcse"), plan_at("micro", "simcse", "repro")
    new = [run for name, run in plan.runs.items() if name not in others.runs]
    assert sum(run.init.fresh is not None for run in new) == 6, "pre-trained generators"
    assert len(new) == 48
    assert len(plan.encoders) - len(others.encoders) == 42


def test_a_search_tries_all_values_at_the_paper_scale_and_a_few_elsewhere():
    for scale, count in (("paper", 200), ("micro", 4), ("compact", 4)):
        for item in ("diffcse/table12", "diffcse/table13"):
            assert {len(cell.encoders) for cell in plan_at(scale).cells[item]} == {count}
    tables = [
        {encoder for cell in plan_at("paper").cells[item] for encoder in cell.encoders}
        for item in ("diffcse/table12", "diffcse/table13")
    ]
    assert tables[0] == tables[1], "both tables choose among the same runs"


def test_the_chosen_settings_are_those_that_tables_12_and_13_print():
    printed = {
        (r["item"], r["row"], r["column"]): float(r["value"])
        for r in rows_of("diffcse")
        if r["metric"] == "hyperparameter" and r["item"] in ("table12", "table13")
    }
    recipes = {
        ("table12", "diffcse-bert-base"): "diffcse",
        ("table12", "diffcse-roberta-base"): "diffcse-roberta-base",
        ("table13", "diffcse-bert-base"): "diffcse-transfer",
        ("table13", "diffcse-roberta-base"): "diffcse-roberta-base-transfer",
    }
    for (item, row), name in recipes.items():
        recipe = recipe_of(plan_at("paper").papers, "diffcse", name, "test")
        (rtd,) = [term for term in recipe.objective if term.term == "rtd"]
        assert printed[item, row, "learning-rate"] == recipe.optimisation.learning_rate
        assert printed[item, row, "masking-ratio"] == rtd.ratio
        assert printed[item, row, "lambda"] == rtd.weight


def test_the_settings_of_the_script_are_those_of_the_recipe():
    script = {r["column"]: r["value"] for r in rows_of("diffcse") if r["item"] == "script"}
    run = the_run(plan_at("paper"), "table1", "diffcse-bert-base", "avg")
    options, (contrastive, rtd) = run.optimisation, run.objective
    assert run.init.hub == script["model"]
    assert script["generator"] in rtd.generator.folder
    poolings = run.pooling.train.pooling, run.pooling.test.pooling
    assert (run.head.kind, *poolings) == ("projector", "cls-head", "cls")
    assert options.epochs == int(script["epochs"])
    assert options.batch_size == int(script["batch-size"])
    assert options.max_length == int(script["max-length"])
    assert run.selection.every == int(script["evaluation-interval"])
    assert contrastive.temperature == float(script["temperature"])


def test_both_columns_of_an_ablation_share_a_run_in_the_embedded_world_only():
    for row in ("diffcse", "no-contrastive", "next", "conditional-mlm-same-next", "corrective-lm"):
        micro, paper = (
            [the_run(plan_at(scale), "table3", row, column) for column in ("stsb-dev", "transfer-dev")]
            for scale in ("micro", "paper")
        )
        assert micro[0] == micro[1]
        assert terms_of(paper[0]) == terms_of(paper[1])
        assert paper[0].views == paper[1].views
        rates = [run.optimisation.learning_rate for run in paper]
        assert rates == [7e-6, 2e-6]
        for run, weight, ratio in zip(paper, (0.005, 0.05), (0.3, 0.15), strict=True):
            second = [term for term in run.objective if term.term != "infonce"]
            assert {(term.weight, term.ratio) for term in second} == {(weight, ratio)}


def test_rows_differ_from_diffcse_in_what_they_name_alone():
    plan = plan_at("paper")
    base = the_run(plan, "table3", "diffcse", "stsb-dev").canonical()

    def changed(item, row, column="stsb-dev"):
        other = the_run(plan, item, row, column).canonical()
        return {key for key in base | other if base.get(key) != other.get(key)}

    assert changed("table7", "ratio-30") == changed("table8", "lambda-0.005") == set()
    assert changed("table6", "distilbert-base") == changed("table5", "diffcse-batchnorm") == set()
    assert changed("table5", "diffcse-no-batchnorm") == {"head"}
    assert changed("table3", "next") == {"views", "objective"}
    for item, row in (("table3", "no-contrastive"), ("table3", "corrective-lm"), ("table4", "all")):
        assert changed(item, row) == {"objective"}
    assert changed("table8", "lambda-0") == changed("table5", "simcse-batchnorm") == {"objective"}


def test_ratios_weights_edits_and_generators_are_those_of_their_rows():
    plan = plan_at("paper")
    for percent in (15, 20, 25, 30, 40, 50):
        assert rtd_of(the_run(plan, "table7", f"ratio-{percent}", "stsb-dev")).ratio == percent / 100
    for weight in ("0.0001", "0.0005", "0.001", "0.005", "0.01", "0.05", "0.1"):
        run = the_run(plan, "table8", f"lambda-{weight}", "stsb-dev")
        assert rtd_of(run).weight == float(weight)
    assert terms_of(the_run(plan, "table8", "lambda-0", "stsb-dev")) == ["infonce"]
    for edit in ("insert", "delete"):
        for column in ("stsb-dev", "transfer-dev"):
            term = rtd_of(the_run(plan, "table4", f"{edit}-15", column))
            assert (term.edit, term.ratio) == (edit, 0.15)
    edits = the_run(plan, "table4", "all", "stsb-dev").objective[1:]
    assert [term.edit for term in edits] == ["replace", "insert", "delete"]
    assert len({term.weight for term in edits}) == 1
    rows = (
        "bert-large",
        "bert-base",
        "distilbert-base",
        "bert-medium",
        "bert-small",
        "bert-mini",
        "bert-tiny",
    )
    folders = [rtd_of(the_run(plan, "table6", row, "stsb-dev")).generator for row in rows]
    assert len(set(folders)) == len(rows)


def test_the_next_sentence_is_edited_but_not_contrasted():
    run = the_run(plan_at("paper"), "table3", "same-next", "stsb-dev")
    contrastive, same, following = run.objective
    assert run.views[2].augment.name == "next-sentence"
    assert contrastive.views == (0, 1)
    assert same.views == (0, 1)
    assert (following.views, following.condition) == ((2, 2), (0, 1))


def test_extra_positives_and_negatives_keep_simcse_settings():
    plan = plan_at("paper")
    base = the_run(plan, "table15", "simcse", "stsb-dev")
    names = {"replace": "masked-lm", "insert": "insertion", "delete": "deletion"}
    for kind, terms in (("positives", 2), ("negatives", 1)):
        for edit, augmentation in names.items():
            run = the_run(plan, "table15", f"{kind}-{edit}-15", "transfer-dev")
            assert run == the_run(plan, "table15", f"{kind}-{edit}-15", "stsb-dev")
            assert run.optimisation == base.optimisation
            assert run.views[:2] == base.views
            assert run.views[2].augment.name == augmentation
            assert terms_of(run) == ["infonce"] * terms


def test_the_runs_of_an_item_hold_the_generators_it_needs():
    plan = plan_at("micro")
    runs = plan.runs_of(plan.item("diffcse/table10"))
    pretrained = {name for name in runs if plan.runs[name].init.fresh}
    families = {plan.runs[name].init.fresh.architecture.family for name in pretrained}
    assert (len(runs), len(pretrained), families) == (4, 2, {"bert", "distilbert"})
    generators = plan.runs_of(plan.item("diffcse/table6"))
    assert sum(plan.runs[name].init.fresh is not None for name in generators) == 7
    # Rows of Table 15 only need the generator to edit their corpus.
    (cell,) = [
        cell
        for cell in plan.cells["diffcse/table15"]
        if (cell.row.id, cell.column.id) == ("negatives-replace-15", "stsb-dev")
    ]
    item = plan.item("diffcse/table15").with_rows([cell.row.id])
    alone = replace(plan, cells={item.id: [cell]})
    assert pretrained < alone.runs_of(item)


def test_all_rows_of_table_10_read_one_evaluation_a_model():
    cells = [cell for cell in plan_at("micro").cells["diffcse/table10"] if cell.protocol == "as-described"]
    reads = Counter(cell.metric_path for cell in cells)
    assert set(reads.values()) == {2}, "SimCSE and DiffCSE are read alike"
    assert set(reads) == {
        f"recall/{corpus}/{direction}/at{cutoff}"
        for corpus in ("all", "distinct")
        for direction in ("forward", "backward", "both")
        for cutoff in (1, 5, 10)
    }
    assert all(cell.metric_path.startswith("recall/all/both/") for cell in cells if cell.reported)


def test_released_checkpoints_stand_beside_retrained_ones():
    plan = plan_at("paper")
    hubs = {
        (cell.item.name, plan.encoders[encoder].source.hub)
        for cells in plan.cells.values()
        for cell in cells
        if cell.protocol == "released"
        for encoder in cell.encoders
    }
    assert {hub for _, hub in hubs if hub.startswith("voidism/")} == {
        f"voidism/diffcse-{name}"
        for name in (
            "bert-base-uncased-sts",
            "bert-base-uncased-trans",
            "roberta-base-sts",
            "roberta-base-trans",
        )
    }
    assert {item for item, hub in hubs if hub.endswith("uncased-sts")} == {"table1", "table10", "table11"}


def test_every_term_that_the_paper_names_is_trained():
    made = {term for run in trained(plan_at("paper")) for term in terms_of(run)}
    assert made == {"infonce", "mlm", "rtd", "conditional-mlm", "corrective-lm"}


def test_protocols_change_the_second_loss_of_the_main_runs():
    config = {
        "scale": "paper",
        "papers": {"diffcse": ["table3"]},
        "seeds": [0],
        "adjudicate": ["diffcse/table3"],
    }
    plan = load_plan(config, WORKFLOW)
    found = {}
    for cell in plan.cells["diffcse/table3"]:
        if cell.row.id == "diffcse" and cell.column.id == "stsb-dev":
            run = plan.runs[plan.encoders[cell.encoders[0]].source.run]
            term = rtd_of(run)
            given = term.plain()
            changed = {key: given[key] for key in ("choice", "places", "average") if key in given}
            found[cell.protocol] = (changed, run.optimisation.epochs)
    assert found == {
        "as-described": ({}, 2),
        "sampled-edits": ({"choice": "sample", "places": "masked"}, 2),
        "summed-loss": ({"average": "sum"}, 2),
        "attended-mean": ({"average": "attended"}, 2),
        "one-epoch": ({}, 1),
    }
