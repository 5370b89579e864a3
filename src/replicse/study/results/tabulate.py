"""Tabulate: from an item's manifest and the evaluations of its encoders to judged cells."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from replicse.files import write_rows
from replicse.study.paper.protocols import AS_DESCRIBED
from replicse.study.plan.paths import Paths
from replicse.study.results.statistics import mean_and_spread
from replicse.study.results.verdict import Judgement, judge, printed_number

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
FIELDS = [*CONTRACT, "borrowed", "reason", "pairs_low", "pairs_high"]


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

    def pairs(self, encoder: str, read: str) -> Mapping[str, str] | None:
        """Return cosines and gold scores of the test pairs behind a correlation; None where there are none."""
        found = self._load(self.paths.encoder(encoder, "evaluation")) or {}
        task, _, aggregation = read.rpartition("/")
        return found.get("pairs", {}).get(task) if aggregation == "all" else None

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
                if protocol != AS_DESCRIBED:
                    facts = {name: entry for name, entry in facts.items() if name != "spread"}
                outcome = _outcome(manifest, row, column, facts, encoders, found)
                if outcome["verdict"] != "failed" and not column["minus"] and not column["choose"]:
                    outcome |= _over_pairs(encoders, facts.get("read", column["read"]), evaluations)
                yield dict.fromkeys(FIELDS, "") | base | outcome


def described_cell(
    manifest: Mapping[str, Any], row: Mapping[str, Any], column: Mapping[str, Any], evaluations: Evaluations
) -> tuple[str | None, list[Any]]:
    """Return what is printed in a cell (None where nothing is) and ours per seed as the paper describes it."""
    name = f"{column['id']}|{column['metric']}"
    facts = manifest["cells"].get(f"{row['id']}|{name}", {})
    encoders = manifest["encoders"].get(row["protocols"][AS_DESCRIBED].get(name), [])
    values = [evaluations.value(encoder, facts.get("read", column["read"]))[0] for encoder in encoders]
    return facts.get("reported"), values


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
        reason = "quoted by the paper from elsewhere" if row["quoted"] else "nothing to run"
        return {"reason": reason, "verdict": ""}
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
        comparable=manifest["comparable"] and "why_not" not in facts,
        why_not=facts.get("why_not")
        if manifest["comparable"]
        else f"the {manifest['scale']} scale is not the paper's setting",
        prior_sd=0.0 if set(encoders) <= set(manifest["seedless"]) else facts.get("spread"),
        failures=[reason for _, reason in found if reason],
    )
    return _written(judgement)


def _over_pairs(encoders: Sequence[str], read: str, evaluations: Evaluations) -> dict[str, str]:
    """Return the interval of a correlation over resampled test pairs, averaged over the seeds.

    It is blank where the number is no correlation over all pairs of a task, or where one is missing.
    """
    task, _, aggregation = read.rpartition("/")
    if aggregation != "all" or not task:
        return {}
    bounds = {
        name: [evaluations.value(encoder, f"{task}/{name}")[0] for encoder in encoders]
        for name in ("low", "high")
    }
    if not encoders or any(None in values for values in bounds.values()):
        return {}
    return {f"pairs_{name}": repr(mean_and_spread(values)[0]) for name, values in bounds.items()}


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
    return write_rows(out, FIELDS, tabulate(manifest, Evaluations(paths)))
