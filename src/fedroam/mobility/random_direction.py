"""Random Direction with reflection: the paper's model of motion."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fedroam.arrays import Floats
from fedroam.errors import require
from fedroam.mobility.motion import Motion, reflect, scatter
from fedroam.streams import Draw

LEAST_S = 1e-3
"""Between two turns: each is drawn for every user, so a round of 1e-9 s legs would never end."""


@dataclass(frozen=True)
class RandomDirection:
    """
    Every user walks straight at one speed, reflects at the border, and turns from time to time.

    ``turn_every``: ``"round"`` (a new direction for each round, as the paper is printed: a random
    walk), a number of seconds, or ``"never"`` (one direction for good). With seconds or never the
    walk is a function of absolute time: the same, bit for bit, whatever the length of the rounds.
    Users stay uniformly distributed over the area.
    """

    speed_m_s: float = 20.0
    turn_every: Literal["round", "never"] | float = "round"

    def __post_init__(self) -> None:
        require(0 <= self.speed_m_s < np.inf, "speed_m_s", self.speed_m_s, ">= 0")
        turn = self.turn_every
        is_known = turn in ("round", "never") if isinstance(turn, str) else LEAST_S <= turn < np.inf
        require(is_known, "turn_every", turn, f'"round", "never" or seconds >= {LEAST_S}')

    @property
    def follows_time(self) -> bool:
        """Not when directions are drawn anew with every round."""
        return self.turn_every != "round"

    def start(self, n_users: int, area_m: float, draw: Draw) -> Motion:
        """Uniform places, uniform directions."""
        position_m = scatter(n_users, area_m, draw("place"))
        return self._leg(position_m, self._velocity(n_users, draw, 0), 0.0, 0)

    def advance(
        self, motion: Motion, area_m: float, now_s: float, round: int, draw: Draw
    ) -> Motion:
        """
        Walk on to ``now_s``.

        Places are computed from where the leg began, never from where the last round ended, so
        that the ends of rounds leave no trace in the rounding.
        """
        n_users = len(motion.position_m)
        if self.turn_every == "round":
            return self._leg(
                self._walked(motion, area_m, now_s), self._velocity(n_users, draw, round), now_s, 0
            )
        while not isinstance(self.turn_every, str):
            turn = int(motion.memory["turn"]) + 1
            turn_s = turn * self.turn_every
            if now_s < turn_s:
                break
            corner_m = self._walked(motion, area_m, turn_s)
            motion = self._leg(corner_m, self._velocity(n_users, draw, turn), turn_s, turn)
        return Motion(self._walked(motion, area_m, now_s), motion.memory)

    def _velocity(self, n_users: int, draw: Draw, turn: int) -> Floats:
        angle = draw("direction", turn).random(n_users) * (2 * np.pi)
        velocity_m_s = np.empty((n_users, 2))
        velocity_m_s[:, 0], velocity_m_s[:, 1] = np.cos(angle), np.sin(angle)
        velocity_m_s *= self.speed_m_s
        return velocity_m_s

    @staticmethod
    def _leg(corner_m: Floats, velocity_m_s: Floats, since_s: float, turn: int) -> Motion:
        memory = {
            "corner_m": corner_m,
            "velocity_m_s": velocity_m_s,
            "since_s": np.float64(since_s),
            "turn": np.int64(turn),
        }
        return Motion(corner_m, memory)  # type: ignore[arg-type]

    @staticmethod
    def _walked(motion: Motion, area_m: float, now_s: float) -> Floats:
        memory = motion.memory
        straight_m = memory["corner_m"] + memory["velocity_m_s"] * (now_s - memory["since_s"])
        return reflect(straight_m, area_m)
