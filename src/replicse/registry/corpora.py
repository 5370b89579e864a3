"""Formats of training datasets, the keys of each, and their columns."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import AfterValidator, Field, model_validator

from replicse.checked import Checked, Count, Id, Rate, Text, UserMessage, Whole, only_with
from replicse.errors import check_known
from replicse.registry.entries import Entry

StsName = Literal["STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R"]
SIMCSE_DATA = "princeton-nlp/datasets-for-simcse"  # the files of the data source `hub`
STS_TASKS: tuple[str, ...] = get_args(StsName)
STS_DEV_TASKS = ("STS-B", "SICK-R")  # the other tasks have only a test split
NliLabel = Literal["entailment", "neutral", "contradiction"]
NLI_LABELS: tuple[str, ...] = get_args(NliLabel)


def _below(file: str) -> str:
    """Return a relative path; ValueError if it may be outside the data root."""
    if PurePosixPath(file).is_absolute() or ".." in PurePosixPath(file).parts:
        raise ValueError("a file below the data root: a relative path without ..")
    return file


DataFile = Annotated[Text, AfterValidator(_below)]


class Sample(Checked):
    """A random sample of the rows of a corpus, in file order.

    Attributes:
        rows: the number of rows.
        seed: the seed of the sample.
    """

    rows: Count
    seed: Annotated[Whole, Field(ge=0)]


class Kept(Checked):
    """The rows of a corpus to keep, and the expected number of rows.

    Attributes:
        limit: the number of rows to keep from the start.
        sample: a random sample of the rows.
        rows: the expected number of rows. Another number is an error.
        about: whether the number may differ from `rows` by a tenth.
    """

    limit: Count | None = None
    sample: Sample | None = None
    rows: Count | None = None
    about: bool = False

    _is_about_rows = only_with("rows", "about")

    @model_validator(mode="after")
    def _is_kept_one_way(self) -> Self:
        if self.limit and self.sample:
            raise ValueError("limit or sample, not both")
        return self


class CorpusFormat(Entry, Kept):
    """Base of corpus formats: the name, the rows to keep, the expected rows.

    The reader is the function of this name in `home`. `has_labels` is True if the last value of a row is a
    label, `in_workspace` if the file is in the working directory and not below the data root.

    Attributes:
        format: the format of the corpus.
        name: the name of the corpus, set by the planner.
    """

    key: ClassVar[str] = "format"
    called_with: ClassVar[tuple[str, ...]] = ("root", "corpus")
    home: ClassVar[str] = "replicse.data.corpora"
    has_labels: ClassVar[bool] = False
    in_workspace: ClassVar[bool] = False
    format: str
    name: Id | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns for views."""
        return ("anchor", "positive")

    @classmethod
    def is_labelled(cls, recipe: Mapping[str, Any]) -> bool:
        """Return whether the rows of a corpus with this recipe have labels.

        Args:
            recipe: The corpus as a dict. A corpus in memory has the key `labelled`.
        """
        return cls.has_labels or bool(recipe.get("labelled"))

    @classmethod
    def characters(cls, recipe: Mapping[str, Any]) -> float:
        """Return the approximate number of characters per text.

        Args:
            recipe: The corpus as a dict.
        """
        return math.inf

    def pin_commits(self, commit: Callable[[str], str | None]) -> Self:
        """Return the corpus with the commits of the hub datasets, if known.

        Args:
            commit: A function that returns the commit of a dataset, or None.
        """
        return self

    def origin(self, root: Path) -> tuple[str, str]:
        """Return the source of the rows, and the remedy if some are missing.

        Args:
            root: The data root, a folder of datasets.
        """
        files = getattr(self, "files", None) or [getattr(self, "file", self.format)]
        return " and ".join(str(root / file) for file in files), "put the complete file there"


class OneFile(CorpusFormat):
    """Base of corpora in one file below the data root.

    Attributes:
        file: the file below the data root.
    """

    file: DataFile


class OneColumn(CorpusFormat):
    """Base of corpora of single sentences."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the column `text`."""
        return ("text",)


class Lines(OneColumn, OneFile):
    """One sentence per line.

    Empty lines are skipped by default. With `as_written` an empty line becomes a single space.

    Attributes:
        min_words: lines with fewer words are skipped.
        max_words: lines with more words are skipped.
        as_written: whether each line is a row as it is, with its spaces.
    """

    format: Literal["lines"]
    min_words: Count | None = None
    max_words: Count | None = None
    as_written: bool = False

    @model_validator(mode="after")
    def _keeps_all_or_some(self) -> Self:
        if self.as_written and (self.min_words or self.max_words):
            raise ValueError("as_written without min_words and max_words, which skip lines")
        return self

    @model_validator(mode="after")
    def _is_raw_text(self) -> Self:
        kind = PurePosixPath(self.file.removesuffix(".gz")).suffix
        if kind in (".csv", ".tsv", ".json", ".jsonl", ".parquet"):
            raise UserMessage(
                f'format lines uses every line of "{self.file}" as a sentence; choose a format for {kind} files'
            )
        return self


