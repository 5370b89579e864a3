"""Small random encoders of this package and of `transformers`."""

import micro
import numpy as np
import torch

from replicse.data.sts import load_sts
from replicse.data.tokenizer import train_tokenizer
from replicse.encoder.batch import TokenBatch
from replicse.encoder.heads import make_head
from replicse.encoder.packed.config import EncoderConfig
from replicse.encoder.packed.transformer import PackedBackbone
from replicse.encoder.pooling import SentencePooling
from replicse.registry.encoders import MlpHead
from replicse.registry.poolings import pooling_of

FAMILIES = ("bert", "roberta", "distilbert")
LENGTHS = (5, 1, 9, 3, 9)
PAD = {"bert": 0, "roberta": 1, "distilbert": 0}


def config_of(family="bert", **sizes):
    """Return the configuration of a family.

    Args:
        family: "bert", "roberta" or "distilbert". Default: "bert".
        sizes: Sizes, and values that replace the defaults of the family.
    """
    usual = {
        "bert": {"token_types": 2},
        "roberta": {"token_types": 1, "layer_norm_epsilon": 1e-5, "pad_id": 1},
        "distilbert": {"token_types": 0},
    }[family]
    return EncoderConfig(family=family, **{**usual, **sizes})


def tiny(family="bert", layers=3, token_head=False, **sizes):
    """Create an encoder with weights so large that every part matters.

    Args:
        family: Family of the encoder. Default: "bert".
        layers: Number of layers. Default: 3.
        token_head: Whether to add a masked-LM head. Default: False.
        sizes: Further sizes. Default: width 32, 4 heads, 24 positions, 97 tokens.
    """
    given = {"hidden": 32, "heads": 4, "intermediate": 48, "positions": 24, "vocabulary": 97}
    encoder = PackedBackbone(config_of(family, layers=layers, **{**given, **sizes}))
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.add_(torch.randn(parameter.shape) * 0.2)
    if token_head:
        encoder.new_token_head()
    return encoder


def written(folder, head=False):
    """Write a small BERT with a tokenizer; return the folder.

    Args:
        folder: Folder, created if it does not exist.
        head: Whether to add a dense sentence head. Default: False.
    """
    folder.mkdir(exist_ok=True)
    tokenizer = micro.tokenizer_file(folder)
    torch.manual_seed(0)
    tiny(vocabulary=120).save(folder, mlp(32) if head else None, tokenizer)
    return folder


def mlp(hidden, generator=None):
    """Create a randomly initialised dense head.

    By default, the global generator of torch is used.
    """
    return make_head(MlpHead(kind="mlp"), hidden, generator)


def saved_tiny(root, folder):
    """Save a small random encoder whose tokenizer is trained on STS12.

    Args:
        root: Folder of datasets with STS12.
        folder: Existing folder.

    Returns:
        The folder.
    """
    lines = [line for subset in load_sts(root, "STS12") for line in subset.sentences]
    train_tokenizer("wordpiece", lines, 300, lowercase=True).save(str(folder / "tokenizer.json"))
    torch.manual_seed(0)
    tiny(vocabulary=300, positions=160).save(folder, mlp(32), folder / "tokenizer.json")
    return folder


def pooled_by(pooling, backbone):
    """Create a pooling for an encoder from the name or dict of the pooling."""
    return SentencePooling(pooling_of(pooling), backbone)


def batch_of(lengths=LENGTHS, seed=0):
    """Return a batch of random tokens.

    The default is rows of different lengths.
    """
    generator = np.random.default_rng(seed)
    return TokenBatch.from_rows([generator.integers(5, 97, length) for length in lengths])


def padded(batch, family="bert"):
    """Return a batch as arguments of a `transformers` model.

    Args:
        batch: Packed batch of tokens.
        family: Family, which has a padding id. Default: "bert".
    """
    tokens = torch.full((batch.rows, batch.longest), PAD[family])
    tokens[batch.padded_mask] = batch.tokens
    return {"input_ids": tokens, "attention_mask": batch.padded_mask.long()}


def states_by_hand(model, rows, positions=None):
    """Compute last hidden states with explicit attention mask and positions.

    Args:
        model: Model of `transformers`.
        rows: List of lists of token ids.
        positions: Positions of the tokens of each row. Default: 0, 1, 2 and so on.

    Returns:
        A tensor of shape (rows, longest row, hidden).
    """
    pad = model.config.pad_token_id or 0
    first = pad + 1 if model.config.model_type == "roberta" else 0
    positions = positions or [range(len(row)) for row in rows]
    ids, mask = pad_rows(rows, pad)
    places = first + pad_rows(positions, 0)[0]
    with torch.no_grad():
        return model(input_ids=ids, attention_mask=mask, position_ids=places).last_hidden_state


