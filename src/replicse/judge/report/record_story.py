"""Others' measurements of a cell as lines for `replicse why`."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from replicse.judge.verdicts.others import SettingEffect, SourceResult
from replicse.printable import several

SHOWN_VALUES = 5
LONGEST = 7  # longer published values are rounded


def others_lines(results: Sequence[SourceResult]) -> Iterator[str]:
    """Yield a line for each source and setting.

    A line contains the values, the verdict, and the file or comment with the values. The deciding source is first, then
    other sources in the printed setting, then other settings.

    Args:
        results: the results of the cell by source.
    """
    for result in results:
        place, *more = dict.fromkeys(result.links)
        if more:
            place += f" and {several(len(more), 'more file')}"
        about = f"{result.cited}, {result.year}"
        parts = (f"{result.source}: {_measured(result)}", _judged(result), _values(result), about, place)
        yield "; ".join(filter(None, parts))


def others_facts(results: Sequence[SourceResult]) -> list[dict[str, Any]]:
    """Return others' measurements of a cell as dicts for JSON."""
    return list(map(asdict, results))


def _measured(result: SourceResult) -> str:
    """Return `75.35, sd 0.60, 5 runs`."""
    if not result.trained:
        value = _rounded(result.values[0])
        if result.released:
            return f"{value} with the released checkpoint"
        return value
    if result.sd is None:
        return f"{_rounded(result.values[0])}, one run"
    return f"{result.mean:.2f}, sd {result.sd:.2f}, {result.n} runs"


def _values(result: SourceResult) -> str:
    """Return `runs 74.99, 76.40, ...`; an empty string for one value."""
    if result.n < 2:
        return ""
    shown = list(map(_rounded, result.values[:SHOWN_VALUES]))
    if result.n > SHOWN_VALUES:
        shown.append("...")
    return f"runs {', '.join(shown)}"


def _rounded(value: str) -> str:
    """Round a published value of full precision to two decimals.

    Shorter values are unchanged.
    """
    if len(value) <= LONGEST:
        return value
    return f"{float(value):.2f}"


def _judged(result: SourceResult) -> str:
    """Return the verdict of a source, or the difference of the setting."""
    if not result.is_printed:
        setting = f"another setting: {result.difference}"
        if result.effect:
            return f"{setting}; {_effect(result.effect)}"
        return setting
    if result.low is None or result.high is None or not result.trained:
        return result.verdict
    borrowed = ", with the spread of another source" if result.borrowed else ""
    return f"{result.verdict}, expected in {result.low:.2f} to {result.high:.2f}{borrowed}"


def _effect(effect: SettingEffect) -> str:
    interval = "" if effect.low is None else f" [{effect.low:+.2f}, {effect.high:+.2f}]"
    paired = ", paired by seed" if effect.is_paired else ""
    return f"{effect.mean:+.2f}{interval} from the printed setting{paired}"
