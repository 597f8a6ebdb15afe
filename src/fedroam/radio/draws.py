"""
Random numbers that belong to links.

A number is a function of the seed, its name, the round, the user and the station, and of nothing
else: a link has the same fading whichever other links are looked at, so policies that lead to
different places (and so to different nearest stations) still meet the same channel.
"""

from dataclasses import dataclass

import numpy as np

from fedroam.arrays import Floats, Ints, Stations
from fedroam.compiled import kernel
from fedroam.streams import entropy


@dataclass(frozen=True, eq=False, slots=True)
class LinkDraws:
    """Draws for the links ``(user[l], station[l])`` in one round."""

    seed: int
    round: int
    user: Ints  # [L]
    station: Stations  # [L]

    def uniform(self, name: str, *, lasting: bool = False) -> Floats:
        """Uniform numbers in (0, 1), ``[L]``; ``lasting`` ones are the same in every round."""
        when = () if lasting else (self.round,)
        bits = entropy(self.seed, "radio", name, *when)
        low, high = np.uint64(bits & (2**64 - 1)), np.uint64(bits >> 64)
        return _uniform(low, high, self.user, self.station)  # type: ignore[no-any-return]

    def exponential(self, name: str, *, lasting: bool = False) -> Floats:
        """Exponential numbers of mean 1, ``[L]``: the power gain of Rayleigh fading."""
        number = self.uniform(name, lasting=lasting)
        np.log(number, out=number)
        return np.negative(number, out=number)

    def normal(self, name: str, *, lasting: bool = False) -> Floats:
        """Standard normal numbers, ``[L]``, e.g. shadowing in dB."""
        radius = np.sqrt(2 * self.exponential(name + "/radius", lasting=lasting))
        return radius * np.cos(2 * np.pi * self.uniform(name + "/angle", lasting=lasting))


@kernel
def _uniform(low, high, user, station):  # type: ignore[no-untyped-def]
    """
    Two rounds of a 64-bit mixing function over (user, station), keyed by 128 bits.

    The mixer is the finaliser of SplitMix64 (Steele, Lea and Flood 2014), a bijection with full
    avalanche. The lowest number is 2^-54, so its logarithm is finite.
    """
    out = np.empty(user.size)
    for i in range(user.size):
        x = (np.uint64(user[i]) << np.uint64(32)) | np.uint64(station[i])
        for key in (low, high):
            x += key
            x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            x = x ^ (x >> np.uint64(31))
        number = (np.float64(x >> np.uint64(11)) + 0.5) * 2.0**-53
        out[i] = min(number, 1.0 - 2.0**-53)  # all bits set would round to 1
    return out
