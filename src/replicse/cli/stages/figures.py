"""The stage that draws one item."""

from argparse import Namespace

from replicse.checked import Text
from replicse.cli.render import draw_item
from replicse.cli.stages import Payload, Stage
from replicse.judge.verdicts.table import ItemResult


class FigureJob(Payload):
    """The path of an item's result."""

    item: Text


def figures(job: FigureJob, arguments: Namespace) -> None:
    """Draw an item as SVG, PNG and PDF, and write the plotted data as CSV."""
    draw_item(ItemResult.read(job.item), arguments.out)


STAGE = Stage(FigureJob.of, figures)
