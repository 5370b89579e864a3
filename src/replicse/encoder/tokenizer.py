"""Tokenizers of foreign folders, loaded by `transformers`.

This module also contains the texts that are used to compare two implementations.
"""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tokenizers import Tokenizer

from replicse.data.tokenizer import SpecialIds, TokenizerSettings, load_tokenizer
from replicse.encoder.folders import is_recorded
from replicse.encoder.library import list_code, name_broken_json, quiet_library
from replicse.errors import BadInput, refusing
from replicse.registry.artefacts import TOKENIZER, TOKENIZER_CONFIG
from replicse.registry.digests import digest
from replicse.registry.encoders import MAX_LENGTH

# Texts to compare tokenizers on: cases, accents, scripts, digits, marks, spaces, special tokens, long words, no text.
PROBE = (
    "A man is playing a guitar.",
    "The DOG said \"no\" to McDonald's CAT, didn't it?",
    "Straße, Mädchen, schön, ÜBER, naïve café, Łódź, señor",
    "Cafe\u0301 with a combining accent, ﬁ as a ligature, ½ and ①",
    "我喜欢自然语言处理。",
    "東京タワーは333メートルです",
    "한국어 문장",
    "Привет, мир! Это пример.",
    "مرحبا بالعالم",
    "हिन्दी में एक वाक्य",
    "It cost $1,234.56 in 1999 (-7.5 %), i.e. 3e-5!",
    "https://example.org/a_b-c?d=1#e me@example.org @user #tag",
    "[MASK] <mask> [SEP] </s> [CLS] <s> [UNK] <unk> [PAD] <pad> <|endoftext|>",
    "  leading, double  and trailing blanks \t and a tab\nand a line  ",
    "emoji 😀👍🏽 and zero\u200bwidth",
    "pneumonoultramicroscopicsilicovolcanoconiosis",
    "skateboard snowboarding unhappiness running",
    "(a) [b] {c} <d> -- ... !!! ~`^",
    "a",
    " ",
    "",
    "two people are riding a red bike in the big green park near the water " * 4,
)  # fmt: skip
COPIED = "copy that of the encoder it was trained from into it"
CUT = 8  # tokens to truncate the probe to, to compare how texts are truncated


