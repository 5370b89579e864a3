"""The method of Gonzalez-Marquez et al. (2026).

The module defines the corpora of texts and of chunks, and the suite `knn` with the accuracy of nearest neighbours.
"""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from replicse.checked import Checked, Count, Id, Text, Whole
from replicse.registry.corpora import Corpus, CorpusFormat, HubDataset, HubPart, OneFile
from replicse.registry.suites import COUNT, PERCENTAGE, Suite, SuiteOptions, metrics_in, only_sets
from replicse.registry.table_files import TABLE_KINDS, table_kind

DISTANCES = ("euclidean", "cosine")


class TransferSentences(CorpusFormat):
    """The sentences of all splits of a transfer dataset with their classes."""

    implementation: ClassVar[str] = "papers.cropping.texts:transfer_sentences"
    format: Literal["transfer-sentences"]
    task: Literal["MR", "CR", "SUBJ", "MPQA", "SST2", "TREC"]

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns: text, which is a sentence, and class."""
        return ("text", "class")


class Documents(OneFile):
    """Texts of several sentences, from a table or a text file.

    A text file has a sentence per line and an empty line after each text. By default, the texts have no classes.

    Attributes:
        text: The heading of the texts, if the file is a table.
        label: The heading of the classes. Default: the texts have no classes.
    """

    implementation: ClassVar[str] = "papers.cropping.texts:documents"
    format: Literal["documents"]
    text: Text | None = None
    label: Text | None = None

    @model_validator(mode="after")
    def _has_headings_in_a_table(self) -> Self:
        is_table = table_kind(self.file) in TABLE_KINDS
        if is_table and not self.text:
            raise ValueError(f'text, the heading of the texts, because "{self.file}" is a table')
        if self.text and not is_table:
            raise ValueError(
                f'text only if the file is a table ({", ".join(TABLE_KINDS)}), unlike "{self.file}"'
            )
        if self.label and not self.text:
            raise ValueError("text together with label")
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns: text and, if there are classes, class."""
        return ("text", "class") if self.label else ("text",)


class Chunks(CorpusFormat):
    """Random pairs of chunks of a document, which may overlap.

    Each document with at least two chunks gives one pair per visit; other documents are skipped. By default, a chunk is
    two sentences, and a document gives a single pair.

    Attributes:
        documents: A corpus with the column `text`.
        sentences: The number of consecutive sentences of a chunk. Default: 2.
        shortest: The minimum number of characters of a sentence. Shorter sentences are skipped. Default: 100.
        longest: The maximum number of characters of a sentence. Longer sentences are skipped. Default: 250.
        visits: The number of pairs from each document. Default: 1.
        seed: The random seed of the pairs. Default: 42.
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
                f"documents of a corpus with the column text, not {', '.join(self.documents.columns)}"
            )
        if self.shortest > self.longest:
            raise ValueError(
                f"shortest to be at most longest, which is {self.longest}; it is {self.shortest}"
            )
        return self

    @classmethod
    def characters(cls, recipe: Mapping[str, Any]) -> float:
        """Estimate the number of characters of a chunk.

        Most sentences are shorter than the mean of the two bounds, so the geometric mean is used.

        Args:
            recipe: A run or recipe with a corpus of this format.
        """
        chunks = cls.of(recipe, "corpus")
        return chunks.sentences * math.sqrt(chunks.shortest * chunks.longest)

    @property
    def parts(self) -> tuple[HubPart, ...]:
        """Return the files of hub datasets that the documents use."""
        return getattr(self.documents, "parts", ())

    def pin_commits(self, commit: Callable[[str], str | None]) -> Self:
        """Return the corpus with the commits of hub datasets filled in."""
        return self.model_copy(update={"documents": self.documents.pin_commits(commit)})

    def origin(self, root: Path) -> tuple[str, str]:
        """Return the origin of the documents."""
        return self.documents.origin(root)


class ClassifiedTexts(Checked):
    """Texts with classes.

    By default, all classes are used with their full names.

    Attributes:
        corpus: A corpus with the columns `text` and `class`.
        drop: Classes whose texts are skipped. Default: none.
        until: A string at which names of classes are cut, such as "." for the first part of "cs.CL". Default: names are
            not cut.
    """

    corpus: Corpus
    drop: tuple[Text, ...] = ()
    until: Text | None = None

    @model_validator(mode="after")
    def _has_classes(self) -> Self:
        if set(self.corpus.columns) != {"text", "class"}:
            raise ValueError(
                f"a corpus with the columns text and class, not {', '.join(self.corpus.columns)}"
            )
        return self


class KnnOptions(SuiteOptions):
    """Options of the suite `knn`: a dict from names to texts with classes."""

    sets: Annotated[dict[Id, ClassifiedTexts], Field(min_length=1)]


SUITES = {
    # Each test text is compared with all training texts: for arXiv, 73,000 texts with 660,000 texts.
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
