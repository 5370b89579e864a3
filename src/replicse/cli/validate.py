"""The verb `validate`: check config, papers and scales, or a crate."""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path

from replicse.cli.answers import add_all_argument, answer, on_a_screen
from replicse.cli.arguments import (
    add_study_arguments,
    chosen_config,
    config_layers,
    config_source,
    own_papers,
)
from replicse.compile.cache import load_or_compile
from replicse.compile.remarks import remarks
from replicse.compile.selection import chosen_items, chosen_scale
from replicse.compile.validation import validate_scales
from replicse.judge.claims.judge_claims import study_claims
from replicse.printable import several
from replicse.spec.cell_names import CellNames
from replicse.spec.config import (
    checked_config,
    read_config,
)
from replicse.spec.datasets import load_datasets
from replicse.spec.papers import Paper, load_papers
from replicse.spec.record import check_record, load_record
from replicse.spec.running_text import numbers_in_text


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_study_arguments(parser, "replicse validate\n  replicse validate compact.zip")
    parser.add_argument(
        "crate",
        type=Path,
        nargs="?",
        help="a crate of keep --crate, to compute scores again from the pairs; default: validate the config",
    )
    add_all_argument(parser)


def run(arguments: Namespace) -> None:
    """Check config, papers and scales, or a crate.

    By default, every paper is compiled at every scale. If a crate is given, the scores are computed again from the
    pairs and should be equal.

    Raises:
        BadInput: if a file contains a mistake; the message contains file, key and value.
    """
    from replicse.data.set_tables import check_tables

    if arguments.crate:
        from replicse.cli.crate_evidence import validate_crate

        counts = validate_crate(arguments.crate)
        answer(arguments.json, counts, [f"ok: {format_counts(counts)}"])
        return
    workflow = arguments.workflow
    values, file = chosen_config(arguments)
    config = checked_config(values, file)
    papers = load_papers(workflow, config.plugins)
    numbers_in_text(CellNames(papers, chosen=True), load_datasets(workflow))
    check_record(load_record(workflow), papers)
    check_configs(arguments, papers)
    claims = study_claims(CellNames(papers), papers)
    elsewhere = validate_scales(config, papers, workflow, file)
    own = own_papers(values, arguments)
    plan = load_or_compile(config, workflow, file, papers=papers)
    check_tables(plan.scale.corpora.values(), plan.scale.options.get("sets", {}).get("sets", {}))
    # Everything is checked, but the answer is about the papers of this folder, if it has any.
    shown = plan
    if own:  # an item may have no encoder at this scale
        shown = load_or_compile({**values, **own}, workflow, file, papers=papers, as_far_as_possible=True)
    chosen = own.get("papers", papers).keys()
    counts = {
        "papers": len(chosen),
        "items": sum(len(papers[key].items) for key in chosen),
        "cells": sum(map(len, shown.cells.values())),
        "runs": len(shown.runs),
        "claims": len([claim for claim in claims if claim.paper in chosen]),
    }
    notes = []
    for item, names in elsewhere.items():
        if item.partition("/")[0] in chosen:
            notes.append([f"{item} does not have an encoder at {', '.join(names)}"])
    for remark in remarks(shown):
        notes.append([remark])
    lines = on_a_screen(arguments, [f"ok: {format_counts(counts)}"], notes, "remark")
    answer(arguments.json, {"scale": plan.scale.name, **counts}, lines)


def format_counts(counts: Mapping[str, int]) -> str:
    """Format counts such as {"papers": 2, "items": 1} as "2 papers, 1 item"."""
    return ", ".join(several(count, what.removesuffix("s")) for what, count in counts.items())


def check_configs(arguments: Namespace, papers: Mapping[str, Paper]) -> None:
    """Check each config file, to get errors with the right file name.

    Args:
        arguments: the parsed arguments with the list of files.
        papers: a dict from key to paper.
    """
    files, settings = config_layers(arguments)
    for count, file in enumerate(files, 1):
        source = config_source(file, settings)
        config = checked_config(
            read_config(files[:count], arguments.scale, arguments.seeds, settings), source
        )
        chosen_scale(config, arguments.workflow, source)
        list(chosen_items(config, papers, source))