class Triples(OneFile):
    """CSV of anchor, positive and hard negative (SimCSE's NLI file)."""

    format: Literal["triples"]

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the three roles; a file can omit the negatives."""
        return ("anchor", "positive", "negative")


class Nli(CorpusFormat):
    """JSON lines of labelled pairs, grouped by premise.

    A row is a premise with the first hypothesis of each requested class.

    Attributes:
        files: the files, JSON lines.
        positive: the label of positives.
        negative: the label of hard negatives.
        neutral: the label of a second block of hard negatives.
    """

    format: Literal["nli"]
    files: Annotated[tuple[DataFile, ...], Field(min_length=1)]
    positive: NliLabel = "entailment"
    negative: NliLabel = "contradiction"
    neutral: NliLabel | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the roles; `neutral` adds a second block of hard negatives."""
        roles = ("anchor", "positive", "negative")
        return (*roles, "neutral") if self.neutral else roles


class NliPairs(CorpusFormat):
    """JSON lines of labelled pairs; a row is the premise and the hypothesis.

    Attributes:
        files: the files, JSON lines.
        labels: the labels of the pairs to use.
    """

    format: Literal["nli-pairs"]
    files: Annotated[tuple[DataFile, ...], Field(min_length=1)]
    labels: Annotated[tuple[NliLabel, ...], Field(min_length=1)]


class Pairs(OneFile):
    """Two sentences per line, separated by a tab."""

    format: Literal["pairs"]


class Captions(OneFile):
    """All pairs of captions of the same image."""

    format: Literal["captions"]


class StsSentences(OneColumn):
    """The sentences of an STS dataset.

    Attributes:
        task: the STS dataset.
        split: the split.
    """

    format: Literal["sts-sentences"]
    task: StsName
    split: Literal["train", "dev", "test"]

    @model_validator(mode="after")
    def _has_the_split(self) -> Self:
        if self.split != "test" and self.task not in STS_DEV_TASKS:
            raise ValueError(f"split test, because {self.task} has only this split")
        return self


class Part(Checked):
    """A part of labelled rows: `train`, or `held-out` with a share of them.

    Attributes:
        keep: `train`, or the part that is `held-out`.
        share: the share of sentences that is held out. The two parts have no sentence in common.
        seed: the seed of the split.
    """

    keep: Literal["train", "held-out"]
    share: Annotated[Rate, Field(gt=0)] = 0.1
    seed: Annotated[Whole, Field(ge=0)] = 0


class Labelled(OneFile):
    """Sentences with a number, in a tab-separated file with a header.

    Attributes:
        sentences: the headings of one or two columns of text, which are called `first` and `second` here.
        label: the heading of the label.
        quoted: whether quotes are parsed as Python's csv module and the code of 2-Tier SimCSE do.
        part: the part of the rows to use.
    """

    has_labels: ClassVar[bool] = True
    format: Literal["labelled"]
    sentences: Annotated[tuple[Text, ...], Field(min_length=1, max_length=2)]
    label: Text
    quoted: bool = False
    part: Part | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Return `first` and, for pairs, `second`."""
        return ("first", "second")[: len(self.sentences)]


class HubPart(Checked):
    """Rows of a hub dataset: one split of one configuration.

    `licence` and `bytes` are shown to the user and are not part of any id.

    Attributes:
        path: the hub id of the dataset.
        name: the configuration of the dataset.
        split: the split.
        files: the data files, if the dataset has no card or the card does not list them.
        revision: the branch, tag or commit. The compiler replaces it with the commit in hub.lock.yaml.
        licence: the licence.
        bytes: the size of the download.
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
# The columns that a map needs; other maps accept any columns.
MAP_READS = {"by-premise": ("premise", "hypothesis", "label"), "caption-pairs": ("captions",)}


class HubDataset(CorpusFormat):
    """Rows of one or several hub datasets, loaded by the library `datasets`.

    Attributes:
        parts: the splits to load.
        columns: our name of each of the hub's columns.
        labels: the names of the label's numbers. Rows with other numbers (SNLI's -1 if annotators did not agree) are
            skipped.
        keep: the labels of the rows to keep.
        map: how rows are created: `by-premise` like the format nli; `caption-pairs` all pairs of a list of captions;
            `lines` one row per text; `lists` one row per position of lists of equal length.
        classes: the label of each column for `by-premise`.
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
            raise ValueError(f"the columns {', '.join(wanted)}, each once")
        if bool(self.labels) != ("label" in roles):
            raise ValueError("labels if and only if a column is the label")
        classes = self.classes.values() if self.map == "by-premise" else ()
        for label in (*self.keep, *classes):
            check_known(label, self.labels, f'label "{label}" does not exist', UserMessage)
        return self

    def pin_commits(self, commit: Callable[[str], str | None]) -> Self:
        """Return the corpus with the commits that `commit` returns."""
        parts = []
        for part in self.parts:
            parts.append(part.model_copy(update={"revision": commit(part.path) or part.revision}))
        return self.model_copy(update={"parts": tuple(parts)})

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns that `map` creates, by default the loaded ones."""
        match self.map:
            case "by-premise":
                return ("anchor", *self.classes)
            case "caption-pairs":
                return super().columns
            case "lines":
                return ("text",)
        return tuple(column for column in self.read.values() if column != "label")

    def origin(self, root: Path) -> tuple[str, str]:
        """Return the names of the hub datasets, and the remedy."""
        return " and ".join(dict.fromkeys(part.path for part in self.parts)), "check the commit"


Corpus = CorpusFormat
corpus_of = CorpusFormat.reader("corpus", "data")
