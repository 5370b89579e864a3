"""The verb `keep`: copy a finished study to reports/studies, or export it."""

import re
import shutil
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from replicse.cli.arguments import add_study_arguments
from replicse.cli.kept_parts import merge_configs, merge_records
from replicse.cli.record_source import add_record_arguments, keep_record
from replicse.cli.render import study_facts, write_kept
from replicse.cli.selected_study import own_study, refuse_other_config
from replicse.compile.cache import load_or_compile
from replicse.compile.paths import Paths
from replicse.compile.record_study import RECORD
from replicse.compile.specifications import Specifications, describe_outdated
from replicse.compile.study import Study
from replicse.compile.study_record import describe_study
from replicse.errors import BadInput, check_known
from replicse.files import check_there, read_json, write_json, write_ordered
from replicse.judge.report.judge_study import results_of
from replicse.judge.values.folder import committed
from replicse.judge.values.measurements import Measurements
from replicse.judge.values.origins import Records, common_origin, records_of
from replicse.printable import several
from replicse.registry.artefacts import CONFIG, PROVENANCE

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_study_arguments(
        parser, "replicse keep mine --config config/mine.yaml\n  replicse keep compact --crate compact.zip"
    )
    parser.add_argument("name", help="name of the folders in reports/studies and figures/studies")
    existing = parser.add_mutually_exclusive_group()
    existing.add_argument("--replace", action="store_true", help="replace the committed study of this name")
    existing.add_argument(
        "--add", action="store_true", help="add the items to the committed study of this name"
    )
    parser.add_argument(
        "--crate",
        type=Path,
        metavar="FILE.zip",
        help="export a committed study as an RO-Crate with papers, plug-ins, pins, scores of pairs and training logs",
    )
    parser.add_argument(
        "--weights",
        type=Path,
        metavar="FOLDER",
        help="copy the selected weights of each run to FOLDER/RUN, if --crate is given",
    )
    add_record_arguments(parser)


def run(arguments: Namespace) -> None:
    """Copy a finished study to reports/studies/NAME, or export it.

    The default is a copy in reports/studies. With --crate, a committed study is written as an RO-Crate; with --record,
    as a source of the record.

    Raises:
        BadInput: if the study is incomplete or outdated, or was computed from uncommitted code.
    """
    if not NAME.fullmatch(arguments.name):
        raise BadInput(f'name is "{arguments.name}"; expected lower-case letters, digits and hyphens')
    if arguments.name == RECORD:
        raise BadInput(f'name is "{RECORD}", which is reserved for the record; choose another name')
    if arguments.crate or arguments.weights:
        keep_crate(arguments.name, arguments.workflow, arguments.crate, arguments.weights)
        return
    if arguments.record:
        keep_record(arguments)
        return
    keep_study(arguments)


def keep_study(arguments: Namespace) -> None:
    """Copy a finished study to reports/studies/NAME, or add its items there.

    Args:
        arguments: the parsed arguments.

    Raises:
        BadInput: as `run`.
    """
    plan = finished_study(arguments)
    kept = Paths(plan.scale.name, arguments.name)
    exists = Path(kept.results, CONFIG).is_file()
    adding = exists and arguments.add
    if exists and not (arguments.replace or arguments.add):
        raise BadInput(
            f"{kept.results}: a committed study of this name exists; choose another name, or add --replace to"
            " overwrite it, or --add to add items"
        )
    config = plan.config.whole()
    if adding:
        config = merge_configs(read_json(kept.config), config, kept.config)
    for item in plan.items.values():
        for file in plan.evaluation_files(item):
            check_there(file, "run the study to the end, then keep it")
    refuse_outdated(plan)
    results = results_of(plan.items, Measurements(plan))
    runs, evaluations = records_of(results, Path(plan.paths.results))
    refuse_uncommitted(runs, evaluations, plan.paths)
    facts = made_facts(plan, runs, evaluations)
    if adding:
        whole = describe_study(load_or_compile(config, arguments.workflow, kept.config))
        facts = merge_records(read_json(kept.record), facts, whole)
    else:
        remove_earlier(kept)
    for result in results:
        write_json(kept.item(result.item), result.plain())
    # The papers keep the order of the config.
    write_ordered(kept.config, config)
    write_ordered(kept.record, facts)
    write_kept(arguments.name, arguments.workflow)
    seeds = ", ".join(map(str, plan.seeds))
    cells = sum(len(result.cells) for result in results)
    done = "added to" if adding else "kept"
    print(f"{done} {kept.results}: {several(len(results), 'item')}, {several(cells, 'cell')}, seeds {seeds}")


