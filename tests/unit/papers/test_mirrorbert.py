"""Mirror-BERT: NT-Xent in float64, a complete step, and masked spans."""

from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from one_step import bert, check_weights, cosine, states, stepped
from planned import shipped_plan

from replicse.augment import augment
from replicse.data.corpora import read_corpus
from replicse.objective import Step
from replicse.objective.terms import make_term
from replicse.registry.terms import TermParameters

SPAN = {"name": "span-masking", "characters": 5, "shortest": 30}
LENGTH = 20


def nt_xent(first, second, temperature):
    vectors, rows, losses = [*first, *second], len(first), []
    for i, anchor in enumerate(vectors):
        others = [cosine(anchor, other) / temperature for j, other in enumerate(vectors) if j != i]
        positive = cosine(anchor, vectors[(i + rows) % (2 * rows)]) / temperature
        losses.append(torch.stack(others).exp().sum().log() - positive)
    return torch.stack(losses).mean()


@pytest.mark.parametrize(("rows", "temperature"), [(1, 0.1), (2, 1.0), (6, 0.04)])
def test_nt_xent_is_the_mean_over_both_views_with_negatives_of_both(rows, temperature):
    views = [*torch.randn(2, rows, 5, generator=torch.Generator().manual_seed(rows), dtype=torch.float64)]
    term = make_term(TermParameters.of({"term": "nt-xent", "temperature": temperature}, "a test"))
    found = float(term(Step(views, [], None, torch.Generator())))
    assert found == pytest.approx(float(nt_xent(*views, temperature)), rel=1e-9, abs=1e-12)


def test_a_step(tmp_path):
    """A step equals a separate implementation in float64.

    It uses means over padding, each of 2B vectors against the 2B - 1 others, weight decay, no clipping, and a
    constant learning rate.
    """
    pooling = {"train": {"pooling": "mean", "pad_to": LENGTH}, "test": "mean"}
    loss, rows = stepped(tmp_path, objective=[{"term": "nt-xent", "temperature": 0.04}], pooling=pooling)
    model = bert(tmp_path, "before")
    expected = nt_xent(*(states(model, side, LENGTH).sum(1) / LENGTH for side in rows), 0.04)
    assert loss == pytest.approx(float(expected.detach()), rel=1e-5)
    expected.backward()
    check_weights(tmp_path, model)


def by_hand(line, start, characters=5, mask="[MASK]"):
    """Mask the first occurrence of the span that begins at `start`.

    A slow loop compares characters.

    Args:
        line: The sentence.
        start: Index of the span.
        characters: Length of the span. Default: 5.
        mask: Mask token. Default: "[MASK]".
    """
    span = line[start : start + characters]
    first = next(place for place in range(len(line)) if line[place : place + characters] == span)
    return line[:first] + " " + mask + " " + line[first + characters :]


@given(
    st.lists(st.text(alphabet="ab ", max_size=45), min_size=1, max_size=4),
    st.integers(1, 9),
    st.integers(0, 99),
)
def test_a_span_is_one_of_those_by_hand_or_the_line_stays(lines, characters, seed):
    """A line should have a masked span of the reference, or be unchanged.

    Only a few letters are used, so that most spans occur more than once.
    """
    spec = {**SPAN, "characters": characters, "seed": seed}
    for line, found in zip(lines, augment(lines, spec), strict=True):
        if len(line) < 30 or not line.strip():
            assert found == line
        else:
            starts = range(len(line) - characters)
            assert found in {by_hand(line, start, characters) for start in starts}
    assert augment(lines, spec) == augment(lines, spec)


def test_every_start_is_drawn_alike_and_the_last_character_never_masked():
    line = "abcdefghijklmnopqrstuvwxyz0123"
    found = Counter(augment([line] * 5000, SPAN))
    assert set(found) == {by_hand(line, start) for start in range(25)}
    for count in found.values():
        assert 130 < count < 280
    for text in found:
        assert text.endswith("3")


def test_the_first_occurrence_is_masked_whatever_was_drawn():
    line = "ab" * 20
    assert set(augment([line] * 200, {**SPAN, "characters": 2})) == {
        f" [MASK] {line[2:]}",
        f"a [MASK] {line[3:]}",
    }


def test_the_corpus_is_a_sample_of_the_training_sentences(real_data):
    plan = shipped_plan(scale="paper", papers={"mirrorbert": "all"}, adjudicate="all")
    corpus = next(run.corpus for run in plan.runs.values() if "sample" in run.corpus)
    rows = read_corpus(real_data, corpus)["text"]
    file = real_data / "SentEval" / "downstream" / "STS" / "STSBenchmark" / "sts-train.csv"
    sentences = set()
    for line in file.read_text(encoding="utf-8").splitlines():
        sentences.update(map(str.strip, line.split("\t")[5:7]))
    assert len(rows) == 10000 and sentences.issuperset(map(str.strip, rows))
