"""Your own corpus in a table."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import model_validator

from replicse.checked import Id, Text
from replicse.registry.corpora import CorpusFormat, Kept
from replicse.registry.table_files import TableFile

TABLE_COLUMNS = (
    ("text",), ("anchor", "positive"), ("anchor", "positive", "negative"), ("first", "second"),
)  # fmt: skip


class Table(CorpusFormat):
    """Your own table with a header: sentences, pairs or triplets.

    The keys of the roles specify the headings of their columns. `label` is the heading of a number: a class, a
    grade or a score. `at` is a dict from scales to the rows that are used there, instead of the keys next to
    it.

    Attributes:
        file: the file, absolute or relative to the workspace.
        at: the rows to use by scale, instead of the keys `limit`, `sample`, `rows` and `about`.
        text: the heading of single sentences.
        anchor: the heading of the anchor.
        positive: the heading of the positive.
        negative: the heading of the hard negative.
        first: the heading of the first sentence.
        second: the heading of the second sentence.
        label: the heading of a number: a class, a grade or a score.
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
                "the heading of text; or of anchor, positive and perhaps negative; or of first and second"
            )
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        """Return `text`, or the roles with a heading."""
        roles = ("text", "anchor", "positive", "negative", "first", "second")
        return tuple(role for role in roles if getattr(self, role))

    @property
    def headings(self) -> tuple[str, ...]:
        """Return the heading of each column in the file, the label's last."""
        return tuple(getattr(self, role) for role in (*self.columns, *["label"] * bool(self.label)))

    @classmethod
    def is_labelled(cls, recipe: Mapping[str, Any]) -> bool:
        """Return whether a heading of labels is specified.

        Args:
            recipe: The recipe as a dict.
        """
        return bool(recipe.get("label"))

    def at_scale(self, scale: str) -> Self:
        """Return the corpus with the rows of a scale.

        Args:
            scale: The name of the scale.
        """
        kept = self.at.get(scale)
        if kept is None:
            return self.replace(at={})
        return self.replace(at={}, **dict(kept))

    def origin(self, root: Path) -> tuple[str, str]:
        """Return the file, and how to fix it."""
        return self.file, "fix the file, or the expected rows"
