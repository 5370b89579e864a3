"""Protocols: named ways of running a paper that differ from its text, as overrides on what a row asks for."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from replicse.errors import BadInput, nearest
from replicse.study.paper.merging import merged
from replicse.study.paper.validation import check, read_yaml

AS_DESCRIBED = "as-described"
AS_RUN = "as-run"
VIEW_KEYS = ("augment", "terms", "both_sides")


@dataclass(frozen=True)
class Protocol:
    """One variant: the rows it may explain, what it changes, and where that difference is seen.

    `as_run` says that the released code did so; the protocol `as-run` joins all of them. `in_table` names items
    that show the variant below their rows; elsewhere it is planned only where an item is adjudicated.
    """

    id: str
    title: str
    evidence: str
    cells: Mapping[str, str | Sequence[str]]
    change: Mapping[str, Any]
    as_run: bool = False
    in_table: tuple[str, ...] = field(default=())

    def applies(self, item: str, row: str) -> bool:
        """Return whether the variant may explain a row of an item."""
        rows = self.cells.get(item, ())
        return rows == "all" or row in rows


def load_protocols(file: Path, schemas: Path, items: Mapping[str, Iterable[str]]) -> tuple[Protocol, ...]:
    """Return the protocols of a paper; none without a file. BadInput names an unknown item or row.

    `items` holds the row ids of each of the paper's items.
    """
    if not file.exists():
        return ()
    document = read_yaml(file) or []
    check(document, schemas / "protocols.schema.json", file)
    found = [
        Protocol(
            id=entry["id"],
            title=entry["title"],
            evidence=" ".join(entry["evidence"].split()),
            cells=entry["cells"],
            change=entry["change"],
            as_run=entry.get("as_run", False),
            in_table=tuple(entry.get("in_table", ())),
        )
        for entry in document
    ]
    for protocol in found:
        _check_cells(protocol, file, items)
    names = [protocol.id for protocol in found]
    twice = next((name for name in names if names.count(name) > 1 or name in (AS_DESCRIBED, AS_RUN)), None)
    if twice:
        raise BadInput(f'{file}: protocol "{twice}" is given twice or is a reserved name; choose another id')
    return tuple(found)


def _check_cells(protocol: Protocol, file: Path, items: Mapping[str, Iterable[str]]) -> None:
    for item, rows in protocol.cells.items():
        if item not in items:
            raise BadInput(f'{file}: {protocol.id}.cells names "{item}"{nearest(item, items)}')
        known = list(items[item])
        for row in () if rows == "all" else rows:
            if row not in known:
                raise BadInput(f'{file}: {protocol.id}.cells.{item} names "{row}"{nearest(row, known)}')
    for item in protocol.in_table:
        if item not in protocol.cells:
            raise BadInput(f'{file}: {protocol.id}.in_table names "{item}"{nearest(item, protocol.cells)}')


def variants(
    protocols: Sequence[Protocol], item: str, row: str, adjudicated: bool
) -> dict[str, Mapping[str, Any]]:
    """Return the changes to plan for a row by protocol id; `as-run` joins those of the released code.

    An item that is not adjudicated keeps only the variants it shows in its table. A single variant of the
    released code is `as-run` already, so it is not planned twice.
    """
    applying = [protocol for protocol in protocols if protocol.applies(item, row)]
    wanted = [protocol for protocol in applying if adjudicated or item in protocol.in_table]
    found: dict[str, Mapping[str, Any]] = {protocol.id: protocol.change for protocol in wanted}
    as_run = [protocol.change for protocol in applying if protocol.as_run]
    if adjudicated and len(as_run) > 1:
        joined: Mapping[str, Any] = {}
        for change in as_run:
            joined = merged(joined, change)
        found[AS_RUN] = joined
    return found


def changed_subject(subject: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a row asks for under a protocol; what changes the views is kept under `vary` for `varied`."""
    direct = {key: entry for key, entry in change.items() if key not in VIEW_KEYS}
    vary = {key: entry for key, entry in change.items() if key in VIEW_KEYS}
    return merged(merged(subject, direct), {"vary": vary} if vary else {})


def varied(run: Mapping[str, Any], vary: Mapping[str, Any]) -> dict[str, Any]:
    """Return a run's plain data with its augmentations, its loss terms or both sides of its pairs changed."""
    views = [_augmented(view, vary.get("augment", {})) for view in run["views"]]
    if vary.get("both_sides"):
        augmented = [view["augment"] for view in views[1:] if "augment" in view]
        if augmented:
            # The two sides are drawn apart, or a random augmentation would make them equal.
            own = {**augmented[0], "seed": augmented[0].get("seed", 42) + 1}
            views[0] = {**views[0], "augment": own}
    terms = vary.get("terms", {})
    objective = [{**term, **terms.get(term["term"], {})} for term in run["objective"]]
    return {**run, "views": views, "objective": objective}


def _augmented(view: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    return {**view, "augment": {**view["augment"], **change}} if "augment" in view else dict(view)
