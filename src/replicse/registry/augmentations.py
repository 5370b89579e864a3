"""Text augmentations and their parameters; each turns the lines of a corpus into the lines of one more view."""

import math
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from replicse.checked import Count, Id, Number, Share, Text, Whole
from replicse.registry.corpora import DataFile
from replicse.registry.entries import Entry

Part = Annotated[Number, Field(gt=0, le=1)]
MOST_REPEATED = 10  # ESimCSE's code draws a number of repetitions below this one, whatever the rate


class AugmentationParameters(Entry):
    """What every augmentation has; its code is the function of its name in `home`.

    It is given the lines of a column, or where `of_tokens` the ids of each tokenised line, and where
    `sees_tokenizer` the tokenizer with them.
    """

    key: ClassVar[str] = "name"
    of_tokens: ClassVar[bool] = False
    sees_tokenizer: ClassVar[bool] = False
    name: str
    seed: Annotated[Whole, Field(ge=0)] = 42

    def unchanged(self, tokens: int) -> float:
        """Return the share of lines of so many tokens that stay as they are, as far as parameters alone tell it."""
        return 0.0


class Crop(AugmentationParameters):
    """A contiguous part of every line: whole words (SimCSE) or characters (the reproducibility study)."""

    home: ClassVar[str] = "replicse.augment.words"
    name: Literal["crop"]
    keep: Part
    unit: Literal["word", "character"] = "word"
    position: Literal["window", "prefix"] = "window"


class Deletion(AugmentationParameters):
    """Random words deleted; `keep-floor` deletes slightly more (the reproducibility study)."""

    home: ClassVar[str] = "replicse.augment.words"
    name: Literal["deletion"]
    rate: Share
    rounding: Literal["round", "keep-floor"] = "round"


class DeleteOneWord(AugmentationParameters):
    """One random word deleted."""

    home: ClassVar[str] = "replicse.augment.words"
    name: Literal["delete-one-word"]


class SpanMasking(AugmentationParameters):
    """A span of characters replaced by a mask between blanks, which breaks words (Mirror-BERT, Liu et al. 2021).

    Lines of fewer than `shortest` characters, or of no more than the span has, stay as they are. `mask` is text: what a
    tokenizer makes of it is its affair.
    """

    home: ClassVar[str] = "replicse.augment.spans"
    name: Literal["span-masking"]
    characters: Count = 5
    shortest: Count = 30
    mask: Text = "[MASK]"


class FullStop(AugmentationParameters):
    """A full stop after every line that has no end, as a pooling with `full_stop` sets it at test time (PromptBERT)."""

    home: ClassVar[str] = "replicse.augment.lines"
    name: Literal["full-stop"]


class Shuffle(AugmentationParameters):
    """A share of the tokens, at least two, permuted among their own places; special tokens stay (methods 3.3)."""

    home: ClassVar[str] = "replicse.augment.tokens"
    of_tokens: ClassVar[bool] = True
    name: Literal["shuffle"]
    fraction: Share

    def unchanged(self, tokens: int) -> float:
        """Return the chance that a uniform permutation of the chosen tokens moves none."""
        return 1 / math.factorial(permuted(self.fraction, tokens))


def permuted(fraction: float, tokens: int) -> int:
    """Return how many tokens of a line a shuffle chooses: one alone could not move, so two at least."""
    return min(tokens, max(2, round(fraction * tokens))) if fraction else 0


class Repetition(AugmentationParameters):
    """Random word pieces twice in a row, fewer than a share of the row's and fewer than ten (ESimCSE as coded).

    Tokens are repeated after a line was cut at its most tokens, so that the row may be longer.
    """

    home: ClassVar[str] = "replicse.augment.tokens"
    of_tokens: ClassVar[bool] = True
    name: Literal["repetition"]
    rate: Share


class WordRepetition(AugmentationParameters):
    """Random words twice in a row, but the last one: fewer than a share of them, or than two, and fewer than ten."""

    home: ClassVar[str] = "replicse.augment.words"
    name: Literal["word-repetition"]
    rate: Share


class FromThesaurus(AugmentationParameters):
    """What augmentations with synonyms share: WordNet, or a paraphrase file below the data root."""

    source: Literal["wordnet", "ppdb"] = "wordnet"
    file: DataFile | None = None

    @model_validator(mode="after")
    def _has_its_file(self) -> Self:
        if (self.source == "ppdb") != (self.file is not None):
            raise ValueError("a file below the data root with source ppdb, and with no other source")
        return self


class Synonym(FromThesaurus):
    """Words replaced by synonyms: a number of them, or a rate (nlpaug).

    `tagger` is NLTK's perceptron (where it is not given: with WordNet), or the part of speech with most entries in
    the thesaurus (with PPDB).
    """

    home: ClassVar[str] = "replicse.augment.synonyms"
    name: Literal["synonym"]
    words: Count | None = None
    rate: Part | None = None
    tagger: Literal["perceptron", "lexicon"] | None = None

    @model_validator(mode="after")
    def _is_one_amount(self) -> Self:
        if (self.words is None) == (self.rate is None):
            raise ValueError("one of words (a number of them) and rate (a share of them)")
        return self


class EasyDataAugmentation(FromThesaurus):
    """One random operation of EDA, letter case and punctuation kept, or taken away first as in its reference code."""

    home: ClassVar[str] = "replicse.augment.eda"
    name: Literal["eda"]
    alpha: Part
    cleaning: Literal["none", "reference"] = "none"


class NextSentence(AugmentationParameters):
    """One of the `reach` following lines (SimCSE Table 2)."""

    home: ClassVar[str] = "replicse.augment.neighbours"
    name: Literal["next-sentence"]
    reach: Count = 1


class Proposing(AugmentationParameters):
    """What augmentations by a frozen masked-LM share: its name in a paper, its folder once planned."""

    home: ClassVar[str] = "replicse.augment.masked_lm"
    ratio: Part
    backbone: Id | None = None
    encoder: Text | None = None

    @model_validator(mode="after")
    def _is_one_model(self) -> Self:
        if (self.backbone is None) == (self.encoder is None):
            raise ValueError("one of backbone (a name in a scale) and encoder (a folder)")
        return self


class MaskedLm(Proposing):
    """Word pieces replaced by a masked-LM's proposals."""

    name: Literal["masked-lm"]


class Insertion(Proposing):
    """Word pieces of a masked-LM inserted at random places."""

    name: Literal["insertion"]


Augmentation = AugmentationParameters
augmentation_of = AugmentationParameters.reader("augmentation", "view")
