"""The judged cells of items as rows of CSV: one a cell, and one a value."""

from collections.abc import Iterator, Sequence
from typing import Any

from replicse.judge.machines import distinct
from replicse.judge.table import ItemResult
from replicse.spec.columns import TEXT

CONTRACT = (
    "row", "column", "metric", "protocol", "reported", "reproduced", "delta", "low", "high", "n_seeds", "verdict",
    "encoders",
)  # fmt: skip
FIELDS = (*CONTRACT, "borrowed", "reason", "pairs_low", "pairs_high", "p")
TIDY = (
    "paper", "item", "row", "column", "protocol", "seed", "metric", "value", "encoder", "run",
    "group", "machine", "package", "reported", "published_sd",
)  # fmt: skip


def table_rows(result: ItemResult) -> Iterator[dict[str, str]]:
    """Yield the rows of an item's CSV as text by field.

    An item may be run alone, so the verdict of its CSV is that of each cell by itself until its paper is judged.
    """
    for cell in result.cells:
        is_text = cell.metric == TEXT
        reason = cell.reason
        if cell.p is not None and cell.p_adjusted is None:
            reason = f"{reason}; p = {cell.p:.2g} for this cell by itself"
        untouched = not cell.encoders
        numbers = {
            name: _text(getattr(cell, name))
            for name in ("delta", "low", "high", "pairs_low", "pairs_high", "p")
        }
        yield {
            "row": cell.row,
            "column": cell.column,
            "metric": cell.metric,
            "protocol": cell.protocol,
            "reported": cell.reported.value if cell.reported else "",
            "reproduced": cell.text if is_text else _text(cell.reproduced),
            "n_seeds": "" if untouched else str(cell.n_seeds),
            "verdict": cell.verdict,
            "encoders": ";".join(cell.encoders),
            "borrowed": "yes" if cell.borrowed else "",
            "reason": reason,
            **numbers,
        }


def tidy_rows(results: Sequence[ItemResult]) -> Iterator[dict[str, Any]]:
    """Yield a row for every value of every cell, as cells.csv holds them."""
    machines = distinct(machine for result in results for cell in result.cells for machine in cell.machines)
    for result in results:
        for cell in result.cells:
            for each in cell.values:
                yield {
                    "paper": result.paper,
                    "item": result.item.partition("/")[2],
                    "row": cell.row,
                    "column": cell.column,
                    "protocol": cell.protocol,
                    "seed": "" if each.seed is None else each.seed,
                    "metric": cell.metric_path,
                    "value": "" if each.value is None else each.value,
                    "encoder": each.encoder,
                    "run": each.run,
                    "group": each.group,
                    "machine": " | ".join(
                        dict.fromkeys(str(next(filter(made.fits, machines))) for made in cell.machines)
                    ),
                    "package": " | ".join(cell.packages),
                    "reported": cell.reported.value if cell.reported else "",
                    "published_sd": _text(cell.published_sd),
                }


JOBS = ("paper", "item", "row", "column", "protocol", "seed", "metric", "job", "value", "encoder", "run")


def job_rows(results: Sequence[ItemResult]) -> Iterator[dict[str, Any]]:
    """Yield a row for every job of every search, with what the search sets in its run by path."""
    for result in results:
        for cell in result.cells:
            place = {
                "paper": result.paper,
                "item": result.item.partition("/")[2],
                "row": cell.row,
                "column": cell.column,
                "protocol": cell.protocol,
                "metric": cell.metric_path,
            }
            for each in cell.values:
                seed = "" if each.seed is None else each.seed
                for number, job in enumerate(each.jobs):
                    value = "" if job.value is None else job.value
                    own = {"job": number, "value": value, "encoder": job.encoder, "run": job.run}
                    yield {**place, "seed": seed, **own, **job.settings}


def _text(value: float | None) -> str:
    return "" if value is None else repr(float(value))
