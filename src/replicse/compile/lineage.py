"""The lineage of runs: dependencies between runs, sources of weights."""

from collections.abc import Mapping

from replicse.compile.study import Study
from replicse.registry.encoders import CHECKPOINTS
from replicse.registry.frozen import frozen_models
from replicse.registry.runs import Init, Run
from replicse.workspace import encoder_place


def checkpoint_runs(study: Study) -> dict[str, str]:
    """Return the run that writes each folder of weights.

    Args:
        study: the study.

    Returns:
        A dict from folders to the ids of runs.
    """
    return {study.paths.run(run, which): run for run in study.runs for which in CHECKPOINTS}


def run_dependencies(study: Study) -> dict[str, tuple[str, ...]]:
    """Return the direct dependencies of each run.

    Args:
        study: the study.

    Returns:
        A dict from the id of a run to the ids of other runs.
    """
    made_by = checkpoint_runs(study)
    depends = {}
    for name, run in study.runs.items():
        depends[name] = tuple(made_by[folder] for folder in _folders(study, run) if folder in made_by)
    return depends


def run_sources(study: Study) -> Mapping[str, Init]:
    """Return the start of each run and of each folder of weights.

    Args:
        study: the study.

    Returns:
        A dict from runs and folders to the source of their weights. Folders of the data root are full paths.
    """
    sources = {run: spec.init for run, spec in study.runs.items()}
    for folder, run in checkpoint_runs(study).items():
        sources[folder] = study.runs[run].init
    for name, source in study.backbones.items():
        sources[study.paths.backbone(name)] = Init(**source)
        if place := source.get("folder"):
            sources[place] = Init(folder=str(encoder_place(place, study.data_root)))
    return sources


def _folders(study: Study, run: Run) -> list[str]:
    """Return the folders of weights that a run loads, from start to views."""
    folders = [study.init_folder(run), *(model.folder or "" for model in frozen_models(run))]
    for source in run.sources:
        for view in source.views:
            if proposer := getattr(view.augment, "encoder", None):
                folders.append(proposer)
    return folders
