"""The stage `figures`: draw the figure of one item."""

from argparse import Namespace

from replicse.checked import Text
from replicse.cli.render import draw_item
from replicse.cli.stages import Payload, Stage
from replicse.judge.verdicts.table import ItemResult


class FigureJob(Payload):
    """The path of the JSON file with an item's result."""

    item: Text


def figures(job: FigureJob, arguments: Namespace) -> None:
    """Draw the figure of an item as SVG, PNG and PDF; write data as CSV."""
    draw_item(ItemResult.read(job.item), arguments.out)


STAGE = Stage(FigureJob.of, figures)