def pad_rows(rows, fill, length=None):
    """Return padded rows and the attention mask, of shape (rows, length).

    Args:
        rows: List of lists of token ids, or of other integers.
        fill: Number after the end of a row.
        length: Length after padding. Default: the length of the longest row.
    """
    ids = torch.full((len(rows), length or max(map(len, rows))), fill)
    mask = torch.zeros_like(ids)
    for number, row in enumerate(rows):
        ids[number, : len(row)] = torch.tensor([*row])
        mask[number, : len(row)] = 1
    return ids, mask


def huggingface(family, activation="gelu", vocabulary=97):
    """Create a small random model of `transformers` with a masked-LM head.

    Args:
        family: "bert", "roberta" or "distilbert".
        activation: Activation function. Default: "gelu".
        vocabulary: Number of tokens. Default: 97.
    """
    import transformers

    if family == "distilbert":
        config = transformers.DistilBertConfig(
            vocab_size=vocabulary, dim=32, n_layers=3, n_heads=4, hidden_dim=48, max_position_embeddings=24,
            activation=activation, initializer_range=0.2,
        )  # fmt: skip
        return transformers.DistilBertForMaskedLM(config).eval()
    name = {"bert": "Bert", "roberta": "Roberta"}[family]
    config = getattr(transformers, f"{name}Config")(
        vocab_size=vocabulary, hidden_size=32, num_hidden_layers=3, num_attention_heads=4, intermediate_size=48,
        max_position_embeddings=24, type_vocab_size={"bert": 2, "roberta": 1}[family], pad_token_id=PAD[family],
        hidden_act=activation, layer_norm_eps=1e-5, initializer_range=0.2,
    )  # fmt: skip
    model = getattr(transformers, f"{name}ForMaskedLM")(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape) * 0.05)
    return model


def other_family(name, vocabulary, **changes):
    """Create a small random model of another family with a masked-LM head.

    Args:
        name: "Electra", "MPNet", "DebertaV2" or "ModernBert".
        vocabulary: Number of tokens.
        changes: Values that replace the defaults of the configuration.
    """
    import transformers

    relative = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_biased_input": False}
    own = {
        "Electra": {"embedding_size": 12},
        "MPNet": {},
        "DebertaV2": {**relative, "type_vocab_size": 0},
        "ModernBert": {"global_attn_every_n_layers": 2, "cls_token_id": 2, "sep_token_id": 3},
    }[name]
    config = getattr(transformers, f"{name}Config")(
        vocab_size=vocabulary, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
        max_position_embeddings=40, pad_token_id=1 if name == "MPNet" else 0, bos_token_id=None, eos_token_id=None,
        initializer_range=0.3, **{**own, **changes},
    )  # fmt: skip
    return getattr(transformers, f"{name}ForMaskedLM")(config).eval()


def decoder_tokenizer(lines, begins=False):
    """Train a small byte-level BPE tokenizer, as decoders use it.

    It has no mask token.

    Args:
        lines: List of sentences.
        begins: Whether a special token is added at the start of a sentence. Default: False.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<|begin|>", "<|endoftext|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=320, special_tokens=special, initial_alphabet=alphabet)
    tokenizer.train_from_iterator(lines, trainer)
    if begins:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<|begin|> $A", pair="<|begin|> $A $B", special_tokens=[("<|begin|>", 0)]
        )
    return tokenizer


def decoder(family, vocabulary):
    """Create a small random Qwen2 or Llama without the language-model head."""
    import transformers

    config = getattr(transformers, f"{family}Config")(
        vocab_size=vocabulary, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, max_position_embeddings=64, initializer_range=0.3,
    )  # fmt: skip
    return getattr(transformers, f"{family}Model")(config).eval()


def write_decoder(folder, family, lines):
    """Write a small random decoder to a folder, and return the model.

    Llama's tokenizer adds a special token at the start of a sentence.

    Args:
        folder: Existing folder.
        family: "Qwen2" or "Llama".
        lines: List of sentences on which the tokenizer is trained.
    """
    tokenizer = decoder_tokenizer(lines, begins=family == "Llama")
    model = decoder(family, tokenizer.get_vocab_size())
    model.save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    return model
