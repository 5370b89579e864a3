"""The story of one cell: where it is printed, what stands behind ours, and what is known of the gap."""

import json
from collections.abc import Iterator, Mapping, Sequence

from replicse.errors import BadInput, nearest
from replicse.study.judge.adjudicate import adjudicate
from replicse.study.judge.audit import Finding
from replicse.study.paper.protocols import AS_DESCRIBED
from replicse.study.plan.counterparts import cell_key, counterparts
from replicse.study.plan.plan import Cell, Plan
from replicse.study.results.manifest import manifest_of
from replicse.study.results.pairs import difference_over_pairs
from replicse.study.results.tabulate import Evaluations, tabulate

SHOWN_SEEDS = 5


def find_cell(plan: Plan, name: str) -> Cell:
    """Return the cell `paper/item/row/column[/metric][@protocol]`; BadInput names the nearest one."""
    place = name.partition("@")[0]
    parts = place.split("/")
    if len(parts) not in (4, 5):
        raise BadInput(
            f'cell "{name}": expected paper/item/row/column, for example simcse/table3/p0.1/stsb-dev'
        )
    known: dict[str, Cell] = {}
    for cell in plan.cells[plan.item("/".join(parts[:2])).id]:
        key = "/".join(cell_key(cell))
        behind = "" if cell.protocol == AS_DESCRIBED else f"@{cell.protocol}"
        known.setdefault(key.rpartition("/")[0] + behind, cell)
        known[key + behind] = cell
    if name not in known:
        raise BadInput(f'no cell "{name}"{nearest(name, known)}')
    return known[name]


def cell_story(
    plan: Plan,
    cell: Cell,
    evaluations: Evaluations,
    claims: Sequence[Mapping[str, str]],
    findings: Sequence[Finding],
) -> dict[str, list[str]]:
    """Return everything that stands behind one cell as lines of text by heading; empty headings are left out."""
    record = next(
        entry
        for entry in tabulate(manifest_of(plan, cell.item), evaluations)
        if (entry["row"], entry["column"], entry["metric"], entry["protocol"])
        == (*cell_key(cell)[1:], cell.protocol)
    )
    name = "/".join(cell_key(cell))
    story = {
        "cell": [f"{cell.item.id} · {cell.row.label} · {cell.column.label}", *_protocol(plan, cell)],
        "printed": _printed(plan, cell),
        "read": [cell.read + (f", minus the printed {cell.minus.value}" if cell.minus else "")],
        "seeds": _seeds(cell, evaluations),
        "reproduced": _reproduced(record),
        "verdict": [f"{record['verdict'] or 'none'}: {record['reason']}".removesuffix(": ")],
        "baseline": _against_baseline(plan, cell, evaluations),
        "variants": _variants(plan, cell, evaluations),
        "claims": [
            f"{row['claim']}: in print {row['reported']}, ours {row['ours']}"
            for row in claims
            if _names(row["cells"].split("; "), name)
        ],
        "audit": [
            f"{finding.printed}; {finding.follows} ({finding.certainty})"
            for finding in findings
            if _names(finding.cells, name)
        ],
        "run": _runs(plan, cell),
        "files": [plan.paths.encoder(encoder, "evaluation") for encoder in cell.encoders[:1]],
    }
    return {heading: lines for heading, lines in story.items() if lines}


def _names(cells: Sequence[str], name: str) -> bool:
    """Return whether a list of names, each with or without its metric, holds a cell."""
    return name in cells or name.rpartition("/")[0] in cells


def _protocol(plan: Plan, cell: Cell) -> Iterator[str]:
    for protocol in plan.papers[cell.item.paper].protocols:
        if protocol.id == cell.protocol:
            yield f"under {protocol.id}: {protocol.title}. {protocol.evidence}"


