"""One encoder under many evaluations: the same test sets, read and scored as others read and score them.

Each distinct sentence goes through the encoder once for all poolings, aggregations, splits and precisions of scores;
once more for each precision of the weights, for padding that counts and for padding that leaks. Of a shorter length
only the sentences are encoded again that it cuts.
"""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from replicse.data.sts import StsSubset, load_sts
from replicse.encoder.backbone import Backbone, Hidden, Need
from replicse.encoder.batch import TokenBatch
from replicse.encoder.heads import SentenceHead, stored_head
from replicse.encoder.pooling import pool
from replicse.encoder.sentence import SentenceEncoder, transformer_folder
from replicse.evaluation.correlation import cosines, pearson, spearman
from replicse.evaluation.sts import score_task
from replicse.evaluation.suites import Vectors, average
from replicse.registry.encoders import POOLINGS
from replicse.registry.suites import AS_READ, DEVELOPMENT, STS_DEV_TASKS, STS_TASKS, VARIANTS

# Batches of SentEval: pairs sorted by the words of their sentences, 128 at a time, each side by itself.
SENTEVAL_BATCH = 128
READ = ("cls", "cls-head", "mean", "last2", "first-last", "first-last-0")
LENGTHS = {"length-32": 32, "length-128": 128}
WEIGHTS = {"weights-in-bf16": torch.bfloat16, "weights-in-fp16": torch.float16, "all-in-bf16": torch.bfloat16}
SCORES = {"scores-in-bf16": torch.bfloat16, "scores-in-fp16": torch.float16, "all-in-bf16": torch.bfloat16}
PADDED = ("mean-with-padding", "padding-attended")
RIDGES = (1.0, 10.0, 100.0, 1000.0)
Scores = dict[str, float | None]
Sets = Mapping[str, Sequence[StsSubset]]
Similarity = Callable[[np.ndarray, np.ndarray], np.ndarray]


def evaluate(
    root: Path, vectors: Vectors, variants: Sequence[str] | None = None, folder: str = ""
) -> dict[str, Any]:
    """Return each variant's scores by task and their average (x 100); `as-read` is the encoder as it was opened.

    What an encoder cannot be read by, as a head that is not stored, is None with its reason under `failures`.
    """
    wanted = tuple(variants or VARIANTS)
    if not isinstance(vectors, SentenceEncoder):
        return _refused((AS_READ, *wanted), "the encoder is no transformer, whose variants these are")
    study = Study(root, vectors, stored_head(transformer_folder(Path(folder))) if folder else vectors.head)
    scores = {AS_READ: study.scores(study.vectors(vectors.pooling))}
    refused: dict[str, str] = {}
    for variant in wanted:
        pooling = variant if variant in READ else vectors.pooling
        if pooling == "cls-head" and study.head is None:
            refused[variant] = "no head (pooler.dense) is stored with the encoder"
            continue
        scores[variant] = study.variant(variant)
    result = _refused(tuple(refused), next(iter(refused.values()), ""))
    return {**result, **scores, "failures": result["failures"]}


def _refused(variants: Sequence[str], reason: str) -> dict[str, Any]:
    parts = {name: (*(STS_DEV_TASKS if name == DEVELOPMENT else STS_TASKS), "avg") for name in variants}
    paths = [f"{name}/{part}" for name in variants for part in parts[name]]
    return {
        **{name: dict.fromkeys(parts[name]) for name in variants},
        "failures": dict.fromkeys(paths, reason),
    }


@dataclass
class Table:
    """Vectors by sentence: float32 rows, and the row of each sentence."""

    values: np.ndarray
    places: Mapping[str, int]

    def __call__(self, sentences: Sequence[str]) -> np.ndarray:
        """Return the vectors of sentences, (n, width)."""
        return self.values[[self.places[sentence] for sentence in sentences]]


