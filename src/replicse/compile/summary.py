"""A summary of a study before it runs: how much there is of each item and of all, and what it takes."""

from dataclasses import dataclass
from typing import Any

from replicse.compile.cost import Cost, Speed, TimeEstimate
from replicse.compile.needs import Need, amounts, needs
from replicse.compile.remarks import remarks
from replicse.compile.study import Study
from replicse.spec.tables import Item


@dataclass(frozen=True)
class ItemSummary:
    """How much there is of an item; `searched` are those of its runs that a search over hyper-parameters needs."""

    item: Item
    cells: int
    training: TimeEstimate
    searched: int
    evaluations: int


@dataclass(frozen=True)
class Summary:
    """A study with what its parts take on a device: training its runs, encoding for its evaluations, and downloads.

    `released` are the encoders that are downloaded as they are.
    """

    study: Study
    speed: Speed
    items: tuple[ItemSummary, ...]
    training: TimeEstimate
    searched: TimeEstimate
    not_searched: TimeEstimate
    released: TimeEstimate
    evaluation: TimeEstimate
    needs: tuple[Need, ...]

    def plain(self) -> dict[str, Any]:
        """Return the summary as plain data, without its items."""
        study, (download, disk, _) = self.study, amounts(self.needs)
        return {
            "scale": study.scale.name,
            "seeds": study.seeds,
            "device": self.speed.device,
            "measured": self.speed.when or None,
            **self.training.plain("runs"),
            "searched": self.searched.plain("runs"),
            "not_searched": self.not_searched.plain("runs"),
            "released": self.released.plain("encoders"),
            "encoders": self.evaluation.count,
            "evaluation": self.evaluation.plain("encoders"),
            "stores": len(study.stores),
            "download_bytes": download,
            "disk_bytes": disk,
            "left_out": study.left_out,
            "unpinned": sorted(study.unpinned),
            "notes": list(remarks(study)),
        }


def summary_of(study: Study, device: str = "") -> Summary:
    """Return the summary of a study on a device, named by a part of its name; without one on the newest measured."""
    cost, searched = Cost(study, device), study.searched()
    items = tuple(
        ItemSummary(
            item,
            len(study.cells[item.id]),
            cost.training(runs := study.runs_of(item)),
            len(runs & searched),
            len(study.evaluation_files(item)),
        )
        for item in study.items.values()
    )
    return Summary(
        study,
        cost.speed,
        items,
        training=cost.training(study.runs),
        searched=cost.training(searched),
        not_searched=cost.training(study.runs.keys() - searched),
        released=cost.evaluation(study.downloaded()),
        evaluation=cost.evaluation(study.encoders),
        needs=tuple(needs(study)),
    )
