"""Spreads over seeds in the record, for cells of the same recipe.

The source with most runs is used.
"""

import math
from collections.abc import Iterator

from replicse.registry.levels import FEWEST_SEEDS
from replicse.spec.printed import Spread
from replicse.spec.record import Record, SourceReading, SourceSetting

# Facts that are not hyper-parameters of the method.
ALIKE = frozenset(("precision", "versions"))


def has_printed_hyperparameters(setting: SourceSetting) -> bool:
    """Return whether a setting has the reported hyper-parameters.

    Args:
        setting: the setting; code, precision and versions can differ.
    """
    return setting.is_printed or (setting.as_ is None and setting.facts.keys() <= ALIKE)


def lent_spreads(record: Record) -> Iterator[tuple[SourceReading, Spread]]:
    """Yield a reading and the spread of each cell with enough seeds.

    Args:
        record: the record. If several sources trained enough seeds, the source with most runs is used.
    """
    readings: dict[str, dict[tuple[str, str], list[SourceReading]]] = {}
    for reading in record.readings:
        setting = record.setting(reading)
        if setting.encoder == "retrained" and has_printed_hyperparameters(setting):
            group = readings.setdefault(reading.cell, {})
            group.setdefault((reading.source, reading.setting), []).append(reading)
    for groups in readings.values():
        most = max(groups.values(), key=len)
        spread = spread_of_runs([reading.number.value for reading in most])
        if spread:
            yield most[0], spread


def spread_of_runs(values: list[float]) -> Spread | None:
    """Compute the sample standard deviation of runs.

    Args:
        values: a list with the value of each run.

    Returns:
        The spread; None for fewer than three runs or for equal values.
    """
    if len(values) < FEWEST_SEEDS:
        return None
    mean = math.fsum(values) / len(values)
    sd = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))
    return Spread(sd, len(values) - 1) if sd else None
