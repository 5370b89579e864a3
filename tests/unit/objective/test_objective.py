"""Loss terms, compared with slow loops of their formulas."""

import math
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from replicse.data.tokenizer import SpecialIds
from replicse.encoder.batch import TokenBatch
from replicse.objective import Objective, Step
from replicse.objective.mlm import choose_positions, mask_tokens
from replicse.objective.terms import make_term
from replicse.registry.terms import Term


def specs_of(*specs):
    """Parse parameters of terms from dicts."""
    return [TypeAdapter(Term).validate_python(spec) for spec in specs]


def term_of(**spec):
    """Create a term from parameters."""
    return make_term(*specs_of(spec))


def vectors(rows, width, count, seed):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(rows, width, generator=generator, dtype=torch.float64) for _ in range(count)]


def step_of(views):
    return Step(vectors=views, columns=[], model=None, generator=torch.Generator())


def slow_infonce(views, temperature, alpha, cosine):
    """Compute SimCSE Eq. 1, 5 and 8 in loops.

    Args:
        views: Arrays of anchors, positives, and optionally negatives.
        temperature: Temperature of the softmax.
        alpha: Weight of the hard negative of the same instance.
        cosine: Whether to use cosines instead of inner products.
    """

    def similarity(a, b):
        lengths = math.hypot(*a) * math.hypot(*b) if cosine else 1
        return float(a @ b) / lengths

    anchors, positives, *negatives = views
    losses = []
    for i, anchor in enumerate(anchors):
        terms = [similarity(anchor, positive) / temperature for positive in positives]
        weights = [1.0] * len(terms)
        for block in negatives:
            for j, negative in enumerate(block):
                terms.append(similarity(anchor, negative) / temperature)
                weights.append(alpha if i == j else 1.0)
        largest = max(terms)
        total = sum(weight * math.exp(term - largest) for weight, term in zip(weights, terms, strict=True))
        losses.append(largest + math.log(total) - terms[i])
    return sum(losses) / len(losses)


@settings(max_examples=60)
@given(
    rows=st.integers(1, 7),
    views=st.integers(2, 4),
    temperature=st.sampled_from([0.05, 0.1, 1.0]),
    alpha=st.sampled_from([0.5, 1.0, 2.0]),
    cosine=st.booleans(),
    seed=st.integers(0, 999),
)
def test_infonce_is_its_formula(rows, views, temperature, alpha, cosine, seed):
    found = vectors(rows, 5, views, seed)
    spec = {
        "temperature": temperature,
        "hard_negative_weight": alpha,
        "similarity": "cosine" if cosine else "dot",
    }
    term = term_of(term="infonce", **spec)
    expected = slow_infonce(found, temperature, alpha, cosine)
    assert float(term(step_of(found))) == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(("rows", "parts"), [(8, 4), (7, 2), (3, 4)])
def test_infonce_in_parts_is_the_mean_of_what_devices_that_gather_nothing_compute(rows, parts):
    found = vectors(rows, 5, 3, 1)
    shares = zip(*(view.tensor_split(min(parts, rows)) for view in found), strict=True)
    wanted = [float(term_of(term="infonce")(step_of(list(share)))) for share in shares]
    assert float(term_of(term="infonce", parts=parts)(step_of(found))) == pytest.approx(
        sum(wanted) / len(wanted)
    )
    whole = float(term_of(term="infonce", parts=1)(step_of(found)))
    single = float(term_of(term="infonce", parts=rows)(step_of(found)))
    assert whole > single


def test_an_objective_is_the_weighted_sum_of_its_terms():
    found = vectors(5, 4, 2, 1)
    specs = [{"term": "infonce"}, {"term": "infonce", "temperature": 1, "weight": 0.25}]
    expected = slow_infonce(found, 0.05, 1, True) + 0.25 * slow_infonce(found, 1, 1, True)
    assert float(Objective(specs_of(*specs))(step_of(found))) == pytest.approx(expected, rel=1e-6)


SPECIAL = SpecialIds(pad=0, unk=1, cls=2, sep=3, mask=4)


