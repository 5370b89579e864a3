"""The reproduction log: a row per item and study that somebody ran, with hashes that keep it as it was written."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from replicse.errors import BadInput
from replicse.files import read_json, read_rows, sha256_of
from replicse.study.paper.protocols import AS_DESCRIBED
from replicse.study.plan.paths import Paths
from replicse.study.results.table import ItemResult
from replicse.workspace import packaged

FIELDS = (
    "date", "commit", "study", "scale", "item", "seeds", "machine", "versions", "numbers", "numbers_sha256",
    "result_sha256",
)  # fmt: skip
FORMS = {
    "date": r"\d{4}-\d\d-\d\d",
    "commit": r"[0-9a-f]{40}\+?",
    "study": r"[a-z0-9]+(-[a-z0-9]+)*",
    "scale": r"[A-Za-z0-9][A-Za-z0-9.@_-]*",
    "item": r"[a-z0-9]+/[A-Za-z0-9-]+",
    "seeds": r"\d+( \d+)*|",
    "machine": r"[^\n]{1,400}",
    "versions": r"\w[^\n]{1,400}",
    "numbers": r"[^\n]+",
    "numbers_sha256": r"[0-9a-f]{64}",
    "result_sha256": r"[0-9a-f]{64}",
}
TOLD = ("python", "torch", "transformers")
LOG = Path("reports/log.csv")


def log_row(result: ItemResult, record: Mapping[str, Any], study: str, sha256: str) -> dict[str, str]:
    """Return the row of an item of a study; `sha256` is that of the file of its result.

    A commit whose code was changed has a plus after it. BadInput where the study does not say what made it.
    """
    versions = record.get("versions") or {}
    commit = str(record.get("commit") or "")
    cells = [cell for cell in result.cells if cell.protocol == AS_DESCRIBED and cell.reproduced is not None]
    absent = [f"no {name} in its record" for name in ("commit", "generated") if not record.get(name)]
    if absent := absent or [f"no number in {result.item}"] * (not cells):
        raise BadInput(f"study {study}: {absent[0]}; run it to its report from a checkout")
    numbers = "; ".join(f"{cell.row}/{cell.column}/{cell.metric}={cell.reproduced:.6g}" for cell in cells)
    seeds = sorted({each.seed for cell in cells for each in cell.values if each.seed is not None})
    machines = dict.fromkeys(str(machine) for cell in cells for machine in cell.machines)
    return {
        "date": str(record.get("generated", ""))[:10],
        "commit": commit + ("+" if record.get("dirty") else ""),
        "study": study,
        "scale": result.scale,
        "item": result.item,
        "seeds": " ".join(map(str, seeds)),
        "machine": " | ".join(machines) or "not recorded",
        "versions": ", ".join(f"{name} {versions[name]}" for name in TOLD if name in versions)
        or "not recorded",
        "numbers": numbers,
        "numbers_sha256": hashlib.sha256(numbers.encode()).hexdigest(),
        "result_sha256": sha256,
    }


def log_problems(rows: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """Yield what is wrong with rows of the log: a field of another form, other numbers than hashed, a row twice."""
    seen: set[tuple[str, ...]] = set()
    for count, row in enumerate(rows, 1):
        if tuple(row) != FIELDS:
            yield f"row {count}: fields are {', '.join(row)}; expected {', '.join(FIELDS)}"
            continue
        yield from (
            f"row {count}: {name} is {row[name][:80]!r}; expected {form}"
            for name, form in FORMS.items()
            if not re.fullmatch(form, row[name])
        )
        if hashlib.sha256(row["numbers"].encode()).hexdigest() != row["numbers_sha256"]:
            yield f"row {count}: numbers have another sha256 than numbers_sha256 says"
        key = tuple(row[name] for name in ("study", "item", "commit", "numbers_sha256", "machine"))
        if key in seen:
            yield f"row {count}: the same run is there twice"
        seen.add(key)


def logged(items: Sequence[str] = (), file: Path | None = None) -> list[dict[str, str]]:
    """Return the rows of a log of some items (nothing: all): by default this folder's, else the one of the package.

    Raises BadInput, with the row, for a broken log.
    """
    file = file or (LOG if LOG.is_file() else packaged(*LOG.parts))
    rows = read_rows(file) if file.is_file() else []
    if problem := next(log_problems(rows), ""):
        raise BadInput(f"{file}: {problem}; fix the row, or take it out")
    return [row for row in rows if not items or row["item"] in items]


def check_logged(paths: Paths, item: str) -> None:
    """Raise BadInput where an item of a committed study has other bytes than each row of its commit in the log there.

    Nothing is known of a study without such a row, as one that somebody else's crate brought.
    """
    file = Path(f"{paths.home}{LOG}")
    rows = [row for row in logged([item], file) if row["study"] == paths.kept]
    study = read_json(paths.study) if rows else {}
    commit = f"{study.get('commit')}{'+' if study.get('dirty') else ''}"
    sums = {row["result_sha256"] for row in rows if row["commit"] == commit}
    if sums and sha256_of(paths.item(item)) not in sums:
        raise BadInput(
            f"{paths.item(item)}: not the bytes that {file} has of commit {commit[:12]} (result_sha256); restore it"
            f" with git, or where the study was run and kept again, replicse contribute {paths.kept} {item}"
        )
