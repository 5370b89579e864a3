"""Replaced-token detection and variants, against loops (methods 4.1)."""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from papers.diffcse.edits import delete, insert
from pydantic import TypeAdapter
from tiny_encoders import PAD, pad_rows, tiny

from replicse.data.tokenizer import SpecialIds, train_tokenizer
from replicse.encoder.batch import TokenBatch
from replicse.objective import Step
from replicse.objective.mlm import masked_copy
from replicse.objective.terms import make_term
from replicse.registry.terms import Term

SPECIAL = {"bert": SpecialIds(0, 1, 2, 3, 4), "roberta": SpecialIds(1, 3, 0, 2, 4)}
LENGTHS = (9, 4, 3, 12)


def generator_folder(home, family="bert"):
    """Write a random masked LM that never predicts padding.

    Padding would shift the positions of RoBERTa.

    Args:
        home: Folder for the tokenizer and the encoder.
        family: Family of the encoder. Default: "bert".

    Returns:
        The path of the encoder as a string.
    """
    tokenizer = home / "tokenizer.json"
    train_tokenizer("wordpiece", ["A man is playing a guitar."] * 3, 97, lowercase=True).save(str(tokenizer))
    torch.manual_seed(0)
    encoder = tiny(family, layers=2, token_head=True)
    with torch.no_grad():
        encoder.masked_lm.bias[PAD[family]] = -100
    encoder.save(home / "generator", None, tokenizer)
    return str(home / "generator")


def sentences(family, seed, lengths=LENGTHS):
    """Return a batch of random tokens between a family's special tokens.

    The default is four rows of different lengths.
    """
    random, special = np.random.default_rng(seed), SPECIAL[family]
    rows = []
    for length in lengths:
        rows.append(np.array([special.cls, *random.integers(5, 97, length - 2), special.sep]))
    return TokenBatch.from_rows(rows)


def model_of(family="bert"):
    """Create a model without dropout, by default a BERT."""
    torch.manual_seed(1)
    backbone = tiny(family, token_head=True)
    backbone.set_dropout(0, 0)
    backbone.special = SPECIAL[family]
    return SimpleNamespace(backbone=backbone)


def term_of(**spec):
    """Create a term from parameters."""
    return make_term(TypeAdapter(Term).validate_python(spec))


def prepared(home, family="bert", name="rtd", **options):
    """Create a term, a model, and a generator without dropout.

    Args:
        home: Folder for the tokenizer and the generator.
        family: Family of both encoders. Default: "bert".
        name: Name of the term. Default: "rtd".
        options: Further parameters of the term.

    Returns:
        The term and the model.
    """
    if name != "conditional-mlm" and options.get("edit") != "delete":
        options["generator"] = generator_folder(home, family)
    model = model_of(family)
    model.backbone.tokenizer_file = home / "tokenizer.json"
    term = term_of(term=name, weight=0.5, **options)
    term.prepare(model)
    if getattr(term, "generator", None):
        term.generator.backbone.set_dropout(0, 0)
    return term, model


def step_of(model, columns, vectors=None, seed=5):
    """Return a step; by default the sentence vectors are random."""
    if vectors is None:
        torch.manual_seed(2)
        vectors = [torch.randn(column.rows, 32, requires_grad=True) for column in columns]
    return Step(vectors, columns, model, torch.Generator().manual_seed(seed))


def rows_of(batch, tokens=None):
    """Return the rows of a batch as a list of lists.

    By default, these are the token ids; labels of the tokens can be given instead.
    """
    tokens = batch.tokens if tokens is None else tokens
    bounds = batch.offsets.tolist()
    return [tokens[start:stop].tolist() for start, stop in itertools.pairwise(bounds)]


def reference_models(home, term, model, family):
    """Load the weights into models of `transformers`.

    Args:
        home: Folder of the generator; the discriminator is saved here.
        term: The term with both networks.

    Returns:
        The generator and the discriminator.
    """
    import transformers

    tokenizer = home / "tokenizer.json"
    term.discriminator.save(home / "discriminator", None, tokenizer)
    generator = transformers.AutoModelForMaskedLM.from_pretrained(home / "generator").eval()
    return generator, transformers.AutoModel.from_pretrained(home / "discriminator").eval()


def slow_states(discriminator, ids, mask, vectors):
    """Run a model of `transformers` with another vector at position 0.

    The vector replaces the output of the embedding layer.

    Args:
        discriminator: Model of `transformers`.
        ids: Token ids of shape (rows, length).
        mask: Attention mask of the same shape.
        vectors: Vectors of shape (rows, hidden).
    """

    def replace_first(module, inputs, output):
        return torch.cat([vectors[:, None], output[:, 1:]], dim=1)

    handle = discriminator.embeddings.register_forward_hook(replace_first)
    try:
        return discriminator(input_ids=ids, attention_mask=mask).last_hidden_state
    finally:
        handle.remove()


