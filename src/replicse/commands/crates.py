"""The verb that writes a study as a crate."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from replicse.commands import Action
from replicse.commands.render import NAME, finished, made_facts
from replicse.commands.study import add_workflow_argument
from replicse.crates.pack import pack
from replicse.errors import BadInput
from replicse.files import read_json
from replicse.study.paper.config import checked_config
from replicse.study.plan.paths import Paths
from replicse.study.plan.planner import load_plan
from replicse.study.results.folder import committed, record_of, study_folder
from replicse.study.results.made import records_of


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
