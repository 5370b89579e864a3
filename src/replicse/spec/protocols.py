"""Protocols: named variants of a paper's text.

A variant is a change of a row's request.
"""

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
# The prefix of a protocol that runs every seed of a row on the backbone of one seed. The seed follows the prefix.
ON_BACKBONE = "on-backbone-"


class Change(Vary):
    """The change of a protocol.

    The change is in the run, in views and terms, or in checkpoint and pooling.

    Attributes:
        run: changes of the run.
        checkpoint: another checkpoint.
        pooling: another pooling.
    """

    run: RunSpec | None = None
    checkpoint: Checkpoint | None = None
    pooling: Pooling | None = None


class Protocol(Checked):
    """A variant of a paper.

    `cells` is a dict from items to the rows that it can explain, or to single cells as `row/column`. `evidence` is the
    place of the difference. `stages` lists recipes: their runs in a chain of training are changed; by default the last
    run, which is evaluated. `as_run` means that the released code uses the variant; the protocol `as-run` combines all
    such variants. `in_table` lists items that show the variant below their rows; other items run it only if they are
    adjudicated.

    Attributes:
        id: the id of the protocol.
        title: what is different, in a few words.
        evidence: the place that shows the difference: a line of code, a thread, a section.
        cells: the rows that it may explain, by item, or single cells as `row/column`.
        change: the changes of the encoder's request.
        stages: the recipes of the chain whose runs are changed. The default is the run that is evaluated.
        as_run: whether the released code does this. The protocol `as-run` combines all such protocols.
        in_table: the items that show the protocol below their rows. Other items run it only if they are adjudicated.
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
            raise ValueError("stages without checkpoint and pooling, which change the evaluated encoder")
        return self

    def applies(self, item: str, row: str, column: str = "") -> bool:
        """Return whether the variant can explain a cell of an item.

        Args:
            item: the name of the item.
            row: the id of the row.
            column: the id of the column. Default: empty, for any cell of the row.
        """
        named = self.cells.get(item, ())
        if named == "all" or row in named or f"{row}/{column}" in named:
            return True
        return not column and any(name.startswith(f"{row}/") for name in named)


def load_protocols(
    file: Path, items: Mapping[str, Item], recipes: Collection[str] = ()
) -> tuple[Protocol, ...]:
    """Load the protocols of a paper.

    Args:
        file: the path of `protocols.yaml`.
        items: a dict from names to items of the paper.
        recipes: the names of the recipes. Default: empty.

    Returns:
        The protocols; empty if the file does not exist.

    Raises:
        BadInput: if a protocol names an item, row, column or recipe that does not exist.
    """
    protocols = tuple(checked_entries(file, Protocol))
    for protocol in protocols:
        if protocol.id in (AS_DESCRIBED, AS_RUN):
            raise BadInput(f'{file}: protocol "{protocol.id}" is a reserved name; choose another id')
        if not protocol.change.model_fields_set:
            raise BadInput(f"{file}: {protocol.id}.change is empty; add a change")
        location = f"{file}: {protocol.id}"
        check_names(f"{location}.cells", protocol.cells, items)
        for item, rows in protocol.cells.items():
            cells = [row.id for row in items[item].rows]
            for row in items[item].rows:
                cells += [f"{row.id}/{column.id}" for column in items[item].columns]
            if rows != "all":
                check_names(f"{location}.cells.{item}", rows, cells)
        check_names(f"{location}.stages", protocol.stages, recipes)
        check_names(f"{location}.in_table", protocol.in_table, protocol.cells)
    return protocols
