"""The stages of the workflow, a module each: what a job is given, and what does it."""

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
    """What a job is given; `plugin` names the plug-ins that it uses."""

    plugin: tuple[Text, ...] = ()


class StudyJob(Payload):
    """The config of a study, or its record."""

    study: Text

    def load_study(self) -> "Study":
        """Load the study of the config, which the workflow has compiled."""
        from replicse.compile.cache import load_or_compile
        from replicse.spec.config import read_config
        from replicse.workspace import workflow_folder

        return load_or_compile(read_config([Path(self.study)]), workflow_folder(), self.study)


class Stage(NamedTuple):
    """How a payload is checked, what does the job of a checked one with the arguments, and if on a GPU."""

    check: Callable[[Any, str], Any]
    run: Callable[[Any, Namespace], int | None]
    uses_gpu: bool = False
