"""Job specifications for tests, as the workflow writes them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def write_job(
    folder: Path, stage: str, payload: Mapping[str, Any], outputs: Sequence[Path], root: Path | None = None
) -> list[str]:
    """Write a job's specification to a results folder; return the command.

    `root` is the data root in the folder's data record.
    """
    specification = {"stage": stage, "id": "", "digests": {}, "payload": payload, "inputs": []}
    specification["outputs"] = [str(output) for output in outputs]
    file = folder / "jobs" / f"{stage}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(specification), encoding="utf-8")
    if root:
        record = {"source": "local", "root": str(root), "files": [], "sets": {}}
        (folder / "data.json").write_text(json.dumps(record), encoding="utf-8")
    return ["job", str(file)]
