"""Write the embedded synthetic datasets as a data root, from a seed."""

import gzip
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from replicse.files import atomic_write, sha256_of
from replicse.world.classified import course, paraphrase_corpus, questions, reviews, subjectivity
from replicse.world.corpora import captions, inference, machine_paraphrases, question_pairs, wiki
from replicse.world.lexica import synonyms, word_vectors
from replicse.world.parts import FULL, Count, Files, Lines
from replicse.world.rated import sick, sts, sts_benchmark

# Parts of the names of files with a header line.
WITH_HEADER = ("SICK/", "MRPC/", "nli_triples.csv", "qqp.tsv", "minbert/")


def write_world(root: Path | str, seed: int = 0, sentences: int = FULL) -> dict[str, dict[str, Any]]:
    """Write the generated datasets in the layout of a data root.

    Args:
        root: The data root, a folder of datasets.
        seed: The seed of the datasets. Default: 0.
        sentences: The approximate number of sentences in the wiki text; other files scale with it. Default:
            6000.

    Returns:
        A dict from files to dicts with `rows` and `sha256`. `rows` is the number of lines that are not empty,
        without the header.
    """

    def count(rows: int) -> int:
        return max(24, round(rows * sentences / FULL))

    record = {}
    for section in SECTIONS:
        # Each section has its own random stream, so that a change in a section does not change other files.
        for relative, lines in section(Random(f"{seed}/{section.__name__}"), count).items():
            path = Path(root) / relative
            with atomic_write(path) as temporary:
                temporary.write_bytes(_encode(relative, lines))
            rows = sum(1 for line in lines if line) - _header_lines(relative)
            record[relative] = {"rows": rows, "sha256": sha256_of(path)}
    return record


def _header_lines(relative: str) -> int:
    return int(any(part in relative for part in WITH_HEADER))


def _encode(relative: str, lines: Lines) -> bytes:
    """Return the bytes of a file.

    Encoding and line ends are the same as in the official file.
    """
    end = "\r\n" if relative.endswith("SICK_test_annotated.txt") else "\n"
    text = "".join(line + end for line in lines)
    if "/TREC/" in relative:
        return text.encode("latin-1")
    if "/MRPC/" in relative:
        return text.encode("utf-8-sig")
    data = text.encode("utf-8")
    # The gzip header contains neither time nor file name, so that the bytes are reproducible.
    return gzip.compress(data, mtime=0) if relative.endswith(".gz") else data


SECTIONS: tuple[Callable[[Random, Count], Files], ...] = (
    wiki,
    sts,
    sts_benchmark,
    sick,
    reviews,
    subjectivity,
    questions,
    paraphrase_corpus,
    inference,
    question_pairs,
    course,
    captions,
    machine_paraphrases,
    synonyms,
    word_vectors,
)
