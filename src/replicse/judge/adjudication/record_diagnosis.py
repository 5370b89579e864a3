"""The record of a cell, for a diagnosis.

The record contains others' values of the cell, and the effect of a fact within a source.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, permutations
from typing import Any

from replicse.compile.record_study import SourceCell
from replicse.judge.adjudication.published import PublishedCell, SeedSpread
from replicse.judge.statistics.intervals import mean_and_spread
from replicse.judge.values.record_measurements import RecordMeasurements
from replicse.judge.verdicts.others import SettingEffect
from replicse.judge.verdicts.record_cells import setting_effect
from replicse.registry.levels import FEWEST_SEEDS
from replicse.spec.record_spreads import has_printed_hyperparameters

# More devices mean a larger batch, so a change of both counts as one difference.
TOGETHER = frozenset(("devices", "batch"))


@dataclass(frozen=True)
class Retrained:
    """The runs of others who trained the encoder of a cell again."""

    runs: int
    sources: tuple[str, ...]
    low: float
    high: float


@dataclass(frozen=True)
class FactEffect:
    """The effect of a fact in a source.

    Attributes:
        cell: the name of the cell.
        source: the source.
        facts: the name of the fact, or several names that change together.
        value: dict from these names to their other values.
        effect: the effect.
    """

    cell: str
    source: str
    facts: frozenset[str]
    value: Mapping[str, Any]
    effect: SettingEffect

    @property
    def text(self) -> str:
        """Return `-0.91 with pooling cls-head`."""
        values = ", ".join(f"{name} {value}" for name, value in self.value.items())
        interval = "" if self.effect.low is None else f" [{self.effect.low:+.2f}, {self.effect.high:+.2f}]"
        return f"{self.effect.mean:+.2f}{interval} with {values}"


@dataclass(frozen=True)
class RecordedCell:
    """The record of a cell: reruns and effects of facts.

    Attributes:
        printed: reruns in the printed setting; None if there are none.
        every: all reruns; None if there are none.
        effects: the effects of facts. Default: empty.
    """

    printed: Retrained | None
    every: Retrained | None
    effects: tuple[FactEffect, ...] = ()


def recorded_cell(measurements: RecordMeasurements, published: PublishedCell) -> RecordedCell:
    """Collect the record of a cell.

    Effects in the cell are before effects in other cells with the same metric.

    Args:
        measurements: the measurements of the record.
        published: the published numbers of the cell.
    """
    found = _trained(measurements, published)
    alike = {}
    for name, several in measurements.record.sources.items():
        is_same_metric = several[0].cell.metric_path == published.metric_path
        if is_same_metric and several[0].trained == (published.kind == "trained"):
            alike[name] = several
    # Cells with the same readings have the same effects, so only the first is kept.
    effects: dict[tuple[str, ...], FactEffect] = {}
    for name in sorted(alike, key=lambda name: not _is_of(name, published)):
        for encoders, effect in fact_effects(name, alike[name]):
            effects.setdefault(encoders, effect)
    printed = _summary([each for each in found if each.setting.is_printed])
    return RecordedCell(printed, _summary(found), tuple(effects.values()))


def add_record(published: PublishedCell, measurements: RecordMeasurements) -> PublishedCell:
    """Add the standard deviations and single reruns of the record to a cell.

    Standard deviations come from sources with at least three runs in the printed setting, or with its hyper-parameters
    in other code. Single reruns come from the printed setting.

    Args:
        published: the published numbers of the cell.
        measurements: the measurements of the record.
    """
    spreads: list[SeedSpread] = []
    reruns: dict[str, float] = {}
    for each in _trained(measurements, published):
        is_printed = each.setting.is_printed
        values = each.numbers
        mean, sd = mean_and_spread(values)
        if len(values) >= FEWEST_SEEDS and sd and has_printed_hyperparameters(each.setting):
            other = "" if is_printed else f" ({', '.join(each.setting.other)})"
            name = f"{len(values)} runs of {each.source_name}{other}"
            spreads.append(SeedSpread(name, mean, sd, len(values), is_printed=is_printed))
        elif is_printed:
            reruns[each.source_name] = mean
    return replace(published, seeds=(*spreads, *published.seeds), reruns={**reruns, **published.reruns})


def fact_effects(cell: str, found: Sequence[SourceCell]) -> Iterator[tuple[tuple[str, ...], FactEffect]]:
    """Yield the effect of each fact between two settings of a source.

    One of the settings has the printed value of the fact. All other facts are equal.

    Args:
        cell: the name of the cell.
        found: the cell in each source and setting.

    Yields:
        The encoders of both settings, and the effect.
    """
    for base, changed in permutations(found, 2):
        if base.source_name != changed.source_name:
            continue
        before, after = _facts(base), _facts(changed)
        differing = {name for name in {*before, *after} if before.get(name) != after.get(name)}
        single = len(differing) == 1 or (differing and differing <= TOGETHER)
        if single and not differing & before.keys():
            value = {name: after[name] for name in sorted(differing)}
            effect = setting_effect(base, changed)
            encoders = (*base.cell.encoders, *changed.cell.encoders)
            yield encoders, FactEffect(cell, changed.source_name, frozenset(differing), value, effect)


def _facts(measured: SourceCell) -> dict[str, Any]:
    """Return the differences from the printed setting by name."""
    setting = measured.setting
    if setting.is_printed:
        return {}
    if setting.as_:
        return {"protocol": setting.as_}
    return {**setting.facts, **dict.fromkeys(setting.other, "yes")}


def _trained(measurements: RecordMeasurements, published: PublishedCell) -> list[SourceCell]:
    """Return the source cells of encoders that were trained again for a cell."""
    found: list[SourceCell] = []
    for name, several in measurements.record.sources.items():
        if _is_of(name, published) and several[0].trained:
            found += several
    return found


def _is_of(name: str, published: PublishedCell) -> bool:
    """Return whether a full id belongs to a cell, which may omit the metric."""
    return name == published.name or name.rpartition("/")[0] == published.name


def _summary(found: Sequence[SourceCell]) -> Retrained | None:
    values = list(chain.from_iterable(each.numbers for each in found))
    if not values:
        return None
    sources = tuple(dict.fromkeys(each.source_name for each in found))
    return Retrained(len(values), sources, min(values), max(values))


def effect_facts(effect: FactEffect) -> dict[str, Any]:
    """Return the effect of a fact as a dict for JSON."""
    numbers = asdict(effect.effect)
    return {"cell": effect.cell, "source": effect.source, "value": dict(effect.value), **numbers}


def retrained_facts(recorded: RecordedCell | None) -> dict[str, Any]:
    """Return the reruns of a cell as a dict for JSON.

    The keys are `printed` and `any`, for the printed setting and any setting.
    """
    facts = {}
    if recorded and recorded.printed:
        facts["printed"] = asdict(recorded.printed)
    if recorded and recorded.every:
        facts["any"] = asdict(recorded.every)
    return facts
