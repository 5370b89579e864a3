"""Events: the content of a sentence, the words, and the similarity of two."""

from dataclasses import dataclass, fields, replace
from itertools import chain
from random import Random
from typing import Any

from replicse.world.words import (
    BLAME,
    MANNERS,
    NAMES,
    NUMBERS,
    PERSONAL_QUALITIES,
    PRAISE,
    REVIEWED,
    TIMES,
    TOPICS,
    Concept,
    Topic,
    past,
    plural,
    present,
    progressive,
)

TOPIC_OF: dict[Concept, str] = {}
for _topic in TOPICS:
    for _role in ("people", "actions", "things", "qualities", "places"):
        TOPIC_OF |= dict.fromkeys(getattr(_topic, _role), _topic.name)
PROPER = {*chain.from_iterable(NAMES), "monday", "friday"}
KEY_SLOTS = ("agent", "action", "thing")
WEIGHTS = {
    "agent": 0.25,
    "action": 0.22,
    "thing": 0.28,
    "place": 0.09,
    "time": 0.05,
    "number": 0.05,
    "agent_quality": 0.05,
    "thing_quality": 0.06,
    "manner": 0.04,
    "name": 0.03,
}
SHARED_TOPIC = 0.3  # similarity of two different concepts of the same topic
UNSAID = 0.6  # similarity of a detail and a missing detail
NEGATION = 0.62  # factor if only one of two events is negated


@dataclass(frozen=True)
class Event:
    """The content of a sentence: an agent does something to a thing.

    By default, the event is not negated and has no details.
    """

    topic: Topic
    agent: Concept
    action: Concept
    thing: Concept
    agent_quality: Concept | None = None
    thing_quality: Concept | None = None
    place: Concept | None = None
    time: Concept | None = None
    number: Concept | None = None
    manner: Concept | None = None
    name: Concept | None = None
    negated: bool = False

    def concepts(self) -> list[Concept]:
        """Return the list of the concepts that the event mentions."""
        values = [getattr(self, slot) for slot in WEIGHTS]
        return [value for value in values if value is not None]


Wording = dict[Concept, str]


def typical(options: tuple[Concept, ...], index: int, random: Random, reach: int = 2) -> Concept:
    """Return a random option, usually one of `reach` options after `index`.

    So words of the same topic occur with different words.

    Args:
        options: The concepts to choose from.
        index: The position of the first usual option.
        random: The random generator to use.
        reach: The number of usual options. Default: 2.
    """
    if random.random() < 0.2:
        return random.choice(options)
    return options[(index + random.randrange(reach)) % len(options)]


def qualities(topic: Topic, praise: bool | None) -> tuple[Concept, ...]:
    """Return the topic's qualities.

    Args:
        topic: The topic.
        praise: For a reviewed topic, whether only positive or only negative qualities are returned. None for
            all.
    """
    half = len(topic.qualities) // 2
    if topic.name not in REVIEWED or praise is None:
        return topic.qualities
    return topic.qualities[:half] if praise else topic.qualities[half:]


def random_event(random: Random, topic: Topic | None = None, praise: bool | None = None) -> Event:
    """Return a random event with at least a place or a time.

    Args:
        random: The random generator to use.
        topic: The topic. Default: a random topic.
        praise: Whether qualities of a reviewed topic are positive or negative. Default: both.
    """
    topic = topic or random.choice(TOPICS)
    person = random.randrange(len(topic.people))
    thing = typical(topic.things, person * 2, random, reach=3)
    index = topic.things.index(thing)
    has_place = random.random() < 0.65
    has_number = random.random() < 0.2
    # The order of the random calls determines the generated datasets.
    action = typical(topic.actions, index, random)
    details: dict[str, Concept] = {}
    if random.random() < 0.3:
        details["agent_quality"] = _personal_quality(person, random, praise)
    if random.random() < 0.5:
        details["thing_quality"] = typical(qualities(topic, praise), index, random)
    if has_place:
        details["place"] = typical(topic.places, person, random)
    if not has_place or random.random() < 0.25:
        details["time"] = random.choice(TIMES)
    if has_number:
        details["number"] = random.choice(NUMBERS)
    if random.random() < 0.2:
        details["manner"] = random.choice(MANNERS)
    if random.random() < 0.12:
        details["name"] = random.choice(NAMES)
    parts: dict[str, Any] = {"agent": topic.people[person], "action": action, "thing": thing, **details}
    return Event(topic=topic, **parts)


