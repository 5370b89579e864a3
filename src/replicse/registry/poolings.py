"""Poolings: how a sentence vector is computed from hidden states."""

import json
import re
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, model_validator

from replicse.checked import Count, Text, UserMessage
from replicse.registry.entries import NamedEntry

ENDS = ".?\"'"  # the last characters of a complete sentence in PromptBERT's evaluation
PLACES = re.compile(r"\{(\w*)\}")  # the placeholders of a template
# Poolers of SimCSE's evaluation.py and our names (methods 1.2); `cls` there is the vector after the head, our cls-head.
OF_SIMCSE = {
    "cls_before_pooler": "cls",
    "avg": "mean",
    "avg_top2": "last2",
    "avg_first_last": "first-last-0",
}


def ended(sentence: str) -> str:
    """Append a full stop to a sentence if it is missing.

    Args:
        sentence: The sentence; an empty string is not changed.
    """
    return f"{sentence}." if sentence and sentence[-1] not in ENDS else sentence


class PoolingParameters(NamedEntry):
    """Base of all poolings; a file can specify a pooling by name alone.

    `states` are the hidden states that it uses (0: the embeddings); `tokens` is whether it uses all tokens or
    only position 0. `implementation` is the function that computes the vectors.

    `head` applies a head to the vector: the run's own head, or a randomly initialised one. `template` is a text
    around each sentence, which replaces "{text}"; "{mask}" is the mask token. `denoise` subtracts the vector of
    the template without a sentence, with each token at its position around the sentence (PromptBERT, Jiang et
    al. 2022). `from-zero` counts these positions from 0 even if the first position is another number (RoBERTa:
    2), as in the released code; so does `unshifted`, which also does not leave positions for the sentence.
    `full_stop` appends a full stop to sentences without one, at test time. By default, the vector has no head and the
    sentence no template.

    Attributes:
        pooling: the name of the pooling.
        head: the head applied to the vector: the run's, or a random one.
        template: a text around each sentence, with `{text}` and `{mask}`.
        denoise: whether the vector of the empty template is subtracted.
        full_stop: whether sentences end with a full stop.
    """

    key: ClassVar[str] = "pooling"
    called_with: ClassVar[tuple[str, ...]] = ("hidden", "batch", "pooling")
    home: ClassVar[str] = "replicse.encoder.pooling"
    states: ClassVar[tuple[int, ...]] = (-1,)
    tokens: ClassVar[bool] = True
    pooling: str
    head: bool | Literal["random"] = False
    template: Text | None = None
    denoise: bool | Literal["from-zero", "unshifted"] = False
    full_stop: bool = False

    @model_validator(mode="after")
    def _fits_its_template(self) -> Self:
        places = PLACES.findall(self.template or "{text}")
        if places.count("text") != 1 or places.count("mask") > 1 or set(places) - {"text", "mask"}:
            raise UserMessage(
                f'template is "{self.template}"; expected {{text}} once, and {{mask}} at most once'
            )
        if self.denoise and not self.template:
            raise UserMessage(
                f"denoise is {str(self.denoise).lower()}, but a template to subtract is missing; add template"
            )
        return self

    @classmethod
    def _spelt_out(cls, value: object) -> object:
        """Return the dict of a name.

        Raises:
            UserMessage: If no pooling has this name; names of SimCSE's code and other spellings are recognised
                in the error.
        """
        if isinstance(value, str) and value not in cls.known():
            word = value.strip().casefold()
            ours = OF_SIMCSE.get(word, word.replace("_", "-").replace(" ", "-"))
            if ours in cls.known():
                origin = ", a name in SimCSE's code," if word in OF_SIMCSE else ""
                raise UserMessage(f'pooling "{value}"{origin} does not exist; did you mean "{ours}"?')
        return super()._spelt_out(value)

    def __repr__(self) -> str:
        """Return the pooling as errors show it."""
        return json.dumps(self.spelling, ensure_ascii=False)

    def __str__(self) -> str:
        """Return the name and the parameters with other values than the default."""
        spelling = self.spelling
        if isinstance(spelling, str):
            return self.pooling
        own = [f"{key} {value}" for key, value in spelling.items()][1:]
        return f"{self.pooling} ({', '.join(own)})" if own else self.pooling

    @property
    def template_length(self) -> int:
        """Return the approximate number of tokens of the template."""
        return len(re.findall(r"\w+|[^\w\s]", PLACES.sub("", self.template or "")))

    @property
    def padded_to(self) -> int:
        """Return the length to which the pooling pads each row; 0 by default."""
        return getattr(self, "pad_to", None) or 0

    def text(self, sentence: str) -> str:
        """Return a sentence as it is tokenised at test time.

        Args:
            sentence: The sentence, without the template.
        """
        return ended(sentence) if self.full_stop else sentence

    def untrainable(self) -> str:
        """Return why a training cannot use the pooling, as the expected setting.

        Returns:
            The expected setting; an empty string if a training can use the pooling.
        """
        if self.head == "random":
            return "a pooling with a trained head; random-head is only for tests"
        return (
            "a pooling without full_stop, because training uses tokens and not text" if self.full_stop else ""
        )


