"""Judgement of a cell: values by seed, printed number and verdict."""

import math
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from replicse.compile.cell import Cell
from replicse.compile.item_plan import ItemPlan
from replicse.judge.values.cell_values import Value, Values, cell_values
from replicse.judge.values.machines import count_machines, describe_mixture, recorded_machines
from replicse.judge.values.measurements import Measurements
from replicse.judge.verdicts.table import CellResult, JobValue, SeedValue
from replicse.judge.verdicts.verdict import MEAN, judge
from replicse.registry.digests import digest

DIGITS = 12


def cell_result(cell: Cell, plan: ItemPlan, measurements: Measurements) -> CellResult:
    """Judge a cell of an item.

    Args:
        cell: the cell.
        plan: the plan of its item.
        measurements: the measurements of its encoders.

    Returns:
        The values by seed, the interval, the verdict and the machines of the cell.
    """
    facts = plan.facts[cell.id]
    ours = cell_values(cell, measurements, plan.searched)
    records = measurements.records_behind(cell)
    machines = count_machines(chain.from_iterable(map(recorded_machines, records)))
    packages = {str(record.get("package_sha256", ""))[:DIGITS] for record in records}
    outcome = _outcome(cell, plan, ours, measurements)
    outcome["reason"] = "; ".join(filter(None, [outcome["reason"], describe_mixture(machines)]))
    return CellResult(
        row=cell.row.id,
        column=cell.column.id,
        metric=cell.column.metric,
        protocol=cell.protocol,
        metric_path=cell.metric_path,
        reported=cell.reported,
        subtracted=cell.subtracted,
        values=tuple(_seed_values(plan, cell, ours)),
        seedless=ours.seedless,
        failure=ours.failure,
        precision=facts.precision,
        machines=tuple(machines),
        packages=tuple(sorted(packages - {""})),
        published_sd=facts.spread.sd if facts.spread else None,
        encoders=cell.encoders,
        **outcome,
    )


def _seed_values(plan: ItemPlan, cell: Cell, ours: Values) -> Iterator[SeedValue]:
    sides = [operand.jobs for operand in cell.operands or (cell,) if operand.jobs]
    for place, (seed, value) in enumerate(zip(cell.seeds, ours.per_seed, strict=True)):
        behind: set[str] = set()
        for jobs in sides:
            # A single encoder without seeds is used for every seed of the other operands, as in `pair_by_seed`.
            behind.update(jobs[place if len(jobs) > 1 else 0])
        encoder = run = group = ""
        if len(behind) == 1 and cell.jobs:
            (encoder,) = behind
            run = plan.run_name(encoder)
        elif behind:
            group = digest(sorted(behind))
        of_jobs: tuple[JobValue, ...] = ()
        if ours.jobs:
            of_jobs = tuple(_job_values(plan, cell.jobs[place], ours.jobs[place]))
        yield SeedValue(
            seed=seed, value=_drop_infinite(value), encoder=encoder, run=run, group=group, jobs=of_jobs
        )


def _drop_infinite(value: Value) -> Value:
    """Return None for an infinite number, which JSON cannot contain."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _job_values(
    plan: ItemPlan, encoders: Sequence[str], numbers: Sequence[float | None]
) -> Iterator[JobValue]:
    """Yield the number and hyper-parameters of each job of a search."""
    for encoder, number in zip(encoders, numbers, strict=True):
        value = number if number is not None and math.isfinite(number) else None
        settings = {path: values[encoder] for path, values in plan.searched.items() if encoder in values}
        yield JobValue(encoder=encoder, run=plan.run_name(encoder), value=value, settings=settings)


def _outcome(cell: Cell, plan: ItemPlan, ours: Values, measurements: Measurements) -> dict[str, Any]:
    """Return the fields of a quotation, a sentence or a judged number."""
    if not cell.encoders and cell.row.quoted:
        return {"reason": "quoted: only the printed number is shown"}
    if not cell.encoders:
        return {"reason": "nothing to run"}
    if cell.column.kind == "text":
        return _text_outcome(cell, plan, ours, measurements)
    facts = plan.facts[cell.id]
    over = cell.column.over
    judgement = judge(
        [value for value in ours.per_seed if not isinstance(value, str)],
        cell.reported,
        planned=len(cell.seeds),
        comparable=not facts.why_not_comparable,
        why_not=facts.why_not_comparable,
        prior=None if ours.seedless else facts.spread,
        seedless=ours.seedless,
        rounding=ours.half_digit,
        failures=[ours.failure] if ours.failure else [],
        reducer=over.seeds if over else MEAN,
        better=cell.column.better,
    )
    low = high = None
    if ours.pairs and judgement.verdict != "failed":
        low, high = ours.pairs
    return {**vars(judgement), "pairs_low": low, "pairs_high": high}


def _text_outcome(cell: Cell, plan: ItemPlan, ours: Values, measurements: Measurements) -> dict[str, Any]:
    """Return the fields of a cell whose results are sentences."""
    if ours.failure:
        return {"verdict": "failed", "reason": ours.failure}
    texts = list(dict.fromkeys(value for value in ours.per_seed if isinstance(value, str)))
    if not texts:
        return {"text": "", "n_seeds": 0, "verdict": "not run", "reason": ""}
    reason = _compare_sentences(cell, plan, texts, measurements)
    return {"text": " / ".join(texts), "n_seeds": len(texts), "verdict": "", "reason": reason}


def _compare_sentences(cell: Cell, plan: ItemPlan, texts: Sequence[str], measurements: Measurements) -> str:
    """Return the cell where our results contain a printed sentence.

    The sentence is in the same cell, in another cell of the same column and group, or absent. Sentences are equal if
    their words are equal; case, spaces and punctuation are ignored. Returns an empty string if no sentence is printed,
    or if the scale is not comparable.
    """
    if cell.reported is None or not plan.is_comparable:
        return ""
    printed = _words(cell.reported.value)
    if printed in map(_words, texts):
        return "kept: the printed sentence"
    for other in plan.planned:
        is_beside = other.column.id == cell.column.id and other.row.group == cell.row.group
        if is_beside and other.protocol == cell.protocol:
            for value in cell_values(other, measurements, plan.searched).per_seed:
                if isinstance(value, str) and _words(value) == printed:
                    return "another rank: the printed sentence is in another cell"
    return "absent"


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())
