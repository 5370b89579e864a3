"""Two engines with the same interface compute equal numbers.

If only one of the engines supports a family, the family is trained, too.
"""

import json

import micro
import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny_encoders import FAMILIES, batch_of, huggingface, other_family, pooled_by

from replicse.encoder.backbone import ALL_TOKENS, FIRST_TOKEN, NeededStates
from replicse.encoder.heads import make_head
from replicse.encoder.huggingface import TransformersBackbone
from replicse.encoder.opening import open_backbone
from replicse.encoder.packed.transformer import PackedBackbone
from replicse.errors import BadInput
from replicse.objective import Objective, Step
from replicse.registry.encoders import MlpHead
from replicse.registry.run_options import DropoutRates
from replicse.registry.runs import Run
from replicse.training.model import SentenceModel

OTHERS = ("Electra", "MPNet", "DebertaV2", "ModernBert")


@pytest.fixture(autouse=True)
def seeded(one_thread):
    torch.manual_seed(0)


def saved(model, home):
    """Save a model of `transformers` and a small tokenizer to a folder."""
    model.save_pretrained(home / "init")
    micro.tokenizer_file(home / "init")
    return home / "init"


def after_one_step(folder, engine, home, terms):
    """Return the loss of a fixed batch, and all weights after a step.

    The step is plain gradient descent. The weights are loaded from the saved encoder.

    Args:
        folder: Folder of the encoder.
        engine: Name of the engine.
        home: Folder to save to.
        terms: List of loss terms.
    """
    torch.manual_seed(0)
    backbone = open_backbone(folder, engine)
    head = make_head(MlpHead(kind="mlp"), backbone.hidden, torch.Generator().manual_seed(1))
    model = SentenceModel(backbone, head, False, DropoutRates(hidden=0, attention=0))
    objective = Objective(terms)
    objective.prepare(model)
    columns = [batch_of((7, 3, 9, 5), seed) for seed in (1, 2)]
    vectors = model.vectors(columns, [pooled_by("cls-head", backbone)] * 2, False)
    loss = objective(Step(vectors, columns, model, torch.Generator().manual_seed(4)))
    loss.backward()
    with torch.no_grad():
        for parameter in model.trained_parameters():
            if parameter.grad is not None:
                parameter -= parameter.grad
    backbone.save(home, head)
    return float(loss.detach()), load_file(home / "model.safetensors")


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("term", ["infonce", "mlm"])
def test_both_engines_give_equal_losses_and_gradients(tmp_path, family, term):
    folder = saved(huggingface(family), tmp_path)
    spec = {"init": {"folder": "x"}, "corpus": {}, "views": [{"column": "a"}] * 2}
    spec["objective"] = [{"term": term}]
    terms = Run.of(spec, "run").objective
    losses, weights = zip(
        *(after_one_step(folder, engine, tmp_path / engine, terms) for engine in ("packed", "transformers")),
        strict=True,
    )
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    before = load_file(folder / "model.safetensors")
    moved = 0
    for name, value in weights[0].items():
        torch.testing.assert_close(weights[1][name], value, rtol=1e-5, atol=1e-5)
        moved += name in before and not torch.equal(before[name], value)
    assert moved > 30


