"""One cell judged: its values per seed, what is printed, and the verdict."""

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

from replicse.compile.study import Cell, Study
from replicse.judge.machines import distinct, mixture, recorded
from replicse.judge.measurements import Measurements
from replicse.judge.table import CellResult, SeedValue
from replicse.judge.values import Values, values
from replicse.judge.verdict import MEAN, judge
from replicse.registry.digests import digest
from replicse.spec.printed import Spread

DIGITS = 12


def cell_result(cell: Cell, measurements: Measurements) -> CellResult:
    """Return one cell with its values per seed and its judgement."""
    study, ours = measurements.study, values(cell, measurements)
    published = measurements.borrowed_spread(cell)
    records = measurements.records_behind(cell)
    machines = distinct(machine for record in records for machine in recorded(record))
    outcome = _outcome(cell, ours, measurements, published)
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
        values=tuple(_seed_values(study, cell, ours)),
        seedless=ours.seedless,
        failure=ours.failure,
        precision=_precision(study, cell),
        machines=tuple(machines),
        packages=tuple(sorted({str(record.get("package_sha256", ""))[:DIGITS] for record in records} - {""})),
        published_sd=published.sd if published else None,
        encoders=cell.encoders,
        **outcome,
    )


def _precision(study: Study, cell: Cell) -> str:
    """Return the precision of a cell's runs, and the paper's where that is another."""
    ours = ", ".join(sorted({study.runs[run].precision for run in study.trained_runs([cell])}))
    theirs = study.printed_precision(cell.item.paper)
    return f"{ours}; the paper: {theirs}" if ours and theirs not in (None, ours) else ours


def _seed_values(plan: Study, cell: Cell, ours: Values) -> Iterator[SeedValue]:
    sides = [operand.jobs for operand in cell.operands or (cell,) if operand.jobs]
    for place, (seed, value) in enumerate(zip(cell.seeds, ours.per_seed, strict=True)):
        # A lone encoder without seeds stands beside every seed of the others, as in `paired`.
        behind = sorted({encoder for jobs in sides for encoder in jobs[place if len(jobs) > 1 else 0]})
        encoder = behind[0] if len(behind) == 1 and cell.jobs else ""
        run = (plan.encoders[encoder].source.run or "") if encoder else ""
        kept = value if isinstance(value, str) or value is None or math.isfinite(value) else None
        group = digest(behind) if behind and not encoder else ""
        yield SeedValue(seed=seed, value=kept, encoder=encoder, run=run, group=group)


def _outcome(
    cell: Cell, ours: Values, measurements: Measurements, published: Spread | None
) -> dict[str, Any]:
    """Return what depends on what was found: a quotation, a text or a judged number."""
    if not cell.encoders:
        quoted = "quoted: the print alone is shown" if cell.row.quoted else "nothing to run"
        return {"reason": quoted}
    if cell.column.kind == "text":
        texts = list(dict.fromkeys(value for value in ours.per_seed if isinstance(value, str)))
        reason = _rank_kept(cell, texts, measurements) if texts else ""
        if ours.failure:
            return {"verdict": "failed", "reason": ours.failure}
        return {
            "text": " / ".join(texts),
            "n_seeds": len(texts),
            "verdict": "" if texts else "not run",
            "reason": reason,
        }
    why_not = measurements.why_not_comparable(cell)
    over = cell.column.over
    judgement = judge(
        [value for value in ours.per_seed if not isinstance(value, str)],
        cell.reported,
        planned=len(cell.seeds),
        comparable=not why_not,
        why_not=why_not,
        prior=None if ours.seedless else published,
        seedless=ours.seedless,
        rounding=ours.half_digit,
        failures=[ours.failure] if ours.failure else [],
        reducer=over.seeds if over else MEAN,
        better=cell.column.better,
    )
    low, high = (ours.pairs if judgement.verdict != "failed" else None) or (None, None)
    return {**vars(judgement), "pairs_low": low, "pairs_high": high}


def _rank_kept(cell: Cell, texts: Sequence[str], measurements: Measurements) -> str:
    """Return whether a printed sentence is ours in its cell, in another one of its column and group, or nowhere.

    Sentences are the same where their words are: case, spaces and punctuation do not count. Blank where nothing is
    printed, and at a scale that is not the paper's.
    """
    plan = measurements.study
    if cell.reported is None or not plan.scale.comparable:
        return ""
    wanted = _words(cell.reported.value)
    if wanted in map(_words, texts):
        return "kept: the printed sentence"
    others = [
        other
        for other in plan.cells[cell.item.id]
        if (other.column.id, other.protocol, other.row.group)
        == (cell.column.id, cell.protocol, cell.row.group)
    ]
    beside = [
        value for other in others for value in values(other, measurements).per_seed if isinstance(value, str)
    ]
    return (
        "another rank: the printed sentence is ours elsewhere" if wanted in map(_words, beside) else "absent"
    )


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())
