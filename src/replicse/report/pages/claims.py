"""The page of claims: each sentence with what the papers' numbers and ours say of it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from replicse.report.content.contents import Page
from replicse.report.content.tables import Sheet

TITLE = "Claims"
TEXT = (
    "A claim is a sentence that a paper states as a result, written as relations between cells, all of which must"
    " hold. *In print* judges it by the paper's own numbers, *reproduction study* by the numbers that the study which"
    " repeated the paper prints for the same cells, and *ours* by our paired seeds.",
    "A sentence that can be read in several ways, such as a % that may be percent or points, is supported only if one"
    " reading supports all of it and contradicted only if every reading is; the outcome of each stands behind the"
    " sentence, and so does what of it no cell holds, which keeps it from support.",
    "The probability is that of the claim's weakest part (Student's t over the paired seeds): supported from 0.95,"
    " contradicted up to 0.05, undetermined between them. Below three seeds there is none and nothing is decided: two"
    " seeds are shown themselves, as in {70.1, 70.4}. Printed numbers decide outright, except where their rounding"
    " could turn the relation. Blank: the study repeated none of the cells.",
)
SMALLER = "This scale judges no claim: ours says only what was found, and stands as not comparable."
FEW_CELLS = 2
# An outcome differs by its symbol too, as a verdict does.
SYMBOLS = {
    "supported": "✓",
    "contradicted": "✗",
    "undetermined": "?",
    "not comparable": "◇",
    "not run": "○",
    "not printed": "–",
}
OURS = "Ours"
HEADER = ("Claim", "Place", "Cells", "In print", "Reproduction study", OURS, "Probability")


def claims_page(rows: Sequence[Mapping[str, str]], judges_orders: bool) -> Page | None:
    """Return the page, a sheet per outcome of our runs; None where no paper states a claim."""
    outcomes = dict.fromkeys([*SYMBOLS, *(row["ours"] for row in rows)])
    parts = {outcome: [row for row in rows if row["ours"] == outcome] for outcome in outcomes}
    sheets = tuple(
        _without_blank(claims_sheet(part, f"{marked(outcome)} ({len(part)})".strip()))
        for outcome, part in parts.items()
        if part
    )
    return Page(TITLE, TEXT if judges_orders else (*TEXT, SMALLER), sheets) if sheets else None


def claims_sheet(rows: Iterable[Mapping[str, str]], title: str = TITLE) -> Sheet:
    """Return one row per claim, as `claim_rows` or claims.csv has them."""
    cells = tuple(
        (
            f"{row['claim']}: {row['text']}" + (f" ({row['remark']})" if row.get("remark") else ""),
            row["place"],
            cells_text(row["cells"].split("; ")),
            *(marked(row[view]) for view in ("reported", "reproduction", "ours")),
            f"{float(row['probability']):.2f}" if row["probability"] else "",
        )
        for row in rows
    )
    return Sheet(title, HEADER, cells)


def _without_blank(sheet: Sheet) -> Sheet:
    """Return a sheet of one outcome of ours without that column, and without those that say nothing."""
    kept = [
        place
        for place, name in enumerate(sheet.header)
        if name != OURS and any(row[place] for row in sheet.rows)
    ]
    header, *rows = (tuple(row[place] for place in kept) for row in (sheet.header, *sheet.rows))
    return replace(sheet, header=header, rows=tuple(rows))


def marked(outcome: str) -> str:
    """Return an outcome behind its symbol; nothing for none."""
    return f"{SYMBOLS[outcome]} {outcome}" if outcome else ""


def cells_text(names: Sequence[str]) -> str:
    """Return the names of a few cells, or how many cells of which items; claims.csv names them all."""
    if len(names) <= FEW_CELLS:
        return ", ".join(names)
    counts = Counter("/".join(name.split("/")[:2]) for name in names)
    return ", ".join(f"{item} ({count} cell{'s' * (count > 1)})" for item, count in counts.items())
