"""The verbs that judge: claims, adjudication and audit of a complete study or of a part, and the story of one cell."""

import json
import logging
import textwrap
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from replicse.cli.answers import Action, answer, coloured, print_json, room
from replicse.cli.selected_study import SelectedStudy, selected_items, selected_study
from replicse.cli.study import (
    add_study_argument,
    add_study_arguments,
    add_workflow_argument,
    study_file,
)
from replicse.compile.compiler import compile_study
from replicse.compile.study import Cell, Study
from replicse.errors import BadInput, nearest
from replicse.judge.adjudicate import Explained, adjudicate, adjudicated
from replicse.judge.audit import audit, audit_plan, chosen, of_items
from replicse.judge.claims import cells_read, claim_rows, study_claims
from replicse.judge.incomplete import AsFarAsDone
from replicse.judge.story import cell_facts, cell_story, find_cell, item_of
from replicse.judge.study import controlled_item, results_of, study_of_others
from replicse.printable import columns
from replicse.registry.suites import unit_of
from replicse.show.pages.audit import audit_text
from replicse.show.pages.claims import FOR_OR_AGAINST, contradicted, probability_text
from replicse.spec.config import SHIPPED, checked_config, read_config
from replicse.spec.papers import load_papers
from replicse.spec.printed import printed_number

LOG = logging.getLogger(__name__)


def claims_verb(parser: ArgumentParser) -> Action:
    """Judge every claim in print, in the reproduction study's numbers and in ours."""
    add_study_arguments(parser, "replicse claims simcse --scale compact")
    parser.add_argument("name", nargs="?", help="a paper or a claim paper/claim; default: all papers")

    def action(arguments: Namespace) -> None:
        shown = selected_study(arguments)
        plan = shown.plan
        claims = study_claims(plan.papers, plan.studied)
        if (name := arguments.name) is not None:
            known = [*plan.studied, *(claim.name for claim in claims)]
            if name not in known:
                raise BadInput(f'no paper or claim "{name}" in this study{nearest(name, known)}')
            claims = [claim for claim in claims if name in (claim.paper, claim.name)]
        shown.announce(arguments.json)
        read = cells_read(claims, plan.papers)
        results = results_of(plan, {key[0] for key in read}, shown.evaluations, read)
        rows = claim_rows(plan, claims, results)
        judged = list(map(with_numbers, rows))
        document = {"scale": plan.scale.name, "study": shown.folder, "claims": judged}
        lines = claim_lines(rows, room()) if rows else [f"{name or 'the study'} states no claim"]
        lines = [f"scale {plan.scale.name}", *lines]
        answer(arguments.json, document, lines, probability="1", n_seeds="count")

    return action


def with_numbers(row: Mapping[str, str]) -> dict[str, Any]:
    """Return the row of a claim with its numbers as numbers; None where there is none."""
    return {**row, **{name: json.loads(row[name] or "null") for name in ("probability", "n_seeds")}}


def claim_lines(rows: Sequence[Mapping[str, str]], room: int) -> Iterator[str]:
    """Yield each claim with its outcomes, and below them the sentence and its place."""
    for row in rows:
        ours = f"{row['ours']}, {row['ran']}" if row["ours"] in FOR_OR_AGAINST else row["ours"]
        holds = probability_text(row["probability"])
        chance = f"; P {holds}" if holds.startswith(("<", ">")) else f"; P = {holds}" if holds else ""
        yield row["claim"]
        yield f"  in print {row['reported']}; reproduction {row['reproduction'] or '-'}; ours {ours}{chance}"
        for text in (f"{row['text']} ({row['place']})", row["remark"], *contradicted(row, rows)):
            yield from textwrap.wrap(text, room, initial_indent="  ", subsequent_indent="  ")


def adjudicate_verb(parser: ArgumentParser) -> Action:
    """Print what each protocol of an item explains, from the evaluations there are; say how the others are run."""
    add_study_arguments(parser, "replicse adjudicate repro/table4")
    parser.add_argument(
        "item", nargs="?", help="a paper or an item paper/item; nothing: all that the config adjudicates"
    )

    def action(arguments: Namespace) -> None:
        named: list[str] = []
        if arguments.item is not None:
            shown, named = selected_items(arguments, arguments.item)
        else:
            shown = selected_study(arguments)
        shown.announce(arguments.json)
        plan, evaluations = shown.plan, shown.evaluations
        committed = evaluations.paths.kept
        if named and not committed:
            config = plan.config.model_copy(update={"adjudicate": tuple(named)})
            plan = compile_study(
                config, plan.workflow, only=named[0] if len(named) == 1 else "", papers=plan.papers
            )
            evaluations = AsFarAsDone(plan)
        asked_for = [item for item in adjudicated(plan) if not named or item in named]
        results = {result.item: result for result in results_of(plan, asked_for, evaluations)}
        rows = [row for result in results.values() for row in adjudicate(plan.papers, result)]
        if not rows and committed:
            raise BadInput(
                f"{shown.folder}: no variant of {arguments.item or 'an item'} was run in this study"
            )
        if not rows:
            files = [str(plan.papers[paper].folder / "protocols.yaml") for paper in plan.studied]
            raise BadInput(
                f"{arguments.item or 'adjudicate'}: no protocol names a row of it; write one in {' or '.join(files)}"
            )
        if arguments.json:
            variants = [variant_facts(row, plan) for row in rows]
            document = {"scale": plan.scale.name, "study": shown.folder, "variants": variants}
            print_json(document, share="1", n_seeds="count")
            return
        for name in () if committed else results:
            if any(map(plan.paths.missing, plan.evaluation_files(plan.items[name]))):
                print(f"not all is run: replicse run {name} --config 'adjudicate=[{name}]'")
        from replicse.show.formats.terminal import page_text
        from replicse.show.pages.adjudication import adjudication_page

        texts = [
            {key: "" if value is None else str(value) for key, value in asdict(row).items()} for row in rows
        ]
        page = adjudication_page(texts, results, plan.scale.comparable)
        print(page_text(page, room(), coloured()))

    return action


