"""What a run is about: the world, its users and links, and what is asked of a policy."""

from dataclasses import dataclass, field

import numpy as np

from fedroam.arrays import Floats
from fedroam.errors import ConfigError, nearest, require
from fedroam.mobility import Mobility, RandomDirection
from fedroam.radio import Radio, UrbanMacro
from fedroam.scheduling.fairness import READINGS
from fedroam.streams import stream

PAPER_PAYLOAD_BIT = 32.0 * 21_840
"""32 bits for each parameter of the paper's small CNN."""


@dataclass(frozen=True)
class World:
    """
    Users and stations, uniform over a square.

    ``band_spread`` draws each station's band from ``band_hz * U[1 - spread, 1 + spread]`` and
    rescales the draw, so that the stations have ``stations * band_hz`` together as without it.
    """

    users: int = 50
    stations: int = 8
    area_m: float = 1000.0
    nearest: int = 0  # a user can be scheduled at its nearest stations only; 0: at all of them
    band_hz: float = 1e6
    band_spread: float = 0.0
    payload_bit: float | None = None  # None: what the model needs
    compute_s: tuple[float, float] = (0.1, 0.11)  # uniform, drawn once per user
    download_s: float = 0.0  # the same for everyone, before computing

    def __post_init__(self) -> None:
        require(self.users >= 1, "users", self.users, ">= 1")
        require(self.users < 2**31, "users", self.users, "< 2^31")
        require(self.stations >= 1, "stations", self.stations, ">= 1")
        require(0 < self.area_m < np.inf, "area_m", self.area_m, "> 0 metres")
        require(self.nearest >= 0, "nearest", self.nearest, ">= 0")
        require(0 < self.band_hz < np.inf, "band_hz", self.band_hz, "> 0")
        require(0 <= self.band_spread < 1, "band_spread", self.band_spread, "in [0, 1)")
        payload = self.payload_bit
        require(payload is None or 0 < payload < np.inf, "payload_bit", payload, "> 0")
        low, high = self.compute_s
        require(0 <= low <= high < np.inf, "compute_s", self.compute_s, "[low, high], 0 <= low")
        require(0 <= self.download_s < np.inf, "download_s", self.download_s, ">= 0 seconds")


@dataclass(frozen=True)
class Fairness:
    """Each user takes part at rate ``rho1`` over the rounds, a share ``rho2`` in each round."""

    rho1: float = 0.1
    rho2: float = 0.5
    reading: str = "strict"

    def __post_init__(self) -> None:
        require(0 <= self.rho1 <= 1, "rho1", self.rho1, "in [0, 1]")
        require(0 <= self.rho2 <= 1, "rho2", self.rho2, "in [0, 1]")
        if self.reading not in READINGS:
            raise ConfigError(f"reading: no {self.reading!r}; {nearest(self.reading, READINGS)}")


@dataclass(frozen=True)
class Scenario:
    """Everything that is equal for all policies of a comparison."""

    world: World = field(default_factory=World)
    mobility: Mobility = field(default_factory=RandomDirection)
    radio: Radio = field(default_factory=UrbanMacro)
    fairness: Fairness = field(default_factory=Fairness)


@dataclass(frozen=True, eq=False, slots=True)
class Ground:
    """What a seed makes of the world, once and for all."""

    station_m: Floats  # [S, 2]
    capacity_hz: Floats  # [S]
    ready_s: Floats  # [U] download and compute
    payload_bit: Floats  # [U]


def lay_out(world: World, seed: int, payload_bit: float | None = None) -> Ground:
    """Draw stations, bands and compute times; ``payload_bit`` is used where the world sets none."""
    band = stream(seed, "band").uniform(
        1 - world.band_spread, 1 + world.band_spread, world.stations
    )
    low_s, high_s = world.compute_s
    bits = world.payload_bit or payload_bit or PAPER_PAYLOAD_BIT
    return Ground(
        station_m=stream(seed, "stations").random((world.stations, 2)) * world.area_m,
        capacity_hz=world.band_hz * world.stations * band / band.sum(),
        ready_s=world.download_s + stream(seed, "compute").uniform(low_s, high_s, world.users),
        payload_bit=np.full(world.users, bits),
    )
