"""Word resources: a paraphrase database and word vectors."""

from collections.abc import Callable, Iterator
from itertools import chain, permutations
from random import Random

import numpy as np

from replicse.world import words as lexicon
from replicse.world.parts import Count, Files

GLOVE_WIDTH = 50
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
            for concept in getattr(topic, role):
                yield topic.name, tag, concept
    for tag, group in OTHERS.items():
        for concept in group:
            yield "", tag, concept


def synonyms(random: Random, count: Count) -> Files:
    """Generate a paraphrase database with all inflections.

    It contains every ordered pair of synonyms.

    Args:
        random: The random generator to use.
        count: Not used; all synonyms are written.
    """
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
    """Generate word vectors like GloVe's.

    A vector is the sum of random directions for topic, part of speech, concept and word.

    Args:
        random: The random generator to use.
        count: Not used; all words are written.
    """
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
        base = direction(concept) + 0.5 * direction((tag,))
        if topic:
            base = base + 0.7 * direction(topic)
        for name, forms in _inflected(concept, tag).items():
            for form in forms:
                vectors.setdefault(form, base + 0.15 * direction((tag, name)) + 0.35 * direction((form,)))
    for item in " ".join(chain.from_iterable(lexicon.TIMES)).split():
        vectors.setdefault(item, direction("time") + direction((item,)))
    return {"vectors/glove.txt": [f"{item} {_numbers(vector)}" for item, vector in vectors.items()]}


def _numbers(vector: np.ndarray) -> str:
    return " ".join(f"{value:.5f}" for value in vector)
