"""The verb that runs items: Snakemake with their names looked up, the config passed on, a stale lock taken away."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

from psutil import NoSuchProcess, Process

from replicse.cli.answers import wrapped
from replicse.cli.arguments import add_study_arguments, chosen_config, config_layers, own_papers, own_rows
from replicse.cli.profiles import profile_named, refuse_absent_gpus
from replicse.compile.cache import load_or_compile
from replicse.compile.compiler import compile_study
from replicse.compile.needs import absent, absent_root, unpinned_text
from replicse.compile.paths import Paths, drop_partial
from replicse.compile.remarks import adjusted_text
from replicse.compile.selection import chosen_items, too_large
from replicse.compile.study import Study
from replicse.errors import BadInput, MissingData, check_known, nearest
from replicse.files import remove_temporary_files
from replicse.judge.values.folder import committed
from replicse.printable import several
from replicse.registry.registry import current
from replicse.registry.suite_options import to_install
from replicse.runtime.environment import job_environment
from replicse.runtime.limits import check_cache_folder, raise_file_limit
from replicse.runtime.locks import free, hold
from replicse.spec.config import SHIPPED, by_paper, checked_config
from replicse.spec.tables import Item
from replicse.workspace import packaged

TARGETS = ("all", "released")
DRY = {"-n", "--dry-run", "--dryrun"}  # as Snakemake spells it
# Runs a module that Ctrl-C ends without a traceback while it is imported.
QUIET = "replicse.runtime.interrupts"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_study_arguments(parser, "replicse run simcse/table3 --scale micro --seeds 3")
    parser.epilog = (
        f"{parser.epilog}\n  replicse run --scale paper --profile slurm\n  replicse run --study reference"
    )
    parser.add_argument(
        "item",
        nargs="*",
        metavar="ITEM",
        help="paper/item, paper, released or all; default: your own, else all. After -- options of Snakemake",
    )
    parser.add_argument(
        "--row",
        action="append",
        default=[],
        metavar="NAME=ENCODER",
        help="a row of your own in the item: a folder or hub id, and perhaps :POOLING after it; repeatable",
    )
    # The command line puts here what stands behind a lone `--`.
    parser.set_defaults(further=[])
    parser.add_argument(
        "--profile",
        help="how jobs are run: one of workflow/profiles, or of Snakemake",
    )
    parser.add_argument("--cores", metavar="N", help="default: all, or what the profile says")
    parser.add_argument(
        "-n", "--dry-run", action="store_true", help="say what would run, of named items with the commands"
    )


def run(arguments: Namespace) -> int:
    """Run what some arguments ask for, say where its pages are, and return the exit code."""
    if name := arguments.study:
        check_known(name, committed(), f'--study: no committed study is named "{name}"')
    if arguments.cores and not re.fullmatch(r"all|0*[1-9]\d*", arguments.cores):
        raise BadInput(f'--cores is {arguments.cores}; expected "all" or a number at least 1')
    config, file = chosen_config(arguments)
    own = own_settings(config, arguments)
    checked = checked_config({**config, **own}, file)
    if arguments.profile:
        arguments.profile = profile_named(arguments.profile, arguments.workflow)
    if not arguments.dry_run:
        refuse_absent_gpus(arguments.profile, arguments.further)
    # Snakemake would tell a mistake among lines of its own.
    whole = load_or_compile(checked, arguments.workflow, file)
    study_items = list(chosen_items(checked, whole.papers, file))
    large = too_large(study_items, checked, whole.scale)
    items = items_named(arguments.item, study_items, large)
    plan = of_items(whole, items)
    refuse_absent(plan, items)
    refuse_missing_extras(plan)
    left_out = (f"{item} is left out: {error}" for item, error in plan.unplanned.items())
    for line in wrapped(
        filter(
            None,
            (
                from_hub(arguments),
                adjusted_text(plan, plan.items.values()),
                unpinned_text(plan),
                absent_root(plan),
                *left_out,
            ),
        )
    ):
        print(line, file=sys.stderr)
    command = snakemake_words(
        arguments,
        [each if isinstance(each, str) else each.target for each in items],
        own.get("papers") or named_papers(items, study_items, large),
    )
    refuse_read_only(config["scale"])
    check_cache_folder(os.environ)
    raise_file_limit()
    with nullcontext() if arguments.dry_run else hold(Path.cwd()):
        for sentence in [] if arguments.dry_run else [*free(Path.cwd()), *remove_leftovers(config["scale"])]:
            print(sentence, file=sys.stderr)
        code = exit_code([*command[:-1], *arguments.further, "--", *command[-1]], arguments.workflow)
    if arguments.dry_run:
        if arguments.item:
            words = [*command[3:-3], *arguments.further, "--", *command[-1]]
            print(f"all commands in full: {shlex.join(words)}")
    elif code == 0 and not DRY & {*arguments.further}:
        print_end(items, plan)
    return 1 if code else 0


def from_hub(arguments: Namespace) -> str:
    """Return which rows of `--row` are no folder, so that a misspelt one is no surprise; blank for none."""
    names = ", ".join(row["hub"] for row in own_rows(arguments.row).values() if "hub" in row)
    return f"no such folder here, so read as a hub id: {names}" if names else ""


def print_end(items: Sequence[Item | str], study: Study) -> None:
    """Print the last lines of a run that has succeeded: pages, your own rows, differences to the baseline row."""
    from replicse.cli.closing import print_pages, print_results

    scale = study.scale.name
    whole_study = not items or "all" in items
    named = [item.id for item in items if isinstance(item, Item)]
    # Snakemake runs no handlers if there is nothing to do, as after a run that was killed at its very end.
    if whole_study:
        drop_partial(scale)
    print_pages(named, whole_study, scale)
    print_results(named, scale)


def own_settings(config: Mapping[str, Any], arguments: Namespace) -> dict[str, Any]:
    """Return the papers of this folder where no other is named, and say so where none is; nothing for others."""
    own = own_papers(config, arguments)
    if {item.partition("/")[0] for item in arguments.item} - own.get("papers", {}).keys():
        return {}
    if own and not arguments.item:
        names = ", ".join(own["papers"])
        print(f"papers of this folder: {names}; replicse run all runs the package's too", file=sys.stderr)
    return own


def exit_code(words: Sequence[str], workflow: Path) -> int:
    """Run Snakemake on a workflow and return its code; what asks this process to end asks all that it has started.

    Ctrl-C is Snakemake's to answer, for it hears it too and has jobs to end and a lock to free.
    """

    def end(*_: object) -> None:
        for process in Process().children(recursive=True):
            with suppress(NoSuchProcess):
                process.terminate()

    # A handler is not inherited, as SIG_IGN would be.
    handlers = {signal.SIGINT: lambda *_: None, signal.SIGTERM: end, signal.SIGHUP: end}
    # A job has one thread per core.
    environment = {"OMP_NUM_THREADS": "1", **job_environment(workflow, os.environ)}
    # Snakemake and libraries of jobs give warnings, which must not end them.
    environment.pop("PYTHONWARNINGS", None)
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        code = subprocess.run(words, env=environment, check=False).returncode
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if code == -signal.SIGINT:  # before Snakemake had started a job
        raise KeyboardInterrupt
    return code


def of_items(plan: Study, asked: Sequence[Item | str]) -> Study:
    """Return the plan of some items of a study alone; of all of it where no item is named."""
    named = [item.id for item in asked if isinstance(item, Item)]
    if not named or "all" in asked:
        return plan
    return compile_study(plan.config.of_items(named), plan.workflow, papers=plan.papers)


def refuse_absent(plan: Study, asked: Sequence[Item | str]) -> None:
    """Raise MissingData where a corpus, evaluation set or encoder of your own that a plan reads is not there.

    What the authors released is read with none of them.
    """
    for problem in absent(plan) if asked != ["released"] else ():
        raise MissingData(problem)


def refuse_missing_extras(study: Study) -> None:
    """Raise BadInput if a suite of a study needs an extra of the package that is not installed."""
    suites = set().union(*study.suites.values()) & current().suites.keys()
    for suite in sorted(suites):
        if problem := to_install(suite, study.scale.suite_options(suite)):
            raise BadInput(f"scale {study.scale.name}: {problem}")


def refuse_read_only(scale: str) -> None:
    """Raise BadInput where a folder of the study's outputs is there but cannot be written."""
    paths = Paths(scale)
    for folder in map(Path, (paths.results, paths.reports, paths.logs)):
        if folder.is_dir() and not os.access(folder, os.W_OK):
            raise BadInput(f"{folder}: cannot be written; make it writable, then start again")


