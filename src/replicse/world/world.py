"""The embedded micro-world: a small English-like world written as a data root, from a seed alone."""

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


def write_world(root: Path | str, seed: int = 0, sentences: int = FULL) -> dict[str, dict[str, Any]]:
    """Write the world below `root` in the layout of a data root and return `rows` and `sha256` of each file.

    `rows` counts lines with content, no header. `sentences` is about how many the wiki text has.
    """

    def count(rows: int) -> int:
        return max(24, round(rows * sentences / FULL))

    record = {}
    for section in SECTIONS:
        # One stream per section: a change in one leaves the bytes of the others alone.
        for relative, lines in section(Random(f"{seed}/{section.__name__}"), count).items():
            path = Path(root) / relative
            with atomic_write(path) as temporary:
                temporary.write_bytes(_encoded(relative, lines))
            rows = sum(1 for line in lines if line) - _header_lines(relative)
            record[relative] = {"rows": rows, "sha256": sha256_of(path)}
    return record


def _header_lines(relative: str) -> int:
    return int(any(part in relative for part in ("SICK/", "MRPC/", "nli_triples.csv", "qqp.tsv", "minbert/")))


def _encoded(relative: str, lines: Lines) -> bytes:
    """Return the bytes of a file with the encoding and line ends of its official counterpart."""
    end = "\r\n" if relative.endswith("SICK_test_annotated.txt") else "\n"
    text = "".join(line + end for line in lines)
    if "/TREC/" in relative:
        return text.encode("latin-1")
    if "/MRPC/" in relative:
        return text.encode("utf-8-sig")
    data = text.encode("utf-8")
    # Neither the time nor the file's name enters the gzip header: equal worlds are equal bytes.
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
