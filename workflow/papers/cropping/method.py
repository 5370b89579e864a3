"""The method of Gonzalez-Marquez et al. (2026): texts and their chunks, accuracy of nearest neighbours."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from replicse.checked import Checked, Count, Id, Text, Whole
from replicse.registry.corpora import TABLE_KINDS, Corpus, CorpusFormat, HubDataset, HubPart, OneFile
from replicse.registry.suites import COUNT, PERCENTAGE, Suite, SuiteOptions, metrics_in, only_sets

DISTANCES = ("euclidean", "cosine")


class TransferSentences(CorpusFormat):
    """The sentences of a transfer set, all its splits, and their classes."""

    implementation: ClassVar[str] = "papers.cropping.texts:transfer_sentences"
    format: Literal["transfer-sentences"]
    task: Literal["MR", "CR", "SUBJ", "MPQA", "SST2", "TREC"]

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the sentence and its class."""
        return ("text", "class")


class Documents(OneFile):
    """Texts of several sentences: of a file with a sentence a line, each text ends at a blank line.

    Of a table `text` is the heading of the texts, `label` that of their classes, if it has any.
    """

    implementation: ClassVar[str] = "papers.cropping.texts:documents"
    format: Literal["documents"]
    text: Text | None = None
    label: Text | None = None

    @model_validator(mode="after")
    def _has_headings_in_a_table(self) -> Self:
        if (PurePosixPath(self.file).suffix.lower() in TABLE_KINDS) != bool(self.text):
            raise ValueError(f"text, the heading of the texts, for {', '.join(TABLE_KINDS)}, and only there")
        if self.label and not self.text:
            raise ValueError("label only with text")
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the text and, where there are any, its class."""
        return ("text", "class") if self.label else ("text",)


class Chunks(CorpusFormat):
    """Pairs of chunks of one document, which may overlap.

    A sentence ends at a full stop; of those from `shortest` to `longest` characters each begins a chunk of the next
    `sentences` of them. Two chunks of each of the `documents` that have two are drawn, at each of `visits`.
    """

    implementation: ClassVar[str] = "papers.cropping.texts:chunks"
    format: Literal["chunks"]
    documents: Annotated[Documents | HubDataset, Field(discriminator="format")]
    sentences: Count = 2
    shortest: Count = 100
    longest: Count = 250
    visits: Count = 1
    seed: Annotated[Whole, Field(ge=0)] = 42

    @model_validator(mode="after")
    def _is_of_texts(self) -> Self:
        if "text" not in self.documents.columns:
            raise ValueError(
                f"documents of a corpus with the column text, not of {', '.join(self.documents.columns)}"
            )
        if self.shortest > self.longest:
            raise ValueError(f"shortest at most longest, {self.longest}")
        return self

    @classmethod
    def characters(cls, recipe: Mapping[str, Any]) -> float:
        """Return that of so many sentences between the bounds, of which most are shorter than the middle."""
        chunks = cls.of(recipe, "corpus")
        return chunks.sentences * math.sqrt(chunks.shortest * chunks.longest)

    @property
    def parts(self) -> tuple[HubPart, ...]:
        """Return the parts of the hub that the documents are in."""
        return getattr(self.documents, "parts", ())

    def pinned(self, commit: Callable[[str], str | None]) -> Self:
        """Return the corpus of pinned documents."""
        return self.model_copy(update={"documents": self.documents.pinned(commit)})

    def origin(self, root: Path) -> tuple[str, str]:
        """Return where the documents come from."""
        return self.documents.origin(root)


class ClassifiedTexts(Checked):
    """Texts with classes: a corpus of both, the classes in `drop` left out, of each what is before the mark `until`."""

    corpus: Corpus
    drop: tuple[Text, ...] = ()
    until: Text | None = None

    @model_validator(mode="after")
    def _has_classes(self) -> Self:
        if set(self.corpus.columns) != {"text", "class"}:
            raise ValueError(f"a corpus of text and class, not of {', '.join(self.corpus.columns)}")
        return self


class KnnOptions(SuiteOptions):
    """Classified texts by name."""

    sets: Annotated[dict[Id, ClassifiedTexts], Field(min_length=1)]


SUITES = {
    # Each text of a test set is compared with all others: 73,000 with 660,000 for arXiv.
    "knn": Suite(
        "papers.cropping.knn",
        "knn",
        {**metrics_in(PERCENTAGE, ("*",), DISTANCES), "*/n": COUNT},
        options=KnnOptions,
        named_by="sets",
        narrowed=only_sets,
        memory=32000,
        hours=24,
    )
}
