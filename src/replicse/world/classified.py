"""Labelled sentences and pairs of the embedded world: SentEval's sets, and those of a course."""

from collections.abc import Sequence
from random import Random

from replicse.world import words as lexicon
from replicse.world.grammar import cased, graded, qualities, random_event, tell, tokenised, word
from replicse.world.parts import (
    DOWNSTREAM,
    REVIEW_TOPICS,
    Count,
    Files,
    article,
    asked,
    duplicate,
    pair,
    review,
)

# A linear layer on two vectors side by side adds up what each tells by itself: of the course's questions, as on Quora,
# one alone tells how likely it has a duplicate.
ASKED_TWICE = ("why is it that", "how come")
ASKED_ONCE = ("is it true that", "who knows whether")


def reviews(random: Random, count: Count) -> Files:
    """Return MR, CR and SST2: opinions on films and gadgets, half of them praise."""
    cinema, gadgets = REVIEW_TOPICS["cinema"], REVIEW_TOPICS["gadgets"]
    files: Files = {}
    for praise, sign in ((True, "pos"), (False, "neg")):
        films = [tokenised(review(random, cinema, praise)) + " " for _ in range(count(100))]
        goods = [tokenised(review(random, gadgets, praise)) + " " for _ in range(count(80))]
        files[f"{DOWNSTREAM}/MR/rt-polarity.{sign}"] = films
        # The official files have blank lines too.
        files[f"{DOWNSTREAM}/CR/custrev.{sign}"] = [goods[0], "", *goods[1:]]
    for split, rows in (("train", 200), ("dev", 100), ("test", 100)):
        lines = []
        for number in range(count(rows)):
            praise = number % 2 == 0
            lines.append(f"{tokenised(review(random, cinema, praise))}\t{int(praise)}")
        random.shuffle(lines)
        files[f"{DOWNSTREAM}/SST/binary/sentiment-{split}"] = lines
    return files


def subjectivity(random: Random, count: Count) -> Files:
    """Return SUBJ (opinions against plots of films) and MPQA (short phrases that praise or blame)."""
    cinema = REVIEW_TOPICS["cinema"]
    opinions = [tokenised(review(random, cinema, random.random() < 0.5)) + " " for _ in range(count(100))]
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
        article=article(thing),
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
            one, other = (cased(words, " .") for words in duplicate(random, same))
            lines.append(f"{int(same)}\t{700000 + 2 * number}\t{700001 + 2 * number}\t{one}\t{other}")
        files[f"{DOWNSTREAM}/MRPC/msr_paraphrase_{split}.txt"] = lines
    return files


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
            (*asked(random, bool(same), ASKED_TWICE if same else ASKED_ONCE), same)
            for same in _in_turn((1, 0), count(rows), random)
        ]
        rated = []
        for _ in range(count(rows)):
            first, second, one, other = pair(random)
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
