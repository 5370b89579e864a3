"""A corpus of your own: a table."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import model_validator

from replicse.checked import Id, Text
from replicse.registry.corpora import CorpusFormat, Kept, TableFile

TABLE_COLUMNS = (
    ("text",), ("anchor", "positive"), ("anchor", "positive", "negative"), ("first", "second"),
)  # fmt: skip


class Table(CorpusFormat):
    """A table of your own with a header: sentences, or pairs and triplets by the headings of their roles.

    `label` is the heading of a number: a class, a grade or a score. `at` says by scale which rows are kept there,
    instead of what is said next to it.
    """

    in_workspace: ClassVar[bool] = True
    format: Literal["table"]
    file: TableFile
    at: dict[Id, Kept] = {}
    text: Text | None = None
    anchor: Text | None = None
    positive: Text | None = None
    negative: Text | None = None
    first: Text | None = None
    second: Text | None = None
    label: Text | None = None

    @model_validator(mode="after")
    def _has_its_headings(self) -> Self:
        if self.columns not in TABLE_COLUMNS:
            raise ValueError(
                "the heading of text, or those of anchor, positive and perhaps negative, or of first and second"
            )
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        """Return `text`, or the roles that have a heading."""
        roles = ("text", "anchor", "positive", "negative", "first", "second")
        return tuple(role for role in roles if getattr(self, role))

    @property
    def headings(self) -> tuple[str, ...]:
        """Return the heading of each column in the file, that of the label last."""
        return tuple(getattr(self, role) for role in (*self.columns, *["label"] * bool(self.label)))

    @classmethod
    def labelled(cls, recipe: Mapping[str, Any]) -> bool:
        """Return whether a heading of labels is given."""
        return bool(recipe.get("label"))

    def at_scale(self, scale: str) -> Self:
        """Return the corpus with the rows that are kept at a scale."""
        kept = self.at.get(scale)
        return self.replace(at={}, **(dict(kept) if kept else {}))

    def origin(self, root: Path) -> tuple[str, str]:
        """Return the file, which is your own."""
        return self.file, "fix the file, or the rows that are expected"
