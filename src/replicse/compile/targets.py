"""The targets of Snakemake: items, papers and released checkpoints."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from replicse.compile.discarded import list_discarded
from replicse.compile.job import DRAWINGS, Job
from replicse.compile.jobs import list_jobs
from replicse.compile.specifications import Specifications
from replicse.compile.study import Study
from replicse.registry.artefacts import DISCARDED
from replicse.spec.tables import Item
from replicse.world.files import FILES


class Inputs:
    """The files that each job uses, apart from the specification.

    Every job runs after the data job, but new data should cause a job to run again only if the specification changes.
    So the record of the data is an ancient input. If the data job runs, Snakemake does not run the readers because of
    an ancient input, and then ignores any other reason to run them. So the record is an ordinary input of outdated
    jobs.

    Args:
        specifications: the specifications of the jobs, written by the main process.
        ancient: Snakemake's function that marks a file as ancient.
    """

    def __init__(self, specifications: Specifications, ancient: Callable[[str], str]) -> None:
        self.specifications, self.ancient = specifications, ancient
        self.data = specifications.study.paths.data

    def of(self, stage: str) -> Callable[[Sequence[str]], list[str]]:
        """Create a function for the inputs of a stage's jobs.

        Args:
            stage: the stage.

        Returns:
            A function of the wildcards: the first is the scale, the others are the parts of the job's id.
        """
        jobs = self.specifications.jobs

        def list_inputs(wildcards: Sequence[str]) -> list[str]:
            job = jobs[stage, ".".join(wildcards[1:])]
            return [*self._data_of(job), *(file for file in job.inputs if file != self.data)]

        return list_inputs

    def _data_of(self, job: Job) -> list[str]:
        if job in self.specifications.outdated:
            return [self.data]
        # Snakemake runs the readers of a missing file again, even if it is an ancient input.
        is_lost = job in self.specifications.finished and not Path(self.data).exists()
        return [] if is_lost else [self.ancient(self.data)]


def list_generated_files(study: Study) -> list[str]:
    """Return the generated datasets; empty if the datasets are not embedded.

    Args:
        study: the study.

    Returns:
        A list of paths with a wildcard for the scale.
    """
    if study.source != "embedded":
        return []
    return [f"results/{{scale}}/data/{file}" for file in FILES]


def list_evaluations(study: Study, items: Iterable[Item]) -> list[str]:
    """Return the evaluation files of the cells of items, without duplicates.

    Args:
        study: the study.
        items: the items.
    """
    files: dict[str, None] = {}
    for item in items:
        files.update(dict.fromkeys(study.evaluation_files(item)))
    return list(files)


def list_discarded_weights(study: Study) -> list[str]:
    """Return the checksum files of removed weights.

    Args:
        study: the study.
    """
    return [study.paths.run(run, DISCARDED) for run in list_discarded(study)]


def list_released_evaluations(study: Study) -> list[str]:
    """Return the evaluations of all released encoders, which are downloaded.

    Args:
        study: the study.
    """
    files = []
    for name, encoder in study.encoders.items():
        if encoder.source.hub:
            files += [study.paths.evaluation(name, group) for group in study.groups(name)]
    return files


def list_item_files(study: Study, items: Iterable[Item]) -> list[str]:
    """Return the files of the target of items.

    Args:
        study: the study.
        items: the items.

    Returns:
        A list of data, evaluations, tables, pages and figures.
    """
    items = list(items)
    files = [*list_jobs(study)["data", ""].outputs, *list_evaluations(study, items)]
    for item in items:
        files += [study.paths.table(item.id), study.paths.page(item.id)]
        files += [study.paths.figure(item.id, kind) for kind in DRAWINGS if item.figure]
    return files


def list_targets(study: Study, is_rule: Callable[[str], bool]) -> dict[str, list[Item]]:
    """Return the items of each target.

    Args:
        study: the study.
        is_rule: a function that returns whether a rule has a name; a paper is a target unless a rule has the same
            name.

    Returns:
        A dict from targets to items. The targets of an item are `paper/item` and `paper_item`.
    """
    targets: dict[str, list[Item]] = {}
    for item in study.items.values():
        targets[item.id] = targets[item.target] = [item]
        if not is_rule(item.paper):
            targets.setdefault(item.paper, []).append(item)
    return targets
