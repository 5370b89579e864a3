"""Training texts: documents, NLI, question pairs, captions, paraphrases."""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

from replicse.world import words as lexicon
from replicse.world.grammar import (
    Event,
    cased,
    change_detail,
    change_key,
    drop_details,
    random_event,
    reword,
    tell,
    tokenised,
    word,
)
from replicse.world.parts import (
    FULL,
    REVIEW_TOPICS,
    Count,
    Files,
    Lines,
    article,
    duplicate,
    question_pair,
    review,
)


def wiki(random: Random, count: Count) -> Files:
    """Generate documents of 5 to 12 sentences on a topic.

    An empty line follows each document.

    Args:
        random: The random generator to use.
        count: A function that scales the number of rows.
    """
    lines: Lines = []
    left = count(FULL)
    while left > 0:
        document = list(_document(random, random.randint(5, 12)))
        left -= len(document)
        lines += [*document, ""]
    return {"wiki/wiki.txt": lines}


def _document(random: Random, length: int) -> Iterator[str]:
    topic, praise = random.choice(lexicon.TOPICS), random.random() < 0.5
    event = random_event(random, topic, praise)
    definition = random.randrange(length * 2)  # half of the documents have a definition
    for position in range(length):
        if position == definition:
            yield cased(_definition(random, topic))
        elif topic.name in REVIEW_TOPICS and random.random() < 0.35:
            yield cased(review(random, topic, praise))
        else:
            yield cased(tell(event, word(event, random), random))
        event = _next_event(event, random, praise)


def _next_event(event: Event, random: Random, praise: bool) -> Event:
    following = random_event(random, event.topic, praise)
    following = replace(following, negated=random.random() < 0.08)
    kept = random.random()
    if kept < 0.45:
        return replace(following, agent=event.agent)
    if kept < 0.75:
        return replace(following, thing=event.thing)
    return following


def _definition(random: Random, topic: lexicon.Topic) -> Lines:
    with_synonyms = [concept for concept in topic.people + topic.things + topic.places if len(concept) > 1]
    first, second = random.sample(random.choice(with_synonyms), 2)
    place = random.choice(random.choice(topic.places))
    return f"{article(first)} {first} is also called {article(second)} {second} in the {place}".split()


def inference(random: Random, count: Count) -> Files:
    """Generate NLI premises with a hypothesis per class, and a small ANLI.

    The NLI is written as JSON lines and as triples.

    Args:
        random: The random generator to use.
        count: A function that scales the number of rows.
    """
    rows = [_inference(random) for _ in range(count(3000))]
    adversarial = [_inference(random) for _ in range(count(300))]
    triples = [("sent0", "sent1", "hard_neg")]
    triples += [(premise, entailed, contradicting) for premise, entailed, _, contradicting in rows]
    return {
        "nli/nli.jsonl": list(_labelled(rows)),
        "nli/nli_triples.csv": _csv(triples),
        "nli/anli.jsonl": list(_labelled(adversarial, round="r1_train")),
    }


def _inference(random: Random) -> tuple[str, str, str, str]:
    """Return premise, entailed, neutral and contradicting hypothesis."""
    event = random_event(random)
    wording = word(event, random)
    short = drop_details(event, random)
    denied = replace(short, negated=True) if random.random() < 0.4 else change_key(short, random)
    added = change_detail(replace(change_key(event, random), negated=False), random)

    def text(said: Event, change: float) -> str:
        return cased(tell(said, reword(said, wording, random, change), random, "caption"))

    return text(event, 0.0), text(short, 0.5), text(added, 0.4), text(denied, 0.3)


def _labelled(rows: list[tuple[str, str, str, str]], **extra: str) -> Iterator[str]:
    for premise, *hypotheses in rows:
        for label, hypothesis in zip(("entailment", "neutral", "contradiction"), hypotheses, strict=True):
            yield json.dumps({"sentence1": premise, "sentence2": hypothesis, "gold_label": label, **extra})


def _csv(rows: Sequence[tuple[str, ...]]) -> Lines:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue().splitlines()


def question_pairs(random: Random, count: Count) -> Files:
    """Generate QQP: questions about events, two fifths of them duplicates.

    Args:
        random: The random generator to use.
        count: A function that scales the number of rows.
    """
    lines = ["id\tquestion1\tquestion2\tis_duplicate"]
    for number in range(count(600)):
        same = random.random() < 0.4
        one, other = question_pair(random, same)
        lines.append(f"q{number:06d}\t{one}\t{other}\t{int(same)}")
    return {"pairs/qqp/qqp.tsv": lines}


def captions(random: Random, count: Count) -> Files:
    """Generate Flickr30k: images with five captions each.

    The captions of an image describe the same scene with different details.

    Args:
        random: The random generator to use.
        count: A function that scales the number of rows.
    """
    lines = []
    for image in range(count(200)):
        event = random_event(random)
        for number in range(5):
            part = drop_details(event, random, keep=0.6)
            caption = cased(tell(part, word(part, random), random, "caption"))
            lines.append(f"{1000000 + image}.jpg#{number}\t{caption}")
    return {"pairs/flickr30k/captions.tsv.gz": lines}


def machine_paraphrases(random: Random, count: Count) -> Files:
    """Generate ParaNMT: paraphrases with faults of machine translation.

    The faults are lost, repeated and wrong words.

    Args:
        random: The random generator to use.
        count: A function that scales the number of rows.
    """
    lines = []
    for _ in range(count(2000)):
        one, other = duplicate(random, same=random.random() < 0.9)
        lines.append(f"{tokenised(one)}\t{tokenised(_garbled(other, random))}")
    return {"pairs/paranmt/paranmt.tsv": lines}


def _garbled(words: Lines, random: Random) -> Lines:
    garbled: Lines = []
    for item in words:
        fault = random.random()
        if fault >= 0.05:
            garbled.append(item)
            if fault < 0.08:
                garbled.append(item)
    return garbled or words
