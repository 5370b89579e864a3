"""The verb `fetch`: everything that items read from outside, and nothing else, before a study runs without network."""

import json
import shutil
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from huggingface_hub import constants

from replicse.commands import Action
from replicse.commands.study import add_study_arguments, chosen_config
from replicse.data.hub import ARTEFACTS, cached_artefacts, cached_encoder
from replicse.errors import BadInput, Failed, MissingData
from replicse.registry.corpora import HubPart
from replicse.registry.encoders import weight_bytes
from replicse.study.paper.lock import LOCK, SIMCSE_DATA, load_lock
from replicse.study.plan.needs import data_files, hub_parts
from replicse.study.plan.plan import Plan
from replicse.study.plan.planner import load_plan


@dataclass(frozen=True)
class Need:
    """Something that a study reads from outside: its name, about how large, on whose terms, and how it is brought.

    `copies` is how many times its size lies on the disk in the end. What must be brought by hand has no action, and
    says instead where it comes from and where to put it.
    """

    name: str
    bytes: int | None
    licence: str
    copies: int
    fetch: Callable[[], object] | None
    by_hand: str = ""


def fetch_verb(parser: ArgumentParser) -> Action:
    """Download what the items of a study need; with --dry-run, say what that is."""
    add_study_arguments(parser, "replicse fetch --scale paper simcse/table5 --dry-run")
    parser.add_argument("items", nargs="*", metavar="ITEM", help="paper/item; default: all of the config")
    parser.add_argument("--dry-run", action="store_true", help="list what is needed; download nothing")

    def action(arguments: Namespace) -> None:
        config, file = chosen_config(arguments)
        if arguments.items:
            config["papers"] = by_paper(arguments.items)
        plan = load_plan(config, arguments.workflow, file)
        needs = list(needs_of(plan, arguments.workflow))
        if arguments.json:
            told = ("name", "bytes", "licence", "by_hand")
            print(json.dumps([{key: getattr(need, key) for key in told} for need in needs], indent=1))
        else:
            print("\n".join(listed(plan, needs)))
        if not arguments.dry_run:
            check_room(needs)
            fetch_all(needs)

    return action


def by_paper(items: list[str]) -> dict[str, list[str]]:
    """Return items by paper, as a config names them; an item is given as paper/item or by its target paper_item."""
    found: dict[str, list[str]] = {}
    for item in items:
        paper, slash, name = item.partition("/") if "/" in item else item.partition("_")
        if not slash:
            raise BadInput(f'"{item}" is no item; name it as paper/item, for example simcse/table5')
        found.setdefault(paper, []).append(name)
    return found


def needs_of(plan: Plan, workflow: Path) -> Iterator[Need]:
    """Yield what the jobs of a plan read from outside: the papers' data, hub data sets, encoders, files.

    The data root is one for all items, so that its hub artefacts are fetched together.
    """
    own = Path(plan.paths.data).parent / "data"
    files = data_files(plan)
    if plan.source == "hub":
        files = [name for name in files if name not in plan.scale.data.files]
        for name in plan.scale.data.files:
            artefact = ARTEFACTS[name]
            yield Need(name, artefact.bytes, artefact.licence, 2, partial(_artefact, name, workflow, own))
    for part in hub_parts(plan):
        name = " ".join([part.path, *([part.files] if part.files else [part.name or "", part.split])])
        yield Need(name, part.bytes, part.licence or "", 4, partial(_part, part))
    for key, source in plan.backbones.items():
        if hub := source.get("hub"):
            fetch = partial(cached_encoder, hub, source["revision"], Path(plan.paths.backbone(key)))
            yield Need(hub, weight_bytes(hub), "see its model card", 2, fetch)
    if plan.source == "hub":
        yield from (_file(plan, name, own / name) for name in files)
    if any("mteb" in suites for suites in plan.suites.values()):
        how = "the library mteb downloads its data sets when it first evaluates; run that with the network"
        yield Need("data sets of MTEB", None, "of each set", 1, None, how)


