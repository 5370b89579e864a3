"""Tabulate: from an item's manifest and the evaluations of its encoders to judged cells."""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from replicse.files import write_text
from replicse.study.paths import Paths
from replicse.study.verdicts import Judgement, judge, printed_number

AS_DESCRIBED = "as-described"
CONTRACT = [
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
]
FIELDS = [*CONTRACT, "borrowed", "reason"]


class Evaluations:
    """The evaluation JSONs of a scale, each read once."""

    def __init__(self, paths: Paths) -> None:
        self.paths = paths
        self._read: dict[str, dict[str, Any] | None] = {}

    def value(self, encoder: str, read: str) -> tuple[Any, str]:
        """Return what stands at a suite path and, where it is undefined, the reason; (None, "") if not run."""
        what = "trajectory" if read.startswith("trajectory/") else "evaluation"
        found = self._load(self.paths.encoder(encoder, what))
        if found is None:
            return None, ""
        node: Any = found["suites"]
        for key in read.split("/"):
            node = node.get(key) if isinstance(node, Mapping) else None
        return node, found.get("failures", {}).get(read, "")

    def _load(self, path: str) -> dict[str, Any] | None:
        if path not in self._read:
            file = Path(path)
            self._read[path] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else None
        return self._read[path]


def tabulate(manifest: Mapping[str, Any], evaluations: Evaluations) -> Iterator[dict[str, str]]:
    """Yield one judged cell per row, protocol and column of an item, in the paper's order."""
    for row in manifest["rows"]:
        for protocol, groups in row["protocols"].items():
            for column in manifest["columns"]:
                facts = manifest["cells"].get(f"{row['id']}|{column['id']}|{column['metric']}", {})
                encoders = manifest["encoders"].get(groups.get(f"{column['id']}|{column['metric']}"), [])
                base = {
                    "row": row["id"],
                    "column": column["id"],
                    "metric": column["metric"],
                    "protocol": protocol,
                    "reported": facts.get("reported", ""),
                    "encoders": ";".join(encoders),
                }
                found = [
                    evaluations.value(encoder, facts.get("read", column["read"])) for encoder in encoders
                ]
                yield (
                    dict.fromkeys(FIELDS, "") | base | _outcome(manifest, row, column, facts, encoders, found)
                )


def _outcome(
    manifest: Mapping[str, Any],
    row: Mapping[str, Any],
    column: Mapping[str, Any],
    facts: Mapping[str, Any],
    encoders: Sequence[str],
    found: Sequence[tuple[Any, str]],
) -> dict[str, str]:
    """Return the fields of a cell that depend on what was found: a quotation, a text or a judged number."""
    if not encoders:
        return {"reason": "quoted by the paper from elsewhere" if row["quoted"] else "nothing to run"}
    if column["metric"] == "text":
        texts = list(dict.fromkeys(str(value) for value, _ in found if value is not None))
        return {
            "reproduced": " / ".join(texts),
            "n_seeds": str(len(texts)),
            "verdict": "" if texts else "not run",
        }
    values = [None if value is None else float(value) for value, _ in found]
    if column["minus"]:
        printed = printed_number(facts.get("minus"))
        values = [None if value is None or printed is None else value - printed.value for value in values]
    planned = len(encoders)
    if column["choose"]:
        values, planned = _chosen(encoders, values, facts["choices"]), 1
    judgement = judge(
        values,
        facts.get("reported"),
        planned=planned,
        comparable=manifest["comparable"],
        why_not=f"the {manifest['scale']} scale is not the paper's setting",
        prior_sd=0.0 if set(encoders) <= set(manifest["seedless"]) else None,
        failures=[reason for _, reason in found if reason],
    )
    return _written(judgement)


def _chosen(
    encoders: Sequence[str], scores: Sequence[float | None], choices: Mapping[str, float]
) -> list[float | None]:
    """Return the hyper-parameter of the best-scoring run of a grid; nothing while a run is missing."""
    if None in scores or not scores:
        return [None]
    best = max(range(len(scores)), key=lambda place: scores[place])
    return [choices[encoders[best]]]


def _written(judgement: Judgement) -> dict[str, str]:
    def text(value: float | None) -> str:
        return "" if value is None else repr(float(value))

    return {
        "reproduced": text(judgement.reproduced),
        "delta": text(judgement.delta),
        "low": text(judgement.low),
        "high": text(judgement.high),
        "n_seeds": str(judgement.n_seeds),
        "verdict": judgement.verdict,
        "borrowed": "yes" if judgement.borrowed else "",
        "reason": judgement.reason,
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
