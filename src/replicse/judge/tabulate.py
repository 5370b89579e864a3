"""Tabulate: from the plan of an item and the evaluations of its encoders to its result, and its rows as CSV."""

import math
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from replicse.compile.remarks import cut_searches
from replicse.compile.study import Cell, Study, item_curve, kept_checkpoint
from replicse.judge.crossed import crossed_notes
from replicse.judge.machines import distinct, mixture, recorded
from replicse.judge.measurements import Measurements
from replicse.judge.statistics import mean_and_spread
from replicse.judge.table import CellResult, ColumnHead, ItemResult, RowHead, SeedValue
from replicse.judge.values import Values, values
from replicse.judge.verdict import MEAN, judge
from replicse.registry.digests import digest
from replicse.spec.cell_id import AS_DESCRIBED, CellId
from replicse.spec.columns import TEXT, AnyColumn, StepScore
from replicse.spec.printed import Spread
from replicse.spec.protocols import AS_RUN, ON_BACKBONE
from replicse.spec.settings import setting_difference
from replicse.spec.tables import OWN, Item

CONTRACT = (
    "row", "column", "metric", "protocol", "reported", "reproduced", "delta", "low", "high", "n_seeds", "verdict",
    "encoders",
)  # fmt: skip
FIELDS = (*CONTRACT, "borrowed", "reason", "pairs_low", "pairs_high", "p")
TIDY = (
    "paper", "item", "row", "column", "protocol", "seed", "metric", "value", "encoder", "run",
    "group", "machine", "package", "reported", "published_sd",
)  # fmt: skip
DIGITS = 12


def item_result(item: Item, measurements: Measurements, only: Collection[CellId] | None = None) -> ItemResult:
    """Return everything that is known of an item: its heads, and a judged cell per row, protocol and column.

    Of the cells, `only` some where the others are not asked for.
    """
    # The protocols of a row stand by name, so that adjudicating one more item moves no other line.
    plan = measurements.study
    order = {row.id: place for place, row in enumerate(item.rows)}
    wanted = (cell for cell in plan.cells[item.id] if only is None or cell.id in only)
    cells = sorted(wanted, key=lambda cell: (order[cell.row.id], cell.protocol))
    merged = _merged_rows(plan, item)
    result = ItemResult(
        item=item.id,
        paper=item.paper,
        scale=plan.scale.name,
        comparable=plan.scale.comparable,
        kind=item.kind,
        figure=item.figure,
        title=item.title,
        place=item.place,
        setting={key: str(entry) for key, entry in item.setting.plain().items()},
        baseline=item.baseline,
        columns=tuple(_head(item, column) for column in item.columns),
        rows=tuple(
            RowHead(
                id=row.id,
                label=row.label or row.id,
                group=row.group,
                quoted=row.quoted,
                note=row.note,
                merged=merged.get(row.id, ()),
            )
            for row in item.rows
        ),
        cells=tuple(cell_result(cell, measurements) for cell in cells),
        variants=_variant_titles(plan, item),
        notes=item.notes,
        deviations=plan.papers[item.paper].deviations.get(item.name, ""),
        curves=_curves(item, measurements) if item_curve(item) else {},
        config=digest(plan.config.bearing_on(item.id)),
    )
    cut = cut_searches(plan, item)
    # Scores on made-up sentences are not set beside print's.
    own = own_notes(result) if plan.source != "embedded" else ()
    searches = [f"{cut[0].upper()}{cut[1:]}."] if cut else []
    return result.model_copy(update={"notes": (*result.notes, *searches, *crossed_notes(result), *own)})


def own_notes(result: ItemResult) -> Iterator[str]:
    """Yield, for each row of a person's own, its average (or last number) less that of each printed row."""
    heads = [column for column in result.columns if column.kind in ("score", "derived")]
    head = next((column for column in heads if column.average), heads[-1] if heads else None)
    if head is None or not any(row.group == OWN for row in result.rows):
        return
    at = {
        cell.row: cell
        for cell in result.cells
        if (cell.column, cell.metric, cell.protocol) == (head.id, head.metric, AS_DESCRIBED)
    }
    prints = {
        result.row_names[row.id]: cell.reported.number.value
        for row in result.rows
        if (cell := at.get(row.id)) and row.group != OWN and cell.reported and cell.reported.number
    }
    for row in result.rows:
        ours = at[row.id].reproduced if row.group == OWN and row.id in at else None
        if ours is not None and prints:
            less = ", ".join(f"{ours - value:+.2f} {label}" for label, value in prints.items())
            yield f"{row.label} less the printed rows, {head.label}: {less}."


