"""The story of one cell: where it is printed, what ours is based on, and what is known of the gap."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from replicse.compile.study import Cell, Study
from replicse.errors import BadInput, nearest
from replicse.judge.adjudicate import adjudicate
from replicse.judge.evidence import power_lines
from replicse.judge.judgements import Explained, Finding, JudgedClaim
from replicse.judge.measurements import Measurements
from replicse.judge.others import SourceResult
from replicse.judge.record_measurements import RecordMeasurements
from replicse.judge.record_story import others_facts, others_lines
from replicse.judge.table import CellResult, ItemResult
from replicse.registry.suites import file_of
from replicse.spec.cell_id import AS_DESCRIBED
from replicse.spec.counterparts import counterparts
from replicse.spec.papers import printed_in
from replicse.spec.printed import Reported

SHOWN_SEEDS = 5


def item_of(name: str) -> str:
    """Return the item `paper/item` of a cell's name; BadInput where the name is none."""
    parts = name.partition("@")[0].split("/")
    if len(parts) not in (4, 5):
        raise BadInput(f'cell "{name}": expected paper/item/row/column')
    return "/".join(parts[:2])


def find_cell(plan: Study, name: str) -> Cell:
    """Return the cell `paper/item/row/column[/metric][@protocol]`; BadInput names the nearest one."""
    cells: dict[str, Cell] = {}
    for cell in plan.cells[plan.item(item_of(name)).id]:
        cells.setdefault(cell.id.short, cell)
        cells[str(cell.id)] = cell
    found = cells.get(name.removesuffix(f"@{AS_DESCRIBED}"))
    if found is None:
        raise BadInput(f'no cell "{name}"{nearest(name, cells)}')
    return found


def cell_story(
    cell: Cell,
    result: ItemResult,
    measurements: Measurements,
    claims: Sequence[JudgedClaim],
    findings: Sequence[Finding],
    others: Sequence[SourceResult] = (),
) -> dict[str, list[str]]:
    """Return the evidence for one cell of an item's result as lines of text by heading.

    `claims` are rows of claims, `findings` those of the audit, `others` what others measured of the cell; empty
    headings are left out.
    """
    plan, ours = measurements.study, _cell_result(cell, result)
    is_ours = not isinstance(measurements, RecordMeasurements)
    story = {
        "cell": [f"{cell.item.id} · {cell.row.label} · {cell.column.label}", *_protocol(plan, cell, result)],
        "scale": [result.standing],
        "printed": _printed(plan, cell),
        "read": [*_read(cell), *_sets_read(cell, measurements)],
        "seeds": _seeds(cell, ours),
        "reproduced": _reproduced(ours, result.caveat),
        "verdict": [_verdict(ours)],
        "others": list(others_lines(others)),
        "power": power_lines(plan, cell, ours) if cell.protocol == AS_DESCRIBED else [],
        "variants": list(_variants(plan, cell, result)),
        "claims": [
            f"{each.claim}: paper's numbers {each.reported}, {'our runs' if is_ours else 'others'} {each.ours}"
            for each in _naming(cell, claims)
        ],
        "audit": [
            f"{finding.printed}; {finding.follows} ({finding.certainty})" for finding in _on(cell, findings)
        ],
        "run": _runs(plan, cell, ours) if is_ours else [],
        "made": _made(ours),
        "files": _files(cell, measurements) if is_ours else [],
    }
    return {heading: list(dict.fromkeys(lines)) for heading, lines in story.items() if lines}


def _verdict(ours: CellResult) -> str:
    said = "; ".join(filter(None, [ours.verdict or "none", ours.best_of_ten]))
    return f"{said}: {ours.reason}".removesuffix(": ")


def cell_facts(
    cell: Cell,
    result: ItemResult,
    measurements: Measurements,
    claims: Sequence[JudgedClaim],
    findings: Sequence[Finding],
    others: Sequence[SourceResult] = (),
) -> dict[str, Any]:
    """Return what `cell_story` tells as plain data, numbers as numbers; `result` is the cell as it was judged."""
    plan, ours = measurements.study, _cell_result(cell, result)
    trained = sorted(plan.trained_runs([cell])) if _as_planned(cell, ours) else []
    return {
        "cell": str(cell.id.described),
        "protocol": cell.protocol,
        "scale": result.scale,
        "comparable": result.comparable,
        "printed": [
            {
                "paper": paper,
                "number": reported.number.value if reported.number else None,
                **reported.model_dump(mode="json"),
            }
            for paper, reported in _printed_numbers(plan, cell)
        ],
        "result": ours.model_dump(mode="json", exclude={"reported", "subtracted"}),
        "variants": [variant.line() for variant in _explained(plan, cell, result)],
        "claims": [claim.facts() for claim in _naming(cell, claims)],
        "others": others_facts(others),
        "audit": [asdict(finding) for finding in _on(cell, findings)],
        "runs": {run: plan.runs[run].canonical() for run in trained},
        "files": _files(cell, measurements),
    }


