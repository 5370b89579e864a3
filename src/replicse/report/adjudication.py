"""The page on adjudication: for each gap, what every difference of protocol does to our number."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from replicse.report.cells import MINUS
from replicse.report.contents import Page
from replicse.report.tables import Sheet

TITLE = "Adjudication"
TEXT = (
    "Where two papers print different numbers for one experiment, or a paper's text and its released code differ, both"
    " ways are run. *Gap* is the printed number less the other paper's; where no other paper prints one, it is the"
    " printed number less ours as described. *Effect* is ours under the variant less ours as described, on the same"
    " seeds, with its 95% interval; with one seed there is none. *Share* is the part of the gap that the effect covers:"
    " 100% explains all of it, a negative share widens it.",
)
SMALLER = (
    "This scale is not the papers': its encoders are smaller, so a share only says whether an effect has the direction"
    " and the order of size of the printed gap. It is no verdict."
)
HEADER = ("Printed", "Gap", "As described", "Variant", "Ours", "Effect", "Share of the gap")


def adjudication_page(
    rows: Sequence[Mapping[str, str]], manifests: Mapping[str, Mapping[str, Any]], comparable: bool
) -> Page | None:
    """Return the page, a sheet per item; None where nothing is adjudicated."""
    sheets = tuple(
        _sheet(manifests[item], list(part)) for item, part in groupby(rows, key=lambda entry: entry["item"])
    )
    return Page(TITLE, TEXT if comparable else (*TEXT, SMALLER), sheets) if sheets else None


def _sheet(manifest: Mapping[str, Any], rows: Sequence[Mapping[str, str]]) -> Sheet:
    shown = _chosen(manifest, rows)
    labels = {row["id"]: row["label"] for row in manifest["rows"]}
    columns = {column["id"]: column["label"] for column in manifest["columns"]}
    others = {entry["other"].partition("/")[0] for entry in shown if entry["other"]}
    several = len({_cell(entry)[1:] for entry in shown}) > 1
    # A column that says the same in every line is said once, in the title.
    header = ("Row", *(("Column",) if several else ()), *(f"Printed by {name}" for name in others), *HEADER)
    lines: list[tuple[str, ...]] = []
    for (row, column, metric), part in groupby(shown, key=_cell):
        name = columns[column] if _alone(manifest, column) else f"{columns[column]}, {metric}"
        for place, entry in enumerate(part):
            known = (entry["reported"], _signed(entry["gap"]), _number(entry["described"]))
            second = (entry["reported_other"],) if others else ()
            own = (labels[row], *((name,) if several else ()), *second, *known)
            variant = manifest["variants"].get(entry["protocol"], entry["protocol"])
            ours = (variant, _number(entry["ours"]), _bounded(entry, "effect", "low", "high"), _share(entry))
            lines.append((*(own if place == 0 else [""] * len(own)), *ours))
    left_out = len({_cell(entry) for entry in rows}) - len({_cell(entry) for entry in shown})
    note = f"{left_out} further cells of the item stand in adjudication.csv." if left_out else ""
    title = f"{manifest['item']}: {manifest['title']}" + ("" if several or not shown else f", {name}")
    return Sheet(title, header, tuple(lines), note)


def _chosen(manifest: Mapping[str, Any], rows: Sequence[Mapping[str, str]]) -> list[Mapping[str, str]]:
    """Return the cells that are shown: averages stand for their parts, the end for a trajectory.

    Of what is left, cells that another paper prints too; all where no cell has such a counterpart.
    """
    reads = {column["id"]: column["read"] for column in manifest["columns"]}
    averages = [name for name, read in reads.items() if read.endswith("/avg")]
    final = [name for name, read in reads.items() if not read.startswith("trajectory/")]
    columns = averages or final
    shown = [entry for entry in rows if entry["column"] in columns]
    return [entry for entry in shown if entry["other"]] or shown


def _cell(entry: Mapping[str, str]) -> tuple[str, str, str]:
    return entry["row"], entry["column"], entry["metric"]


def _alone(manifest: Mapping[str, Any], column: str) -> bool:
    return sum(other["id"] == column for other in manifest["columns"]) == 1


def _number(text: str) -> str:
    return f"{float(text):.2f}".replace("-", MINUS) if text else ""


def _signed(text: str) -> str:
    return f"{float(text):+.2f}".replace("-", MINUS) if text else ""


def _bounded(entry: Mapping[str, str], value: str, low: str, high: str) -> str:
    if not entry[low]:
        return _signed(entry[value])
    return f"{_signed(entry[value])} [{_signed(entry[low])}, {_signed(entry[high])}]"


def _share(entry: Mapping[str, str]) -> str:
    def percent(text: str) -> str:
        return f"{100 * float(text):.0f}".replace("-", MINUS)

    if not entry["share"]:
        return ""
    if not entry["share_low"]:
        return f"{percent(entry['share'])}%"
    return f"{percent(entry['share'])}% [{percent(entry['share_low'])}, {percent(entry['share_high'])}]"
