"""What several files of the embedded world are made of: pairs, questions, reviews."""

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

FULL = 6000  # sentences of wiki text; everything else grows with them
DOWNSTREAM = "SentEval/downstream"
OPENINGS = ("why is it that", "is it true that", "how come")
Lines = list[str]
Files = dict[str, Lines]
Count = Callable[[int], int]  # rows at full size -> rows at this size


def article(noun: str) -> str:
    """Return the indefinite article of a noun."""
    return "an" if noun[0] in "aeiou" else "a"


def duplicate(random: Random, same: bool) -> tuple[Lines, Lines]:
    """Return the words of two sentences that say the same, or differ in one or two key concepts."""
    first = random_event(random)
    second = first if same else change_key(first, random, random.choice((1, 2)))
    wording = word(first, random)
    changed = reword(second, wording, random, 0.7 if same else 0.3)
    return tell(first, wording, random), tell(second, changed, random)


def asked(random: Random, same: bool, starts: Sequence[str] = OPENINGS) -> tuple[str, str]:
    """Return two questions about events, of which the second asks the same or not, and how they open."""
    starts = random.sample(starts, 2)
    pair = zip(starts, duplicate(random, same), strict=True)
    one, other = (cased([*start.split(), *words], "?") for start, words in pair)
    return one, other


class PairKind(NamedTuple):
    """How the second sentence of a pair follows from the first.

    `share` is that of all pairs, `change` how often a word gives way to a synonym. Paraphrases share few words and
    changed pairs many, so that counting common words cannot order them.
    """

    share: float
    change: float
    related: Callable[[Event, Random], Event]
    same_order: bool = False


def _elsewhere(event: Event, random: Random) -> Event:
    """Return an event of another topic with the same time, number, manner and name."""
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
    """Return two events, the second of which follows from the first in some way, and the words of both."""
    kinds = list(PAIR_KINDS.values())
    kind = random.choices(kinds, [kind.share for kind in kinds])[0]
    first = random_event(random)
    second = kind.related(first, random)
    wording = word(first, random)
    changed = reword(second, wording, random, kind.change)
    one, other = random.choices(("active", "passive", "fronted"), (5, 3, 3), k=2)
    lines = tell(first, wording, random, style, one)
    return first, second, lines, tell(second, changed, random, style, one if kind.same_order else other)


REVIEW_TOPICS = {topic.name: topic for topic in lexicon.TOPICS if topic.name in lexicon.REVIEWED}


def review(random: Random, topic: lexicon.Topic, praise: bool) -> Lines:
    """Return an opinion; a third of them also hold a word of the opposite colour, denied or outweighed."""

    thing, other = (random.choice(concept) for concept in random.sample(topic.things, 2))
    person = random.choice(random.choice(topic.people))
    first, second = (random.choice(concept) for concept in random.sample(qualities(topic, praise), 2))
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
