"""The name of a cell: `paper/item/row/column/metric@protocol`."""

from dataclasses import dataclass, replace

AS_DESCRIBED = "as-described"  # the protocol of a paper's text
TEXT_ITEM = "text"  # the pseudo-item of numbers in the running text


@dataclass(frozen=True)
class CellId:
    """A cell of a table or figure, or a number of the running text.

    Args:
        item: the item, `paper/item`.
        row: the id of the row.
        column: the id of the column.
        metric: the metric.
        protocol: the protocol; the default `as-described` is omitted in the string, other protocols follow an `@`.
    """

    item: str
    row: str
    column: str
    metric: str
    protocol: str = AS_DESCRIBED

    def __str__(self) -> str:
        """Return the full name."""
        return self._text(self.metric)

    @property
    def short(self) -> str:
        """Return the name without the metric, used if a column has one metric."""
        return self._text()

    @property
    def place(self) -> str:
        """Return the name within the item: row, column and metric."""
        return f"{self.row}/{self.column}/{self.metric}"

    @property
    def paper(self) -> str:
        """Return the key of the paper."""
        return self.item.partition("/")[0]

    @property
    def item_name(self) -> str:
        """Return the name of the item within the paper."""
        return self.item.partition("/")[2]

    @property
    def described(self) -> "CellId":
        """Return the same cell as the paper describes it."""
        return replace(self, protocol=AS_DESCRIBED)

    def at(self, row: str) -> "CellId":
        """Return the cell of another row in the same column.

        Args:
            row: the id of the other row.
        """
        return replace(self, row=row)

    def _text(self, *metric: str) -> str:
        name = "/".join((self.item, self.row, self.column, *metric))
        return name if self.protocol == AS_DESCRIBED else f"{name}@{self.protocol}"
