"""The request for the encoder of a cell.

The layers of table, column, row, protocols and cell are merged once.
"""

from collections.abc import Iterable
from functools import reduce

from replicse.spec.columns import AnyColumn
from replicse.spec.layers import merge_layers
from replicse.spec.models import SOURCES, EncoderRequest, PlannedRequest
from replicse.spec.tables import Item, Row


def merge_requests(*layers: EncoderRequest) -> PlannedRequest:
    """Merge layers of a request, from the lowest to the highest.

    Args:
        layers: the layers. A layer with a source of an encoder removes the sources of the layers below it.

    Returns:
        The merged request; empty without layers.
    """
    return reduce(_put_over, layers, PlannedRequest())


def _put_over(below: PlannedRequest, above: EncoderRequest) -> PlannedRequest:
    if any(key in above.model_fields_set for key in SOURCES):
        below = below.without(*SOURCES)
    return merge_layers(below, above)


def merge_cell_request(
    item: Item, column: AnyColumn, layers: Iterable[EncoderRequest], row: Row
) -> PlannedRequest:
    """Merge the request of a cell: the layers of table, column, row and cell.

    Args:
        item: the item, whose layer is the lowest.
        column: the column.
        layers: the request of the row, then the changes of protocols.
        row: the row, whose request for this column is the highest layer.

    Returns:
        The merged request.
    """
    return merge_requests(item.encoder, column.encoder, *layers, row.cells.get(column.id, EncoderRequest()))
