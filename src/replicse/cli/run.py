"""The verb `run`: check the arguments and run Snakemake for some items."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

from psutil import NoSuchProcess, Process

from replicse.cli.answers import wrapped
from replicse.cli.arguments import add_study_arguments, chosen_config, config_layers, own_papers, own_rows
from replicse.cli.profiles import check_profile, setting_words
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
DRY = {"-n", "--dry-run", "--dryrun"}  # Snakemake's options for a dry run
# A module to run another module, without a traceback if Ctrl-C is pressed during imports.
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
        help="paper/item, paper, released or all; default: own papers if any, else all; Snakemake options after --",
    )
    parser.add_argument(
        "--row",
        action="append",
        default=[],
        metavar="NAME=ENCODER",
        help="add a row to the item: a folder or hub id, optionally followed by :POOLING; repeatable",
    )
    # The command line stores the arguments after a lone `--` here.
    parser.set_defaults(further=[])
    parser.add_argument(
        "--profile",
        help="a Snakemake profile: a name in workflow/profiles, or a folder",
    )
    parser.add_argument(
        "--cores", metavar="N", help="CPU cores; default: as in the profile if set there, else all"
    )
    parser.add_argument(
        "-n",
        "--dry-run",
        action="store_true",
        help="list the jobs without running them, with commands if ITEM is given",
    )


def run(arguments: Namespace) -> int:
    """Run the items that the user asks for and print paths of their pages.

    Args:
        arguments: the parsed arguments.

    Returns:
        The exit code: 1 if Snakemake failed, else 0.

    Raises:
        BadInput: if an argument is wrong, a dataset is missing, or a folder cannot be written.
    """
    if name := arguments.study:
        check_known(name, committed(), f'--study: the committed study "{name}" does not exist')
    if arguments.cores and not re.fullmatch(r"all|0*[1-9]\d*", arguments.cores):
        raise BadInput(f'--cores is {arguments.cores}; expected "all" or a number at least 1')
    config, file = chosen_config(arguments)
    own = own_settings(config, arguments)
    checked = checked_config({**config, **own}, file)
    check_profile(arguments)
    # Compile the study first, because Snakemake would print a mistake between many other lines.
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
    targets = [target_of(item) for item in items]
    papers = own.get("papers") or named_papers(items, study_items, large)
    command = snakemake_words(arguments, targets, papers)
    refuse_read_only(config["scale"])
    check_cache_folder(os.environ)
    raise_file_limit()
    # A dry run writes specifications, too, and those of another selection would end the report of a running study.
    with hold(Path.cwd()):
        if not arguments.dry_run:
            clean_up(config["scale"])
        code = exit_code([*command[:-1], *arguments.further, "--", *command[-1]], arguments.workflow)
    if arguments.dry_run:
        if arguments.item:
            words = [*command[3:-3], *arguments.further, "--", *command[-1]]
            print(f"complete commands: {shlex.join(words)}")
    elif code == 0 and not DRY & {*arguments.further}:
        print_end(items, plan)
    return 1 if code else 0


def target_of(item: Item | str) -> str:
    """Return the target of the workflow for an item, or the same target."""
    return item.target if isinstance(item, Item) else item


def clean_up(scale: str) -> None:
    """Remove a stale lock and temporary files of killed jobs."""
    for sentence in chain(free(Path.cwd()), remove_leftovers(scale)):
        print(sentence, file=sys.stderr)


def from_hub(arguments: Namespace) -> str:
    """Return a notice about encoders of --row with hub ids, not folders.

    The user may have misspelt the name of a folder. Empty if there are no hub ids.
    """
    names = ", ".join(row["hub"] for row in own_rows(arguments.row).values() if "hub" in row)
    return f"not a folder, so used as a hub id: {names}" if names else ""


def print_end(items: Sequence[Item | str], study: Study) -> None:
    """Print pages, own rows and differences after a successful run.

    Args:
        items: the items, or targets of the workflow, that were run.
        study: the study that was run.
    """
    from replicse.cli.closing import print_pages, print_results

    scale = study.scale.name
    whole_study = not items or "all" in items
    named = [item.id for item in items if isinstance(item, Item)]
    # The report job removes partial reports, but Snakemake does not run it if there is nothing to do.
    if whole_study:
        drop_partial(scale)
    print_pages(named, whole_study, scale)
    print_results(named, scale)


def own_settings(config: Mapping[str, Any], arguments: Namespace) -> dict[str, Any]:
    """Return the papers of this folder as a config, and print a notice.

    Args:
        config: a dict with the settings of the config.
        arguments: the parsed arguments.

    Returns:
        A dict with `papers`. Empty if this folder has no papers, or if items of other papers are requested.
    """
    own = own_papers(config, arguments)
    if {item.partition("/")[0] for item in arguments.item} - own.get("papers", {}).keys():
        return {}
    if own and not arguments.item:
        names, remedy = ", ".join(own["papers"]), "use replicse run all if other papers should run too"
        print(f"only papers of this folder: {names}; {remedy}", file=sys.stderr)
    return own


def exit_code(words: Sequence[str], workflow: Path) -> int:
    """Run Snakemake and return the exit code.

    SIGTERM and SIGHUP end all child processes. Ctrl-C is ignored here, because Snakemake receives it too, stops the
    jobs and removes the lock.

    Args:
        words: the command as a list of strings.
        workflow: the folder of the workflow.

    Raises:
        KeyboardInterrupt: if Snakemake was interrupted before the first job.
    """

    def end(*_: object) -> None:
        for process in Process().children(recursive=True):
            with suppress(NoSuchProcess):
                process.terminate()

    # Use a function, because child processes would inherit SIG_IGN.
    handlers = {signal.SIGINT: lambda *_: None, signal.SIGTERM: end, signal.SIGHUP: end}
    # By default there is one job per core, so each job should use one thread.
    environment = {"OMP_NUM_THREADS": "1", **job_environment(workflow, os.environ)}
    # Snakemake and other libraries emit warnings; PYTHONWARNINGS=error would turn them into failures.
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


def of_items(plan: Study, requested: Sequence[Item | str]) -> Study:
    """Compile the study of some items only.

    Args:
        plan: the whole study.
        requested: items, or targets of the workflow.

    Returns:
        The new study, or the same study if no item or "all" is requested.
    """
    named = [item.id for item in requested if isinstance(item, Item)]
    if not named or "all" in requested:
        return plan
    return compile_study(plan.config.of_items(named), plan.workflow, papers=plan.papers)


def refuse_absent(plan: Study, requested: Sequence[Item | str]) -> None:
    """Raise MissingData if a corpus, dataset or own encoder does not exist.

    Args:
        plan: the study.
        requested: items, or targets of the workflow. If only "released" is requested, nothing is checked, because
            released encoders need none of these files.
    """
    if requested != ["released"]:
        for problem in absent(plan):
            raise MissingData(problem)


def refuse_missing_extras(study: Study) -> None:
    """Raise BadInput if a suite needs packages that are not installed."""
    suites = set().union(*study.suites.values()) & current().suites.keys()
    for suite in sorted(suites):
        if problem := to_install(suite, study.scale.suite_options(suite)):
            raise BadInput(f"scale {study.scale.name}: {problem}")


def refuse_read_only(scale: str) -> None:
    """Raise BadInput if an output folder exists but cannot be written."""
    paths = Paths(scale)
    for folder in map(Path, (paths.results, paths.reports, paths.logs)):
        if folder.is_dir() and not os.access(folder, os.W_OK):
            raise BadInput(f"{folder}: cannot be written; make it writable, then start again")


def remove_leftovers(scale: str) -> Iterator[str]:
    """Remove temporary files of killed jobs; yield a notice if there are any.

    The caller should lock the folder first, so that no other process can use these files.
    """
    paths = Paths(scale)
    started = Process().create_time()
    if count := remove_temporary_files([paths.results, paths.reports, paths.figures, paths.logs], started):
        yield f"removed {several(count, 'temporary file')} of jobs that were killed"


def items_named(
    words: Sequence[str], study_items: Sequence[Item], large: Sequence[Item] = ()
) -> list[Item | str]:
    """Return the requested items or targets of the workflow.

    Args:
        words: strings such as "simcse/table3", "simcse_table3", "simcse" (all items of a paper), "released" or "all".
        study_items: the items of the study.
        large: items that are too large to run unless they are requested by name. Default: empty.

    Returns:
        A list without duplicates.

    Raises:
        BadInput: if there is no such item; the message contains the nearest name.
    """
    by_name = {_plain(item.id): item for item in study_items}
    matches: dict[str, Item | str] = {}
    for word in words:
        of_paper = [item for item in study_items if item.paper == word.lower() and item not in large]
        if word in TARGETS:
            matches[word] = word
            continue
        if _plain(word) in by_name:
            of_paper = [by_name[_plain(word)]]
        if not of_paper:
            known = [item.id for item in study_items]
            raise BadInput(f'the study does not contain item "{word}"{nearest(word, known)}')
        for item in of_paper:
            matches[item.id] = item
    return list(matches.values())


def _plain(name: str) -> str:
    return re.sub("[^a-z0-9]", "", name.lower())


def named_papers(
    items: Sequence[Item | str], study_items: Sequence[Item], large: Sequence[Item]
) -> dict[str, Any]:
    """Return the config's `papers` if the user asks for large items by name.

    Args:
        items: the requested items, or targets of the workflow.
        study_items: the items of the study.
        large: items that are too large to run unless they are requested by name.

    Returns:
        A dict from paper to items, or an empty dict if no large item is requested.
    """
    requested = [item for item in large if item in items]
    if not requested:
        return {}
    return by_paper(item.id for item in study_items if item in requested or item not in large)


def snakemake_words(arguments: Namespace, targets: Iterable[str], papers: Mapping[str, Any]) -> list[Any]:
    """Return the command line of Snakemake.

    Args:
        arguments: the parsed arguments.
        targets: the targets of the workflow.
        papers: a dict from paper to items that replaces the config's `papers`; if empty, the config is used.

    Returns:
        A list of strings; only the last element is a list, the targets.
    """
    # --rerun-incomplete: after Snakemake is killed, it cannot know whether the files of running jobs are complete.
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
    # Changes of results are in the job specifications, so comparing modification times is enough.
    words += ["--rerun-triggers", "mtime"]
    if not Path("Snakefile").is_file():
        words += ["--snakefile", str(packaged("Snakefile"))]
    if arguments.profile:
        words += ["--profile", arguments.profile]
    if arguments.cores or not arguments.profile:
        words += ["--cores", arguments.cores or "all"]
    files, settings = config_layers(arguments)
    further_files = [str(file) for file in files if file != SHIPPED]
    if further_files:
        words += ["--configfile", *further_files]
    if arguments.scale:
        settings = {**settings, "scale": arguments.scale}
    if arguments.seeds:
        settings = {**settings, "seeds": f"[{','.join(map(str, range(arguments.seeds)))}]"}
    if papers:
        settings = {**settings, "papers": json.dumps(papers)}
    if settings:
        words += ["--config", *setting_words(settings, arguments.profile, arguments.further)]
    # With --quiet, a dry run prints only job counts; if items are named, it prints the commands too.
    if arguments.dry_run:
        quiet = ["--printshellcmds"] if arguments.item else ["--quiet", "rules", "progress"]
        words += ["--dry-run", *quiet]
    return [*words, "--logger", "replicse", list(targets)]
