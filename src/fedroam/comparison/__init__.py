"""Many policies, many seeds, one world: play them all, then say what differs and how surely."""

from fedroam.comparison.compare import Comparison, Member, members_of, play_all, read_comparison
from fedroam.comparison.curves import Band, Curve, band_of, curve_of
from fedroam.comparison.folder import begin_comparison
from fedroam.comparison.statistics import Interval, mean_interval, paired

__all__ = [
    "Band",
    "Comparison",
    "Curve",
    "Interval",
    "Member",
    "band_of",
    "begin_comparison",
    "curve_of",
    "mean_interval",
    "members_of",
    "paired",
    "play_all",
    "read_comparison",
]
