"""Text augmentations and their parameters; each turns the lines of a corpus into the lines of one more view."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from replicse.checked import Checked, Count, Id, Number, Share, Text, Whole
from replicse.registry.corpora import DataFile

Part = Annotated[Number, Field(gt=0, le=1)]


class AugmentationParameters(Checked):
    """What every augmentation has; `implementation` names module and function."""

    implementation: ClassVar[str]
    name: str
    seed: Annotated[Whole, Field(ge=0)] = 42


class Crop(AugmentationParameters):
    """A contiguous part of every line: whole words (SimCSE) or characters (the reproducibility study)."""

    implementation: ClassVar[str] = "replicse.augment.words:crop"
    name: Literal["crop"]
    keep: Part
    unit: Literal["word", "character"] = "word"
    position: Literal["window", "prefix"] = "window"


class Deletion(AugmentationParameters):
    """Random words deleted; `keep-floor` deletes slightly more (the reproducibility study)."""

    implementation: ClassVar[str] = "replicse.augment.words:deletion"
    name: Literal["deletion"]
    rate: Share
    rounding: Literal["round", "keep-floor"] = "round"


class DeleteOneWord(AugmentationParameters):
    """One random word deleted."""

    implementation: ClassVar[str] = "replicse.augment.words:delete_one_word"
    name: Literal["delete-one-word"]


class Shuffle(AugmentationParameters):
    """A share of the words permuted among their own places."""

    implementation: ClassVar[str] = "replicse.augment.words:shuffle"
    name: Literal["shuffle"]
    fraction: Share


class Thesaurus(AugmentationParameters):
    """What augmentations with synonyms share: WordNet, or a paraphrase file below the data root."""

    source: Literal["wordnet", "ppdb"] = "wordnet"
    file: DataFile | None = None


class Synonym(Thesaurus):
    """Words replaced by synonyms: a number of them, or a rate (nlpaug)."""

    implementation: ClassVar[str] = "replicse.augment.synonyms:synonym"
    name: Literal["synonym"]
    words: Count | None = None
    rate: Share | None = None
    tagger: Literal["lexicon", "nltk"] | None = None


class EasyDataAugmentation(Thesaurus):
    """One random operation of EDA, letter case and punctuation kept."""

    implementation: ClassVar[str] = "replicse.augment.eda:easy_data_augmentation"
    name: Literal["eda"]
    alpha: Share


class NextSentence(AugmentationParameters):
    """One of the `reach` following lines (SimCSE Table 2)."""

    implementation: ClassVar[str] = "replicse.augment.neighbours:next_sentence"
    name: Literal["next-sentence"]
    reach: Count = 1


class Proposing(AugmentationParameters):
    """What augmentations by a frozen masked-LM share: its name in a paper, its folder once planned."""

    ratio: Part
    backbone: Id | None = None
    encoder: Text | None = None


class MaskedLm(Proposing):
    """Word pieces replaced by a masked-LM's proposals."""

    implementation: ClassVar[str] = "replicse.augment.masked_lm:masked_lm"
    name: Literal["masked-lm"]


class Insertion(Proposing):
    """Word pieces of a masked-LM inserted at random places."""

    implementation: ClassVar[str] = "replicse.augment.masked_lm:insertion"
    name: Literal["insertion"]


# The registry: every augmentation of a view, told apart by `name`.
Augmentation = Annotated[
    Crop
    | Deletion
    | DeleteOneWord
    | Shuffle
    | Synonym
    | EasyDataAugmentation
    | NextSentence
    | MaskedLm
    | Insertion,
    Field(discriminator="name"),
]
