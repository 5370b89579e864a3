"""The verb that checks config, papers and scales."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path

from replicse.cli.answers import answer, wrapped
from replicse.cli.arguments import add_study_arguments, chosen_config, chosen_study, config_layers
from replicse.compile.compiler import compile_study
from replicse.compile.remarks import remarks
from replicse.compile.resolve import check_parts
from replicse.compile.selection import chosen_items, chosen_scale, load_scales
from replicse.compile.study import Study
from replicse.errors import BadInput
from replicse.judge.claims import study_claims
from replicse.printable import several
from replicse.registry.corpora import Table
from replicse.registry.sets import EvaluationSet
from replicse.spec.additions import with_additions
from replicse.spec.config import (
    Config,
    checked_config,
    read_config,
)
from replicse.spec.datasets import load_datasets
from replicse.spec.papers import Paper, load_papers
from replicse.spec.running_text import numbers_in_text
from replicse.spec.scales import OfAnotherScale, Scale, load_scale


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_study_arguments(parser, "replicse validate")


def run(arguments: Namespace) -> None:
    """Check the config, all papers and all scales, and plan everything at every scale."""
    workflow = arguments.workflow
    values, file = chosen_config(arguments)
    config = checked_config(values, file)
    papers = load_papers(workflow, config.plugins)
    numbers_in_text(papers, load_datasets(workflow))
    scale_files = load_scales(workflow)
    check_configs(arguments, papers)
    scales = [
        with_additions(load_scale(path, scale_files), papers, config, file, scale_files)
        for path in scale_files.values()
    ]
    claims = study_claims(papers, papers)
    for scale in scales:
        check_parts(scale, papers, workflow)
    by_name = {key: tuple(paper.items) for key, paper in papers.items()}
    elsewhere: dict[str, list[str]] = {}
    for scale in scales:
        everything = Config(
            scale=scale.name,
            papers=by_name,
            seeds=(0,),
            adjudicate="all",
            corpora=config.corpora,
            sets=config.sets,
        )
        plan = compile_study(everything, workflow, file, papers=papers, as_far_as_possible=True)
        for item, error in plan.unplanned.items():
            elsewhere.setdefault(item, []).append(scale.name)
            if not isinstance(error, OfAnotherScale) or len(elsewhere[item]) == len(scales):
                raise error
        if scale.comparable:
            problem = next(unchanged_variants(plan), None)
            if problem:
                raise BadInput(problem)
    plan = chosen_study(arguments)
    check_tables(plan.scale)
    counts = {
        "papers": len(papers),
        "items": sum(len(paper.items) for paper in papers.values()),
        "cells": sum(map(len, plan.cells.values())),
        "runs": len(plan.runs),
        "claims": len(claims),
    }
    totals = ", ".join(several(count, what.removesuffix("s")) for what, count in counts.items())
    told = [f"{item} has no encoder at {', '.join(names)}" for item, names in elsewhere.items()]
    lines = wrapped([f"ok: {totals}", *told, *remarks(plan)])
    answer(arguments.json, {"scale": plan.scale.name, **counts}, lines)


def check_configs(arguments: Namespace, papers: dict[str, Paper]) -> None:
    """Check the config as each of its files leaves it, so that a mistake names the file it is in."""
    files, settings = config_layers(arguments)
    for count, file in enumerate(files, 1):
        config = checked_config(
            read_config(files[:count], arguments.scale, arguments.seeds, settings), str(file)
        )
        chosen_scale(config, arguments.workflow, str(file))
        list(chosen_items(config, papers, str(file)))


def check_tables(scale: Scale) -> None:
    """Read the corpora and evaluation sets of your own that are there, so that no job is the first to refuse them."""
    from replicse.data.corpora import read_corpus
    from replicse.data.set_tables import check_set

    for corpus in scale.corpora.values():
        if isinstance(corpus, Table) and Path(corpus.file).exists():
            read_corpus(Path(), corpus)
    for name, one in scale.options.get("sets", {}).get("sets", {}).items():
        if Path(one["file"]).exists():
            check_set(name, EvaluationSet.of(one, name))


def unchanged_variants(plan: Study) -> Iterator[str]:
    """Yield a sentence for each protocol that changes nothing in a row: its runs are those of the text."""
    for item, cells in plan.cells.items():
        described = {cell.id: cell for cell in plan.described(item)}
        paper = plan.papers[plan.items[item].paper]
        for protocol in paper.protocols:
            variants = [cell for cell in cells if cell.protocol == protocol.id and cell.jobs]
            for row in dict.fromkeys(cell.row.id for cell in variants):
                same = [
                    cell.jobs == described[cell.id.described].jobs for cell in variants if cell.row.id == row
                ]
                if all(same):
                    file = paper.folder / "protocols.yaml"
                    where = f"row {row} of {item} at scale {plan.scale.name}"
                    yield f"{file}: {protocol.id} changes nothing in {where}; fix its change or its cells"
