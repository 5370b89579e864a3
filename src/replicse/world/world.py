"""The embedded micro-world: a small English-like world written as a data root, from a seed alone."""

import csv
import gzip
import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

from replicse.data.sts import STS_SUBSETS
from replicse.files import atomic_write, sha256_of
from replicse.world import words as lexicon
from replicse.world.grammar import (
    Event,
    cased,
    change_detail,
    change_key,
    drop_details,
    graded,
    qualities,
    random_event,
    reword,
    tell,
    tokenised,
    word,
)

FULL = 6000  # sentences of wiki text; everything else grows with them
GLOVE_WIDTH = 50

# In an order of its own, which the streams of random numbers follow.
SUBSETS = STS_SUBSETS | {"STS14": ("deft-forum", "deft-news", "headlines", "OnWN", "images", "tweet-news")}
PARTLY_RATED = ("STS15", "STS16")
CAPTION_SUBSETS = ("MSRvid", "images")
HEADLINE_SUBSETS = ("headlines", "deft-news", "surprise.SMTnews")
BENCHMARK_SOURCES = (
    ("main-captions", "MSRvid", "2012test", "caption"),
    ("main-news", "headlines", "2013", "headline"),
    ("main-forums", "answers-forums", "2015", "story"),
)
DOWNSTREAM = "SentEval/downstream"
OPENINGS = ("why is it that", "is it true that", "how come")
# A linear layer on two vectors side by side adds up what each tells by itself: of the course's questions, as on Quora,
# one alone tells how likely it has a duplicate.
ASKED_TWICE = ("why is it that", "how come")
ASKED_ONCE = ("is it true that", "who knows whether")

Lines = list[str]
Files = dict[str, Lines]
Count = Callable[[int], int]  # rows at full size -> rows at this size


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


# Text: documents on one topic


def wiki(random: Random, count: Count) -> Files:
    """Return documents of 5 to 12 sentences on one topic each, a blank line after each."""
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
    definition = random.randrange(length * 2)  # half of the documents have one
    for position in range(length):
        if position == definition:
            yield cased(_definition(random, topic))
        elif topic.name in REVIEW_TOPICS and random.random() < 0.35:
            yield cased(_review(random, topic, praise))
        else:
            yield cased(tell(event, word(event, random), random))
        event = _next_event(event, random, praise)


def _next_event(event: Event, random: Random, praise: bool) -> Event:
    following = random_event(random, event.topic, praise)
    following = replace(following, negated=random.random() < 0.08)
    kept = random.random()
    if kept < 0.45:
        return replace(following, agent=event.agent)
    return replace(following, thing=event.thing) if kept < 0.75 else following


def _definition(random: Random, topic: lexicon.Topic) -> Lines:
    several = [concept for concept in topic.people + topic.things + topic.places if len(concept) > 1]
    first, second = random.sample(random.choice(several), 2)
    place = random.choice(random.choice(topic.places))
    return f"{_article(first)} {first} is also called {_article(second)} {second} in the {place}".split()


def _article(noun: str) -> str:
    return "an" if noun[0] in "aeiou" else "a"


# Rated pairs: STS, STS-B, SICK


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


def _pair(random: Random, style: str = "story") -> tuple[Event, Event, Lines, Lines]:
    kinds = list(PAIR_KINDS.values())
    kind = random.choices(kinds, [kind.share for kind in kinds])[0]
    first = random_event(random)
    second = kind.related(first, random)
    wording = word(first, random)
    changed = reword(second, wording, random, kind.change)
    one, other = random.choices(("active", "passive", "fronted"), (5, 3, 3), k=2)
    lines = tell(first, wording, random, style, one)
    return first, second, lines, tell(second, changed, random, style, one if kind.same_order else other)


