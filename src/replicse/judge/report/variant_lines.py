"""The effect of each variant on a cell as lines for `replicse why`."""

from collections.abc import Iterator

from replicse.compile.cell import Cell
from replicse.compile.study import Study
from replicse.judge.adjudication.adjudicate import adjudicate
from replicse.judge.report.judgements import Explained
from replicse.judge.verdicts.table import ItemResult
from replicse.spec.cell_id import AS_DESCRIBED


def explained_variants(study: Study, cell: Cell, result: ItemResult) -> list[Explained]:
    """Return the effect of each variant on a cell.

    Returns an empty list for a cell under a variant.
    """
    if cell.protocol != AS_DESCRIBED:
        return []
    return [variant for variant in adjudicate(study.papers, result) if variant.cell == cell.id]


def variant_lines(study: Study, cell: Cell, result: ItemResult) -> Iterator[str]:
    """Yield a line with effect and outcome for each variant."""
    failed = set()
    for name, each in result.by_id.items():
        if name.described == cell.id.described and each.verdict == "failed":
            failed.add(name.protocol)
    for variant in explained_variants(study, cell, result):
        outcome = variant.outcome
        if outcome and result.caveat:
            outcome = f"{outcome} ({result.caveat})"
        if variant.effect is not None:
            effect = _describe_effect(variant)
        elif failed & {cell.protocol, variant.protocol}:
            effect = "failed"
        elif cell.encoders:
            effect = "not run"
        else:
            effect = "nothing to run"
        effect += _describe_share(variant)
        yield ", ".join(filter(None, [f"{variant.protocol}: {effect}", outcome, variant.note]))


def _describe_effect(variant: Explained) -> str:
    """Return an effect with the interval, or with the effect of each seed."""
    if variant.low is not None:
        return f"{variant.effect:+.2f} [{variant.low:+.2f}, {variant.high:+.2f}]"
    if len(variant.by_seed) > 1:
        numbers = ", ".join(f"{one:+.2f}" for one in variant.by_seed)
        return f"{variant.effect:+.2f} {{{numbers}}}"
    return f"{variant.effect:+.2f}"


def _describe_share(variant: Explained) -> str:
    """Return the share of the printed gap explained by a variant."""
    if variant.share is not None:
        return f", {100 * variant.share:.0f}% of the printed gap of {variant.gap:+.2f}"
    if variant.outcome and variant.noise is not None:
        return f", the printed gap of {variant.gap:+.2f} is within the noise of {variant.noise:.2f}"
    return ""
