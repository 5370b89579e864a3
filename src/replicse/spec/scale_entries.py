"""Entries of a scale's file.

They are backbones, tokenizers, datasets, adjustments of runs, and needs of jobs.
"""

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
    """The pre-training of a backbone in a scale.

    The run has one seed, or each seed of a study (`each`). Pre-training here varies between
    seeds about as much as fine-tuning. With `each`, a seed includes the pre-training, and two rows with the same seed
    use the same backbone.

    Attributes:
        seed: the seed of the pre-training, or `each`: every seed of the study pre-trains its own backbone.
    """

    seed: Annotated[Whole, Field(ge=0)] | Literal["each"] = 0


class BackboneSource(Checked):
    """A backbone.

    It is an artefact of the hub, a folder of the data root, or the result of a run that pre-trains it.

    Attributes:
        hub: the hub id of the encoder.
        folder: a folder of the data root.
        run: a run that pre-trains the backbone.
        engine: the implementation of the encoder.
    """

    hub: Text | None = None
    folder: DataFile | None = None
    run: Pretraining | None = None
    engine: Engine = "auto"

    _is_one_source = one_of("hub", "folder", "run")


class Released(Checked):
    """A released checkpoint with pooling, or a stand-in at a smaller scale.

    Attributes:
        hub: the hub id of the checkpoint.
        pooling: the pooling that the authors evaluate it with.
        stand_in: the encoder that is used instead of the checkpoint at a smaller scale.
    """

    hub: Text | None = None
    pooling: Pooling = Cls(pooling="cls")
    stand_in: EncoderRequest | None = None

    _is_one_source = one_of("hub", "stand_in")


class TokenizerRecipe(Checked):
    """A tokenizer.

    It is trained on a corpus of the scale, or created from a vocabulary file of the data root.

    Attributes:
        train: the kind of tokenizer to train.
        size: the vocabulary size.
        corpus: the corpus to train on.
        vocabulary: a vocabulary file of the data root, instead of training.
        lowercase: whether texts are converted to lower case.
    """

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
    """A rule to adjust runs to the scale.

    The rule has a factor, an upper bound, or a fixed value of a path. Widths of a head are bounded only if a run sets
    them; by default they equal the width of the encoder.

    Attributes:
        path: the key of the run, such as `optimisation.steps`.
        factor: the number that the value is multiplied by.
        at_most: the upper bound of the value.
        set: the value that replaces the paper's.
    """

    path: Text
    factor: Positive | None = None
    at_most: Count | None = None
    set: Any = None

    @model_validator(mode="after")
    def _is_one_rule(self) -> Self:
        bounded = self.path in HEAD_WIDTHS and self.at_most is not None
        problem = "a path outside of terms" if self.path.startswith("terms.") else run_path_problem(self.path)
        if problem and not bounded:
            raise ValueError(f'for the path "{self.path}": {problem}')
        if len(self.model_fields_set & {"factor", "at_most", "set"}) != 1:
            raise ValueError("exactly one of factor, at_most, set")
        if "set" in self.model_fields_set and (problem := run_value_problem(self.path, self.set)):
            raise UserMessage(f"set: {problem}")
        return self


class DataSource(Checked):
    """The default source of the datasets, and the recorded files.

    Attributes:
        source: where the datasets come from by default.
        files: the files whose digests are recorded.
    """

    source: Literal["embedded", "local", "hub"]
    files: tuple[DataFile, ...] = ()


class ReferenceDevice(Checked):
    """A device for estimates of hours.

    It has sustained operations per second by precision.

    Attributes:
        device: the name of the device.
        flops: sustained operations per second, or a dict by precision.
    """

    device: Text
    flops: Flops


class ScaleNeeds(Checked):
    """The resources for jobs of a scale, and a machine for a study.

    The machine has memory and disk. `gpu` is whether jobs use no GPU, use a GPU if the machine has it, or require it.
    With `full_suites` an evaluation requests the memory and hours of the suites, otherwise the defaults of any suite.
    No job requests more than `longest_hours`: a training that ends there is resumed. Without `keeps_searches`, a
    complete study removes the weights of each run that only a search uses, after all evaluations of the run exist.

    Attributes:
        gpu: whether jobs use no GPU (`none`), use a GPU if there is one (`optional`), or require it.
        threads: CPU threads of a job.
        train_memory_mb: memory that a training requests, in MB.
        train_hours: hours that a training requests if they cannot be estimated.
        longest_hours: the longest time that a job requests. A training that ends there is resumed.
        full_suites: whether an evaluation requests the memory and the hours of its suites.
        keeps_searches: whether the weights of runs that only a search uses are kept after their evaluation.
        memory_gb: memory of a machine for the study, in GB.
        disk_gb: disk space for the study, in GB.
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
