"""The stage `tokenizer`: train a tokenizer, or use a vocabulary."""

from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from replicse.checked import Count, Text
from replicse.cli.stages import Payload, Stage
from replicse.cli.stages.data import WHAT
from replicse.data.sets import data_folder
from replicse.files import below, write_text


class TokenizerJob(Payload):
    """A tokenizer to train on a corpus.

    Attributes:
        name: the name of the tokenizer. Default: empty.
        train: the algorithm, such as "wordpiece".
        size: the size of the vocabulary.
        corpus: the corpus as a dict.
        lowercase: whether to lower-case sentences. Default: True.
    """

    name: str = ""
    train: Text
    size: Count
    corpus: dict[str, Any]
    lowercase: bool = True


class VocabularyJob(Payload):
    """A tokenizer to build from a vocabulary file.

    Attributes:
        name: the name of the tokenizer. Default: empty.
        vocabulary: the vocabulary file, relative to the data root.
        lowercase: whether to lower-case sentences. Default: True.
    """

    name: str = ""
    vocabulary: Text
    lowercase: bool = True


def tokenizer_job(payload: Mapping[str, Any], location: str) -> TokenizerJob | VocabularyJob:
    """Validate a payload; raises BadInput if it is wrong."""
    if "vocabulary" in payload:
        return VocabularyJob.of(payload, location)
    return TokenizerJob.of(payload, location)


def tokenizer(job: TokenizerJob | VocabularyJob, arguments: Namespace) -> None:
    """Train a tokenizer on a corpus, or build one from a vocabulary file."""
    from replicse.data.corpora import read_corpus
    from replicse.data.tokenizer import tokenizer_from_vocabulary, train_tokenizer

    root = data_folder(arguments.data)
    if isinstance(job, VocabularyJob):
        built = tokenizer_from_vocabulary(below(root, job.vocabulary, WHAT), job.lowercase)
    else:
        built = train_tokenizer(job.train, read_corpus(root, job.corpus)["text"], job.size, job.lowercase)
    write_text(arguments.out, built.to_str(pretty=True))


STAGE = Stage(tokenizer_job, tokenizer)
