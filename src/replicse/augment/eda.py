"""Easy data augmentation (EDA): one of four operations on each line."""

import functools
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from replicse.augment.lines import each_words
from replicse.augment.synonyms import FUNCTION_WORDS, open_thesaurus

# Punctuation before a word, the word, and punctuation after it.
MARKED = re.compile(r"\A(\W*)(.*?)(\W*)\Z", re.DOTALL)

Synonyms = Callable[[str], tuple[str, ...]]
Words = list[str]


def eda(
    lines: Sequence[str], *, seed: int, alpha: float, cleaning: str, source: str, file: Path | None
) -> list[str]:
    """Apply a random operation to each line.

    The operations are synonym replacement, insertion, swap and deletion. Deletion removes each word with
    probability alpha (at least one word is kept), and the others change max(1, floor(alpha * n)) of n words.
    Letter case and punctuation are kept by default, because lower case hurts cased encoders.

    Args:
        lines: A list of lines.
        seed: The seed to use.
        alpha: The share of words to change, from 0 to 1.
        cleaning: "reference" reduces lines to the letters a to z first, as in the reference code; "none" does
            not.
        source: The thesaurus, see `synonym`.
        file: The file of the thesaurus, see `synonym`.

    Returns:
        A list of the changed lines.

    Raises:
        BadInput: If the file of the thesaurus is not valid.
        MissingData: If the thesaurus does not exist.
    """
    if cleaning == "reference":
        lines = [clean_line(line) for line in lines]
    # Part-of-speech tags are not used; `lexicon` needs no tagger data.
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


def clean_line(line: str) -> str:
    """Reduce a line to lower-case letters a to z.

    Apostrophes are removed, and other characters are replaced by spaces. A line without letters is not changed, because
    no view should be empty.

    Args:
        line: The line.
    """
    letters = re.sub("[^a-z]+", " ", re.sub("['’]", "", line.lower())).strip()
    return letters or line


def _count_changes(words: Words, alpha: float) -> int:
    return max(1, math.floor(alpha * len(words) + 1e-9))


def _synonyms_of(marked: str, synonyms: Synonyms) -> tuple[str, ...]:
    """Return synonyms with the letter case and punctuation of a word."""
    ((before, word, after),) = MARKED.findall(marked)
    names = synonyms(word.lower())
    if word[:1].isupper():
        names = tuple(name[:1].upper() + name[1:] for name in names)
    return tuple(before + name + after for name in names)


def replace_synonyms(words: Words, alpha: float, random: Random, synonyms: Synonyms) -> Words:
    """Replace up to a share of the words by synonyms.

    Args:
        words: A list of words.
        alpha: The share of words, from 0 to 1.
        random: The random generator to use.
        synonyms: A function from a word to its synonyms.
    """
    options: dict[int, tuple[str, ...]] = {}
    for place, word in enumerate(words):
        names = _synonyms_of(word, synonyms)
        if names:
            options[place] = names
    chosen = random.sample(sorted(options), min(len(options), _count_changes(words, alpha)))
    replaced = list(words)
    for place in sorted(chosen):
        replaced[place] = random.choice(options[place])
    return replaced


def insert_synonyms(words: Words, alpha: float, random: Random, synonyms: Synonyms) -> Words:
    """Insert synonyms of a share of the words at random places.

    Args:
        words: A list of words.
        alpha: The share of words, from 0 to 1.
        random: The random generator to use.
        synonyms: A function from a word to its synonyms.
    """
    options = []
    for word in words:
        ((_, core, _),) = MARKED.findall(word)
        names = synonyms(core.lower())
        if names:
            options.append(names)
    longer = list(words)
    if options:
        for _ in range(_count_changes(words, alpha)):
            longer.insert(random.randint(0, len(longer)), random.choice(random.choice(options)))
    return longer


def swap_words(words: Words, alpha: float, random: Random, synonyms: Synonyms) -> Words:
    """Swap two random words, as many times as a share of the words.

    Args:
        words: A list of words.
        alpha: The share of words, from 0 to 1.
        random: The random generator to use.
        synonyms: Not used.
    """
    swapped = list(words)
    if len(words) > 1:
        for _ in range(_count_changes(words, alpha)):
            one, other = random.sample(range(len(words)), 2)
            swapped[one], swapped[other] = swapped[other], swapped[one]
    return swapped


def delete_words(words: Words, alpha: float, random: Random, synonyms: Synonyms) -> Words:
    """Delete words at random.

    If no word is left, a random word is kept.

    Args:
        words: A list of words.
        alpha: The probability to delete a word.
        random: The random generator to use.
        synonyms: Not used.
    """
    return [word for word in words if random.random() >= alpha] or [random.choice(words)]


OPERATIONS = (replace_synonyms, insert_synonyms, swap_words, delete_words)
