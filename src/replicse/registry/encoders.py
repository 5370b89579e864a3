"""Heads, engines, architectures and post-processing of encoders."""

from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, SerializerFunctionWrapHandler, model_serializer

from replicse.checked import Checked, Count, Id, Number, Positive, UserMessage, Whole
from replicse.errors import nearest
from replicse.registry.corpora import DataFile
from replicse.registry.entries import Entry, NamedEntry
from replicse.registry.registry import current

MAX_LENGTH = 512  # SentEval does not truncate (methods 2.1); BERT has 512 position embeddings
Engine = Literal["auto", "packed", "transformers"]
ENGINES: tuple[str, ...] = get_args(Engine)
# The families of the packed engine; other families use `transformers`.
PACKED = ("bert", "roberta", "distilbert")
# Plug-ins add families: the name, and the `module:function` that registers the classes with `transformers`.
FAMILIES: dict[str, str] = {}
# tf32: fp32, with matrix products in TF32 on a GPU.
Precision = Literal["fp32", "tf32", "bf16", "fp16"]


def _by_precision(value: object) -> object:
    """Return a dict by precision; a single number is for fp32."""
    return value if isinstance(value, Mapping) else {"fp32": value}


# Operations per second of a device by precision; a single number is for fp32.
Flops = Annotated[dict[Precision, Positive], BeforeValidator(_by_precision), Field(min_length=1)]
Checkpoint = Literal["best", "last"]
CHECKPOINTS: tuple[str, ...] = get_args(Checkpoint)
Scaling = Literal["sigmoid", "steep-sigmoid", "linear", "relu", "absolute"]


class Standout(Checked):
    """Adaptive dropout (Ba and Frey 2013).

    A unit is kept with probability sigmoid(alpha x + beta). x is the input of the unit's activation function,
    so the dropout shares the weights of the layer.

    Attributes:
        alpha: the factor of the unit's input.
        beta: the constant that is added.
    """

    alpha: Number = 1
    beta: Number = 0


