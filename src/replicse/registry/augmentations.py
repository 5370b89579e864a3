"""Text augmentations and their parameters.

An augmentation turns the lines of a corpus into the lines of another view.
"""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from replicse.checked import Count, Id, Number, Share, Text, Whole, one_of
from replicse.registry.corpora import DataFile
from replicse.registry.entries import Entry
from replicse.registry.frozen import FrozenModel

Part = Annotated[Number, Field(gt=0, le=1)]


class AugmentationParameters(Entry):
    """Base of augmentations; the code is the function of this name in `home`.

    The function gets the lines of a column; with `of_tokens` the token ids of each line, and with
    `sees_tokenizer` the tokenizer too. The default seed does not depend on the seed of the run.

    Attributes:
        name: the name of the augmentation.
        seed: the seed of the random changes.
    """

    key: ClassVar[str] = "name"
    of_tokens: ClassVar[bool] = False
    sees_tokenizer: ClassVar[bool] = False
    name: str
    seed: Annotated[Whole, Field(ge=0)] = 42

    @classmethod
    def keyword_names(cls) -> list[str]:
        """Return the arguments: the fields, and a tokenizer if it is used."""
        left_out = ("name", "backbone", *["seed"] * cls.of_tokens)
        names = [key for key in cls.model_fields if key not in left_out]
        return [*names, *["tokenizer"] * (cls.of_tokens and cls.sees_tokenizer)]

    @classmethod
    def positional_names(cls) -> tuple[str, ...]:
        """Return the names for an augmentation of text or of tokens."""
        return ("ids", "special", "random") if cls.of_tokens else ("lines",)


class Mined(AugmentationParameters):
    """A hard negative for each line: another line of the column.

    An encoder ranks the lines by similarity, and a random line is used whose rank is between the two numbers of
    `rank`. The encoder is specified like the frozen model of a term. It is trained first, and the view is
    created when it is ready.

    Attributes:
        model: the encoder that ranks the lines.
        rank: the first and the last rank from which a line is chosen.
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
    """A contiguous part of each line.

    The unit is a word (SimCSE) or a character (the reproducibility study).

    Attributes:
        keep: the share of the line that is kept.
        unit: the unit of the part: a word or a character.
        position: where the part begins.
    """

    home: ClassVar[str] = "replicse.augment.words"
    name: Literal["crop"]
    keep: Part
    unit: Literal["word", "character"] = "word"
    position: Literal["window", "prefix"] = "window"


class Deletion(AugmentationParameters):
    """Delete random words.

    `keep-floor` deletes slightly more words (the reproducibility study).

    Attributes:
        rate: the share of words that is deleted.
        rounding: how the number of deleted words is rounded.
    """

    home: ClassVar[str] = "replicse.augment.words"
    name: Literal["deletion"]
    rate: Share
    rounding: Literal["round", "keep-floor"] = "round"


class DeleteOneWord(AugmentationParameters):
    """Delete one random word."""

    home: ClassVar[str] = "replicse.augment.words"
    name: Literal["delete-one-word"]


class FromThesaurus(AugmentationParameters):
    """Base of augmentations with synonyms.

    The default thesaurus is WordNet; the other is a paraphrase file below the data root.

    Attributes:
        source: the thesaurus: WordNet, or a file of paraphrases.
        file: the file of paraphrases below the data root.
    """

    source: Literal["wordnet", "ppdb"] = "wordnet"
    file: DataFile | None = None

    @model_validator(mode="after")
    def _has_its_file(self) -> Self:
        if (self.source == "ppdb") != (self.file is not None):
            raise ValueError("a file below the data root if source is ppdb, and only then")
        return self


class Synonym(FromThesaurus):
    """Replace a number of words, or a share of them (nlpaug), by synonyms.

    `tagger` is NLTK's perceptron (the default with WordNet), or the most frequent part of speech in the
    thesaurus (the default with PPDB).

    Attributes:
        words: the number of words to replace.
        rate: the share of words to replace.
        tagger: how parts of speech are found: NLTK's perceptron, or the most frequent one in the thesaurus.
    """

    home: ClassVar[str] = "replicse.augment.synonyms"
    name: Literal["synonym"]
    words: Count | None = None
    rate: Part | None = None
    tagger: Literal["perceptron", "lexicon"] | None = None

    _is_one_amount = one_of("words", "rate")


class EasyDataAugmentation(FromThesaurus):
    """Apply one random operation of EDA.

    By default letter case and punctuation are kept; `cleaning: reference` removes them first, like the
    reference code.

    Attributes:
        alpha: the share of words that an operation changes.
        cleaning: `reference` removes letter case and punctuation first, as the reference code does.
    """

    home: ClassVar[str] = "replicse.augment.eda"
    name: Literal["eda"]
    alpha: Part
    cleaning: Literal["none", "reference"] = "none"


class NextSentence(AugmentationParameters):
    """One of the next `reach` lines (SimCSE Table 2).

    Attributes:
        reach: the number of following lines to choose from.
    """

    home: ClassVar[str] = "replicse.augment.neighbours"
    name: Literal["next-sentence"]
    reach: Count = 1


class Proposing(AugmentationParameters):
    """Base of augmentations with a frozen masked language model.

    A paper specifies the `backbone`; the compiler replaces it with `encoder`, the folder.

    Attributes:
        ratio: the share of word pieces that is masked.
        backbone: the masked language model, a backbone of the scale.
        encoder: the folder of the model, set by the planner.
    """

    home: ClassVar[str] = "replicse.augment.masked_lm"
    ratio: Part
    backbone: Id | None = None
    encoder: Text | None = None

    _is_one_model = one_of("backbone", "encoder")


class MaskedLm(Proposing):
    """Replace word pieces by the predictions of a masked language model."""

    name: Literal["masked-lm"]


Augmentation = AugmentationParameters
augmentation_of = AugmentationParameters.reader("augmentation", "view")
