"""Tokenizers as one `tokenizer.json`: loaded, trained, or made from a WordPiece vocabulary."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Self

from pydantic import ConfigDict, Field, field_validator
from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from replicse.checked import Checked
from replicse.data.sts import read_lines
from replicse.errors import BadInput, MissingData, refusing
from replicse.files import check_fetched, check_there, read_json
from replicse.registry.artefacts import TOKENIZER_CONFIG

WORDPIECE_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
BYTE_BPE_SPECIAL = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
ROLES = {
    "pad": ("[PAD]", "<pad>"),
    "unk": ("[UNK]", "<unk>"),
    "cls": ("[CLS]", "<s>"),
    "sep": ("[SEP]", "</s>"),
    "mask": ("[MASK]", "<mask>"),
}


@dataclass(frozen=True)
class SpecialIds:
    """Ids of the special tokens by role: `cls` is BERT's [CLS] or RoBERTa's `<s>`, `sep` [SEP] or `</s>`."""

    pad: int
    unk: int
    cls: int
    sep: int
    mask: int

    @classmethod
    def of(cls, ids: Mapping[str, int | None]) -> "SpecialIds | None":
        """Return the ids by role; None where one is absent."""
        there = {role: each for role, each in ids.items() if each is not None}
        return cls(**there) if there.keys() == cls.__dataclass_fields__.keys() else None


class TokenizerSettings(Checked):
    """What is read of a folder's tokenizer_config.json; other keys are passed over, a lacking one is what is usual."""

    model_config = ConfigDict(extra="ignore")

    model_max_length: Annotated[float, Field(ge=1)] = math.inf
    pad_token: str | None = None
    unk_token: str | None = None
    cls_token: str | None = None
    sep_token: str | None = None
    mask_token: str | None = None

    @field_validator("model_max_length", mode="before")
    @classmethod
    def _or_no_limit(cls, value: object) -> object:
        return math.inf if value is None else value

    @field_validator("pad_token", "unk_token", "cls_token", "sep_token", "mask_token", mode="before")
    @classmethod
    def _content(cls, value: object) -> object:
        return value.get("content") if isinstance(value, dict) else value

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Return the settings of an encoder's folder; the usual ones where it has none, BadInput for broken ones."""
        file = folder / TOKENIZER_CONFIG
        return cls.of(read_json(file) if file.exists() else {}, str(file))


def load_tokenizer(file: Path, max_length: int | None) -> Tokenizer:
    """Return the tokenizer of a `tokenizer.json` with truncation at `max_length` and without padding.

    The length counts special tokens (methods section 1.1); None switches truncation off, as STS evaluation
    wants (section 2.1). Whatever truncation or padding the file itself asks for is dropped.
    """
    file = Path(file)
    check_there(file, "name a tokenizer.json or run the prepare stage first")
    check_fetched(file)
    with refusing(f"{file}: not a tokenizer.json", "name one that the tokenizers library saved"):
        tokenizer = Tokenizer.from_file(str(file))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    if max_length is not None:
        special = tokenizer.num_special_tokens_to_add(is_pair=False)
        if max_length <= special:
            problem = f"expected more than the {special} special tokens of {file}"
            raise BadInput(f"max_length is {max_length}; {problem}")
        tokenizer.enable_truncation(max_length)
    return tokenizer


def train_tokenizer(kind: str, lines: Iterable[str], vocabulary_size: int, lowercase: bool) -> Tokenizer:
    """Return a tokenizer trained on lines: `wordpiece` in BERT's style or `byte-bpe` in RoBERTa's.

    The same lines give the same vocabulary. Raises BadInput where the vocabulary cannot hold the special
    tokens and the characters of the lines (`wordpiece`) or the 256 bytes (`byte-bpe`).
    """
    trained = {"wordpiece": _trained_wordpiece, "byte-bpe": _trained_byte_bpe}[kind]
    tokenizer = trained(list(lines), vocabulary_size, lowercase)
    least = tokenizer.get_vocab_size()
    if least > vocabulary_size:
        problem = f"{kind} needs {least} for the characters of this text alone"
        raise BadInput(f"the vocabulary size is {vocabulary_size}, but {problem}; raise it")
    return tokenizer