def remove_leftovers(scale: str) -> Iterator[str]:
    """Remove the temporary files of killed jobs and say so; no other process writes in the folder of a study."""
    paths = Paths(scale)
    started = Process().create_time()
    if count := remove_temporary_files([paths.results, paths.reports, paths.figures, paths.logs], started):
        yield f"removed {several(count, 'temporary file')} of jobs that were killed"


def items_named(
    words: Sequence[str], study_items: Sequence[Item], large: Sequence[Item] = ()
) -> list[Item | str]:
    """Return the items, or targets of the workflow, that words name; BadInput names the nearest one.

    An item may be written `simcse/table3` or `simcse_table3`; a paper alone is all of its items but those that are too
    `large` to be run unless they are named.
    """
    by_name = {_plain(item.id): item for item in study_items}
    matches: list[Item | str] = []
    for word in words:
        of_paper = [item for item in study_items if item.paper == word.lower() and item not in large]
        if word in TARGETS:
            matches.append(word)
        elif _plain(word) in by_name:
            matches.append(by_name[_plain(word)])
        elif of_paper:
            matches += of_paper
        else:
            raise BadInput(
                f'no item "{word}" in this study{nearest(word, [item.id for item in study_items])}'
            )
    return list({getattr(each, "id", each): each for each in matches}.values())


