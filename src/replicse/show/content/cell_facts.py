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
    source = printed.source if printed and printed.source else item.place
    facts = {"verdict": shown.word}
    if shown.word and shown.word == cell.verdict:
        facts |= {"because": cell.reason, "or": cell.best_of_ten}
    elif shown.word:
        facts["because"] = cell.failure
    if shown.reported:
        facts["reported"] = f"{shown.reported} ({source})" if source else shown.reported
        facts["printed as"] = _statistic(printed)
    if shown.verdict != QUOTED:
        facts |= _facts_of_ours(item, column, cell, effect)
    return tuple((name, value) for name, value in facts.items() if value)


def _facts_of_ours(
    item: ItemResult, column: ColumnHead, cell: CellResult, effect: tuple[str, str] | None
) -> dict[str, str]:
    """Return the facts about the reproduced number of a cell."""
    facts: dict[str, str] = {}
    if cell.reproduced is not None:
        facts["reproduced"] = f"{cell.reproduced:.6g}"
    if column.statistic != "mean":
        facts["ours is"] = over_seeds(column.statistic)
    facts["95% prediction interval"] = _between(cell.low, cell.high, ".6g")
    if effect:
        facts[effect[0]] = effect[1]
    facts["over pairs"] = _between(cell.pairs_low, cell.pairs_high, ".2f")
    if cell.borrowed:
        facts["spread"] = "borrowed from a publication"
    by_seed = _by_seed(cell)
    if not by_seed:
        facts["seeds"] = str(cell.n_seeds)
    facts |= {"by seed": by_seed, "precision": cell.precision, "mixed": cell.mixture}
    if cell.protocol != AS_DESCRIBED:
        facts["protocol"] = cell.protocol
    runs = list(dict.fromkeys(entry.run for entry in cell.values if entry.run))
    if runs:
        facts["runs"] = _some(runs)
    else:
        facts["encoders"] = _some(cell.encoders)
    facts["why"] = why_command(item, cell)
    return facts


def _some(names: Sequence[str]) -> str:
    """Join the first names and count the others."""
    text = ", ".join(names[:NAMED])
    if len(names) > NAMED:
        text += f" and {len(names) - NAMED} more"
    return text


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


def _statistic(printed: Reported | None) -> str:
    """Describe a published statistic, such as `mean of 50 runs, sd 0.84`.

    Return "" for a single run without a spread.
    """
    if printed is None:
        return ""
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
    if low is None or high is None:
        return ""
    return f"{low:{how}} to {high:{how}}"
