"""The verb `fetch`: download the files and datasets of items."""

import shutil
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path

from huggingface_hub import constants

from replicse.cli.answers import add_all_argument, answer, on_a_screen, room, shortened
from replicse.cli.arguments import add_items_argument, add_study_arguments, chosen_study
from replicse.cli.lock import pin
from replicse.compile.needs import Need, amounts, amounts_text, needs, size_text
from replicse.compile.remarks import remarks
from replicse.compile.study import Study
from replicse.data.download import download
from replicse.data.hub import cached_artefact, cached_encoder, check_reached
from replicse.errors import BadInput, Failed, MissingData
from replicse.printable import columns, several
from replicse.registry.corpora import SIMCSE_DATA
from replicse.registry.registry import current
from replicse.registry.suite_options import SuiteOptions, to_install
from replicse.spec.lock import LOCK, load_lock


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_study_arguments(
        parser, "replicse fetch --scale paper simcse/table5 --dry-run\n  replicse fetch --pin"
    )
    add_items_argument(parser)
    add_all_argument(parser)
    parser.add_argument("--dry-run", action="store_true", help="list the files without downloading them")
    parser.add_argument(
        "--pin",
        action="store_true",
        help="add missing commits to hub.lock.yaml without downloading files",
    )


def run(arguments: Namespace) -> None:
    """Download the files of a study, or look up missing commits."""
    if arguments.pin:
        names = chosen_study(arguments).unpinned if arguments.items else None
        print("\n".join(pin(arguments.workflow, names, write=not arguments.dry_run)))
        return
    plan = chosen_study(arguments)
    ways = []
    listing = []
    for need in needs(plan):
        ways.append((need, way(need, plan)))
        listing.append({"kind": need.kind, "name": need.name, "bytes": need.bytes, "licence": need.licence})
    document = {"scale": plan.scale.name, "needs": listing}
    answer(arguments.json, document, listed(plan, ways, arguments), bytes="bytes")
    if not arguments.dry_run:
        check_room([need for need, _ in ways])
        if any(need.kind in OF_HUB for need, _ in ways):
            check_reached()
        fetch_all(ways)


OF_HUB = ("artefact", "part", "encoder", "suite")
# A function to download a file or dataset, or a string on how to get it manually.
Way = Callable[[], object] | str


def way(need: Need, plan: Study) -> Way:
    """Return a function to download a required file or dataset.

    Args:
        need: the file or dataset.
        plan: the study.

    Returns:
        The function, which does nothing if the file is in the data root already; or a sentence on how to get the file
        manually.
    """
    folder = Path(plan.paths.data).parent / "data"
    match need.kind:
        case "artefact":
            return partial(_artefact, need.name, plan.workflow, folder)
        case "part":
            from replicse.data.hub_datasets import open_part

            return partial(open_part, need.source)
        case "encoder":
            return partial(cached_encoder, need.source["hub"], need.source["revision"])
        case "suite":
            return _suite_action(*need.source)
    target = folder / need.name
    if target.exists():
        return lambda: None
    if need.source is None:
        return f"the address is unknown; put the file at {target}"
    if need.source.by_hand:
        return f"{need.source.by_hand}; download from {need.source.address}; put the file at {target}"
    return partial(download, need.source, target)


def _suite_action(suite: str, options: SuiteOptions) -> Way:
    """Return a function to download a suite's datasets, or a string."""
    if missing := to_install(suite, options):
        return missing
    fetch = getattr(import_module(current().suites[suite].module), "fetch", None)
    if fetch is None:
        return f"the suite {suite} downloads datasets in the first run; run it with network access"
    return partial(fetch, **options.plain())


def _artefact(name: str, workflow: Path, folder: Path) -> None:
    commit = load_lock(workflow).revision(SIMCSE_DATA)
    if commit is None:
        raise MissingData(
            f"{workflow / LOCK}: the commit of {SIMCSE_DATA} is missing; run replicse fetch --pin"
        )
    cached_artefact(name, commit, folder / name)


def listed(plan: Study, ways: list[tuple[Need, Way]], arguments: Namespace) -> Iterator[str]:
    """Yield the total size, then each source with size and licence.

    Args:
        plan: the study.
        ways: each required source, with the function or sentence of `way`.
        arguments: the parsed arguments.
    """
    amount = amounts_text([need for need, _ in ways])
    head = [
        f"scale {plan.scale.name}: {several(len(ways), 'source')} for {several(len(plan.items), 'item')}; {amount}"
    ]
    rows = []
    for need, how in ways:
        if isinstance(how, str):
            head.append(f"to download manually: {need.name}: {how}")
        licence = f"  ({need.licence})" if need.licence else ""
        rows.append((size_text(need.bytes), need.name + licence))
    lines = list(columns(rows, numbers=(0,))) if rows else []
    if not arguments.all:
        lines = [shortened(line, room()) for line in lines]
    return on_a_screen(arguments, head, ([line] for line in [*lines, *remarks(plan)]), "line")


def check_room(wanted: list[Need]) -> None:
    """Raise BadInput if the disk of the hub cache has too little space."""
    place = hub_cache()
    free, (_, disk, _) = shutil.disk_usage(place).free, amounts(wanted)
    if free < disk:
        raise BadInput(
            f"{place}: {size_text(free)} are free, but {size_text(disk)} are needed; free some, or move HF_HOME"
        )


def hub_cache() -> Path:
    """Return the folder where the hub caches files.

    If it does not exist, the nearest existing parent is returned.
    """
    place = Path(constants.HF_HUB_CACHE)
    while not place.exists():
        place = place.parent
    return place


def fetch_all(ways: list[tuple[Need, Way]]) -> None:
    """Download all sources; if one fails, print the error and continue.

    Args:
        ways: each required source, with the function or sentence of `way`.

    Raises:
        MissingData: if downloads failed.
        Failed: if something must be downloaded manually.
    """
    failed = 0
    left = []
    for place, (need, download_need) in enumerate(ways, 1):
        if isinstance(download_need, str):
            left.append(need.name)
            continue
        print(f"[{place}/{len(ways)}] {need.name}", file=sys.stderr, flush=True)
        try:
            download_need()
        except BadInput as problem:
            failed += 1
            print(f"replicse fetch: {problem}", file=sys.stderr, flush=True)
    if failed:
        raise MissingData(f"{failed} of {len(ways)} downloads failed; run the command again to resume")
    if left:
        raise Failed(f"fetched everything except files to download manually: {', '.join(left)}")
    print(f"fetched all {len(ways)}; these items can be run with HF_HUB_OFFLINE=1")
