"""Tabulate: from an item's manifest and the evaluations of its encoders to judged cells."""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from replicse.files import write_text
from replicse.study.paths import Paths
from replicse.study.verdicts import Judgement, judge, printed_number

FIELDS = [
    "row",
    "column",
    "metric",
    "protocol",
    "reported",
    "reproduced",
    "delta",
    "low",
    "high",
    "n_seeds",
    "verdict",
    "encoders",
    "borrowed",
    "reason",
]


class Evaluations:
    """The evaluation JSONs of a scale, each read once."""

    def __init__(self, paths: Paths) -> None:
        self.paths = paths
        self._read: dict[str, dict[str, Any] | None] = {}

    def value(self, encoder: str, read: str) -> tuple[float | None, str]:
        """Return the number at a suite path and, where it is undefined, the reason; (None, "") if not run."""
        what = "trajectory" if read.startswith("trajectory/") else "evaluation"
        found = self._load(self.paths.encoder(encoder, what))
        if found is None:
            return None, ""
        node: Any = found["suites"]
        for key in read.split("/"):
            node = node.get(key) if isinstance(node, Mapping) else None
        reason = found.get("failures", {}).get(read, "")
        return (None if node is None else float(node)), reason

    def _load(self, path: str) -> dict[str, Any] | None:
        if path not in self._read:
            file = Path(path)
            self._read[path] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else None
        return self._read[path]


def tabulate(manifest: Mapping[str, Any], evaluations: Evaluations) -> Iterator[dict[str, str]]:
    """Yield one judged cell per row and column of an item, in the paper's order."""
    for row in manifest["rows"]:
        for column in manifest["columns"]:
            printed = manifest["cells"].get(f"{row['id']}|{column['id']}|{column['metric']}", {})
            encoders = row["encoders"].get(column["encoders"], [])
            judgement = (
                None if row["quoted"] else _judgement(manifest, column, printed, row, encoders, evaluations)
            )
            yield _record(row, column, printed, encoders, judgement)


def _judgement(
    manifest: Mapping[str, Any],
    column: Mapping[str, Any],
    printed: Mapping[str, str],
    row: Mapping[str, Any],
    encoders: list[str],
    evaluations: Evaluations,
) -> Judgement:
    found = [evaluations.value(encoder, column["read"]) for encoder in encoders]
    minus = printed_number(printed.get("minus")) if column["minus"] else None
    if column["minus"] and minus is None:
        found = []
    values = [None if value is None else value - (minus.value if minus else 0) for value, _ in found]
    return judge(
        values,
        printed.get("reported"),
        planned=len(encoders),
        comparable=manifest["comparable"],
        why_not=f"the {manifest['scale']} scale is not the paper's setting",
        prior_sd=None if row["seeded"] else 0.0,
        failures=[reason for _, reason in found if reason],
    )


def _record(
    row: Mapping[str, Any],
    column: Mapping[str, Any],
    printed: Mapping[str, str],
    encoders: list[str],
    judgement: Judgement | None,
) -> dict[str, str]:
    def text(value: float | None) -> str:
        return "" if value is None else repr(float(value))

    return {
        "row": row["id"],
        "column": column["id"],
        "metric": column["metric"],
        "protocol": "as-described",
        "reported": printed.get("reported", ""),
        "reproduced": text(judgement and judgement.reproduced),
        "delta": text(judgement and judgement.delta),
        "low": text(judgement and judgement.low),
        "high": text(judgement and judgement.high),
        "n_seeds": str(judgement.n_seeds) if judgement else "",
        "verdict": judgement.verdict if judgement else "",
        "encoders": ";".join(encoders),
        "borrowed": "yes" if judgement and judgement.borrowed else "",
        "reason": judgement.reason if judgement else "quoted by the paper from elsewhere",
    }


def write_table(manifest: Mapping[str, Any], paths: Paths, out: Path) -> int:
    """Write an item's CSV and return the number of cells."""
    cells = list(tabulate(manifest, Evaluations(paths)))
    stream = io.StringIO()
    writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(cells)
    write_text(out, stream.getvalue())
    return len(cells)
