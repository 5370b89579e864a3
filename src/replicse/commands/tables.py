"""Verbs that turn results into what a person reads: tabulate, figures, report."""

import logging
from argparse import ArgumentParser, Namespace
from pathlib import Path

from replicse.commands import Action
from replicse.files import read_json

log = logging.getLogger(__name__)


def tabulate_verb(parser: ArgumentParser) -> Action:
    """Write the judged cells of one item as CSV."""
    parser.epilog = (
        "example:\n  replicse tabulate --item results/micro/items/simcse/table3.json"
        " --out results/micro/tables/simcse/table3.csv"
    )
    parser.add_argument("--item", type=Path, required=True, help="the item's manifest")
    parser.add_argument("--out", type=Path, required=True)

    def action(arguments: Namespace) -> None:
        from replicse.study.paths import Paths
        from replicse.study.tabulate import write_table

        manifest = read_json(arguments.item)
        cells = write_table(manifest, Paths(manifest["scale"]), arguments.out)
        log.info("wrote=%s cells=%d", arguments.out, cells)

    return action
