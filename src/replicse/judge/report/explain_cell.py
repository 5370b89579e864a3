"""The explanation of a cell: the printed number, our number and the gap."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from replicse.compile.cell import Cell
from replicse.compile.study import Study
from replicse.errors import BadInput, nearest
from replicse.judge.report.judgements import Explained, Finding, JudgedClaim
from replicse.judge.report.recipe_lines import recipe_lines
from replicse.judge.report.record_story import others_facts, others_lines
from replicse.judge.report.variant_lines import explained_variants, variant_lines
from replicse.judge.values.machines import name_count
from replicse.judge.values.measurements import Measurements
from replicse.judge.values.record_measurements import RecordMeasurements
from replicse.judge.verdicts.evidence import power_lines
from replicse.judge.verdicts.others import SourceResult
from replicse.judge.verdicts.table import CellResult, ItemResult
from replicse.registry.suites import file_of
from replicse.spec.cell_id import AS_DESCRIBED
from replicse.spec.counterparts import counterparts
from replicse.spec.papers import printed_in
from replicse.spec.printed import Reported

SHOWN_SEEDS = 5


def item_of(name: str) -> str:
    """Return the item `paper/item` in the name of a cell.

    Raises:
        BadInput: if the name has another form.
    """
    parts = name.partition("@")[0].split("/")
    if len(parts) not in (4, 5):
        raise BadInput(f'cell "{name}": expected paper/item/row/column')
    return "/".join(parts[:2])


def find_cell(study: Study, name: str) -> Cell:
    """Find the cell `paper/item/row/column[/metric][@protocol]`.

    Args:
        study: the study.
        name: the name of the cell.

    Raises:
        BadInput: if the cell does not exist; the message contains the nearest name.
    """
    cells: dict[str, Cell] = {}
    for cell in study.cells[study.item(item_of(name)).id]:
        cells.setdefault(cell.id.short, cell)
        cells[str(cell.id)] = cell
    found = cells.get(name.removesuffix(f"@{AS_DESCRIBED}"))
    if found is None:
        raise BadInput(f'cell "{name}" does not exist{nearest(name, cells)}')
    return found


def cell_story(
    cell: Cell,
    result: ItemResult,
    measurements: Measurements,
    claims: Sequence[JudgedClaim],
    findings: Sequence[Finding],
    others: Sequence[SourceResult] = (),
) -> dict[str, list[str]]:
    """Return the evidence for a cell as a dict from heading to lines of text.

    Headings without lines are skipped.

    Args:
        cell: the cell.
        result: the result of its item.
        measurements: the measurements of the study.
        claims: the judged claims.
        findings: the findings of the audit.
        others: others' measurements of the cell. Default: no measurements.
    """
    study, ours = measurements.study, _cell_result(cell, result)
    is_record = isinstance(measurements, RecordMeasurements)
    whose = "others" if is_record else "our runs"
    story = {
        "cell": [f"{cell.item.id} · {cell.row.label} · {cell.column.label}", *_protocol(study, cell, result)],
        "scale": [result.standing],
        "printed": list(_printed(study, cell)),
        "read": [*_read(cell), *_sets_read(cell, measurements)],
        "seeds": _seeds(cell, ours),
        "reproduced": list(_reproduced(ours, result.caveat)),
        "verdict": [_verdict(ours)],
        "others": list(others_lines(others)),
        "power": [],
        "variants": list(variant_lines(study, cell, result)),
        "claims": list(_claim_lines(cell, claims, whose)),
        "audit": list(_finding_lines(cell, findings)),
        "recipe": [],
        "run": [],
        "made": _made(ours),
        "files": [],
    }
    if cell.protocol == AS_DESCRIBED:
        story["power"] = power_lines(study, cell, ours)
    if not is_record:
        if _is_as_planned(cell, ours):
            story["recipe"] = list(recipe_lines(study, cell))
        story["run"] = _runs(study, cell, ours)
        story["files"] = _files(cell, measurements)
    return {heading: list(dict.fromkeys(lines)) for heading, lines in story.items() if lines}


def _claim_lines(cell: Cell, claims: Sequence[JudgedClaim], whose: str) -> Iterator[str]:
    for claim in claims:
        if _has_name(claim.cells, cell):
            yield f"{claim.claim}: paper's numbers {claim.reported}, {whose} {claim.ours}"


def _finding_lines(cell: Cell, findings: Sequence[Finding]) -> Iterator[str]:
    for finding in findings:
        if _has_name(finding.cells, cell):
            yield f"{finding.printed}; {finding.follows} ({finding.certainty})"


def _verdict(ours: CellResult) -> str:
    verdict = "; ".join(filter(None, [ours.verdict or "none", ours.best_of_ten]))
    return f"{verdict}: {ours.reason}".removesuffix(": ")


def cell_facts(
    cell: Cell,
    result: ItemResult,
    measurements: Measurements,
    claims: Sequence[JudgedClaim],
    findings: Sequence[Finding],
    others: Sequence[SourceResult] = (),
) -> dict[str, Any]:
    """Return the evidence for a cell as a dict for JSON.

    See `cell_story` for the arguments.
    """
    study, ours = measurements.study, _cell_result(cell, result)
    runs = {}
    if _is_as_planned(cell, ours):
        for run in sorted(study.trained_runs([cell])):
            runs[run] = study.runs[run].canonical()
    printed = []
    for paper, reported in _printed_numbers(study, cell):
        number = reported.number.value if reported.number else None
        printed.append({"paper": paper, "number": number, **reported.model_dump(mode="json")})
    named_claims, named_findings = [], []
    for claim in claims:
        if _has_name(claim.cells, cell):
            named_claims.append(claim.facts())
    for finding in findings:
        if _has_name(finding.cells, cell):
            named_findings.append(asdict(finding))
    return {
        "cell": str(cell.id.described),
        "protocol": cell.protocol,
        "scale": result.scale,
        "comparable": result.comparable,
        "printed": printed,
        "result": ours.model_dump(mode="json", exclude={"reported", "subtracted"}),
        "variants": list(map(Explained.line, explained_variants(study, cell, result))),
        "claims": named_claims,
        "others": others_facts(others),
        "audit": named_findings,
        "runs": runs,
        "files": _files(cell, measurements),
    }


def _cell_result(cell: Cell, result: ItemResult) -> CellResult:
    cells = result.by_id
    if cell.id not in cells:
        raise BadInput(
            f"{cell.id.described}: the result of {result.item} does not contain it; run the item again"
        )
    return cells[cell.id]


def _files(cell: Cell, measurements: Measurements) -> list[str]:
    """Return the evaluation files of a cell.

    For a committed study, this is the file of the item.
    """
    paths = measurements.paths
    if paths.kept:
        return [paths.item(cell.item.id)]
    files = []
    for operand in cell.operands or (cell,):
        if operand.encoders:
            files.append(paths.evaluation(operand.encoders[0], file_of(operand.metric_path)))
    return files


def _has_name(cells: Sequence[str], cell: Cell) -> bool:
    """Return whether a list of ids contains a cell.

    Ids can be without metric, and the protocol is ignored.
    """
    name = cell.id.described
    return str(name) in cells or name.short in cells


def _protocol(study: Study, cell: Cell, result: ItemResult) -> Iterator[str]:
    for protocol in study.papers[cell.item.paper].protocols:
        if protocol.id == cell.protocol:
            yield f"under {protocol.id}: {protocol.title}. {protocol.evidence}"
    row = next(row for row in result.rows if row.id == cell.row.id)
    if merged := result.rows_with_same_runs(row):
        yield f"at scale {result.scale}, the same runs as {', '.join(merged)}"


def _printed(study: Study, cell: Cell) -> Iterator[str]:
    if not cell.reported:
        yield "not printed by the paper"
    for paper, reported in _printed_numbers(study, cell):
        yield _as_printed(reported, "" if paper == cell.item.paper else paper)


def _printed_numbers(study: Study, cell: Cell) -> Iterator[tuple[str, Reported]]:
    """Yield the printed numbers of a cell and the counterpart."""
    if cell.reported:
        yield cell.item.paper, cell.reported
    other = counterparts(study.papers).get(cell.id.described)
    if other is None:
        return
    printed = printed_in(study.papers, other)
    if printed is not None:
        yield other.paper, printed


def _as_printed(reported: Reported, paper: str = "") -> str:
    """Return a printed value with place and statistic.

    The default is for the cell's own paper, which is not named.
    """
    details = [paper, reported.source]
    if reported.statistic != "single":
        details.append(f"{reported.statistic} of {reported.seeds} runs")
    if reported.sd is not None:
        details.append(f"standard deviation {reported.sd:g} over {reported.seeds} runs")
    return f"{reported.value}  ({', '.join(filter(None, details))})"


def _sets_read(cell: Cell, measurements: Measurements) -> Iterator[str]:
    """Yield the files of the user's datasets that a cell was evaluated on."""
    for each in cell.operands or (cell,):
        suite, name, *_ = [*each.metric_path.split("/"), ""]
        if suite == "sets" and each.encoders:
            encoder = each.encoders[0]
            file = measurements.at(encoder, f"sets/{name}/file").value
            if file:
                rows = measurements.at(encoder, f"sets/{name}/n").value
                digest = measurements.at(encoder, f"sets/{name}/sha256").value
                yield f"{name}: {file}, {rows} rows, sha256 {digest[:12]}"


