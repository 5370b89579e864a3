"""Small random encoders, saved by other libraries in their formats."""

import json
import shutil

import micro
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer

from replicse.data.tokenizer import load_tokenizer, special_ids

SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48}
# Dict from a family to the class of `transformers` and the keys of the configuration.
KINDS = {
    "bert": ("BertModel", {**SIZES, "max_position_embeddings": 24}),
    "gpt2": ("GPT2Model", {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 64}),
    "xlnet": ("XLNetModel", {"d_model": 32, "n_layer": 2, "n_head": 2, "d_inner": 48}),
    "fnet": ("FNetModel", {**SIZES, "max_position_embeddings": 64}),
    "gemma": (
        "Gemma3TextModel",
        {
            **SIZES,
            "num_key_value_heads": 1,
            "head_dim": 16,
            "max_position_embeddings": 64,
            "sliding_window": 8,
            "use_bidirectional_attention": True,
        },
    ),
    "canine": (
        "CanineModel",
        {
            **SIZES,
            "max_position_embeddings": 128,
            "num_hash_buckets": 64,
            "num_hash_functions": 4,
            "downsampling_rate": 2,
            "local_transformer_stride": 16,
            "upsampling_kernel_size": 2,
        },
    ),
    "t5": ("T5EncoderModel", {"d_model": 32, "d_kv": 16, "d_ff": 48, "num_layers": 2, "num_heads": 2}),
}


def write_transformer(folder, kind, dtype=torch.float32, sizes=None, **settings):
    """Write a transformer and a tokenizer; return the model in fp32.

    Args:
        folder: Folder to create.
        kind: A key of `KINDS`, such as "bert".
        dtype: Precision of the saved weights. Default: fp32.
        sizes: Dict of changed keys of the model's configuration.
        settings: Further keys of tokenizer_config.json.
    """
    import transformers

    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = load_tokenizer(micro.tokenizer_file(folder), None)
    special = special_ids(tokenizer)
    ids = {"pad_token_id": special.pad, "bos_token_id": special.cls, "eos_token_id": special.sep}
    name, keys = KINDS[kind]
    made = getattr(transformers, name)
    size = {} if kind == "canine" else {"vocab_size": tokenizer.get_vocab_size()}
    torch.manual_seed(0)
    model = made(made.config_class(**{**keys, **ids, **size, **(sizes or {})})).eval()
    for weight in model.parameters():
        # Rounded to a value that can be stored in this precision, so that fp32 computes with the same
        # weights.
        weight.data = (weight.data * (4 if weight.dim() > 1 else 1)).to(dtype).float()
    model.to(dtype).save_pretrained(folder)
    change_json(folder / "tokenizer_config.json", **settings)
    return model.float()


def write_modules(folder, pooling="mean", more=()):
    """Add modules of sentence-transformers to the folder of a transformer.

    Args:
        folder: Folder created by `write_transformer`.
        pooling: Mode of the pooling. Default: "mean".
        more: List of further modules after the pooling, each as (name, settings, weights). Default: no
            modules.

    Returns:
        The folder.
    """
    settings = {"word_embedding_dimension": 32, "pooling_mode": pooling}
    listed = []
    for number, (name, config, weights) in enumerate(
        [("Transformer", None, None), ("Pooling", settings, None), *more]
    ):
        place = f"{number}_{name}" if number else ""
        kind = f"sentence_transformers.models.{name}"
        listed.append({"idx": number, "name": str(number), "path": place, "type": kind})
        if config is not None:
            (folder / place).mkdir()
            (folder / place / "config.json").write_text(json.dumps(config))
        if weights:
            save_file(weights, folder / place / "model.safetensors")
    (folder / "modules.json").write_text(json.dumps(listed))
    return folder


def write_static(folder, dtype=torch.float32):
    """Write static embeddings of sentence-transformers.

    Args:
        folder: Folder to create.
        dtype: Precision of the saved table. Default: fp32.

    Returns:
        The tokenizer, and the table of shape (tokens, 16) in fp32.
    """
    place = folder / "0_StaticEmbedding"
    place.mkdir(parents=True)
    tokenizer, table = _static_parts(place, dtype)
    save_file({"embedding.weight": table}, place / "model.safetensors")
    kind = "sentence_transformers.models.StaticEmbedding"
    listed = [{"idx": 0, "name": "0", "path": place.name, "type": kind}]
    (folder / "modules.json").write_text(json.dumps(listed))
    return tokenizer, table.float()


def write_model2vec(folder, dtype=torch.float32):
    """Write a folder of an older model2vec, which has no modules.json.

    Args:
        folder: Folder to create.
        dtype: Precision of the saved table. Default: fp32.

    Returns:
        The tokenizer, and the table of shape (tokens, 16) in fp32.
    """
    folder.mkdir(parents=True)
    tokenizer, table = _static_parts(folder, dtype)
    save_file({"embeddings": table}, folder / "model.safetensors")
    config = {"model_type": "model2vec", "architectures": ["StaticModel"], "normalize": True}
    (folder / "config.json").write_text(json.dumps(config))
    return tokenizer, table.float()


def _static_parts(place, dtype):
    tokenizer = Tokenizer.from_file(str(micro.tokenizer_file(place)))
    (place / "tokenizer_config.json").unlink()
    table = torch.randn(tokenizer.get_vocab_size(), 16, generator=torch.Generator().manual_seed(0))
    return tokenizer, (table * 20).to(dtype)


def write_router(folder):
    """Write a Router with a route for queries and a route for documents.

    The default route is the document route.
    """
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Router, Transformer

    routes = {}
    for seed, name in enumerate(("query", "document")):
        write_transformer(folder.with_name(f"{folder.name}-{name}"), "bert")
        transformer = Transformer(str(folder.with_name(f"{folder.name}-{name}")))
        torch.manual_seed(seed)
        for weight in transformer.parameters():
            weight.data += 0.2 * torch.randn_like(weight)
        routes[name] = [transformer, Pooling(32, pooling_mode="mean")]
    router = Router.for_query_document(routes["query"], routes["document"], default_route="document")
    SentenceTransformer(modules=[router], device="cpu").save(str(folder))
    return folder


def change_json(file, **changes):
    """Change some keys of a JSON file."""
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


def change_weights(folder, change):
    """Replace the weights of a folder by a function of the dict of weights."""
    weights = load_file(folder / "model.safetensors")
    save_file(change(weights), folder / "model.safetensors", {"format": "pt"})


def move_below(folder, name):
    """Move the files of an encoder to a new subfolder; return the subfolder."""
    files = [file for file in folder.iterdir() if file.is_file()]
    (folder / name).mkdir(parents=True)
    for file in files:
        shutil.move(file, folder / name / file.name)
    return folder / name
