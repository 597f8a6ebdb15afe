"""
Episodes in many worlds: who plays which seed, when it is over, what a step was worth.

What ``RoundsEnv`` (one world) and ``RoundsVectorEnv`` (many) have in common. Axes: ``N`` worlds,
``U`` users, ``S`` stations.
"""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Box

from fedroam.adapters.gym.decoding import FASTEST
from fedroam.adapters.gym.rewards import Played, Progress, Reward, reward_of
from fedroam.adapters.gym.worlds import Worlds
from fedroam.arrays import Bools, Floats, Floats32
from fedroam.errors import ConfigError, require
from fedroam.scheduling.judge import judge
from fedroam.scheduling.problem import NO_STATION, Schedule
from fedroam.simulation import Scenario
from fedroam.streams import entropy

SEEDS = 1 << 63


class Episodes:
    """``n`` worlds, each of which plays one episode after another."""

    def __init__(
        self,
        n: int,
        scenario: Scenario | None,
        rounds: int,
        time_s: float | None,
        reward: Reward,
        *,
        extra: bool,
    ) -> None:
        require(n >= 1, "num_envs", n, ">= 1")
        require(rounds >= 1, "rounds", rounds, ">= 1")
        require(time_s is None or 0 < time_s < np.inf, "time_s", time_s, "> 0 seconds")
        self.worlds = Worlds(scenario or Scenario(), n)
        self.rounds, self.time_s, self.extra = rounds, time_s, extra
        self.reward = reward_of(reward)
        if isinstance(self.reward, Progress) and time_s is None:
            raise ConfigError(
                'reward is "progress" and time_s is None, expected time_s > 0: '
                "without an end of time everybody would always take part"
            )
        self._first = [-1] * n
        self._episode = [0] * n
        self.is_over: Bools = np.ones(n, bool)
        self._part: Floats = np.zeros((n, self.worlds.n_users))

    def spaces(self) -> tuple[Box, Box]:
        """What is seen of one world and what one action is."""
        world, s = self.worlds.scenario.world, self.worlds.n_stations
        high = np.full((world.users, s + 4), FASTEST, np.float32)
        high[:, s] = np.float32((world.download_s + world.compute_s[1]) * 1.001 + 1e-6)
        high[:, s + 1 : s + 3] = 1.0
        high[:, s + 3] = self.rounds + 1
        return Box(np.zeros_like(high), high), Box(-1.0, 1.0, (world.users, s), np.float32)

    def begin(self, seeds: Sequence[int | None]) -> None:
        """Every world starts anew: under its seed, or with the next episode where that is None."""
        for w, seed in enumerate(seeds):
            if seed is None:
                self.next(w)
                continue
            is_whole = isinstance(seed, (int, np.integer)) and not isinstance(seed, bool)
            require(is_whole and 0 <= seed < SEEDS, "seed", seed, "a whole number, 0..2^63 - 1")
            self._start(w, int(seed), 0)

    def next(self, w: int) -> None:
        """World ``w`` goes on to its next episode; the first of all gets a seed by chance."""
        if self._first[w] < 0:
            self._start(w, secrets.randbelow(SEEDS), 0)
        else:
            self._start(w, self._first[w], self._episode[w] + 1)

    def _start(self, w: int, first: int, episode: int) -> None:
        self._first[w], self._episode[w] = first, episode
        seed = entropy(first, "episode", episode) % SEEDS if episode else first
        self.worlds.begin(w, seed)
        self.is_over[w], self._part[w] = False, 0.0

    def seen(self) -> Floats32:
        """The present round of every world, ``[N, U, S + 4]``."""
        self.worlds.look()
        return self.worlds.observe()

    def play(self, plays: Bools, scores: Floats) -> Floats:
        """The reward ``[N]`` of a round by ``scores [N, U, S]``; 0 in worlds that don't play."""
        expected = (self.worlds.n, self.worlds.n_users, self.worlds.n_stations)
        try:
            scores = np.ascontiguousarray(scores, np.float64)
        except (TypeError, ValueError):
            raise ConfigError(f"action is a {type(scores).__name__}, expected scores") from None
        if scores.shape != expected:
            raise ConfigError(f"action has shape {scores.shape}, expected {expected}")
        self.worlds.decide(plays, scores, extra=self.extra)
        return self._go_on(plays)

    def play_schedule(self, schedule: Schedule) -> Floats:
        """The reward ``[1]`` of a round by a schedule that somebody made for the only world."""
        verdict = judge(self.worlds.problem(0), schedule)
        require(
            verdict.round_s > 0, "if_empty_s", schedule.if_empty_s, "> 0 where nobody is chosen"
        )
        self.worlds.chosen[0], self.worlds.length_s[0] = schedule.station, verdict.round_s
        return self._go_on(np.ones(1, bool))

    def refuse_end(self) -> None:
        """Raise where an episode is over, or has not begun."""
        if self.is_over.any():
            raise ResetNeeded("the episode is over (or has not begun): call reset()")

    def _go_on(self, plays: Bools) -> Floats:
        worlds = self.worlds
        worlds.go_on(plays)
        self.is_over |= plays & (worlds.round >= self.rounds)
        if self.time_s is not None:
            self.is_over |= plays & (worlds.now_s >= self.time_s)
        if self.reward is None:
            return np.where(plays, -worlds.length_s, 0.0)
        if isinstance(self.reward, Progress):
            before = self.reward.loss(self._part)
            took_part = (worlds.chosen != NO_STATION) & plays[:, None]
            self._part = self.reward.mix(self._part, took_part)
            return np.log(before / self.reward.loss(self._part))
        worth = np.zeros(worlds.n)
        for w in np.flatnonzero(plays):
            worth[w] = self.reward(self._played(int(w)))
        return worth

    def _played(self, w: int) -> Played:
        worlds = self.worlds
        missed = worlds.required[w] & (worlds.chosen[w] == NO_STATION)
        return Played(
            round=int(worlds.round[w]) - 1,
            length_s=float(worlds.length_s[w]),
            now_s=float(worlds.now_s[w]),
            station=worlds.chosen[w].copy(),
            times_selected=worlds.times_selected[w].copy(),
            n_required=int(np.count_nonzero(worlds.required[w])),
            n_missed=int(np.count_nonzero(missed)),
        )

    def told(self) -> Mapping[str, np.ndarray]:
        """What is told beside the observation, ``[N]`` each."""
        worlds = self.worlds
        return {
            "seed": np.array(worlds.seed, np.int64),
            "round": worlds.round.copy(),
            "now_s": worlds.now_s.copy(),
            "length_s": worlds.length_s.copy(),
            "n_selected": worlds.n_selected.copy(),
        }


def told_of_one(told: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """The same of the only world, as numbers."""
    return {name: values[0].item() for name, values in told.items()}
