"""The sentences that a report begins with: each from data, with its numbers, its scale and the way to it."""

import numpy as np
import pytest
from golden import example_report as example

from replicse.report.pages.costs import seconds_picture
from replicse.report.pages.findings import findings
from replicse.study.paper.protocols import ON_BACKBONE
from replicse.study.results.multiplicity import controlled

COMPACT = {**example.STUDY, "scale": "compact", "comparable": False, "judges_orders": True}
MICRO = {**example.STUDY, "scale": "micro", "comparable": False, "judges_orders": False}
PATH = "sts-dev/STS-B/all"


def ablation(rows, crossed=(), name="simcse/table3", scale="compact", path=PATH):
    """Return a table from (id, label, printed, values); the first row is the baseline."""
    cells = []
    for row, _, printed, values in rows:
        cells.append(example.judged(row, "dev", printed, values, scale=scale, metric_path=path))
        for backbone in range(len(values) if row in crossed else 0):
            shifted = [value + backbone for value in values]
            protocol = f"{ON_BACKBONE}{backbone}"
            cells.append(
                example.judged(row, "dev", printed, shifted, protocol=protocol, scale=scale, metric_path=path)
            )
    heads = [(row, label) for row, label, *_ in rows]
    return example.result(
        name, "Dropout", [("dev", "STS-B dev")], heads, cells, scale=scale, baseline=rows[0][0]
    )


DROPOUT = [
    ("p0.1", "p = 0.1", "82.5", [64.0, 63.0, 65.0]),
    ("p0.0", "p = 0.0", "71.1", [52.0, 51.5, 52.5]),
    ("crop", "Crop 20%", "71.4", [68.0, 67.5, 69.0]),
    ("p0.2", "p = 0.2", "80.5", [64.0, 62.0, 66.0]),
]


def said(study, items, claims=(), audit=(), explained=()):
    return findings(study, items, list(claims), list(audit), list(explained))


def test_the_strongest_effects_with_and_against_print_come_first():
    first, second, *_ = said(COMPACT, [ablation(DROPOUT)])
    assert first.sentence == "p = 0.0 costs 12.0 points on STS-B dev over 3 seeds."
    assert first.detail.startswith(
        "Paired by seed −12.00 [−13.24, −10.76] against p = 0.1 (95% interval over 3"
    )
    assert first.detail.endswith("in print −11.4; simcse/table3, scale compact")
    assert first.target == "simcse/table3/p0.0/dev"
    assert second.sentence == "Crop 20% adds 4.2 points on STS-B dev over 3 seeds; the paper prints −11.1."


def test_a_crossed_effect_has_its_interval_over_seeds_and_its_mean_over_all_pairs():
    first, *_ = said(COMPACT, [ablation(DROPOUT, crossed=("p0.1", "p0.0"))])
    assert first.sentence == "p = 0.0 costs 12.0 points on STS-B dev over 3 seeds."
    assert "; −12.00 over 9 pairs of backbone and seed; in print −11.4;" in first.detail


def test_an_undecided_effect_is_no_finding():
    rows = [DROPOUT[0], ("p0.2", "p = 0.2", "80.5", [64.5, 62.0, 66.5])]
    assert not any("p = 0.2" in each.sentence for each in said(COMPACT, [ablation(rows)]))


CLAIM = {"text": "All are lower.", "place": "Table 3", "reported": "supported", "probability": ""}


@pytest.mark.parametrize(
    ("ours", "probability", "detail"),
    [
        (
            "against",
            "0.004",
            "Most clearly against: “All are lower.” (Table 3; it holds with probability < 0.01); scale",
        ),
        ("contradicted", "", "Against, without a probability: “All are lower.” (Table 3); scale"),
        ("undetermined", "", "Scale compact"),
    ],
)
def test_claims_say_which_one_the_runs_contradict(ours, probability, detail):
    rows = [CLAIM | {"ours": ours, "probability": probability}, CLAIM | {"ours": "not run"}]
    found = said(COMPACT, [], rows)[0]
    assert found.sentence == f"The runs test 1 of 2 claims of the papers: 1 {ours}."
    assert found.detail.startswith(detail) and found.target == "claims"
    assert said(COMPACT, [], [CLAIM | {"ours": "not run"}]) == []


def test_the_audit_is_counted_over_all_papers_and_never_crowded_out():
    rows = [{"paper": paper, "certainty": "certain"} for paper in ("simcse", "repro", "diffcse")]
    # A paper of which nothing is certain is not counted.
    rows += [{"paper": paper, "certainty": "unless"} for paper in ("repro", "esimcse")]
    *_, last = said(COMPACT, [ablation(DROPOUT)], [CLAIM | {"ours": "for"}], rows)
    assert last.sentence == "3 certain contradictions between the printed numbers of 3 papers."
    assert last.detail == "Of them 1 in simcse; no run was needed" and last.target == "audit"


def test_micro_says_that_the_machine_works_and_where_the_time_went():
    study = MICRO | {
        "seconds": seconds_picture({"infonce-s0-1": 3.0, "infonce-s0-2": 2.0, "mlm-s0-3": 4.0}, {"e": 6.0}),
        "committed": [("compact", "What it shows", "../studies/compact/report.html")],
    }
    machine, seconds, committed = said(study, [ablation(DROPOUT[:1], scale="micro")])
    assert machine.sentence == "The workflow runs from end to end: 1 number in 1 item."
    assert "say nothing about the papers" in machine.detail
    assert seconds.sentence == "Training and evaluation took 15 s (3 runs, 1 evaluation)."
    assert seconds.detail.startswith("evaluation 6 s, 1 jobs; training, infonce 5 s, 2 jobs")
    assert committed.target == "studies" and "compact" in committed.sentence
    lost = ablation([("a", "A", "1.0", [None])], scale="micro")
    assert said(MICRO, [lost])[0].sentence.startswith("1 cell failed or were not run")


def test_the_counts_of_verdicts_say_how_many_false_ones_to_expect():
    draws = np.random.default_rng(3).normal(70, 0.5, size=(40, 5))
    draws[:20] += 30
    rows = [(f"r{place}", f"R{place}", "70.0", values.tolist()) for place, values in enumerate(draws)]
    table = ablation(rows, scale="paper")
    first, *_ = said(example.STUDY, controlled([table]))
    assert first.sentence == "40 cells: 20 higher, 20 within seed spread."
    assert first.detail == (
        "40 cells tested, 20 higher or lower; at most about 1.0 of these are expected to be false"
        " (Benjamini-Hochberg at 5% within each paper). Without it 2.0 would be, if nothing differed"
    )
