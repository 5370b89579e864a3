"""Judgement of the cells of the record by source.

The effect of another setting is computed within a source.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from replicse.compile.record_study import RECORD, RELEASED, SourceCell
from replicse.judge.statistics.intervals import mean_and_spread, paired_difference
from replicse.judge.statistics.multiplicity import adjust_verdicts
from replicse.judge.values.measurements import Measurements
from replicse.judge.values.record_measurements import (
    RecordMeasurements,
    difference_text,
    load_record_measurements,
)
from replicse.judge.verdicts.cells import cell_result
from replicse.judge.verdicts.others import Others, SettingEffect, SourceResult
from replicse.judge.verdicts.table import CellResult, ItemResult
from replicse.judge.verdicts.tabulate import item_result
from replicse.registry.levels import FEWEST_SEEDS, LEVEL
from replicse.spec.cell_id import CellId
from replicse.spec.papers import load_papers


def record_results(
    measurements: RecordMeasurements, items: Iterable[str], only: Collection[CellId] | None = None
) -> list[ItemResult]:
    """Judge some items on the numbers of the record.

    Each cell uses the source with the most seeds in the printed setting. The rows of an item use different sources, so
    the item has no baseline.

    Args:
        measurements: the measurements of the record.
        items: the ids `paper/item`; items that are not in the record are skipped.
        only: the cells to judge. Default: all cells.
    """
    known = measurements.study.items
    results = []
    for name in items:
        if name in known:
            result = item_result(measurements.plan_item(known[name]), measurements, only)
            results.append(result.model_copy(update={"kept": RECORD, "baseline": ""}))
    return results


def adjusted_results(measurements: RecordMeasurements, items: Iterable[str]) -> list[ItemResult]:
    """Judge some items, with verdicts adjusted among all items of a paper.

    Args:
        measurements: the measurements of the record.
        items: the ids `paper/item`.
    """
    wanted = list(items)
    papers = {name.partition("/")[0] for name in wanted}
    beside = [name for name in measurements.study.items if name.partition("/")[0] in papers]
    every = adjust_verdicts(record_results(measurements, beside))
    return [result for result in every if result.item in wanted]


def others_of(measurements: RecordMeasurements, item: str, decided: ItemResult | None = None) -> Others:
    """Return the measurements of all sources for an item, by cell id.

    The ids are of cells under the protocol `as-described`.

    Args:
        measurements: the measurements of the record.
        item: the id `paper/item`.
        decided: the adjusted result of the item, with the verdicts of the deciding sources. Default: verdicts are not
            adjusted.
    """
    others: Others = {}
    verdicts = {}
    if decided:
        verdicts = {str(name): cell for name, cell in decided.by_id.items()}
    for name, found in measurements.record.sources.items():
        if found[0].cell.item.id == item:
            results = source_results(measurements, found, verdicts.get(name))
            key = str(found[0].cell.id.described)
            others[key] = (*others.get(key, ()), *results)
    return others


def others_in(measurements: Measurements, result: ItemResult, is_controlled: bool = False) -> Others:
    """Return others' measurements for the cells of an item of any study.

    Args:
        measurements: the measurements of the study.
        result: the result of the item.
        is_controlled: whether to adjust verdicts within the paper, which needs all of its items. Default: False.
    """
    if isinstance(measurements, RecordMeasurements):
        return others_of(measurements, result.item, result)
    study = measurements.study
    record = load_record_measurements(study.workflow, study.papers, [result.paper])
    decided = adjusted_results(record, [result.item]) if is_controlled else []
    return others_of(record, result.item, *decided)


def others_by_item(workflow: Path, results: Sequence[ItemResult]) -> dict[str, Others]:
    """Return others' measurements for some items of any study, by item.

    Args:
        workflow: the folder of papers and scales, which contains the folder `record`.
        results: the results of the items.

    Returns:
        Dict from item to measurements; empty if there is no record.
    """
    papers = load_papers(workflow)
    record = load_record_measurements(workflow, papers, {result.paper for result in results})
    decided = {result.item: result for result in adjusted_results(record, record.study.items)}
    others = {}
    for result in results:
        if result.item in decided:
            others[result.item] = others_of(record, result.item, decided[result.item])
    return others


def source_results(
    measurements: RecordMeasurements, found: Sequence[SourceCell], decided: CellResult | None = None
) -> list[SourceResult]:
    """Judge a cell on each source, the deciding source first.

    Args:
        measurements: the measurements of the record.
        found: the cell in each source.
        decided: the result of the cell with an adjusted verdict. Default: verdicts are not adjusted.
    """
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
    values, seeds, links, numbers = [], [], [], []
    for reading in measured.readings[: len(measured.cell.jobs)]:
        values.append(reading.value)
        seeds.append(reading.seed)
        links.append(source.link(reading.place))
        numbers.append(reading.number.value)
    mean, sd = mean_and_spread(numbers)
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
        values=tuple(values),
        seeds=tuple(seeds),
        links=tuple(links),
        mean=mean,
        sd=sd,
        low=judged.low,
        high=judged.high,
        verdict=judged.verdict,
        borrowed=judged.borrowed,
        reason=judged.reason,
    )


def _effect(measured: SourceCell, found: Sequence[SourceCell]) -> SettingEffect | None:
    """Return the effect of a setting against the printed setting.

    Returns None for the printed setting, and if the source did not measure it.
    """
    if measured.setting.is_printed:
        return None
    for each in found:
        if each.source_name == measured.source_name and each.setting.is_printed:
            return setting_effect(each, measured)
    return None


def setting_effect(base: SourceCell, changed: SourceCell) -> SettingEffect:
    """Compute the difference between two settings of a source.

    Values are paired if the seeds are equal; otherwise, means are compared.

    Args:
        base: the cell in the setting to compare with.
        changed: the cell in the other setting.
    """
    ours, theirs = _by_seed(changed), _by_seed(base)
    values, base_values = list(ours.values()), list(theirs.values())
    if ours.keys() == theirs.keys() and None not in (*changed.cell.seeds, *base.cell.seeds):
        paired = paired_difference(values, [theirs[seed] for seed in ours])
        assert paired is not None
        return SettingEffect(paired.mean, paired.low, paired.high, paired.n, paired.n, is_paired=True)
    mean, low, high = welch_interval(values, base_values)
    return SettingEffect(mean, low, high, len(values), len(base_values), is_paired=False)


def _by_seed(measured: SourceCell) -> Mapping[int, float]:
    """Return the values of a source cell by seed.

    If seeds are not stated, the keys are 0, 1, 2, ...
    """
    counted = measured.readings[: len(measured.cell.jobs)]
    are_stated = all(reading.seed is not None for reading in counted)
    values = {}
    for place, reading in enumerate(counted):
        key = reading.seed if are_stated and reading.seed is not None else place
        values[key] = reading.number.value
    return values


def welch_interval(
    values: Sequence[float], base: Sequence[float]
) -> tuple[float, float | None, float | None]:
    """Compute the difference of two means with Welch's 95% interval.

    Args:
        values: list of numbers.
        base: list of numbers; their mean is subtracted.

    Returns:
        The difference and its bounds. The bounds are None for fewer than three values on a side, or if all values of a
        side are equal.
    """
    (mean, sd), (base_mean, base_sd) = mean_and_spread(values), mean_and_spread(base)
    difference = mean - base_mean
    if min(len(values), len(base)) < FEWEST_SEEDS or not sd or not base_sd:
        return difference, None, None
    from scipy.special import stdtrit

    variance, base_variance = sd**2 / len(values), base_sd**2 / len(base)
    total = variance + base_variance
    degrees = total**2 / (variance**2 / (len(values) - 1) + base_variance**2 / (len(base) - 1))
    half = float(stdtrit(degrees, (1 + LEVEL) / 2)) * math.sqrt(total)
    return difference, difference - half, difference + half
