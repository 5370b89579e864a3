"""Formats of training corpora, the keys of each, and the columns they give."""

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from replicse.checked import Checked, Count, Id, Rate, Text, Whole

StsName = Literal["STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R"]
STS_TASKS: tuple[str, ...] = StsName.__args__
STS_DEV_TASKS = ("STS-B", "SICK-R")  # the others have a test split only
NliLabel = Literal["entailment", "neutral", "contradiction"]
NLI_LABELS: tuple[str, ...] = NliLabel.__args__


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
    """What every corpus may have: its symbolic name, the rows that are kept, and how many are expected.

    `about` says that `rows` is known roughly: a tenth more or less will do.
    `implementation` names module and function of the reader.
    """

    implementation: ClassVar[str]
    format: str
    name: Id | None = None
    limit: Count | None = None
    sample: Sample | None = None
    rows: Count | None = None
    about: bool = False

    @model_validator(mode="after")
    def _is_kept_one_way(self) -> Self:
        if self.limit and self.sample:
            raise ValueError("one of limit and sample")
        if self.about and self.rows is None:
            raise ValueError("about beside rows")
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns that a view may read."""
        return ("anchor", "positive")


class OneFile(CorpusFormat):
    """A corpus in one file below the data root."""

    file: DataFile


class Lines(OneFile):
    """One sentence a line; those outside `min_words` to `max_words` are dropped."""

    implementation: ClassVar[str] = "replicse.data.corpora:lines"
    format: Literal["lines"]
    min_words: Count | None = None
    max_words: Count | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the one column."""
        return ("text",)


class Triples(OneFile):
    """CSV of anchor, positive and hard negative (SimCSE's NLI file)."""

    implementation: ClassVar[str] = "replicse.data.corpora:triples"
    format: Literal["triples"]

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the three roles; a file may leave the last out."""
        return ("anchor", "positive", "negative")


class Nli(CorpusFormat):
    """JSON lines of labelled pairs, by premise: the first hypothesis of each wanted class."""

    implementation: ClassVar[str] = "replicse.data.corpora:nli"
    format: Literal["nli"]
    files: Annotated[tuple[DataFile, ...], Field(min_length=1)]
    positive: NliLabel = "entailment"
    negative: NliLabel = "contradiction"
    neutral: NliLabel | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the roles; `neutral` adds a second block of hard negatives."""
        return ("anchor", "positive", "negative", *(["neutral"] if self.neutral else []))


class NliPairs(CorpusFormat):
    """JSON lines of labelled pairs: premise and hypothesis of every line with one of the labels."""

    implementation: ClassVar[str] = "replicse.data.corpora:nli_pairs"
    format: Literal["nli-pairs"]
    files: Annotated[tuple[DataFile, ...], Field(min_length=1)]
    labels: Annotated[tuple[NliLabel, ...], Field(min_length=1)]


class Qqp(OneFile):
    """The duplicate pairs of Quora Question Pairs."""

    implementation: ClassVar[str] = "replicse.data.corpora:qqp"
    format: Literal["qqp"]


class Pairs(OneFile):
    """Two sentences a line, a tab between them."""

    implementation: ClassVar[str] = "replicse.data.corpora:pairs"
    format: Literal["pairs"]


class Captions(OneFile):
    """All pairs of captions of one image."""

    implementation: ClassVar[str] = "replicse.data.corpora:captions"
    format: Literal["captions"]


class CaptionLines(OneFile):
    """Every caption by itself."""

    implementation: ClassVar[str] = "replicse.data.corpora:caption_lines"
    format: Literal["caption-lines"]

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the one column."""
        return ("text",)


class StsSentences(CorpusFormat):
    """The sentences of a similarity set."""

    implementation: ClassVar[str] = "replicse.data.corpora:sts_sentences"
    format: Literal["sts-sentences"]
    task: StsName
    split: Literal["train", "dev", "test"]

    @model_validator(mode="after")
    def _has_the_split(self) -> Self:
        if self.split != "test" and self.task not in STS_DEV_TASKS:
            raise ValueError(f"split test; {self.task} has no other")
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the one column."""
        return ("text",)


class Part(Checked):
    """A part of labelled rows, so that no sentence stands on both sides: `train`, or a `held_out` share of them."""

    keep: Literal["train", "held-out"]
    share: Annotated[Rate, Field(gt=0)] = 0.1
    seed: Annotated[Whole, Field(ge=0)] = 0


class Labelled(OneFile):
    """Sentences with a number: a tab-separated file whose header names one or two columns of text and the label's.

    The columns are `first` and `second` here. `quoted` reads quotes as Python's csv module does, as the code does that
    2-Tier SimCSE was written in.
    """

    implementation: ClassVar[str] = "replicse.data.corpora:labelled"
    format: Literal["labelled"]
    sentences: Annotated[tuple[Text, ...], Field(min_length=1, max_length=2)]
    label: Text
    quoted: bool = False
    part: Part | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Return `first` and, where there are pairs, `second`."""
        return ("first", "second")[: len(self.sentences)]


class LabelledLines(Labelled):
    """The distinct sentences of a labelled file, both sides of its pairs, in file order."""

    implementation: ClassVar[str] = "replicse.data.corpora:labelled_lines"
    format: Literal["labelled-lines"]

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the one column."""
        return ("text",)


# The registry: every format, told apart by `format`.
Corpus = Annotated[
    Lines
    | Triples
    | Nli
    | NliPairs
    | Qqp
    | Pairs
    | Captions
    | CaptionLines
    | StsSentences
    | Labelled
    | LabelledLines,
    Field(discriminator="format"),
]


class _CorpusEntry(Checked):
    corpus: Corpus


def corpus_of(values: Corpus | Mapping[str, Any]) -> Corpus:
    """Return the corpus that plain data describes; BadInput says what is wrong with it."""
    return _CorpusEntry.of({"corpus": values}, "data").corpus