def _read(cell: Cell) -> list[str]:
    """Return the metric of a cell, with statistics over jobs and seeds."""
    over = cell.column.over
    parts = [cell.metric_path]
    if cell.column.kind == "derived":
        parts = [cell.column.formula]
        for name, operand in zip(cell.column.parsed.names, cell.operands, strict=False):
            parts.append(f"{name} is {operand.metric_path}")
    if cell.subtracted:
        parts.append(f"minus the printed {cell.subtracted.value}")
    if over and over.jobs:
        shown = f" of {over.jobs.shows}" if over.jobs.shows else ""
        count = len(cell.jobs[0]) if cell.jobs else 0
        parts.append(f"{over.jobs.name}{shown} over {count} jobs")
    if over and over.seeds.statistic != "mean":
        parts.append(f"{over.seeds.name} over seeds")
    if not parts[0]:
        return []
    return [", ".join(parts)]


def _seeds(cell: Cell, ours: CellResult) -> list[str]:
    """Return a line with value and encoder for each of the first seeds."""
    if not ours.encoders and cell.row.quoted:
        return ["quoted by the paper from elsewhere; not re-run"]
    if not ours.encoders:
        return [ours.reason]
    missing = "no value" if ours.failure else "not run"
    lines = []
    for each in ours.values[:SHOWN_SEEDS]:
        shown = each.value or missing
        if isinstance(each.value, float):
            shown = f"{each.value:{_digits(each.value)}}"
        seed = "" if each.seed is None else f"seed {each.seed}, "
        encoder = each.encoder or f"{seed}{len(ours.encoders)} encoders"
        lines.append(f"{shown}  {encoder}")
    rest = len(ours.values) - SHOWN_SEEDS
    if rest > 0:
        lines.append(f"and {rest} more")
    return lines


