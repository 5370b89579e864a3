"""Hold the transfer tasks against scikit-learn's logistic regression on the same embeddings and the same folds.

    python benchmarks/transfer_reference.py --encoder DIR_OR_HUB_ID --pooling mean --data DATA --scores FILE.json

`--scores` is what `replicse evaluate --suite transfer` wrote for the encoder. The regression gets the same outer
folds and splits: at each of three fixed strengths, and at the one that the protocol's four L2 values and inner folds
choose. The protocol stops early on 5 % of the training rows, which a regression does not. Writes
benchmarks/results/transfer_reference.json; the goal is a difference below 1.0 on each task.
"""

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from record import RESULTS, row, write_record

from replicse.data.transfer import TRANSFER_TASKS, load_transfer
from replicse.encoder.sentence import SentenceEncoder
from replicse.evaluation.transfer import (
    L2_GRID,
    SEED,
    SETTINGS,
    _features,
    sentences,
    stratified_folds,
)

FOLDS = SETTINGS["test"].folds


STRENGTHS = (0.1, 1.0, 10.0)  # scikit-learn's C; 1 is its default


def regression(features, labels, rows, strength):
    """Fit on `rows`."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=strength, max_iter=1000).fit(features[rows], labels[rows])


def strength_of(l2, rows):
    """Return C for weight decay l2 on a mean loss."""
    return 1 / (l2 * len(rows))


def best_l2(features, labels, splits):
    """Return the L2 value with the best mean accuracy over (learn, check) splits."""
    means = []
    for l2 in L2_GRID:
        fits = [regression(features, labels, learn, strength_of(l2, learn)) for learn, _ in splits]
        scores = [
            fit.score(features[check], labels[check]) for fit, (_, check) in zip(fits, splits, strict=True)
        ]
        means.append(np.mean(scores))
    return L2_GRID[int(np.argmax(means))]


def inner_folds(labels, rows, seed):
    """Return the (learn, check) splits of `rows` that the protocol chooses its L2 value on."""
    folds = stratified_folds(labels[rows], FOLDS, seed)
    return [(np.delete(rows, fold), rows[fold]) for fold in folds]


def split_scores(features, labels, learn, test, splits):
    """Return test accuracies (x 100) fitted on all of `learn`: at the chosen strength, then at the fixed ones."""
    chosen = strength_of(best_l2(features, labels, splits), learn)
    return [
        100 * regression(features, labels, learn, strength).score(features[test], labels[test])
        for strength in (chosen, *STRENGTHS)
    ]


def task_scores(task, vectors):
    splits = task.splits
    features = np.concatenate([_features(split, vectors) for split in splits.values()])
    labels = np.concatenate([split.labels for split in splits.values()])
    ends = np.cumsum([len(split.labels) for split in splits.values()])
    rows = dict(zip(splits, np.split(np.arange(len(labels)), ends[:-1]), strict=True))
    if "dev" in rows:
        return split_scores(features, labels, rows["train"], rows["test"], [(rows["train"], rows["dev"])])
    if "train" in rows:
        splits = inner_folds(labels, rows["train"], (SEED,))
        return split_scores(features, labels, rows["train"], rows["test"], splits)
    scores = []
    for number, test in enumerate(stratified_folds(labels, FOLDS, (SEED,))):
        learn = np.delete(rows["all"], test)
        scores.append(split_scores(features, labels, learn, test, inner_folds(labels, learn, (SEED, number))))
    return np.mean(scores, axis=0)


def lines_of(found: dict) -> Iterator[dict]:
    """Yield the lines of the table."""
    worst = {
        kind: max(abs(task[kind]["difference"]) for task in found["tasks"].values())
        for kind in ("C=0.1", "chosen")
    }
    yield row(
        f"transfer accuracies, {found['encoder']}: worst difference from scikit-learn's logistic regression",
        f"{worst['C=0.1']:.2f} (C = 0.1), {worst['chosen']:.2f} (a strength chosen per task)",
        goal="1.0",
        met=max(worst.values()) < 1.0,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--encoder", required=True)
    parser.add_argument("--pooling", default="mean")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--scores", type=Path, required=True)
    parser.add_argument("--task", action="append", choices=TRANSFER_TASKS, help="default: all seven")
    parser.add_argument("--out", type=Path, default=RESULTS / "transfer_reference.json")
    options = parser.parse_args()
    ours = json.loads(options.scores.read_text(encoding="utf-8"))["suites"]["transfer"]
    vectors = SentenceEncoder.open(options.encoder, options.pooling)
    tasks = options.task or TRANSFER_TASKS
    vectors.prepare(sentences(options.data, tasks=tasks))
    found = {}
    for name in tasks:
        start = time.perf_counter()
        accuracy = ours[name]["accuracy"]
        references = task_scores(load_transfer(options.data, name), vectors)
        names = ["chosen", *(f"C={strength:g}" for strength in STRENGTHS)]
        found[name] = {"ours": round(accuracy, 2)} | {
            kind: {"accuracy": round(float(value), 2), "difference": round(float(accuracy - value), 2)}
            for kind, value in zip(names, references, strict=True)
        }
        print(name, found[name], f"{time.perf_counter() - start:.0f} s", flush=True)
        record = {"encoder": Path(options.encoder).name, "tasks": found}
        write_record(options.out, record, list(lines_of(record)))


if __name__ == "__main__":
    main()