def sts(random: Random, count: Count) -> Files:
    """Return input and gold files of STS12 to STS16; STS15 and STS16 have unrated pairs between."""
    files: Files = {}
    for task, subsets in SUBSETS.items():
        for index, subset in enumerate(subsets):
            inputs, gold = [], []
            for _ in range(count(40 + 5 * index)):
                first, second, one, other = _pair(random, _style(subset))
                prefix = ["i", "think", "that"] if "forum" in subset or "answer" in subset else []
                inputs.append("\t".join(tokenised([*prefix, *words]) for words in (one, other)))
                unrated = task in PARTLY_RATED and random.random() < 0.25
                gold.append("" if unrated else f"{graded(first, second, random):.3f}")
            folder = f"{DOWNSTREAM}/STS/{task}-en-test"
            files[f"{folder}/STS.input.{subset}.txt"] = inputs
            files[f"{folder}/STS.gs.{subset}.txt"] = gold
    return files


def _style(subset: str) -> str:
    if subset in CAPTION_SUBSETS:
        return "caption"
    return "headline" if subset in HEADLINE_SUBSETS else "story"


def sts_benchmark(random: Random, count: Count) -> Files:
    """Return the three seven-column files of the STS benchmark."""
    files: Files = {}
    for split, rows in (("train", 300), ("dev", 200), ("test", 200)):
        lines = []
        for number in range(count(rows)):
            genre, source, year, style = BENCHMARK_SOURCES[number * len(BENCHMARK_SOURCES) // count(rows)]
            first, second, one, other = _pair(random, style)
            score = f"{graded(first, second, random):.3f}"
            lines.append(
                "\t".join((genre, source, year, f"{number:04d}", score, tokenised(one), tokenised(other)))
            )
        files[f"{DOWNSTREAM}/STS/STSBenchmark/sts-{split}.csv"] = lines
    return files


def sick(random: Random, count: Count) -> Files:
    """Return the three SICK files: untokenised captions rated from 1 to 5, with an entailment judgment."""
    header = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"
    files: Files = {}
    number = 0
    for split, rows in (("train", 300), ("trial", 200), ("test_annotated", 200)):
        lines = [header]
        for _ in range(count(rows)):
            number += 1
            first, second, one, other = _pair(random, "caption")
            score = f"{graded(first, second, random, bottom=1.0):.1f}".removesuffix(".0")
            lines.append(
                "\t".join((str(number), cased(one, ""), cased(other, ""), score, _judgment(first, second)))
            )
        files[f"{DOWNSTREAM}/SICK/SICK_{split}.txt"] = lines
    return files


def _judgment(first: Event, second: Event) -> str:
    if first == second:
        return "ENTAILMENT"
    return "CONTRADICTION" if replace(first, negated=not first.negated) == second else "NEUTRAL"


# Classification sets

REVIEW_TOPICS = {topic.name: topic for topic in lexicon.TOPICS if topic.name in lexicon.REVIEWED}


def _review(random: Random, topic: lexicon.Topic, praise: bool) -> Lines:
    """Return an opinion; a third of them also hold a word of the opposite colour, denied or outweighed."""

    thing, other = (random.choice(concept) for concept in random.sample(topic.things, 2))
    person = random.choice(random.choice(topic.people))
    first, second = (random.choice(concept) for concept in random.sample(qualities(topic, praise), 2))
    opposite = random.choice(random.choice(qualities(topic, not praise)))
    text = random.choice(
        (
            f"the {thing} is {first} and the {other} is {second}",
            f"{_article(first)} {first} {thing} with {_article(second)} {second} {other}",
            f"the {person} found the {thing} really {first}",
            f"i think the {thing} is {first} and {second}",
            f"the {thing} is not {opposite} but {first} and {second}",
            f"despite {_article(opposite)} {opposite} {other} the {thing} is {first} and {second}",
        )
    )
    return text.split()


def reviews(random: Random, count: Count) -> Files:
    """Return MR, CR and SST2: opinions on films and gadgets, half of them praise."""
    cinema, gadgets = REVIEW_TOPICS["cinema"], REVIEW_TOPICS["gadgets"]
    files: Files = {}
    for praise, sign in ((True, "pos"), (False, "neg")):
        films = [tokenised(_review(random, cinema, praise)) + " " for _ in range(count(100))]
        goods = [tokenised(_review(random, gadgets, praise)) + " " for _ in range(count(80))]
        files[f"{DOWNSTREAM}/MR/rt-polarity.{sign}"] = films
        # The official files have blank lines too.
        files[f"{DOWNSTREAM}/CR/custrev.{sign}"] = [goods[0], "", *goods[1:]]
    for split, rows in (("train", 200), ("dev", 100), ("test", 100)):
        lines = []
        for number in range(count(rows)):
            praise = number % 2 == 0
            lines.append(f"{tokenised(_review(random, cinema, praise))}\t{int(praise)}")
        random.shuffle(lines)
        files[f"{DOWNSTREAM}/SST/binary/sentiment-{split}"] = lines
    return files


def subjectivity(random: Random, count: Count) -> Files:
    """Return SUBJ (opinions against plots of films) and MPQA (short phrases that praise or blame)."""
    cinema = REVIEW_TOPICS["cinema"]
    opinions = [tokenised(_review(random, cinema, random.random() < 0.5)) + " " for _ in range(count(100))]
    plots = []
    for _ in range(count(100)):
        event = random_event(random, random.choice((cinema, random.choice(lexicon.TOPICS))))
        plots.append(tokenised(tell(event, word(event, random), random, "caption")) + " ")
    phrases: dict[str, list[str]] = {"pos": [], "neg": []}
    for sign, words in (("pos", lexicon.PRAISE), ("neg", lexicon.BLAME)):
        for _ in range(count(85 if sign == "pos" else 115)):
            quality = random.choice(random.choice(words))
            form = random.choice(
                ("{q}", "very {q}", "a {q} {p}", "has been {q} to the {p}", "to be {q} again")
            )
            person = random.choice(random.choice(random.choice(lexicon.TOPICS).people))
            phrases[sign].append(form.format(q=quality, p=person) + " ")
    return {
        f"{DOWNSTREAM}/SUBJ/subj.subjective": opinions,
        f"{DOWNSTREAM}/SUBJ/subj.objective": plots,
        f"{DOWNSTREAM}/MPQA/mpqa.pos": [phrases["pos"][0], "", *phrases["pos"][1:]],
        f"{DOWNSTREAM}/MPQA/mpqa.neg": phrases["neg"],
    }


def questions(random: Random, count: Count) -> Files:
    """Return TREC: questions of six classes; the first training question holds a Latin-1 letter."""
    labels = list(lexicon.QUESTIONS)
    train = [_question(random, labels[number % len(labels)]) for number in range(count(200))]
    random.shuffle(train)
    train[0] = "LOC:other Where is the oldest caf\xe9 in the city ?"
    test = [_question(random, random.choice(labels)) for _ in range(count(100))]
    return {f"{DOWNSTREAM}/TREC/train_5500.label": train, f"{DOWNSTREAM}/TREC/TREC_10.label": test}


def _question(random: Random, label: str) -> str:
    event = random_event(random)
    wording = word(event, random)
    verb, thing = wording[event.action], wording[event.thing]
    text = random.choice(lexicon.QUESTIONS[label]).format(
        letters="".join(random.choices("ABCDEFGILMNOPRSTU", k=3)),
        agent=wording[event.agent],
        verb=verb,
        done=lexicon.past(verb),
        thing=thing,
        things=lexicon.plural(thing),
        article=_article(thing),
        place=random.choice(random.choice(event.topic.places)),
    )
    return f"{label} {text}"


def paraphrase_corpus(random: Random, count: Count) -> Files:
    """Return MRPC: two thirds paraphrases, one third pairs that differ in a key concept."""
    files: Files = {}
    for split, rows in (("train", 200), ("test", 100)):
        lines = ["Quality\t#1 ID\t#2 ID\t#1 String\t#2 String"]
        for number in range(count(rows)):
            same = random.random() < 0.66
            one, other = (cased(words, " .") for words in _duplicate(random, same))
            lines.append(f"{int(same)}\t{700000 + 2 * number}\t{700001 + 2 * number}\t{one}\t{other}")
        files[f"{DOWNSTREAM}/MRPC/msr_paraphrase_{split}.txt"] = lines
    return files


def _duplicate(random: Random, same: bool) -> tuple[Lines, Lines]:
    first = random_event(random)
    second = first if same else change_key(first, random, random.choice((1, 2)))
    wording = word(first, random)
    changed = reword(second, wording, random, 0.7 if same else 0.3)
    return tell(first, wording, random), tell(second, changed, random)


# Training pairs


def inference(random: Random, count: Count) -> Files:
    """Return premises with one hypothesis per class, as JSON lines and as triples, and a small ANLI."""
    rows = [_inference(random) for _ in range(count(3000))]
    adversarial = [_inference(random) for _ in range(count(300))]
    return {
        "nli/nli.jsonl": list(_labelled(rows)),
        "nli/nli_triples.csv": _csv([("sent0", "sent1", "hard_neg"), *((p, e, c) for p, e, _, c in rows)]),
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


def _csv(rows: list[tuple[str, ...]]) -> Lines:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue().splitlines()


def question_pairs(random: Random, count: Count) -> Files:
    """Return QQP: questions about events, two fifths of them duplicates."""
    lines = ["id\tquestion1\tquestion2\tis_duplicate"]
    for number in range(count(600)):
        same = random.random() < 0.4
        one, other = _asked(random, same)
        lines.append(f"q{number:06d}\t{one}\t{other}\t{int(same)}")
    return {"pairs/qqp/qqp.tsv": lines}


def course(random: Random, count: Count) -> Files:
    """Return the labelled sets that 2-Tier SimCSE trains on: SST in five classes, CFIMDB, Quora, STS (methods 5)."""
    files: Files = {}
    for split, rows in (("train", 400), ("dev", 150)):
        graded_reviews = [
            (_sentiment(random, degree), degree) for degree in _in_turn(range(5), count(rows), random)
        ]
        films = [
            (_sentiment(random, 4 * sign), sign) for sign in _in_turn(range(2), count(rows // 2), random)
        ]
        questions = [
            (*_asked(random, bool(same), ASKED_TWICE if same else ASKED_ONCE), same)
            for same in _in_turn((1, 0), count(rows), random)
        ]
        rated = []
        for _ in range(count(rows)):
            first, second, one, other = _pair(random)
            rated.append((tokenised(one), tokenised(other), f"{graded(first, second, random):.1f}"))
        for name, columns, lines in (
            ("ids-sst", ("sentence", "sentiment"), graded_reviews),
            ("ids-cfimdb", ("sentence", "sentiment"), films),
            ("quora", ("sentence1", "sentence2", "is_duplicate"), questions),
            ("sts", ("sentence1", "sentence2", "similarity"), rated),
        ):
            cells = [
                ("", "id", *columns),
                *((place, f"{name}{place}", *line) for place, line in enumerate(lines)),
            ]
            files[f"minbert/{name}-{split}.csv"] = ["\t".join(map(str, line)) for line in cells]
    return files


def _in_turn(labels: Sequence[int], rows: int, random: Random) -> list[int]:
    sequence = [labels[row % len(labels)] for row in range(rows)]
    random.shuffle(sequence)
    return sequence


def _sentiment(random: Random, degree: int) -> str:
    """Return a sentence on a film from 0, blame, over 2, a plot, to 4, praise; 1 and 3 are weaker in what they say."""
    cinema = REVIEW_TOPICS["cinema"]
    if degree == 2:
        event = random_event(random, cinema)
        return tokenised(tell(event, word(event, random), random, "caption"))
    thing = random.choice(random.choice(cinema.things))
    first, second = (random.choice(concept) for concept in random.sample(qualities(cinema, degree > 2), 2))
    if degree in (1, 3):
        return tokenised(f"the {thing} is somewhat {first}".split())
    return tokenised(f"the {thing} is really {first} and very {second}".split())


def _asked(random: Random, same: bool, starts: Sequence[str] = OPENINGS) -> tuple[str, str]:
    """Return two questions about events, of which the second asks the same or not, and how they open."""
    starts = random.sample(starts, 2)
    pair = zip(starts, _duplicate(random, same), strict=True)
    one, other = (cased([*start.split(), *words], "?") for start, words in pair)
    return one, other


def captions(random: Random, count: Count) -> Files:
    """Return Flickr30k: images with five captions each, which share the scene but not always its details."""
    lines = []
    for image in range(count(200)):
        event = random_event(random)
        for number in range(5):
            said = drop_details(event, random, keep=0.6)
            lines.append(
                f"{1000000 + image}.jpg#{number}\t{cased(tell(said, word(said, random), random, 'caption'))}"
            )
    return {"pairs/flickr30k/captions.tsv.gz": lines}


def machine_paraphrases(random: Random, count: Count) -> Files:
    """Return ParaNMT: paraphrases with the faults of machine translation (lost, repeated and wrong words)."""
    lines = []
    for _ in range(count(2000)):
        one, other = _duplicate(random, same=random.random() < 0.9)
        lines.append(f"{tokenised(one)}\t{tokenised(_garbled(other, random))}")
    return {"pairs/paranmt/paranmt.tsv": lines}


def _garbled(words: Lines, random: Random) -> Lines:
    garbled: Lines = []
    for item in words:
        fault = random.random()
        garbled += [] if fault < 0.05 else [item, item] if fault < 0.08 else [item]
    return garbled or words


# Word resources


# Forms by part-of-speech tag.
FORMS: dict[str, dict[str, Callable[[str], str]]] = {
    "NN": {"NN": str, "NNS": lexicon.plural},
    "VB": {"VB": str, "VBZ": lexicon.present, "VBD": lexicon.past, "VBG": lexicon.progressive},
}
TAGS = {"people": "NN", "actions": "VB", "things": "NN", "qualities": "JJ", "places": "NN"}
OTHERS = {
    "JJ": lexicon.PERSONAL_QUALITIES + lexicon.PRAISE + lexicon.BLAME,
    "RB": lexicon.MANNERS,
    "CD": lexicon.NUMBERS,
    "NNP": lexicon.NAMES,
}


def _inflected(concept: lexicon.Concept, tag: str) -> dict[str, lexicon.Concept]:
    """Return the concept's forms by part-of-speech tag."""
    return {name: tuple(map(form, concept)) for name, form in FORMS.get(tag, {tag: str}).items()}


def _tagged_concepts() -> Iterator[tuple[str, str, lexicon.Concept]]:
    """Yield (topic or "", tag, concept) for every concept of single words."""
    for topic in lexicon.TOPICS:
        for role, tag in TAGS.items():
            yield from ((topic.name, tag, concept) for concept in getattr(topic, role))
    for tag, group in OTHERS.items():
        yield from (("", tag, concept) for concept in group)


def synonyms(random: Random, count: Count) -> Files:
    """Return a paraphrase database: every ordered pair of synonyms in all inflections."""
    lines = []
    for _, tag, concept in _tagged_concepts():
        if tag in ("CD", "NNP"):
            continue
        for name, forms in _inflected(concept, tag).items():
            for one, other in permutations(forms, 2):
                score = f"AGigaSim={random.uniform(0.65, 0.95):.5f}"
                lines.append(f"[{name}] ||| {one} ||| {other} ||| {score} ||| 0-0 ||| Equivalence")
    return {"synonyms/ppdb.txt": lines}


def word_vectors(random: Random, count: Count) -> Files:
    """Return GloVe-like vectors: random directions for topic, part of speech, concept and word, added up."""
    generator = np.random.default_rng(random.getrandbits(63))
    directions: dict[object, np.ndarray] = {}

    def direction(name: object) -> np.ndarray:
        if name not in directions:
            directions[name] = generator.normal(size=GLOVE_WIDTH) / np.sqrt(GLOVE_WIDTH)
        return directions[name]

    vectors: dict[str, np.ndarray] = {}
    for (item,) in lexicon.FUNCTION_WORDS:
        vectors[item] = direction("function") + 0.5 * direction((item,))
    for topic, tag, concept in _tagged_concepts():
        base = direction(concept) + 0.5 * direction((tag,)) + (0.7 * direction(topic) if topic else 0.0)
        for name, forms in _inflected(concept, tag).items():
            for form in forms:
                vectors.setdefault(form, base + 0.15 * direction((tag, name)) + 0.35 * direction((form,)))
    for item in " ".join(wording for concept in lexicon.TIMES for wording in concept).split():
        vectors.setdefault(item, direction("time") + direction((item,)))
    return {"vectors/glove.txt": [f"{item} {_numbers(vector)}" for item, vector in vectors.items()]}


def _numbers(vector: np.ndarray) -> str:
    return " ".join(f"{value:.5f}" for value in vector)


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
