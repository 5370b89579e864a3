"""The cells of the record judged: a verdict by source, and what another setting changes in the same source."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from replicse.compile.record_study import RECORD, RELEASED, SourceCell
from replicse.judge.cells import cell_result
from replicse.judge.measurements import Measurements
from replicse.judge.multiplicity import controlled
from replicse.judge.others import Others, SettingEffect, SourceResult
from replicse.judge.record_measurements import (
    RecordMeasurements,
    difference_text,
    load_record_measurements,
)
from replicse.judge.statistics import mean_and_spread, paired_difference
from replicse.judge.table import CellResult, ItemResult
from replicse.judge.tabulate import item_result
from replicse.registry.levels import FEWEST_SEEDS, LEVEL
from replicse.spec.cell_id import CellId
from replicse.spec.papers import load_papers


def record_results(
    measurements: RecordMeasurements, items: Iterable[str], only: Collection[CellId] | None = None
) -> list[ItemResult]:
    """Return the results of some items: each cell as the source with most seeds in the printed setting measured it.

    Rows come from different sources, so they have no baseline.
    """
    study = measurements.study
    known = [study.items[name] for name in items if name in study.items]
    results = (item_result(measurements.plan_item(item), measurements, only) for item in known)
    return [result.model_copy(update={"kept": RECORD, "baseline": ""}) for result in results]


def controlled_results(measurements: RecordMeasurements, items: Iterable[str]) -> list[ItemResult]:
    """Return the results of some items, their verdicts controlled among all items of their papers."""
    wanted = list(items)
    papers = {name.partition("/")[0] for name in wanted}
    beside = [name for name in measurements.study.items if name.partition("/")[0] in papers]
    every = controlled(record_results(measurements, beside))
    return [result for result in every if result.item in wanted]


def others_of(measurements: RecordMeasurements, item: str, decided: ItemResult | None = None) -> Others:
    """Return what every source measured of the cells of an item, by the name of the cell as its paper describes it.

    Args:
        measurements: The measurements of the record.
        item: The item, as `paper/item`.
        decided: The controlled result of the item, which the verdict of the deciding source is taken from.
    """
    others: Others = {}
    verdicts = {str(name): cell for name, cell in decided.by_id.items()} if decided else {}
    for name, found in measurements.record.sources.items():
        if found[0].cell.item.id == item:
            results = source_results(measurements, found, verdicts.get(name))
            key = str(found[0].cell.id.described)
            others[key] = (*others.get(key, ()), *results)
    return others


def others_in(measurements: Measurements, result: ItemResult, is_controlled: bool = False) -> Others:
    """Return what others measured of the cells of an item of any study.

    `is_controlled` says that verdicts are adjusted for their number in the paper, which takes all items of it.
    """
    if isinstance(measurements, RecordMeasurements):
        return others_of(measurements, result.item, result)
    study = measurements.study
    record = load_record_measurements(study.workflow, study.papers, [result.paper])
    decided = controlled_results(record, [result.item]) if is_controlled else []
    return others_of(record, result.item, *decided)


def others_by_item(workflow: Path, results: Sequence[ItemResult]) -> dict[str, Others]:
    """Return what others measured of some items of any study, by item; nothing when there is no record."""
    papers = load_papers(workflow)
    record = load_record_measurements(workflow, papers, {result.paper for result in results})
    decided = {result.item: result for result in controlled_results(record, record.study.items)}
    return {
        result.item: others_of(record, result.item, decided[result.item])
        for result in results
        if result.item in decided
    }


def source_results(
    measurements: RecordMeasurements, found: Sequence[SourceCell], decided: CellResult | None = None
) -> list[SourceResult]:
    """Return what each source measured of a cell, the deciding one first."""
    results = []
    for place, each in enumerate(found):
        judged = cell_result(each.cell, measurements.plan_cell(each.cell), measurements)
        decides = place == 0 and each.setting.is_printed
        if decides and decided is not None:
            judged = decided
        results.append(replace(_source_result(each, judged), effect=_effect(each, found), decides=decides))
    return results


def _source_result(measured: SourceCell, judged: CellResult) -> SourceResult:
    source = measured.source
    counted = measured.readings[: len(measured.cell.jobs)]
    mean, sd = mean_and_spread([reading.number.value for reading in counted])
    return SourceResult(
        source=measured.source_name,
        cited=source.repository or source.thread or measured.source_name,
        who=source.who,
        year=source.year,
        url=source.url,
        code=source.code,
        setting=measured.setting_name,
        difference=difference_text(measured),
        trained=measured.trained,
        released=measured.cell.protocol == RELEASED,
        values=tuple(reading.value for reading in counted),
        seeds=tuple(reading.seed for reading in counted),
        links=tuple(source.link(reading.place) for reading in counted),
        mean=mean,
        sd=sd,
        low=judged.low,
        high=judged.high,
        verdict=judged.verdict,
        borrowed=judged.borrowed,
        reason=judged.reason,
    )


def _effect(measured: SourceCell, found: Sequence[SourceCell]) -> SettingEffect | None:
    """Return what a setting changes against the printed setting in the same source; None when the source lacks one."""
    same = (each for each in found if each.source_name == measured.source_name and each.setting.is_printed)
    base = next(same, None)
    return None if base is None or measured.setting.is_printed else setting_effect(base, measured)


def setting_effect(base: SourceCell, changed: SourceCell) -> SettingEffect:
    """Return the difference of two settings of one source: paired by seed when the seeds are equal, else of means."""
    ours, theirs = (_by_seed(each) for each in (changed, base))
    values, base_values = list(ours.values()), list(theirs.values())
    if ours.keys() == theirs.keys() and None not in (*changed.cell.seeds, *base.cell.seeds):
        paired = paired_difference(values, [theirs[seed] for seed in ours])
        assert paired is not None
        return SettingEffect(paired.mean, paired.low, paired.high, paired.n, paired.n, is_paired=True)
    mean, low, high = welch_interval(values, base_values)
    return SettingEffect(mean, low, high, len(values), len(base_values), is_paired=False)


def _by_seed(measured: SourceCell) -> Mapping[int, float]:
    """Return the values of a source cell by seed, by place when seeds are not stated."""
    counted = measured.readings[: len(measured.cell.jobs)]
    stated = all(reading.seed is not None for reading in counted)
    return {
        (reading.seed if stated and reading.seed is not None else place): reading.number.value
        for place, reading in enumerate(counted)
    }


def welch_interval(
    values: Sequence[float], base: Sequence[float]
) -> tuple[float, float | None, float | None]:
    """Return the difference of two means with Welch's 95% interval; None bounds below three values on a side."""
    (mean, sd), (base_mean, base_sd) = mean_and_spread(values), mean_and_spread(base)
    difference = mean - base_mean
    if min(len(values), len(base)) < FEWEST_SEEDS or not sd or not base_sd:
        return difference, None, None
    from scipy.special import stdtrit

    shares = sd**2 / len(values), base_sd**2 / len(base)
    degrees = sum(shares) ** 2 / sum(
        share**2 / (len(side) - 1) for share, side in zip(shares, (values, base), strict=True)
    )
    half = float(stdtrit(degrees, (1 + LEVEL) / 2)) * math.sqrt(sum(shares))
    return difference, difference - half, difference + half
