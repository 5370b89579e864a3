"""Pairs in an evaluation file: encoding, and scores that they contradict."""

import base64

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from replicse.errors import BadInput
from replicse.judge.values.evaluation_files import check_pairs
from replicse.judge.values.pairs import pack_pairs, unpack_side

GENERATOR = np.random.default_rng(3)
GOLD = np.round(GENERATOR.uniform(0, 5, 200), 1)
PATH = "sets/rated/spearman"


def as_before(cosines, gold):
    """Encode both sides with 32 bits a number, as in files without the mark.

    Args:
        cosines: Array of cosines.
        gold: Array of gold scores.

    Returns:
        Dict from "cosine" and "gold" to a base64 string.
    """
    sides = {"cosine": cosines, "gold": gold}
    return {name: base64.b64encode(side.astype("<f4").tobytes()).decode() for name, side in sides.items()}


def evaluation(score, packed):
    return {"suites": {"sets": {"rated": {"spearman": {"all": score}}}}, "pairs": {PATH: packed}}


def score_of(cosines, gold):
    return float(100 * spearmanr(cosines, gold).statistic)


def test_a_side_takes_32_bits_a_number_and_64_only_to_keep_numbers_apart():
    plain = pack_pairs(GOLD / 5, GOLD)
    assert plain == as_before(GOLD / 5, GOLD)
    assert unpack_side(plain["gold"]) == pytest.approx(GOLD, abs=1e-6)
    near, probabilities = 1 - np.arange(200) * 1e-12, 1e9 + np.arange(200.0)
    packed = pack_pairs(near, probabilities)
    assert unpack_side(packed["cosine"]).tolist() == near.tolist()
    assert unpack_side(packed["gold"]).tolist() == probabilities.tolist()


def test_a_near_tie_beside_many_identical_pairs_refutes_no_score():
    """A near tie beside many identical pairs is accepted.

    With 32 bits, a further pair is tied. Then no order of the pairs has scipy's correlation on 64 bits.
    """
    cosines = np.concatenate([np.full(80, 1.0), [1 - 1e-9], np.linspace(0.2, 0.9, 60)])
    gold = np.concatenate([np.tile([0.0, 5.0], 40), [0.0], np.linspace(0, 4, 60)])
    right = score_of(cosines, gold)
    assert abs(right - score_of(cosines.astype("f4"), gold)) > 0.05
    for packed in (pack_pairs(cosines, gold), as_before(cosines, gold)):
        check_pairs(evaluation(right, packed), "a.json")
    with pytest.raises(
        BadInput, match=r"a\.json: sets/rated/spearman/all is .*, but the correlation of the pairs is"
    ):
        check_pairs(evaluation(right + 1, pack_pairs(cosines, gold)), "a.json")


few = st.integers(0, 3)


@given(st.lists(st.tuples(few, few, few), min_size=3, max_size=12))
def test_ties_that_rounding_made_refute_no_right_score(rows):
    """Ties because of rounding are accepted.

    Some cosines with the same 32-bit number differ, others are equal. Gold scores can be tied, too.
    """
    coarse, fine, gold = (np.array(side, dtype=float) for side in zip(*rows, strict=True))
    cosines = coarse / 4 + fine * 1e-10
    if len(set(cosines)) > 1 and len(set(gold)) > 1:
        check_pairs(evaluation(score_of(cosines, gold), as_before(cosines, gold)), "a.json")


def test_a_wrong_score_is_refused_even_if_gold_scores_are_tied():
    gold = np.tile([0.0, 2.5, 5.0], 100)
    cosines = gold / 10 + np.random.default_rng(0).normal(0, 0.2, 300)
    right = score_of(cosines, gold)
    for packed in (pack_pairs(cosines, gold), as_before(cosines, gold)):
        check_pairs(evaluation(right, packed), "a.json")
        for wrong in (right - 0.06, right + 0.06):
            with pytest.raises(BadInput, match="but the correlation of the pairs is"):
                check_pairs(evaluation(wrong, packed), "a.json")
