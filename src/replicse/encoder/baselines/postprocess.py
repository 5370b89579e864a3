"""Centring, whitening and flow of sentence vectors (methods 2.5)."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Self

import numpy as np

from replicse.errors import BadInput

if TYPE_CHECKING:
    import torch
    import zuko

_ROWS_AT_ONCE, _FITTED_AT_ONCE = 8192, 65536
_LEAST_DEVIATION = 1e-6


class Centring:
    """x -> x - mean."""

    def __init__(self, mean: np.ndarray) -> None:
        self.mean = mean

    @classmethod
    def fit(cls, vectors: np.ndarray) -> Self:
        """Compute the mean of vectors.

        Args:
            vectors: Sentence vectors, (n, d).

        Raises:
            BadInput: If there are fewer than two vectors or a value is not finite.
        """
        return cls(_check_vectors(vectors, "centring").mean(axis=0, dtype=np.float64))

    def transform(self, vectors: np.ndarray) -> np.ndarray:
        """Subtract the mean from vectors.

        Args:
            vectors: Sentence vectors, (n, d).

        Returns:
            The centred vectors, (n, d), float32.
        """
        return (vectors - self.mean).astype(np.float32)


class Whitening:
    """Whitening (Su et al. 2021).

    x -> (x - mean) U diag(s^-1/2) with covariance U diag(s) U^T. All dimensions are kept. Directions without variance,
    e.g. if there are fewer vectors than dimensions, become 0 instead of infinite.
    """

    def __init__(self, mean: np.ndarray, matrix: np.ndarray) -> None:
        self.mean, self.matrix = mean, matrix

    @classmethod
    def fit(cls, vectors: np.ndarray) -> Self:
        """Compute mean and covariance (divided by n) of vectors.

        Args:
            vectors: Sentence vectors, (n, d).

        Raises:
            BadInput: If there are fewer than two vectors or a value is not finite.
        """
        vectors = _check_vectors(vectors, "whitening")
        # Vectors are summed in blocks, because a million vectors in fp64 need 6 GB, and centred vectors 6 GB more.
        blocks = [slice(start, start + _FITTED_AT_ONCE) for start in range(0, len(vectors), _FITTED_AT_ONCE)]
        mean = sum(vectors[block].astype(np.float64).sum(axis=0) for block in blocks) / len(vectors)
        centred = (vectors[block] - mean for block in blocks)
        covariance = sum(rows.T @ rows for rows in centred) / len(vectors)
        directions, variances, _ = np.linalg.svd(covariance, hermitian=True)
        varies = variances > variances[0] * len(variances) * np.finfo(np.float64).eps
        scales = np.divide(1, np.sqrt(variances), out=np.zeros_like(variances), where=varies)
        return cls(mean, directions * scales)

    def transform(self, vectors: np.ndarray) -> np.ndarray:
        """Whiten vectors.

        Args:
            vectors: Sentence vectors, (n, d).

        Returns:
            The whitened vectors, (n, d), float32.
        """
        return ((vectors - self.mean) @ self.matrix).astype(np.float32)


class Flow:
    """BERT-flow (Li et al. 2020).

    A flow is an invertible map from vectors to a standard normal distribution, trained by maximum likelihood.

    A step is a Glow step as simplified by BERT-flow: activation normalisation (scale and shift, set from the data), a
    random split of the dimensions, and an additive coupling of the halves by a small network. Nine steps of width 32
    replace the three levels of depth three in the paper. No dimension leaves the flow between levels, because the
    sentence vector needs all dimensions.
    """

    def __init__(self, model: "zuko.lazy.Flow") -> None:
        self.model = model

    @classmethod
    def fit(
        cls,
        vectors: np.ndarray,
        seed: int,
        epochs: int = 1,
        learning_rate: float = 1e-3,
        batch_size: int = 32,
        steps: int = 9,
        width: int = 32,
    ) -> Self:
        """Train a flow on vectors with Adam.

        Args:
            vectors: The vectors to fit, (n, d).
            seed: The seed of weights, splits and order.
            epochs: The number of passes over the vectors. Default: 1.
            learning_rate: The learning rate of Adam. Default: 0.001.
            batch_size: The number of vectors in a batch. Default: 32.
            steps: The number of flow steps. Default: 9.
            width: The width of the two hidden layers of each coupling network. Default: 32.

        Returns:
            The trained flow.

        Raises:
            BadInput: If the likelihood becomes infinite or undefined.
        """
        import torch

        data = torch.from_numpy(_check_vectors(vectors, "flow").astype(np.float32))
        # Layers are initialised from torch's default generator, whose state is restored afterwards.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model = _glow(data, steps, width)
            optimiser = torch.optim.Adam(model.parameters(), lr=learning_rate)
            for _ in range(epochs):
                for rows in torch.randperm(len(data)).split(batch_size):
                    loss = -model().log_prob(data[rows]).mean()
                    optimiser.zero_grad()
                    loss.backward()
                    optimiser.step()
        flow = cls(model)
        if not np.isfinite(flow.log_density(vectors).mean()):
            raise BadInput(f"flow: training diverged at learning rate {learning_rate}; lower it")
        return flow

    def transform(self, vectors: np.ndarray) -> np.ndarray:
        """Map vectors to the normal distribution.

        Args:
            vectors: Sentence vectors, (n, d).

        Returns:
            The transformed vectors, (n, d), float32.
        """
        return self._on_rows(vectors, lambda rows: self.model().transform(rows))

    def log_density(self, vectors: np.ndarray) -> np.ndarray:
        """Compute the natural logarithm of the density of each vector.

        Args:
            vectors: Sentence vectors, (n, d).

        Returns:
            The log densities, (n,), float32.
        """
        return self._on_rows(vectors, lambda rows: self.model().log_prob(rows))

    @staticmethod
    def _on_rows(vectors: np.ndarray, function: Callable[["torch.Tensor"], "torch.Tensor"]) -> np.ndarray:
        import torch

        rows = torch.from_numpy(vectors.astype(np.float32))
        with torch.no_grad():
            return torch.cat([function(some) for some in rows.split(_ROWS_AT_ONCE)]).numpy()


def _glow(data: "torch.Tensor", steps: int, width: int) -> "zuko.lazy.Flow":
    """Create an untrained flow, which standardises `data` (n, d)."""
    import torch
    from zuko.distributions import DiagNormal
    from zuko.flows.coupling import GeneralCouplingTransform
    from zuko.lazy import Flow, UnconditionalDistribution, UnconditionalTransform
    from zuko.transforms import AdditiveTransform

    def scale_and_shift(shift: torch.Tensor, log_scale: torch.Tensor) -> torch.distributions.AffineTransform:
        return torch.distributions.AffineTransform(shift, log_scale.exp(), event_dim=1)

    dimensions = data.shape[1]
    deviation = data.std(dim=0, correction=0).clamp_min(_LEAST_DEVIATION)
    shift, log_scale = -data.mean(dim=0) / deviation, -deviation.log()
    transforms = []
    for _ in range(steps):
        half = torch.randperm(dimensions) < dimensions // 2
        coupling = GeneralCouplingTransform(
            dimensions, mask=half, univariate=AdditiveTransform, shapes=[()], hidden_features=(width, width)
        )
        # As in Glow, every coupling is initialised as the identity, so that later steps get standardised data too.
        torch.nn.init.zeros_(coupling.hyper[-1].weight)
        torch.nn.init.zeros_(coupling.hyper[-1].bias)
        transforms += [UnconditionalTransform(scale_and_shift, shift, log_scale), coupling]
        shift, log_scale = torch.zeros(dimensions), torch.zeros(dimensions)
    base = UnconditionalDistribution(DiagNormal, torch.zeros(dimensions), torch.ones(dimensions), buffer=True)
    return Flow(transforms, base)


def _check_vectors(vectors: np.ndarray, name: str) -> np.ndarray:
    if vectors.ndim != 2 or min(vectors.shape) < 2:
        raise BadInput(
            f"{name}: vectors of shape {vectors.shape}, but there should be at least two rows and two columns"
        )
    if not np.isfinite(vectors).all():
        raise BadInput(f"{name}: a sentence vector is not finite; check the encoder")
    return vectors
