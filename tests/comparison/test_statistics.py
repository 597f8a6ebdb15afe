"""Intervals have known answers and hold the truth as often as they say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedroam.comparison import mean_interval, paired, sign_flip_p
from fedroam.comparison.statistics import resampled

NUMBERS = st.lists(st.floats(-100, 100), min_size=2, max_size=8)


def coverage(draw, truth, n_seeds, n_samples=1000, interval=resampled):
    """How often the interval of some seeds holds the true mean."""
    rng = np.random.default_rng(0)
    found = [interval(draw(rng, n_seeds)) for _ in range(n_samples)]
    return np.mean([i.low <= truth <= i.high for i in found])


def normal(rng, n):
    """Deviates around 1."""
    return rng.normal(1.0, 2.0, n)


def skewed(rng, n):
    """Lognormal, with mean e^(1/2)."""
    return rng.lognormal(0.0, 1.0, n)


@pytest.mark.parametrize("n_seeds", [3, 5, 8, 12])
def test_intervals_hold_the_truth_of_normal_differences(n_seeds):
    """95 of 100 promised; 1,000 samples are good to 2 of 100 (three deviations)."""
    assert coverage(normal, 1.0, n_seeds) == pytest.approx(0.95, abs=0.025)


@pytest.mark.parametrize("n_seeds", [5, 8, 12])
def test_intervals_of_skewed_differences_are_better_than_students(n_seeds):
    """Nobody holds 95 of 100 there with so few; the bootstrap is nearer than Student."""
    mine = coverage(skewed, np.exp(0.5), n_seeds)

    assert mine > 0.87
    assert mine > coverage(skewed, np.exp(0.5), n_seeds, interval=mean_interval) + 0.02


def test_pairing_takes_out_what_is_common():
    """The world's noise is 100 times that of the difference; the interval knows only the latter."""
    rng = np.random.default_rng(1)
    covered = []
    for _ in range(500):
        world = rng.normal(50, 100, 5)
        interval = paired(world + rng.normal(1, 1, 5), world)
        covered.append(interval.low <= 1.0 <= interval.high)
        assert interval.high - interval.low < 20

    assert np.mean(covered) == pytest.approx(0.95, abs=0.03)


@given(NUMBERS, st.floats(-10, 10), st.floats(0.1, 10))
def test_intervals_move_and_stretch_with_the_values(values, shift, scale):
    """A mean's interval in other units is the same interval."""
    values = np.round(np.array(values), 3)
    one, other = resampled(values), resampled(scale * values + shift)

    assert other.how == one.how
    for name in ("mean", "low", "high"):
        expected = scale * getattr(one, name) + shift
        assert getattr(other, name) == pytest.approx(expected, rel=1e-6, abs=1e-6)


@given(NUMBERS)
def test_turning_the_sign_turns_the_interval(values):
    """To be sooner than another is for it to be later, by as much."""
    values = np.round(np.array(values), 3)
    one, other = resampled(values), resampled(-values)

    assert (other.low, other.high) == pytest.approx((-one.high, -one.low), rel=1e-6, abs=1e-6)


def test_the_interval_says_how_it_was_made():
    """Student's below five; nothing is claimed from one value, or where one is not known."""
    assert resampled(np.arange(5.0)).how == "bootstrap-t"
    assert resampled(np.arange(7.0)).how == "bootstrap-t"
    assert resampled(np.arange(4.0)) == mean_interval(np.arange(4.0))
    assert resampled(np.array([2.0])).low == -np.inf
    assert np.isnan(paired(np.array([1.0, np.nan]), np.array([0.0, 0.0])).mean)
    assert resampled(np.full(6, 3.0)).low == resampled(np.full(6, 3.0)).high == 3.0


def test_equal_values_do_not_make_an_interval_endless():
    """Four of five runs never reached a mark: their resamples have no spread at all."""
    interval = resampled(np.array([0.0, 0.0, 0.0, 0.0, 5.0]))

    assert interval.low < 0 < 1 < interval.high < 10


@pytest.mark.parametrize(
    ("differences", "p"),
    [
        ([1.0, 2.0, 3.0, 4.0, 5.0], 2 / 32),  # as printed, and all turned round
        ([1.0, 1.0, 1.0, -1.0], 10 / 16),  # |sum| >= 2: 1, 4, 4 and 1 of 16 patterns
        ([2.0], 1.0),
        ([0.0, 0.0], 1.0),
    ],
)
def test_flips_of_signs_are_counted(differences, p):
    """By hand."""
    assert sign_flip_p(np.array(differences)) == p


def test_flips_are_drawn_where_there_are_too_many():
    """20 seeds one way: hardly any pattern is as far from 0; nan knows nothing."""
    assert 0 < sign_flip_p(np.ones(20)) < 0.001
    assert np.isnan(sign_flip_p(np.array([1.0, np.nan])))
