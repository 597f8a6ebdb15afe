"""
The stations nearest to each user.

Stations are sorted into square cells, a few to a cell; a user looks at its own cell, then at the
rings of cells around it, until no cell that is left can hold a nearer one. For stations that are
spread over an area this takes half the processor time of a k-d tree.
"""

from dataclasses import dataclass

import numpy as np

from fedroam.arrays import Floats, Ints, Stations, freeze
from fedroam.compiled import inlined, kernel

CELLS_PER_SEARCH = 4
"""The stations that are looked for would fill so many cells: 9 are looked at before 25."""

ROUNDING = 1e-9
"""More than the borders of cells can be wrong by, relatively."""


@dataclass(frozen=True, eq=False, slots=True)
class Cells:
    """``side x side`` cells over the stations' bounding square, row by row."""

    station: Stations  # [S] those of cell c are start[c]:start[c + 1]
    place_m: Floats  # [S, 2] of these, in the same order
    start: Ints  # [side * side + 1]
    corner_m: Floats  # [2] the lowest coordinates
    cell_m: float
    side: int

    def __post_init__(self) -> None:
        freeze(self)


def cells_of(station_m: Floats, width: int) -> Cells:
    """Cells for searches for ``width`` stations among those at ``station_m [S, 2]``."""
    side = max(1, int(np.sqrt(CELLS_PER_SEARCH * len(station_m) / width)))
    corner_m = station_m.min(axis=0)
    cell_m = float((station_m.max(axis=0) - corner_m).max()) / side or 1.0
    column, row = np.minimum((station_m - corner_m) / cell_m, side - 1).astype(np.int64).T
    cell = row * side + column
    station = np.argsort(cell, kind="stable").astype(np.int32)
    start = np.searchsorted(cell[station], np.arange(side * side + 1))
    return Cells(station, station_m[station], start, corner_m, cell_m, side)


def nearest_stations(cells: Cells, user_m: Floats, width: int) -> Stations:
    """The ``width`` nearest of each user (of equals the first), in ascending order."""
    return _nearest(  # type: ignore[no-any-return]
        cells.station,
        cells.place_m,
        cells.start,
        cells.corner_m,
        cells.cell_m,
        cells.side,
        user_m,
        width,
    )


@kernel
def _nearest(station, place_m, start, corner_m, cell_m, side, user_m, width):  # type: ignore[no-untyped-def]
    found = np.empty((user_m.shape[0], width), np.int32)
    square = np.empty(width)
    for u in range(user_m.shape[0]):
        x, y = user_m[u, 0] - corner_m[0], user_m[u, 1] - corner_m[1]
        column, row = _cell_at(x, cell_m, side), _cell_at(y, cell_m, side)
        best, n, ring = found[u], 0, 0
        while ring < side:
            for r in range(max(row - ring, 0), min(row + ring, side - 1) + 1):
                is_whole = r == row - ring or r == row + ring
                for c in range(column - ring, column + ring + 1, 1 if is_whole else 2 * ring):
                    if 0 <= c < side:
                        for i in range(start[r * side + c], start[r * side + c + 1]):
                            dx = user_m[u, 0] - place_m[i, 0]
                            dy = user_m[u, 1] - place_m[i, 1]
                            n = _insert(best, square, n, dx * dx + dy * dy, station[i])
            border = min(
                _border(x, column, ring, cell_m, side), _border(y, row, ring, cell_m, side)
            )
            if n == width and square[-1] <= border * border * (1.0 - ROUNDING):
                break
            ring += 1
        _sort(best)
    return found


@inlined
def _cell_at(x, cell_m, side):  # type: ignore[no-untyped-def]
    """The cell of a coordinate; who is outside belongs to the cell at the edge."""
    cell = x / cell_m
    if not cell > 0.0:
        return 0
    return int(cell) if cell < side else side - 1


@inlined
def _border(x, cell, ring, cell_m, side):  # type: ignore[no-untyped-def]
    """How far the nearest place is that the rings do not cover; beyond the edge there is none."""
    low = x - (cell - ring) * cell_m if cell - ring > 0 else np.inf
    high = (cell + ring + 1) * cell_m - x if cell + ring < side - 1 else np.inf
    return max(0.0, min(low, high))


@inlined
def _sort(best):  # type: ignore[no-untyped-def]
    """In ascending order; a few are sorted faster by insertion."""
    if best.size > 32:
        best.sort()
        return
    for j in range(1, best.size):
        station, i = best[j], j
        while i > 0 and best[i - 1] > station:
            best[i] = best[i - 1]
            i -= 1
        best[i] = station


@inlined
def _insert(best, square, n, new_square, station):  # type: ignore[no-untyped-def]
    """Put a station among the best so far, nearest first; how many there are now."""
    width = square.size
    if n == width and not (
        new_square < square[-1] or (new_square == square[-1] and station < best[-1])
    ):
        return n
    i = min(n, width - 1)
    while i > 0 and (
        square[i - 1] > new_square or (square[i - 1] == new_square and best[i - 1] > station)
    ):
        square[i], best[i] = square[i - 1], best[i - 1]
        i -= 1
    square[i], best[i] = new_square, station
    return min(n + 1, width)
