"""Train many small softmax classifiers on the same features at once.

The weights of many fits are stacked, the L2 values of a fit use the same minibatches (gathered by index), and
stopped fits leave the stack. The results of a fit depend only on its own seed, so they equal the results of
training the classifiers one by one.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

MAX_PASSES = 200

# Small enough that minibatches, weights and moments fit into a core's cache.
BUNDLE_BYTES = 1 << 21


@dataclass(frozen=True)
class ProbeSetting:
    """Hyper-parameters of the classifiers.

    Attributes:
        folds: The number of folds of cross-validation.
        optimiser: "adam" or "rmsprop".
        learning_rate: The learning rate.
        batch_size: The number of rows in a minibatch.
        tenacity: The number of checks without improvement after which training still continues.
        epoch_size: The number of passes over the training rows between two checks.
    """

    folds: int
    optimiser: str
    learning_rate: float
    batch_size: int
    tenacity: int
    epoch_size: int


@dataclass(frozen=True, eq=False)
class Fit:
    """The rows for training, the rows for early stopping, and the L2 values.

    Attributes:
        train: The numbers of the training rows, int64.
        check: The numbers of the rows for early stopping, int64.
        l2: The L2 penalties; a classifier is trained for each.
        seed: The seed of the initial weights and the order of the rows. They are the same for all L2 values,
            so that a result does not depend on other fits.
    """

    train: np.ndarray
    check: np.ndarray
    l2: tuple[float, ...]
    seed: tuple[int, ...]


@dataclass(eq=False)
class Trained:
    """The classifier of a fit and an L2 value.

    Tensors have the shape (classes, features), with the bias last. The default accuracy is below any real accuracy, so
    the weights of the first check are kept.

    Attributes:
        l2: The L2 penalty.
        current: The weights after the last step.
        first_moment: The state of Adam.
        second_moment: The state of Adam or RMSprop.
        accuracy: The best accuracy on the check rows, in [0, 1]. Default: -1, before the first check.
        weights: The weights with the best accuracy.
        misses: The number of checks without improvement.
    """

    l2: float
    current: torch.Tensor
    first_moment: torch.Tensor
    second_moment: torch.Tensor
    accuracy: float = -1.0
    weights: torch.Tensor | None = None
    misses: int = 0


@dataclass(eq=False)
class _Run:
    """A fit with the random generator and the problems that have not stopped."""

    fit: Fit
    generator: np.random.Generator
    problems: list[Trained]


def with_bias(parts: Sequence[np.ndarray]) -> torch.Tensor:
    """Concatenate parts and append a column of ones for the bias.

    Args:
        parts: A list of arrays of shape (rows, width).

    Returns:
        Tensor of shape (all rows, width + 1).
    """
    count, width = sum(len(part) for part in parts), parts[0].shape[1]
    features = np.ones((count, width + 1), dtype=parts[0].dtype)
    np.concatenate(parts, out=features[:, :width])
    return torch.from_numpy(features)


@torch.inference_mode()
def train_together(
    features: torch.Tensor, labels: np.ndarray, fits: Sequence[Fit], setting: ProbeSetting
) -> list[list[Trained]]:
    """Train a softmax classifier for each fit and each of the L2 values.

    A check follows every `epoch_size` passes. Training stops at check number `tenacity` + 1 without
    improvement; these checks need not be consecutive.

    Args:
        features: Tensor of shape (rows, features) with a bias column (see `with_bias`).
        labels: Int64 array of shape (rows,), from 0.
        fits: The fits to compute.
        setting: The hyper-parameters.

    Returns:
        A list for each fit with the classifiers at their best check, one per L2 value.
    """
    classes = int(labels.max()) + 1
    targets = torch.nn.functional.one_hot(torch.from_numpy(labels), classes).to(features.dtype)
    runs = [_first_state(fit, classes, features) for fit in fits]
    every_problem = [list(run.problems) for run in runs]
    # SentEval compares the number of passes before each round, so that the last round begins at exactly 200.
    for passes_made in range(0, MAX_PASSES + 1, setting.epoch_size):
        for bundle in _bundles(runs, features, setting):
            _train_round(bundle, features, targets, setting, passes_made)
        for run in runs:
            _check(features, labels, run)
            run.problems = [problem for problem in run.problems if problem.misses <= setting.tenacity]
        runs = [run for run in runs if run.problems]
    return every_problem


def correct_shares(
    features: torch.Tensor, labels: np.ndarray, rows: np.ndarray, weights: torch.Tensor
) -> list[float]:
    """Compute the accuracy of each classifier on some rows.

    Args:
        features: Tensor of shape (rows, features) with a bias column.
        labels: Int64 array of shape (rows,).
        rows: The numbers of the rows to classify, int64.
        weights: Tensor of shape (classifiers, classes, features).

    Returns:
        A list of the accuracies, in [0, 1].
    """
    logits = features[torch.from_numpy(rows)] @ weights.flatten(0, 1).T
    predicted = logits.view(len(rows), *weights.shape[:2]).argmax(dim=2)
    correct = predicted == torch.from_numpy(labels[rows])[:, None]
    return correct.double().mean(dim=0).tolist()


def _first_state(fit: Fit, classes: int, features: torch.Tensor) -> _Run:
    """Return a problem per L2 value with PyTorch's initial linear weights."""
    generator = np.random.default_rng(fit.seed)
    width = features.shape[1]
    bound = 1 / np.sqrt(width - 1)
    weights = torch.from_numpy(generator.uniform(-bound, bound, (classes, width))).to(features.dtype)
    zeros = torch.zeros_like(weights)
    return _Run(fit, generator, [Trained(l2, weights, zeros, zeros) for l2 in fit.l2])