def tokenizer_from_vocabulary(vocabulary_file: Path, lowercase: bool = True) -> Tokenizer:
    """Return BERT's WordPiece tokenizer of a `vocab.txt`: one word-piece a line, in the order of ids."""
    vocabulary_file = Path(vocabulary_file)
    if not vocabulary_file.is_file():
        raise MissingData(f"{vocabulary_file}: no such vocabulary; put the vocab.txt of the encoder there")
    vocabulary: dict[str, int] = {}
    for number, piece in read_lines(vocabulary_file):
        if piece in vocabulary:
            raise BadInput(f'{vocabulary_file}:{number}: "{piece}" is there twice; take one out')
        vocabulary[piece] = number - 1
    for token in WORDPIECE_SPECIAL:
        if token not in vocabulary:
            raise BadInput(f"{vocabulary_file}: no line {token}; expected a BERT vocabulary")
    return _wordpiece(vocabulary, lowercase)


def special_tokens(tokenizer: Tokenizer) -> dict[str, str]:
    """Return the special tokens that a tokenizer has, by their roles."""
    each = {
        role: [name for name in names if tokenizer.token_to_id(name) is not None]
        for role, names in ROLES.items()
    }
    return {role: names[0] for role, names in each.items() if names}


def special_ids(tokenizer: Tokenizer) -> SpecialIds:
    """Return the ids of the special tokens of a BERT-style or RoBERTa-style tokenizer."""
    tokens = special_tokens(tokenizer)
    ids = SpecialIds.of({role: tokenizer.token_to_id(name) for role, name in tokens.items()})
    if ids is None:
        role, names = next((role, names) for role, names in ROLES.items() if role not in tokens)
        raise BadInput(f"the tokenizer has neither {names[0]} nor {names[1]}; it needs one as {role}")
    return ids


def mask_token(tokenizer: Tokenizer, folder: Path) -> str:
    """Return the mask of a tokenizer, by name in the settings of its folder where they have one; BadInput for none."""
    name = TokenizerSettings.read(folder).mask_token or special_tokens(tokenizer).get("mask")
    if name is None or tokenizer.token_to_id(name) is None:
        raise BadInput(
            f"{folder}: its tokenizer has no mask, which the template names; choose a template without"
        )
    return name


def _wordpiece(vocabulary: dict[str, int], lowercase: bool) -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    # strip_accents None is BERT's rule: accents go where upper case goes.
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase, strip_accents=None)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(prefix="##")
    tokenizer.add_special_tokens([AddedToken(name, normalized=False) for name in WORDPIECE_SPECIAL])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[(name, vocabulary[name]) for name in ("[CLS]", "[SEP]")],
    )
    return tokenizer


def _trained_wordpiece(lines: Sequence[str], vocabulary_size: int, lowercase: bool) -> Tokenizer:
    tokenizer = _wordpiece({token: i for i, token in enumerate(WORDPIECE_SPECIAL)}, lowercase)
    # The trainer numbers continuation pieces in the order of a hash map, which decides ties between merges;
    # known to it beforehand, they have fixed numbers and two trainings agree.
    pieces = [*WORDPIECE_SPECIAL, *(f"##{character}" for character in _continuations(tokenizer, lines))]
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocabulary_size, special_tokens=pieces, show_progress=False
    )
    tokenizer.train_from_iterator(lines, trainer)
    return _wordpiece(tokenizer.get_vocab(), lowercase)


def _continuations(tokenizer: Tokenizer, lines: Iterable[str]) -> list[str]:
    """Return the sorted characters that occur in words after their first character."""
    distinct = " ".join({word for line in lines for word in line.split()})
    words = tokenizer.pre_tokenizer.pre_tokenize_str(tokenizer.normalizer.normalize_str(distinct))
    return sorted({character for word, _ in words for character in word[1:]})


def _trained_byte_bpe(lines: Sequence[str], vocabulary_size: int, lowercase: bool) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    if lowercase:
        tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary_size,
        special_tokens=list(BYTE_BPE_SPECIAL),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(lines, trainer)
    # The mask takes the blank before it, as RoBERTa's does, so that masking leaves no double blank.
    tokens = [AddedToken(name, lstrip=name == "<mask>", normalized=False) for name in BYTE_BPE_SPECIAL]
    tokenizer.add_special_tokens(tokens)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B:0 </s>",
        special_tokens=[(name, tokenizer.token_to_id(name)) for name in ("<s>", "</s>")],
    )
    return tokenizer
