"""Formats of training corpora, the keys of each, and the columns they give."""

from pathlib import PurePosixPath
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from replicse.checked import Checked, Count, Id, Text, Whole

NliLabel = Literal["entailment", "neutral", "contradiction"]


def _below(file: str) -> str:
    """Return a relative path that stays below the data root."""
    if PurePosixPath(file).is_absolute() or ".." in PurePosixPath(file).parts:
        raise ValueError("a file below the data root: no absolute path, no ..")
    return file


DataFile = Annotated[Text, AfterValidator(_below)]


class Sample(Checked):
    """Random rows of a corpus, in file order."""

    rows: Count
    seed: Annotated[Whole, Field(ge=0)]


class CorpusFormat(Checked):
    """What every corpus may have: its symbolic name, the rows that are kept, and how many are expected."""

    format: str
    name: Id | None = None
    limit: Count | None = None
    sample: Sample | None = None
    rows: Count | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns that a view may read."""
        return ("anchor", "positive")


class OneFile(CorpusFormat):
    """A corpus in one file below the data root."""

    file: DataFile


class Lines(OneFile):
    """One sentence a line; those outside `min_words` to `max_words` are dropped."""

    format: Literal["lines"]
    min_words: Count | None = None
    max_words: Count | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the one column."""
        return ("text",)


class Triples(OneFile):
    """CSV of anchor, positive and hard negative (SimCSE's NLI file)."""

    format: Literal["triples"]

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the three roles; a file may leave the last out."""
        return ("anchor", "positive", "negative")


class Nli(CorpusFormat):
    """JSON lines of labelled pairs, by premise: the first hypothesis of each wanted class."""

    format: Literal["nli"]
    files: Annotated[tuple[DataFile, ...], Field(min_length=1)]
    positive: NliLabel | None = None
    negative: NliLabel | None = None
    neutral: NliLabel | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the roles; `neutral` adds a second block of hard negatives."""
        return ("anchor", "positive", "negative", *(["neutral"] if self.neutral else []))


class NliPairs(CorpusFormat):
    """JSON lines of labelled pairs: premise and hypothesis of every line with one of the labels."""

    format: Literal["nli-pairs"]
    files: Annotated[tuple[DataFile, ...], Field(min_length=1)]
    labels: Annotated[tuple[NliLabel, ...], Field(min_length=1)]


class Qqp(OneFile):
    """The duplicate pairs of Quora Question Pairs."""

    format: Literal["qqp"]


class Pairs(OneFile):
    """Two sentences a line, a tab between them."""

    format: Literal["pairs"]


class Captions(OneFile):
    """All pairs of captions of one image."""

    format: Literal["captions"]


class CaptionLines(OneFile):
    """Every caption by itself."""

    format: Literal["caption-lines"]

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the one column."""
        return ("text",)


class StsSentences(CorpusFormat):
    """The sentences of a similarity set."""

    format: Literal["sts-sentences"]
    task: Text
    split: Literal["train", "dev", "test"]

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the one column."""
        return ("text",)


# The registry: every format, told apart by `format`; `replicse.data.corpora` reads them.
Corpus = Annotated[
    Lines | Triples | Nli | NliPairs | Qqp | Pairs | Captions | CaptionLines | StsSentences,
    Field(discriminator="format"),
]
