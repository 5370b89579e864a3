"""Verbs on studies as crates: pack, unpack, and merge of several labs."""

import shutil
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from replicse.commands import Action, room
from replicse.commands.render import NAME, finished, made_facts, write_ordered
from replicse.commands.study import add_workflow_argument
from replicse.crates.merge import LABS, Brought, brought, lab_rows, merged, merged_record
from replicse.crates.pack import SPECS, pack, write_crate
from replicse.errors import BadInput
from replicse.files import read_json, write_json, write_rows
from replicse.printable import columns
from replicse.registry.artefacts import CONFIG
from replicse.study.paper.config import checked_config
from replicse.study.plan.paths import Paths
from replicse.study.plan.planner import load_plan
from replicse.study.results.folder import committed, opened, record_of, study_folder
from replicse.study.results.made import records_of
from replicse.study.results.table import ItemResult
from replicse.study.results.tabulate import FIELDS, TIDY, table_rows, tidy_rows

SHOWN_CELLS = 40


def pack_verb(parser: ArgumentParser) -> Action:
    """Write a study without weights: config, specs, provenance, cells, evaluations, figures and report."""
    parser.epilog = (
        "example:\n  replicse pack compact\n  replicse pack results/compact --name ours --out ours.zip"
    )
    parser.add_argument(
        "study", help="a committed study by its name, or a results folder such as results/compact"
    )
    parser.add_argument(
        "--name", help="its name among the studies of others (default: the study's, or the scale)"
    )
    parser.add_argument("--out", type=Path, help="the crate (default: NAME.zip)")
    add_workflow_argument(parser)

    def action(arguments: Namespace) -> None:
        paths = paths_of(arguments.study)
        plan = load_plan(read_json(paths.config), arguments.workflow, paths.config)
        name = checked_name(arguments.name or paths.kept or plan.scale.name)
        if paths.kept:
            record = read_json(paths.study)
        else:
            record = made_facts(plan, *records_of(finished(plan), Path(paths.results)))
        out = arguments.out or Path(f"{name}.zip")
        count = pack(name, paths, plan, record, out)
        print(f"wrote={out} files={count} bytes={out.stat().st_size}")

    return action


def paths_of(name: str) -> Paths:
    """Return the paths of a committed study by its name, or of a results folder; BadInput where it is neither."""
    folder = study_folder(name)
    for paths in committed().values():
        if Path(paths.results).resolve() == folder.resolve():
            return paths
    record = record_of(folder)
    paths = Paths(checked_config(read_json(record), str(record)).scale)
    if Path(paths.results).resolve() != folder.resolve():
        raise BadInput(
            f"{folder}: not {paths.results} of this folder; start replicse where the study was run"
        )
    return paths


def checked_name(name: str) -> str:
    """Return the name of a study; BadInput where it is none."""
    if not NAME.fullmatch(name):
        raise BadInput(f'name is "{name}"; expected small letters, digits and hyphens')
    return name


def unpack_verb(parser: ArgumentParser) -> Action:
    """Put the study of a crate among the committed ones, once all of it is checked."""
    parser.epilog = (
        "example:\n  replicse unpack theirs.zip --name theirs\n  replicse show simcse/table3 --study theirs"
    )
    parser.add_argument("crate", type=Path, help="what replicse pack wrote")
    parser.add_argument("--name", help="its name here (default: the name in the crate)")

    def action(arguments: Namespace) -> None:
        source = opened(arguments.crate)
        name = checked_name(arguments.name or source.kept)
        target = Paths(source.scale, name)
        for folder in (target.results, target.figures):
            if Path(folder).exists():
                raise BadInput(f"{folder}: there is a study of this name; choose another one with --name")
        for theirs, ours in ((source.results, target.results), (source.figures, target.figures)):
            if Path(theirs).is_dir():
                shutil.copytree(theirs, ours)
        print(f"wrote={target.results}")
        print(f"replicse report --study {name} writes its pages; replicse compare {name} OTHER compares it")

    return action


