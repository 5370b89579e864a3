"""The options of each evaluation suite."""

from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, Field

from replicse.checked import Checked, Id, Text, UserMessage
from replicse.errors import check_known
from replicse.printable import several
from replicse.registry.corpora import Corpus, Labelled, StsName
from replicse.registry.mteb import MTEB_NAMES, categories, text_bytes
from replicse.registry.sets import EvaluationSet, SetName

TransferName = Literal["MR", "CR", "SUBJ", "MPQA", "SST2", "TREC", "MRPC"]
TRANSFER_TASKS: tuple[str, ...] = get_args(TransferName)
# Tasks that SentEval cross-validates have one split; TREC and MRPC have no development set.
TRANSFER_SPLITS = {**dict.fromkeys(TRANSFER_TASKS, ("all",)), "SST2": ("train", "dev", "test")}
TRANSFER_SPLITS |= dict.fromkeys(("TREC", "MRPC"), ("train", "test"))
# Other ways to pool and score an encoder than the paper's.
VARIANTS = {
    "cls": "[CLS] as it is",
    "cls-head": "[CLS] through the stored head or pooler",
    "mean": "mean of the last layer over the tokens",
    "last2": "mean of the last two layers",
    "first-last": "mean of the first and the last layer",
    "first-last-0": "mean of the embedding output and the last layer",
    "in-a-template": "[MASK] of PromptBERT's template around the sentence",
    "mean-with-padding": "mean of the last layer over tokens and padding, in SentEval's batches of 128",
    "padding-attended": "no attention mask: padding is attended to, in SentEval's batches of 128",
    "length-32": "cut at 32 word pieces, as training does",
    "length-128": "cut at 128 word pieces",
    "scores-in-bf16": "similarities in bfloat16",
    "scores-in-fp16": "similarities in float16",
    "weights-in-bf16": "weights and layers in bfloat16, similarities in float32",
    "weights-in-fp16": "weights and layers in float16, similarities in float32",
    "all-in-bf16": "weights, layers and similarities in bfloat16",
    "mean-of-subsets": "mean of the subsets' correlations",
    "weighted-mean": "mean of the subsets' correlations by their sizes",
    "pearson": "Pearson's correlation instead of Spearman's",
    "development-set": "development datasets of STS-B and SICK-R, and their mean as average",
    "sick-r-all-splits": "all 9,927 pairs of SICK-R, as MTEB takes them",
    "stsb-regressor": "a regression on STS-B's training pairs instead of the cosine",
}


class SuiteOptions(Checked):
    """Base of the options of a suite; the default has no options."""

    def downloads(self) -> str:
        """Return the datasets to download with the suite's library, or "".

        If the module of a suite has a function `fetch`, it is called with the options before the run.
        """
        return ""

    def download_bytes(self) -> int | None:
        """Return the approximate size of the downloads; None if unknown."""
        return None

    def extra(self) -> str:
        """Return the optional dependency of the suite, or ""."""
        return ""


class StsOptions(SuiteOptions):
    """The STS tasks to run; default: all tasks of the split."""

    tasks: Annotated[tuple[StsName, ...], Field(min_length=1)] | None = None


class TransferOptions(SuiteOptions):
    """The transfer tasks to run; default: all seven."""

    tasks: Annotated[tuple[TransferName, ...], Field(min_length=1)] | None = None


class QueryOptions(SuiteOptions):
    """Queries by name, for a suite with its own corpus."""

    queries: Annotated[dict[Id, Text], Field(min_length=1)]


class RetrievalOptions(QueryOptions):
    """Queries by name, and the corpus to search."""

    corpus: Corpus


def _of_mteb(name: str) -> str:
    check_known(name, categories(), f'"{name}" is not a text task of MTEB', UserMessage)
    return name


class MtebOptions(SuiteOptions):
    """The MTEB tasks to run, and the source of their datasets.

    The default is the 56 tasks of Muennighoff et al. The source of `data` is `hub`, each dataset at the commit
    that the library pins; `local`, the datasets in the SentEval layout of the data root; or `miniature`, a
    small dataset of the same category for each task, created from the data root. `results` is the folder of the
    library's own result files, `model` the encoder's name in them, and `encoder` its digest. `precision: tf32` encodes
    in TF32 on GPUs since Ampere, about three times as fast; the result contains the precision.
    """

    tasks: Annotated[tuple[Annotated[str, AfterValidator(_of_mteb)], ...], Field(min_length=1)] | None = None
    data: Literal["hub", "local", "miniature"] = "hub"
    precision: Literal["fp32", "tf32"] = "fp32"
    results: str = ""
    model: str = ""
    encoder: str = ""

    def downloads(self) -> str:
        """Return the number of datasets if they come from the hub."""
        return f"datasets of MTEB, {several(len(self.names), 'task')}" if self.data == "hub" else ""

    def download_bytes(self) -> int | None:
        """Return the bytes of the tasks' texts; None for tasks outside of the 56."""
        return text_bytes(self.names)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the tasks to run."""
        return self.tasks or MTEB_NAMES

    def extra(self) -> str:
        """Return the library, unless the datasets are miniatures."""
        return "" if self.data == "miniature" else "mteb"


class SetsOptions(SuiteOptions):
    """Your own evaluation datasets by name."""

    sets: Annotated[dict[SetName, EvaluationSet], Field(min_length=1)]


def _of_variants(name: str) -> str:
    check_known(name, VARIANTS, f'"{name}" is not a variant of an evaluation', UserMessage)
    return name


class VariantsOptions(SuiteOptions):
    """The variants to score (default: all), and the encoder's folder.

    The job sets the folder.
    """

    variants: (
        Annotated[tuple[Annotated[str, AfterValidator(_of_variants)], ...], Field(min_length=1)] | None
    ) = None
    folder: str = ""


class TrainingOptions(SuiteOptions):
    """The folder of the checkpoint; empty if the encoder is not a checkpoint."""

    folder: str = ""


class HeadsOptions(SuiteOptions):
    """The labelled datasets by task, and the folder of the encoder's heads.

    The job sets the folder.
    """

    tasks: Annotated[dict[Id, Labelled], Field(min_length=1)]
    folder: str = ""


def to_install(name: str, options: SuiteOptions) -> str:
    """Return how to install a suite's missing dependency, or "".

    Args:
        name: The name of the suite.
        options: The options of the suite.
    """
    extra = options.extra()
    if not extra or find_spec(extra):
        return ""
    return f'suite {name} needs the package {extra}, which is not installed; pip install "replicse[{extra}]"'


def only_variants(options: Mapping[str, Any], read: Iterable[str]) -> dict[str, Any]:
    """Return the options with only the used variants.

    Args:
        options: The options of the suite `variants`.
        read: The metric paths below the suite, from which the variants follow.
    """
    named = {path.partition("/")[0] for path in read}
    wanted = [name for name in VARIANTS if name in named]
    if 0 < len(wanted) < len(VARIANTS):
        return {**options, "variants": wanted}
    return {**options}


def only_sets(options: Mapping[str, Any], read: Iterable[str]) -> dict[str, Any]:
    """Return the options with a subset of the datasets.

    Args:
        options: The options of the suite `sets`, which contain all datasets.
        read: The metric paths below the suite, from which the datasets follow.
    """
    names = {path.partition("/")[0] for path in read}
    return {"sets": {name: options["sets"][name] for name in sorted(names)}}
