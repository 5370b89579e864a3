"""The stage that brings a released encoder into one folder."""

from argparse import Namespace
from typing import Self

from pydantic import model_validator

from replicse.checked import Text
from replicse.cli.stages import Payload, Stage
from replicse.data.sets import data_folder
from replicse.errors import MissingData
from replicse.workspace import encoder_place


class BackboneJob(Payload):
    """A released encoder on the hub, or in a folder of the data root."""

    hub: Text | None = None
    revision: Text | None = None
    folder: Text | None = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.folder is None and None in (self.hub, self.revision):
            raise ValueError("hub with revision, or folder")
        return self


def backbone(job: BackboneJob, arguments: Namespace) -> None:
    """Bring a released encoder, from the hub or from the data root, into one folder."""
    from replicse.encoder.preparing import prepare_encoder

    if job.folder:
        source = encoder_place(job.folder, data_folder(arguments.data))
        if not source.is_dir():
            raise MissingData(f"{source}: no such folder; name one with an encoder")
        facts = {"folder": job.folder}
    else:
        from replicse.data.hub import cached_encoder

        source, commit = cached_encoder(job.hub, job.revision)
        facts = {"repository": job.hub, "revision": commit}
    prepare_encoder(source, arguments.out, facts)


STAGE = Stage(BackboneJob.of, backbone)
