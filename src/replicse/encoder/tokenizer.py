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
from replicse.errors import BadInput, MissingData, refusing
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
COPIED = "copy the tokenizer of the encoder that it was trained from"
CUT = 8  # tokens to truncate the probe to, to compare how texts are truncated


class CalledTokenizer:
    """A tokenizer of `transformers` with the interface of `tokenizers`.

    It is used if only a call of the tokenizer of `transformers` returns correct ids.

    Args:
        theirs: The tokenizer of `transformers`.
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
        """Return the number of special tokens of a row.

        Args:
            is_pair: Whether a row contains two texts.
        """
        return int(self.theirs.num_special_tokens_to_add(pair=is_pair))

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Return a dict from every token to its id.

        Args:
            with_added_tokens: Not used; added tokens are always included.
        """
        return dict(self.theirs.get_vocab())

    def token_to_id(self, token: str) -> int | None:
        """Return the id of a token, or None if it does not exist."""
        return self.get_vocab().get(token)

    def encode(self, text: str, add_special_tokens: bool = True) -> Any:
        """Encode a text.

        Args:
            text: The text.
            add_special_tokens: Whether to add special tokens. Default: True.

        Returns:
            An object with the lists `ids` and `special_tokens_mask`.
        """
        rows = self.theirs(text, add_special_tokens=add_special_tokens, return_special_tokens_mask=True)
        return SimpleNamespace(ids=rows["input_ids"], special_tokens_mask=rows["special_tokens_mask"])

    def encode_batch_fast(self, texts: Sequence[str]) -> list[Any]:
        """Encode texts, truncated if truncation is enabled.

        Args:
            texts: A list of texts.

        Returns:
            A list of objects with the list `ids`.
        """
        return [SimpleNamespace(ids=ids) for ids in tokenize_rows(self.theirs, texts, self.longest)]


def tokenize_rows(theirs: Any, texts: Sequence[str], longest: int | None = None) -> list[list[int]]:
    """Return the token ids of texts by a call of a tokenizer.

    Args:
        theirs: A tokenizer of `transformers`.
        texts: A list of texts.
        longest: The number of tokens at which rows are truncated. Default: no truncation.

    Returns:
        A list of the ids of each text.
    """
    encoded = theirs(list(texts), truncation=longest is not None, max_length=longest)
    rows: list[list[int]] = encoded["input_ids"]
    return rows


def check_length(max_length: int, special: int, location: str = "") -> None:
    """Raise an error if there is only room for special tokens in a row.

    Args:
        max_length: The maximum number of tokens of a row.
        special: The number of special tokens of a row.
        location: The prefix of the message. Default: empty.

    Raises:
        BadInput: If `max_length` is not larger than `special`.
    """
    if max_length <= special:
        raise BadInput(
            f"{location}max_length is {max_length}, but a row has {special} special tokens; use at least {special + 1}"
        )


def check_vocabulary(tokenizer: Tokenizer | CalledTokenizer, size: int, folder: Path) -> None:
    """Raise an error if a token id is not in the vocabulary of the encoder.

    Args:
        tokenizer: The tokenizer to use.
        size: The number of token ids of the encoder.
        folder: The folder of the encoder, for the message.

    Raises:
        BadInput: If a token id is too large.
    """
    # Ids can have gaps, so the largest id counts and not the number of tokens.
    largest = max(tokenizer.get_vocab().values(), default=0)
    if largest >= size:
        raise BadInput(
            f"{folder}: the tokenizer has token ids up to {largest}, but the vocabulary of the encoder has {size}"
            " tokens; use the tokenizer of the encoder"
        )


def read_tokenizer(folder: Path) -> Any:
    """Load the tokenizer of a folder with `AutoTokenizer`.

    Code in the folder is not run.

    Args:
        folder: The encoder folder.

    Returns:
        A tokenizer of `transformers`.

    Raises:
        BadInput: If the tokenizer cannot be loaded.
        MissingData: If the folder has no tokenizer. `transformers` would create one with an empty vocabulary.
    """
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    code = list_code(folder)
    remedy = f"code of the folder is not run ({', '.join(code)})" if code else COPIED
    with refusing(f"{folder}: transformers cannot load the tokenizer", remedy), name_broken_json(folder):
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
        raise MissingData(
            f"{folder}: the folder has no tokenizer ({' or '.join(sorted(files | {TOKENIZER}))}); {COPIED}"
        )
    return theirs


def folder_tokenizer(folder: Path) -> tuple[Tokenizer | CalledTokenizer, SpecialIds | None, int]:
    """Load the tokenizer of an encoder folder.

    Args:
        folder: The encoder folder.

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

    If the fast tokenizer returns other ids for the probe, a wrapper that calls the tokenizer of
    `transformers` is returned instead.

    Args:
        theirs: A tokenizer of `transformers`.
    """
    backend = getattr(theirs, "backend_tokenizer", None)
    if not isinstance(backend, Tokenizer):
        return CalledTokenizer(theirs)
    fast = Tokenizer.from_str(backend.to_str())
    fast.no_padding()
    unusable = refusing(f"{theirs.name_or_path}: the tokenizer cannot encode text", COPIED)
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

    Training uses the file.

    Args:
        tokenizer: The tokenizer to use.
        folder: The folder of the tokenizer, for the message.

    Raises:
        BadInput: If the tokenizer cannot be saved.
    """
    if isinstance(tokenizer, Tokenizer):
        return tokenizer
    raise BadInput(f"{folder}: the tokenizer is not a tokenizer of the library tokenizers; add a {TOKENIZER}")


def tokenizer_digest(tokenizer: Tokenizer | CalledTokenizer) -> str:
    """Compute a digest of a tokenizer from its vocabulary and its probe ids.

    Args:
        tokenizer: The tokenizer to use.

    Returns:
        A string of hexadecimal digits.
    """
    ids = [each.ids for each in tokenizer.encode_batch_fast(list(PROBE))]
    return digest([tokenizer.get_vocab(), ids])


def read_special_ids(theirs: Any) -> SpecialIds | None:
    """Return the special ids of a tokenizer.

    Args:
        theirs: A tokenizer of `transformers`.

    Returns:
        The ids, or None if one is missing.
    """
    roles = SpecialIds.__dataclass_fields__
    return SpecialIds.of({role: getattr(theirs, f"{role}_token_id", None) for role in roles})