def finished_study(arguments: Namespace) -> Study:
    """Load the study to keep; `report` selects a study in the same way.

    Args:
        arguments: the parsed arguments.

    Raises:
        BadInput: if the study was not run with the config that the arguments select.
    """
    study = own_study(arguments, own=True).plan
    refuse_other_config(study)
    return study


def remove_earlier(kept: Paths) -> None:
    """Remove config, items, tables and figures of a study of this name."""
    # Without a config the folder is no study, so after a kill no reader combines new numbers with the old config.
    Path(kept.config).unlink(missing_ok=True)
    for folder in (f"{kept.results}/items", f"{kept.results}/tables", kept.figures):
        shutil.rmtree(folder, ignore_errors=True)


def refuse_outdated(study: Study) -> None:
    """Raise BadInput if an input of the evaluations has changed since."""
    specifications = Specifications(study)
    changes = {item: specifications.changes_of_item(item) for item in study.items}
    for sentence in describe_outdated(changes):
        raise BadInput(f"{sentence}; then keep the study")


def keep_crate(name: str, workflow: Path, out: Path | None, weights: Path | None) -> None:
    """Write a committed study as a crate.

    The crate contains the evaluations if the study was run in this folder.

    Args:
        name: the name of the study.
        workflow: the folder of the workflow.
        out: the zip file to write.
        weights: the folder to which the selected weights are copied; None to copy nothing.

    Raises:
        BadInput: if there is no committed study of this name, or if `weights` is given without `out` or without
            results.
    """
    from replicse.cli.crate import write_crate
    from replicse.cli.crate_evidence import Evidence

    if out is None:
        raise BadInput("--weights needs --crate; add --crate FILE.zip")
    studies = committed()
    check_known(name, studies, f'the committed study "{name}" does not exist')
    paths = studies[name]
    plan = load_or_compile(read_json(paths.config), workflow, paths.config)
    evidence = Evidence(plan, paths)
    results = evidence.results
    if not evidence.exists:
        print(
            f"{results}: not the results of {name}, so the crate does not contain scores of pairs",
            file=sys.stderr,
        )
        if weights:
            raise BadInput(
                f"--weights: {results} are not the results of {name}; run the study in this folder"
            )
    count = write_crate(name, paths, plan, out, evidence if evidence.exists else None)
    print(f"wrote={out} files={count} bytes={out.stat().st_size}")
    if weights and (missing := evidence.copy_weights(weights)):
        print(f"weights removed after evaluation, not in {weights}: {', '.join(missing)}", file=sys.stderr)


def refuse_uncommitted(runs: Records, evaluations: Records, paths: Paths) -> None:
    """Raise BadInput if code has uncommitted changes, now or in a result.

    Args:
        runs: the records of the runs, a dict by run.
        evaluations: the records of the evaluations, a dict by file.
        paths: the paths of the study.

    Raises:
        BadInput: if the code has uncommitted changes, a result was computed with such code, or a result has no record.
    """
    from replicse.provenance.record import software

    if software()["dirty"]:
        raise BadInput(
            f"the code differs from commit {software()['commit'][:12]}; commit the changes, run the study, then keep it"
        )
    for run, record in runs.items():
        remedy = f"delete {paths.run(run)} and {paths.results}/encoders/{run}-*, and run the study again"
        _refuse_dirty(paths.run(run, PROVENANCE), record, remedy)
    for file, record in evaluations.items():
        _refuse_dirty(file, record, "delete it and run the study again")


def _refuse_dirty(file: str, record: Mapping[str, Any], remedy: str) -> None:
    if not record:
        raise BadInput(f"{file}: the record of the code is missing; {remedy}")
    if record.get("dirty"):
        changes = f"computed with uncommitted changes to commit {record.get('commit', '')[:12]}"
        raise BadInput(f"{file}: {changes}; {remedy}")


def made_facts(plan: Study, *made: Records) -> dict[str, Any]:
    """Return the record of a study with commit, versions and hardware.

    A fact is used if it is the same for all results; the default is the fact of this machine. `dirty` is true
    if a result was computed from code with uncommitted changes.

    Args:
        plan: the study.
        made: the records of runs and of evaluations.
    """
    facts, alike = study_facts(describe_study(plan), read_json(plan.paths.data)), common_origin(*made)
    dirty = alike.get("dirty") if "commit" in alike else facts["dirty"] or alike.get("dirty")
    return {**facts, **alike, "dirty": bool(dirty)}
