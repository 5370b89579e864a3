"""What a reader may ask about a cell: its name, values, source, and the commands that lead to it."""

import shlex
from collections.abc import Sequence

from replicse.compile.paths import Paths
from replicse.compile.record_study import RECORD
from replicse.judge.verdicts.table import QUOTED, CellResult, ColumnHead, ItemResult
from replicse.show.content.cells import Shown
from replicse.spec.cell_id import AS_DESCRIBED
from replicse.spec.printed import Reported

# Runs or encoders of a cell that are named.
NAMED = 3
STATISTICS = {"max": "maximum", "min": "minimum", "sd": "standard deviation"}


def cell_address(name: str) -> str:
    """Return a cell's name as a link target: `simcse-table3--p0.1--stsb-dev`."""
    paper, item, *rest = name.replace("@", "/").split("/")
    return "--".join([f"{paper}-{item}", *rest])


def facts(
    item: ItemResult, column: ColumnHead, shown: Shown, cell: CellResult, effect: tuple[str, str] | None
) -> tuple[tuple[str, str], ...]:
    """Return what a reader may ask about a cell, as (name, value); what there is nothing to say of is left out.

    The caption says once that a table is not comparable.
    """
    printed = cell.reported
    by_seed = _by_seed(cell)
    source = printed.source if printed and printed.source else item.place
    facts = {
        "verdict": shown.word,
        "because": (cell.reason if shown.word == cell.verdict else cell.failure) if shown.word else "",
        "or": cell.best_of_ten if shown.word == cell.verdict else "",
        "reported": f"{shown.reported} ({source})" if shown.reported and source else shown.reported,
        "printed as": _statistic(printed) if printed and shown.reported else "",
    }
    if shown.verdict != QUOTED:
        runs = tuple(dict.fromkeys(entry.run for entry in cell.values if entry.run))
        facts |= {
            "reproduced": "" if cell.reproduced is None else f"{cell.reproduced:.6g}",
            "ours is": "" if column.statistic == "mean" else over_seeds(column.statistic),
            "95% prediction interval": _between(cell.low, cell.high, ".6g"),
            **dict([effect] if effect else ()),
            "over pairs": _between(cell.pairs_low, cell.pairs_high, ".2f"),
            "spread": "borrowed from a publication" if cell.borrowed else "",
            "seeds": "" if by_seed else str(cell.n_seeds),
            "by seed": by_seed,
            "precision": cell.precision,
            "mixed": cell.mixture,
            "protocol": "" if cell.protocol == AS_DESCRIBED else cell.protocol,
            **({"runs": _some(runs)} if runs else {"encoders": _some(cell.encoders)}),
            "why": why_command(item, cell),
        }
    return tuple((name, value) for name, value in facts.items() if value)


def _some(names: Sequence[str]) -> str:
    """Return a few names, and how many more there are; `replicse why` shows them all."""
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")


def run_command(item: ItemResult) -> str:
    """Return the command that runs an item again with its config.

    It is empty if the item is outdated, or if others measured it, because the command would not repeat the numbers.
    """
    if item.outdated or item.kept == RECORD:
        return ""
    return f"replicse run {item.item} --config {Paths(item.scale, item.kept).config}"


def why_command(item: ItemResult, cell: CellResult) -> str:
    """Return the command that shows where a cell comes from, in the study that it is of."""
    study = f"--study {item.kept}" if item.kept else f"--scale {item.scale}"
    return f"replicse why {shlex.quote(item.name_of(item.id_of(cell)))} {study}"


def _statistic(printed: Reported) -> str:
    """Return `mean of 50 runs, sd 0.84`; nothing for a single run without a spread."""
    name = STATISTICS.get(printed.statistic, printed.statistic)
    if printed.q is not None:
        name = f"{printed.q:g}th {name}"
    runs = f"{name} of {printed.seeds} runs" if printed.seeds else name
    spread = "" if printed.sd is None else f"sd {printed.sd:g}"
    return ", ".join(part for part in ("" if runs == "single" else runs, spread) if part)


def over_seeds(statistic: str) -> str:
    """Return what is taken over seeds, in words."""
    return f"{STATISTICS.get(statistic, statistic)} over seeds"


def _by_seed(cell: CellResult) -> str:
    """Return `0: 75.21, 1: 75.9`; nothing where no encoder has a seed, or where they gave sentences."""
    numbers = [entry for entry in cell.values if entry.seed is not None and not isinstance(entry.value, str)]
    return ", ".join(
        f"{entry.seed}: {'missing' if entry.value is None else format(entry.value, '.6g')}"
        for entry in numbers
    )


def _between(low: float | None, high: float | None, how: str) -> str:
    return "" if low is None or high is None else f"{low:{how}} to {high:{how}}"