def _artefact(name: str, workflow: Path, own: Path) -> None:
    commit = load_lock(workflow).revision(SIMCSE_DATA)
    if commit is None:
        raise MissingData(
            f"{workflow / LOCK}: no commit of {SIMCSE_DATA}; run replicse lock --write {SIMCSE_DATA}"
        )
    cached_artefacts([name], commit, own)


def _part(part: HubPart) -> None:
    from replicse.data.hub_datasets import open_part

    open_part(part)


def _file(plan: Plan, name: str, target: Path) -> Need:
    """Return a file of the data root as a need; one that is there already needs nothing."""
    source = plan.scale.downloads.get(name)
    if source is None:
        how = f"no address is known; put it at {target}"
        return Need(name, None, "", 1, (lambda: None) if target.exists() else None, how)
    if target.exists():
        return Need(name, source.bytes, source.licence, 1, lambda: None)
    if source.by_hand:
        how = f"{source.by_hand}; it comes from {source.address}; put it at {target}"
        return Need(name, source.bytes, source.licence, 1, None, how)

    def fetch() -> None:
        from replicse.data.download import download

        download(source, target)

    return Need(name, source.bytes, source.licence, 2 if source.member else 1, fetch)


def listed(plan: Plan, needs: list[Need]) -> Iterator[str]:
    """Yield the lines that say what is needed, how large it is, and how much of the disk it takes."""
    yield f"scale {plan.scale.name}: {len(needs)} things to fetch for {len(plan.items)} items"
    for need in needs:
        yield f"{size_text(need.bytes):>9}  {need.name}" + (f"  ({need.licence})" if need.licence else "")
    total, disk = amounts(needs)
    unknown = sum(need.bytes is None for need in needs)
    yield f"{size_text(total):>9}  to download, {size_text(disk)} of disk" + (
        f"; {unknown} of unknown size not counted" if unknown else ""
    )
    for need in needs:
        if need.fetch is None:
            yield f"by hand: {need.name}: {need.by_hand}"


def amounts(needs: list[Need]) -> tuple[int, int]:
    """Return the bytes to download, and those that lie on the disk in the end."""
    known = [need for need in needs if need.bytes is not None]
    return sum(need.bytes for need in known), sum(need.bytes * need.copies for need in known)


def size_text(count: int | None) -> str:
    """Return a number of bytes as text, a question mark where it is not known."""
    if count is None:
        return "?"
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:,.1f} MB"


def check_room(needs: list[Need]) -> None:
    """Raise BadInput where the disk of the hub's cache has less room than the downloads take in the end."""
    place = Path(constants.HF_HUB_CACHE)
    while not place.exists():
        place = place.parent
    free, disk = shutil.disk_usage(place).free, amounts(needs)[1]
    if free < disk:
        raise BadInput(
            f"{place}: {size_text(free)} are free, but {size_text(disk)} are needed; free some, or move HF_HOME"
        )


def fetch_all(needs: list[Need]) -> None:
    """Fetch one after another; what fails is told and does not keep the others.

    Raises MissingData after downloads that failed, Failed where something is left to do by hand.
    """
    failed = []
    for place, need in enumerate(needs, 1):
        if need.fetch is None:
            continue
        print(f"[{place}/{len(needs)}] {need.name}", file=sys.stderr, flush=True)
        try:
            need.fetch()
        except BadInput as problem:
            failed.append(problem)
            print(f"replicse fetch: {problem}", file=sys.stderr, flush=True)
    if failed:
        raise MissingData(
            f"{len(failed)} of {len(needs)} could not be fetched; run it again, it goes on where it was"
        )
    left = [need.name for need in needs if need.fetch is None]
    if left:
        raise Failed(f"fetched all but what is brought by hand: {', '.join(left)}")
    print(f"fetched all {len(needs)}; a study of these items runs with HF_HUB_OFFLINE=1")
