"""The stage `backbone`: copy a released encoder into a folder."""

from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from replicse.checked import Text
from replicse.cli.stages import Payload, Stage
from replicse.data.sets import data_folder
from replicse.errors import MissingData
from replicse.workspace import encoder_place


class HubJob(Payload):
    """A released encoder on the hub."""

    hub: Text
    revision: Text


class FolderJob(Payload):
    """A released encoder in a folder of the data root."""

    folder: Text


def backbone_job(payload: Mapping[str, Any], location: str) -> HubJob | FolderJob:
    """Validate a payload; raises BadInput if it is wrong."""
    if "folder" in payload:
        return FolderJob.of(payload, location)
    return HubJob.of(payload, location)


def backbone(job: HubJob | FolderJob, arguments: Namespace) -> None:
    """Copy a released encoder from the hub or the data root into a folder."""
    from replicse.encoder.preparing import prepare_encoder

    if isinstance(job, FolderJob):
        source = encoder_place(job.folder, data_folder(arguments.data))
        if not source.is_dir():
            raise MissingData(f"{source}: the folder does not exist; use a folder with an encoder")
        facts = {"folder": job.folder}
    else:
        from replicse.data.hub import cached_encoder

        source, commit = cached_encoder(job.hub, job.revision)
        facts = {"repository": job.hub, "revision": commit}
    prepare_encoder(source, arguments.out, facts)


STAGE = Stage(backbone_job, backbone)
