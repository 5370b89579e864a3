"""Score an encoder on the STS test sets in many evaluation variants.

Each distinct sentence is encoded once for all poolings, aggregations, splits and precisions of scores, and
again for each precision of the weights, for padding that counts in a mean, and for padding that is attended to.
For a shorter maximum length only the truncated sentences are encoded again.
"""

import copy
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from replicse.data.sts import StsSubset, load_sts
from replicse.encoder.backbone import Backbone, Hidden, NeededStates
from replicse.encoder.batch import TokenBatch
from replicse.encoder.folders import encoder_folder
from replicse.encoder.heads import SentenceHead, load_head
from replicse.encoder.modules import transformer_folder
from replicse.encoder.pooling import SentencePooling
from replicse.encoder.sentence import SentenceEncoder
from replicse.errors import BadInput
from replicse.evaluation.correlation import cosines, pearson, spearman
from replicse.evaluation.half_precision import ProductsInFp32, cosines_in
from replicse.evaluation.regressor import regressor_score
from replicse.evaluation.sts import Correlation, score_task
from replicse.evaluation.suites import Vectors, average
from replicse.registry.poolings import PoolingParameters, pooling_of
from replicse.registry.suites import AS_READ, DEVELOPMENT, STS_DEV_TASKS, STS_TASKS, VARIANTS

log = logging.getLogger(__name__)
# SentEval's batches: pairs are sorted by the number of words, and each side is encoded 128 sentences at a time.
SENTEVAL_BATCH = 128
READ = ("cls", "cls-head", "mean", "last2", "first-last", "first-last-0")
# PromptBERT's template for BERT (Jiang et al. 2022, section 4.1).
TEMPLATE = {"pooling": "mask", "template": 'This sentence of "{text}" means {mask}.'}
LENGTHS = {"length-32": 32, "length-128": 128}
WEIGHTS = {"weights-in-bf16": torch.bfloat16, "weights-in-fp16": torch.float16, "all-in-bf16": torch.bfloat16}
SCORES = {"scores-in-bf16": torch.bfloat16, "scores-in-fp16": torch.float16, "all-in-bf16": torch.bfloat16}
# Variants that use other splits than test.
OF_SPLITS = {DEVELOPMENT, "sick-r-all-splits", "stsb-regressor"}
PADDED = ("mean-with-padding", "padding-attended")
Scores = dict[str, float | None]
Sets = Mapping[str, Sequence[StsSubset]]
Similarity = Callable[[np.ndarray, np.ndarray], np.ndarray]


def evaluate(
    root: Path, vectors: Vectors, variants: Sequence[str] | None = None, folder: str = ""
) -> dict[str, Any]:
    """Compute each variant's scores by task, and their average (x 100).

    Args:
        root: The data root, a folder of datasets.
        vectors: The encoder to use, which returns vectors of sentences, (n, width).
        variants: A list of variants. Default: all.
        folder: The encoder's folder, which can contain a head. Default: no head.

    Returns:
        A dict with the scores by variant; `as-read` is the encoder as it was opened. If a variant is not
        possible, such as a head that is not stored, its scores are None and `failures` has the reason.
    """
    wanted = tuple(variants or VARIANTS)
    if not isinstance(vectors, SentenceEncoder):
        return _refused(dict.fromkeys((AS_READ, *wanted), "the encoder is not a transformer"))
    head = load_head(transformer_folder(encoder_folder(folder))) if folder else None
    study = VariantStudy(root, vectors, head, wanted)
    scores = {AS_READ: study.scores(study.vectors(vectors.pooling))}
    refused: dict[str, str] = {}
    for variant in wanted:
        if reason := study.unreadable(variant):
            refused[variant] = reason
        else:
            scores[variant] = study.variant(variant)
            log.info("%s is scored, %d of %d variants", variant, len(scores) - 1, len(wanted) - len(refused))
    return {**_refused(refused), **scores}


def _refused(reasons: Mapping[str, str]) -> dict[str, Any]:
    """Return empty scores of variants, with the reasons."""
    scores: dict[str, Any] = {}
    failures: dict[str, str] = {}
    for name, reason in reasons.items():
        tasks = STS_DEV_TASKS if name == DEVELOPMENT else STS_TASKS
        scores[name] = dict.fromkeys((*tasks, "avg"))
        for part in scores[name]:
            failures[f"{name}/{part}"] = reason
    return {**scores, "failures": failures}


