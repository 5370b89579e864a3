"""Labelled sentences and pairs: SentEval's tasks, and tasks of a course."""

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
    duplicate,
    pair,
    question_pair,
    review,
)

# A linear layer on two concatenated vectors adds a score of each vector. So in the course's questions, as on Quora,
# a question by itself indicates how likely it has a duplicate.
ASKED_TWICE = ("why is it that", "how come")
ASKED_ONCE = ("is it true that", "who knows whether")
PHRASES = ("{q}", "very {q}", "a {q} {p}", "has been {q} to the {p}", "to be {q} again")


def reviews(random: Random, count: Count) -> Files:
    """Generate MR, CR and SST2: reviews of films and gadgets.

    Half of them are positive.

    Args:
        random: The random generator to use.
        count: A function that scales the number of rows.
    """
    cinema, gadgets = REVIEW_TOPICS["cinema"], REVIEW_TOPICS["gadgets"]
    files: Files = {}
    for praise, sign in ((True, "pos"), (False, "neg")):
        films = [tokenised(review(random, cinema, praise)) + " " for _ in range(count(100))]
        goods = [tokenised(review(random, gadgets, praise)) + " " for _ in range(count(80))]
        files[f"{DOWNSTREAM}/MR/rt-polarity.{sign}"] = films
        # The official files contain empty lines too.
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
    """Generate SUBJ (opinions and plots) and MPQA (phrases with sentiment).

    Args:
        random: The random generator to use.
        count: A function that scales the number of rows.
    """
    cinema = REVIEW_TOPICS["cinema"]
    opinions = [tokenised(review(random, cinema, random.random() < 0.5)) + " " for _ in range(count(100))]
    plots = []
    for _ in range(count(100)):
        event = random_event(random, random.choice((cinema, random.choice(lexicon.TOPICS))))
        plots.append(tokenised(tell(event, word(event, random), random, "caption")) + " ")
    phrases: dict[str, list[str]] = {"pos": [], "neg": []}
    for sign, words in (("pos", lexicon.PRAISE), ("neg", lexicon.BLAME)):
        rows = 85 if sign == "pos" else 115
        for _ in range(count(rows)):
            quality = random.choice(random.choice(words))
            form = random.choice(PHRASES)
            person = random.choice(random.choice(random.choice(lexicon.TOPICS).people))
            phrases[sign].append(form.format(q=quality, p=person) + " ")
    return {
        f"{DOWNSTREAM}/SUBJ/subj.subjective": opinions,
        f"{DOWNSTREAM}/SUBJ/subj.objective": plots,
        f"{DOWNSTREAM}/MPQA/mpqa.pos": [phrases["pos"][0], "", *phrases["pos"][1:]],
        f"{DOWNSTREAM}/MPQA/mpqa.neg": phrases["neg"],
    }


def questions(random: Random, count: Count) -> Files:
    """Generate TREC: questions of six classes.

    The first training question contains a Latin-1 letter.

    Args:
        random: The random generator to use.
        count: A function that scales the number of rows.
    """
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
    """Generate MRPC: two thirds paraphrases, one third with changed concepts.

    Args:
        random: The random generator to use.
        count: A function that scales the number of rows.
    """
    files: Files = {}
    for split, rows in (("train", 200), ("test", 100)):
        lines = ["Quality\t#1 ID\t#2 ID\t#1 String\t#2 String"]
        for number in range(count(rows)):
            same = random.random() < 0.66
            one, other = duplicate(random, same)
            ids = f"{700000 + 2 * number}\t{700001 + 2 * number}"
            lines.append(f"{int(same)}\t{ids}\t{cased(one, ' .')}\t{cased(other, ' .')}")
        files[f"{DOWNSTREAM}/MRPC/msr_paraphrase_{split}.txt"] = lines
    return files


def course(random: Random, count: Count) -> Files:
    """Generate the labelled datasets of 2-Tier SimCSE (methods 5).

    They are SST with five classes, CFIMDB, Quora and STS.

    Args:
        random: The random generator to use.
        count: A function that scales the number of rows.
    """
    files: Files = {}
    for split, rows in (("train", 400), ("dev", 150)):
        graded_reviews = []
        for degree in _shuffle_labels(range(5), count(rows), random):
            graded_reviews.append((_sentiment(random, degree), degree))
        films = []
        for sign in _shuffle_labels(range(2), count(rows // 2), random):
            films.append((_sentiment(random, 4 * sign), sign))
        questions = []
        for same in _shuffle_labels((1, 0), count(rows), random):
            starts = ASKED_TWICE if same else ASKED_ONCE
            questions.append((*question_pair(random, bool(same), starts), same))
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
            table = ["\t".join(("", "id", *columns))]
            for place, line in enumerate(lines):
                table.append("\t".join(map(str, (place, f"{name}{place}", *line))))
            files[f"minbert/{name}-{split}.csv"] = table
    return files


def _shuffle_labels(labels: Sequence[int], rows: int, random: Random) -> list[int]:
    """Return labels for some rows, equally frequent, in random order."""
    sequence = [labels[row % len(labels)] for row in range(rows)]
    random.shuffle(sequence)
    return sequence


def _sentiment(random: Random, degree: int) -> str:
    """Generate a sentence on a film with a degree from 0 (negative) to 4.

    2 is a plot without an opinion; 1 and 3 are weaker than 0 and 4.
    """
    cinema = REVIEW_TOPICS["cinema"]
    if degree == 2:
        event = random_event(random, cinema)
        return tokenised(tell(event, word(event, random), random, "caption"))
    thing = random.choice(random.choice(cinema.things))
    first, second = map(random.choice, random.sample(qualities(cinema, degree > 2), 2))
    if degree in (1, 3):
        return tokenised(f"the {thing} is somewhat {first}".split())
    return tokenised(f"the {thing} is really {first} and very {second}".split())
