"""The stage `store`: tokenise one column of a corpus."""

from argparse import Namespace
from pathlib import Path
from typing import Any

from replicse.checked import Count, Text
from replicse.cli.stages import Payload, Stage
from replicse.data.sets import data_folder
from replicse.errors import BadInput


class StoreJob(Payload):
    """A column of a corpus to augment and tokenise.

    Attributes:
        corpus: the corpus as a dict.
        view: a dict with the `column`, and the augmentation `augment` if any.
        tokenizer: the path of the tokenizer.
        max_length: the maximum number of tokens of a sentence.
    """

    corpus: dict[str, Any]
    view: dict[str, Any]
    tokenizer: Text
    max_length: Count


def store(job: StoreJob, arguments: Namespace) -> None:
    """Clean, augment and tokenise a column of a corpus into a store."""
    from replicse.data.corpora import labels_of, read_corpus
    from replicse.data.store import write_store

    root, view = data_folder(arguments.data), job.view
    columns = read_corpus(root, job.corpus)
    if view.get("column") not in columns:
        raise BadInput(
            f'column "{view.get("column")}" is not in corpus {job.corpus["name"]}; known: {sorted(columns)}'
        )
    lines, change = columns[view["column"]], None
    if "augment" in view:
        from replicse.augment import augment, token_change

        change = token_change(view["augment"], Path(job.tokenizer))
        lines = lines if change else augment(lines, view["augment"], root=root)
    write_store(
        arguments.out, lines, Path(job.tokenizer), job.max_length, job.plain(), change, labels_of(columns)
    )


STAGE = Stage(StoreJob.of, store)
