"""Text augmentations and their parameters; each turns the lines of a corpus into the lines of one more view."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from replicse.checked import Count, Id, Number, Share, Text, Whole, one_of
from replicse.registry.corpora import DataFile
from replicse.registry.entries import Entry
from replicse.registry.frozen import FrozenModel

Part = Annotated[Number, Field(gt=0, le=1)]


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


class Mined(AugmentationParameters):
    """Another line of the column for every line, a hard negative, by its rank among those that an encoder finds near.

    The encoder is named as a frozen model of a term is; it is trained first, and the view is a store that waits for it.
    """

    home: ClassVar[str] = "replicse.augment.mining"
    name: Literal["mined"]
    model: FrozenModel
    rank: tuple[Count, Count] = (10, 50)

    @model_validator(mode="after")
    def _is_a_range(self) -> Self:
        if self.rank[0] > self.rank[1]:
            raise ValueError("rank as the lowest, then the highest")
        return self


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

    _is_one_amount = one_of("words", "rate")


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

    _is_one_model = one_of("backbone", "encoder")


class MaskedLm(Proposing):
    """Word pieces replaced by a masked-LM's proposals."""

    name: Literal["masked-lm"]


Augmentation = AugmentationParameters
augmentation_of = AugmentationParameters.reader("augmentation", "view")
