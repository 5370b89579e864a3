"""Formats of training corpora, the keys of each, and the columns they give."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import AfterValidator, Field, model_validator

from replicse.checked import Checked, Count, Id, Rate, Text, UserMessage, Whole, only_with
from replicse.errors import check_known
from replicse.registry.entries import Entry

StsName = Literal["STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R"]
SIMCSE_DATA = "princeton-nlp/datasets-for-simcse"  # where the data source `hub` has its files from
STS_TASKS: tuple[str, ...] = get_args(StsName)
STS_DEV_TASKS = ("STS-B", "SICK-R")  # the others have a test split only
NliLabel = Literal["entailment", "neutral", "contradiction"]
TABLE_KINDS = (".csv", ".tsv", ".jsonl", ".parquet")
NLI_LABELS: tuple[str, ...] = get_args(NliLabel)


def _below(file: str) -> str:
    """Return a relative path that stays below the data root."""
    if PurePosixPath(file).is_absolute() or ".." in PurePosixPath(file).parts:
        raise ValueError("a file below the data root: no absolute path, no ..")
    return file


def _table(file: str) -> str:
    """Return the path of a table of a kind that is read."""
    if PurePosixPath(file).suffix.lower() not in TABLE_KINDS:
        raise UserMessage(f'"{file}" is no table; name a file that ends in {", ".join(TABLE_KINDS)}')
    return file


DataFile = Annotated[Text, AfterValidator(_below)]
# Of one's own, absolute or from the folder in which a study runs.
TableFile = Annotated[Text, AfterValidator(_table)]


class Sample(Checked):
    """Random rows of a corpus, in file order."""

    rows: Count
    seed: Annotated[Whole, Field(ge=0)]


class Kept(Checked):
    """The rows of a corpus that are kept, and how many are expected; `about`, give or take a tenth."""

    limit: Count | None = None
    sample: Sample | None = None
    rows: Count | None = None
    about: bool = False

    _is_about_rows = only_with("rows", "about")

    @model_validator(mode="after")
    def _is_kept_one_way(self) -> Self:
        if self.limit and self.sample:
            raise ValueError("one of limit and sample")
        return self


class CorpusFormat(Entry, Kept):
    """What every corpus may have: its symbolic name, the rows that are kept, and how many are expected.

    Its reader is the function of its name in `home`; `has_labels` says that it yields a label last, `in_workspace`
    that its file lies in the working directory and not below the data root.
    """

    key: ClassVar[str] = "format"
    home: ClassVar[str] = "replicse.data.corpora"
    has_labels: ClassVar[bool] = False
    in_workspace: ClassVar[bool] = False
    format: str
    name: Id | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns that a view may read."""
        return ("anchor", "positive")

    @classmethod
    def labelled(cls, recipe: Mapping[str, Any]) -> bool:
        """Return whether the reader yields a label last, of a corpus by its recipe, or columns in memory have one."""
        return cls.has_labels or bool(recipe.get("labelled"))

    @classmethod
    def characters(cls, recipe: Mapping[str, Any]) -> float:
        """Return about how many characters a text of such a corpus has; infinity where its recipe does not say it."""
        return math.inf

    def pinned(self, commit: Callable[[str], str | None]) -> Self:
        """Return the corpus with what it reads of the hub at a commit, where one is known."""
        return self

    def origin(self, root: Path) -> tuple[str, str]:
        """Return where the rows come from, and what to do where they are not as many as expected."""
        files = getattr(self, "files", None) or [getattr(self, "file", self.format)]
        return " and ".join(str(root / file) for file in files), "put the complete file there"


class OneFile(CorpusFormat):
    """A corpus in one file below the data root."""

    file: DataFile


class OneColumn(CorpusFormat):
    """A corpus of single sentences."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the one column."""
        return ("text",)


class Lines(OneColumn, OneFile):
    """One sentence a line; blank ones, and those outside `min_words` to `max_words`, are dropped.

    With `as_written` every line is a row with its spaces as they are, a blank one a single space.
    """

    format: Literal["lines"]
    min_words: Count | None = None
    max_words: Count | None = None
    as_written: bool = False

    @model_validator(mode="after")
    def _keeps_all_or_some(self) -> Self:
        if self.as_written and (self.min_words or self.max_words):
            raise ValueError("as_written without min_words and max_words, which drop lines")
        return self

    @model_validator(mode="after")
    def _is_raw_text(self) -> Self:
        kind = PurePosixPath(self.file.removesuffix(".gz")).suffix
        if kind in (".csv", ".tsv", ".json", ".jsonl", ".parquet"):
            raise UserMessage(
                f'format lines reads every line of "{self.file}" as a sentence; name a format for {kind} files'
            )
        return self


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
    positive: NliLabel = "entailment"
    negative: NliLabel = "contradiction"
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


class Pairs(OneFile):
    """Two sentences a line, a tab between them."""

    format: Literal["pairs"]


