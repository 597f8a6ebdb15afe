"""
What a step is worth. Axes: ``N`` worlds, ``U`` users.

``"length"``: minus the round's length in seconds. ``"progress"``: how much the model has learnt, by
a proxy that costs no training. Or a function of one's own that takes a ``Played``.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fedroam.arrays import Bools, Floats, Ints, Stations
from fedroam.errors import ConfigError, nearest, require

REWARDS = ("length", "progress")


@dataclass(frozen=True, eq=False, slots=True)
class Played:
    """One round as a reward function sees it."""

    round: int
    length_s: float
    now_s: float  # at the end of the round
    station: Stations  # [U] -1: left out
    times_selected: Ints  # [U] this round included
    n_required: int
    n_missed: int  # required users that were left out, which only a direct schedule does


@dataclass(frozen=True)
class Progress:
    """
    FedAvg on quadratic losses, in expectation: a model of learning without data.

    User ``u`` has the loss ``|w - w_u|^2 / 2`` with an optimum of its own around the common one,
    local training moves its copy by the part ``rate`` of the way there, and the server averages
    the copies of those that take part. The model is then always a mixture: a part ``1 - sum(a)`` of
    the first model and a part ``a_u`` of every user's optimum. With optima that are scattered at
    random, independently of the first model, the expected excess loss, as a multiple of the first
    one, is

        (1 - sum(a))^2 + heterogeneity * sum_u (a_u - sum(a) / U)^2.

    The first term is what has not been learnt yet, the second how far the mixture leans to some
    users: it asks for many users in a round, for all of them over the rounds, and for many rounds.
    A step's reward is the natural logarithm of how often the loss has been divided; over an episode
    the rewards add up to that of the whole.
    """

    rate: float = 0.1
    heterogeneity: float = 10.0

    def __post_init__(self) -> None:
        require(0 < self.rate <= 1, "reward.rate", self.rate, "in (0, 1]")
        require(
            0 <= self.heterogeneity < np.inf,
            "reward.heterogeneity",
            self.heterogeneity,
            "a number >= 0",
        )

    def mix(self, part: Floats, took_part: Bools) -> Floats:
        """The mixture ``[N, U]`` after a round in which some took part."""
        n = np.maximum(took_part.sum(axis=1, keepdims=True), 1)
        has_any = took_part.any(axis=1, keepdims=True)
        return np.where(has_any, (1 - self.rate) * part + self.rate * took_part / n, part)

    def loss(self, part: Floats) -> Floats:
        """The expected excess loss ``[N]`` of the mixture ``[N, U]``; 1 at the start."""
        learnt = part.sum(axis=1, keepdims=True)
        lean = ((part - learnt / part.shape[1]) ** 2).sum(axis=1)
        return np.asarray((1 - learnt[:, 0]) ** 2 + self.heterogeneity * lean)


Reward = str | Progress | Callable[[Played], float]


def reward_of(reward: Reward) -> Progress | Callable[[Played], float] | None:
    """The reward as an object; None: minus the round's length."""
    if isinstance(reward, str):
        if reward not in REWARDS:
            raise ConfigError(f"reward: no {reward!r}; {nearest(reward, REWARDS)}")
        return Progress() if reward == "progress" else None
    if not callable(reward) and not isinstance(reward, Progress):
        raise ConfigError(
            f"reward is {reward!r}, expected {' or '.join(map(repr, REWARDS))}, "
            "a Progress or a function of a Played"
        )
    return reward
