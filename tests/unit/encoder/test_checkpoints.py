import json
import subprocess
import sys

import micro
import pytest
import torch
from places import ROOT
from safetensors.torch import load_file, save_file
from tiny_encoders import FAMILIES, batch_of, huggingface, mlp, padded, tiny

from replicse.encoder.folders import record_folder
from replicse.encoder.heads import load_head
from replicse.encoder.opening import open_backbone
from replicse.encoder.packed.checkpoints import load_packed
from replicse.errors import BadInput


@pytest.fixture
def tokenizer_file(tmp_path):
    (tmp_path / "tokenizer").mkdir()
    return micro.tokenizer_file(tmp_path / "tokenizer")


def parts(family):
    encoder = tiny(family, token_head=True)
    torch.nn.init.normal_(encoder.masked_lm.bias)
    return encoder, mlp(32)


def same_weights(left, right):
    left, right = left.state_dict(), right.state_dict()
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_saved_folder_comes_back_bit_for_bit_and_transformers_reads_it(family, tmp_path, tokenizer_file):
    import transformers

    encoder, head = parts(family)
    encoder.save(tmp_path / "out", head, tokenizer_file)
    loaded = load_packed(tmp_path / "out")
    assert loaded.config == encoder.config
    assert loaded.predicts_tokens and same_weights(loaded, encoder)
    assert same_weights(load_head(tmp_path / "out"), head)
    assert loaded.training
    for weight in loaded.parameters():
        assert weight.requires_grad
    assert not list((tmp_path / "out").glob(".*"))
    encoder.eval()
    batch, theirs = batch_of(), []
    for kind in (transformers.AutoModel, transformers.AutoModelForMaskedLM):
        model, report = kind.from_pretrained(tmp_path / "out", output_loading_info=True)
        assert not report["missing_keys"] and not report["mismatched_keys"]
        with torch.no_grad():
            theirs.append(model.eval()(**padded(batch, family)))
    with torch.no_grad():
        ours = encoder(batch).last
        found = theirs[0].last_hidden_state[batch.padded_mask]
        torch.testing.assert_close(found, ours, rtol=1e-5, atol=1e-5)
        if family != "distilbert":  # DistilBERT has no pooler
            pooled = head(ours[batch.first])
            torch.testing.assert_close(theirs[0].pooler_output, pooled, rtol=1e-5, atol=1e-5)
        logits = theirs[1].logits[batch.padded_mask]
        torch.testing.assert_close(logits, encoder.token_logits(ours), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_folders_of_transformers_are_read_with_their_pooler(family, tmp_path):
    theirs = huggingface(family).base_model
    theirs.save_pretrained(tmp_path)
    assert not open_backbone(tmp_path).predicts_tokens
    # A masked-LM model contains no pooler, as in SimCSE. DistilBERT never has a pooler.
    assert load_head(tmp_path) is None
    if family == "distilbert":
        return
    import transformers

    transformers.AutoModel.from_config(theirs.config).save_pretrained(tmp_path / "pooled")
    stored = load_file(tmp_path / "pooled" / "model.safetensors")
    assert torch.equal(load_head(tmp_path / "pooled").dense.weight, stored["pooler.dense.weight"])


def rewritten(folder, rename=lambda name: name, file="model.safetensors", change=lambda value: value):
    """Save the weights of a folder with other names or in another format.

    Args:
        folder: Folder of an encoder.
        rename: Function that returns the new name of a weight. Default: no change.
        file: File to write. Default: model.safetensors.
        change: Function that returns the new value of a weight. Default: no change.
    """
    stored = {rename(name): change(value) for name, value in load_file(folder / "model.safetensors").items()}
    (folder / "model.safetensors").unlink()
    if file.endswith(".bin"):
        torch.save(stored, folder / file)
    else:
        save_file(stored, folder / file)


@pytest.mark.parametrize("prefix", ["", "model.", "model.bert."])
def test_every_usual_prefix_is_understood(prefix, tmp_path, tokenizer_file):
    encoder, head = parts("bert")
    encoder.save(tmp_path, head, tokenizer_file)
    config = json.loads((tmp_path / "config.json").read_text())
    config.pop("sentence_head")
    (tmp_path / "config.json").write_text(json.dumps(config))
    rewritten(tmp_path, lambda name: prefix + name[5:] if name.startswith("bert.") else name)
    assert same_weights(open_backbone(tmp_path), encoder)
    assert same_weights(load_head(tmp_path), head)
    rewritten(tmp_path, lambda name: f"mlp.{name.partition('pooler.')[2]}" if "pooler." in name else name)
    assert same_weights(load_head(tmp_path), head), "the head of an unconverted SimCSE checkpoint"


def test_half_precision_is_saved_and_read_as_fp32_and_a_folder_replaced(tmp_path, tokenizer_file):
    tiny().save(tmp_path, None, tokenizer_file)
    encoder = tiny().half()
    encoder.save(tmp_path, None, tokenizer_file)
    assert {value.dtype for value in load_file(tmp_path / "model.safetensors").values()} == {torch.float32}
    rewritten(tmp_path, change=torch.Tensor.half)
    loaded = open_backbone(tmp_path)
    assert loaded.token_embeddings.dtype == torch.float32 and same_weights(loaded, encoder.float())


@pytest.mark.parametrize(
    ("family", "file"), [("bert", "model.safetensors"), ("roberta", "pytorch_model.bin")]
)
def test_of_a_file_that_holds_several_models_only_the_encoder_is_taken(
    family, file, tmp_path, tokenizer_file
):
    """If a file contains several models, only the encoder should be loaded.

    The file is a complete DiffCSE model with discriminator, generator and projector.
    """
    encoder, discriminator, generator = tiny(family), tiny(family), tiny("distilbert", token_head=True)
    discriminator.save(tmp_path / "aux", mlp(32), tokenizer_file)
    generator.save(tmp_path / "generator", None, tokenizer_file)
    encoder.save(tmp_path, None, tokenizer_file)
    whole = {"mlp.net.0.weight": torch.randn(64, 32), "electra_head.weight": torch.randn(2, 32)}
    for folder, base, named in (
        ("aux", f"{family}.", "aux_bert."),
        ("generator", "", "generator."),
        ("", "", ""),
    ):
        stored = load_file(tmp_path / folder / "model.safetensors")
        whole |= {named + name.removeprefix(base): value for name, value in stored.items()}
    save_file(whole, tmp_path / "model.safetensors")
    rewritten(tmp_path, file=file)
    loaded = open_backbone(tmp_path)
    assert same_weights(loaded, encoder)
    assert not same_weights(loaded, discriminator)
    assert load_head(tmp_path) is None and not loaded.predicts_tokens


def config(**changes):
    """Return a function that changes keys of config.json in a folder."""

    def change(folder):
        file = folder / "config.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))

    return change


def weights(change):
    """Return a function to change the token embeddings of a folder."""

    def rewrite(folder):
        rewritten(folder, change=lambda value: change(value) if value.shape == (97, 32) else value)

    return rewrite


def pickled(content):
    """Return a function that replaces the weights of a folder by a pickle.

    The content is pickled, or written unchanged if it is bytes.
    """

    def write(folder):
        (folder / "model.safetensors").unlink()
        if isinstance(content, bytes):
            (folder / "pytorch_model.bin").write_bytes(content)
        else:
            torch.save(content, folder / "pytorch_model.bin")

    return write


def cut(folder):
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda folder: (folder / "config.json").unlink(), r"config\.json: the file does not exist"),
        (lambda folder: (folder / "config.json").write_text("{"), "cannot parse JSON"),
        (
            lambda folder: (folder / "model.safetensors").unlink(),
            r"the weights are missing \(model\.safetensors or pytorch_model\.bin",
        ),
        (cut, r"model\.safetensors: cannot be loaded"),
        (pickled(b"no pickle"), r"pytorch_model\.bin: cannot be loaded"),
        (pickled({3: torch.ones(2)}), r"pytorch_model\.bin: .*save a state_dict"),
        (pickled("text"), r"pytorch_model\.bin: .*save a state_dict"),
        (
            pickled({"epoch": 3, "net": {"a": torch.ones(2)}}),
            'the file contains "epoch", "net"; save only the state_dict',
        ),
        (pickled({"a": torch.ones(2)}), "encoder is missing; the file contains a; use the weights of this"),
        (config(hidden_act="foo"), "cannot create the encoder .*; correct it, or install the version"),
        (config(num_hidden_layers=4), r'weight "bert\.encoder\.layer\.3\.'),
        (config(num_hidden_layers=2), r'does not use weight "bert\.encoder\.layer\.2\..* and 15 more, so'),
        (config(vocab_size=98), r"word_embeddings.weight\" has shape \(97, 32\)"),
        (config(model_type="roberta"), "contains a bert encoder"),
        (config(type_vocab_size=0), "token_type_embeddings"),
        (config(pad_token_id=4000), "cannot create the encoder"),
        (weights(torch.Tensor.char), "is int8; expected 16 to 64-bit floating point, not quantised"),
        (weights(lambda value: value * torch.nan), "contains NaN or infinite values"),
        (weights(lambda value: value / 0), "contains NaN or infinite values"),
    ],
)
def test_broken_folders_say_what_is_wrong(tmp_path, tokenizer_file, change, words):
    tiny().save(tmp_path, None, tokenizer_file)
    change(tmp_path)
    with pytest.raises(BadInput, match=words):
        open_backbone(tmp_path)


def test_opening_an_encoder_imports_nothing_heavy(tmp_path, tokenizer_file):
    """Opening an encoder should not import slow modules.

    `transformers` needs 6 s; torch._dynamo, which a normal_ on the meta device would import, needs 1.5 s.
    """
    tiny(vocabulary=120).save(tmp_path / "out", None, tokenizer_file)
    record_folder(tmp_path / "out", "run", "best")
    code = (
        "import sys; from replicse.encoder.sentence import SentenceEncoder;"
        "SentenceEncoder.open(sys.argv[1], 'cls')(['a man']);"
        "print({'transformers', 'torch._dynamo', 'scipy', 'pandas'} & sys.modules.keys())"
    )
    found = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"},
    )
    assert found.stdout.strip() == "set()"
