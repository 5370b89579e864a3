"""What Snakemake is asked for: the files of items, of papers, and of everything that was released."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from replicse.compile.job import DRAWINGS
from replicse.compile.jobs import list_jobs
from replicse.compile.study import Study
from replicse.spec.tables import Item


def inputs_of(study: Study, stage: str) -> Callable[[Sequence[str]], list[str]]:
    """Return the function of wildcards that lists what a job of a stage reads, apart from the data record.

    The first wildcard is the scale, the others are the parts of the job's id.
    """

    def list_inputs(wildcards: Sequence[str]) -> list[str]:
        job = list_jobs(study)[stage, ".".join(wildcards[1:])]
        return [file for file in job.inputs if file != study.paths.data]

    return list_inputs


def stage_of(wildcards: Sequence[str], input: Any) -> str:
    """Return the stage of a job, which is in the path of its specification: `results/SCALE/jobs/STAGE/ID.json`."""
    return Path(input.specification).parts[3].removesuffix(".json")


def list_evaluations(study: Study, items: Iterable[Item]) -> list[str]:
    """Return the evaluations that the cells of items read, each once."""
    files = [file for item in items for file in study.evaluation_files(item)]
    return list(dict.fromkeys(files))


def list_released_evaluations(study: Study) -> list[str]:
    """Return the evaluations of all encoders that are downloaded as their authors released them."""
    files = []
    for name, encoder in study.encoders.items():
        if encoder.source.hub:
            files += [study.paths.evaluation(name, group) for group in study.groups(name)]
    return files


def list_item_files(study: Study, items: Iterable[Item]) -> list[str]:
    """Return what asking for items writes: data, their evaluations, tables, pages and figures."""
    items = list(items)
    files = [*list_jobs(study)["data", ""].outputs, *list_evaluations(study, items)]
    for item in items:
        files += [study.paths.table(item.id), study.paths.page(item.id)]
        files += [study.paths.figure(item.id, kind) for kind in DRAWINGS if item.figure]
    return files


def list_targets(study: Study, is_rule: Callable[[str], bool]) -> dict[str, list[Item]]:
    """Return the items of each target: `paper/item`, `paper_item`, and a paper unless a rule has its name."""
    targets: dict[str, list[Item]] = {}
    for item in study.items.values():
        targets[item.id] = targets[item.target] = [item]
        if not is_rule(item.paper):
            targets.setdefault(item.paper, []).append(item)
    return targets
