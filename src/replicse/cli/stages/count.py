"""The stage `count`: count dataset sizes and parameters."""

from argparse import Namespace
from typing import Any

from replicse.checked import Text
from replicse.cli.stages import Payload, Stage
from replicse.data.sets import data_folder
from replicse.files import write_json
from replicse.registry.run_specs import RunSpec


class CountJob(Payload):
    """The counts to compute.

    Attributes:
        read: the metric paths of the counts, such as "data/corpus/wiki/rows".
        corpora: a dict from name to corpus.
        recipes: a dict from name to recipe, for parameter counts.
    """

    read: tuple[Text, ...] = ()
    corpora: dict[str, Any] = {}
    recipes: dict[str, RunSpec] = {}


def count(job: CountJob, arguments: Namespace) -> None:
    """Compute dataset sizes, overlaps of corpora and parameter counts."""
    from replicse.provenance.record import provenance
    from replicse.training.counts import count

    counted = count(data_folder(arguments.data), list(job.read), job.corpora, job.recipes)
    write_json(arguments.out, {**counted, "provenance": provenance()})


STAGE = Stage(CountJob.of, count)
