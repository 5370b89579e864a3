"""One cell judged: its values per seed, what is printed, and the verdict."""

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

from replicse.compile.item_plan import ItemPlan
from replicse.compile.study import Cell
from replicse.judge.machines import distinct, mixture, recorded
from replicse.judge.measurements import Measurements
from replicse.judge.table import CellResult, JobValue, SeedValue
from replicse.judge.values import Values, values
from replicse.judge.verdict import MEAN, judge
from replicse.registry.digests import digest

DIGITS = 12


def cell_result(cell: Cell, plan: ItemPlan, measurements: Measurements) -> CellResult:
    """Judge one cell of an item: its values per seed, what is published, and the verdict."""
    facts = plan.facts[cell.id]
    ours = values(cell, measurements, plan.searched)
    records = measurements.records_behind(cell)
    machines = distinct(machine for record in records for machine in recorded(record))
    outcome = _outcome(cell, plan, ours, measurements)
    outcome["reason"] = "; ".join(filter(None, [outcome["reason"], mixture(machines)]))
    return CellResult(
        row=cell.row.id,
        column=cell.column.id,
        metric=cell.column.metric,
        protocol=cell.protocol,
        metric_path=cell.metric_path,
        # What is printed belongs to the text's protocol; the others are read and chosen alike.
        reported=cell.reported,
        subtracted=cell.subtracted,
        values=tuple(_seed_values(plan, cell, ours)),
        seedless=ours.seedless,
        failure=ours.failure,
        precision=facts.precision,
        machines=tuple(machines),
        packages=tuple(sorted({str(record.get("package_sha256", ""))[:DIGITS] for record in records} - {""})),
        published_sd=facts.spread.sd if facts.spread else None,
        encoders=cell.encoders,
        **outcome,
    )


def _seed_values(plan: ItemPlan, cell: Cell, ours: Values) -> Iterator[SeedValue]:
    sides = [operand.jobs for operand in cell.operands or (cell,) if operand.jobs]
    for place, (seed, value) in enumerate(zip(cell.seeds, ours.per_seed, strict=True)):
        # A lone encoder without seeds stands beside every seed of the others, as in `paired`.
        behind = sorted({encoder for jobs in sides for encoder in jobs[place if len(jobs) > 1 else 0]})
        encoder = behind[0] if len(behind) == 1 and cell.jobs else ""
        run = plan.run_name(encoder) if encoder else ""
        kept = value if isinstance(value, str) or value is None or math.isfinite(value) else None
        group = digest(behind) if behind and not encoder else ""
        jobs = _job_values(plan, cell.jobs[place], ours.jobs[place]) if ours.jobs else ()
        yield SeedValue(seed=seed, value=kept, encoder=encoder, run=run, group=group, jobs=tuple(jobs))


def _job_values(
    plan: ItemPlan, encoders: Sequence[str], numbers: Sequence[float | None]
) -> Iterator[JobValue]:
    """Yield the number of each job of a search, with what the search sets in its run."""
    for encoder, number in zip(encoders, numbers, strict=True):
        kept = number if number is not None and math.isfinite(number) else None
        settings = {path: values[encoder] for path, values in plan.searched.items() if encoder in values}
        yield JobValue(encoder=encoder, run=plan.run_name(encoder), value=kept, settings=settings)


def _outcome(cell: Cell, plan: ItemPlan, ours: Values, measurements: Measurements) -> dict[str, Any]:
    """Return what depends on what was found: a quotation, a text or a judged number."""
    if not cell.encoders:
        quoted = "quoted: the print alone is shown" if cell.row.quoted else "nothing to run"
        return {"reason": quoted}
    if cell.column.kind == "text":
        texts = list(dict.fromkeys(value for value in ours.per_seed if isinstance(value, str)))
        reason = _rank_kept(cell, plan, texts, measurements) if texts else ""
        if ours.failure:
            return {"verdict": "failed", "reason": ours.failure}
        return {
            "text": " / ".join(texts),
            "n_seeds": len(texts),
            "verdict": "" if texts else "not run",
            "reason": reason,
        }
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
    low, high = (ours.pairs if judgement.verdict != "failed" else None) or (None, None)
    return {**vars(judgement), "pairs_low": low, "pairs_high": high}


def _rank_kept(cell: Cell, plan: ItemPlan, texts: Sequence[str], measurements: Measurements) -> str:
    """Return whether a printed sentence is ours in its cell, in another one of its column and group, or nowhere.

    Sentences are the same where their words are: case, spaces and punctuation do not count. Blank where nothing is
    printed, and at a scale that is not the paper's.
    """
    if cell.reported is None or not plan.is_comparable:
        return ""
    wanted = _words(cell.reported.value)
    if wanted in map(_words, texts):
        return "kept: the printed sentence"
    others = [
        other
        for other in plan.planned
        if (other.column.id, other.protocol, other.row.group)
        == (cell.column.id, cell.protocol, cell.row.group)
    ]
    beside = []
    for other in others:
        beside += [
            each for each in values(other, measurements, plan.searched).per_seed if isinstance(each, str)
        ]
    return (
        "another rank: the printed sentence is ours elsewhere" if wanted in map(_words, beside) else "absent"
    )


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())