def _head(item: Item, column: AnyColumn) -> ColumnHead:
    path, over = column.metric_path, column.over
    suites = {other.metric_path.partition("/")[0] for other in item.columns if _is_average(other)}
    average = _is_average(column)
    return ColumnHead(
        id=column.id,
        label=column.label,
        metric=column.metric,
        kind=column.kind,
        metric_path=path,
        better=column.better,
        average=average,
        task=path.partition("/")[0] in suites and not average and column.kind == "score",
        step=(-1 if column.step is None else column.step) if isinstance(column, StepScore) else None,
        statistic=over.seeds.name if over else "mean",
        chosen=(over.jobs.shows or "") if over and over.jobs else "",
    )


def _is_average(column: AnyColumn) -> bool:
    """Return whether a column reads an average over tasks, and no difference of one."""
    return column.kind == "score" and column.metric_path.rpartition("/")[2].startswith("avg")


def _merged_rows(plan: Study, item: Item) -> dict[str, tuple[str, ...]]:
    """Return, for each row that reads nothing but what rows above it read, the ids of those rows."""
    read: dict[str, dict[CellId, tuple[Any, ...]]] = {}
    for cell in plan.described(item.id):
        if cell.jobs and cell.seeds != (None,):
            read.setdefault(cell.row.id, {})[cell.id.at("")] = (cell.jobs, cell.metric_path)
    merged = {}
    for place, (row, reading) in enumerate(read.items()):
        same = tuple(above for above in list(read)[:place] if read[above] == reading)
        if same:
            merged[row] = same
    return merged


def _variant_titles(plan: Study, item: Item) -> dict[str, str]:
    """Return the title of each protocol that was run only to adjudicate; those are not lines of the table."""
    run = {cell.protocol for cell in plan.cells[item.id]}
    titles = {
        protocol.id: protocol.title
        for protocol in plan.papers[item.paper].protocols
        if protocol.id in run and item.name not in protocol.in_table
    }
    crossed = {
        name: f"On the backbone of seed {name.removeprefix(ON_BACKBONE)}"
        for name in sorted(run)
        if name.startswith(ON_BACKBONE)
    }
    return titles | crossed | ({AS_RUN: "All of the released code"} if AS_RUN in run else {})


def _curves(item: Item, measurements: Measurements) -> dict[str, Any]:
    """Return what a spectrum or a density is drawn from: the first seed of each row, by label."""
    curves = {}
    for cell in measurements.study.described(item.id):
        label = cell.row.label or cell.row.id
        if label not in curves and cell.jobs:
            # A suite may stand under two names: SimCSE's figure is of all splits of STS-B, DiffCSE's of its test set.
            curve = measurements.at(cell.encoders[0], cell.metric_path.partition("/")[0]).value
            if curve is not None:
                curves[label] = dict(curve)
    return curves


def cell_result(cell: Cell, measurements: Measurements) -> CellResult:
    """Return one cell with its values per seed and its judgement."""
    plan = measurements.study
    ours = values(cell, measurements)
    runs = [plan.encoders[encoder].source.run or "" for encoder in cell.encoders]
    precision = ", ".join(sorted({plan.runs[run].precision for run in runs if run}))
    theirs = plan.printed_precision(cell.item.paper)
    if precision and theirs not in (None, precision):
        precision += f"; the paper: {theirs}"
    published = borrowed_spread(plan, cell)
    outcome = _outcome(cell, ours, measurements, published)
    records = measurements.records_behind(cell)
    machines = distinct(machine for record in records for machine in recorded(record))
    mixed = mixture(machines)
    if mixed:
        outcome["reason"] = "; ".join(filter(None, [outcome["reason"], mixed]))
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
        precision=precision,
        machines=tuple(machines),
        packages=tuple(sorted({str(record.get("package_sha256", ""))[:DIGITS] for record in records} - {""})),
        published_sd=published.sd if published else None,
        encoders=cell.encoders,
        **outcome,
    )


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
    why_not = why_not_comparable(measurements.study, cell)
    over = cell.column.over
    judgement = judge(
        [value for value in ours.per_seed if not isinstance(value, str)],
        cell.reported,
        planned=len(cell.seeds),
        comparable=not why_not,
        why_not=why_not,
        prior=None if ours.seedless else published,
        seedless=ours.seedless,
        failures=[ours.failure] if ours.failure else [],
        reducer=over.seeds if over else MEAN,
        better=cell.column.better,
    )
    pairs = _over_pairs(cell, measurements) if judgement.verdict != "failed" else {}
    return {**vars(judgement), **pairs}


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