def _steps(fit: Fit, setting: ProbeSetting) -> int:
    """Return the number of minibatches of a pass; the last can be short."""
    return -(-len(fit.train) // setting.batch_size)


def _bundles(runs: Sequence[_Run], features: torch.Tensor, setting: ProbeSetting) -> Iterator[list[_Run]]:
    """Yield groups of runs with the same number of problems and steps."""
    by_size = defaultdict(list)
    for run in runs:
        by_size[len(run.problems), _steps(run.fit, setting)].append(run)
    run_bytes = setting.batch_size * features.shape[1] * features.element_size()
    size = max(1, BUNDLE_BYTES // run_bytes)
    for members in by_size.values():
        for start in range(0, len(members), size):
            yield members[start : start + size]


def _train_round(
    bundle: Sequence[_Run],
    features: torch.Tensor,
    targets: torch.Tensor,
    setting: ProbeSetting,
    passes_made: int,
) -> None:
    """Run `epoch_size` passes and replace the tensors of each run's problems.

    The problems of a run share the minibatches, so their weights are concatenated: weights and moments have the
    shape (runs, problems * classes, features), and a minibatch (runs, batch, features). The rows of the batch
    are the last dimension of the logits, because a softmax over a few adjacent classes takes several times as
    long.
    """
    classes = targets.shape[1]
    shape = (len(bundle), len(bundle[0].problems), classes, setting.batch_size)
    weights = _stack_tensors(bundle, "current")
    first, second = _stack_tensors(bundle, "first_moment"), _stack_tensors(bundle, "second_moment")
    l2 = torch.tensor([_l2_values(run) for run in bundle], dtype=weights.dtype)
    decay = l2.repeat_interleave(classes, dim=1)[..., None]
    shares = _shares_of_rows(bundle, setting).to(weights.dtype)
    gradient, scratch = torch.empty_like(weights), torch.empty_like(weights)
    step = passes_made * len(shares)
    for _ in range(setting.epoch_size):
        for rows, share in zip(_orders(bundle, setting), shares, strict=True):
            step += 1
            batch = features.index_select(0, rows).view(len(bundle), setting.batch_size, -1)
            logits = torch.bmm(weights, batch.transpose(1, 2))
            residual = logits.view(shape).softmax(2)
            wanted = targets.index_select(0, rows).view(len(bundle), 1, setting.batch_size, classes)
            residual -= wanted.transpose(2, 3)
            residual *= share
            torch.bmm(residual.view_as(logits), batch, out=gradient)
            gradient.addcmul_(weights, decay)
            _update(weights, (first, second), gradient, scratch, step, setting)
    for number, run in enumerate(bundle):
        parts = (weights[number], first[number], second[number])
        pieces = zip(*(torch.split(part, classes) for part in parts), strict=True)
        for problem, piece in zip(run.problems, pieces, strict=True):
            problem.current, problem.first_moment, problem.second_moment = piece


def _l2_values(run: _Run) -> list[float]:
    return [problem.l2 for problem in run.problems]


def _stack_tensors(bundle: Sequence[_Run], name: str) -> torch.Tensor:
    """Stack a tensor of all problems: (runs, problems * classes, features)."""
    by_run = []
    for run in bundle:
        by_run.append(torch.cat([getattr(problem, name) for problem in run.problems]))
    return torch.stack(by_run)


def _orders(bundle: Sequence[_Run], setting: ProbeSetting) -> torch.Tensor:
    """Return the rows of each step of a pass, (steps, runs * batch).

    Each run has its own order, padded with row 0.
    """
    width = _steps(bundle[0].fit, setting) * setting.batch_size
    orders = np.zeros((len(bundle), width), dtype=np.int64)
    for order, run in zip(orders, bundle, strict=True):
        order[: len(run.fit.train)] = run.generator.permutation(run.fit.train)
    by_step = orders.reshape(len(bundle), -1, setting.batch_size).transpose(1, 0, 2)
    return torch.from_numpy(by_step.reshape(by_step.shape[0], -1))


def _shares_of_rows(bundle: Sequence[_Run], setting: ProbeSetting) -> torch.Tensor:
    """Return each row's weight in the mean loss of the minibatch.

    Padding has weight 0; the shape is (steps, runs, 1, 1, batch).
    """
    sizes = np.array([len(run.fit.train) for run in bundle])
    real = np.arange(_steps(bundle[0].fit, setting) * setting.batch_size) < sizes[:, None]
    by_step = real.reshape(len(bundle), -1, setting.batch_size).transpose(1, 0, 2)
    return torch.from_numpy(by_step / by_step.sum(axis=2, keepdims=True))[:, :, None, None]


def _update(
    weights: torch.Tensor,
    moments: Sequence[torch.Tensor],
    gradient: torch.Tensor,
    scratch: torch.Tensor,
    step: int,
    setting: ProbeSetting,
) -> None:
    """Apply a step of Adam or RMSprop with PyTorch's defaults, in place.

    RMSprop uses neither the first moment nor the step count.
    """
    first, second = moments
    adam = setting.optimiser == "adam"
    kept, new = (0.999, 0.001) if adam else (0.99, 0.01)
    second.mul_(kept).addcmul_(gradient, gradient, value=new)
    torch.sqrt(second, out=scratch)
    if not adam:
        weights.addcdiv_(gradient, scratch.add_(1e-8), value=-setting.learning_rate)
        return
    first.lerp_(gradient, 0.1)
    scratch.div_((1 - 0.999**step) ** 0.5).add_(1e-8)
    weights.addcdiv_(first, scratch, value=-setting.learning_rate / (1 - 0.9**step))


def _check(features: torch.Tensor, labels: np.ndarray, run: _Run) -> None:
    """Keep the weights of problems that improved; count a miss for others."""
    weights = torch.stack([problem.current for problem in run.problems])
    shares = correct_shares(features, labels, run.fit.check, weights)
    for problem, accuracy in zip(run.problems, shares, strict=True):
        if accuracy > problem.accuracy:
            problem.accuracy, problem.weights = accuracy, problem.current.clone()
        else:
            problem.misses += 1
