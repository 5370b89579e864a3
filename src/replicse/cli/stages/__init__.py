"""The stages of the workflow, one module each."""

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from replicse.checked import Checked, Text

if TYPE_CHECKING:
    from replicse.compile.study import Study

STAGES = (
    "data", "tokenizer", "backbone", "store", "count", "train", "evaluate", "geometry", "study", "tabulate", "judge",
    "figures", "page", "report",
)  # fmt: skip


class Payload(Checked):
    """The payload of a job; `plugin` lists the plug-ins that it uses."""

    plugin: tuple[Text, ...] = ()


class StudyJob(Payload):
    """A payload with the config of a study or its record."""

    study: Text

    def load_study(self) -> "Study":
        """Load the compiled study of the config."""
        from replicse.compile.cache import load_or_compile
        from replicse.spec.config import read_config
        from replicse.workspace import workflow_folder

        return load_or_compile(read_config([Path(self.study)]), workflow_folder(), self.study)


class Stage(NamedTuple):
    """Functions that check a payload and run the job."""

    check: Callable[[Any, str], Any]
    run: Callable[[Any, Namespace], int | None]
    uses_gpu: bool = False