def _digits(value: float, decimals: int = 4) -> str:
    """Return the format of a number.

    The default is four decimals. If they would show fewer than two digits, three digits are used.
    """
    if 0 < abs(value) < 10 ** (1 - decimals):
        return ".3g"
    return f".{decimals}f"


def _reproduced(ours: CellResult, caveat: str) -> Iterator[str]:
    """Yield our number with the printed difference and the intervals."""
    if ours.reproduced is None:
        yield ours.text or "not available yet"
        return
    digits, bounds = _digits(ours.reproduced), _digits(ours.reproduced, 2)
    line = f"{ours.reproduced:{digits}}"
    if ours.delta is not None:
        line += f", {ours.delta:+{digits}} from the printed number"
        if caveat:
            line += f" ({caveat})"
    yield line
    if ours.few:
        each = ", ".join(f"{value:{digits}}" for value in ours.few)
        yield f"{len(ours.few)} seeds are too few for an interval: {{{each}}}"
    if ours.low is not None:
        expected = f"{ours.low:{bounds}} to {ours.high:{bounds}}"
        if not ours.seedless:
            basis = " (a published spread)" if ours.borrowed else ""
            yield f"95% prediction interval{_interval_of(ours.reported)}: {expected}{basis}"
        elif ours.reported:
            yield f"no random seed: the printed number is expected in {expected}, because of rounding"
    if ours.pairs_low is not None:
        yield f"other test pairs would give {ours.pairs_low:.2f} to {ours.pairs_high:.2f}"


def _interval_of(reported: Reported | None) -> str:
    """Describe the statistic of a prediction interval; empty for a single run."""
    if reported is None or reported.statistic == "single":
        return ""
    return f" of the {reported.statistic} of {reported.seeds} more runs"


def _plain_text(value: Any) -> str:
    """Describe a setting of a run, without quotes and braces.

    The keys of a dict are before their values.
    """
    if isinstance(value, dict):
        return ", ".join(f"{key} {_plain_text(part)}" for key, part in value.items())
    if isinstance(value, list | tuple):
        return "; ".join(map(_plain_text, value))
    if isinstance(value, str):
        return value
    return json.dumps(value)


def _is_as_planned(cell: Cell, ours: CellResult) -> bool:
    """Return whether a cell has the encoders that are planned now.

    A committed study may have other encoders.
    """
    return set(ours.encoders) == set(cell.encoders)


def _runs(study: Study, cell: Cell, ours: CellResult) -> list[str]:
    """Describe the run of the first seed, and the runs it starts from."""
    if not _is_as_planned(cell, ours):
        runs = dict.fromkeys(each.run for each in ours.values if each.run)
        made = ", ".join(runs) or "other encoders"
        planned = ", ".join(cell.encoders) or "nothing"
        return [f"{made}: from an earlier version; this version would run {planned}"]
    if not cell.encoders:
        return []
    run = study.encoders[cell.encoders[0]].source.run
    if run is None:
        return ["not trained"]
    spec = study.runs[run]
    lines = [study.paths.run(run)]
    for key, value in spec.canonical().items():
        lines.append(f"{key}: {_plain_text(value)}")
    while spec.init.run:
        lines.append(f"starts from {study.paths.run(spec.init.run)}")
        spec = study.runs[spec.init.run]
    return lines


def _made(ours: CellResult) -> list[str]:
    """Return the precision and the machines of a cell."""
    lines = [ours.precision]
    if len(ours.machines) > 1:
        lines.append(f"numbers from {name_count(ours.machines)}:")
    return list(filter(None, [*lines, *map(str, ours.machines)]))