def _printed(plan: Plan, cell: Cell) -> list[str]:
    lines = [f"{cell.reported.value}  ({cell.reported.source})" if cell.reported else "no number is printed"]
    other = counterparts(plan.papers).get(cell_key(cell))
    if other:
        paper, _, item = other[0].partition("/")
        printed = plan.papers[paper].reported.get((item, *other[1:]))
        lines += [f"{printed.value}  ({paper}, {printed.source})"] if printed else []
    return lines


def _seeds(cell: Cell, evaluations: Evaluations) -> list[str]:
    if not cell.encoders:
        return ["quoted by the paper from elsewhere; not re-run" if cell.row.quoted else "nothing to run"]
    lines = []
    for encoder in cell.encoders[:SHOWN_SEEDS]:
        value, failure = evaluations.value(encoder, cell.read)
        shown = value if isinstance(value, str) else "not run" if value is None else f"{value:.4f}"
        lines.append(f"{failure or shown}  {encoder}")
    rest = len(cell.encoders) - SHOWN_SEEDS
    return [*lines, f"and {rest} more"] if rest > 0 else lines


def _reproduced(record: Mapping[str, str]) -> list[str]:
    if record["metric"] == "text" or not record["reproduced"]:
        return [record["reproduced"] or "nothing yet"]
    lines = [f"{float(record['reproduced']):.4f}"]
    if record["delta"]:
        lines[0] += f", {float(record['delta']):+.4f} to the printed number"
    if record["low"]:
        basis = " (a published spread)" if record["borrowed"] else ""
        lines.append(f"one more run is expected in {_span(record['low'], record['high'])}{basis}")
    if record["pairs_low"]:
        lines.append(f"other test pairs would give {_span(record['pairs_low'], record['pairs_high'])}")
    return lines


def _span(low: str, high: str) -> str:
    return f"{float(low):.2f} to {float(high):.2f}"


def _against_baseline(plan: Plan, cell: Cell, evaluations: Evaluations) -> list[str]:
    """Return the difference to the table's baseline row on the same test pairs, for the first seed."""
    base = next(
        (
            other
            for other in plan.cells[cell.item.id]
            if other.row.id == cell.item.baseline != cell.row.id
            and cell_key(other)[2:] == cell_key(cell)[2:]
            and other.protocol == AS_DESCRIBED
        ),
        None,
    )
    if base is None or not base.encoders or not cell.encoders:
        return []
    sides = [evaluations.pairs(side.encoders[0], side.read) for side in (cell, base)]
    found = difference_over_pairs(*sides) if all(sides) else None
    if found is None:
        return []
    span = f"{found.low:+.2f} to {found.high:+.2f} over the same test pairs"
    return [f"{found.value:+.2f} to row {base.row.id} with the first seed, {span}"]


def _variants(plan: Plan, cell: Cell, evaluations: Evaluations) -> list[str]:
    if (
        cell.protocol != AS_DESCRIBED
        or cell.column.minus
        or cell.column.choose
        or cell.column.metric == "text"
    ):
        return []
    lines = []
    for found in adjudicate(plan, cell.item.id, evaluations):
        if (found.row, found.column, found.metric) != cell_key(cell)[1:]:
            continue
        effect = "not run" if found.effect is None else f"{found.effect:+.2f}"
        effect += "" if found.low is None else f" [{found.low:+.2f}, {found.high:+.2f}]"
        share = (
            ""
            if found.share is None
            else f", {100 * found.share:.0f}% of the printed gap of {found.gap:+.2f}"
        )
        lines.append(f"{found.protocol}: {effect}{share}")
    return lines


def _runs(plan: Plan, cell: Cell) -> list[str]:
    """Return the spec of the first seed's run, and the names of the runs it starts from."""
    source = plan.encoders[cell.encoders[0]].source if cell.encoders else {}
    if "run" not in source:
        return ["no training"] if cell.encoders else []
    spec = plan.runs[source["run"]]
    lines = [plan.paths.run(source["run"])]
    lines += [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in spec.canonical().items()]
    while "run" in spec.init:
        lines.append(f"starts from {plan.paths.run(spec.init['run'])}")
        spec = plan.runs[spec.init["run"]]
    return lines