@dataclass
class VectorTable:
    """Vectors by sentence.

    Attributes:
        values: The vectors, (n, width), float32.
        places: A dict from sentences to row numbers.
    """

    values: np.ndarray
    places: Mapping[str, int]

    def __call__(self, sentences: Sequence[str]) -> np.ndarray:
        """Return the vectors of sentences, of shape (n, width)."""
        return self.values[[self.places[sentence] for sentence in sentences]]


class VariantStudy:
    """The test sets, and the encoder's vectors in each variant, cached.

    Args:
        root: The data root, a folder of datasets.
        encoder: The encoder.
        head: The sentence head, or None.
        wanted: The variants to compute.
    """

    def __init__(
        self, root: Path, encoder: SentenceEncoder, head: SentenceHead | None, wanted: Sequence[str]
    ) -> None:
        self.encoder = encoder
        self.head = head if encoder.head is None else encoder.head
        if self.head is not None:
            self.head.to(encoder.device).eval()
        self.test: Sets = {task: load_sts(root, task) for task in STS_TASKS}
        self.splits: dict[str, Sets] = {}
        if OF_SPLITS & {*wanted}:
            for split in ("train", "dev"):
                self.splits[split] = {task: load_sts(root, task, split) for task in STS_DEV_TASKS}
        distinct: dict[str, None] = {}
        for sets in (self.test, *self.splits.values()):
            for subset in chain.from_iterable(sets.values()):
                distinct |= dict.fromkeys(subset.sentences)
        self.sentences = list(distinct)
        self.places = {sentence: place for place, sentence in enumerate(self.sentences)}
        self.rows = encoder.rows(self.sentences)
        self._read: dict[str, VectorTable] = {}

    def unreadable(self, variant: str) -> str:
        """Return why the encoder does not support a variant.

        Args:
            variant: The name of the variant.

        Returns:
            A reason, or an empty string if the variant is possible.
        """
        if variant == "cls-head" and self.head is None:
            return "the encoder is stored without a head (pooler.dense)"
        if variant in PADDED and self.encoder.pooling.template:
            return "the encoder uses a template"
        if variant in READ or variant == "in-a-template":
            try:
                self._pooling(_pooling_of_variant(variant))
            except BadInput as error:
                return str(error)
        return ""

    def _pooling(self, params: PoolingParameters) -> SentencePooling:
        return SentencePooling(params, self.encoder.backbone, self.encoder.tokenizer)

    def vectors(self, params: PoolingParameters) -> VectorTable:
        """Return the vectors of a pooling in fp32.

        All poolings of the same tokens are computed in one pass.

        Args:
            params: The parameters of the pooling.
        """
        if str(params) not in self._read:
            names = [name for name in READ if not self.unreadable(name)]
            poolings = {str(params): params}
            if not (params.template or params.padded_to):
                for pooling in map(pooling_of, names):
                    poolings[str(pooling)] = pooling
            self._read |= self._pass(self.encoder.backbone, self.rows, [*poolings.values()])
        return self._read[str(params)]

    def _pass(
        self, backbone: Backbone, rows: Sequence[np.ndarray], poolings: Sequence[PoolingParameters]
    ) -> dict[str, VectorTable]:
        order = sorted(range(len(rows)), key=lambda place: (len(rows[place]), rows[place].tobytes()))
        # Sentences with the same tokens are encoded once.
        first = {rows[place].tobytes(): place for place in reversed(order)}
        distinct = sorted(first.values(), key=lambda place: len(rows[place]))
        modules = [self._pooling(params) for params in poolings]
        parts: dict[str, list[Tensor]] = {str(params): [] for params in poolings}
        with torch.inference_mode():
            for some in self.encoder.batches([rows[place] for place in distinct]):
                batch = TokenBatch.from_rows(some).to(self.encoder.device)
                for name, value in self._pool_batch(backbone, modules[0].fill(batch), modules).items():
                    parts[name].append(value)
        found = {rows[place].tobytes(): number for number, place in enumerate(distinct)}
        numbers = [found[row.tobytes()] for row in rows]
        tables = {}
        for name, values in parts.items():
            tables[name] = VectorTable(torch.cat(values).cpu().numpy()[numbers], self.places)
        return tables

    def _pool_batch(
        self, backbone: Backbone, fed: TokenBatch, poolings: Sequence[SentencePooling]
    ) -> dict[str, Tensor]:
        """Return float32 vectors by pooling from one forward pass."""
        hidden = self._states(backbone, fed, poolings)
        vectors = {}
        for pooling in poolings:
            vectors[str(pooling.params)] = self._vectors(pooling, hidden, fed, backbone)
        return vectors

    def _states(
        self, backbone: Backbone, fed: TokenBatch, poolings: Sequence[SentencePooling]
    ) -> dict[int, Tensor]:
        """Return the hidden states that poolings use, by number, in float32."""
        numbers: set[int] = set()
        for pooling in poolings:
            numbers.update(backbone.state_numbers(pooling.params.states))
        wanted = sorted(numbers)
        training = backbone.training
        hidden = backbone.eval()(fed, NeededStates(tuple(wanted)))
        backbone.train(training)
        return {state: values.float() for state, values in zip(wanted, hidden.states, strict=True)}

    def _vectors(
        self, pooling: SentencePooling, states: Mapping[int, Tensor], batch: TokenBatch, backbone: Backbone
    ) -> Tensor:
        """Return the vectors of a pooling from computed states, after the head."""
        chosen = [states[state] for state in backbone.state_numbers(pooling.params.states)]
        if not pooling.params.tokens:
            # This pooling uses only position 0.
            chosen = [values.index_select(0, batch.first) for values in chosen]
        hidden = Hidden(chosen)
        computed: Any = lambda *_: hidden  # noqa: E731
        vectors = pooling.denoise(pooling.read(computed, batch), backbone, batch).float()
        if pooling.params.head and self.head is not None:
            return self.head(vectors).float()
        return vectors

    def cut(self, length: int) -> VectorTable:
        """Return the vectors at a shorter maximum length.

        Only the sentences that are truncated are encoded again.

        Args:
            length: The maximum number of tokens of a row.
        """
        own = self.encoder.pooling
        table = self.vectors(own)
        long = [place for place, row in enumerate(self.rows) if len(row) > length]
        if not long:
            return table
        # The last token of a row is a special token, which truncation keeps.
        rows = [np.append(self.rows[place][: length - 1], self.rows[place][-1:]) for place in long]
        values = table.values.copy()
        values[long] = self._pass(self.encoder.backbone, rows, [own])[str(own)].values
        return VectorTable(values, self.places)

    def in_precision(self, kind: torch.dtype) -> VectorTable:
        """Return the vectors with weights and layers in another precision.

        Args:
            kind: The precision, such as `torch.bfloat16`.
        """
        own = self.encoder.pooling
        name = f"{own} {kind}"
        if name not in self._read:
            backbone = copy.deepcopy(self.encoder.backbone).to(kind)
            with ProductsInFp32() if self.encoder.device.type == "cpu" else nullcontext():
                self._read[name] = self._pass(backbone, self.rows, [own])[str(own)]
        return self._read[name]

    def padded(self, variant: str, subset: StsSubset) -> Iterator[np.ndarray]:
        """Yield both sides' vectors of a subset in SentEval's batches.

        Each batch is padded to the longest row.

        Args:
            variant: One of PADDED.
            subset: The subset.

        Yields:
            The vectors of the first and of the second sentences, (pairs, width).
        """
        words = []
        for first, second in zip(subset.first, subset.second, strict=True):
            words.append((len(first.split()), len(second.split())))
        order = sorted(range(len(words)), key=lambda place: (*words[place], subset.gold[place]))
        for side in (subset.first, subset.second):
            rows = [self.rows[self.places[side[place]]] for place in order]
            values = []
            for start in range(0, len(rows), SENTEVAL_BATCH):
                values.append(self._encode_padded(variant, rows[start : start + SENTEVAL_BATCH]))
            yield np.concatenate(values)[np.argsort(order)]

    @torch.inference_mode()
    def _encode_padded(self, variant: str, rows: list[np.ndarray]) -> np.ndarray:
        backbone = self.encoder.backbone
        batch = TokenBatch.from_rows(rows).to(self.encoder.device)
        filled = batch.fill(self._padding())
        if variant == "mean-with-padding":
            mean = self._pooling(pooling_of("mean"))
            return self._vectors(mean, self._states(backbone, filled, [mean]), filled, backbone).cpu().numpy()
        # All rows have the same length and there is no mask, so every token attends to the padding of the row.
        unmasked = TokenBatch(filled.tokens, filled.offsets)
        own = self._pooling(self.encoder.pooling)
        states = self._states(backbone, unmasked, [own])
        real = {state: values.index_select(0, batch.padded_places) for state, values in states.items()}
        return self._vectors(own, real, batch, backbone).cpu().numpy()

    def _padding(self) -> int:
        """Return the id of the padding token from the model's config."""
        backbone: Any = self.encoder.backbone
        config = getattr(backbone, "config", None) or backbone.model.config
        return int(getattr(config, "pad_id", getattr(config, "pad_token_id", 0)) or 0)

    def variant(self, name: str) -> Scores:
        """Compute the scores of a variant by task, and their average."""
        own = self.encoder.pooling
        if name in READ or name == "in-a-template":
            return self.scores(self.vectors(_pooling_of_variant(name)))
        if name in LENGTHS:
            return self.scores(self.cut(LENGTHS[name]))
        if name in WEIGHTS or name in SCORES:
            table = self.in_precision(WEIGHTS[name]) if name in WEIGHTS else self.vectors(own)
            if name in SCORES:
                return self.scores(table, partial(cosines_in, SCORES[name]))
            return self.scores(table)
        if name in PADDED:
            scores = {}
            for task, subsets in self.test.items():
                predicted = [cosines(*self.padded(name, subset)) for subset in subsets]
                scores[task] = score_task(subsets, predicted)[0]["all"]
            return add_average(scores)
        return getattr(self, f"_{name.replace('-', '_')}")(self.vectors(own))

    def scores(
        self,
        table: VectorTable,
        similarity: Similarity = cosines,
        key: str = "all",
        correlation: Correlation = spearman,
        sets: Sets | None = None,
    ) -> Scores:
        """Compute a score for each task.

        Args:
            table: The vectors.
            similarity: A function of two arrays of vectors, (n, width). Default: the cosine.
            key: How subsets are aggregated. Default: "all", as one set.
            correlation: The correlation of similarities and gold scores. Default: Spearman's.
            sets: A dict from tasks to subsets. Default: the test sets.
        """
        scores = {}
        for task, subsets in (sets or self.test).items():
            predicted = [similarity(table(subset.first), table(subset.second)) for subset in subsets]
            scores[task] = score_task(subsets, predicted, correlation)[0][key]
        return add_average(scores)

    def _mean_of_subsets(self, table: VectorTable) -> Scores:
        return self.scores(table, key="mean")

    def _weighted_mean(self, table: VectorTable) -> Scores:
        return self.scores(table, key="wmean")

    def _pearson(self, table: VectorTable) -> Scores:
        return self.scores(table, correlation=pearson)

    def _development_set(self, table: VectorTable) -> Scores:
        return self.scores(table, sets=self.splits["dev"])

    def _sick_r_all_splits(self, table: VectorTable) -> Scores:
        every = (*self.splits["train"]["SICK-R"], *self.splits["dev"]["SICK-R"], *self.test["SICK-R"])
        return self.scores(table, sets={**self.test, "SICK-R": every})

    def _stsb_regressor(self, table: VectorTable) -> Scores:
        sets = {split: self.splits[split]["STS-B"][0] for split in ("train", "dev")}
        sets["test"] = self.test["STS-B"][0]
        return add_average({**self.scores(table), "STS-B": 100 * regressor_score(sets, table)})


def _pooling_of_variant(name: str) -> PoolingParameters:
    return pooling_of(TEMPLATE if name == "in-a-template" else name)


def add_average(scores: Mapping[str, float | None]) -> Scores:
    """Add the average of scores, rounded like the averages in papers.

    Args:
        scores: A dict from tasks to scores.
    """
    return {**scores, "avg": average([*scores.values()])}
