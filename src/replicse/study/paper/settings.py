"""Whether a number is read in the setting that the paper prints it for."""

from collections.abc import Mapping
from typing import Any

AGGREGATIONS = ("all", "mean", "wmean")
SUITES = {"sts": "test", "sts-dev": "dev", "transfer": "test", "transfer-dev": "dev"}


def setting_difference(setting: Mapping[str, Any], read: str, pooling: str = "") -> str:
    """Return in one clause how reading differs from the printed setting; nothing where it does not.

    Papers differ silently in aggregation, split and pooling, by many points (methods 6, pitfalls 4, 6 and 10).
    A setting that leaves one of them out says nothing about it.
    """
    suite, _, rest = read.partition("/")
    found = {"split": SUITES.get(suite), "aggregation": _aggregation(suite, rest), "pooling": pooling or None}
    for name, value in found.items():
        printed = setting.get(name)
        known = printed in AGGREGATIONS if name == "aggregation" else isinstance(printed, str)
        if value is not None and known and printed != value:
            return f"read with {name} {value}, printed with {name} {printed}"
    return ""


def _aggregation(suite: str, rest: str) -> str | None:
    if suite not in ("sts", "sts-dev"):
        return None
    last = rest.rpartition("/")[2]
    if last.startswith("avg"):
        last = last.partition("-")[2] or "all"
    return last if last in AGGREGATIONS else None