def _cell_result(cell: Cell, result: ItemResult) -> CellResult:
    if cell.id not in (cells := result.by_id):
        raise BadInput(
            f"{cell.id.described}: the result of {result.item} does not hold it; run the item again"
        )
    return cells[cell.id]


def _naming(cell: Cell, claims: Sequence[JudgedClaim]) -> list[JudgedClaim]:
    return [claim for claim in claims if _names(claim.cells, cell)]


def _on(cell: Cell, findings: Sequence[Finding]) -> list[Finding]:
    return [finding for finding in findings if _names(finding.cells, cell)]


def _files(cell: Cell, measurements: Measurements) -> list[str]:
    """Return the files that a cell's numbers are read from: evaluations, or the item of a committed study."""
    if measurements.paths.kept:
        return [measurements.paths.item(cell.item.id)]
    return [
        measurements.paths.evaluation(operand.encoders[0], file_of(operand.metric_path))
        for operand in cell.operands or (cell,)
        if operand.encoders
    ]


def _names(cells: Sequence[str], cell: Cell) -> bool:
    """Return whether a list of names, each with or without its metric, holds a cell under whatever protocol."""
    name = cell.id.described
    return str(name) in cells or name.short in cells


def _protocol(plan: Study, cell: Cell, result: ItemResult) -> Iterator[str]:
    for protocol in plan.papers[cell.item.paper].protocols:
        if protocol.id == cell.protocol:
            yield f"under {protocol.id}: {protocol.title}. {protocol.evidence}"
    merged = next(row.merged for row in result.rows if row.id == cell.row.id)
    if merged:
        yield f"at scale {result.scale} the very runs of {', '.join(merged)}"


def _printed(plan: Study, cell: Cell) -> list[str]:
    lines = [] if cell.reported else ["no number is printed"]
    return lines + [
        _as_printed(reported, "" if paper == cell.item.paper else paper)
        for paper, reported in _printed_numbers(plan, cell)
    ]


def _printed_numbers(plan: Study, cell: Cell) -> Iterator[tuple[str, Reported]]:
    """Yield the paper's own number and that of the paper that repeats it, or that it repeats, as far as printed."""
    if cell.reported:
        yield cell.item.paper, cell.reported
    other = counterparts(plan.papers).get(cell.id.described)
    if other and (printed := printed_in(plan.papers, other)):
        yield other.paper, printed


def _as_printed(reported: Reported, paper: str = "") -> str:
    """Return a printed value, its place, and what it is of how many runs where it is not a single one."""
    said = [paper, reported.source]
    if reported.statistic != "single":
        said.append(f"{reported.statistic} of {reported.seeds} runs")
    if reported.sd is not None:
        said.append(f"standard deviation {reported.sd:g} over {reported.seeds} runs")
    return f"{reported.value}  ({', '.join(filter(None, said))})"


def _sets_read(cell: Cell, measurements: Measurements) -> Iterator[str]:
    """Yield the files of your own that a cell's numbers were made on, as the evaluation found them."""
    for each in cell.operands or (cell,):
        suite, name, *_ = [*each.metric_path.split("/"), ""]
        if suite == "sets" and each.encoders:
            keys = (f"sets/{name}/{key}" for key in ("file", "n", "sha256"))
            file, rows, digest = (measurements.at(each.encoders[0], key).value for key in keys)
            if file:
                yield f"{name}: {file}, {rows} rows, sha256 {digest[:12]}"


def _read(cell: Cell) -> list[str]:
    over = cell.column.over
    if cell.column.kind == "derived":
        parts = zip(cell.column.parsed.names, cell.operands, strict=False)
        said = [cell.column.formula, *(f"{name} is {each.metric_path}" for name, each in parts)]
    else:
        said = [cell.metric_path]
    if cell.subtracted:
        said.append(f"minus the printed {cell.subtracted.value}")
    if over and over.jobs:
        shown = f" of {over.jobs.shows}" if over.jobs.shows else ""
        said.append(f"{over.jobs.name}{shown} over {len(cell.jobs[0]) if cell.jobs else 0} jobs")
    if over and over.seeds.statistic != "mean":
        said.append(f"{over.seeds.name} over seeds")
    return [", ".join(said)] if said[0] else []


def _seeds(cell: Cell, ours: CellResult) -> list[str]:
    if not ours.encoders:
        return ["quoted by the paper from elsewhere; not re-run" if cell.row.quoted else ours.reason]
    lines = []
    for each in ours.values[:SHOWN_SEEDS]:
        missing = "no value" if ours.failure else "not run"
        shown = (
            f"{each.value:{_digits(each.value)}}" if isinstance(each.value, float) else each.value or missing
        )
        seed = "" if each.seed is None else f"seed {each.seed}, "
        lines.append(f"{shown}  {each.encoder or f'{seed}{len(ours.encoders)} encoders'}")
    rest = len(ours.values) - SHOWN_SEEDS
    return [*lines, f"and {rest} more"] if rest > 0 else lines


