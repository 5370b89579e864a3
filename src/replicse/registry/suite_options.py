"""What may be asked of evaluation suites: the options of each, checked."""

from importlib.util import find_spec
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, Field

from replicse.checked import Checked, Id, Text, UserMessage
from replicse.errors import check_known
from replicse.printable import several
from replicse.registry.corpora import Corpus, Labelled, StsName
from replicse.registry.mteb import MTEB_NAMES, categories, text_bytes
from replicse.registry.sets import EvaluationSet, SetName

TransferName = Literal["MR", "CR", "SUBJ", "MPQA", "SST2", "TREC", "MRPC"]
TRANSFER_TASKS: tuple[str, ...] = get_args(TransferName)
# What SentEval cross-validates has one split; TREC and MRPC have no development set.
TRANSFER_SPLITS = {**dict.fromkeys(TRANSFER_TASKS, ("all",)), "SST2": ("train", "dev", "test")}
TRANSFER_SPLITS |= dict.fromkeys(("TREC", "MRPC"), ("train", "test"))
# How else an encoder may be read and scored than its paper does.
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
    "development-set": "development sets of STS-B and SICK-R, and their mean as average",
    "sick-r-all-splits": "all 9,927 pairs of SICK-R, as MTEB takes them",
    "stsb-regressor": "a regression on STS-B's training pairs instead of the cosine",
}


class SuiteOptions(Checked):
    """The options of a suite: none, unless a class below says which."""

    def downloads(self) -> str:
        """Return which datasets a library of the suite downloads while it runs; blank for none.

        A suite whose module has a function `fetch` of its options is fetched before.
        """
        return ""

    def download_bytes(self) -> int | None:
        """Return about how many bytes they have; None if it is not known."""
        return None

    def extra(self) -> str:
        """Return the extra of this package that the suite needs, named like what it installs; blank for none."""
        return ""


class StsOptions(SuiteOptions):
    """The similarity tasks to run; all of the split where none are named."""

    tasks: Annotated[tuple[StsName, ...], Field(min_length=1)] | None = None


class TransferOptions(SuiteOptions):
    """The transfer tasks to run; all seven where none are named."""

    tasks: Annotated[tuple[TransferName, ...], Field(min_length=1)] | None = None


class QueryOptions(SuiteOptions):
    """Queries by name, for a suite that has a corpus of its own."""

    queries: Annotated[dict[Id, Text], Field(min_length=1)]


class RetrievalOptions(QueryOptions):
    """Queries by name, and the corpus that is searched."""

    corpus: Corpus


def _of_mteb(name: str) -> str:
    check_known(name, categories(), f'"{name}" is no task of MTEB on texts', UserMessage)
    return name


class MtebOptions(SuiteOptions):
    """The tasks of MTEB to run, the 56 of Muennighoff et al. where none are named, and where their data are.

    `hub`: each at the commit that the library pins; `local`: those that are in the SentEval layout of the data root;
    `miniature`: each is replaced by the miniature of its category, made of the data root. `results` is the folder
    of the library's own result files, `model` the name that they give the encoder. `precision: tf32` encodes in TF32 on
    GPUs from Ampere on, about three times as fast; the result says which precision was used.
    """

    tasks: Annotated[tuple[Annotated[str, AfterValidator(_of_mteb)], ...], Field(min_length=1)] | None = None
    data: Literal["hub", "local", "miniature"] = "hub"
    precision: Literal["fp32", "tf32"] = "fp32"
    results: str = ""
    model: str = ""

    def downloads(self) -> str:
        """Return them if they are those of the hub."""
        return f"datasets of MTEB, {several(len(self.names), 'task')}" if self.data == "hub" else ""

    def download_bytes(self) -> int | None:
        """Return the bytes of the texts of the tasks; None if one is not of the 56."""
        return text_bytes(self.names)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the tasks to run."""
        return self.tasks or MTEB_NAMES

    def extra(self) -> str:
        """Return the library, but for miniatures."""
        return "" if self.data == "miniature" else "mteb"


class SetsOptions(SuiteOptions):
    """Evaluation sets of your own by name."""

    sets: Annotated[dict[SetName, EvaluationSet], Field(min_length=1)]


def _of_variants(name: str) -> str:
    check_known(name, VARIANTS, f'"{name}" is no variant of an evaluation', UserMessage)
    return name


class VariantsOptions(SuiteOptions):
    """The variants to score, all where none are named, and the encoder's folder, which the job names."""

    variants: (
        Annotated[tuple[Annotated[str, AfterValidator(_of_variants)], ...], Field(min_length=1)] | None
    ) = None
    folder: str = ""


class TrainingOptions(SuiteOptions):
    """The folder of the checkpoint whose run is asked; blank where the encoder is no checkpoint."""

    folder: str = ""


class HeadsOptions(SuiteOptions):
    """The labelled sets by task, and the folder that holds the heads of the encoder, which the job names."""

    tasks: Annotated[dict[Id, Labelled], Field(min_length=1)]
    folder: str = ""


def to_install(name: str, options: SuiteOptions) -> str:
    """Return a sentence on the extra that a suite needs and this machine lacks; blank where there is none."""
    extra = options.extra()
    if not extra or find_spec(extra):
        return ""
    return f'suite {name} needs the package {extra}, which is not installed; pip install "replicse[{extra}]"'
