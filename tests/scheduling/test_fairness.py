"""Who must take part: the three readings against their plain definitions, in exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedroam.errors import ConfigError
from fedroam.scheduling.fairness import exact_fraction, least_selected, required_users

rates = st.one_of(
    st.sampled_from([0.0, 0.05, 0.1, 0.2, 0.3, 1 / 3, 0.5, 0.7, 0.9, 1.0, 1e-20, 5e-324]),
    st.floats(0.0, 1.0),
    st.integers(0, 100).map(lambda percent: percent / 100),
)
counts = st.lists(st.integers(0, 2000), min_size=1, max_size=30).map(np.array)


@given(times=counts, round=st.integers(0, 5000), rho1=rates)
def test_strict_is_the_papers_formula(times, round, rho1):
    """Required: count < n rho1, with rho1 the decimal number that was written."""
    due = round * Fraction(str(rho1))

    expected = [Fraction(int(count)) < due for count in times]
    assert required_users(times, round, rho1).tolist() == expected


@given(times=counts, round=st.integers(0, 5000), rho1=rates)
def test_floor_waits_until_a_whole_selection_is_due(times, round, rho1):
    """Required: count < floor(n rho1)."""
    due = round * Fraction(str(rho1))

    expected = [int(count) < due.numerator // due.denominator for count in times]
    assert required_users(times, round, rho1, "floor").tolist() == expected


@given(times=counts, round=st.integers(0, 5000), rho1=rates)
def test_staggered_is_floor_with_phases_spread_evenly(times, round, rho1):
    """Required: count < floor(n rho1 + rank / U), where the ranks follow the golden ratio."""
    n_users = len(times)
    golden = (5**0.5 - 1) / 2
    order = sorted(range(n_users), key=lambda user: (user * golden) % 1)
    rank = {user: place for place, user in enumerate(order)}
    due = round * Fraction(str(rho1))

    expected = []
    for user, count in enumerate(times):
        total = due + Fraction(rank[user], n_users)
        expected.append(int(count) < total.numerator // total.denominator)
    assert required_users(times, round, rho1, "staggered").tolist() == expected


def test_nobody_is_required_in_round_0_by_the_strict_reading():
    """0 < 0 rho1 is false; in round 1 whoever was left out is."""
    times = np.array([0, 1, 2])

    assert required_users(times, 0, 0.1).tolist() == [False, False, False]
    assert required_users(times, 1, 0.1).tolist() == [True, False, False]
    assert required_users(times, 10, 0.1).tolist() == [True, False, False]
    assert required_users(times, 11, 0.1).tolist() == [True, True, False]


def test_a_rate_with_many_digits_does_not_overflow():
    """Found by review: count * denominator left 64 bits for rates such as 0.12345678901234567."""
    rho1 = 0.12345678901234567  # 1000 rounds: 123.46 selections are due

    for reading in ("strict", "floor", "staggered"):
        required = required_users(np.array([0, 100, 125, 10**6]), 1000, rho1, reading)
        assert required.tolist() == [True, True, False, False]


@pytest.mark.parametrize("reading", ["strict", "floor", "staggered"])
@pytest.mark.parametrize("rho1", [0.1, 0.3, 0.5, 1.0])
def test_a_policy_that_selects_whom_it_must_keeps_the_constraint(reading, rho1):
    """
    Selecting exactly the required users keeps the paper's (7e) after every round.

    Strict: sum_{j <= n} a_j >= n rho1. The other readings promise the whole part of it.
    """
    times = np.zeros(40, np.int64)
    for n in range(200):
        times += required_users(times, n, rho1, reading)
        due = n * Fraction(str(rho1))
        assert (times >= (due if reading == "strict" else due.numerator // due.denominator)).all()


@pytest.mark.parametrize("rho1", [0.1, 0.25, 0.3])
def test_staggered_forces_the_same_rate_without_bursts(rho1):
    """In the long run U rho1 users are forced a round, never more than one above or below."""
    times, n_users, forced = np.zeros(40, np.int64), 40, []
    for n in range(400):
        required = required_users(times, n, rho1, "staggered")
        times += required
        forced.append(int(required.sum()))

    assert max(forced[1:]) - min(forced[1:]) <= 1
    assert np.mean(forced[1:]) == pytest.approx(n_users * rho1, rel=0.01)
    strict, peak = np.zeros(40, np.int64), 0
    for n in range(400):
        required = required_users(strict, n, rho1)
        strict += required
        peak = max(peak, int(required.sum()))
    assert peak == n_users  # the burst that staggering avoids


@given(n_users=st.integers(1, 10**6), rho2=rates)
def test_participation_is_the_exact_ceiling(n_users, rho2):
    """ceil(U rho2), with rho2 the decimal number that was written."""
    product = n_users * Fraction(str(rho2))
    expected = product.numerator // product.denominator + (product.denominator != 1)

    assert least_selected(n_users, rho2) == expected


def test_a_tenth_of_thirty_users_is_three():
    """In binary arithmetic 30 * 0.1 is a little more than 3, whose ceiling would be 4."""
    assert 30 * exact_fraction(0.1) == 3
    assert least_selected(30, 0.1) == 3
    assert least_selected(50, 0.5) == 25
    assert least_selected(51, 0.5) == 26
    assert least_selected(50, 1.0) == 50
    assert least_selected(50, 0.0) == 0


def test_an_unknown_reading_is_refused():
    """The nearest is named."""
    with pytest.raises(ConfigError, match="no 'stagered'; did you mean 'staggered'"):
        required_users(np.zeros(3, np.int64), 1, 0.1, "stagered")
