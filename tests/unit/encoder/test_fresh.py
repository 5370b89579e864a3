"""Encoders with random weights: any family of transformers, or an error."""

import micro
import pytest
import torch
from cases import cases

from replicse.data.tokenizer import train_tokenizer
from replicse.encoder.fresh import fresh_backbone
from replicse.encoder.opening import open_backbone
from replicse.errors import BadInput
from replicse.registry.encoders import Architecture

SIZES = {"layers": 2, "hidden": 32, "heads": 4, "intermediate": 48, "positions": 40}
MASKED = ("electra", "modernbert", "deberta-v2", "mpnet", "albert", "xlm-roberta")


def tokenizer_of(folder, kind="byte-bpe"):
    """Train a tokenizer, by default byte-level BPE; return the file."""
    file = folder / f"{kind}.json"
    train_tokenizer(kind, micro.sentences(100), 320, True).save(str(file))
    return file


def made(folder, family, kind="byte-bpe", engine="auto", **sizes):
    """Create a random encoder of a family.

    By default, the tokenizer is byte-level BPE and the engine is selected automatically.
    """
    architecture = Architecture.of({"family": family, **SIZES, **sizes}, "architecture")
    return fresh_backbone(architecture, tokenizer_of(folder, kind), engine)


@pytest.mark.parametrize(
    ("family", "engine", "token_head"),
    [
        ("bert", "packed", True),
        ("distilbert", "packed", True),
        *((family, "transformers", True) for family in MASKED),
        ("llama", "transformers", False),
        ("qwen2", "transformers", False),
    ],
)
def test_an_encoder_of_a_family_has_the_sizes_that_are_asked_for(tmp_path, family, engine, token_head):
    backbone = made(tmp_path, family)
    assert (backbone.engine, backbone.hidden, backbone.layer_count) == (engine, 32, 2)
    assert (backbone.vocabulary, backbone.max_length) == (320, 40)
    assert backbone.predicts_tokens == token_head
    if engine == "transformers":
        config = backbone.model.config
        assert (config.num_attention_heads, config.intermediate_size) == (4, 48)
        assert config.pad_token_id == backbone.special.pad


def test_a_run_from_one_is_trained_saved_and_opened_again(tmp_path):
    """A run from a random encoder is trained, saved and opened again.

    Other families were tested manually, as the documentation describes.
    """
    fresh = {"architecture": {"family": "electra", **SIZES}, "tokenizer": {"name": "test"}}
    pooling = {"train": "mean", "test": "mean"}
    job = micro.job(tmp_path, init={"fresh": fresh}, selection={"every": 10}, pooling=pooling)
    trainer = micro.trainer_of(job, tmp_path, micro.dev_root(tmp_path / "data"))
    trainer.run()
    again = open_backbone(tmp_path / "out" / "last")
    assert again.model.config.model_type == "electra" and again.predicts_tokens
    for name, weight in trainer.model.backbone.state_dict().items():
        assert torch.equal(again.state_dict()[name], weight)
    torch.manual_seed(job.spec.seed)
    first = fresh_backbone(job.spec.init.fresh.architecture, job.tokenizer).input_embeddings
    assert not torch.equal(first, trainer.model.backbone.input_embeddings)


@cases
def test_what_cannot_be_made_is_refused(tmp_path, family, options, problem):
    with pytest.raises(BadInput, match=problem):
        made(tmp_path, family, **options)


@pytest.mark.parametrize("family", ["bert", "modernbert", "deberta-v2", "qwen2"])
def test_embeddings_and_layers_are_told_apart(tmp_path, family):
    """Each weight belongs to the embeddings or to a single layer.

    Exceptions are the token head, and norms after the layers.
    """
    backbone = made(tmp_path, family)
    parts = [backbone.embedding_parameters(), backbone.layer_parameters(0), backbone.layer_parameters(1)]
    ids = [set(map(id, part)) for part in parts]
    assert all(ids) and len(set.union(*ids)) == sum(map(len, ids))
    assert id(backbone.input_embeddings) in ids[0]
    assert len(parts[1]) in (len(parts[2]), len(parts[2]) - 1)  # ModernBERT: one fewer
    head = set(map(id, backbone.token_head_parameters()))
    rest = [name for name, one in backbone.named_parameters() if id(one) not in set.union(head, *ids)]
    assert all("norm" in name.lower() for name in rest), rest


@pytest.mark.parametrize("family", ["bert", "electra"])
def test_weights_are_drawn_anew_as_the_family_draws_them(tmp_path, family):
    torch.manual_seed(0)
    backbone = made(tmp_path, family)
    spreads = {name: float(one.detach().std()) for name, one in backbone.named_parameters()}
    before = {name: one.detach().clone() for name, one in backbone.named_parameters()}
    with torch.no_grad():
        for parameter in backbone.parameters():
            parameter.add_(1)
    backbone.initialise()
    for name, one in backbone.named_parameters():
        assert float(one.detach().std()) == pytest.approx(spreads[name], rel=0.5, abs=1e-3), name
        if spreads[name]:
            assert not torch.equal(one, before[name])
