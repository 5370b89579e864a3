"""Evaluation variants of an encoder, each against a plain computation."""

import copy

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from small_stsb import RandomVectors
from tiny_encoders import saved_tiny
from torch.overrides import TorchFunctionMode

from replicse.data.sts import load_sts
from replicse.encoder.sentence import SentenceEncoder
from replicse.errors import BadInput
from replicse.evaluation import sts, variants
from replicse.evaluation.correlation import cosines
from replicse.evaluation.half_precision import cosines_in
from replicse.evaluation.suites import run_suites
from replicse.registry.suites import VARIANTS, known_paths


@pytest.fixture(scope="module")
def folder(world, tmp_path_factory):
    return saved_tiny(world, tmp_path_factory.mktemp("encoder"))


@pytest.fixture(scope="module")
def found(world, folder):
    encoder = SentenceEncoder.open(folder, "cls")
    before = copy.deepcopy(encoder.backbone.state_dict())
    numbers = variants.evaluate(world, encoder, folder=str(folder))
    torch.testing.assert_close(encoder.backbone.state_dict(), before, rtol=0, atol=0)
    assert encoder.backbone.training
    return numbers


@pytest.fixture(scope="module")
def seen(world, folder):
    """Return the number of rows encoded in a single pass, and the encoder."""
    encoder, rows = SentenceEncoder.open(folder, "cls"), []
    encoder.backbone.register_forward_pre_hook(lambda _, inputs: rows.append(inputs[0].rows))
    again = ("length", "weights", "all", "padding", "mean-with", "in-a")
    once = [name for name in VARIANTS if not name.startswith(again)]
    variants.evaluate(world, encoder, once, str(folder))
    return sum(rows), encoder


def test_every_path_of_the_registry_is_a_number(found):
    paths = [path.partition("/")[2] for path in known_paths() if path.startswith("variants/")]
    assert len(paths) > 150 and found["failures"] == {}
    for variant, task in (path.split("/") for path in paths):
        assert isinstance(found[variant][task], float), (variant, task)


def test_one_pass_is_enough_for_all_poolings_aggregations_splits_and_precisions_of_scores(seen):
    rows, encoder = seen
    assert rows == len(set(encoder._tokens.values()))


@pytest.mark.parametrize("pooling", ["cls-head", "mean", "first-last"])
def test_a_pooling_is_that_of_the_suite_sts(found, world, folder, pooling):
    plain = sts.evaluate(world, SentenceEncoder.open(folder, pooling))
    assert found[pooling]["avg"] == pytest.approx(plain["avg"], abs=0.02)
    assert found[pooling]["STS13"] == pytest.approx(plain["STS13"]["all"], abs=0.05)


def test_a_template_is_that_of_an_encoder_that_reads_it_and_aggregations_those_of_the_suite(
    found, world, folder
):
    plain = sts.evaluate(world, SentenceEncoder.open(folder, variants.TEMPLATE))
    assert found["in-a-template"]["avg"] == pytest.approx(plain["avg"], abs=0.02)
    plain = sts.evaluate(world, SentenceEncoder.open(folder, "cls"))
    assert found["mean-of-subsets"]["avg"] == pytest.approx(plain["avg-mean"], abs=0.02)
    assert found["weighted-mean"]["avg"] == pytest.approx(plain["avg-wmean"], abs=0.02)


def plainly(folder, sentences, attended):
    """Return the last hidden states of a padded batch, from `transformers`.

    Args:
        folder: Folder of the encoder.
        sentences: List of sentences.
        attended: Whether tokens attend to padding, too.

    Returns:
        States of shape (rows, tokens, hidden), and the attention mask.
    """
    from transformers import AutoModel, AutoTokenizer

    model = AutoModel.from_pretrained(folder).eval()
    fed = AutoTokenizer.from_pretrained(folder)(list(sentences), padding=True, return_tensors="pt")
    mask = torch.ones_like(fed["attention_mask"]) if attended else fed["attention_mask"]
    with torch.no_grad():
        return model(fed["input_ids"], attention_mask=mask).last_hidden_state


@pytest.mark.parametrize("variant", variants.PADDED)
def test_padding_is_that_of_transformers_in_sentevals_batches(world, folder, variant, monkeypatch):
    monkeypatch.setattr(variants, "SENTEVAL_BATCH", 16)
    subset = load_sts(world, "STS12")[0]
    study = variants.VariantStudy(world, SentenceEncoder.open(folder, "cls"), None, ())
    first, second = study.padded(variant, subset)
    pairs = list(zip(subset.first, subset.second, subset.gold, range(len(subset.gold)), strict=True))
    pairs.sort(key=lambda pair: (len(pair[0].split()), len(pair[1].split()), pair[2]))
    for start in range(0, len(pairs), 16):
        some = pairs[start : start + 16]
        places = [place for *_, place in some]
        for side, ours in ((0, first), (1, second)):
            states = plainly(folder, [pair[side] for pair in some], variant == "padding-attended")
            wanted = states.mean(1) if variant == "mean-with-padding" else states[:, 0]
            np.testing.assert_allclose(ours[places], wanted.numpy(), rtol=1e-3, atol=1e-4)


def test_an_encoder_in_bf16_computes_its_products_in_fp32_and_keeps_their_roundings(world, folder):
    """Products in bf16 should be computed in fp32 and then rounded to bf16.

    A CPU without instructions for bf16 would need 60 times as long otherwise.
    """

    class Kinds(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            if function in (F.linear, F.scaled_dot_product_attention):
                kinds.update(each.dtype for each in args if isinstance(each, torch.Tensor))
            return function(*args, **(kwargs or {}))

    kinds = set()
    study = variants.VariantStudy(world, SentenceEncoder.open(folder, "cls"), None, ())
    with Kinds():
        found = torch.from_numpy(study.in_precision(torch.bfloat16).values)
    assert kinds == {torch.float32}
    assert torch.equal(found, found.bfloat16().float())
    difference = (found - torch.from_numpy(study.vectors(study.encoder.pooling).values)).abs()
    assert 0 < difference.max() < 0.1


def test_half_precision_moves_a_score_a_little_and_scores_in_bf16_tie():
    generator = np.random.default_rng(0)
    left, right = generator.normal(size=(2, 400, 8)).astype(np.float32)
    rounded = cosines_in(torch.bfloat16, left, right)
    assert np.abs(rounded - cosines(left, right)).max() < 0.02
    assert len(set(rounded)) < len(set(cosines(left, right)))


def test_what_has_no_variants_says_why(world):
    found = variants.evaluate(world, RandomVectors(3))
    assert found["mean"]["avg"] is None and "not a transformer" in found["failures"]["mean/avg"]
    with pytest.raises(BadInput, match='"pearsn" is not a variant of an evaluation; did you mean "pearson"'):
        run_suites(world, RandomVectors(3), ["variants"], {"variants": {"variants": ["pearsn"]}})
