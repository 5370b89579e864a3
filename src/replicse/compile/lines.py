"""The lines of a row: the row as described, its further encoders, its variants, and what each column asks for there."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

from replicse.compile.study import Study
from replicse.errors import BadInput
from replicse.registry.run_specs import PARTS
from replicse.spec.cell_id import AS_DESCRIBED
from replicse.spec.columns import AnyColumn
from replicse.spec.models import EncoderRequest, PlannedRequest, layered
from replicse.spec.protocols import ON_BACKBONE, Protocol, changed, variants
from replicse.spec.tables import Item, Row


@dataclass(frozen=True)
class Line:
    """One row under one protocol: what the row asks for in each column, and the columns that the line is about.

    `file` is that of the protocols of a variant. A quoted line is printed and not run.
    """

    item: Item
    row: Row
    protocol: str
    requests: Mapping[str, EncoderRequest]
    about: frozenset[str]
    file: str = ""
    quoted: bool = False
    _asked: dict[tuple[str, int], tuple[PlannedRequest, str]] = field(default_factory=dict)

    def shows(self, column: AnyColumn) -> bool:
        """Return whether it has a cell in a column: one that it is about, or that is derived from one of these."""
        columns = [read for _, read in column.reads.values()] if column.kind == "derived" else [column.id]
        return not self.about.isdisjoint(columns)

    def asks(self, column: AnyColumn) -> tuple[PlannedRequest, str]:
        """Return what its cell asks of the encoder, and one text for all that ask for the same.

        The item's layer is the lowest, then come the column's, the row's, and the cell's own.
        """
        row = self.requests[column.id]
        # Most columns of a line ask for nothing of their own.
        key = column.id if self._is_special(column) else "", id(row)
        if key not in self._asked:
            cell = self.row.cells.get(column.id, EncoderRequest())
            request = layered(self.item.encoder, column.encoder, row, cell)
            self._asked[key] = request, f"{self.item.paper} {request.model_dump_json(exclude_unset=True)}"
        return self._asked[key]

    def where(self, column: AnyColumn) -> str:
        """Return the place of what its cell asks for."""
        if self.file:
            return f"{self.file}: {self.protocol}: row {self.row.id} of {self.item.id}"
        where = f"{self.item.file}: row {self.row.id}"
        where += f", column {column.id}" if self._is_special(column) else ""
        return where + (f": also.{self.protocol}" if self.protocol in self.row.also else "")

    def _is_special(self, column: AnyColumn) -> bool:
        return column.id in self.row.cells or bool(column.encoder.model_fields_set)


def lines_of(plan: Study, item: Item, row: Row) -> Iterator[Line]:
    """Yield the lines of a row: as described, `also`, one for each variant, and one for each crossed backbone."""
    yield described(item, row)
    for name, request in row.also.items():
        yield _whole(item, row, name, request)
    if not row.quoted:
        paper = plan.papers[item.paper]
        wanted = variants(paper.protocols, item.name, row.id, plan.config.adjudicates(item.id))
        for name, protocols in wanted.items():
            yield _variant(item, row, name, protocols, f"{paper.folder / 'protocols.yaml'}")
    if row.id in (plan.config.crossed or {}).get(item.id, ()):
        for seed in plan.seeds:
            request = layered(row.encoder).replace(backbone_seed=seed)
            yield _whole(item, row, f"{ON_BACKBONE}{seed}", request, row.quoted)


def described(item: Item, row: Row) -> Line:
    """Return the line of a row as its paper describes it."""
    return _whole(item, row, AS_DESCRIBED, row.encoder, row.quoted)


def _whole(item: Item, row: Row, protocol: str, request: EncoderRequest, quoted: bool = False) -> Line:
    columns = frozenset(column.id for column in item.columns)
    return Line(item, row, protocol, dict.fromkeys(columns, request), columns, quoted=quoted)


def _variant(item: Item, row: Row, name: str, protocols: Sequence[Protocol], file: str) -> Line:
    """Return the line of a variant; its other columns are as described, for what is derived from both."""
    measured = [column.id for column in item.columns if column.kind != "derived"]
    applying = {
        column: tuple(each for each in protocols if each.applies(item.name, row.id, column))
        for column in measured
    }
    by_protocols = {
        tuple(one.id for one in each): reduce(changed, each, row.encoder) for each in applying.values()
    }
    requests = {column: by_protocols[tuple(one.id for one in each)] for column, each in applying.items()}
    about = frozenset(column for column in measured if applying[column])
    line = Line(item, row, name, requests, about, file)
    _check_protocols(line, protocols)
    return line


def _check_protocols(line: Line, protocols: Sequence[Protocol]) -> None:
    """Refuse a protocol that gives several recipes of a row one corpus, one objective, or the like."""
    item, row = line.item, line.row
    for protocol in protocols:
        changes = protocol.change.run
        replaced = [part for part in PARTS if changes and part in changes.model_fields_set]
        if not replaced or protocol.stages:
            continue
        as_described = described(item, row)
        about = [
            column
            for column in item.columns
            if column.id in line.about and protocol.applies(item.name, row.id, column.id)
        ]
        recipes = sorted({use for column in about if (use := as_described.asks(column)[0].use)})
        if len(recipes) > 1:
            raise BadInput(
                f"{line.file}: {protocol.id} replaces {replaced[0]} in row {row.id} of {item.id}, whose columns train"
                f" {', '.join(recipes)}; name the cells that it is about as {row.id}/COLUMN"
            )
