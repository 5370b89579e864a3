"""The stage `data`: prepare the data root and record the files."""

import os
from argparse import Namespace
from pathlib import Path
from typing import Any, Literal

from replicse.checked import Text
from replicse.cli.stages import Payload, Stage
from replicse.errors import BadInput, MissingData
from replicse.files import below, sha256_of, write_json
from replicse.registry.corpora import SIMCSE_DATA
from replicse.spec.lock import LOCK

WHAT = "a file below the data root"


class DataJob(Payload):
    """The source of the datasets, and the files to record.

    Attributes:
        source: where the datasets come from: "embedded", "local" or "hub".
        root: the data root, if the source is local. Default: empty, REPLICSE_DATA is used.
        file: the files to record, relative to the data root.
        revision: the commit of the hub dataset, if the source is the hub.
        sizes: a dict with the expected dataset sizes.
    """

    source: Literal["embedded", "local", "hub"]
    root: str = ""
    file: tuple[Text, ...] = ()
    revision: str = ""
    sizes: dict[str, Any] = {}


def data(job: DataJob, arguments: Namespace) -> None:
    """Prepare the data root and record the rows and sha256 of each file."""
    from replicse.data.sets import recorded_sets

    out = arguments.out
    root = out.parent / "data"
    if job.source == "embedded":
        from replicse.world.world import write_world

        files = [{"name": name, **facts} for name, facts in sorted(write_world(root).items())]
    elif job.source == "hub":
        from replicse.data.hub import materialise

        if not job.revision:
            raise BadInput(
                f"workflow/{LOCK}: the commit of {SIMCSE_DATA} is missing; run replicse fetch --pin"
            )
        files = materialise(root, list(job.file), job.revision)
    else:
        root = _local_root(job.root)
        # SentEval is a folder whose datasets are recorded separately.
        files = [recorded(root, name) for name in job.file if not (root / name).is_dir()]
    sets = recorded_sets(root, job.sizes)
    write_json(out, {"source": job.source, "root": str(root), "files": files, "sets": sets})


def _local_root(named: str) -> Path:
    named = named or os.environ.get("REPLICSE_DATA", "")
    root = Path(named)
    if not named or not root.is_dir():
        raise MissingData(
            f'data.root is "{named}", not a folder; set data.root in config.yaml or REPLICSE_DATA to a folder'
            " in the SentEval layout, or set data.source to hub"
        )
    return root.resolve()


def recorded(root: Path, name: str) -> dict[str, object]:
    """Return name, size and sha256 of a dataset file.

    A missing file does not raise an error, so that items that do not use the file can run.

    Args:
        root: the data root, a folder of datasets.
        name: the path relative to the data root.

    Returns:
        A dict with `name`, `bytes` and `sha256`, or with `name` and `missing`.
    """
    path = below(root, name, WHAT)
    if not path.exists():
        return {"name": name, "missing": True}
    return {"name": name, "bytes": path.stat().st_size, "sha256": sha256_of(path)}


STAGE = Stage(DataJob.of, data)
