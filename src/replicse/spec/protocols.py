"""Protocols: named ways of running a paper that differ from its text, as overrides on what a row asks for."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from replicse.checked import Checked, Id, Text, checked_entries
from replicse.errors import BadInput, check_names
from replicse.registry.encoders import Checkpoint
from replicse.registry.poolings import Pooling
from replicse.registry.run_specs import RunSpec
from replicse.spec.cell_id import AS_DESCRIBED
from replicse.spec.models import Vary
from replicse.spec.tables import Item

AS_RUN = "as-run"
# A row under every seed, all on the backbone of one seed; the seed stands behind it.
ON_BACKBONE = "on-backbone-"


class Change(Vary):
    """What a protocol changes: in the run, in its views and terms, or in how the encoder is read."""

    run: RunSpec | None = None
    checkpoint: Checkpoint | None = None
    pooling: Pooling | None = None


class Protocol(Checked):
    """One variant: the cells it may explain, what it changes, and where that difference is seen.

    `cells` names rows of items, or single cells of them as `row/column`. `stages` names recipes: the change is made
    in the runs of these, wherever they come in a chain of training; without it in the last run, which is evaluated.
    `as_run` says that the released code did so; the protocol `as-run` joins all of them. `in_table` names items
    that show the variant below their rows; elsewhere it is planned only where an item is adjudicated.
    """

    id: Id
    title: Text
    evidence: Text
    cells: Annotated[dict[Id, Literal["all"] | tuple[Text, ...]], Field(min_length=1)]
    change: Change
    stages: tuple[Id, ...] = ()
    as_run: bool = False
    in_table: tuple[Id, ...] = ()

    @model_validator(mode="after")
    def _changes_runs(self) -> Self:
        if self.stages and (self.change.checkpoint or self.change.pooling):
            raise ValueError("stages without checkpoint and pooling, which are of the encoder that is read")
        return self

    def applies(self, item: str, row: str, column: str = "") -> bool:
        """Return whether the variant may explain a cell of an item, or without a column any cell of the row."""
        named = self.cells.get(item, ())
        if named == "all" or row in named or f"{row}/{column}" in named:
            return True
        return not column and any(name.startswith(f"{row}/") for name in named)


def load_protocols(
    file: Path, items: Mapping[str, Item], recipes: Collection[str] = ()
) -> tuple[Protocol, ...]:
    """Return the protocols of a paper; none without a file. BadInput names an unknown item, row, column or recipe."""
    protocols = tuple(checked_entries(file, Protocol))
    for protocol in protocols:
        if protocol.id in (AS_DESCRIBED, AS_RUN):
            raise BadInput(f'{file}: protocol "{protocol.id}" is a reserved name; choose another id')
        if not protocol.change.model_fields_set:
            raise BadInput(f"{file}: {protocol.id}.change is empty; a variant changes something")
        location = f"{file}: {protocol.id}"
        check_names(f"{location}.cells", protocol.cells, items)
        for item, rows in protocol.cells.items():
            lines = [row.id for row in items[item].rows]
            cells = [*lines, *(f"{row}/{column.id}" for row in lines for column in items[item].columns)]
            check_names(f"{location}.cells.{item}", () if rows == "all" else rows, cells)
        check_names(f"{location}.stages", protocol.stages, recipes)
        check_names(f"{location}.in_table", protocol.in_table, protocol.cells)
    return protocols
