"""A training job: the run, and the files that it depends on."""

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
    """A run's spec and the files it depends on, as the plan wrote them."""

    spec: Run
    run_id: str
    init: Path | None
    tokenizer: Path
    stores: list[Path]

    @classmethod
    def read(cls, job: Mapping[str, Any]) -> "TrainJob":
        """Return the job that the plan wrote; BadInput says what is wrong with it."""
        document = _JobDocument.of(job, "job")
        init = Path(document.init) if document.init else None
        stores = [Path(store) for store in document.stores]
        return cls(document.run, document.run_id, init, Path(document.tokenizer), stores)
