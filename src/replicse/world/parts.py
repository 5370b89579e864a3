"""Parts that several generated files share: pairs, questions, reviews."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import NamedTuple

from replicse.world import words as lexicon
from replicse.world.grammar import (
    Event,
    cased,
    change_detail,
    change_key,
    qualities,
    random_event,
    reword,
    tell,
    word,
)

FULL = 6000  # sentences of the wiki text; the sizes of other files are proportional
DOWNSTREAM = "SentEval/downstream"
OPENINGS = ("why is it that", "is it true that", "how come")
Lines = list[str]
Files = dict[str, Lines]
Count = Callable[[int], int]  # converts the number of rows at full size to the size that the user asks for


def article(noun: str) -> str:
    """Return the indefinite article of a noun."""
    return "an" if noun[0] in "aeiou" else "a"


def duplicate(random: Random, same: bool) -> tuple[Lines, Lines]:
    """Generate two sentences.

    Args:
        random: The random generator to use.
        same: Whether they have the same meaning, or differ in one or two key concepts.

    Returns:
        Two lists of words.
    """
    first = random_event(random)
    second = first if same else change_key(first, random, random.choice((1, 2)))
    wording = word(first, random)
    changed = reword(second, wording, random, 0.7 if same else 0.3)
    return tell(first, wording, random), tell(second, changed, random)


def question_pair(random: Random, same: bool, starts: Sequence[str] = OPENINGS) -> tuple[str, str]:
    """Generate two questions about events.

    Args:
        random: The random generator to use.
        same: Whether they have the same meaning.
        starts: The openings of the questions.

    Returns:
        Two strings.
    """
    starts = random.sample(starts, 2)
    first, second = duplicate(random, same)
    return cased([*starts[0].split(), *first], "?"), cased([*starts[1].split(), *second], "?")


class PairKind(NamedTuple):
    """How the second sentence of a pair is derived from the first.

    Paraphrases have few common words and changed pairs many, so that the number of common words does not
    predict the rating.

    Attributes:
        share: The share of all pairs, from 0 to 1.
        change: The probability of a synonym for a word.
        related: A function from the first event to the second event.
        same_order: Whether both sentences have the same word order. Default: False.
    """

    share: float
    change: float
    related: Callable[[Event, Random], Event]
    same_order: bool = False


def _elsewhere(event: Event, random: Random) -> Event:
    """Return an event of another topic with the same details.

    The details are time, number, manner and name.
    """
    topic = random.choice([topic for topic in lexicon.TOPICS if topic != event.topic])
    kept = {slot: getattr(event, slot) for slot in ("time", "number", "manner", "name")}
    return replace(random_event(random, topic), **kept)


PAIR_KINDS = {
    "paraphrase": PairKind(0.22, 0.6, lambda event, random: event),
    "detail": PairKind(0.15, 0.45, change_detail),
    "one key": PairKind(0.16, 0.25, change_key, same_order=True),
    "two keys": PairKind(0.13, 0.25, lambda event, random: change_key(event, random, 2), same_order=True),
    "negated": PairKind(0.06, 0.25, lambda event, random: replace(event, negated=True), same_order=True),
    "topic": PairKind(0.12, 0.5, lambda event, random: random_event(random, event.topic)),
    "other": PairKind(0.16, 0.5, _elsewhere),
}


def pair(random: Random, style: str = "story") -> tuple[Event, Event, Lines, Lines]:
    """Generate two events, of which the second is derived from the first.

    Args:
        random: The random generator to use.
        style: The style of both sentences, as in `tell`. Default: `story`.

    Returns:
        Both events, and the words of both sentences.
    """
    kinds = list(PAIR_KINDS.values())
    kind = random.choices(kinds, [kind.share for kind in kinds])[0]
    first = random_event(random)
    second = kind.related(first, random)
    wording = word(first, random)
    changed = reword(second, wording, random, kind.change)
    one, other = random.choices(("active", "passive", "fronted"), (5, 3, 3), k=2)
    lines = tell(first, wording, random, style, one)
    if kind.same_order:
        other = one
    return first, second, lines, tell(second, changed, random, style, other)


REVIEW_TOPICS = {topic.name: topic for topic in lexicon.TOPICS if topic.name in lexicon.REVIEWED}


def review(random: Random, topic: lexicon.Topic, praise: bool) -> Lines:
    """Generate a review of a topic.

    A third of the reviews also contain a word of the opposite sentiment that is negated or outweighed.

    Args:
        random: The random generator to use.
        topic: A reviewed topic.
        praise: Whether the review is positive.
    """
    thing, other = map(random.choice, random.sample(topic.things, 2))
    person = random.choice(random.choice(topic.people))
    first, second = map(random.choice, random.sample(qualities(topic, praise), 2))
    opposite = random.choice(random.choice(qualities(topic, not praise)))
    text = random.choice(
        (
            f"the {thing} is {first} and the {other} is {second}",
            f"{article(first)} {first} {thing} with {article(second)} {second} {other}",
            f"the {person} found the {thing} really {first}",
            f"i think the {thing} is {first} and {second}",
            f"the {thing} is not {opposite} but {first} and {second}",
            f"despite {article(opposite)} {opposite} {other} the {thing} is {first} and {second}",
        )
    )
    return text.split()