class CalledTokenizer:
    """A tokenizer of `transformers` with the interface of `tokenizers`.

    It is used if only a call of the tokenizer of `transformers` gives correct ids.
    """

    def __init__(self, theirs: Any) -> None:
        self.theirs = theirs
        self.longest: int | None = None

    def enable_truncation(self, longest: int) -> None:
        """Truncate rows to `longest` tokens."""
        self.longest = longest

    def no_truncation(self) -> None:
        """Do not truncate rows."""
        self.longest = None

    def no_padding(self) -> None:
        """Do nothing, because rows are never padded."""

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """Return the number of special tokens of a row."""
        return int(self.theirs.num_special_tokens_to_add(pair=is_pair))

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Return the id of every token."""
        return dict(self.theirs.get_vocab())

    def token_to_id(self, token: str) -> int | None:
        """Return the id of a token, or None if it does not exist."""
        return self.get_vocab().get(token)

    def encode(self, text: str, add_special_tokens: bool = True) -> Any:
        """Return `ids` and `special_tokens_mask` of a text."""
        rows = self.theirs(text, add_special_tokens=add_special_tokens, return_special_tokens_mask=True)
        return SimpleNamespace(ids=rows["input_ids"], special_tokens_mask=rows["special_tokens_mask"])

    def encode_batch_fast(self, texts: Sequence[str]) -> list[Any]:
        """Return the `ids` of each text, truncated if truncation is enabled."""
        return [SimpleNamespace(ids=ids) for ids in tokenize_rows(self.theirs, texts, self.longest)]


def tokenize_rows(theirs: Any, texts: Sequence[str], longest: int | None = None) -> list[list[int]]:
    """Return the token ids of texts by a call of a tokenizer.

    Args:
        theirs: a tokenizer of `transformers`.
        texts: the texts.
        longest: the number of tokens to truncate rows to; default: no truncation.
    """
    encoded = theirs(list(texts), truncation=longest is not None, max_length=longest)
    rows: list[list[int]] = encoded["input_ids"]
    return rows


def check_length(max_length: int, special: int, location: str = "") -> None:
    """Raise BadInput if rows contain only special tokens.

    Args:
        max_length: the maximum number of tokens of a row.
        special: the number of special tokens of a row.
        location: prefix of the error.
    """
    if max_length <= special:
        raise BadInput(
            f"{location}max_length is {max_length}, but a row has {special} special tokens; give at least {special + 1}"
        )


def read_tokenizer(folder: Path) -> Any:
    """Load the tokenizer of a folder with `AutoTokenizer`.

    Code in the folder is not run.

    Raises:
        BadInput: the folder has no tokenizer; the library would create one with an empty vocabulary.
    """
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    code = list_code(folder)
    remedy = f"code of the folder is not run ({', '.join(code)})" if code else COPIED
    with refusing(f"{folder}: transformers cannot open its tokenizer", remedy), name_broken_json(folder):
        try:
            theirs = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        # Families raise errors of different classes for a broken file.
        except Exception:
            if not (folder / TOKENIZER).is_file() or (folder / TOKENIZER_CONFIG).is_file():
                raise
            # Without settings, the library expects the default tokenizer of the family.
            theirs = PreTrainedTokenizerFast(tokenizer_file=str(folder / TOKENIZER))
    files = {*type(theirs).vocab_files_names.values()}
    if files and not any((folder / name).is_file() for name in files | {TOKENIZER}):
        raise BadInput(
            f"{folder}: no tokenizer is there ({' or '.join(sorted(files | {TOKENIZER}))}); {COPIED}"
        )
    return theirs


def folder_tokenizer(folder: Path) -> tuple[Tokenizer | CalledTokenizer, SpecialIds | None, int]:
    """Load the tokenizer of an encoder folder.

    Returns:
        The tokenizer, the special ids or None if one is unknown, and the maximum number of tokens of a row.
    """
    if is_recorded(folder):
        longest = TokenizerSettings.read(folder).model_max_length
        return load_tokenizer(folder / TOKENIZER, None), None, int(min(longest, MAX_LENGTH))
    theirs = read_tokenizer(folder)
    return usable_tokenizer(theirs), read_special_ids(theirs), int(min(theirs.model_max_length, MAX_LENGTH))


def usable_tokenizer(theirs: Any) -> Tokenizer | CalledTokenizer:
    """Return the fast tokenizer of a tokenizer of `transformers`.

    If the fast tokenizer gives other ids for the probe, a wrapper that calls the tokenizer of `transformers` is
    returned instead.
    """
    backend = getattr(theirs, "backend_tokenizer", None)
    if not isinstance(backend, Tokenizer):
        return CalledTokenizer(theirs)
    fast = Tokenizer.from_str(backend.to_str())
    fast.no_padding()
    unusable = refusing(f"{theirs.name_or_path}: its tokenizer reads no text", COPIED)
    # The library warns of rows that are longer than an encoder accepts; they are truncated here.
    with unusable, quiet_library():
        complete_rows = tokenize_rows(theirs, PROBE)
        cut_rows = tokenize_rows(theirs, PROBE, CUT)
    fast.enable_truncation(CUT)
    cut_equal = _encode_probe(fast) == cut_rows
    fast.no_truncation()
    if cut_equal and _encode_probe(fast) == complete_rows:
        return fast
    return CalledTokenizer(theirs)


def _encode_probe(tokenizer: Tokenizer) -> list[list[int]]:
    return [encoding.ids for encoding in tokenizer.encode_batch(list(PROBE))]


def checked_fast(tokenizer: Tokenizer | CalledTokenizer, folder: Path) -> Tokenizer:
    """Return the tokenizer if it can be saved as tokenizer.json.

    Raises:
        BadInput: if it cannot be saved. Training needs the file.
    """
    if isinstance(tokenizer, Tokenizer):
        return tokenizer
    raise BadInput(f"{folder}: its tokenizer is none of the library tokenizers; add its {TOKENIZER}")


def tokenizer_digest(tokenizer: Tokenizer | CalledTokenizer) -> str:
    """Return a digest of the vocabulary and the probe ids of a tokenizer."""
    ids = [each.ids for each in tokenizer.encode_batch_fast(list(PROBE))]
    return digest([tokenizer.get_vocab(), ids])


def read_special_ids(theirs: Any) -> SpecialIds | None:
    """Return the special ids of a tokenizer, or None if one is missing."""
    roles = SpecialIds.__dataclass_fields__
    return SpecialIds.of({role: getattr(theirs, f"{role}_token_id", None) for role in roles})
