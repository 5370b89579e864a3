"""A training job: a run and its files."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replicse.checked import Checked, Text
from replicse.registry.runs import Run


class _JobDocument(Checked):
    run: Run
    run_id: Text
    init: str
    tokenizer: Text
    stores: tuple[Text, ...]
    plugin: tuple[Text, ...] = ()


@dataclass
class TrainJob:
    """A run and its files.

    Attributes:
        spec: The run.
        run_id: The id of the run.
        init: The folder of the encoder from which training starts, or None for random weights.
        tokenizer: The tokenizer.json.
        stores: A list with the token store of each view of each source.
    """

    spec: Run
    run_id: str
    init: Path | None
    tokenizer: Path
    stores: list[Path]

    @classmethod
    def read(cls, job: Mapping[str, Any]) -> "TrainJob":
        """Parse a job.

        Args:
            job: The job as JSON-like data, as the compiler wrote it.

        Raises:
            BadInput: If the job is not valid.
        """
        document = _JobDocument.of(job, "job")
        init = Path(document.init) if document.init else None
        stores = [Path(store) for store in document.stores]
        return cls(document.run, document.run_id, init, Path(document.tokenizer), stores)
