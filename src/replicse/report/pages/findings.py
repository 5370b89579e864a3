"""The first screen: what a study found, a line for each page that says more."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from replicse.report.content.cells import MINUS
from replicse.report.content.contents import Finding, printed_of
from replicse.report.content.tables import verdict_counts
from replicse.report.pages.adjudication import headline
from replicse.study.results.shape import shapes
from replicse.study.results.table import ItemResult

Rows = Sequence[Mapping[str, str]]
ANSWERS = ("supported", "contradicted", "for", "against", "undetermined", "not comparable", "not run")
EXPLAINED = {"explains": "explain it", "in part": "in part", "no": "do not", "undetermined": "open"}


def findings(
    study: Mapping[str, Any], items: Sequence[ItemResult], claims: Rows, audit: Rows, explained: Rows
) -> list[Finding]:
    """Return what the first screen says; what there is nothing of is left out."""
    lines = [
        ("Incomplete", study.get("incomplete", ""), "incomplete"),
        ("Cells", _counted(verdict_counts(items)), "counts"),
        ("Coverage", _coverage(study, items), "papers"),
        ("Claims", _claims(claims, study["scale"]), "claims"),
        (
            "Orders",
            _orders(items) if study["comparable"] or study["judges_orders"] else "",
            "what-reproduces",
        ),
        ("Gaps", ". ".join(_gaps(explained, items)), "adjudication"),
        ("Audit", _audit(audit), "audit"),
    ]
    return [Finding(*each) for each in lines if each[1]]


def _several(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _counted(counts: Mapping[str, int]) -> str:
    total = sum(counts.values())
    parts = [
        f"{count:,} {name}" for name, count in sorted(counts.items(), key=lambda entry: -entry[1]) if count
    ]
    return f"{_several(total, 'cell')}: {', '.join(parts)}" if total else ""


def _coverage(study: Mapping[str, Any], items: Sequence[ItemResult]) -> str:
    by_paper = {key: [item for item in items if item.paper == key] for key in study["papers"]}
    counts = ", ".join(f"{key} {printed_of(each)}" for key, each in by_paper.items() if each)
    notes = [study["papers"][key].get("coverage", "") for key, each in by_paper.items() if each]
    return " ".join(filter(None, [f"cells with a printed number: {counts}.", *notes]))


def _claims(rows: Rows, scale: str) -> str:
    counts = Counter(row["ours"] for row in rows)
    parts = [f"{counts[answer]} {answer}" for answer in ANSWERS if counts[answer]]
    smaller = f" at {scale}" if counts["for"] or counts["against"] else ""
    return (
        f"{_several(len(rows), 'sentence')} of the papers, by our runs{smaller}: {', '.join(parts)}"
        if parts
        else ""
    )


def _orders(items: Sequence[ItemResult]) -> str:
    every = [shape for item in items for shape in shapes(item)]
    best = [shape.best.kept for shape in every if shape.best is not None]
    signs = [sign.agrees for shape in every for sign in shape.signs if sign.agrees is not None]
    if not every:
        return ""
    tau = f"{median(shape.rank.tau for shape in every):+.2f}".replace("-", MINUS)
    parts = [f"median Kendall's τ {tau} over {_several(len(every), 'column')}"]
    parts += [f"best row kept in {sum(best)} of {len(best)}"] if best else []
    parts += [f"signs as in print {sum(signs)} of {len(signs)}"] if signs else []
    return ", ".join(parts)


def _gaps(rows: Rows, items: Sequence[ItemResult]) -> Iterator[str]:
    counts = Counter(row["outcome"] for row in rows if row["outcome"])
    parts = [f"{counts[outcome]} {name}" for outcome, name in EXPLAINED.items() if counts[outcome]]
    if parts:
        yield f"{_several(counts.total(), 'variant')} of cells: {', '.join(parts)}"
    if said := headline(rows, {item.item: item for item in items}):
        yield said


def _audit(rows: Rows) -> str:
    certain = sum(row["certainty"] == "certain" for row in rows)
    count = sum(row["rule"] != "not audited" for row in rows)
    return (
        f"{_several(count, 'finding')} in the printed numbers by themselves, {certain} of them certain"
        if rows
        else ""
    )
