"""One world as an environment."""

from typing import Any

import gymnasium
import numpy as np

from fedroam.adapters.gym.episodes import Episodes, told_of_one
from fedroam.adapters.gym.rewards import Reward
from fedroam.arrays import Floats32
from fedroam.scheduling.problem import Problem, Schedule
from fedroam.simulation import Scenario


class RoundsEnv(gymnasium.Env[Any, Any]):
    """
    A step is a round: the action says who takes part and where, time passes, users walk on.

    The action is a score for every user and station, ``[U, S]``, decoded to a lawful schedule
    (``decoding.py``); or a ``Schedule``, e.g. of an optimiser that has looked at ``problem``.

    The observation has one row a user: at ``[u, s]`` how many updates a second user ``u`` could
    send to station ``s`` if it had the whole band (0: out of reach); then its compute time in
    seconds, whether it is required, its part of the rounds so far, and how many rounds ago it took
    part last (counted from before round 0).

    An episode ends (is truncated) after ``rounds`` rounds, or when its clock has reached
    ``time_s``. ``reset(seed=s)`` begins the world that ``Simulation(..., seed=s)`` plays, bit for
    bit; further resets go on to worlds that follow from ``s``.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  (as Gymnasium has it)

    def __init__(
        self,
        *,
        scenario: Scenario | None = None,
        rounds: int = 100,
        time_s: float | None = None,
        reward: Reward = "length",
        extra: bool = False,
    ) -> None:
        self._episodes = Episodes(1, scenario, rounds, time_s, reward, extra=extra)
        self.observation_space, self.action_space = self._episodes.spaces()
        self._all = np.ones(1, bool)

    @property
    def problem(self) -> Problem:
        """The present round as policies see it."""
        self._episodes.refuse_end()
        return self._episodes.worlds.problem(0)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats32, dict[str, Any]]:
        """Begin an episode."""
        del options  # there are none
        super().reset(seed=seed)
        self._episodes.begin([seed])
        return self._episodes.seen()[0], told_of_one(self._episodes.told())

    def step(self, action: Any) -> tuple[Floats32, float, bool, bool, dict[str, Any]]:
        """Play one round."""
        episodes = self._episodes
        episodes.refuse_end()
        if isinstance(action, Schedule):
            worth = episodes.play_schedule(action)
        else:
            worth = episodes.play(self._all, np.asarray(action)[None])
        seen, info = episodes.seen()[0], told_of_one(episodes.told())
        return seen, worth.item(), False, bool(episodes.is_over[0]), info
