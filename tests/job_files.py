"""Job specifications for tests, in the format of the workflow."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def write_job(
    folder: Path, stage: str, payload: Mapping[str, Any], outputs: Sequence[Path], root: Path | None = None
) -> list[str]:
    """Write the specification of a job to a results folder.

    Args:
        folder: Results folder.
        stage: Stage of the job, such as "train".
        payload: Dict of the job's arguments.
        outputs: List of files written by the job.
        root: Data root to store in the folder's data.json. Default: no data.json is written.

    Returns:
        The command's words, for `replicse.cli.main`.
    """
    specification = {"stage": stage, "id": "", "digests": {}, "payload": payload, "inputs": []}
    specification["outputs"] = list(map(str, outputs))
    file = folder / "jobs" / f"{stage}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(specification), encoding="utf-8")
    if root:
        record = {"source": "local", "root": str(root), "files": [], "sets": {}}
        (folder / "data.json").write_text(json.dumps(record), encoding="utf-8")
    return ["job", str(file)]
