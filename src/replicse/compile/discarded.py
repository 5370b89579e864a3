"""The weights that a complete study removes.

The weights of a run that only a search uses are removed after all evaluations of the run exist.
"""

from collections.abc import Mapping

from replicse.compile.study import Study


def list_discarded(study: Study) -> Mapping[str, tuple[str, ...]]:
    """Return the runs whose weights are removed.

    A search is decided by development scores, which evaluations contain. Weights that another run uses are kept. A
    scale can keep the weights of all searches.

    Args:
        study: the study.

    Returns:
        A dict from the id of a run to the evaluations that should exist before the removal. It is empty if the scale
        keeps the weights of searches.
    """
    discarded: Mapping[str, tuple[str, ...]] = study.remember("discarded", _list_discarded)
    return discarded


def _list_discarded(study: Study) -> Mapping[str, tuple[str, ...]]:
    if study.scale.needs.keeps_searches:
        return {}
    read = set().union(*study.depends.values())
    evaluations: dict[str, list[str]] = {run: [] for run in sorted(study.searched() - read)}
    for name, encoder in study.encoders.items():
        run = encoder.source.run or ""
        if run not in evaluations:
            continue
        evaluations[run] += [study.paths.evaluation(name, group) for group in study.groups(name)]
    return {run: tuple(files) for run, files in evaluations.items() if files}