def cross_entropy(logits, target):
    logits = np.array(logits.tolist())
    largest = logits.max()
    return largest + math.log(np.exp(logits - largest).sum()) - logits[target]


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_the_loss_is_that_of_the_padded_loop(tmp_path, family):
    losses = {}
    for average in ("padded", "attended", "sum"):
        term, model = prepared(tmp_path, family, average=average)
        columns = [sentences(family, 0), sentences(family, 1)]
        step = step_of(model, columns)
        losses[average] = float(term(step).detach())

    special = SPECIAL[family]
    masked = masked_copy(
        TokenBatch.concatenate(columns), model.backbone, 0.3, torch.Generator().manual_seed(5)
    )
    generator, discriminator = reference_models(tmp_path, term, model, family)
    originals = [*rows_of(columns[0]), *rows_of(columns[1])]
    ids, mask = pad_rows(rows_of(masked.batch), special.pad)
    with torch.no_grad():
        written = generator(input_ids=ids, attention_mask=mask).logits.argmax(-1)
        written[:, 0] = special.cls
        written = written * mask
        states = slow_states(discriminator, written, mask, torch.cat(step.vectors).detach())
        logits = states @ term.head.weight.T + term.head.bias
    everywhere, attended = [], []
    for row, original in enumerate(originals):
        for place in range(ids.shape[1]):
            real = place < len(original)
            label = int(real and int(written[row, place]) != original[place])
            everywhere.append(cross_entropy(logits[row, place], label))
            attended += everywhere[-1:] if real else []
    assert len(everywhere) > len(attended)
    assert losses["padded"] == pytest.approx(np.mean(everywhere), rel=1e-4)
    assert losses["attended"] == pytest.approx(np.mean(attended), rel=1e-4)
    assert losses["sum"] == pytest.approx(np.sum(attended), rel=1e-4)


def test_every_position_is_rewritten_and_the_first_put_back(tmp_path):
    term, model = prepared(tmp_path)
    column = sentences("bert", 0)
    edited = term.edit_sentences(step_of(model, [column, column]))
    both = TokenBatch.concatenate([column, column])
    assert torch.equal(edited.labels, (edited.batch.tokens != both.tokens).long())
    assert (edited.batch.tokens[both.first] == 2).all() and not edited.labels[both.first].any()
    masked = masked_copy(both, model.backbone, 0.3, torch.Generator().manual_seed(5))
    untouched = torch.ones(len(both.tokens), dtype=torch.bool)
    untouched[masked.positions] = False
    assert edited.labels[untouched].any(), "a token that was not masked is replaced too"
    assert not torch.equal(*edited.batch.tokens.chunk(2)), "each copy is masked on its own"

    only, _ = prepared(tmp_path, places="masked")
    edited = only.edit_sentences(step_of(model, [column, column]))
    assert not edited.labels[untouched].any() and edited.labels.any()


def test_a_sampled_token_has_the_generators_probability(tmp_path):
    term, _ = prepared(tmp_path, choice="sample", places="masked", ratio=0.5)
    batch = sentences("bert", 0, lengths=(4,))
    position, drawn = torch.tensor([1]), torch.Generator().manual_seed(0)
    with torch.no_grad():
        states = term.generator.backbone(batch).last[1:2]
        expected = term.generator.backbone.token_logits(states).softmax(-1)[0]
    many = TokenBatch(batch.tokens.repeat(1000), torch.arange(1001) * 4)
    places = position + torch.arange(1000) * 4
    found = torch.cat([term.generator(many, places, drawn) for _ in range(4)])
    shares = torch.bincount(found, minlength=97) / len(found)
    error = (expected * (1 - expected) / len(found)).sqrt()
    assert bool(((shares - expected).abs() <= 4.5 * error + 1e-3).all())
    assert len(found.unique()) > 1
    best, _ = prepared(tmp_path)
    assert best.generator(batch, position, drawn).tolist() == [int(expected.argmax())]


def test_inserted_tokens_are_the_generators_and_the_others_stay(tmp_path):
    term, model = prepared(tmp_path, edit="insert", ratio=0.3)
    batch = sentences("bert", 3, lengths=(2, 3, 9, 12, 18))
    edited = insert(batch, 0.3, term.generator, model.backbone, torch.Generator().manual_seed(0))
    added = [0, 1, 2, 3, 5]
    assert (edited.batch.lengths - batch.lengths).tolist() == added
    labels = rows_of(edited.batch, edited.labels)
    assert list(map(sum, labels)) == added
    masked = []
    for original, row, label in zip(rows_of(batch), rows_of(edited.batch), labels, strict=True):
        assert label[0] == label[-1] == 0
        assert [token for token, new in zip(row, label, strict=True) if not new] == original
        masked.append(np.where(label, 4, row))
    with torch.no_grad():
        for row, filled, label in zip(masked, rows_of(edited.batch), labels, strict=True):
            states = term.generator.backbone(TokenBatch.from_rows([row])).last
            best = term.generator.backbone.token_logits(states).argmax(-1)
            assert filled == np.where(label, best, row).tolist()
    places = set()
    for seed in range(60):
        found = insert(
            batch.slice(2, 3), 0.3, term.generator, model.backbone, torch.Generator().manual_seed(seed)
        )
        places |= set(torch.nonzero(found.labels).flatten().tolist())
    assert places == set(range(1, 10))


