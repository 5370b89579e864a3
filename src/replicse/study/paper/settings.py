"""Whether a number is read in the setting that the paper prints it for."""

from replicse.registry.suites import AGGREGATIONS, SUITES
from replicse.study.paper.tables import Setting

SPLITS = {"sts": "test", "sts-dev": "dev", "transfer": "test", "transfer-dev": "dev"}


def setting_difference(setting: Setting, metric_path: str, pooling: str = "") -> str:
    """Return in one clause how reading differs from the printed setting; nothing where it does not.

    Papers differ silently in aggregation, split and pooling, by many points (methods 6, pitfalls 4, 6 and 10).
    A setting that leaves one of them out says nothing about it.
    """
    suite, _, rest = metric_path.partition("/")
    found = {"split": SPLITS.get(suite), "aggregation": _aggregation(suite, rest), "pooling": pooling or None}
    for name, value in found.items():
        printed = getattr(setting, name)
        if value is not None and printed is not None and printed != value:
            return f"read with {name} {value}, printed with {name} {printed}"
    return ""


def _aggregation(suite: str, rest: str) -> str | None:
    if suite not in SUITES or SUITES[suite].module != "replicse.evaluation.sts":
        return None
    last = rest.rpartition("/")[2]
    if last.startswith("avg"):
        last = last.partition("-")[2] or "all"
    return last if last in AGGREGATIONS else None
