"""Rated pairs: STS12 to STS16, STS-B, SICK."""

from dataclasses import replace
from random import Random

from replicse.data.sts import STS_SUBSETS
from replicse.world.grammar import Event, cased, graded, tokenised
from replicse.world.parts import DOWNSTREAM, Count, Files, pair

# The order determines the random numbers, so STS14 keeps the original order.
SUBSETS = STS_SUBSETS | {"STS14": ("deft-forum", "deft-news", "headlines", "OnWN", "images", "tweet-news")}
PARTLY_RATED = ("STS15", "STS16")
CAPTION_SUBSETS = ("MSRvid", "images")
HEADLINE_SUBSETS = ("headlines", "deft-news", "surprise.SMTnews")
BENCHMARK_SOURCES = (
    ("main-captions", "MSRvid", "2012test", "caption"),
    ("main-news", "headlines", "2013", "headline"),
    ("main-forums", "answers-forums", "2015", "story"),
)


def sts(random: Random, count: Count) -> Files:
    """Generate input and gold files of STS12 to STS16.

    STS15 and STS16 contain unrated pairs.

    Args:
        random: The random generator to use.
        count: A function that scales the number of rows.
    """
    files: Files = {}
    for task, subsets in SUBSETS.items():
        for index, subset in enumerate(subsets):
            inputs, gold = [], []
            for _ in range(count(40 + 5 * index)):
                first, second, one, other = pair(random, _style(subset))
                is_opinion = "forum" in subset or "answer" in subset
                prefix = ["i", "think", "that"] if is_opinion else []
                inputs.append(f"{tokenised([*prefix, *one])}\t{tokenised([*prefix, *other])}")
                if task in PARTLY_RATED and random.random() < 0.25:
                    gold.append("")
                else:
                    gold.append(f"{graded(first, second, random):.3f}")
            folder = f"{DOWNSTREAM}/STS/{task}-en-test"
            files[f"{folder}/STS.input.{subset}.txt"] = inputs
            files[f"{folder}/STS.gs.{subset}.txt"] = gold
    return files


def _style(subset: str) -> str:
    if subset in CAPTION_SUBSETS:
        return "caption"
    if subset in HEADLINE_SUBSETS:
        return "headline"
    return "story"


def sts_benchmark(random: Random, count: Count) -> Files:
    """Generate the three files of STS-B, with seven columns.

    Args:
        random: The random generator to use.
        count: A function that scales the number of rows.
    """
    files: Files = {}
    for split, rows in (("train", 300), ("dev", 200), ("test", 200)):
        lines = []
        for number in range(count(rows)):
            genre, source, year, style = BENCHMARK_SOURCES[number * len(BENCHMARK_SOURCES) // count(rows)]
            first, second, one, other = pair(random, style)
            score = f"{graded(first, second, random):.3f}"
            lines.append(
                "\t".join((genre, source, year, f"{number:04d}", score, tokenised(one), tokenised(other)))
            )
        files[f"{DOWNSTREAM}/STS/STSBenchmark/sts-{split}.csv"] = lines
    return files


def sick(random: Random, count: Count) -> Files:
    """Generate the three SICK files.

    They contain untokenised captions with ratings from 1 to 5 and an entailment judgment.

    Args:
        random: The random generator to use.
        count: A function that scales the number of rows.
    """
    header = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"
    files: Files = {}
    number = 0
    for split, rows in (("train", 300), ("trial", 200), ("test_annotated", 200)):
        lines = [header]
        for _ in range(count(rows)):
            number += 1
            first, second, one, other = pair(random, "caption")
            score = f"{graded(first, second, random, bottom=1.0):.1f}".removesuffix(".0")
            lines.append(
                "\t".join((str(number), cased(one, ""), cased(other, ""), score, _judgment(first, second)))
            )
        files[f"{DOWNSTREAM}/SICK/SICK_{split}.txt"] = lines
    return files


def _judgment(first: Event, second: Event) -> str:
    if first == second:
        return "ENTAILMENT"
    if replace(first, negated=not first.negated) == second:
        return "CONTRADICTION"
    return "NEUTRAL"