class HeadParameters(NamedEntry):
    """Base of all heads of sentence vectors.

    `implementation` is a subclass of `SentenceHead`, created by `class(settings, hidden, generator)`. A head is
    saved with the encoder of the same run.

    Attributes:
        kind: the kind of head.
    """

    key: ClassVar[str] = "kind"
    called_with: ClassVar[tuple[str, ...]] = ("settings", "hidden", "generator")
    kind: str

    @model_serializer(mode="wrap")
    def _spelt(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Return a dict, which is part of the ids of runs."""
        return serialise(self)


class MlpHead(HeadParameters):
    """SimCSE's head: a linear layer and tanh.

    `standout` applies adaptive dropout to the output.

    Attributes:
        standout: adaptive dropout of the output.
    """

    implementation: ClassVar[str] = "replicse.encoder.heads:Mlp"

    kind: Literal["mlp"]
    standout: Standout | None = None


class ProjectorHead(HeadParameters):
    """Linear layers with batch normalisation (DiffCSE, Barlow Twins, VICReg).

    `width` is the width of the inner layers (default: twice the encoder's), `output` the width of the last
    layer (default: the encoder's). `final_norm` normalises the output without learned weights. `statistics` are
    computed over all rows of all views in training (DiffCSE appendix A), or for each view separately (the
    reference code of Barlow Twins and VICReg).

    Attributes:
        layers: the number of linear layers.
        width: the width of the inner layers. The default is twice the encoder's.
        output: the width of the last layer. The default is the encoder's.
        final_norm: whether the output is normalised.
        statistics: whether batch statistics cover all views together or each view.
    """

    implementation: ClassVar[str] = "replicse.encoder.heads:Projector"
    kind: Literal["projector"]
    layers: Annotated[Count, Field(ge=2)] = 2
    width: Count | None = None
    output: Count | None = None
    final_norm: bool = True
    statistics: Literal["all", "view"] = "all"


Head = HeadParameters


def can_keep(wanted: Head, stored: Head) -> bool:
    """Return whether a head can continue with the weights of a stored head.

    Adaptive dropout has no weights, so it can differ.

    Args:
        wanted: The head of a run.
        stored: The head that was saved with the initial weights.
    """
    return _without_standout(wanted) == _without_standout(stored)


def _without_standout(head: Head) -> Head:
    return head.replace(standout=None) if isinstance(head, MlpHead) else head


class ClassifierHead(Checked):
    """A linear layer on the vectors of one sentence, or of two, concatenated.

    With one class the output is the logit of "yes". By default, the layer gets the vector of one sentence.
    """

    kind: Literal["classifier"]
    classes: Count
    sentences: Literal[1, 2] = 1


class SimilarityHead(Checked):
    """The cosine of two sentences on the scale of human ratings, 0 to 5.

    `sigmoid` is 5 sigmoid(cos), `steep-sigmoid` 5 sigmoid(5 cos), `linear` 5 (cos + 1) / 2, `relu` 5 max(0,
    cos), `absolute` 5 |cos|. The paper (2-Tier SimCSE, Table 1; methods 5) mentions five scalings but contains
    only the formula of the sigmoid, which is the default; we chose the others.
    """

    kind: Literal["similarity"]
    scaling: Scaling = "sigmoid"


# A head that predicts the label of a task from sentence vectors.
TaskHead = Annotated[ClassifierHead | SimilarityHead, Field(discriminator="kind")]


@cache
def _families() -> tuple[str, ...]:
    """Return the families of `transformers` from the folder names.

    Importing `transformers` would take longer than planning a study.
    """
    package = find_spec("transformers")
    homes = (package and package.submodule_search_locations) or ()
    names: list[str] = []
    for home in homes:
        names += [file.parent.name for file in Path(home, "models").glob("*/__init__.py")]
    return tuple(names)


def has_family(name: str, brought: Mapping[str, str]) -> bool:
    """Return whether transformers, the package or a plug-in has a family.

    Args:
        name: The family, such as "deberta-v2".
        brought: A dict with the families of plug-ins.
    """
    return name in (*PACKED, *brought) or name.replace("-", "_") in _families()


def _family(value: str) -> str:
    brought = current().families
    if not has_family(value, brought):
        names = [name.replace("_", "-") for name in _families()]
        near = nearest(value, (*brought, *names))
        raise UserMessage(f'neither transformers nor a plug-in has a family "{value}"{near}')
    return value


Family = Annotated[Id, AfterValidator(_family)]


class Architecture(Checked):
    """The sizes of an encoder that is trained from random weights.

    The family can be any family of `transformers` or a plug-in. `config` has further keys of the family's
    configuration, such as {relative_attention: true} for deberta-v2.

    Attributes:
        family: a family of `transformers`, or of a plug-in.
        layers: the number of layers.
        hidden: the width of the hidden states.
        heads: the number of attention heads in a layer.
        intermediate: the width of the feed-forward layer.
        positions: the maximum number of tokens.
        config: further keys of the family's configuration.
    """

    family: Family = "bert"
    layers: Count
    hidden: Count
    heads: Count
    intermediate: Count
    positions: Count
    config: dict[str, Any] = {}


class PostprocessingParameters(Entry):
    """Base of post-processings: the dataset for the fit, and parameters.

    `fit` is the name of a corpus of a scale, paper or config, or "target", the sentences of each task. In a job
    it is the recipe of the corpus. `implementation` is `module:class`.

    Attributes:
        name: the name of the post-processing.
        fit: the corpus that it is fitted on, or `target`: the sentences of each task.
    """

    key: ClassVar[str] = "name"
    called_with: ClassVar[tuple[str, ...]] = ("vectors",)
    called_method: ClassVar[str] = "fit"
    name: str
    fit: Id | dict[str, Any]

    @classmethod
    def keyword_names(cls) -> list[str]:
        """Return the names of the parameters of the fit."""
        return [key for key in cls.model_fields if key not in ("name", "fit")]

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the fit."""
        return {key: getattr(self, key) for key in self.keyword_names()}


class CentringParameters(PostprocessingParameters):
    """Subtract the mean of the vectors."""

    implementation: ClassVar[str] = "replicse.encoder.baselines.postprocess:Centring"
    name: Literal["centring"]


class WhiteningParameters(PostprocessingParameters):
    """Whitening in closed form (Su et al. 2021)."""

    implementation: ClassVar[str] = "replicse.encoder.baselines.postprocess:Whitening"
    name: Literal["whitening"]


class FlowParameters(PostprocessingParameters):
    """BERT-flow, trained by maximum likelihood (Li et al. 2020).

    Attributes:
        seed: the seed of the initial weights and of the batches.
        epochs: the number of epochs.
        learning_rate: the learning rate of Adam.
        batch_size: the number of vectors in a batch.
        steps: the number of coupling steps of the flow.
        width: the width of the hidden layers.
    """

    implementation: ClassVar[str] = "replicse.encoder.baselines.postprocess:Flow"
    name: Literal["flow"]
    seed: Annotated[Whole, Field(ge=0)] = 42
    epochs: Count = 1
    learning_rate: Positive = 1e-3
    batch_size: Count = 32
    steps: Count = 9
    width: Count = 32


Postprocessing = PostprocessingParameters
postprocessing_of = PostprocessingParameters.reader("postprocess", "encoder")


class WordVectors(Checked):
    """A text file of word vectors below the data root (methods 2.5).

    Attributes:
        file: the file below the data root.
    """

    file: DataFile