def _personal_quality(person: int, random: Random, praise: bool | None) -> Concept:
    if praise is not None and random.random() < 0.5:
        return random.choice(PRAISE if praise else BLAME)
    return typical(PERSONAL_QUALITIES, person * 2, random, 5)


def similarity(first: Event, second: Event) -> float:
    """Compute the similarity of two events.

    Args:
        first: An event.
        second: Another event.

    Returns:
        The weighted share of equal slots, in [0, 1].
    """
    total = agreement = 0.0
    for slot, weight in WEIGHTS.items():
        one, other = getattr(first, slot), getattr(second, slot)
        if one is None and other is None:
            continue
        total += weight
        agreement += weight * _concept_similarity(one, other)
    factor = 1.0 if first.negated == second.negated else NEGATION
    return factor * agreement / total


def _concept_similarity(one: Concept | None, other: Concept | None) -> float:
    if one == other:
        return 1.0
    if one is None or other is None:
        return UNSAID
    return SHARED_TOPIC if one in TOPIC_OF and TOPIC_OF[one] == TOPIC_OF.get(other) else 0.0


def graded(first: Event, second: Event, random: Random, bottom: float = 0.0) -> float:
    """Compute a noisy rating of a pair, in steps of 0.2.

    It is convex in the similarity.

    Args:
        first: The event of the first sentence.
        second: The event of the second sentence.
        random: The random generator to use.
        bottom: The lowest rating; the highest is 5. Default: 0.
    """
    ideal = bottom + (5.0 - bottom) * similarity(first, second) ** 2.2
    noisy = ideal + random.gauss(0.0, 0.25)
    return min(5.0, max(bottom, round(noisy * 5) / 5))


def change_key(event: Event, random: Random, count: int = 1) -> Event:
    """Replace some of agent, action and thing by others of the topic.

    Args:
        event: The event.
        random: The random generator to use.
        count: The number of slots to change, from 1 to 3. Default: 1.
    """
    options = {"agent": event.topic.people, "action": event.topic.actions, "thing": event.topic.things}
    changed: dict[str, Any] = {}
    for slot in random.sample(KEY_SLOTS, count):
        others = [other for other in options[slot] if other != getattr(event, slot)]
        changed[slot] = random.choice(others)
    return replace(event, **changed)


def change_detail(event: Event, random: Random) -> Event:
    """Remove, add or change a detail of an event."""
    choices = {
        "place": event.topic.places,
        "time": TIMES,
        "thing_quality": event.topic.qualities,
        "agent_quality": PERSONAL_QUALITIES,
        "manner": MANNERS,
    }
    slot = random.choice(tuple(choices))
    current = getattr(event, slot)
    is_removed = current is not None and random.random() < 0.4
    others = [other for other in choices[slot] if other != current]
    changed: dict[str, Any] = {slot: None if is_removed else random.choice(others)}
    return replace(event, **changed)


def drop_details(event: Event, random: Random, keep: float = 0.3) -> Event:
    """Keep each detail of an event with a probability.

    The event entails the result.

    Args:
        event: The event.
        random: The random generator to use.
        keep: The probability. Default: 0.3.
    """
    details = [field.name for field in fields(Event) if field.name in WEIGHTS.keys() - {*KEY_SLOTS}]
    dropped: dict[str, Any] = {slot: None for slot in details if random.random() >= keep}
    return replace(event, **dropped)


def word(event: Event, random: Random) -> Wording:
    """Return a random word for each concept of the event."""
    return {concept: random.choice(concept) for concept in event.concepts()}


