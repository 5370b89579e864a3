import json

import pytest
from tokenizers import AddedToken, Tokenizer
from tokenizers.models import BPE

from replicse.data.sts import load_sts, read_lines
from replicse.data.tokenizer import (
    SpecialIds,
    load_tokenizer,
    special_ids,
    tokenizer_from_vocabulary,
    train_tokenizer,
)
from replicse.errors import BadInput

LINES = [
    "The quick brown fox jumps over the lazy dog.",
    "The dog sleeps; the quick fox does not sleep!",
    "Cafés in Zürich serve brown coffee to the foxes.",
    "A naïve reader reads what the reading readers read.",
] * 5
VOCABULARY = ["[PAD]", "the", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "dog", "cafe", "##s", ",", "\u2028", "日"]


def vocabulary_file(folder, pieces=VOCABULARY, end="\n"):
    """Write a vocabulary, by default with Unix line ends; return the path."""
    path = folder / "vocab.txt"
    path.write_bytes((end.join(pieces) + end).encode())
    return path


def real_sentences(root):
    sentences = [
        text
        for _, (_, text) in zip(range(600), read_lines(root / "wiki/enwiki_sentences.txt.gz"), strict=False)
    ]
    for subset in (*load_sts(root, "STS12"), *load_sts(root, "SICK-R")):
        sentences.extend(subset.first[:60])
    return [*sentences, "", "日本語 and Zürich", "a" * 150, "tab\there [MASK] ok", "ﬁ ½ ́x \u200b\ufffd"]


def test_a_vocabulary_gives_bert_wordpieces(tmp_path):
    tokenizer = tokenizer_from_vocabulary(vocabulary_file(tmp_path))
    encoding = tokenizer.encode("The CAFÉS, dog 日cat[MASK]")
    assert encoding.tokens == ["[CLS]", "the", "cafe", "##s", ",", "dog", "日", "[UNK]", "[MASK]", "[SEP]"]
    assert encoding.ids == [3, 1, 7, 8, 9, 6, 11, 2, 5, 4]
    assert special_ids(tokenizer) == SpecialIds(pad=0, unk=2, cls=3, sep=4, mask=5)
    assert tokenizer.encode("dog", "the").type_ids == [0, 0, 0, 1, 1]
    windows = vocabulary_file(tmp_path, [*VOCABULARY, "Cafés"], end="\r\n")
    cased = tokenizer_from_vocabulary(windows, lowercase=False)
    assert cased.encode("Cafés The").tokens == ["[CLS]", "Cafés", "[UNK]", "[SEP]"]


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        (lambda folder: tokenizer_from_vocabulary(vocabulary_file(folder, VOCABULARY * 2)), ':13: .* occurs twice'),
        (lambda folder: tokenizer_from_vocabulary(vocabulary_file(folder, VOCABULARY[:5])), r"not contain \[MASK\]"),
        (lambda folder: tokenizer_from_vocabulary(folder / "none.txt"), r"none\.txt does not exist"),
        (lambda folder: load_tokenizer(folder / "none.json", 32), r"none\.json: the file does not exist; specify"),
        (lambda folder: load_tokenizer(folder / "a.json", 32), r"a\.json: not a tokenizer\.json"),
        (lambda folder: load_tokenizer(folder / "good.json", 2), "max_length is 2; it should be more than the 2"),
        (lambda folder: special_ids(Tokenizer(BPE())), r"neither \[PAD\] nor <pad>; add a token for pad"),
        (lambda folder: train_tokenizer("wordpiece", LINES, 20, True), r"size is 20, but wordpiece needs at least \d+"),
        (lambda folder: train_tokenizer("byte-bpe", LINES, 260, True), "size is 260, but byte-bpe needs at least 261"),
    ],
)  # fmt: skip
def test_what_is_no_tokenizer_is_bad_input(tmp_path, made, problem):
    (tmp_path / "a.json").write_text('{"a": 0}')
    train_tokenizer("byte-bpe", LINES, 300, True).save(str(tmp_path / "good.json"))
    with pytest.raises(BadInput, match=problem):
        made(tmp_path)


