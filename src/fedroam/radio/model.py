"""What a radio model is."""

from typing import Protocol

from fedroam.arrays import Floats
from fedroam.radio.draws import LinkDraws


class Radio(Protocol):
    """
    How many bits a second each link carries per hertz.

    A model is a frozen parameter record; chance comes from ``draws`` alone, e.g.
    ``draws.exponential("fading")`` for one number a link and round.
    """

    def efficiency(self, distance_m: Floats, draws: LinkDraws) -> Floats:
        """Spectral efficiency in bit/s/Hz, finite and positive, ``[L]``."""
        ...