class Captions(OneFile):
    """All pairs of captions of one image."""

    format: Literal["captions"]


class StsSentences(OneColumn):
    """The sentences of a similarity set."""

    format: Literal["sts-sentences"]
    task: StsName
    split: Literal["train", "dev", "test"]

    @model_validator(mode="after")
    def _has_the_split(self) -> Self:
        if self.split != "test" and self.task not in STS_DEV_TASKS:
            raise ValueError(f"split test; {self.task} has no other")
        return self


class Part(Checked):
    """A part of labelled rows, so that no sentence is on both sides: `train`, or a `held_out` share of them."""

    keep: Literal["train", "held-out"]
    share: Annotated[Rate, Field(gt=0)] = 0.1
    seed: Annotated[Whole, Field(ge=0)] = 0


class Labelled(OneFile):
    """Sentences with a number: a tab-separated file whose header names one or two columns of text and the label's.

    The columns are `first` and `second` here. `quoted` reads quotes as Python's csv module does, as the code does that
    2-Tier SimCSE was written in.
    """

    has_labels: ClassVar[bool] = True
    format: Literal["labelled"]
    sentences: Annotated[tuple[Text, ...], Field(min_length=1, max_length=2)]
    label: Text
    quoted: bool = False
    part: Part | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Return `first` and, where there are pairs, `second`."""
        return ("first", "second")[: len(self.sentences)]


class HubPart(Checked):
    """Rows of a data set of the hub: one split of one of its configurations, as its card names them.

    `files` names data files instead, where there is no card, or it leaves them out. `revision` is what the commit is
    looked up of; the planner puts the commit of hub.lock.yaml in its place. `licence` and `bytes`, what is downloaded,
    are given to the user and are part of no name.
    """

    path: Text
    name: Text | None = None
    split: Text = "train"
    files: Text | None = None
    revision: Text = "main"
    licence: Annotated[Text | None, Field(exclude=True)] = None
    bytes: Annotated[Count | None, Field(exclude=True)] = None


HubColumn = Literal[
    "anchor", "positive", "negative", "text", "first", "second", "premise", "hypothesis", "captions", "label",
    "class",
]  # fmt: skip
Classes = dict[Literal["positive", "negative", "neutral"], Text]
# What each map reads; any columns where it is not named.
MAP_READS = {"by-premise": ("premise", "hypothesis", "label"), "caption-pairs": ("captions",)}


class HubDataset(CorpusFormat):
    """Rows of one or several parts of data sets of the hub, read by the library `datasets`.

    `columns` says what each column of the hub is here. `labels` names the numbers of the label; rows of other numbers
    (SNLI's -1, where annotators did not agree) are dropped, and with `keep` those of other labels. A `map` makes rows
    of them: `by-premise` as the format nli does, of the labels in `classes`; `caption-pairs` all pairs of a list of
    captions; `lines` every text by itself; `lists` a row for each place of lists that are equally long.
    """

    home: ClassVar[str] = "replicse.data.hub_datasets"
    format: Literal["hub-dataset"]
    parts: Annotated[tuple[HubPart, ...], Field(min_length=1)]
    read: Annotated[dict[Text, HubColumn], Field(alias="columns", min_length=1)]
    labels: tuple[Text, ...] = ()
    keep: tuple[Text, ...] = ()
    map: Literal["by-premise", "caption-pairs", "lines", "lists"] | None = None
    classes: Classes = {"positive": "entailment", "negative": "contradiction"}

    @model_validator(mode="after")
    def _fits_its_map(self) -> Self:
        roles = sorted(self.read.values())
        wanted = sorted(MAP_READS.get(self.map or "", set(roles)))
        if roles != wanted:
            raise ValueError(f"columns that are {', '.join(wanted)}, each once")
        if bool(self.labels) != ("label" in roles):
            raise ValueError("labels next to a column that is the label, and only there")
        classes = self.classes.values() if self.map == "by-premise" else ()
        for label in (*self.keep, *classes):
            check_known(label, self.labels, f'no label is named "{label}"', UserMessage)
        return self

    def pinned(self, commit: Callable[[str], str | None]) -> Self:
        """Return the corpus with each part at the commit of its data set, where one is known."""
        parts = [
            part.model_copy(update={"revision": commit(part.path) or part.revision}) for part in self.parts
        ]
        return self.model_copy(update={"parts": tuple(parts)})

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns that the map makes, or those that are read."""
        match self.map:
            case "by-premise":
                return ("anchor", *self.classes)
            case "caption-pairs":
                return super().columns
            case "lines":
                return ("text",)
        return tuple(column for column in self.read.values() if column != "label")

    def origin(self, root: Path) -> tuple[str, str]:
        """Return the data sets of the hub."""
        return " and ".join(dict.fromkeys(part.path for part in self.parts)), "look at its commit"


Corpus = CorpusFormat
corpus_of = CorpusFormat.reader("corpus", "data")
