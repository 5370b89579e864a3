"""The stage `geometry`: measure alignment and uniformity of checkpoints."""

import logging
from argparse import Namespace

from replicse.cli.stages import Payload, Stage
from replicse.files import write_json
from replicse.library.requests import EncoderOptions

log = logging.getLogger(__name__)


class TrajectoryJob(EncoderOptions, Payload):
    """The folder of a run, options of the encoders, and plug-ins."""


def geometry(job: TrajectoryJob, arguments: Namespace) -> None:
    """Measure alignment and uniformity of each saved checkpoint of a run."""
    from replicse.data.sets import data_folder
    from replicse.library.encoders import set_threads
    from replicse.library.trajectory import measure_trajectory

    set_threads(arguments.threads)
    result = measure_trajectory(job, data_folder(arguments.data), arguments.device)
    write_json(arguments.out, result)
    log.info("wrote=%s seconds=%.1f", arguments.out, result["provenance"]["seconds"])


STAGE = Stage(TrajectoryJob.of, geometry, uses_gpu=True)
