"""Families of `transformers`: vectors equal the library's vectors.

Each sentence is encoded alone, and in a batch with other sentences.
"""

from pathlib import Path

import micro
import numpy as np
import pytest
import torch
import yaml

from replicse.data.tokenizer import load_tokenizer, special_ids
from replicse.encoder.proof import prove_batches
from replicse.encoder.sentence import SentenceEncoder
from replicse.errors import BadInput

SENTENCES = [*micro.sentences(5, 9), "bal"]
SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
SMALL |= {"max_position_embeddings": 64}
PACKED, ALONE = ("bert", "roberta", "distilbert"), ("convbert", "fnet", "nystromformer")
FAMILIES = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))


@pytest.fixture
def folder(tmp_path):
    micro.tokenizer_file(tmp_path)
    return tmp_path


def made(family, folder):
    """Write a random encoder of a family, and return the model."""
    import transformers
    from transformers.models.auto import modeling_auto

    special = special_ids(load_tokenizer(folder / "tokenizer.json", None))
    ids = {"pad_token_id": special.pad, "bos_token_id": special.cls, "eos_token_id": special.sep}
    kind = transformers.CONFIG_MAPPING[family]
    size = load_tokenizer(folder / "tokenizer.json", None).get_vocab_size()
    known = modeling_auto.MODEL_FOR_TEXT_ENCODING_MAPPING
    known = known if kind in known else modeling_auto.MODEL_MAPPING
    torch.manual_seed(0)
    model = known[kind](kind(**{**SMALL, **FAMILIES[family], **ids}, vocab_size=size)).eval()
    # Weights so large that every part matters. In a recurrent model, rounding errors grow with them.
    factor = 2 if family == "mamba" else 3
    for weight in model.parameters():
        weight.data.mul_(factor if weight.dim() > 1 else 1)
    model.save_pretrained(folder)
    return model


@pytest.mark.parametrize("family", FAMILIES)
def test_vectors_are_those_of_the_library_alone_and_with_others(family, folder):
    from transformers import AutoTokenizer

    model, tokenizer = made(family, folder), AutoTokenizer.from_pretrained(folder)
    expected = []
    for sentence in SENTENCES:
        rows = tokenizer(sentence, return_tensors="pt")
        with torch.no_grad():
            states = model(input_ids=rows["input_ids"], attention_mask=rows["attention_mask"])
        expected.append(states.last_hidden_state[0].mean(0).numpy())
    encoder = SentenceEncoder.open(folder, "mean")
    assert encoder.backbone.engine == ("packed" if family in PACKED else "transformers")
    assert encoder.backbone.alone == (family in ALONE)
    np.testing.assert_allclose(encoder(SENTENCES), expected, rtol=1e-4, atol=1e-5)
    for sentence, vector in zip(SENTENCES, expected, strict=True):
        encoder.forget()
        np.testing.assert_allclose(encoder([sentence])[0], vector, rtol=1e-4, atol=1e-5)


def test_an_encoder_whose_rows_see_each_other_is_refused(folder):
    made("electra", folder)
    backbone = SentenceEncoder.open(folder, "mean").backbone

    class OfTheBatch(torch.nn.Module):
        def forward(self, values, *_, **__):
            return values + values.mean(0, keepdim=True)

    backbone.model.encoder.layer[0] = OfTheBatch()
    with pytest.raises(BadInput, match="depends on other sentences of the batch"):
        prove_batches(backbone)
