"""The nearest stations, found by cells."""

import numpy as np
import pytest

from fedroam.radio.nearest import cells_of, nearest_stations


def by_brute_force(station_m, user_m, width):
    """All squares, sorted by distance, then by station."""
    square = ((user_m[:, None] - station_m[None]) ** 2).sum(axis=2)
    return np.sort(np.argsort(square, axis=1, kind="stable")[:, :width], axis=1)


def spread(rng, n):
    """Uniform."""
    return rng.random((n, 2)) * 1000.0


def clustered(rng, n):
    """Nearly all in one corner of one cell."""
    return np.where(rng.random((n, 1)) < 0.95, rng.random((n, 2)), rng.random((n, 2)) * 1000.0)


def in_line(rng, n):
    """On a horizontal street."""
    return np.c_[rng.random(n) * 1000.0, np.full(n, 3.0)]


def on_a_lattice(rng, n):
    """Many at equal distances, some at one place."""
    return rng.integers(0, 8, (n, 2)) * 100.0


def at_one_place(rng, n):
    """No extent at all."""
    del rng
    return np.full((n, 2), 7.0)


@pytest.mark.parametrize("width", [1, 2, 8, 40, 199])
@pytest.mark.parametrize("lie", [spread, clustered, in_line, on_a_lattice, at_one_place])
def test_cells_find_the_stations_of_brute_force(lie, width):
    """Of equals the first; for users within, on the border and far outside of the cells."""
    rng = np.random.default_rng(width)
    station_m = lie(rng, 200)
    user_m = np.r_[spread(rng, 300), on_a_lattice(rng, 50), station_m, spread(rng, 50) * 9 - 4000]

    found = nearest_stations(cells_of(station_m, width), user_m, width)

    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, by_brute_force(station_m, user_m, width))
