"""Poolings: how one vector of a sentence is read from an encoder's hidden states, in training and at test time."""

import json
import re
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, model_validator

from replicse.checked import Count, Text, UserMessage
from replicse.registry.entries import NamedEntry

ENDS = ".?\"'"  # of a sentence, as PromptBERT's evaluation has them
PLACES = re.compile(r"\{(\w*)\}")  # what a template has filled in
# Poolers of SimCSE's evaluation.py by our names (methods 1.2); its `cls` is the state after the head, our cls-head.
OF_SIMCSE = {
    "cls_before_pooler": "cls",
    "avg": "mean",
    "avg_top2": "last2",
    "avg_first_last": "first-last-0",
}


def ended(sentence: str) -> str:
    """Return a sentence with a full stop, where it has no end."""
    return f"{sentence}." if sentence and sentence[-1] not in ENDS else sentence


class PoolingParameters(NamedEntry):
    """What every pooling has; a name alone stands for one without parameters.

    `states` are the hidden states that it reads, 0 being the embeddings, and `tokens` whether all tokens of them or
    position 0 alone. `implementation` names the function that makes vectors of them.

    `head` applies a head to the vector: the run's own one, or one that is drawn at random. `template` is a text that
    every sentence is put in, at "{text}"; "{mask}" is the tokenizer's mask. `denoise` subtracts the vector of the
    template alone, its tokens at the positions that they have around the sentence (PromptBERT, Jiang et al. 2022).
    `from-zero` counts these from 0 where rows begin at another position (RoBERTa: 2), as the released code does;
    `unshifted` does too, without room for a sentence. `full_stop` ends a sentence without an end by a full stop,
    at test time.
    """

    key: ClassVar[str] = "pooling"
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
                f'template is "{self.template}"; expected one {{text}} in it, and one {{mask}} at most'
            )
        if self.denoise and not self.template:
            raise UserMessage(
                f"denoise is {str(self.denoise).lower()}, but there is no template whose vector could be subtracted"
            )
        return self

    @classmethod
    def _spelt_out(cls, value: object) -> object:
        """Return the parameters that a name stands for; UserMessage with our name for another spelling or project's."""
        if isinstance(value, str) and value not in cls.known():
            word = value.strip().casefold()
            ours = OF_SIMCSE.get(word, word.replace("_", "-").replace(" ", "-"))
            if ours in cls.known():
                origin = ", SimCSE's word" if word in OF_SIMCSE else ""
                raise UserMessage(f'no pooling is named "{value}"{origin}; did you mean "{ours}"?')
        return super()._spelt_out(value)

    def __repr__(self) -> str:
        """Return the spelling as errors show it."""
        return json.dumps(self.spelling, ensure_ascii=False)

    def __str__(self) -> str:
        """Return the name, and the parameters that are not usual."""
        given = self.spelling
        own = [] if isinstance(given, str) else [f"{key} {value}" for key, value in given.items()][1:]
        return f"{self.pooling} ({', '.join(own)})" if own else self.pooling

    @property
    def added(self) -> int:
        """Return about how many tokens the template adds to a sentence: its words and marks."""
        return len(re.findall(r"\w+|[^\w\s]", PLACES.sub("", self.template or "")))

    @property
    def padded_to(self) -> int:
        """Return the length to which every row is filled up with padding that the pooling reads; 0 for none."""
        return getattr(self, "pad_to", None) or 0

    def text(self, sentence: str) -> str:
        """Return a sentence as it is tokenised at test time."""
        return ended(sentence) if self.full_stop else sentence

    def untrainable(self) -> str:
        """Return what a training would need instead; blank where one can read vectors through it."""
        if self.head == "random":
            return "a pooling whose head a training can move: one drawn at random is none"
        return "no full_stop: a training reads tokens, not text" if self.full_stop else ""


class FirstToken(PoolingParameters):
    """What the poolings of position 0 share."""

    implementation: ClassVar[str] = "replicse.encoder.pooling:first_token"
    tokens: ClassVar[bool] = False


class Own(PoolingParameters):
    """The pooling, length and normalisation that an encoder's folder declares itself; `cls` where it declares none."""

    implementation: ClassVar[str] = "replicse.encoder.pooling:first_token"
    pooling: Literal["own"]

    def untrainable(self) -> str:
        """Return what a training would need instead."""
        return "a pooling by its name: what a folder declares is known when it is read"


class Cls(FirstToken):
    """The last hidden state of the first token."""

    implementation: ClassVar[str] = FirstToken.implementation
    pooling: Literal["cls"]

    @model_validator(mode="after")
    def _has_one_name(self) -> Self:
        if self.head:
            raise UserMessage(
                f"head is {self.head}; this pooling after a head is named cls-head or random-head"
            )
        return self


class ClsHead(FirstToken):
    """The same after the run's head (SimCSE, methods 1.2)."""

    implementation: ClassVar[str] = FirstToken.implementation
    pooling: Literal["cls-head"]
    head: Literal[True] = True


class RandomHead(FirstToken):
    """The same after a head that no training has seen (the reproducibility study, methods 1.8)."""

    implementation: ClassVar[str] = FirstToken.implementation
    pooling: Literal["random-head"]
    head: Literal["random"] = "random"


class Average(PoolingParameters):
    """What the means over all tokens share, special ones included.

    `pad_to` fills every row up to so many tokens with padding, which counts in the mean and to which no token attends
    (Mirror-BERT as coded); a longer row is cut at test time and refused in training.
    """

    pad_to: Count | None = None

    @model_validator(mode="after")
    def _is_padded_alone(self) -> Self:
        if self.pad_to and self.template:
            raise UserMessage(f"pad_to is {self.pad_to}, but a template is not padded; leave one of them out")
        return self


class Mean(Average):
    """The mean over all tokens of the last layer's output."""

    pooling: Literal["mean"]


class FirstLast(Average):
    """The mean over all tokens of the first layer's output and the last one's."""

    implementation: ClassVar[str] = "replicse.encoder.pooling:mean"
    states: ClassVar[tuple[int, ...]] = (1, -1)
    pooling: Literal["first-last"]


class FirstLast0(Average):
    """The mean over all tokens of the embeddings and the last layer's output, as SimCSE's code has it."""

    implementation: ClassVar[str] = "replicse.encoder.pooling:mean"
    states: ClassVar[tuple[int, ...]] = (0, -1)
    pooling: Literal["first-last-0"]


class LastTwo(Average):
    """The mean over all tokens of the last two layers' outputs."""

    implementation: ClassVar[str] = "replicse.encoder.pooling:mean"
    states: ClassVar[tuple[int, ...]] = (-2, -1)
    pooling: Literal["last2"]


class LastToken(PoolingParameters):
    """The last hidden state of the last token, which is the one that has seen all of them in a causal model."""

    pooling: Literal["last-token"]


class Mask(PoolingParameters):
    """The last hidden state of the template's mask (PromptBERT)."""

    pooling: Literal["mask"]
    template: Text

    @model_validator(mode="after")
    def _has_its_mask(self) -> Self:
        if "{mask}" not in self.template:
            raise UserMessage(
                f'template is "{self.template}"; expected a {{mask}} in it, which the pooling reads'
            )
        return self


Pooling = PoolingParameters


def _trainable(pooling: PoolingParameters) -> PoolingParameters:
    if problem := pooling.untrainable():
        raise ValueError(problem)
    return pooling


TrainingPooling = Annotated[Pooling, AfterValidator(_trainable)]
pooling_of = PoolingParameters.reader("pooling", "encoder")
