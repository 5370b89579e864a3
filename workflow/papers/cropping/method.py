"""The method of Gonzalez-Marquez et al. (2026).

It contains texts, chunks of texts, and the accuracy of nearest neighbours.
"""

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
    """The sentences of all splits of a transfer set with their classes."""

    implementation: ClassVar[str] = "papers.cropping.texts:transfer_sentences"
    format: Literal["transfer-sentences"]
    task: Literal["MR", "CR", "SUBJ", "MPQA", "SST2", "TREC"]

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns of the sentence and the class."""
        return ("text", "class")


class Documents(OneFile):
    """Texts of several sentences, from a table or a text file.

    A text file has a sentence per line and an empty line after each text. In a table, `text` is the heading of the
    texts, and `label` the heading of their classes, if there are any.
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
        """Return the columns of the text and, if there are classes, the class."""
        return ("text", "class") if self.label else ("text",)


class Chunks(CorpusFormat):
    """Random pairs of chunks of a document, which may overlap.

    Sentences end at a full stop and have `shortest` to `longest` characters; other sentences are skipped. A chunk is
    `sentences` consecutive sentences. Each of the `documents` with at least two chunks gives one pair per visit.
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
        """Return the expected number of characters of a chunk.

        Most sentences are shorter than the mean of the bounds, so the geometric mean is used.
        """
        chunks = cls.of(recipe, "corpus")
        return chunks.sentences * math.sqrt(chunks.shortest * chunks.longest)

    @property
    def parts(self) -> tuple[HubPart, ...]:
        """Return the parts of hub datasets that the documents need."""
        return getattr(self.documents, "parts", ())

    def pinned(self, commit: Callable[[str], str | None]) -> Self:
        """Return the corpus with pinned documents."""
        return self.model_copy(update={"documents": self.documents.pinned(commit)})

    def origin(self, root: Path) -> tuple[str, str]:
        """Return the origin of the documents."""
        return self.documents.origin(root)


class ClassifiedTexts(Checked):
    """Texts with classes, without the classes in `drop`.

    The name of a class ends before the mark `until`.
    """

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
    # Each test text is compared with all training texts: 73,000 with 660,000 for arXiv.
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
