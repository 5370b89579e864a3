"""Facts of a cell: name, values, source, and commands about it."""

import shlex
from collections.abc import Sequence

from replicse.compile.paths import Paths
from replicse.compile.record_study import RECORD
from replicse.judge.verdicts.table import QUOTED, CellResult, ColumnHead, ItemResult
from replicse.show.content.cells import Shown
from replicse.spec.cell_id import AS_DESCRIBED
from replicse.spec.printed import Reported

# The maximum number of runs or encoders to name.
NAMED = 3
STATISTICS = {"max": "maximum", "min": "minimum", "sd": "standard deviation"}


def cell_address(name: str) -> str:
    """Convert the name of a cell to a link target.

    For example, `simcse/table3/p0.1/stsb-dev` becomes `simcse-table3--p0.1--stsb-dev`.
    """
    paper, item, *rest = name.replace("@", "/").split("/")
    return "--".join([f"{paper}-{item}", *rest])


def facts(
    item: ItemResult, column: ColumnHead, shown: Shown, cell: CellResult, effect: tuple[str, str] | None
) -> tuple[tuple[str, str], ...]:
    """List the facts of a cell that its tooltip and panel show.

    Args:
        item: The item.
        column: The column of the cell.
        shown: The formatted cell.
        cell: The judged cell.
        effect: The difference to the baseline row as a fact, or None.

    Returns:
        Pairs of name and value, without empty values. If the table is not comparable, only the caption mentions it.
    """
    printed = cell.reported
    by_seed = _by_seed(cell)
    source = printed.source if printed and printed.source else item.place
    shows_verdict = shown.word == cell.verdict
    reason = cell.reason if shows_verdict else cell.failure
    facts = {
        "verdict": shown.word,
        "because": reason if shown.word else "",
        "or": cell.best_of_ten if shows_verdict else "",
        "reported": f"{shown.reported} ({source})" if shown.reported and source else shown.reported,
        "printed as": _statistic(printed) if printed and shown.reported else "",
    }
    if shown.verdict != QUOTED:
        runs = tuple(dict.fromkeys(entry.run for entry in cell.values if entry.run))
        facts |= {
            "reproduced": "" if cell.reproduced is None else f"{cell.reproduced:.6g}",
            "ours is": "" if column.statistic == "mean" else over_seeds(column.statistic),
            "95% prediction interval": _between(cell.low, cell.high, ".6g"),
            **({effect[0]: effect[1]} if effect else {}),
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
    """Join the first names and count the others."""
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")


def run_command(item: ItemResult) -> str:
    """Return the command that runs an item with the same config.

    Return "" if the item is outdated or measured by others, because the command would not reproduce the numbers.
    """
    if item.outdated or item.kept == RECORD:
        return ""
    return f"replicse run {item.item} --config {Paths(item.scale, item.kept).config}"


def why_command(item: ItemResult, cell: CellResult) -> str:
    """Return the command that shows the origin of a cell in its study."""
    study = f"--study {item.kept}" if item.kept else f"--scale {item.scale}"
    return f"replicse why {shlex.quote(item.name_of(item.id_of(cell)))} {study}"


def _statistic(printed: Reported) -> str:
    """Describe a published statistic, such as `mean of 50 runs, sd 0.84`.

    Return "" for a single run without a spread.
    """
    name = STATISTICS.get(printed.statistic, printed.statistic)
    if printed.q is not None:
        name = f"{printed.q:g}th {name}"
    parts = []
    if printed.seeds:
        parts.append(f"{name} of {printed.seeds} runs")
    elif name != "single":
        parts.append(name)
    if printed.sd is not None:
        parts.append(f"sd {printed.sd:g}")
    return ", ".join(parts)


def over_seeds(statistic: str) -> str:
    """Describe a statistic over seeds, such as `maximum over seeds`."""
    return f"{STATISTICS.get(statistic, statistic)} over seeds"


def _by_seed(cell: CellResult) -> str:
    """List the numbers of a cell by seed, such as `0: 75.21, 1: 75.9`.

    Return "" if no encoder has a seed or the values are strings.
    """
    texts = []
    for entry in cell.values:
        if entry.seed is None or isinstance(entry.value, str):
            continue
        number = "missing" if entry.value is None else f"{entry.value:.6g}"
        texts.append(f"{entry.seed}: {number}")
    return ", ".join(texts)


def _between(low: float | None, high: float | None, how: str) -> str:
    return "" if low is None or high is None else f"{low:{how}} to {high:{how}}"
