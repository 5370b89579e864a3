"""Tokenizers as `tokenizer.json`: load, train, create from a vocabulary."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
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
    """Ids of the special tokens by role.

    Attributes:
        pad: The padding token.
        unk: The token for unknown words.
        cls: BERT's [CLS] or RoBERTa's `<s>`.
        sep: BERT's [SEP] or RoBERTa's `</s>`.
        mask: The mask token.
    """

    pad: int
    unk: int
    cls: int
    sep: int
    mask: int

    @classmethod
    def of(cls, ids: Mapping[str, int | None]) -> "SpecialIds | None":
        """Create the ids from a dict.

        Args:
            ids: A dict from roles to ids.

        Returns:
            The ids, or None if one is missing.
        """
        known = {role: number for role, number in ids.items() if number is not None}
        return cls(**known) if known.keys() == cls.__dataclass_fields__.keys() else None


class TokenizerSettings(Checked):
    """The keys of tokenizer_config.json that are used; other keys are ignored.

    By default, there is no maximum length, and no special token is named.
    """

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
        """Load the settings of an encoder's folder.

        Args:
            folder: The encoder folder. If it has no tokenizer_config.json, all settings have their defaults.

        Raises:
            BadInput: If the file is broken.
        """
        file = folder / TOKENIZER_CONFIG
        return cls.of(read_json(file) if file.exists() else {}, str(file))


def load_tokenizer(file: Path, max_length: int | None) -> Tokenizer:
    """Load a tokenizer with truncation at `max_length` and without padding.

    The truncation and padding in the file are ignored.

    Args:
        file: The tokenizer.json.
        max_length: The maximum number of tokens, including special tokens (methods section 1.1). None
            disables truncation, as in the evaluation of STS (section 2.1).

    Raises:
        MissingData: If the file does not exist.
        BadInput: If the file is not a tokenizer, or `max_length` is too small for the special tokens.
    """
    file = Path(file)
    check_there(file, "specify a tokenizer.json, or run the prepare stage first")
    check_fetched(file)
    with refusing(f"{file}: not a tokenizer.json", "use a file that the tokenizers library saved"):
        tokenizer = Tokenizer.from_file(str(file))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    if max_length is not None:
        special = tokenizer.num_special_tokens_to_add(is_pair=False)
        if max_length <= special:
            problem = f"it should be more than the {special} special tokens of {file}"
            raise BadInput(f"max_length is {max_length}; {problem}")
        tokenizer.enable_truncation(max_length)
    return tokenizer


def train_tokenizer(kind: str, lines: Iterable[str], vocabulary_size: int, lowercase: bool) -> Tokenizer:
    """Train a tokenizer on lines.

    The same lines give the same vocabulary.

    Args:
        kind: `wordpiece` (BERT's) or `byte-bpe` (RoBERTa's).
        lines: The texts.
        vocabulary_size: The maximum size of the vocabulary.
        lowercase: Whether texts are lowercased.

    Raises:
        BadInput: If the vocabulary is too small for the special tokens and the characters of the lines
            (`wordpiece`) or the 256 bytes (`byte-bpe`).
    """
    train = {"wordpiece": _train_wordpiece, "byte-bpe": _train_byte_bpe}[kind]
    tokenizer = train(list(lines), vocabulary_size, lowercase)
    least = tokenizer.get_vocab_size()
    if least > vocabulary_size:
        problem = f"{kind} needs at least {least} for the characters of this text"
        raise BadInput(f"the vocabulary size is {vocabulary_size}, but {problem}; increase it")
    return tokenizer


def tokenizer_from_vocabulary(vocabulary_file: Path, lowercase: bool = True) -> Tokenizer:
    """Create BERT's WordPiece tokenizer from a `vocab.txt`.

    Args:
        vocabulary_file: A file with one word piece per line, in the order of ids.
        lowercase: Whether texts are lowercased. Default: True.

    Raises:
        MissingData: If the file does not exist.
        BadInput: If a piece occurs twice, or a special token is missing.
    """
    vocabulary_file = Path(vocabulary_file)
    if not vocabulary_file.is_file():
        raise MissingData(f"{vocabulary_file} does not exist; put the vocab.txt of the encoder there")
    vocabulary: dict[str, int] = {}
    for number, piece in read_lines(vocabulary_file):
        if piece in vocabulary:
            raise BadInput(f'{vocabulary_file}:{number}: "{piece}" occurs twice; remove this line')
        vocabulary[piece] = number - 1
    for token in WORDPIECE_SPECIAL:
        if token not in vocabulary:
            raise BadInput(f"{vocabulary_file} does not contain {token}; expected a BERT vocabulary")
    return _wordpiece(vocabulary, lowercase)


def special_tokens(tokenizer: Tokenizer) -> dict[str, str]:
    """Return the special tokens of a tokenizer.

    Args:
        tokenizer: The tokenizer to use.

    Returns:
        A dict from roles, such as "pad", to tokens.
    """
    tokens: dict[str, str] = {}
    for role, names in ROLES.items():
        for name in names:
            if role not in tokens and tokenizer.token_to_id(name) is not None:
                tokens[role] = name
    return tokens


def special_ids(tokenizer: Tokenizer) -> SpecialIds:
    """Return the ids of the special tokens of a BERT or RoBERTa tokenizer.

    Args:
        tokenizer: The tokenizer to use.

    Raises:
        BadInput: If a special token is missing.
    """
    tokens = special_tokens(tokenizer)
    ids = SpecialIds.of({role: tokenizer.token_to_id(name) for role, name in tokens.items()})
    if ids is None:
        role = next(role for role in ROLES if role not in tokens)
        bert, roberta = ROLES[role]
        raise BadInput(f"the tokenizer has neither {bert} nor {roberta}; add a token for {role}")
    return ids


def mask_token(tokenizer: Tokenizer, folder: Path) -> str:
    """Return the mask token of a tokenizer.

    The settings of the folder take precedence.

    Args:
        tokenizer: The tokenizer to use.
        folder: The encoder folder. The mask token in its tokenizer_config.json takes precedence.

    Raises:
        BadInput: If the tokenizer has no mask token.
    """
    name = TokenizerSettings.read(folder).mask_token or special_tokens(tokenizer).get("mask")
    if name is None or tokenizer.token_to_id(name) is None:
        raise BadInput(
            f"{folder}: the tokenizer does not have a mask token, but the template uses it; use a template"
            " without a mask"
        )
    return name


def _wordpiece(vocabulary: dict[str, int], lowercase: bool) -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    # strip_accents None is BERT's rule: accents are removed if the text is lowercased.
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


def _train_wordpiece(lines: Sequence[str], vocabulary_size: int, lowercase: bool) -> Tokenizer:
    tokenizer = _wordpiece({token: i for i, token in enumerate(WORDPIECE_SPECIAL)}, lowercase)
    # The trainer numbers continuation pieces in the order of a hash map, and ties between merges depend on these
    # numbers. Added as special tokens the pieces have fixed numbers, so that training is deterministic.
    pieces = [f"##{character}" for character in _continuations(tokenizer, lines)]
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocabulary_size, special_tokens=[*WORDPIECE_SPECIAL, *pieces], show_progress=False
    )
    tokenizer.train_from_iterator(lines, trainer)
    return _wordpiece(tokenizer.get_vocab(), lowercase)


def _continuations(tokenizer: Tokenizer, lines: Iterable[str]) -> list[str]:
    """Return the sorted characters that occur inside words, not at the start."""
    distinct = set(chain.from_iterable(line.split() for line in lines))
    text = tokenizer.normalizer.normalize_str(" ".join(distinct))
    characters: set[str] = set()
    for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text):
        characters.update(word[1:])
    return sorted(characters)


def _train_byte_bpe(lines: Sequence[str], vocabulary_size: int, lowercase: bool) -> Tokenizer:
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
    # The mask token includes the space before it, like RoBERTa's, so that masking leaves no double space.
    tokens = [AddedToken(name, lstrip=name == "<mask>", normalized=False) for name in BYTE_BPE_SPECIAL]
    tokenizer.add_special_tokens(tokens)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B:0 </s>",
        special_tokens=[(name, tokenizer.token_to_id(name)) for name in ("<s>", "</s>")],
    )
    return tokenizer