@pytest.mark.parametrize(
    ("family", "activation"),
    [
        *zip(FAMILIES, ["gelu"] * 3, strict=True),
        ("bert", "gelu_new"),
        ("roberta", "relu"),
        ("distilbert", "relu"),
    ],
)
def test_hidden_states_mean_the_same_in_both_engines(tmp_path, family, activation):
    folder = saved(huggingface(family, activation), tmp_path)
    ours, theirs = open_backbone(folder, "packed").eval(), open_backbone(folder, "transformers").eval()
    assert isinstance(ours, PackedBackbone) and isinstance(theirs, TransformersBackbone)
    assert isinstance(open_backbone(folder), PackedBackbone)
    for name in ("hidden", "vocabulary", "max_length", "special", "predicts_tokens"):
        assert getattr(ours, name) == getattr(theirs, name), name
    batch, vector = batch_of(), torch.randn(5, 32)
    shortlist = torch.tensor([3, 90, 3])
    with torch.no_grad():
        for need in (
            NeededStates((0, 1, -1)),
            NeededStates((-2, 3)),
            ALL_TOKENS,
            FIRST_TOKEN,
            NeededStates((0, 2), tokens=False),
        ):
            for first in (None, vector):
                found = [engine(batch, need, first_vector=first) for engine in (ours, theirs)]
                torch.testing.assert_close(found[0].states, found[1].states, rtol=1e-5, atol=1e-5)
                if first is not None and 0 in need.states:
                    embedded = found[0].states[0]
                    assert torch.equal(embedded[batch.first] if need.tokens else embedded, vector)
        filled = [engine(batch.fill(0), ALL_TOKENS, vector).last for engine in (ours, theirs)]
        real = batch.padded_mask.flatten()
        torch.testing.assert_close(filled[0][real], filled[1][real], rtol=1e-5, atol=1e-5)
        for only in (None, shortlist):
            logits = [engine.token_logits(found[0].last, only) for engine in (ours, theirs)]
            torch.testing.assert_close(*logits, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("family", ["bert", *OTHERS])
def test_dropout_is_what_the_configuration_would_have_made_it(tmp_path, family):
    import transformers

    model = huggingface(family) if family in FAMILIES else other_family(family, 97)
    backbone = open_backbone(saved(model, tmp_path), "transformers")
    backbone.set_dropout(0.2, 0.35)
    rates = {}
    for key, value in backbone.network.config.to_dict().items():
        if "dropout" in key and isinstance(value, float | int):
            rates[key] = 0.35 if "att" in key else 0.2
    assert len(rates) >= 2
    config = transformers.AutoConfig.from_pretrained(tmp_path / "init", **rates)
    expected = type(model)(config)
    expected.load_state_dict(backbone.network.state_dict(), strict=False)
    found = []
    ids = batch_of((6, 6, 6)).tokens.view(3, 6)
    for network in (backbone.network.train(), expected.train()):
        torch.manual_seed(3)
        found.append(network(input_ids=ids).logits)
    torch.testing.assert_close(*found)
    assert not torch.allclose(found[0], model(input_ids=ids).logits, atol=1e-2)
    backbone.set_dropout(0, 0)
    torch.testing.assert_close(backbone.network(input_ids=ids).logits, model(input_ids=ids).logits)
    backbone.save(tmp_path / "out")
    written = json.loads((tmp_path / "out" / "config.json").read_text())
    before = json.loads((tmp_path / "init" / "config.json").read_text())
    for key in rates:
        assert written[key] == before[key]


def test_an_encoder_without_a_masked_lm_head_draws_one_for_a_term_that_predicts_tokens(tmp_path, capfd):
    base = other_family("Electra", 120).base_model
    folder = saved(base, tmp_path)
    capfd.readouterr()
    backbone = open_backbone(folder)
    assert capfd.readouterr().err == "", "what is missing in the file is no news"
    assert not backbone.predicts_tokens and backbone.token_head_parameters() == []
    backbone.new_token_head()
    assert backbone.token_logits(torch.randn(4, 16)).shape == (4, 120)
    table = backbone.network.get_output_embeddings().weight
    assert table is backbone.input_embeddings, "the decoder is the token embeddings"
    head = backbone.token_head_parameters()
    assert head
    for parameter in head:
        assert parameter is not table
    backbone.save(tmp_path / "out")
    assert open_backbone(tmp_path / "out").predicts_tokens
    backbone.drop_token_head()
    backbone.save(tmp_path / "out")
    assert not open_backbone(tmp_path / "out").predicts_tokens


def test_what_an_engine_cannot_read_is_said(tmp_path):
    folder = saved(other_family("Electra", 97), tmp_path)
    with pytest.raises(BadInput, match='model_type "electra" is not supported'):
        open_backbone(folder, "packed")
    weights = load_file(folder / "model.safetensors")
    gone = next(name for name in weights if "encoder.layer.1" in name)
    save_file({name: value for name, value in weights.items() if name != gone}, folder / "model.safetensors")
    with pytest.raises(BadInput, match=f'weight "{gone}" is missing'):
        open_backbone(folder)
    with pytest.raises(ValueError, match="41 tokens"):
        open_backbone(saved(other_family("Electra", 97), tmp_path / "b"))(batch_of((41,)))