def _plain(name: str) -> str:
    return re.sub("[^a-z0-9]", "", name.lower())


def named_papers(
    items: Sequence[Item | str], study_items: Sequence[Item], large: Sequence[Item]
) -> dict[str, Any]:
    """Return the papers of a study that has some of the too large items by their names; nothing where none is asked."""
    asked = [item for item in large if item in items]
    return by_paper(item.id for item in study_items if item in asked or item not in large) if asked else {}


def snakemake_words(arguments: Namespace, targets: Iterable[str], papers: Mapping[str, Any]) -> list[Any]:
    """Return Snakemake's command line; its last word is the list of targets. `papers` replace those of the config."""
    # Snakemake cannot know whether files are complete that its jobs have written after it was killed.
    words = [
        sys.executable,
        "-m",
        QUIET,
        "snakemake",
        "--keep-going",
        "--rerun-incomplete",
        "--scheduler",
        "greedy",
    ]
    # What changes a result is in the specification of its job, so that dates of files suffice.
    words += ["--rerun-triggers", "mtime"]
    if not Path("Snakefile").is_file():
        words += ["--snakefile", str(packaged("Snakefile"))]
    if arguments.profile:
        words += ["--profile", arguments.profile]
    if arguments.cores or not arguments.profile:
        words += ["--cores", arguments.cores or "all"]
    files, settings = config_layers(arguments)
    if more := [str(file) for file in files if file != SHIPPED]:
        words += ["--configfile", *more]
    if arguments.scale:
        settings = {**settings, "scale": arguments.scale}
    if arguments.seeds:
        settings = {**settings, "seeds": f"[{','.join(map(str, range(arguments.seeds)))}]"}
    if papers:
        settings = {**settings, "papers": json.dumps(papers)}
    if settings:
        words += ["--config", *(f"{key}={value}" for key, value in settings.items())]
    # So quiet, Snakemake builds the whole DAG and stops behind the counts; of named items it goes on to the commands.
    quiet = ["--printshellcmds"] if arguments.item else ["--quiet", "rules", "progress"]
    words += ["--dry-run", *quiet] if arguments.dry_run else []
    return [*words, "--logger", "replicse", list(targets)]
