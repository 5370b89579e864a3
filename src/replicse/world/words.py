"""The words of the embedded micro-world, read from `words.yaml`, and the forms of regular nouns and verbs."""

from dataclasses import dataclass
from pathlib import Path

from replicse.checked import read_yaml

Concept = tuple[str, ...]


@dataclass(frozen=True)
class Topic:
    """The concepts of one field of life, by the role they play in a sentence."""

    name: str
    people: tuple[Concept, ...]
    actions: tuple[Concept, ...]
    things: tuple[Concept, ...]
    qualities: tuple[Concept, ...]
    places: tuple[Concept, ...]


def concepts(text: str) -> tuple[Concept, ...]:
    """Return the concepts written in `text`; an underscore stands for a blank inside one wording."""
    return tuple(tuple(word.replace("_", " ") for word in entry.split("/")) for entry in text.split())


_WRITTEN = read_yaml(Path(__file__).with_name("words.yaml"))
TOPICS = tuple(
    Topic(name, **{role: concepts(text) for role, text in roles.items()})
    for name, roles in _WRITTEN["topics"].items()
)
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
    """Return the past tense, also the participle, of a regular verb."""
    if verb.endswith("e"):
        return verb + "d"
    return verb[:-1] + "ied" if _consonant_y(verb) else verb + "ed"


def progressive(verb: str) -> str:
    """Return the -ing form of a regular verb."""
    return (verb[:-1] if verb.endswith("e") else verb) + "ing"


def _consonant_y(word: str) -> bool:
    return word.endswith("y") and word[-2] not in "aeiou"
