"""Compare the setting of an evaluation with the reported setting."""

from replicse.registry.poolings import Pooling
from replicse.registry.registry import current
from replicse.registry.suites import AVERAGES, Suite
from replicse.spec.tables import Setting


def setting_difference(setting: Setting, metric_path: str, pooling: Pooling | None = None) -> str:
    """Return a clause on the first difference between the settings.

    Papers differ in aggregation, split and pooling, often without stating it; the difference is many points (methods
    6, pitfalls 1, 3 and 7). Keys that are missing in the reported setting are not compared.

    Args:
        setting: the reported setting.
        metric_path: the metric path of the evaluation.
        pooling: the pooling of the evaluation. Default: None, it is not compared.

    Returns:
        The clause; an empty string if the settings agree.
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
    for name in (last, AVERAGES.get(last, "")):
        if name in suite.aggregations:
            return name
    return ""
