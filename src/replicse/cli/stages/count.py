"""The stage that counts what needs no encoder."""

from argparse import Namespace
from typing import Any

from replicse.checked import Text
from replicse.cli.stages import Payload, Stage
from replicse.data.sets import data_folder
from replicse.files import write_json


class CountJob(Payload):
    """What is counted from the data, by metric path, and the corpora among it."""

    read: tuple[Text, ...] = ()
    corpora: dict[str, Any] = {}


def count(job: CountJob, arguments: Namespace) -> None:
    """Count what needs no encoder: sizes of evaluation sets, rows and lexical overlap of corpora."""
    from replicse.evaluation.counts import count
    from replicse.provenance.record import provenance

    counted = count(data_folder(arguments.data), list(job.read), job.corpora)
    write_json(arguments.out, {**counted, "provenance": provenance()})


STAGE = Stage(CountJob.of, count)
