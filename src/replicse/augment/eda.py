"""Easy data augmentation (EDA): one of four simple operations on a line."""

import functools
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from replicse.augment.lines import each_words
from replicse.augment.synonyms import FUNCTION_WORDS, open_thesaurus

MARKED = re.compile(r"\A(\W*)(.*?)(\W*)\Z", re.DOTALL)  # marks before, word, marks after

Synonyms = Callable[[str], tuple[str, ...]]
Words = list[str]


def eda(
    lines: Sequence[str], *, seed: int, alpha: float, cleaning: str, source: str, file: Path | None
) -> list[str]:
    """Return every line after one random operation: synonym replacement, insertion, swap or deletion.

    The first three act on max(1, floor(alpha * n)) words, deletion on each word with probability alpha (at
    least one word stays). Letter case and punctuation are kept, because lower-casing hurts cased encoders;
    cleaned as in the reference code, a line is made of the letters a to z first. `source` and `file` are those of
    `synonym`, and so are the errors.
    """
    if cleaning == "reference":
        lines = [cleaned(line) for line in lines]
    # Part-of-speech tags are not used here; `lexicon` asks for no tagger data.
    thesaurus = open_thesaurus(source, file, "lexicon")

    @functools.cache
    def synonyms(word: str) -> tuple[str, ...]:
        if word in FUNCTION_WORDS:
            return ()
        names = {name.replace("_", " ").replace("-", " ").lower() for name in thesaurus.predict(word)}
        return tuple(sorted(names - {word}))

    def change(words: Words, random: Random) -> Words:
        operation = random.choice(OPERATIONS)
        return operation(words, alpha, random, synonyms)

    return each_words(lines, seed, change)


def cleaned(line: str) -> str:
    """Return a line in small letters a to z alone: apostrophes go, every other mark is a blank.

    A line that has no letter stays as it is: no view may be empty.
    """
    letters = re.sub("[^a-z]+", " ", re.sub("['’]", "", line.lower())).strip()
    return letters or line


def _many(words: Words, alpha: float) -> int:
    return max(1, math.floor(alpha * len(words) + 1e-9))


def _synonyms_of(marked: str, synonyms: Synonyms) -> tuple[str, ...]:
    """Return the synonyms of a word that may carry punctuation, in its own letter case and with its marks."""
    ((before, word, after),) = MARKED.findall(marked)
    names = synonyms(word.lower())
    if word[:1].isupper():
        names = tuple(name[:1].upper() + name[1:] for name in names)
    return tuple(before + name + after for name in names)


def replace_synonyms(words: Words, alpha: float, random: Random, synonyms: Synonyms) -> Words:
    """Return the words with up to `alpha` of them replaced by synonyms."""
    options = {i: names for i, word in enumerate(words) if (names := _synonyms_of(word, synonyms))}
    chosen = random.sample(sorted(options), min(len(options), _many(words, alpha)))
    return [random.choice(options[i]) if i in chosen else word for i, word in enumerate(words)]


def insert_synonyms(words: Words, alpha: float, random: Random, synonyms: Synonyms) -> Words:
    """Return the words with synonyms of `alpha` of them, each at a random place."""
    cores = [core.lower() for word in words for _, core, _ in MARKED.findall(word)]
    options = [names for core in cores if (names := synonyms(core))]
    longer = list(words)
    for _ in range(_many(words, alpha) if options else 0):
        longer.insert(random.randint(0, len(longer)), random.choice(random.choice(options)))
    return longer


def swap_words(words: Words, alpha: float, random: Random, synonyms: Synonyms) -> Words:
    """Return the words after `alpha` times their number of swaps of two random places."""
    swapped = list(words)
    for _ in range(_many(words, alpha) if len(words) > 1 else 0):
        one, other = random.sample(range(len(words)), 2)
        swapped[one], swapped[other] = swapped[other], swapped[one]
    return swapped


def delete_words(words: Words, alpha: float, random: Random, synonyms: Synonyms) -> Words:
    """Return the words without each of them with probability `alpha`; one random word where none is left."""
    return [word for word in words if random.random() >= alpha] or [random.choice(words)]


OPERATIONS = (replace_synonyms, insert_synonyms, swap_words, delete_words)
