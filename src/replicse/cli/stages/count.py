"""The stage that counts dataset sizes and parameters."""

from argparse import Namespace
from typing import Any

from replicse.checked import Text
from replicse.cli.stages import Payload, Stage
from replicse.data.sets import data_folder
from replicse.files import write_json
from replicse.registry.run_specs import RunSpec


class CountJob(Payload):
    """Metric paths to count, with the corpora and recipes that they refer to."""

    read: tuple[Text, ...] = ()
    corpora: dict[str, Any] = {}
    recipes: dict[str, RunSpec] = {}


def count(job: CountJob, arguments: Namespace) -> None:
    """Count evaluation sets, rows and overlap of corpora, and parameters."""
    from replicse.provenance.record import provenance
    from replicse.training.counts import count

    counted = count(data_folder(arguments.data), list(job.read), job.corpora, job.recipes)
    write_json(arguments.out, {**counted, "provenance": provenance()})


STAGE = Stage(CountJob.of, count)
