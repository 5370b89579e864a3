"""What others measured of a cell as lines of text and as plain data, for the story of the cell."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from replicse.judge.others import SettingEffect, SourceResult

SHOWN_VALUES = 5


def others_lines(results: Sequence[SourceResult]) -> Iterator[str]:
    """Yield two lines for each source and setting: what it measured, and the file that holds it.

    The deciding source comes first, then the others in the printed setting, then other settings.
    """
    for result in results:
        yield f"{result.source} ({result.cited}, {result.year}): {_measured(result)}{_judged(result)}"
        yield f"  {'; '.join(result.links)}"


def others_facts(results: Sequence[SourceResult]) -> list[dict[str, Any]]:
    """Return what others measured of a cell as plain data."""
    return [asdict(result) for result in results]


def _measured(result: SourceResult) -> str:
    """Return `75.35, sd 0.60, 5 seeds {74.99, ...}`."""
    if not result.trained:
        return f"{result.values[0]} with the released checkpoint" if result.released else result.values[0]
    if result.sd is None:
        return f"{result.values[0]}, one run"
    shown = ", ".join(result.values[:SHOWN_VALUES])
    more = ", ..." if result.n > SHOWN_VALUES else ""
    return f"{result.mean:.2f}, sd {result.sd:.2f}, {result.n} runs {{{shown}{more}}}"


def _judged(result: SourceResult) -> str:
    """Return the verdict of a source with its interval, or how its setting differs and what that changes."""
    if result.is_printed:
        if result.low is None or result.high is None:
            return f"; {result.verdict}"
        if not result.trained:
            return f"; {result.verdict}"
        borrowed = ", with the spread of another source" if result.borrowed else ""
        return f"; {result.verdict}, expected in {result.low:.2f} to {result.high:.2f}{borrowed}"
    effect = f"; {_effect(result.effect)}" if result.effect else ""
    return f"; another setting: {result.difference}{effect}"


def _effect(effect: SettingEffect) -> str:
    interval = "" if effect.low is None else f" [{effect.low:+.2f}, {effect.high:+.2f}]"
    paired = ", paired by seed" if effect.is_paired else ""
    return f"{effect.mean:+.2f}{interval} to its printed setting{paired}"
