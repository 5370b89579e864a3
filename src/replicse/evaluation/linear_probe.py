"""Many small softmax classifiers on the rows of one feature matrix, trained together as one batched problem.

The weights of many fits are stacked, the L2 values of one fit read the same minibatches (gathered by index
from the one matrix), and what has stopped early leaves the stack. A fit's numbers depend on its own seed
alone, so they are those of training one classifier after another.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

MAX_PASSES = 200

# Sized so that minibatches, weights and moments stay in a core's cache.
BUNDLE_BYTES = 1 << 21


@dataclass(frozen=True)
class ProbeSetting:
    """How the classifiers are trained; a check follows every `epoch_size` passes over the training rows."""

    folds: int
    optimiser: str
    learning_rate: float
    batch_size: int
    tenacity: int
    epoch_size: int


@dataclass(frozen=True, eq=False)
class Fit:
    """Rows to learn from, rows that decide when to stop, and the L2 values to try on them.

    `seed` alone decides the first weights and the order of the rows, for every L2 value alike, so that a
    result does not depend on what else is trained at the same time.
    """

    train: np.ndarray
    check: np.ndarray
    l2: tuple[float, ...]
    seed: tuple[int, ...]


@dataclass(eq=False)
class Trained:
    """The classifier of one fit and one L2 value: `accuracy` in [0, 1] on the check rows and `weights` at its best.

    The rest is its state. Tensors are (classes, features), the bias last.
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
    """A fit with its random generator and those of its problems that have not stopped."""

    fit: Fit
    generator: np.random.Generator
    problems: list[Trained]


def with_bias(parts: Sequence[np.ndarray]) -> torch.Tensor:
    """Return the parts under each other with a last column of ones: a bias is a weight like any other."""
    count, width = sum(len(part) for part in parts), parts[0].shape[1]
    features = np.ones((count, width + 1), dtype=parts[0].dtype)
    np.concatenate(parts, out=features[:, :width])
    return torch.from_numpy(features)


@torch.inference_mode()
def train_together(
    features: torch.Tensor, labels: np.ndarray, fits: Sequence[Fit], setting: ProbeSetting
) -> list[list[Trained]]:
    """Train a softmax classifier for each fit and each of its L2 values; return each at its best check.

    `features` is (rows, features) as `with_bias` makes it, `labels` are int64 from 0. A check follows every
    `epoch_size` passes; training stops at the check that is number `tenacity` + 1, in all and not in a row,
    to bring no improvement.
    """
    classes = int(labels.max()) + 1
    targets = torch.nn.functional.one_hot(torch.from_numpy(labels), classes).to(features.dtype)
    runs = [_first_state(fit, classes, features) for fit in fits]
    every_problem = [list(run.problems) for run in runs]
    # SentEval looks at the passes made before each round, so a last round begins at exactly 200.
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
    """Return the share of `rows` each classifier gets right; `weights` (classifiers, classes, features)."""
    logits = features[torch.from_numpy(rows)] @ weights.flatten(0, 1).T
    predicted = logits.view(len(rows), *weights.shape[:2]).argmax(dim=2)
    correct = predicted == torch.from_numpy(labels[rows])[:, None]
    return correct.double().mean(dim=0).tolist()


def _first_state(fit: Fit, classes: int, features: torch.Tensor) -> _Run:
    """Return a problem per L2 value, all with the uniform weights that PyTorch gives a linear layer."""
    generator = np.random.default_rng(fit.seed)
    width = features.shape[1]
    bound = 1 / np.sqrt(width - 1)
    weights = torch.from_numpy(generator.uniform(-bound, bound, (classes, width))).to(features.dtype)
    nought = torch.zeros_like(weights)
    return _Run(fit, generator, [Trained(l2, weights, nought, nought) for l2 in fit.l2])


def _steps(fit: Fit, setting: ProbeSetting) -> int:
    """Return the minibatches of one pass; the last one may be short."""
    return -(-len(fit.train) // setting.batch_size)


def _bundles(runs: Sequence[_Run], features: torch.Tensor, setting: ProbeSetting) -> Iterator[list[_Run]]:
    """Yield groups of runs that have equally many problems and equally many steps in a pass."""
    alike = defaultdict(list)
    for run in runs:
        alike[len(run.problems), _steps(run.fit, setting)].append(run)
    run_bytes = setting.batch_size * features.shape[1] * features.element_size()
    size = max(1, BUNDLE_BYTES // run_bytes)
    for members in alike.values():
        for start in range(0, len(members), size):
            yield members[start : start + size]


def _train_round(
    bundle: Sequence[_Run],
    features: torch.Tensor,
    targets: torch.Tensor,
    setting: ProbeSetting,
    passes_made: int,
) -> None:
    """Make `epoch_size` passes over the training rows of each run and replace its problems' tensors.

    The problems of a run share its minibatches, so their weights lie side by side: weights and moments are
    (runs, problems * classes, features), a minibatch is (runs, batch, features). Its rows come last in logits:
    a softmax over a handful of classes that lie next to each other takes several times as long.
    """
    classes = targets.shape[1]
    shape = (len(bundle), len(bundle[0].problems), classes, setting.batch_size)
    weights, first, second = (_stacked(bundle, name) for name in ("current", "first_moment", "second_moment"))
    l2 = torch.tensor([[problem.l2 for problem in run.problems] for run in bundle], dtype=weights.dtype)
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
    for run, parts in zip(bundle, zip(weights, first, second, strict=True), strict=True):
        pieces = zip(*(part.split(classes) for part in parts), strict=True)
        for problem, piece in zip(run.problems, pieces, strict=True):
            problem.current, problem.first_moment, problem.second_moment = piece


def _stacked(bundle: Sequence[_Run], name: str) -> torch.Tensor:
    return torch.stack([torch.cat([getattr(one, name) for one in run.problems]) for run in bundle])


def _orders(bundle: Sequence[_Run], setting: ProbeSetting) -> torch.Tensor:
    """Return the rows of each step of a pass, (steps, runs * batch): an order per run, padded with row 0."""
    width = _steps(bundle[0].fit, setting) * setting.batch_size
    orders = np.zeros((len(bundle), width), dtype=np.int64)
    for order, run in zip(orders, bundle, strict=True):
        order[: len(run.fit.train)] = run.generator.permutation(run.fit.train)
    by_step = orders.reshape(len(bundle), -1, setting.batch_size).transpose(1, 0, 2)
    return torch.from_numpy(by_step.reshape(by_step.shape[0], -1))


def _shares_of_rows(bundle: Sequence[_Run], setting: ProbeSetting) -> torch.Tensor:
    """Return each row's share of its minibatch's mean loss, 0 for padding: (steps, runs, 1, 1, batch)."""
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
    """Take a step of Adam or RMSprop with PyTorch's defaults, in place; RMSprop has no first moment or step count."""
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
    """Keep the weights of problems better than ever on the check rows; count a miss for the others."""
    weights = torch.stack([problem.current for problem in run.problems])
    shares = correct_shares(features, labels, run.fit.check, weights)
    for problem, accuracy in zip(run.problems, shares, strict=True):
        if accuracy > problem.accuracy:
            problem.accuracy, problem.weights = accuracy, problem.current.clone()
        else:
            problem.misses += 1
