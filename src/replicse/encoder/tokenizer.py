"""Tokenizers of others, as `transformers` reads them, and the texts on which another reading proves equal."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tokenizers import Tokenizer

from replicse.data.tokenizer import SpecialIds, TokenizerSettings, load_tokenizer
from replicse.encoder.folders import is_recorded
from replicse.encoder.library import list_code, opening, quiet_library
from replicse.errors import BadInput, refusing
from replicse.registry.artefacts import TOKENIZER, TOKENIZER_CONFIG
from replicse.registry.digests import digest
from replicse.registry.encoders import MAX_LENGTH

# What a tokenizer is tried on: cases, accents, scripts, digits, marks, blanks, special tokens, long words, nothing.
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
CUT = 8  # tokens to which the probe is cut once more: from which end, and what stays


class CalledTokenizer:
    """A tokenizer that only its own call reads right, with what is asked of one of the library `tokenizers`."""

    def __init__(self, theirs: Any) -> None:
        self.theirs = theirs
        self.longest: int | None = None

    def enable_truncation(self, longest: int) -> None:
        """Cut rows at so many tokens."""
        self.longest = longest

    def no_truncation(self) -> None:
        """Leave rows as long as they are."""
        self.longest = None

    def no_padding(self) -> None:
        """Do nothing: rows are never padded here."""

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """Return how many special tokens a row has."""
        return int(self.theirs.num_special_tokens_to_add(pair=is_pair))

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Return the id of every token."""
        return dict(self.theirs.get_vocab())

    def token_to_id(self, token: str) -> int | None:
        """Return the id of a token; None where there is none."""
        return self.get_vocab().get(token)

    def encode(self, text: str, add_special_tokens: bool = True) -> Any:
        """Return `ids` and `special_tokens_mask` of a text."""
        rows = self.theirs(text, add_special_tokens=add_special_tokens, return_special_tokens_mask=True)
        return SimpleNamespace(ids=rows["input_ids"], special_tokens_mask=rows["special_tokens_mask"])

    def encode_batch_fast(self, texts: Sequence[str]) -> list[Any]:
        """Return the `ids` of each text, cut where truncation is on."""
        return [SimpleNamespace(ids=ids) for ids in rows_of(self.theirs, texts, self.longest)]


def rows_of(theirs: Any, texts: Sequence[str], longest: int | None = None) -> list[list[int]]:
    """Return the token ids of texts by the call of a tokenizer of `transformers`, cut at `longest`."""
    rows: list[list[int]] = theirs(list(texts), truncation=longest is not None, max_length=longest)[
        "input_ids"
    ]
    return rows


def check_length(max_length: int, special: int, location: str = "") -> None:
    """Raise BadInput, which begins with `location`, if rows of so many tokens contain only their special ones."""
    if max_length <= special:
        raise BadInput(
            f"{location}max_length is {max_length}, but a row has {special} special tokens; give at least {special + 1}"
        )


def read_tokenizer(folder: Path) -> Any:
    """Return the tokenizer that `AutoTokenizer` makes of a folder; code of the folder is not run.

    Raises:
        BadInput: no file of a tokenizer is there, for which the library would make one without words.
    """
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    code = list_code(folder)
    remedy = f"code of the folder is not run ({', '.join(code)})" if code else COPIED
    with refusing(f"{folder}: transformers cannot open its tokenizer", remedy), opening(folder):
        try:
            theirs = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        # Each family raises what it likes for a broken file.
        except Exception:
            if not (folder / TOKENIZER).is_file() or (folder / TOKENIZER_CONFIG).is_file():
                raise
            # Without settings the library expects the kind of tokenizer that the family usually has.
            theirs = PreTrainedTokenizerFast(tokenizer_file=str(folder / TOKENIZER))
    files = {*type(theirs).vocab_files_names.values()}
    if files and not any((folder / name).is_file() for name in files | {TOKENIZER}):
        raise BadInput(
            f"{folder}: no tokenizer is there ({' or '.join(sorted(files | {TOKENIZER}))}); {COPIED}"
        )
    return theirs


def folder_tokenizer(folder: Path) -> tuple[Tokenizer | CalledTokenizer, SpecialIds | None, int]:
    """Return the tokenizer of an encoder's folder, its special ids if it has all, and its longest row in tokens."""
    if is_recorded(folder):
        longest = TokenizerSettings.read(folder).model_max_length
        return load_tokenizer(folder / TOKENIZER, None), None, int(min(longest, MAX_LENGTH))
    theirs = read_tokenizer(folder)
    return usable_tokenizer(theirs), special_ids_of(theirs), int(min(theirs.model_max_length, MAX_LENGTH))


def usable_tokenizer(theirs: Any) -> Tokenizer | CalledTokenizer:
    """Return the fast tokenizer in one of `transformers` where it gives the same ids on the probe, else its call."""
    backend = getattr(theirs, "backend_tokenizer", None)
    if isinstance(backend, Tokenizer):
        own = Tokenizer.from_str(backend.to_str())
        own.no_padding()
        unusable = refusing(f"{theirs.name_or_path}: its tokenizer reads no text", COPIED)
        # The library warns of rows that are longer than an encoder takes, which are cut here.
        with unusable, quiet_library():
            theirs_by_length = {longest: rows_of(theirs, PROBE, longest) for longest in (None, CUT)}
        for longest, rows in theirs_by_length.items():
            own.no_truncation() if longest is None else own.enable_truncation(longest)
            if [each.ids for each in own.encode_batch(list(PROBE))] != rows:
                return CalledTokenizer(theirs)
        own.no_truncation()
        return own
    return CalledTokenizer(theirs)


def checked_fast(tokenizer: Tokenizer | CalledTokenizer, folder: Path) -> Tokenizer:
    """Return a tokenizer that a tokenizer.json can hold, as a training needs it; BadInput for one that it cannot."""
    if isinstance(tokenizer, Tokenizer):
        return tokenizer
    raise BadInput(f"{folder}: its tokenizer is none of the library tokenizers; add its {TOKENIZER}")


def tokenizer_digest(tokenizer: Tokenizer | CalledTokenizer) -> str:
    """Return a digest of the vocabulary of a tokenizer and of what it makes of the probe."""
    ids = [each.ids for each in tokenizer.encode_batch_fast(list(PROBE))]
    return digest([tokenizer.get_vocab(), ids])


def special_ids_of(theirs: Any) -> SpecialIds | None:
    """Return the ids of the special tokens of a tokenizer of `transformers`; None where it lacks one."""
    return SpecialIds.of(
        {role: getattr(theirs, f"{role}_token_id", None) for role in SpecialIds.__dataclass_fields__}
    )
