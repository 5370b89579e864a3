"""Entries of a scale's file: where backbones, tokenizers and data come from, how runs are adjusted, what jobs need."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from replicse.checked import Checked, Count, Id, Positive, Text, UserMessage, Whole, one_of
from replicse.registry.corpora import DataFile
from replicse.registry.encoders import Engine, Flops
from replicse.registry.poolings import Cls, Pooling
from replicse.registry.run_specs import RunSpec
from replicse.spec.models import (
    EncoderRequest,
    run_path_problem,
    run_value_problem,
)


class Pretraining(RunSpec):
    """A run of the scale's own that makes a backbone: one for all under a seed, or with `each` one per seed of a study.

    A backbone that is pre-trained here varies by seed about as much as fine-tuning on it does. With `each` a seed is a
    complete chain, and what two rows of one seed share includes their backbone.
    """

    seed: Annotated[Whole, Field(ge=0)] | Literal["each"] = 0


class BackboneSource(Checked):
    """A backbone: a hub artefact, a folder below the data root, or the run that pre-trains it."""

    hub: Text | None = None
    folder: DataFile | None = None
    run: Pretraining | None = None
    engine: Engine = "auto"

    _is_one_source = one_of("hub", "folder", "run")


class Released(Checked):
    """A released checkpoint with its pooling, or what replaces it at a smaller scale."""

    hub: Text | None = None
    pooling: Pooling = Cls(pooling="cls")
    stand_in: EncoderRequest | None = None

    _is_one_source = one_of("hub", "stand_in")


class TokenizerRecipe(Checked):
    """A tokenizer: trained on a corpus of the scale, or made of a vocabulary file below the data root."""

    train: Literal["wordpiece", "byte-bpe"] | None = None
    size: Count | None = None
    corpus: Id | None = None
    vocabulary: DataFile | None = None
    lowercase: bool = True

    @model_validator(mode="after")
    def _is_one_kind(self) -> Self:
        trained = (self.train, self.size, self.corpus)
        if (self.vocabulary is None) == (None in trained) or (self.vocabulary and any(trained)):
            raise ValueError("vocabulary, or train with size and corpus")
        return self


HEAD_WIDTHS = ("head.width", "head.output")


class Adjust(Checked):
    """One rule that fits runs to the scale: a factor, an upper bound, or a fixed value of what is at a path.

    Widths of a head are bounded where a run gives them: one that is not given follows the encoder's.
    """

    path: Text
    factor: Positive | None = None
    at_most: Count | None = None
    set: Any = None

    @model_validator(mode="after")
    def _is_one_rule(self) -> Self:
        bounded = self.path in HEAD_WIDTHS and self.at_most is not None
        problem = "no terms" if self.path.startswith("terms.") else run_path_problem(self.path)
        if problem and not bounded:
            raise ValueError(f'for the path "{self.path}": {problem}')
        if len(self.model_fields_set & {"factor", "at_most", "set"}) != 1:
            raise ValueError("exactly one of factor, at_most, set")
        if "set" in self.model_fields_set and (problem := run_value_problem(self.path, self.set)):
            raise UserMessage(f"set: {problem}")
        return self


class DataSource(Checked):
    """Where data comes from unless a config says otherwise, and the files that are recorded."""

    source: Literal["embedded", "local", "hub"]
    files: tuple[DataFile, ...] = ()


class ReferenceDevice(Checked):
    """A device that hours are estimated for, and its sustained operations per second by precision."""

    device: Text
    flops: Flops


class ScaleNeeds(Checked):
    """What the jobs of a scale need of a machine, and what a machine should have for a study of it.

    `gpu`: jobs ask for none, for one where there is one, or a study is meant for one. With `full_suites` an evaluation
    needs the memory and hours that its suites name, without it those of any suite. No job asks for more than
    `longest_hours`: a training that ends there is resumed. Without `keeps_searches`, a complete study removes the
    weights of each run that only a search asks for once all its evaluations exist.
    """

    gpu: Literal["none", "optional", "required"] = "optional"
    threads: Count = 1
    train_memory_mb: Count = 3000
    train_hours: Count = 8
    longest_hours: Count = 24
    full_suites: bool = False
    keeps_searches: bool = True
    memory_gb: Whole = 0
    disk_gb: Whole = 0