def merge_verb(parser: ArgumentParser) -> Action:
    """Pool the seeds of several labs by run, refuse what differs, and tell the variance of labs from that of seeds."""
    parser.epilog = "example:\n  replicse merge compact ours.zip theirs.zip --out labs.zip"
    parser.add_argument(
        "studies", nargs="+", help="crates, committed studies by their names, or results folders"
    )
    parser.add_argument("--name", default="merged", help="the name of the pooled study (default: merged)")
    parser.add_argument("--out", type=Path, help="its crate (default: NAME.zip)")

    def action(arguments: Namespace) -> None:
        if len(arguments.studies) < 2:
            raise BadInput(f"merge of {arguments.studies[0]} alone; name two studies at least")
        name = checked_name(arguments.name)
        labs = [brought(study, study_folder(study)) for study in arguments.studies]
        results, out = merged(labs), arguments.out or Path(f"{name}.zip")
        write_merged(name, labs, results, out, read_json(study_folder(arguments.studies[0]) / CONFIG))
        print("\n".join([*merge_lines(labs, results), f"wrote={out}"]))

    return action


def write_merged(
    name: str, labs: Sequence[Brought], results: Sequence[ItemResult], out: Path, config: Mapping[str, Any]
) -> None:
    """Write the crate of a pooled study: items, tables, cells with who brought them, labs and forest plots."""
    with tempfile.TemporaryDirectory() as scratch:
        paths = Paths("", name, home=f"{scratch}/")
        for result in results:
            write_json(paths.item(result.item), result.plain())
            write_rows(paths.table(result.item), FIELDS, table_rows(result))
        write_rows(paths.cells, TIDY, tidy_rows(results))
        write_rows(paths.judged("labs"), LABS, lab_rows(results))
        record = merged_record(labs)
        write_ordered(paths.study, record)
        write_ordered(paths.config, config)
        specs = {run: spec for lab in labs for run, spec in lab.specs.items()}
        write_json(f"{paths.results}/{SPECS}", specs)
        draw_forests(results, Path(paths.figures))
        files = {
            file.relative_to(scratch).as_posix(): file for file in Path(scratch).rglob("*") if file.is_file()
        }
        write_crate(name, files, record, out)


def draw_forests(results: Sequence[ItemResult], folder: Path) -> None:
    """Draw the forest plot of every cell that several labs brought."""
    from replicse.report.forest import forest

    for result in results:
        for cell in result.cells:
            if cell.labs is not None:
                stem = "--".join(
                    filter(None, [*cell.key, "" if cell.protocol == "as-described" else cell.protocol])
                )
                safe = "".join(each if each.isalnum() or each in "-._" else "-" for each in stem)
                forest(result, cell, folder / "forest" / f"{result.item.replace('/', '-')}--{safe}.svg")


def merge_lines(labs: Sequence[Brought], results: Sequence[ItemResult]) -> Iterator[str]:
    """Yield what was pooled: each cell with labs and seeds apart, what is not pooled, and versions that differ."""
    cells = [(result, cell) for result in results for cell in result.cells]
    rows = [("/".join([result.item, *cell.key[:2]]), cell.labs.text) for result, cell in cells if cell.labs]
    yield from columns(rows[:SHOWN_CELLS], width=room()) if rows else ()
    if len(rows) > SHOWN_CELLS:
        yield f"and {len(rows) - SHOWN_CELLS} more cells; labs.csv of the crate holds all"
    several = sum(len({each.lab for each in cell.values}) > 1 for _, cell in cells)
    yield f"{several} of {len(cells)} cells from several labs, {len(rows)} of them with two variances"
    first = {
        (item, cell.key, cell.protocol) for item, result in labs[0].items.items() for cell in result.cells
    }
    for lab in labs[1:]:
        only = sum(
            (item, cell.key, cell.protocol) not in first
            for item, result in lab.items.items()
            for cell in result.cells
        )
        if only:
            yield f"{lab.name}: {only} cells that {labs[0].name} does not have are left out"
    # Those of the cells: a record names the version that packed the study.
    packages = [
        frozenset(package for item in lab.items.values() for cell in item.cells for package in cell.packages)
        for lab in labs
    ]
    if len({each for each in packages if each}) > 1:
        yield "made by different versions of the package: not all that differs need be the labs'"
