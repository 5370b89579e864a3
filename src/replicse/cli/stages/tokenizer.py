"""The stage that trains a tokenizer, or makes it of a vocabulary."""

from argparse import Namespace
from typing import Any, Self

from pydantic import model_validator

from replicse.checked import Count, Text
from replicse.cli.stages import Payload, Stage
from replicse.cli.stages.data import WHAT
from replicse.data.sets import data_folder
from replicse.files import below, write_text


class TokenizerJob(Payload):
    """A tokenizer that is trained on a corpus, or made of a vocabulary file."""

    name: str = ""
    vocabulary: Text | None = None
    train: Text | None = None
    size: Count | None = None
    corpus: dict[str, Any] | None = None
    lowercase: bool = True

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.vocabulary is None and None in (self.train, self.size, self.corpus):
            raise ValueError("vocabulary, or train with size and corpus")
        return self


def tokenizer(job: TokenizerJob, arguments: Namespace) -> None:
    """Train a tokenizer on a corpus, or build one from a vocabulary file."""
    from replicse.data.corpora import read_corpus
    from replicse.data.tokenizer import tokenizer_from_vocabulary, train_tokenizer

    root = data_folder(arguments.data)
    if job.vocabulary:
        made = tokenizer_from_vocabulary(below(root, job.vocabulary, WHAT), job.lowercase)
    else:
        made = train_tokenizer(job.train, read_corpus(root, job.corpus)["text"], job.size, job.lowercase)
    write_text(arguments.out, made.to_str(pretty=True))


STAGE = Stage(TokenizerJob.of, tokenizer)
