"""The lines of a row, with the request of each cell.

A row has a line as described, and lines for further encoders and for variants.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from replicse.compile.requests import merge_cell_request
from replicse.compile.study import Study
from replicse.errors import BadInput
from replicse.registry.run_specs import PARTS
from replicse.spec.cell_id import AS_DESCRIBED
from replicse.spec.columns import AnyColumn
from replicse.spec.models import EncoderRequest, PlannedRequest, Vary
from replicse.spec.protocols import AS_RUN, ON_BACKBONE, Protocol
from replicse.spec.tables import Item, Row

# Layers of a request, from the lowest to the highest.
Layers = tuple[EncoderRequest, ...]


@dataclass(frozen=True)
class Line:
    """A row under a protocol.

    Args:
        item: the item.
        row: the row.
        protocol: the name of the protocol.
        layers: a dict from columns to layers of requests: the request of the row, and the changes of protocols.
        about: the ids of the columns that the protocol changes; all columns if the row has separate cells.
        file: the file of the protocols of a variant. Default: empty.
        quoted: whether the row is shown and not run. Default: False.
    """

    item: Item
    row: Row
    protocol: str
    layers: Mapping[str, Layers]
    about: frozenset[str]
    file: str = ""
    quoted: bool = False
    _asked: dict[tuple[str, int], tuple[PlannedRequest, str]] = field(default_factory=dict)

    def shows(self, column: AnyColumn) -> bool:
        """Return whether the line has a cell in a column.

        The column is in `about`, or is derived from a column in `about`.

        Args:
            column: the column.
        """
        columns = [column.id]
        if column.kind == "derived":
            columns = [read for _, read in column.reads.values()]
        return not self.about.isdisjoint(columns)

    def asks(self, column: AnyColumn) -> tuple[PlannedRequest, str]:
        """Return the request of the cell in a column, and a key of the request.

        Args:
            column: the column.

        Returns:
            The request, and a string that is equal for equal requests.
        """
        layers = self.layers[column.id]
        # Most columns of a line do not change the request, and share it.
        own = column.id if self._is_special(column) else ""
        key = own, id(layers)
        if key not in self._asked:
            request = merge_cell_request(self.item, column, layers, self.row)
            self._asked[key] = request, f"{self.item.paper} {request.model_dump_json(exclude_unset=True)}"
        return self._asked[key]

    def location(self, column: AnyColumn) -> str:
        """Return the location of the request of a cell for error messages.

        Args:
            column: the column of the cell.
        """
        if self.file:
            return f"{self.file}: {self.protocol}: row {self.row.id} of {self.item.id}"
        location = f"{self.item.file}: row {self.row.id}"
        if self._is_special(column):
            location += f", column {column.id}"
        if self.protocol in self.row.also:
            location += f": also.{self.protocol}"
        return location

    def _is_special(self, column: AnyColumn) -> bool:
        """Return whether a column or cell changes the row's request."""
        return column.id in self.row.cells or bool(column.encoder.model_fields_set)


def lines_of(study: Study, item: Item, row: Row) -> Iterator[Line]:
    """Create the lines of a row.

    The lines are: as described, the encoders in `also`, each variant, and each crossed backbone.

    Args:
        study: the study, whose config selects variants and crossed backbones.
        item: the item.
        row: the row.
    """
    yield described(item, row)
    for name, request in row.also.items():
        yield _whole(item, row, name, (request,))
    if not row.quoted:
        paper = study.papers[item.paper]
        wanted = choose_variants(paper.protocols, item.name, row.id, study.config.adjudicates(item.id))
        for name, protocols in wanted.items():
            yield _variant(item, row, name, protocols, f"{paper.folder / 'protocols.yaml'}")
    if row.id in (study.config.crossed or {}).get(item.id, ()):
        for seed in study.seeds:
            layers = (row.encoder, PlannedRequest(backbone_seed=seed))
            yield _whole(item, row, f"{ON_BACKBONE}{seed}", layers, row.quoted)


def described(item: Item, row: Row) -> Line:
    """Create the line of a row as the paper describes it.

    Args:
        item: the item.
        row: the row.
    """
    return _whole(item, row, AS_DESCRIBED, (row.encoder,), row.quoted)


def _whole(item: Item, row: Row, protocol: str, layers: Layers, quoted: bool = False) -> Line:
    columns = frozenset(column.id for column in item.columns)
    return Line(item, row, protocol, dict.fromkeys(columns, layers), columns, quoted=quoted)


def choose_variants(
    protocols: Sequence[Protocol], item: str, row: str, adjudicated: bool
) -> dict[str, list[Protocol]]:
    """Return the protocols to compile for a row, by the name of the variant.

    Args:
        protocols: the protocols of the paper.
        item: the name of the item.
        row: the id of the row.
        adjudicated: whether the item is adjudicated; else only the variants that the table shows are compiled.

    Returns:
        Each protocol by itself, and `as-run` with all protocols of the released code if there are several. A single
        protocol equals `as-run`, so it is not compiled twice.
    """
    applying = [protocol for protocol in protocols if protocol.applies(item, row)]
    chosen = {}
    for protocol in applying:
        if adjudicated or item in protocol.in_table:
            chosen[protocol.id] = [protocol]
    as_run = [protocol for protocol in applying if protocol.as_run]
    if adjudicated and len(as_run) > 1:
        chosen[AS_RUN] = as_run
    return chosen


def _variant(item: Item, row: Row, name: str, protocols: Sequence[Protocol], file: str) -> Line:
    """Create the line of a variant; other columns are as described."""
    measured = [column.id for column in item.columns if column.kind != "derived"]
    # Columns that the same protocols change share their layers.
    shared: dict[tuple[str, ...], Layers] = {}
    layers, about = {}, []
    for column in measured:
        applying = [each for each in protocols if each.applies(item.name, row.id, column)]
        names = tuple(protocol.id for protocol in applying)
        layers[column] = shared.setdefault(names, (row.encoder, *map(_protocol_layer, applying)))
        if applying:
            about.append(column)
    line = Line(item, row, name, layers, frozenset(about), file)
    _check_protocols(line, protocols)
    return line


def _protocol_layer(protocol: Protocol) -> EncoderRequest:
    """Create a layer of a request from the change of a protocol.

    Changes of views and terms are in `vary`, changes of stages of a chain in `stages`, by recipe.
    """
    change = protocol.change.entries()
    vary = {key: change.pop(key) for key in Vary.model_fields if key in change}
    if vary:
        change["vary"] = Vary.model_construct(**vary)
    layer = EncoderRequest.model_construct(**change)
    if protocol.stages:
        return PlannedRequest.model_construct(stages=dict.fromkeys(protocol.stages, layer))
    return layer


def _check_protocols(line: Line, protocols: Sequence[Protocol]) -> None:
    """Raise BadInput if a protocol replaces a part of several recipes."""
    item, row = line.item, line.row
    for protocol in protocols:
        changes = protocol.change.run
        replaced = [part for part in PARTS if changes and part in changes.model_fields_set]
        if not replaced or protocol.stages:
            continue
        as_described = described(item, row)
        used = set()
        for column in item.columns:
            if column.id in line.about and protocol.applies(item.name, row.id, column.id):
                used.add(as_described.asks(column)[0].use or "")
        recipes = sorted(used - {""})
        if len(recipes) > 1:
            raise BadInput(
                f"{line.file}: {protocol.id} replaces {replaced[0]} in row {row.id} of {item.id}, whose columns train"
                f" {', '.join(recipes)}; list the cells as {row.id}/COLUMN"
            )