def why_not_comparable(plan: Study, cell: Cell) -> str:
    """Return why a cell is not comparable with what is printed; blank where it is."""
    if not plan.scale.comparable:
        return f"the {plan.scale.name} scale is not the paper's setting"
    poolings = {plan.encoders[name].pooling for name in cell.encoders if name != "data"}
    return setting_difference(
        cell.item.setting, cell.metric_path, poolings.pop() if len(poolings) == 1 else None
    )


def borrowed_spread(plan: Study, cell: Cell) -> Spread | None:
    """Return the published spread of a cell whose runs were all trained in the setting it was measured in."""
    if (
        not plan.scale.comparable
        or cell.protocol != AS_DESCRIBED
        or cell.column.kind not in ("score", "difference")
    ):
        return None
    if cell.column.over.jobs is not None:
        return None
    spreads = {_published(plan, encoder, cell.metric_path) for encoder in cell.encoders}
    return spreads.pop() if len(spreads) == 1 else None


def _published(plan: Study, encoder: str, metric_path: str) -> Spread | None:
    spec = plan.encoders[encoder]
    spreads = plan.measured.get(spec.source.run or "", {})
    if metric_path not in spreads or spec.postprocess:
        return None
    run = plan.run_of(encoder)
    if run is None:
        return None
    as_trained = (spec.pooling, spec.checkpoint) == (run.pooling.test, kept_checkpoint(run))
    return spreads[metric_path] if as_trained else None


def _over_pairs(cell: Cell, measurements: Measurements) -> dict[str, float]:
    """Return the interval of a correlation over resampled test pairs, averaged over the seeds.

    There is none where the number is no correlation over all pairs of a task, or where one is missing.
    """
    column = cell.column
    if column.kind != "score" or column.over.jobs or column.over.seeds.statistic != "mean":
        return {}
    bounds = [measured.bounds for group in measurements.of(cell) for measured in group]
    if None in bounds:
        return {}
    low, high = (mean_and_spread(each)[0] for each in zip(*bounds, strict=True))
    return {"pairs_low": low, "pairs_high": high}


def table_rows(result: ItemResult) -> Iterator[dict[str, str]]:
    """Yield the rows of an item's CSV as text by field."""
    for cell in result.cells:
        is_text = cell.metric == TEXT
        untouched = not cell.encoders
        numbers = {
            name: _text(getattr(cell, name))
            for name in ("delta", "low", "high", "pairs_low", "pairs_high", "p")
        }
        yield {
            "row": cell.row,
            "column": cell.column,
            "metric": cell.metric,
            "protocol": cell.protocol,
            "reported": cell.reported.value if cell.reported else "",
            "reproduced": cell.text if is_text else _text(cell.reproduced),
            "n_seeds": "" if untouched else str(cell.n_seeds),
            "verdict": cell.verdict,
            "encoders": ";".join(cell.encoders),
            "borrowed": "yes" if cell.borrowed else "",
            "reason": cell.reason,
            **numbers,
        }


def tidy_rows(results: Sequence[ItemResult]) -> Iterator[dict[str, Any]]:
    """Yield a row for every value of every cell, as cells.csv holds them."""
    machines = distinct(machine for result in results for cell in result.cells for machine in cell.machines)
    for result in results:
        for cell in result.cells:
            for each in cell.values:
                yield {
                    "paper": result.paper,
                    "item": result.item.partition("/")[2],
                    "row": cell.row,
                    "column": cell.column,
                    "protocol": cell.protocol,
                    "seed": "" if each.seed is None else each.seed,
                    "metric": cell.metric_path,
                    "value": "" if each.value is None else each.value,
                    "encoder": each.encoder,
                    "run": each.run,
                    "group": each.group,
                    "machine": " | ".join(
                        dict.fromkeys(str(next(filter(made.fits, machines))) for made in cell.machines)
                    ),
                    "package": " | ".join(cell.packages),
                    "reported": cell.reported.value if cell.reported else "",
                    "published_sd": _text(cell.published_sd),
                }


def _text(value: float | None) -> str:
    return "" if value is None else repr(float(value))