def reword(event: Event, wording: Wording, random: Random, change: float) -> Wording:
    """Return words for an event that can differ from another wording.

    Args:
        event: The event.
        wording: A dict from the concepts of another event to words.
        random: The random generator to use.
        change: The probability of another word for a concept with synonyms.
    """
    new: Wording = {}
    for concept in event.concepts():
        current = wording.get(concept)
        others = [synonym for synonym in concept if synonym != current]
        if current is None or (others and random.random() < change):
            current = random.choice(others)
        new[concept] = current
    return new


def tell(
    event: Event, wording: Wording, random: Random, style: str = "story", order: str | None = None
) -> list[str]:
    """Return the lowercase words of a sentence about an event.

    Args:
        event: The event.
        wording: A dict from the concepts to words.
        random: The random generator to use.
        style: `story` (past tense), `caption` (progressive) or `headline` (present, no articles). Default:
            `story`.
        order: `active`, `passive` or `fronted` (place and time first). Default: random.
    """
    order = order or random.choices(("active", "passive", "fronted"), (5, 3, 3))[0]
    agent = _noun_phrase(event, wording, random, "agent", style)
    if event.name is not None:
        agent.append(wording[event.name])
    thing = _noun_phrase(event, wording, random, "thing", style)
    place: list[str] = []
    if event.place is not None:
        place = ["in", *_article(random, style, definite=True), wording[event.place]]
    time = [] if event.time is None else wording[event.time].split()
    manner = [] if event.manner is None else [wording[event.manner]]
    verb = wording[event.action]
    if order == "passive":
        done = _passive(event.negated, verb, style, plural_thing=event.number is not None)
        return [*thing, *done, "by", *agent, *manner, *place, *time]
    does = _active(event.negated, verb, style)
    if order == "fronted":
        return [*time, *place, *agent, *does, *thing, *manner]
    return [*agent, *does, *thing, *manner, *place, *time]


def _article(random: Random, style: str, definite: bool) -> list[str]:
    if style == "headline":
        return []
    return ["the"] if definite or random.random() < 0.5 else ["a"]


def _noun_phrase(event: Event, wording: Wording, random: Random, slot: str, style: str) -> list[str]:
    quality = getattr(event, f"{slot}_quality")
    noun = wording[getattr(event, slot)]
    words = [noun] if quality is None else [wording[quality], noun]
    if slot == "thing" and event.number is not None:
        return [wording[event.number], *words[:-1], plural(noun)]
    article = _article(random, style, definite=slot == "agent" and event.name is not None)
    if article == ["a"] and words[0][0] in "aeiou":
        article = ["an"]
    return article + words


def _active(negated: bool, verb: str, style: str) -> list[str]:
    if style == "caption":
        return ["is", "not", progressive(verb)] if negated else ["is", progressive(verb)]
    if style == "headline":
        return ["does", "not", verb] if negated else [present(verb)]
    return ["did", "not", verb] if negated else [past(verb)]


def _passive(negated: bool, verb: str, style: str, plural_thing: bool) -> list[str]:
    denial = ["not"] if negated else []
    if style == "caption":
        return ["are" if plural_thing else "is", *denial, "being", past(verb)]
    if style == "headline":
        return [*denial, past(verb)]
    return ["were" if plural_thing else "was", *denial, past(verb)]


def cased(words: list[str], mark: str = ".") -> str:
    """Join words to untokenised text.

    Names and the first letter are capitalised, and the end mark has no space before it.

    Args:
        words: A list of lowercase words.
        mark: The end mark. Default: a full stop.
    """
    spelled = []
    for word in words:
        spelled.append(word.capitalize() if word in PROPER else word)
    text = " ".join(spelled)
    return text[0].upper() + text[1:] + mark


def tokenised(words: list[str]) -> str:
    """Join words to tokenised lowercase text with a full stop.

    The STS files have this format.

    Args:
        words: A list of lowercase words.
    """
    return " ".join([*words, "."])
