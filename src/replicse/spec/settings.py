"""Whether a number is read in the setting that the paper prints it for."""

from replicse.registry.poolings import Pooling
from replicse.registry.registry import current
from replicse.registry.suites import AVERAGES, Suite
from replicse.spec.tables import Setting


def setting_difference(setting: Setting, metric_path: str, pooling: Pooling | None = None) -> str:
    """Return in one clause how reading differs from the printed setting; nothing where it does not.

    Papers differ silently in aggregation, split and pooling, by many points (methods 6, pitfalls 1, 3 and 7).
    A setting that leaves one of them out says nothing about it.
    """
    suite = current().suites.get(metric_path.partition("/")[0])
    reading: dict[str, object] = {"pooling": pooling}
    if suite:
        reading = {"split": suite.split, "aggregation": _aggregation(suite, metric_path), **reading}
    for name, value in reading.items():
        printed = getattr(setting, name)
        if value and printed is not None and printed != value:
            return f"read with {name} {value}, printed with {name} {printed}"
    return ""


def _aggregation(suite: Suite, path: str) -> str:
    last = path.rpartition("/")[2]
    return next((one for one in (last, AVERAGES.get(last)) if one in suite.aggregations), "")
