"""The verb that adds a row to the reproduction log."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from replicse.commands import Action
from replicse.commands.crates import paths_of
from replicse.commands.render import study_facts
from replicse.commands.study import add_workflow_argument
from replicse.errors import BadInput, nearest
from replicse.files import read_json, sha256_of, write_rows
from replicse.study.plan.planner import load_plan
from replicse.study.results.folder import held
from replicse.study.results.log import FIELDS, LOG, log_problems, log_row, logged
from replicse.study.results.record import StudyRecord


def contribute_verb(parser: ArgumentParser) -> Action:
    """Append a row per item of a study to reports/log.csv, and print what to put into a pull request."""
    parser.epilog = (
        "example:\n  replicse contribute results/compact simcse/table3\n  replicse contribute compact"
    )
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
        if paths.kept:
            record = read_json(paths.study)
            StudyRecord.of(record, paths.study)
        else:
            plan = load_plan(read_json(paths.config), arguments.workflow, paths.config)
            record = study_facts(plan.record, read_json(paths.data))
        name = paths.kept or paths.scale
        added = [
            log_row(results[item], record, name, sha256_of(paths.item(item)))
            for item in arguments.items or results
        ]
        rows = [*logged(), *added]
        if problem := next(log_problems(rows), ""):
            raise BadInput(f"{LOG}: {problem}; nothing was added")
        write_rows(LOG, FIELDS, rows)
        print(f"wrote={LOG} rows={len(added)}")
        print(pull_request(added))

    return action


def pull_request(rows: list[dict[str, str]]) -> str:
    """Return the text of a pull request that brings some rows."""
    first = rows[0]
    lines = [
        "",
        f"Title: Reproduction log: {', '.join(dict.fromkeys(row['item'] for row in rows))} at scale {first['scale']}",
        "",
        f"- commit {first['commit'][:12]}, seeds {first['seeds'] or 'none'}, {first['versions']}",
        f"- machine: {first['machine']}",
        *(
            f"- {row['item']}: {row['numbers'].count('; ') + 1} cells, sha256 {row['numbers_sha256'][:16]}"
            for row in rows
        ),
        "",
        f"Files: {LOG} alone. The numbers can be had again with `replicse pack {first['study']}`.",
    ]
    return "\n".join(lines)
