"""The vocabulary of the generated datasets, and forms of regular words.

The words are in `words.yaml`.
"""

from dataclasses import dataclass
from pathlib import Path

from replicse.checked import read_yaml

Concept = tuple[str, ...]


@dataclass(frozen=True)
class Topic:
    """The concepts of a topic by their role in a sentence."""

    name: str
    people: tuple[Concept, ...]
    actions: tuple[Concept, ...]
    things: tuple[Concept, ...]
    qualities: tuple[Concept, ...]
    places: tuple[Concept, ...]


def concepts(text: str) -> tuple[Concept, ...]:
    """Parse concepts.

    Args:
        text: Concepts separated by spaces. An underscore in a word is a space, and synonyms are separated by
            slashes.
    """
    parsed = []
    for entry in text.split():
        parsed.append(tuple(entry.replace("_", " ").split("/")))
    return tuple(parsed)


def _topic(name: str, roles: dict[str, str]) -> Topic:
    return Topic(name, **{role: concepts(text) for role, text in roles.items()})


_WRITTEN = read_yaml(Path(__file__).with_name("words.yaml"))
TOPICS = tuple(_topic(name, roles) for name, roles in _WRITTEN["topics"].items())
REVIEWED = tuple(_WRITTEN["reviewed"])
PERSONAL_QUALITIES = concepts(_WRITTEN["personal_qualities"])
MANNERS = concepts(_WRITTEN["manners"])
TIMES = concepts(_WRITTEN["times"])
NUMBERS = concepts(_WRITTEN["numbers"])
NAMES = concepts(_WRITTEN["names"])
PRAISE = concepts(_WRITTEN["praise"])
BLAME = concepts(_WRITTEN["blame"])
FUNCTION_WORDS = concepts(_WRITTEN["function_words"])
QUESTIONS: dict[str, list[str]] = _WRITTEN["questions"]


def plural(noun: str) -> str:
    """Return the plural of a regular noun."""
    if noun.endswith(("s", "x", "ch", "sh")):
        return noun + "es"
    return noun[:-1] + "ies" if _consonant_y(noun) else noun + "s"


def present(verb: str) -> str:
    """Return the third person singular of a regular verb."""
    return plural(verb)


def past(verb: str) -> str:
    """Return the past tense of a regular verb, which is also the participle."""
    if verb.endswith("e"):
        return verb + "d"
    return verb[:-1] + "ied" if _consonant_y(verb) else verb + "ed"


def progressive(verb: str) -> str:
    """Return the -ing form of a regular verb."""
    return verb.removesuffix("e") + "ing"


def _consonant_y(word: str) -> bool:
    return word.endswith("y") and word[-2] not in "aeiou"
