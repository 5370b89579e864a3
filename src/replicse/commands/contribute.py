"""The verb that adds a row to the reproduction log."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from replicse.commands import Action
from replicse.commands.crates import paths_of
from replicse.commands.render import made_facts, refuse_outdated
from replicse.commands.study import add_workflow_argument
from replicse.errors import BadInput, nearest
from replicse.files import read_json, sha256_of, write_rows
from replicse.study.plan.paths import Paths
from replicse.study.plan.planner import load_plan
from replicse.study.results.folder import held
from replicse.study.results.log import FIELDS, LOG, log_problems, log_row, logged
from replicse.study.results.made import agreed, records_of
from replicse.study.results.record import StudyRecord
from replicse.study.results.table import ItemResult


def contribute_verb(parser: ArgumentParser) -> Action:
    """Append a row per item of a study to reports/log.csv, and print what to put into a pull request."""
    parser.epilog = "example:\n  replicse contribute results/compact simcse/table3"
    parser.add_argument(
        "study", help="a results folder such as results/compact, or a committed study by its name"
    )
    parser.add_argument("items", nargs="*", metavar="ITEM", help="paper/item; nothing: all of the study")
    add_workflow_argument(parser)

    def action(arguments: Namespace) -> None:
        paths = paths_of(arguments.study)
        results = {result.item: result for result in held(Path(paths.results))}
        for name in arguments.items:
            if name not in results:
                raise BadInput(f'no item "{name}" in {paths.results}{nearest(name, results)}')
        name = paths.kept or paths.scale
        record_of = kept_record(paths) if paths.kept else own_record(paths, arguments.workflow)
        added = [
            log_row(results[item], record_of(results[item]), name, sha256_of(paths.item(item)))
            for item in arguments.items or results
        ]
        rows = [*logged(), *added]
        if problem := next(log_problems(rows), ""):
            raise BadInput(f"{LOG}: {problem}; nothing was added")
        write_rows(LOG, FIELDS, rows)
        print(f"wrote={LOG} rows={len(added)}")
        print(pull_request(added, arguments.study))

    return action


def kept_record(paths: Paths) -> Callable[[ItemResult], Mapping[str, Any]]:
    """Return the record of a committed study for each of its items."""
    record = read_json(paths.study)
    StudyRecord.of(record, paths.study)
    return lambda result: record


def own_record(paths: Paths, workflow: Path) -> Callable[[ItemResult], Mapping[str, Any]]:
    """Return the record of your own study by item: at the commit of its numbers, marked where several made them."""
    plan = load_plan(read_json(paths.config), workflow, paths.config)

    def record(result: ItemResult) -> Mapping[str, Any]:
        refuse_outdated(plan, [result])
        made = records_of([result], Path(paths.results))
        facts = made_facts(plan, *made)
        return {**facts, "dirty": facts["dirty"] or "commit" not in agreed(*made)}

    return record


def pull_request(rows: list[dict[str, str]], study: str) -> str:
    """Return the text of a pull request that brings some rows of a study, as the verb was given it."""
    first = rows[0]
    commit = first["commit"][:12] + "+" * first["commit"].endswith("+")
    lines = [
        "",
        f"Title: Reproduction log: {', '.join(dict.fromkeys(row['item'] for row in rows))} at scale {first['scale']}",
        "",
        f"- commit {commit}, seeds {first['seeds'] or 'none'}, {first['versions']}",
        f"- machine: {first['machine']}",
        *(
            f"- {row['item']}: {row['numbers'].count('; ') + 1} cells, sha256 {row['numbers_sha256'][:16]}"
            for row in rows
        ),
        "",
        f"Files: {LOG} alone. The numbers can be had again with `replicse pack {study}`.",
    ]
    return "\n".join(lines)