class Study:
    """The test sets, and one encoder's vectors of their sentences in each way of reading, made when first asked for."""

    def __init__(self, root: Path, encoder: SentenceEncoder, head: SentenceHead | None) -> None:
        self.encoder = encoder
        self.head = encoder.head if encoder.head is not None else head
        if self.head is not None:
            self.head.to(encoder.device).eval()
        self.test: Sets = {task: load_sts(root, task) for task in STS_TASKS}
        self.splits: dict[str, Sets] = {
            split: {task: load_sts(root, task, split) for task in STS_DEV_TASKS} for split in ("train", "dev")
        }
        every = [
            *self.test.values(),
            *(subsets for sets in self.splits.values() for subsets in sets.values()),
        ]
        distinct = dict.fromkeys(
            sentence for subsets in every for subset in subsets for sentence in subset.sentences
        )
        self.sentences = list(distinct)
        self.places = {sentence: place for place, sentence in enumerate(self.sentences)}
        self.rows = encoder.rows(self.sentences)
        self._read: dict[str, Table] = {}

    # Reading

    def vectors(self, pooling: str) -> Table:
        """Return the vectors of a pooling in fp32; all poolings are read in one pass."""
        if pooling not in self._read:
            poolings = tuple(dict.fromkeys((pooling, *READ)))
            poolings = tuple(name for name in poolings if name != "cls-head" or self.head is not None)
            self._read |= self._pass(self.encoder.backbone, self.rows, poolings)
        return self._read[pooling]

    def _pass(
        self, backbone: Backbone, rows: Sequence[np.ndarray], poolings: Sequence[str]
    ) -> dict[str, Table]:
        order = sorted(range(len(rows)), key=lambda place: (len(rows[place]), rows[place].tobytes()))
        # Sentences that are the same tokens are encoded once.
        first = {rows[place].tobytes(): place for place in reversed(order)}
        distinct = sorted(first.values(), key=lambda place: len(rows[place]))
        parts: dict[str, list[Tensor]] = {name: [] for name in poolings}
        with torch.inference_mode():
            for some in self.encoder.batches([rows[place] for place in distinct]):
                batch = TokenBatch.from_rows(some).to(self.encoder.device)
                for name, value in self._pooled(backbone, batch, batch, poolings).items():
                    parts[name].append(value)
        found = {rows[place].tobytes(): number for number, place in enumerate(distinct)}
        numbers = [found[row.tobytes()] for row in rows]
        return {
            name: Table(torch.cat(values).cpu().numpy()[numbers], self.places)
            for name, values in parts.items()
        }

    def _pooled(
        self, backbone: Backbone, fed: TokenBatch, batch: TokenBatch, poolings: Sequence[str]
    ) -> dict[str, Tensor]:
        """Return float32 vectors by pooling from one forward pass; `fed` may hold padding that `batch` does not."""
        depth = backbone.layer_count
        wanted = {name: [state % (depth + 1) for state in POOLINGS[name] or (-1,)] for name in poolings}
        states = sorted({state for each in wanted.values() for state in each})
        training = backbone.training
        hidden = backbone.eval()(fed, Need(tuple(states)))
        backbone.train(training)
        by_state = dict(zip(states, hidden.states, strict=True))
        return {
            name: pool(
                Hidden([by_state[state].float() for state in each], first_only=False), batch, name, self.head
            ).float()
            for name, each in wanted.items()
        }

    def cut(self, length: int) -> Table:
        """Return the vectors at a shorter length: only sentences that it cuts are encoded again."""
        table = self.vectors(self.encoder.pooling)
        long = [place for place, row in enumerate(self.rows) if len(row) > length]
        if not long:
            return table
        # Special tokens stay: the last one of a row ends it at any length.
        rows = [np.append(self.rows[place][: length - 1], self.rows[place][-1:]) for place in long]
        values = table.values.copy()
        values[long] = self._pass(self.encoder.backbone, rows, [self.encoder.pooling])[
            self.encoder.pooling
        ].values
        return Table(values, self.places)

    def in_precision(self, kind: torch.dtype) -> Table:
        """Return the vectors of an encoder whose weights and layers are in another precision."""
        name = f"{self.encoder.pooling} {kind}"
        if name not in self._read:
            backbone = copy.deepcopy(self.encoder.backbone).to(kind)
            self._read[name] = self._pass(backbone, self.rows, [self.encoder.pooling])[self.encoder.pooling]
        return self._read[name]

    def padded(self, variant: str, subsets: Sequence[StsSubset]) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return both sides' vectors of each subset in SentEval's batches, padded to the longest row of each batch."""
        return [tuple(self._padded_sides(variant, subset)) for subset in subsets]  # type: ignore[misc]

    def _padded_sides(self, variant: str, subset: StsSubset) -> Iterator[np.ndarray]:
        words = [
            (len(one.split()), len(two.split())) for one, two in zip(subset.first, subset.second, strict=True)
        ]
        order = sorted(range(len(words)), key=lambda place: (*words[place], subset.gold[place]))
        for side in (subset.first, subset.second):
            values = []
            for start in range(0, len(order), SENTEVAL_BATCH):
                some = [
                    self.rows[self.places[side[place]]] for place in order[start : start + SENTEVAL_BATCH]
                ]
                values.append(self._padded_batch(variant, some))
            together = np.concatenate(values)
            yield together[np.argsort(order)]

    @torch.inference_mode()
    def _padded_batch(self, variant: str, rows: list[np.ndarray]) -> np.ndarray:
        backbone = self.encoder.backbone
        batch = TokenBatch.from_rows(rows).to(self.encoder.device)
        filled = batch.filled(self._padding())
        if variant == "mean-with-padding":
            return self._pooled(backbone, filled, filled, ["mean"])["mean"].cpu().numpy()
        # All rows of one length without a mask: every token attends to the padding of its row.
        unmasked = TokenBatch(filled.tokens, filled.offsets)
        training = backbone.training
        pooling = self.encoder.pooling
        states = tuple(POOLINGS[pooling] or (-1,))
        hidden = backbone.eval()(unmasked, Need(states))
        backbone.train(training)
        real = batch.padded_places
        kept = Hidden([state.index_select(0, real) for state in hidden.states], first_only=False)
        return pool(kept, batch, pooling, self.head).float().cpu().numpy()

    def _padding(self) -> int:
        """Return the id of the padding token: of the packed engine's config, or of that of `transformers`."""
        backbone: Any = self.encoder.backbone
        config = getattr(backbone, "config", None) or backbone.model.config
        return int(getattr(config, "pad_id", getattr(config, "pad_token_id", 0)) or 0)

    # Scoring

    def variant(self, name: str) -> Scores:
        """Return the scores of one variant by task, and their average."""
        as_read = self.encoder.pooling
        if name in READ:
            return self.scores(self.vectors(name))
        if name in LENGTHS:
            return self.scores(self.cut(LENGTHS[name]))
        if name in WEIGHTS or name in SCORES:
            table = self.in_precision(WEIGHTS[name]) if name in WEIGHTS else self.vectors(as_read)
            return self.scores(table, partial(cosines_in, SCORES[name]) if name in SCORES else cosines)
        if name in PADDED:
            return averaged({task: self._padded_score(name, subsets) for task, subsets in self.test.items()})
        return getattr(self, f"_{name.replace('-', '_')}")(self.vectors(as_read))

    def scores(self, table: Table, similarity: Similarity = cosines, key: str = "all") -> Scores:
        """Return a score by task, one correlation over all pairs unless another `key` is asked for."""
        return averaged(
            {task: score_task(subsets, _predicted(subsets, table, similarity))[0][key]
             for task, subsets in self.test.items()}
        )  # fmt: skip

    def _padded_score(self, variant: str, subsets: Sequence[StsSubset]) -> float | None:
        predicted = [cosines(*sides) for sides in self.padded(variant, subsets)]
        score: float | None = score_task(subsets, predicted)[0]["all"]
        return score

    def _mean_of_subsets(self, table: Table) -> Scores:
        return self.scores(table, key="mean")

    def _weighted_mean(self, table: Table) -> Scores:
        return self.scores(table, key="wmean")

    def _pearson(self, table: Table) -> Scores:
        scores = {}
        for task, subsets in self.test.items():
            gold = np.concatenate([subset.gold for subset in subsets])
            value = pearson(np.concatenate(_predicted(subsets, table, cosines)), gold)
            scores[task] = None if value is None else 100 * value
        return averaged(scores)

    def _development_set(self, table: Table) -> Scores:
        scores = {
            task: score_task(subsets, _predicted(subsets, table, cosines))[0]["all"]
            for task, subsets in self.splits["dev"].items()
        }
        return {**scores, "avg": average(list(scores.values()))}

    def _sick_r_all_splits(self, table: Table) -> Scores:
        subsets = [*self.splits["train"]["SICK-R"], *self.splits["dev"]["SICK-R"], *self.test["SICK-R"]]
        score = score_task(subsets, _predicted(subsets, table, cosines))[0]["all"]
        return averaged({**self.scores(table), "SICK-R": score})

    def _stsb_regressor(self, table: Table) -> Scores:
        """Return STS-B by a ridge regression on |u - v| and u * v, whose penalty the development set chooses."""
        sets = {split: self.splits[split]["STS-B"][0] for split in ("train", "dev")}
        sets["test"] = self.test["STS-B"][0]
        features = {
            split: _features(table(subset.first), table(subset.second)) for split, subset in sets.items()
        }
        centre, spread = features["train"].mean(0), features["train"].std(0) + 1e-9
        design = {split: (values - centre) / spread for split, values in features.items()}
        gram, target = design["train"].T @ design["train"], sets["train"].gold - sets["train"].gold.mean()
        moment, best = design["train"].T @ target, (-2.0, 0.0)
        for ridge in RIDGES:
            weights = np.linalg.solve(gram + ridge * np.eye(len(gram)), moment)
            dev, test = (spearman(design[split] @ weights, sets[split].gold) for split in ("dev", "test"))
            best = max(best, (dev if dev is not None else -2.0, test if test is not None else 0.0))
        return averaged({**self.scores(table), "STS-B": 100 * best[1]})


def _features(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.concatenate([np.abs(first - second), first * second], axis=1).astype(np.float64)


def _predicted(subsets: Sequence[StsSubset], table: Table, similarity: Similarity) -> list[np.ndarray]:
    return [similarity(table(subset.first), table(subset.second)) for subset in subsets]


def averaged(scores: Mapping[str, float | None]) -> Scores:
    """Return scores by task with their average, as the papers round it."""
    return {**scores, "avg": average([scores[task] for task in STS_TASKS])}


def cosines_in(kind: torch.dtype, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the cosine of each pair of rows as a library computes it in a precision: normalised, then multiplied."""
    first, second = (F.normalize(torch.from_numpy(side).to(kind), dim=-1) for side in (left, right))
    return (first * second).sum(-1).float().numpy().astype(np.float64)
