"""
From the users' updates to the next global model.

``WeightedMean`` takes the updates one by one, in an order that the caller fixes, so memory does
not grow with the number of users; a server rule then turns their mean into a step. Axis: ``P``
parameters.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fedroam.arrays import Floats, Floats32, Ints
from fedroam.compiled import kernel
from fedroam.errors import ContractError, DivergedError, require

State = dict[str, Floats]
"""What a server rule remembers between rounds: arrays by name, fit for a checkpoint."""


_PART = 1 << 15
"""Numbers looked at together: what is made of them stays in the first-level cache."""


_FEW = 1 << 18
"""Parameters up to which NumPy takes a millisecond at most; no compiled loop is loaded for them."""


class WeightedMean:
    """
    FedAvg's ``sum_i n_i w_i / sum_i n_i``, fed one update at a time.

    Sums are in float64 and in the order of the calls: one order, one result. An update that holds
    a NaN or an infinity, or whose user has no samples, never enters.
    """

    def __init__(self, n_parameters: int) -> None:
        self._total = np.zeros(n_parameters)
        self.n_samples = 0
        # The loop is compiled, or loaded, now: while workers wake up, not when updates wait.
        nobody = np.empty(0, np.int64)
        self.add_rows(np.empty((0, n_parameters), np.float32), nobody, nobody)

    def add(self, weights: Floats32, n_samples: int) -> bool:
        """Whether the update was fit to be counted in."""
        if weights.shape != self._total.shape or weights.dtype != np.float32:
            got = f"{weights.dtype}{weights.shape}"
            raise ContractError(f"an update has {got}, expected float32{self._total.shape}")
        if n_samples <= 0 or not is_finite(weights):
            return False
        self.add_rows(np.ascontiguousarray(weights)[None], np.array([0]), np.array([n_samples]))
        return True

    def add_rows(self, rows: Floats32, which: Ints, n_samples: Ints) -> None:
        """
        As ``add`` for each of ``rows[which]`` in turn, to the same bits; nothing is looked at.

        Where it is large, the sum passes through the processor once for all of them.
        """
        if self._total.size <= _FEW:
            for row, n in zip(which, n_samples, strict=True):
                self._total += np.multiply(rows[row], float(n), dtype=np.float64)
        else:
            _accumulate(self._total, rows, which, n_samples.astype(np.float64))
        self.n_samples += int(n_samples.sum())

    def value(self) -> Floats | None:
        """``[P]``, or None when no update was counted in."""
        return self._total / self.n_samples if self.n_samples else None

    def finish(self) -> Floats | None:
        """``value()`` in the memory of the sum, which ends here; large arrays are slow to get."""
        total, n_samples = self._total, self.n_samples
        self._total, self.n_samples = total[:0], 0
        return np.divide(total, n_samples, out=total) if n_samples else None


def is_finite(weights: NDArray[Any]) -> bool:
    """Whether there is neither NaN nor infinity in the vector."""
    parts = (weights[at : at + _PART] for at in range(0, weights.size, _PART))
    return all(bool(np.isfinite(part).all()) for part in parts)


class Server(Protocol):
    """How the mean of the updates moves the global model; holds parameters, not state."""

    def start(self, n_parameters: int) -> State:
        """The state before the first round."""
        ...

    def step(self, weights: Floats32, mean: Floats, state: State) -> tuple[Floats32, State]:
        """The next global weights and state; the arguments stay as they are."""
        ...


@dataclass(frozen=True)
class Average:
    """FedAvg: the mean is the next model (McMahan et al., AISTATS 2017, algorithm 1)."""

    def start(self, n_parameters: int) -> State:
        """Nothing to remember."""
        del n_parameters
        return {}

    def step(self, weights: Floats32, mean: Floats, state: State) -> tuple[Floats32, State]:
        """The mean, rounded once."""
        del weights
        return _rounded(mean), state


@dataclass(frozen=True)
class Momentum:
    """FedAvgM: ``v <- beta v + (mean - w)``, ``w <- w + lr v`` (Hsu, Qi, Brown 2019)."""

    lr: float = 1.0
    beta: float = 0.9

    def __post_init__(self) -> None:
        require(0 < self.lr < np.inf, "lr", self.lr, "> 0")
        require(0 <= self.beta < 1, "beta", self.beta, "in [0, 1)")

    def start(self, n_parameters: int) -> State:
        """A velocity of zero."""
        return {"velocity": np.zeros(n_parameters)}

    def step(self, weights: Floats32, mean: Floats, state: State) -> tuple[Floats32, State]:
        """One step along the velocity."""
        moved, velocity = _momentum_step(weights, mean, state["velocity"], self.lr, self.beta)
        return _rounded(moved), {"velocity": velocity}


@dataclass(frozen=True)
class Adam:
    """
    FedAdam (Reddi et al., Adaptive federated optimization, ICLR 2021, algorithm 2).

    ``m <- beta1 m + (1 - beta1) d``, ``v <- beta2 v + (1 - beta2) d^2``, and
    ``w <- w + lr m / (sqrt(v) + tau)`` with ``d = mean - w``. As there, no bias correction, and v
    starts at ``tau^2``.
    """

    lr: float = 0.01
    beta1: float = 0.9
    beta2: float = 0.99
    tau: float = 1e-3

    def __post_init__(self) -> None:
        require(0 < self.lr < np.inf, "lr", self.lr, "> 0")
        require(0 <= self.beta1 < 1, "beta1", self.beta1, "in [0, 1)")
        require(0 <= self.beta2 < 1, "beta2", self.beta2, "in [0, 1)")
        require(0 < self.tau < np.inf, "tau", self.tau, "> 0")

    def start(self, n_parameters: int) -> State:
        """Both moments."""
        return {"first": np.zeros(n_parameters), "second": np.full(n_parameters, self.tau**2)}

    def step(self, weights: Floats32, mean: Floats, state: State) -> tuple[Floats32, State]:
        """One step of at most about ``lr`` in each parameter."""
        moments = (state["first"], state["second"])
        rule = (self.lr, self.beta1, self.beta2, self.tau)
        moved, first, second = _adam_step(weights, mean, moments, rule)
        return _rounded(moved), {"first": first, "second": second}


SERVERS: Mapping[str, Callable[..., Server]] = {
    "average": Average,
    "momentum": Momentum,
    "adam": Adam,
}


def _rounded(weights: Floats) -> Floats32:
    with np.errstate(over="ignore"):
        rounded = weights.astype(np.float32)
    if not is_finite(rounded):
        raise DivergedError("the global model has diverged: lower the server's or the users' lr")
    return rounded


_BLOCK = 1024  # numbers; the part of the sum stays in the first-level cache while rows pass


@kernel
def _accumulate(total: Floats, rows: Floats32, which: Ints, n_samples: Floats) -> None:
    for start in range(0, total.size, _BLOCK):
        part = total[start : start + _BLOCK]
        for k in range(which.size):
            weight = n_samples[k]
            row = rows[which[k], start : start + _BLOCK]
            for i in range(part.size):
                part[i] += weight * row[i]


@kernel
def _momentum_step(
    weights: Floats32, mean: Floats, velocity: Floats, lr: float, beta: float
) -> tuple[Floats, Floats]:
    moved, faster = np.empty_like(mean), np.empty_like(mean)
    for i in range(mean.size):
        faster[i] = beta * velocity[i] + (mean[i] - weights[i])
        moved[i] = weights[i] + lr * faster[i]
    return moved, faster


@kernel
def _adam_step(
    weights: Floats32, mean: Floats, moments: tuple[Floats, Floats], rule: tuple[float, ...]
) -> tuple[Floats, Floats, Floats]:
    lr, beta1, beta2, tau = rule
    moved, first, second = np.empty_like(mean), np.empty_like(mean), np.empty_like(mean)
    for i in range(mean.size):
        step = mean[i] - weights[i]
        first[i] = beta1 * moments[0][i] + (1 - beta1) * step
        second[i] = beta2 * moments[1][i] + (1 - beta2) * step * step
        moved[i] = weights[i] + lr * first[i] / (np.sqrt(second[i]) + tau)
    return moved, first, second