class Table:
    """A backbone whose hidden states are rows of a table.

    The hidden state of a token does not depend on other tokens.
    """

    special, vocabulary, predicts_tokens = SPECIAL, 100, True

    def __init__(self):
        self.table = torch.randn(100, 7, generator=torch.Generator().manual_seed(2))
        self.seen = []

    def __call__(self, batch):
        self.seen.append(batch.tokens)
        return SimpleNamespace(last=self.table[batch.tokens] * 2)

    def token_logits(self, states, shortlist):
        return states @ (self.table if shortlist is None else self.table[shortlist]).T


def tokens(rows=200, length=40):
    """Return a batch of random tokens, by default 200 rows of 40 tokens."""
    ids = torch.randint(5, 100, (rows * length,), generator=torch.Generator().manual_seed(0))
    ids = ids.view(rows, length)
    ids[:, 0], ids[:, -1] = 2, 3
    return TokenBatch(ids.flatten(), torch.arange(rows + 1) * length)


def test_masking_follows_the_80_10_10_rule_and_spares_special_tokens():
    batch = tokens()
    special = torch.tensor([0, 1, 2, 3, 4])
    generator = torch.Generator().manual_seed(1)
    positions = choose_positions(batch, special, 0.15, generator)
    assert not torch.isin(batch.tokens[positions], special).any()
    ordinary = int((~torch.isin(batch.tokens, special)).sum())
    assert len(positions) / ordinary == pytest.approx(0.15, abs=0.01)

    edited = mask_tokens(batch.tokens, positions, 4, 100, generator)
    untouched = torch.ones(len(batch.tokens), dtype=torch.bool)
    untouched[positions] = False
    assert torch.equal(edited[untouched], batch.tokens[untouched])
    share_masked = float((edited[positions] == 4).float().mean())
    share_kept = float((edited[positions] == batch.tokens[positions]).float().mean())
    assert share_masked == pytest.approx(0.8, abs=0.04)
    assert share_kept == pytest.approx(0.1, abs=0.04)


def test_mlm_is_the_mean_cross_entropy_at_the_chosen_positions():
    batch = tokens(rows=6, length=8)
    model = SimpleNamespace(backbone=Table())
    table = model.backbone.table
    step = Step([], [batch], model, torch.Generator().manual_seed(3))
    loss = float(term_of(term="mlm", ratio=0.5)(step))

    generator = torch.Generator().manual_seed(3)
    positions = choose_positions(batch, torch.tensor([0, 1, 2, 3, 4]), 0.5, generator)
    edited = mask_tokens(batch.tokens, positions, 4, 100, generator)
    losses = []
    for place in positions.tolist():
        logits = [float((table[edited[place]] * 2) @ table[word]) for word in range(100)]
        largest = max(logits)
        total = sum(math.exp(logit - largest) for logit in logits)
        losses.append(largest + math.log(total) - logits[int(batch.tokens[place])])
    assert loss == pytest.approx(sum(losses) / len(losses), rel=1e-5)
    whole = term_of(term="mlm", ratio=0.5, candidates=100_000)
    same = float(whole(Step([], [batch], model, torch.Generator().manual_seed(3))))
    assert same == pytest.approx(loss, rel=1e-5)


def test_masking_in_place_changes_what_the_other_terms_see():
    batch = tokens(rows=6, length=8)
    model = SimpleNamespace(backbone=Table())
    columns = [batch, batch.slice(0, 3)]
    fixed = Objective(specs_of({"term": "infonce"}, {"term": "mlm", "ratio": 0.5}))
    assert fixed.edit(columns, model, torch.Generator()) is columns
    buggy = Objective(specs_of({"term": "infonce"}, {"term": "mlm", "ratio": 0.5, "in_place": True}))
    edited = buggy.edit(columns, model, torch.Generator().manual_seed(0))
    assert [column.rows for column in edited] == [6, 3]
    assert all((column.tokens == 4).any() for column in edited)
    special = torch.isin(batch.tokens, torch.tensor([2, 3]))
    assert torch.equal(edited[0].tokens[special], batch.tokens[special])


def test_masking_in_place_predicts_the_original_pieces():
    batch = tokens(rows=6, length=8)
    model = SimpleNamespace(backbone=Table())
    losses = []
    for in_place in (True, False):
        term = term_of(term="mlm", ratio=0.5, in_place=in_place)
        generator = torch.Generator().manual_seed(5)
        columns = term.edit([batch], model, generator)
        losses.append(float(term(Step([], columns, model, generator))))
    assert losses[0] == pytest.approx(losses[1])
    assert torch.equal(*model.backbone.seen)
