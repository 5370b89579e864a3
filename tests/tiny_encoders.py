"""Small random encoders, ours and those of `transformers`, for the tests of everything that encodes."""

import numpy as np
import torch

from replicse.encoder.batch import TokenBatch
from replicse.encoder.transformer import EncoderConfig, TransformerEncoder

FAMILIES = ("bert", "roberta", "distilbert")
LENGTHS = (5, 1, 9, 3, 9)
PAD = {"bert": 0, "roberta": 1, "distilbert": 0}


def tiny(family="bert", layers=3, **sizes):
    """Return an encoder with weights large enough that every part of it matters."""
    config = EncoderConfig.for_size(
        family, layers=layers, hidden=32, heads=4, intermediate=48, positions=24, vocabulary=97, **sizes
    )
    encoder = TransformerEncoder(config)
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.add_(torch.randn(parameter.shape) * 0.2)
    return encoder


def batch_of(lengths=LENGTHS, seed=0):
    generator = np.random.default_rng(seed)
    return TokenBatch.from_rows([generator.integers(5, 97, length) for length in lengths])


def huggingface(family, activation="gelu"):
    """Return a small random model of `transformers` with a masked-LM head."""
    import transformers

    if family == "distilbert":
        config = transformers.DistilBertConfig(
            vocab_size=97,
            dim=32,
            n_layers=3,
            n_heads=4,
            hidden_dim=48,
            max_position_embeddings=24,
            activation=activation,
            initializer_range=0.2,
        )
        return transformers.DistilBertForMaskedLM(config).eval()
    name = {"bert": "Bert", "roberta": "Roberta"}[family]
    config = getattr(transformers, f"{name}Config")(
        vocab_size=97,
        hidden_size=32,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=48,
        max_position_embeddings=24,
        type_vocab_size={"bert": 2, "roberta": 1}[family],
        pad_token_id=PAD[family],
        hidden_act=activation,
        layer_norm_eps=1e-5,
        initializer_range=0.2,
    )
    model = getattr(transformers, f"{name}ForMaskedLM")(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape) * 0.05)
    return model