class FirstToken(PoolingParameters):
    """Base of the poolings of position 0."""

    implementation: ClassVar[str] = "replicse.encoder.pooling:first_token"
    tokens: ClassVar[bool] = False


class Own(PoolingParameters):
    """The pooling, maximum length and normalisation of the encoder's folder.

    The default is `cls` if the folder does not specify a pooling.
    """

    implementation: ClassVar[str] = "replicse.encoder.pooling:first_token"
    pooling: Literal["own"]

    def untrainable(self) -> str:
        """Return what a training would need instead."""
        return "the name of a pooling; the pooling of a folder is not known before it is loaded"


class Cls(FirstToken):
    """The last hidden state of the first token."""

    implementation: ClassVar[str] = FirstToken.implementation
    pooling: Literal["cls"]

    @model_validator(mode="after")
    def _has_one_name(self) -> Self:
        if self.head:
            raise UserMessage(
                f"head is {self.head}, but pooling cls does not have a head; use cls-head or random-head"
            )
        return self


class ClsHead(FirstToken):
    """The last hidden state of the first token after the run's head.

    SimCSE trains with it (methods 1.2).
    """

    implementation: ClassVar[str] = FirstToken.implementation
    pooling: Literal["cls-head"]
    head: Literal[True] = True


class RandomHead(FirstToken):
    """The last hidden state of the first token after an untrained head.

    The reproducibility study uses it (methods 1.8).
    """

    implementation: ClassVar[str] = FirstToken.implementation
    pooling: Literal["random-head"]
    head: Literal["random"] = "random"


class Average(PoolingParameters):
    """Base of the means over all tokens, including special tokens.

    `pad_to` pads each row to this number of tokens. The padding counts in the mean, but no token attends to it
    (Mirror-BERT's code). Longer rows are truncated at test time and are an error in training. By default, rows are not
    padded.

    Attributes:
        pad_to: the number of tokens to which each row is padded. The padding counts in the mean.
    """

    pad_to: Count | None = None

    @model_validator(mode="after")
    def _is_padded_alone(self) -> Self:
        if self.pad_to and self.template:
            raise UserMessage(
                f"pad_to is {self.pad_to}, but rows with a template are not padded; remove pad_to or template"
            )
        return self


class Mean(Average):
    """The mean over all tokens of the last layer's output."""

    pooling: Literal["mean"]


class FirstLast(Average):
    """The mean over all tokens of the outputs of the first and the last layer."""

    implementation: ClassVar[str] = "replicse.encoder.pooling:mean"
    states: ClassVar[tuple[int, ...]] = (1, -1)
    pooling: Literal["first-last"]


class FirstLast0(Average):
    """The mean over all tokens of the embeddings and the last layer's output.

    SimCSE's code computes it.
    """

    implementation: ClassVar[str] = "replicse.encoder.pooling:mean"
    states: ClassVar[tuple[int, ...]] = (0, -1)
    pooling: Literal["first-last-0"]


class LastTwo(Average):
    """The mean over all tokens of the outputs of the last two layers."""

    implementation: ClassVar[str] = "replicse.encoder.pooling:mean"
    states: ClassVar[tuple[int, ...]] = (-2, -1)
    pooling: Literal["last2"]


class LastToken(PoolingParameters):
    """The last hidden state of the last token.

    In a causal model only the last token attends to all tokens.
    """

    pooling: Literal["last-token"]


class Mask(PoolingParameters):
    """The last hidden state of the template's mask token (PromptBERT)."""

    pooling: Literal["mask"]
    template: Text

    @model_validator(mode="after")
    def _has_its_mask(self) -> Self:
        if "{mask}" not in self.template:
            raise UserMessage(
                f'template is "{self.template}"; expected {{mask}} in it, because the pooling uses'
                " this vector"
            )
        return self


Pooling = PoolingParameters


def _trainable(pooling: PoolingParameters) -> PoolingParameters:
    if problem := pooling.untrainable():
        raise ValueError(problem)
    return pooling


TrainingPooling = Annotated[Pooling, AfterValidator(_trainable)]
pooling_of = PoolingParameters.reader("pooling", "encoder")
