"""The stage `study`: write the config and the record of a study."""

from argparse import Namespace
from typing import Any

from replicse.cli.stages import Payload, Stage
from replicse.files import write_ordered
from replicse.registry.artefacts import CONFIG


class RecordJob(Payload):
    """The config and the record of a study, as dicts."""

    config: dict[str, Any]
    record: dict[str, Any]


def study(job: RecordJob, arguments: Namespace) -> None:
    """Write the config and the record of a study; keep the order of papers."""
    write_ordered(arguments.out.with_name(CONFIG), job.config)
    write_ordered(arguments.out, job.record)


STAGE = Stage(RecordJob.of, study)
