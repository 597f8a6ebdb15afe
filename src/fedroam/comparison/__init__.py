"""Many policies, many seeds, one world: play them all, then say what differs and how surely."""

from fedroam.comparison.compare import Comparison, Member, members_of, play_all, read_comparison
from fedroam.comparison.curves import Band, Curve, band_of, curve_of
from fedroam.comparison.differences import Difference, differences, differences_table
from fedroam.comparison.folder import begin_comparison, open_comparison
from fedroam.comparison.sentences import sentence, sentences
from fedroam.comparison.statistics import Interval, mean_interval, paired, sign_flip_p
from fedroam.comparison.sweep import (
    Cell,
    begin_sweep,
    cells_of,
    grid,
    open_sweep,
    play_sweep,
)
from fedroam.comparison.sweep_tables import (
    SweepTables,
    read_sweep_tables,
    sweep_tables_of,
    write_sweep_tables,
)
from fedroam.comparison.tables import Tables, read_tables, tables_of, write_tables

__all__ = [
    "Band",
    "Cell",
    "Comparison",
    "Curve",
    "Difference",
    "Interval",
    "Member",
    "SweepTables",
    "Tables",
    "band_of",
    "begin_comparison",
    "begin_sweep",
    "cells_of",
    "curve_of",
    "differences",
    "differences_table",
    "grid",
    "mean_interval",
    "members_of",
    "open_comparison",
    "open_sweep",
    "paired",
    "play_all",
    "play_sweep",
    "read_comparison",
    "read_sweep_tables",
    "read_tables",
    "sentence",
    "sentences",
    "sign_flip_p",
    "sweep_tables_of",
    "tables_of",
    "write_sweep_tables",
    "write_tables",
]
