"""The record for a diagnosis: what others got in a cell, and what a fact changed in one source."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import permutations
from typing import Any

from replicse.compile.record_study import SourceCell
from replicse.judge.others import SettingEffect
from replicse.judge.published import PublishedCell, SeedSpread
from replicse.judge.record_cells import setting_effect
from replicse.judge.record_measurements import RecordMeasurements
from replicse.judge.statistics import mean_and_spread
from replicse.registry.levels import FEWEST_SEEDS
from replicse.spec.record_spreads import has_printed_hyperparameters

# More devices mean a larger batch unless somebody changes both: together they are one difference.
TOGETHER = frozenset(("devices", "batch"))


@dataclass(frozen=True)
class Retrained:
    """What others got who trained the encoder of a cell again: how many runs, of which sources, in which range."""

    runs: int
    sources: tuple[str, ...]
    low: float
    high: float


@dataclass(frozen=True)
class FactEffect:
    """What one fact changed in one source: `facts` names it, or several that go together, `value` the other value."""

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
    """What the record says of a cell: reruns in the printed setting, all of them, and effects of facts."""

    printed: Retrained | None
    every: Retrained | None
    effects: tuple[FactEffect, ...] = ()


def recorded_cell(measurements: RecordMeasurements, published: PublishedCell) -> RecordedCell:
    """Return what the record says of a cell, effects in the cell itself before those in others of its metric."""
    found = _trained(measurements, published)
    alike = {
        name: several
        for name, several in measurements.record.sources.items()
        if several[0].cell.metric_path == published.metric_path
        and several[0].trained == (published.kind == "trained")
    }
    # Cells that share readings share their effects: the cell itself comes first.
    effects: dict[tuple[str, ...], FactEffect] = {}
    for name in sorted(alike, key=lambda name: not _is_of(name, published)):
        for encoders, effect in fact_effects(name, alike[name]):
            effects.setdefault(encoders, effect)
    printed = _summary([each for each in found if each.setting.is_printed])
    return RecordedCell(printed, _summary(found), tuple(effects.values()))


def with_record(published: PublishedCell, measurements: RecordMeasurements) -> PublishedCell:
    """Return a cell with the spreads and single reruns of the record.

    Spreads are of sources with at least three runs in the printed setting, or with its hyper-parameters in code of
    their own; single reruns are in the printed setting.
    """
    spreads: list[SeedSpread] = []
    reruns: dict[str, float] = {}
    for each in _trained(measurements, published):
        values = each.numbers
        mean, sd = mean_and_spread(values)
        if len(values) >= FEWEST_SEEDS and sd and has_printed_hyperparameters(each.setting):
            name = f"{len(values)} runs of {each.source_name}"
            name += "" if each.setting.is_printed else f" ({', '.join(each.setting.other)})"
            spreads.append(SeedSpread(name, mean, sd, len(values), is_printed=each.setting.is_printed))
        elif each.setting.is_printed:
            reruns[each.source_name] = mean
    return replace(published, seeds=(*spreads, *published.seeds), reruns={**reruns, **published.reruns})


def fact_effects(cell: str, found: Sequence[SourceCell]) -> Iterator[tuple[tuple[str, ...], FactEffect]]:
    """Yield the encoders of two settings of one source that differ in one fact alone, and what that changed.

    One of them has the printed value of the fact, whatever else both have.
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
    """Return what differs from the printed setting: facts by name, others by their text, a protocol by its name."""
    setting = measured.setting
    if setting.is_printed:
        return {}
    if setting.as_:
        return {"protocol": setting.as_}
    return {**setting.facts, **dict.fromkeys(setting.other, "yes")}


def _trained(measurements: RecordMeasurements, published: PublishedCell) -> list[SourceCell]:
    """Return the source cells of encoders that were trained again for a cell."""
    found = [
        several
        for name, several in measurements.record.sources.items()
        if _is_of(name, published) and several[0].trained
    ]
    return [each for several in found for each in several]


def _is_of(name: str, published: PublishedCell) -> bool:
    """Return whether a name of a cell in full is that of a published cell, which may leave out its metric."""
    return name == published.name or name.rpartition("/")[0] == published.name


def _summary(found: Sequence[SourceCell]) -> Retrained | None:
    values = [value for each in found for value in each.numbers]
    if not values:
        return None
    sources = tuple(dict.fromkeys(each.source_name for each in found))
    return Retrained(len(values), sources, min(values), max(values))


def effect_facts(effect: FactEffect) -> dict[str, Any]:
    """Return the effect of a fact as plain data."""
    numbers = asdict(effect.effect)
    return {"cell": effect.cell, "source": effect.source, "value": dict(effect.value), **numbers}


def retrained_facts(recorded: RecordedCell | None) -> dict[str, Any]:
    """Return the reruns of a cell as plain data: in the printed setting, and in any setting; nothing for none."""
    kinds = {"printed": recorded.printed, "any": recorded.every} if recorded else {}
    return {name: asdict(found) for name, found in kinds.items() if found}