def test_deleted_tokens_are_marked_at_their_followers():
    lengths = (2, 3, 4, 9, 22)
    batch = sentences("bert", 3, lengths=lengths)
    batch = TokenBatch(torch.arange(len(batch.tokens)), batch.offsets)  # each token is equal to its position
    seen = set()
    for seed in range(60):
        edited = delete(batch, 0.3, torch.Generator().manual_seed(seed))
        gone = [0, 0, 1, 2, 6]
        assert (batch.lengths - edited.batch.lengths).tolist() == gone
        rows = zip(rows_of(batch), rows_of(edited.batch), rows_of(edited.batch, edited.labels), strict=True)
        for original, row, label in rows:
            assert row[0] == original[0] and row[-1] == original[-1] and row == sorted(row)
            expected = [int(token != original[0] and token - 1 not in row) for token in row]
            assert label == expected
        seen |= set(rows_of(batch)[3]) - set(rows_of(edited.batch)[3])
    assert seen == set(rows_of(batch)[3][1:-1])


@pytest.mark.parametrize("name", ["rtd", "conditional-mlm", "corrective-lm"])
def test_gradients_reach_the_encoder_through_the_sentence_vectors_only(tmp_path, name):
    term, model = prepared(tmp_path, name=name)
    columns = [sentences("bert", 0), sentences("bert", 1)]
    step = step_of(model, columns)
    term(step).backward()
    assert all(float(vectors.grad.abs().sum()) > 0 for vectors in step.vectors)
    assert all(parameter.grad is None for parameter in model.backbone.parameters())
    assert any(parameter.grad is not None for parameter in term.discriminator.parameters())

    def gradients(detach):
        model.backbone.zero_grad(set_to_none=True)
        found = [model.backbone(column).last.index_select(0, column.first) for column in columns]
        if detach:
            found = [vectors.detach() for vectors in found]
        term(step_of(model, columns, found)).backward()
        return [parameter.grad for parameter in model.backbone.parameters()]

    assert all(gradient is None for gradient in gradients(detach=True))
    assert any(gradient is not None and bool(gradient.any()) for gradient in gradients(detach=False))


def test_each_edited_view_is_read_beside_the_vector_it_is_told(tmp_path):
    columns = [sentences("bert", seed) for seed in range(3)]
    for options, read in (
        ({}, {0, 1}),
        ({"views": [2], "condition": [0]}, {0}),
        ({"views": [2, 2], "condition": [0, 1]}, {0, 1}),
        ({"views": [2, 1], "condition": 0}, {0}),
    ):
        term, model = prepared(tmp_path, **options)
        assert set(term.params.vector_views(3)) == read
        step = step_of(model, columns)
        term(step).backward()
        assert {place for place, vectors in enumerate(step.vectors) if vectors.grad is not None} == read
    swapped, model = prepared(tmp_path, views=[0, 1], condition=[1, 0])
    straight, _ = prepared(tmp_path)
    swapped.load_state_dict(straight.state_dict())
    step = step_of(model, columns[:1] * 2)
    other = step_of(model, columns[:1] * 2, step.vectors[::-1])
    assert float(swapped(step).detach()) == pytest.approx(float(straight(other).detach()), rel=1e-6)


@pytest.mark.parametrize("name", ["conditional-mlm", "corrective-lm"])
def test_the_original_is_predicted_where_it_was_masked_or_everywhere(tmp_path, name):
    term, model = prepared(tmp_path, name=name, ratio=0.4)
    columns = [sentences("bert", 0), sentences("bert", 1)]
    step, batch = step_of(model, columns), TokenBatch.concatenate(columns)
    found = float(term(step).detach())
    masked = masked_copy(batch, model.backbone, 0.4, torch.Generator().manual_seed(5))
    read, places = masked.batch, masked.positions.tolist()
    rtd, _ = prepared(tmp_path, ratio=0.4)
    if name == "corrective-lm":
        rtd.generator = term.generator
        read, places = rtd.edit_sentences(step_of(model, columns)).batch, range(len(batch.tokens))
    _, discriminator = reference_models(tmp_path, term, model, "bert")
    ids, mask = pad_rows(rows_of(read), 0)
    with torch.no_grad():
        states = slow_states(discriminator, ids, mask, torch.cat(step.vectors).detach())[mask.bool()]
        logits = model.backbone.token_logits(states)
    losses = [cross_entropy(logits[place], int(batch.tokens[place])) for place in places]
    assert found == pytest.approx(np.mean(losses), rel=1e-4)


def test_the_generator_runs_with_dropout_and_is_never_trained(tmp_path):
    term, _ = prepared(tmp_path)
    term.generator.backbone.set_dropout(0.1, 0.1)
    batch = sentences("bert", 0, lengths=(20,) * 50)
    first = term.generator(batch, None, torch.Generator())
    second = term.generator(batch, None, torch.Generator())
    assert not torch.equal(first, second)
    for parameter in term.generator.backbone.parameters():
        assert not parameter.requires_grad
    known = set(map(id, term.parameters()))
    assert not known & set(map(id, term.generator.backbone.parameters()))
    for name in term.state_dict():
        assert "generator" not in name
