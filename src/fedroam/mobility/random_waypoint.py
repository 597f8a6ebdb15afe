"""Random Waypoint: walk to a place, wait, choose the next place."""

from dataclasses import dataclass

import numpy as np

from fedroam.arrays import Floats
from fedroam.errors import require
from fedroam.mobility.motion import Motion, scatter
from fedroam.streams import Draw


@dataclass(frozen=True)
class RandomWaypoint:
    """
    Every user walks straight to a uniform place at a speed of its own for that leg, waits, repeats.

    Users gather in the middle of the area (a known property of the model). The walk is a function
    of absolute time.
    """

    slowest_m_s: float = 1.0
    fastest_m_s: float = 20.0
    pause_s: float = 0.0

    follows_time = True

    def __post_init__(self) -> None:
        require(0 < self.slowest_m_s < np.inf, "slowest_m_s", self.slowest_m_s, "> 0")
        require(
            self.slowest_m_s <= self.fastest_m_s < np.inf,
            "fastest_m_s",
            self.fastest_m_s,
            f">= slowest_m_s, which is {self.slowest_m_s}",
        )
        require(0 <= self.pause_s < np.inf, "pause_s", self.pause_s, ">= 0")

    def start(self, n_users: int, area_m: float, draw: Draw) -> Motion:
        """Uniform places; everybody leaves at once."""
        place_m = scatter(n_users, area_m, draw("place"))
        memory = {
            "from_m": place_m,
            "to_m": place_m.copy(),
            "leave_s": np.zeros(n_users),
            "arrive_s": np.full(n_users, -self.pause_s),
            "leg": np.zeros(n_users, np.int64),
        }
        return self.advance(Motion(place_m, memory), area_m, 0.0, 0, draw)

    def advance(
        self, motion: Motion, area_m: float, now_s: float, round: int, draw: Draw
    ) -> Motion:
        """Legs that have ended by ``now_s`` are followed by the next; each has its own draw."""
        del round
        memory = {name: array.copy() for name, array in motion.memory.items()}
        while (ended := np.flatnonzero(memory["arrive_s"] + self.pause_s <= now_s)).size:
            legs = memory["leg"][ended]  # as they are now: beginning one moves the count on
            for leg in np.unique(legs):
                self._begin(memory, ended[legs == leg], int(leg), area_m, draw)
        return Motion(self._between(memory, now_s), memory)

    def _begin(
        self, memory: dict[str, np.ndarray], users: np.ndarray, leg: int, area_m: float, draw: Draw
    ) -> None:
        rng = draw("leg", leg)
        n_users = len(memory["leg"])
        to_m = scatter(n_users, area_m, rng)[users]
        speed_m_s = rng.uniform(self.slowest_m_s, self.fastest_m_s, n_users)[users]
        leave_s = memory["arrive_s"][users] + self.pause_s
        from_m = memory["to_m"][users]
        memory["from_m"][users], memory["to_m"][users] = from_m, to_m
        memory["leave_s"][users] = leave_s
        memory["arrive_s"][users] = leave_s + np.linalg.norm(to_m - from_m, axis=1) / speed_m_s
        memory["leg"][users] = leg + 1

    @staticmethod
    def _between(memory: dict[str, np.ndarray], now_s: float) -> Floats:
        walk_s = memory["arrive_s"] - memory["leave_s"]
        gone = np.clip((now_s - memory["leave_s"]) / np.maximum(walk_s, 1e-300), 0, 1)[:, None]
        return memory["from_m"] * (1 - gone) + memory["to_m"] * gone
