"""Heads, engines, architectures and post-processings: what turns a sentence into a vector."""

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

MAX_LENGTH = 512  # SentEval does not truncate (methods 2.1); 512 is where the position embeddings of BERT end
Engine = Literal["auto", "packed", "transformers"]
ENGINES: tuple[str, ...] = get_args(Engine)
# Families of the packed engine; all others go through `transformers`.
PACKED = ("bert", "roberta", "distilbert")
# Further families -> module and function that registers their classes with `transformers`: plug-ins bring them.
FAMILIES: dict[str, str] = {}
# tf32: fp32 products of a GPU in TF32.
Precision = Literal["fp32", "tf32", "bf16", "fp16"]


def _by_precision(value: object) -> object:
    """Return a number as that of fp32."""
    return value if isinstance(value, Mapping) else {"fp32": value}


# Operations per second of a device, by precision; a number is that of fp32.
Flops = Annotated[dict[Precision, Positive], BeforeValidator(_by_precision), Field(min_length=1)]
Checkpoint = Literal["best", "last"]
CHECKPOINTS: tuple[str, ...] = get_args(Checkpoint)
Scaling = Literal["sigmoid", "steep-sigmoid", "linear", "relu", "absolute"]


class Standout(Checked):
    """Adaptive dropout (Ba and Frey 2013): a unit is kept with probability sigmoid(alpha x + beta).

    x is what the unit puts in its activation function, so the weights are those of its layer.
    """

    alpha: Number = 1
    beta: Number = 0


class HeadParameters(NamedEntry):
    """What every head of sentence vectors has: `implementation` names its class, a `SentenceHead` with weights.

    It is made by `class(settings, hidden, generator)`, and kept with an encoder that is trained with it.
    """

    key: ClassVar[str] = "kind"
    kind: str

    @model_serializer(mode="wrap")
    def _spelt(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Return a mapping, as ids of runs have it."""
        return serialise(self)


class MlpHead(HeadParameters):
    """SimCSE's head: a linear layer and tanh; with `standout`, adaptive dropout of what comes out."""

    implementation: ClassVar[str] = "replicse.encoder.heads:Mlp"

    kind: Literal["mlp"]
    standout: Standout | None = None


class ProjectorHead(HeadParameters):
    """Linear layers with batch normalisation after each (DiffCSE appendix A; Barlow Twins and VICReg).

    `width` is that of the layers between, twice the encoder's where it is not given; `output` that of the last one,
    the encoder's where it is not given; `final_norm` normalises what comes out, without weights of its own.
    In training `statistics` are those of all rows of all views (as DiffCSE projects them), or of each view by itself
    (as the reference codes of Barlow Twins and VICReg do).
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
    """Return whether a wanted head can continue with the weights of a stored one: adaptive dropout has none."""
    one, other = (
        head.replace(standout=None) if isinstance(head, MlpHead) else head for head in (wanted, stored)
    )
    return one == other


class ClassifierHead(Checked):
    """A linear layer on the vectors of one sentence or, side by side, of two; one class is a logit of yes."""

    kind: Literal["classifier"]
    classes: Count
    sentences: Literal[1, 2] = 1


class SimilarityHead(Checked):
    """The cosine of two sentences on the scale of human ratings, 0 to 5 (2-Tier SimCSE, Table 1; methods 5).

    `sigmoid` is 5 sigmoid(cos), `steep-sigmoid` 5 sigmoid(5 cos), `linear` 5 (cos + 1) / 2, `relu` 5 max(0, cos),
    `absolute` 5 |cos|. The paper names five scalings, and its text lost them all but the sigmoid: ours are a choice.
    """

    kind: Literal["similarity"]
    scaling: Scaling = "sigmoid"


# What turns sentence vectors into the prediction of a labelled task, told apart by `kind`.
TaskHead = Annotated[ClassifierHead | SimilarityHead, Field(discriminator="kind")]


@cache
def _families() -> tuple[str, ...]:
    """Return the families of `transformers` by its folders: to import it takes longer than to plan a study."""
    package = find_spec("transformers")
    homes = (package and package.submodule_search_locations) or ()
    return tuple(each.parent.name for home in homes for each in Path(home, "models").glob("*/__init__.py"))


def has_family(name: str, brought: Mapping[str, str]) -> bool:
    """Return whether the packed engine or `transformers` has a family, or it is among those that are brought."""
    return name in (*PACKED, *brought) or name.replace("-", "_") in _families()


def _family(value: str) -> str:
    brought = current().families
    if not has_family(value, brought):
        near = nearest(value, (*brought, *(name.replace("_", "-") for name in _families())))
        raise UserMessage(f'neither transformers nor a plug-in has a family "{value}"{near}')
    return value


Family = Annotated[Id, AfterValidator(_family)]


class Architecture(Checked):
    """The sizes of an encoder that is trained from random weights, of any family that transformers or a plug-in has.

    `config` holds further keys of the family's own configuration, as {relative_attention: true} for deberta-v2.
    """

    family: Family = "bert"
    layers: Count
    hidden: Count
    heads: Count
    intermediate: Count
    positions: Count
    config: dict[str, Any] = {}


class PostprocessingParameters(Entry):
    """What every post-processing has: what it is fitted on, and the parameters of its fit that may change a number.

    `fit` is the name of a corpus of a scale, paper or config, or "target": each task's own sentences. A job has the
    recipe of the corpus in place of its name.
    `implementation` names module and class.
    """

    key: ClassVar[str] = "name"
    name: str
    fit: Id | dict[str, Any]

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the fit."""
        return {key: value for key, value in self if key not in ("name", "fit")}


class CentringParameters(PostprocessingParameters):
    """The mean of the vectors taken away."""

    implementation: ClassVar[str] = "replicse.encoder.baselines.postprocess:Centring"
    name: Literal["centring"]


class WhiteningParameters(PostprocessingParameters):
    """Whitening (Su et al. 2021), a closed form."""

    implementation: ClassVar[str] = "replicse.encoder.baselines.postprocess:Whitening"
    name: Literal["whitening"]


class FlowParameters(PostprocessingParameters):
    """BERT-flow (Li et al. 2020), trained by likelihood."""

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
    """A text file of word vectors below the data root (methods 2.5)."""

    file: DataFile
