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
    """The payload of a job.

    By default, the job uses no plug-ins.

    Attributes:
        plugin: the files of the plug-ins that the job uses.
    """

    plugin: tuple[Text, ...] = ()


class StudyJob(Payload):
    """A payload with the path of a study's config or record.

    Attributes:
        study: the path.
    """

    study: Text

    def load_study(self) -> "Study":
        """Load or compile the study, if the path is a config."""
        from replicse.compile.cache import load_or_compile
        from replicse.spec.config import read_config
        from replicse.workspace import workflow_folder

        return load_or_compile(read_config([Path(self.study)]), workflow_folder(), self.study)


class Stage(NamedTuple):
    """A stage of the workflow.

    By default, the jobs run on the CPU.

    Attributes:
        check: a function that validates a payload (a dict) with a location for errors.
        run: a function that runs a job with the validated payload and the parsed arguments.
        uses_gpu: whether a job uses a GPU if there is one. Default: False.
    """

    check: Callable[[Any, str], Any]
    run: Callable[[Any, Namespace], int | None]
    uses_gpu: bool = False
