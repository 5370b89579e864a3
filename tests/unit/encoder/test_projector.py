"""The projector with batch normalisation (DiffCSE), compared with torch.

Also tests that it can be saved, and vectors at test time.
"""

import json

import micro
import pytest
import torch
from safetensors.torch import load_file
from tiny_encoders import pooled_by, tiny
from torch import nn

from replicse.encoder.heads import Projector, load_head, make_head
from replicse.encoder.sentence import SentenceEncoder
from replicse.registry.encoders import ProjectorHead

DEFAULT = ProjectorHead(kind="projector")
TWO = [{"column": "text"}, {"column": "other"}]


def reference(projector, hidden=32):
    """Create the layers in the paper's appendix with weights of a projector.

    The default width is the width of the tiny encoders.
    """
    layers = nn.Sequential(
        nn.Linear(hidden, 2 * hidden, bias=False),
        nn.BatchNorm1d(2 * hidden),
        nn.ReLU(),
        nn.Linear(2 * hidden, hidden, bias=False),
        nn.BatchNorm1d(hidden, affine=False),
    )
    layers.load_state_dict(projector.layers.state_dict())
    return layers


def shifted():
    """Create a projector whose running statistics have been updated."""
    projector = make_head(DEFAULT, 32, torch.Generator().manual_seed(0))
    for seed in range(3):
        projector(3 + 2 * torch.randn(20, 32, generator=torch.Generator().manual_seed(seed)))
    return projector


def test_it_is_the_layers_of_the_appendix_in_training_and_at_test():
    projector = make_head(DEFAULT, 32, torch.Generator().manual_seed(0))
    layers = reference(projector)
    for seed in range(4):
        values = torch.randn(11, 32, generator=torch.Generator().manual_seed(seed))
        if seed == 3:
            projector.eval()
            layers.eval()
        assert torch.allclose(projector(values), layers(values), atol=1e-5)
    assert float(projector.layers[0].weight.detach().std()) == pytest.approx(0.02, rel=0.1)
    assert not list(projector.layers[4].parameters())


@pytest.mark.parametrize("statistics", ["batch", "view"])
def test_a_batch_is_normalised_over_all_rows_of_all_views_or_each_view_by_itself(tmp_path, statistics):
    head = {"kind": "projector", "layers": 3, "width": 8, "output": 12, "final_norm": False}
    head |= {"statistics": "view"} if statistics == "view" else {}
    job = micro.job(tmp_path, head=head, dropout={"hidden": 0, "attention": 0}, views=TWO)
    trainer = micro.trainer_of(job, tmp_path)
    layers = trainer.model.head.layers
    names = [type(layer).__name__ for layer in layers]
    assert names == ["Linear", "BatchNorm1d", "ReLU", "Linear", "BatchNorm1d", "ReLU", "Linear"]
    assert [layer.out_features for layer in layers[::3]] == [8, 8, 12]
    assert all(layer.bias is None for layer in layers[::3])
    columns, _ = next(trainer.sources[0].data.batches(0, 1))
    with torch.no_grad():
        found, raw = (
            trainer.model.train().vectors(columns, [pooled_by(name, trainer.model.backbone)] * 2, False)
            for name in ("cls-head", "cls")
        )
        if statistics == "batch":
            found, raw = [torch.cat(found)], [torch.cat(raw)]
        for view, vectors in zip(found, raw, strict=True):
            hidden = vectors
            for linear in (layers[0], layers[3]):
                hidden = hidden @ linear.weight.T
                hidden = (hidden - hidden.mean(0)) / (hidden.var(0, unbiased=False) + 1e-5).sqrt()
                hidden = hidden.relu()
            assert torch.allclose(view, hidden @ layers[6].weight.T, atol=1e-4)


def test_a_saved_projector_comes_back_with_its_statistics_which_are_those_of_the_test(tmp_path):
    """A saved projector is loaded with the running statistics.

    At test time, the vector of a sentence does not depend on other sentences.
    """
    encoder, projector = tiny(vocabulary=120), shifted()
    encoder.save(tmp_path / "out", projector, micro.tokenizer_file(tmp_path))
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["sentence_head"] == {"kind": "projector"}
    stored = load_file(tmp_path / "out" / "model.safetensors")
    assert "bert.projector.layers.4.running_var" in stored
    head = load_head(tmp_path / "out")
    assert isinstance(head, Projector) and head.settings == DEFAULT
    values = torch.randn(5, 32)
    assert torch.equal(head.eval()(values), projector.eval()(values))
    assert not torch.allclose(projector(values), make_head(DEFAULT, 32).eval()(values))
    head.train()(values)  # the loaded head can be trained

    together = SentenceEncoder.open(tmp_path / "out", "cls-head")
    alone = SentenceEncoder.open(tmp_path / "out", "cls-head")
    texts = micro.sentences(3)
    for text, vector in zip(texts, together(texts), strict=True):
        assert alone([text])[0] == pytest.approx(vector, abs=1e-5)
    assert torch.equal(together.head.layers[1].running_mean, projector.layers[1].running_mean)
    assert together.head.training, "encoding leaves the mode as it found it"
