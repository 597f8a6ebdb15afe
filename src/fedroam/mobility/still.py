"""Nobody moves."""

from dataclasses import dataclass

from fedroam.mobility.motion import Motion, scatter
from fedroam.streams import Draw


@dataclass(frozen=True)
class Still:
    """Users stay where they are put, uniformly; what remains is the fading."""

    follows_time = True

    def start(self, n_users: int, area_m: float, draw: Draw) -> Motion:
        """Uniform places."""
        return Motion(scatter(n_users, area_m, draw("place")))

    def advance(
        self, motion: Motion, area_m: float, now_s: float, round: int, draw: Draw
    ) -> Motion:
        """The same places."""
        del area_m, now_s, round, draw
        return motion
