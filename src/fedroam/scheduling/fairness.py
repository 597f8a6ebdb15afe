"""
Fairness over rounds (rho1): who must take part in this round.

The paper asks that after round ``n`` every user has been selected at least ``n * rho1`` times. A
user is *required* in round ``n`` when it would break that if left out. All readings are evaluated
in exact arithmetic: 0.1 means one tenth, not the binary number next to it.
"""

from fractions import Fraction

import numpy as np

from fedroam.arrays import Bools, Ints
from fedroam.errors import ConfigError, nearest

READINGS = ("strict", "floor", "staggered")


def exact_fraction(value: float) -> Fraction:
    """The number that was written: 0.1 is 1/10."""
    return Fraction(repr(float(value)))


def required_users(times_selected: Ints, round: int, rho1: float, reading: str = "strict") -> Bools:
    """
    Who must take part in ``round`` (counted from 0) after ``times_selected [U]``.

    * ``strict``: ``count < n rho1``, the paper's formula as printed. Whoever is left out of round 0
      is forced into round 1, and bursts follow every ``1 / rho1`` rounds.
    * ``floor``: ``count < floor(n rho1)``: a whole selection must be due.
    * ``staggered``: ``count < floor(n rho1 + phase_u)`` with phases spread evenly over the users:
      the same rate, without the bursts.
    """
    return times_selected < selections_due(times_selected.size, round, rho1, reading)


def selections_due(n_users: int, round: int, rho1: float, reading: str = "strict") -> int | Ints:
    """How often a user must have been selected before ``round``: one number, or one a user."""
    rate = exact_fraction(rho1)
    due = round * rate
    match reading:
        case "strict":
            return -(-due.numerator // due.denominator)
        case "floor":
            return due.numerator // due.denominator
        case "staggered":
            return _staggered_due(due, n_users)
    raise ConfigError(f"fairness.reading: no {reading!r}; {nearest(reading, READINGS)}")


def _staggered_due(due: Fraction, n_users: int) -> Ints:
    """``floor(due + rank_u / U)``, where ranks follow the golden ratio: neighbours differ."""
    phase = (np.arange(n_users) * 0.6180339887498949) % 1.0
    rank = np.empty(n_users, np.int64)
    rank[np.argsort(phase, kind="stable")] = np.arange(n_users)
    whole, rest = divmod(due, 1)
    # rest + rank / U >= 1, in integers of any size
    return int(whole) + (rank >= -int(-(1 - rest) * n_users // 1))


def least_selected(n_users: int, rho2: float) -> int:
    """``ceil(U * rho2)`` in exact arithmetic: 0.1 of 30 users is 3, not 4."""
    return -int(-n_users * exact_fraction(rho2) // 1)