def _digits(value: float, decimals: int = 4) -> str:
    """Return the format of a number: some decimals, or three digits where these would leave fewer than two."""
    return ".3g" if 0 < abs(value) < 10 ** (1 - decimals) else f".{decimals}f"


def _reproduced(ours: CellResult, caveat: str) -> list[str]:
    if ours.reproduced is None:
        return [ours.text or "nothing yet"]
    digits, bounds = _digits(ours.reproduced), _digits(ours.reproduced, 2)
    delta = "" if ours.delta is None else f", {ours.delta:+{digits}} to the printed number"
    lines = [f"{ours.reproduced:{digits}}{delta}" + (f" ({caveat})" if delta and caveat else "")]
    if ours.few:
        each = ", ".join(f"{value:{digits}}" for value in ours.few)
        lines.append(f"{len(ours.few)} seeds give no interval: {{{each}}}")
    if ours.low is not None and ours.seedless:
        expected = f"{ours.low:{bounds}} to {ours.high:{bounds}}"
        lines += (
            [f"nothing is drawn: print is expected in {expected}, by its rounding"] if ours.reported else []
        )
    elif ours.low is not None:
        printed = ours.reported
        several = printed is not None and printed.statistic != "single"
        of = f" of the {printed.statistic} of {printed.seeds} more runs" if printed and several else ""
        basis = " (a published spread)" if ours.borrowed else ""
        lines.append(f"95% prediction interval{of}: {ours.low:{bounds}} to {ours.high:{bounds}}{basis}")
    if ours.pairs_low is not None:
        lines.append(f"other test pairs would give {ours.pairs_low:.2f} to {ours.pairs_high:.2f}")
    return lines


def _explained(plan: Study, cell: Cell, result: ItemResult) -> list[Explained]:
    """Return what each variant does to a cell; nothing for a cell under a variant."""
    every = adjudicate(plan.papers, result) if cell.protocol == AS_DESCRIBED else ()
    return [variant for variant in every if variant.cell == cell.id]


def _variants(plan: Study, cell: Cell, result: ItemResult) -> Iterator[str]:
    failed = {
        name.protocol
        for name, each in result.by_id.items()
        if name.described == cell.id.described and each.verdict == "failed"
    }
    for variant in _explained(plan, cell, result):
        absent = "not run" if cell.encoders else "nothing to run"
        absent = "failed" if failed & {cell.protocol, variant.protocol} else absent
        said = absent if variant.effect is None else f"{variant.effect:+.2f}"
        each = variant.by_seed
        if variant.low is not None:
            said += f" [{variant.low:+.2f}, {variant.high:+.2f}]"
        elif len(each) > 1:
            said += f" {{{', '.join(f'{one:+.2f}' for one in each)}}}"
        if variant.share is not None:
            said += f", {100 * variant.share:.0f}% of the printed gap of {variant.gap:+.2f}"
        elif variant.outcome and variant.noise is not None:
            said += f", the printed gap of {variant.gap:+.2f} is within its noise of {variant.noise:.2f}"
        explains = (
            f"{variant.outcome} ({result.caveat})" if variant.outcome and result.caveat else variant.outcome
        )
        yield ", ".join(filter(None, [f"{variant.protocol}: {said}", explains, variant.note]))


def _as_planned(cell: Cell, ours: CellResult) -> bool:
    """Return whether a cell's numbers are of the encoders that are planned; those of a committed study may be older."""
    return set(ours.encoders) == set(cell.encoders)


def _runs(plan: Study, cell: Cell, ours: CellResult) -> list[str]:
    """Return the spec of the first seed's run, and the names of the runs it starts from."""
    if not _as_planned(cell, ours):
        made = ", ".join(dict.fromkeys(each.run for each in ours.values if each.run)) or "other encoders"
        return [
            f"{made}: made by an earlier version; this one would run {', '.join(cell.encoders) or 'nothing'}"
        ]
    run = plan.encoders[cell.encoders[0]].source.run if cell.encoders else None
    if run is None:
        return ["no training"] if cell.encoders else []
    spec = plan.runs[run]
    lines = [plan.paths.run(run)]
    lines += [f"{key}: {_plain_text(value)}" for key, value in spec.canonical().items()]
    while spec.init.run:
        lines.append(f"starts from {plan.paths.run(spec.init.run)}")
        spec = plan.runs[spec.init.run]
    return lines


def _plain_text(value: Any) -> str:
    """Return a setting of a run in words: keys before their values, without quotes and braces."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {_plain_text(part)}" for key, part in value.items())
    if isinstance(value, list | tuple):
        return "; ".join(map(_plain_text, value))
    return value if isinstance(value, str) else json.dumps(value)


def _made(ours: CellResult) -> list[str]:
    """Return the precision of a cell's runs, and each machine that trained or evaluated them."""
    count = len(ours.machines)
    mixed = f"on {count} machines, so its numbers mix them:" if count > 1 else ""
    return [line for line in (ours.precision, mixed, *map(str, ours.machines)) if line]
