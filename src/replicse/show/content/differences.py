"""Format and write differences to the baseline row, paired by seed."""

from pathlib import Path

from replicse.files import write_rows
from replicse.judge.report.report_types import Effect, JudgedItem
from replicse.show.content.numbers import effect_text

FIELDS = ("row", "baseline", "column", "difference", "low", "high", "p", "n_pairs", "printed")


def difference_notes(item: JudgedItem) -> list[str]:
    """Describe the differences to the baseline row, a note per column.

    A note contains the difference of each row with an interval and p. Differences of a single seed are skipped.
    """
    columns: dict[str, list[Effect]] = {}
    for effect in item.effects:
        if effect.ours.n > 1:
            columns.setdefault(effect.column, []).append(effect)
    notes = []
    for column, effects in columns.items():
        same_pairs = len({effect.backbones for effect in effects}) == 1
        how = f"{effects[0].over}, 95% interval" if same_pairs else "95% interval"
        listed = "; ".join(_difference(effect, with_pairs=not same_pairs) for effect in effects)
        notes.append(f"{column}, difference to {effects[0].base} ({how}): {listed}.")
    return notes


def _difference(effect: Effect, with_pairs: bool) -> str:
    text = f"{effect.row} {effect_text(effect.ours)}{p_text(effect.p)}"
    return f"{text}, {effect.over}" if with_pairs else text


def p_text(p: float | None) -> str:
    """Format a p-value, such as `, p 0.012`; return "" for None."""
    if p is None:
        return ""
    if p < 0.001:
        return ", p < 0.001"
    return f", p {p:.2g}"


def write_differences(item: JudgedItem, file: Path) -> None:
    """Write the differences of an item to the baseline row as CSV.

    If there are no differences, no file is written.

    Args:
        item: The judged item.
        file: Path of the CSV file, with the columns FIELDS.
    """
    rows = []
    for effect in item.effects:
        rows.append(
            {
                "row": effect.row,
                "baseline": effect.base,
                "column": effect.column,
                "difference": effect.ours.mean,
                "low": effect.ours.low,
                "high": effect.ours.high,
                "p": effect.p,
                "n_pairs": effect.ours.n,
                "printed": effect.printed,
            }
        )
    if rows:
        write_rows(file, FIELDS, rows)
