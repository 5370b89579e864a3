"""The adjudication page for synthetic gaps: headline, tables and sums."""

from golden import example_report as example

from replicse.judge.report.build_report import report
from replicse.judge.report.judgements import Judgements
from replicse.show.formats.pictures import waterfall_svg
from replicse.show.formats.terminal import page_text
from replicse.show.pages.adjudication import adjudication_page

ITEM = example.result(
    "repro/table4", "Augmentations", [("dev", "DEV")], [("crop-10", "Crop 10%"), ("crop-20", "Crop 20%")], [],
    variants={"low-dropout": "Dropout 0.02 and 0.01"},
)  # fmt: skip
ENTRY = {
    "item": "repro/table4", "row": "crop-10", "column": "dev", "metric": "spearman", "protocol": "low-dropout",
    "n_seeds": "3", "note": "", "other": "simcse/table1/crop-10/stsb-dev/spearman", "reported_other": "77.8",
    "reported": "64.60", "gap": "-13.2", "described": "71.0", "ours": "68.9", "effect": "-2.1", "low": "-2.35",
    "high": "-1.85", "share": "0.1591", "share_low": "0.1402", "share_high": "0.178", "by_seed": "-2.0; -2.1; -2.2",
    "outcome": "in part",
}  # fmt: skip


def larger(row, gap, *shares, **changes):
    """Return the row of a gap above the noise.

    Args:
        row: Id of the row.
        gap: Size of the gap.
        shares: Share of the gap explained by the variant, for each seed.
        changes: Other fields of the row.
    """
    each = [share * gap for share in shares]
    mean = sum(each) / len(each)
    told = {"share": mean / gap, "share_low": mean / gap - 0.2, "share_high": mean / gap + 0.2}
    numbers = {"gap": gap, "effect": mean, "low": mean - 1, "high": mean + 1, **told}
    effects = {"by_seed": "; ".join(map(repr, each)), "outcome": "explains"}
    return {"row": row, **{name: repr(value) for name, value in numbers.items()}, **effects, **changes}


FIRST, SECOND = larger("crop-10", -10.0, 0.9, 1.0, 1.1), larger("crop-20", 5.0, 0.9, 1.0, 1.1)
OTHER = {"protocol": "another", "effect": "-5.0", "low": "", "high": "", "by_seed": "-5.0"}
WHOLE = {"protocol": "as-run", "effect": "-10.0", "low": "-11.0", "high": "-9.0"}
CASES = {
    "a variant explains both gaps": (FIRST, SECOND),
    # (10 * 1.2 + 5 * 0.6) / 15.
    "the longer gap counts for more": (
        larger("crop-10", -10.0, 1.2, 1.2, 1.2),
        larger("crop-20", 5.0, 0.6, 0.6, 0.6),
    ),
    "without pairs no interval of both": (FIRST, SECOND | {"by_seed": "4.5; 5.5"}),
    "variants beside all of the code": (
        WHOLE,
        {},
        OTHER,
        {"protocol": "same", "note": "same run", "effect": "0.0"},
    ),
    "variants alone": ({}, OTHER),
}


def test_gaps_and_what_explains_them(golden):
    lines = []
    for name, changes in CASES.items():
        rows = tuple(example.explained(ENTRY | change) for change in changes)
        page = adjudication_page(report(example.STUDY, [ITEM], Judgements(adjudication=rows)))
        lines.append(f"# {name}\n{page_text(page)}")
        for fall in page.waterfalls:
            for step in fall.steps:
                bounds = "" if step.low is None else f", {step.low} to {step.high}"
                lines.append(
                    f"{step.kind} {step.label}: {step.start:.2f} to {step.end:.2f}{bounds}; {step.text}"
                )
    golden("gaps.txt", "\n".join(lines))
    golden("gaps.svg", waterfall_svg(page.waterfalls[0]))