def test_real_vocabulary_agrees_with_transformers(real_data, tmp_path):
    from transformers import BertTokenizerFast

    path = real_data / "models" / "bert-base-uncased-vocab" / "vocab.txt"
    vocabulary = {piece: i for i, piece in enumerate(path.read_text(encoding="utf-8").split("\n")[:-1])}
    reference = BertTokenizerFast(vocab=vocabulary, do_lower_case=True)
    ours = tokenizer_from_vocabulary(path)
    assert ours.get_vocab_size() == len(reference) == 30522
    sentences = real_sentences(real_data)
    assert len(sentences) > 900
    assert [encoding.ids for encoding in ours.encode_batch(sentences)] == reference(sentences)["input_ids"]
    pair = ours.encode("A man.", "Two dogs")
    expected = reference("A man.", "Two dogs")
    assert (pair.ids, pair.type_ids) == (expected["input_ids"], expected["token_type_ids"])


def test_a_trained_wordpiece_looks_like_bert():
    tokenizer = train_tokenizer("wordpiece", LINES, 120, lowercase=True)
    assert special_ids(tokenizer) == SpecialIds(pad=0, unk=1, cls=2, sep=3, mask=4)
    assert 90 < tokenizer.get_vocab_size() <= 120
    assert len(json.loads(tokenizer.to_str())["added_tokens"]) == 5
    tokens = tokenizer.encode("THE [MASK] dogs 日").tokens
    assert (tokens[0], tokens[1], tokens[2], tokens[-2:]) == ("[CLS]", "the", "[MASK]", ["[UNK]", "[SEP]"])
    assert tokenizer.decode(tokenizer.encode("the quick fox").ids) == "the quick fox"
    for piece in tokenizer.get_vocab():
        if not piece.startswith("["):
            assert not set(piece) & set("éüïTA")
    assert tokenizer.encode("foxes ##s").tokens.count("##s") <= 1


def test_a_trained_byte_bpe_looks_like_roberta():
    tokenizer = train_tokenizer("byte-bpe", LINES, 300, lowercase=False)
    assert special_ids(tokenizer) == SpecialIds(pad=1, unk=3, cls=0, sep=2, mask=4)
    assert tokenizer.get_vocab_size() == 300
    encoding = tokenizer.encode("The  日 fox")
    assert (encoding.tokens[0], encoding.tokens[-1]) == ("<s>", "</s>")
    assert tokenizer.decode(encoding.ids) == "The  日 fox"
    assert tokenizer.encode("THE FOX").ids != tokenizer.encode("the fox").ids
    lower = train_tokenizer("byte-bpe", LINES, 300, lowercase=True)
    assert lower.encode("THE FOX").ids == lower.encode("the fox").ids
    # The mask token includes the space before the mask, but not the space after it.
    assert tokenizer.encode("a <mask> b").tokens == ["<s>", "a", " <mask>", "Ġ", "b", "</s>"]
    assert tokenizer.encode("a <mask> b").ids[2] == 4
    assert set(tokenizer.encode("a", "b").type_ids) == {0}
    assert [tokenizer.encode("a", "b").ids[i] for i in (0, 2, 3, 5)] == [0, 2, 2, 2]


def test_a_trained_byte_bpe_agrees_with_transformers(real_data, tmp_path):
    from transformers import RobertaTokenizerFast

    sentences = real_sentences(real_data)
    ours = train_tokenizer("byte-bpe", sentences, 1000, lowercase=False)
    ours.model.save(str(tmp_path))
    vocabulary, merges = tmp_path / "vocab.json", tmp_path / "merges.txt"
    pairs = [tuple(line.split(" ")) for line in merges.read_text(encoding="utf-8").split("\n")[1:-1]]
    mask = AddedToken("<mask>", lstrip=True, normalized=False)  # As in tokenizer.json of roberta-base.
    reference = RobertaTokenizerFast(vocab=json.loads(vocabulary.read_text()), merges=pairs, mask_token=mask)
    texts = [*sentences, "a <mask> b", "<mask>", "  two  blanks "]
    assert [encoding.ids for encoding in ours.encode_batch(texts)] == reference(texts)["input_ids"]
    assert ours.encode("A man.", "Two dogs").ids == reference("A man.", "Two dogs")["input_ids"]
