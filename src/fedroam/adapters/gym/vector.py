"""Many worlds as one vectorised environment."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from fedroam.adapters.gym.episodes import Episodes
from fedroam.adapters.gym.rewards import Reward
from fedroam.arrays import Bools, Floats, Floats32
from fedroam.errors import ConfigError
from fedroam.simulation import Scenario


class RoundsVectorEnv(VectorEnv[Any, Any, Any]):
    """
    ``num_envs`` worlds that step in one call; world ``i`` is ``RoundsEnv`` under its own seed.

    ``reset(seed=s)`` gives the worlds the seeds ``s, s + 1, ...``; a list gives each its own. A
    world whose episode is over begins its next one in the step after (``NEXT_STEP``): the action
    is then ignored and the reward 0.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  (as Gymnasium has it)
        "render_modes": [],
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        num_envs: int = 1,
        *,
        scenario: Scenario | None = None,
        rounds: int = 100,
        time_s: float | None = None,
        reward: Reward = "length",
        extra: bool = False,
    ) -> None:
        self.num_envs = num_envs
        self._episodes = Episodes(num_envs, scenario, rounds, time_s, reward, extra=extra)
        self.single_observation_space, self.single_action_space = self._episodes.spaces()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._has_begun = False

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Floats32, dict[str, Any]]:
        """Begin an episode in every world."""
        del options  # there are none
        seeds: Sequence[int | None]
        if seed is None:
            seeds = [None] * self.num_envs
        elif isinstance(seed, (int, np.integer)):
            super().reset(seed=int(seed))
            seeds = [int(seed) + i for i in range(self.num_envs)]
        else:
            seeds = list(seed)
        if len(seeds) != self.num_envs:
            raise ConfigError(f"seed holds {len(seeds)} seeds, expected {self.num_envs}")
        self._episodes.begin(seeds)
        self._has_begun = True
        return self._episodes.seen(), self._told()

    def step(self, actions: Any) -> tuple[Floats32, Floats, Bools, Bools, dict[str, Any]]:
        """Play one round in every world."""
        episodes = self._episodes
        if not self._has_begun:
            episodes.refuse_end()
        plays = ~episodes.is_over
        worth = episodes.play(plays, actions)
        for w in np.flatnonzero(~plays):
            episodes.next(int(w))
        seen = episodes.seen()
        return seen, worth, np.zeros(self.num_envs, bool), episodes.is_over.copy(), self._told()

    def _told(self) -> dict[str, Any]:
        told = dict(self._episodes.told())
        return told | {f"_{name}": np.ones(self.num_envs, bool) for name in told}
