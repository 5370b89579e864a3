"""A summary of a study before it runs: size and cost, by item, by paper and in total."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from replicse.compile.cost import Cost, TimeEstimate
from replicse.compile.needs import Need, amounts, needs
from replicse.compile.remarks import remarks
from replicse.compile.speed import Speed
from replicse.compile.study import Study
from replicse.spec.tables import Item


@dataclass(frozen=True)
class PartSummary:
    """The size of one or more items; `searches` are the runs that only a hyper-parameter search needs."""

    name: str
    title: str
    items: int
    cells: int
    training: TimeEstimate
    searches: TimeEstimate
    evaluations: int

    def plain(self) -> dict[str, Any]:
        """Return the summary as plain data."""
        searched = {"searched": self.searches.count, "searched_hours": self.searches.expected}
        counts = {"cells": self.cells, **self.training.plain("runs"), **searched}
        return {**counts, "evaluations": self.evaluations, "title": self.title}


@dataclass(frozen=True)
class Summary:
    """A study with the cost of the parts on a device: training, encoding for evaluations, and downloads.

    `items` and `papers` contain a part each; `released` are the encoders that are downloaded and not trained.
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
        """Return the summary as plain data, without items and papers."""
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
        device: a part of the name of a device; empty for the device measured last.
    """
    cost, searched = Cost(study, device), study.searched()

    def part(name: str, title: str, items: Iterable[Item]) -> PartSummary:
        items = list(items)
        return PartSummary(
            name,
            title,
            len(items),
            sum(study.extents[item.id].cells for item in items),
            cost.training(runs := set().union(*map(study.runs_of, items))),
            cost.training(runs & searched),
            len({file for item in items for file in study.evaluation_files(item)}),
        )

    every = list(study.items.values())
    return Summary(
        study,
        cost.speed,
        items=tuple(part(item.id, item.title, [item]) for item in every),
        papers=tuple(
            part(key, study.papers[key].about.title, (item for item in every if item.paper == key))
            for key in study.studied
        ),
        training=cost.training(study.runs),
        searched=cost.training(searched),
        not_searched=cost.training(study.runs.keys() - searched),
        released=cost.evaluation([name for name, each in study.encoders.items() if each.source.hub]),
        evaluation=cost.evaluation(study.encoders),
        gpu_bytes=cost.gpu_bytes,
        result_bytes=cost.saved_bytes(study.runs),
        needs=tuple(needs(study)),
        notes=tuple(remarks(study)),
    )
