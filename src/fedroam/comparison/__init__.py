"""Many policies, many seeds, one world: play them all, then say what differs and how surely."""

from fedroam.comparison.compare import Comparison, Member, members_of, play_all, read_comparison
from fedroam.comparison.curves import Band, Curve, band_of, curve_of
from fedroam.comparison.differences import Difference, differences, differences_table
from fedroam.comparison.folder import begin_comparison, open_comparison
from fedroam.comparison.sentences import sentence, sentences
from fedroam.comparison.statistics import Interval, mean_interval, paired, sign_flip_p
from fedroam.comparison.tables import Tables, read_tables, tables_of, write_tables

__all__ = [
    "Band",
    "Comparison",
    "Curve",
    "Difference",
    "Interval",
    "Member",
    "Tables",
    "band_of",
    "begin_comparison",
    "curve_of",
    "differences",
    "differences_table",
    "mean_interval",
    "members_of",
    "open_comparison",
    "paired",
    "play_all",
    "read_comparison",
    "read_tables",
    "sentence",
    "sentences",
    "sign_flip_p",
    "tables_of",
    "write_tables",
]