def variant_facts(row: Explained, plan: Study) -> dict[str, Any]:
    """Return a variant as plain data: printed numbers and those by seed as numbers, and the unit of all of them."""
    read = {name: printed_number(getattr(row, name)) for name in ("reported", "reported_other")}
    printed = {name: number and float(number.exact) for name, number in read.items()}
    by_seed = [float(text) for text in row.by_seed.split("; ") if text]
    column = next(each for each in plan.items[row.item].columns if each.id == row.column)
    return {**asdict(row), **printed, "by_seed": by_seed, "unit": unit_of(column.metric_path)}


def audit_verb(parser: ArgumentParser) -> Action:
    """Check the papers' printed numbers against each other and against the data sets."""
    parser.epilog = "example:\n  replicse audit repro/table4"
    parser.add_argument("name", nargs="?", help="a paper or an item paper/item; default: all papers")
    add_study_argument(parser)
    add_workflow_argument(parser)
    parser.add_argument("--json", action="store_true", help="machine-readable output")

    def action(arguments: Namespace) -> None:
        file = study_file(arguments.study) if arguments.study else SHIPPED
        there = arguments.study or file.is_file()
        config = checked_config(read_config([file]), str(file)) if there else None
        papers = load_papers(arguments.workflow, config.plugins if config else ())
        plan = audit_plan(papers, arguments.workflow, study=config)
        findings = audit(plan)
        if arguments.study:
            items = [item for item in plan.items if config.holds(item)]
            findings = of_items(findings, items)
        if arguments.name:
            findings = chosen(findings, arguments.name, plan)
        document = {"findings": [asdict(one) for one in findings]}
        answer(arguments.json, document, [audit_text([one.row() for one in findings], room())])

    return action


def why_verb(parser: ArgumentParser) -> Action:
    """Tell where one cell comes from: printed place, values per seed, verdict, variants, claims, audit, runs."""
    add_study_arguments(parser, "replicse why simcse/table3/p0.1/stsb-dev")
    parser.add_argument("cell", help="paper/item/row/column[/metric][@protocol]")

    def action(arguments: Namespace) -> None:
        shown = selected_study(arguments, item_of(arguments.cell))
        shown.announce(arguments.json)
        story, facts = cell_story_of(shown, find_cell(shown.plan, arguments.cell))
        document = {"study": shown.folder, **facts, "story": story}
        unit = unit_of(facts["result"]["metric_path"])
        answer(arguments.json, document, story_lines(story, room()), result=unit, claims="1")

    return action


def cell_story_of(shown: SelectedStudy, cell: Cell) -> tuple[dict[str, list[str]], dict[str, Any]]:
    """Return the story of a cell as text and as data; claims and findings that cannot be judged are left out."""
    plan, evaluations = shown.plan, shown.evaluations
    (result,) = results_of(plan, [cell.item.id], evaluations)
    result = controlled_item(plan, result)
    name = "/".join(cell.key)
    asked_for = plan.config.papers
    papers = plan.papers if asked_for == "all" else [key for key, items in asked_for.items() if items]
    naming = [
        claim
        for claim in study_claims(plan.papers, plan.papers)
        if {name, name.rpartition("/")[0]} & set(claim.cells)
    ]
    claims = [claim for claim in naming if claim.paper in papers]
    read = cells_read(claims, plan.papers)
    others = {key[0] for key in read} - {cell.item.id}
    beside = study_of_others(plan, others)
    made = evaluations if evaluations.paths.kept else AsFarAsDone(beside)
    rows = claim_rows(plan, claims, [result, *results_of(beside, others, made, read)])
    findings = audit(audit_plan(plan.papers, plan.workflow, cell, plan.config), naming)
    evidence = (plan, cell, result, evaluations, rows, findings)
    facts = cell_facts(*evidence)
    return cell_story(*evidence), {**facts, "claims": list(map(with_numbers, facts["claims"]))}


def story_lines(story: Mapping[str, Sequence[str]], width: int) -> Iterator[str]:
    """Yield the lines of a story next to their headings, wrapped and indented below them."""
    rows = (
        ("" if place else heading, line)
        for heading, lines in story.items()
        for place, line in enumerate(lines)
    )
    return columns(rows, width=width, hang=2)
