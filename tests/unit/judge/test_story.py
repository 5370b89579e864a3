"""Finding a cell, and the claims and findings shown with the cell."""

import pytest
from planned import shipped_plan

from replicse.compile.item_plan import plan_item
from replicse.judge.report.explain_cell import cell_story, find_cell
from replicse.judge.report.judgements import Finding, JudgedClaim
from replicse.judge.report.recipe_lines import recipe_lines
from replicse.judge.values.measurements import Measurements
from replicse.judge.verdicts.tabulate import item_result

CONFIG = {
    "scale": "paper",
    "papers": {"simcse": ["table1", "table5", "table8", "tableA1", "figure2"], "repro": ["table4"]},
    "seeds": [0, 1, 2],
    "adjudicate": ["repro/table4", "simcse/table1"],
}
CELL = "repro/table4/crop-10/stsb-dev"


@pytest.fixture(scope="module")
def plan():
    return shipped_plan(**CONFIG)


def test_a_cell_is_found_with_or_without_its_metric_and_under_a_protocol(plan):
    plain = find_cell(plan, CELL)
    assert plain is find_cell(plan, f"{CELL}/spearman")
    assert (plain.row.id, plain.column.id, plain.protocol) == ("crop-10", "stsb-dev", "as-described")
    assert plain is find_cell(plan, f"{CELL}@as-described")
    variant = find_cell(plan, f"{CELL}@character-crop")
    assert variant.protocol == "character-crop"
    assert variant is find_cell(plan, f"{CELL}/spearman@character-crop")
    assert variant.encoders != plain.encoders
    uniformity = find_cell(plan, "simcse/figure2/unsup-simcse/final/uniformity")
    assert uniformity.column.metric == "uniformity"


def test_claims_and_findings_that_name_the_cell(plan):
    def claim(name, cells, reported, ours):
        return JudgedClaim(f"p/{name}", "", "", tuple(cells.split()), reported, "", ours, 0, None, 0)

    def finding(name, printed):
        return Finding("repro", "rule", "Table 4", ("p/c", name), printed, "-13.2 follows", "certain")

    claims = [
        claim("with-metric", f"x/y/z/w {CELL}/spearman", "supported", "not run"),
        claim("without", CELL, "contradicted", "undetermined"),
        claim("other", f"{CELL}-delta repro/table4/crop-20/stsb-dev", "", ""),
    ]
    findings = [finding(f"{CELL}/spearman", "-13.3 is printed"), finding(f"{CELL}-delta/spearman", "other")]
    cell, evaluations = find_cell(plan, CELL), Measurements(plan)
    story = cell_story(
        cell, item_result(plan_item(evaluations.study, cell.item), evaluations), evaluations, claims, findings
    )
    assert story["claims"] == [
        "p/with-metric: paper's numbers supported, our runs not run",
        "p/without: paper's numbers contradicted, our runs undetermined",
    ]
    assert story["audit"] == ["-13.3 is printed; -13.2 follows (certain)"]


def test_the_recipe_says_what_the_scale_changes(plan):
    """Describe the paper's recipe at its own scale, and the changed keys first at a smaller one."""
    assert list(recipe_lines(plan, find_cell(plan, "simcse/table5/unsup-simcse-bert-base/avg"))) == [
        "infonce on wiki, 1 epoch, batch size 64, learning rate 3e-05, dropout 0.1, at most 32 tokens"
    ]
    smaller = shipped_plan(scale="micro", papers={"simcse": ["table1", "table5"]}, seeds=[0])
    assert list(recipe_lines(smaller, find_cell(smaller, "simcse/table1/none/stsb-dev"))) == [
        "not the paper's: optimisation.batch_size 16 instead of 64, optimisation.learning_rate 0.0003"
        " instead of 3e-05, optimisation.steps 20, selection.every 10 instead of 125",
        "infonce on wiki, 20 steps in at most 1 epoch, batch size 16, learning rate 0.0003, dropout 0.1,"
        " at most 32 tokens",
    ]
    quoted = find_cell(smaller, "simcse/table5/infersent-glove/avg")
    assert list(recipe_lines(smaller, quoted)) == []


def test_the_recipe_names_the_post_processing_of_the_vectors(plan):
    for row, fitted in (
        ("flow", "flow, fitted on the corpus nli-sentences, seed 42"),
        ("whitening", "whitening"),
    ):
        lines = list(recipe_lines(plan, find_cell(plan, f"simcse/table5/bert-base-{row}/avg")))
        assert len(lines) == 1 and lines[0].startswith(f"vectors: {fitted}")


def test_the_recipe_of_a_search_names_what_it_varies_and_no_change_of_it_by_the_scale():
    """Name the first job of a search; its learning rate is not the scale's change of the recipe."""
    searched = shipped_plan(scale="micro", papers={"noncontrastive": ["table3"]}, seeds=[0])
    cell = find_cell(searched, "noncontrastive/table3/bert-base-dropout-0.05/learning-rate")
    changes, training = recipe_lines(searched, cell)
    assert changes.startswith("not the paper's: ") and "optimisation.learning_rate" not in changes
    assert training.startswith("first job of a search over optimisation.learning_rate, ")
