"""The size and cost of a study before it runs.

The sizes and costs are by item, by paper and in total.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from replicse.compile.cost import Cost, TimeEstimate
from replicse.compile.discarded import list_discarded
from replicse.compile.needs import Need, amounts, needs
from replicse.compile.remarks import remarks
from replicse.compile.speed import Speed
from replicse.compile.study import Study
from replicse.spec.tables import Item


@dataclass(frozen=True)
class PartSummary:
    """The size of one or more items.

    Args:
        name: the id of the item, or the key of the paper.
        title: the title.
        items: the number of items.
        cells: the number of cells.
        training: the time of all runs.
        searches: the time of the runs that only a hyper-parameter search uses.
        evaluations: the number of evaluation files.
    """

    name: str
    title: str
    items: int
    cells: int
    training: TimeEstimate
    searches: TimeEstimate
    evaluations: int

    def plain(self) -> dict[str, Any]:
        """Return the summary as a dict."""
        searched = {"searched": self.searches.count, "searched_hours": self.searches.expected}
        counts = {"cells": self.cells, **self.training.plain("runs"), **searched}
        return {**counts, "evaluations": self.evaluations, "title": self.title}


@dataclass(frozen=True)
class Summary:
    """A study with the cost of the parts on a device.

    The cost includes training, encoding for evaluations, and downloads. `items` and `papers` contain a part each;
    `released` are the encoders that are downloaded and not trained.
    """

    study: Study
    speed: Speed
    items: tuple[PartSummary, ...]
    papers: tuple[PartSummary, ...]
    training: TimeEstimate
    searched: TimeEstimate
    not_searched: TimeEstimate
    released: TimeEstimate
    evaluation: TimeEstimate
    gpu_bytes: float | None
    result_bytes: int
    needs: tuple[Need, ...]
    notes: tuple[str, ...]

    def plain(self) -> dict[str, Any]:
        """Return the summary as a dict, without items and papers."""
        study, (download, disk, _) = self.study, amounts(self.needs)
        return {
            "scale": study.scale.name,
            "seeds": study.seeds,
            "device": self.speed.device,
            "measured": self.speed.when or None,
            "rows_per_second": self.speed.rates,
            **self.training.plain("runs"),
            "searched": self.searched.plain("runs"),
            "not_searched": self.not_searched.plain("runs"),
            "released": self.released.plain("encoders"),
            "encoders": self.evaluation.count,
            "evaluation": self.evaluation.plain("encoders"),
            "gpu_bytes": self.gpu_bytes,
            "result_bytes": self.result_bytes,
            "stores": len(study.stores),
            "download_bytes": download,
            "disk_bytes": disk,
            "left_out": study.left_out,
            "unpinned": sorted(study.unpinned),
            "notes": self.notes,
        }


def summary_of(study: Study, device: str = "") -> Summary:
    """Summarise a study on a device.

    Args:
        study: the study.
        device: a part of the device's name. Default: the last measured device.
    """
    cost, searched = Cost(study, device), study.searched()

    def summarise(name: str, title: str, items: Sequence[Item]) -> PartSummary:
        runs: set[str] = set()
        files: set[str] = set()
        for item in items:
            runs |= study.runs_of(item)
            files.update(study.evaluation_files(item))
        return PartSummary(
            name,
            title,
            items=len(items),
            cells=sum(study.extents[item.id].cells for item in items),
            training=cost.training(runs),
            searches=cost.training(runs & searched),
            evaluations=len(files),
        )

    every = list(study.items.values())
    papers = []
    for key in study.studied:
        own = [item for item in every if item.paper == key]
        papers.append(summarise(key, study.papers[key].about.title, own))
    released = [name for name, each in study.encoders.items() if each.source.hub]
    return Summary(
        study,
        cost.speed,
        items=tuple(summarise(item.id, item.title, [item]) for item in every),
        papers=tuple(papers),
        training=cost.training(study.runs),
        searched=cost.training(searched),
        not_searched=cost.training(study.runs.keys() - searched),
        released=cost.evaluation(released),
        evaluation=cost.evaluation(study.encoders),
        gpu_bytes=cost.gpu_bytes,
        result_bytes=cost.saved_bytes(study.runs.keys() - list_discarded(study).keys()),
        needs=tuple(needs(study)),
        notes=tuple(remarks(study)),
    )
