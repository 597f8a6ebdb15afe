"""The bound: valid for any prices, strong for the best ones."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedroam.errors import ConfigError, InfeasibleError
from fedroam.scheduling.certified import bound
from fedroam.scheduling.certified.blocks import over_blocks
from fedroam.scheduling.problem import Problem, dense
from scheduling.exact_oracles import brute_force
from strategies import Kind, problems, random_problem


def permuted(problem: Problem, users, stations) -> Problem:
    """The same problem with its users and stations renamed."""
    matrix = np.zeros((problem.n_users, problem.n_stations))
    owner = np.repeat(np.arange(problem.n_users), np.diff(problem.indptr))
    matrix[owner, problem.station] = problem.efficiency
    return dense(
        matrix[np.ix_(users, stations)],
        compute_s=problem.compute_s[users],
        capacity_hz=problem.capacity_hz[stations],
        payload_bit=problem.payload_bit[users],
        min_selected=problem.min_selected,
        required=problem.required[users],
    )


@given(problem=problems(max_users=5, max_stations=3), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_any_prices_prove_less_than_the_optimum(problem, seed):
    """Weak duality, without a tolerance, also for prices over many orders of magnitude."""
    rng = np.random.default_rng(seed)
    prices = 10.0 ** rng.uniform(-12, 12, problem.n_stations) * (
        rng.random(problem.n_stations) < 0.8
    )
    prices[rng.integers(problem.n_stations)] = 1.0
    optimum_s = brute_force(problem) if problem.min_selected or problem.required.any() else 0.0

    assert bound(problem, prices).bound_s <= optimum_s
    assert bound(problem).bound_s <= optimum_s


@given(problem=problems(), factor=st.sampled_from([1e-6, 0.1, 3.0, 1e9]))
@settings(max_examples=30, deadline=None)
def test_only_the_proportions_of_prices_matter(problem, factor):
    """The bound is homogeneous of degree 0 in the prices."""
    prices = np.linspace(1, 2, problem.n_stations)

    once = bound(problem, prices).bound_s

    assert bound(problem, factor * prices).bound_s == pytest.approx(once, rel=1e-9, abs=0)


@given(problem=problems(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_renaming_users_and_stations_renames_the_proof(problem, seed):
    """The value proven by permuted prices is the same."""
    rng = np.random.default_rng(seed)
    users, stations = rng.permutation(problem.n_users), rng.permutation(problem.n_stations)
    prices = rng.uniform(0.1, 1, problem.n_stations)

    there = bound(permuted(problem, users, stations), prices[stations]).bound_s

    assert there == pytest.approx(bound(problem, prices).bound_s, rel=1e-9, abs=0)


@pytest.mark.parametrize(("users", "stations"), [(8, 2), (12, 3), (100, 4)])
def test_identical_users_and_stations_have_a_closed_form(users, stations):
    """K users over S equal stations: c + K S_bit / (S B e) where S divides K."""
    problem = dense(
        np.full((users, stations), 2.0),
        compute_s=np.full(users, 0.5),
        capacity_hz=np.full(stations, 1e6),
        payload_bit=1e6,
        min_selected=users,
    )

    assert bound(problem).bound_s == pytest.approx(0.5 + users / stations / 2.0, rel=1e-8)


def test_one_station_is_solved_by_its_bound():
    """With equal compute times the users of best channel are the optimum, and LP has no gap."""
    efficiency = np.array([[1.0], [4.0], [2.0], [8.0]])
    problem = dense(
        efficiency,
        compute_s=np.full(4, 0.1),
        capacity_hz=np.array([1e6]),
        payload_bit=1e6,
        min_selected=2,
    )

    assert bound(problem).bound_s == pytest.approx(0.1 + 1 / 8 + 1 / 4, rel=1e-8)


def test_a_user_alone_is_a_bound_too():
    """One far user among many stations: sharing is not what takes the time."""
    efficiency = np.array([[0.1, 0.1, 0.1], [9.0, 9.0, 9.0]])
    problem = dense(
        efficiency,
        compute_s=np.zeros(2),
        capacity_hz=np.full(3, 1e6),
        payload_bit=1e6,
        min_selected=2,
    )

    assert bound(problem).bound_s == pytest.approx(10.0, rel=1e-8)


def test_nobody_to_select_takes_no_time():
    """An empty round is lawful where nothing is asked for."""
    problem = dense(
        np.ones((2, 1)),
        compute_s=np.ones(2),
        capacity_hz=np.ones(1),
        payload_bit=1.0,
        min_selected=0,
    )

    assert bound(problem).bound_s == 0.0


def test_too_few_users_in_reach_is_said():
    """The reason carries both numbers."""
    problem = dense(
        np.array([[1.0], [0.0], [0.0]]),
        compute_s=np.zeros(3),
        capacity_hz=np.ones(1),
        payload_bit=1.0,
        min_selected=2,
    )

    with pytest.raises(InfeasibleError, match="2 users are to be selected, but only 1 have"):
        bound(problem)


@pytest.mark.parametrize("prices", [[0.0, 0.0], [-1.0, 1.0], [np.nan, 1.0], [np.inf, 1.0]])
def test_prices_that_prove_nothing_are_refused(prices):
    """Weak duality needs prices >= 0, and some of them > 0."""
    problem = dense(
        np.ones((3, 2)),
        compute_s=np.zeros(3),
        capacity_hz=np.ones(2),
        payload_bit=1.0,
        min_selected=1,
    )

    with pytest.raises(ConfigError, match="not all 0"):
        bound(problem, np.array(prices))


def test_blocks_cover_every_user_once_whatever_their_number(monkeypatch):
    """Two or more threads write where one would."""
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    seen = np.zeros(10, int)

    def work(first, last):
        seen[first:last] += 1

    over_blocks(work, 10, 10**9)

    np.testing.assert_array_equal(seen, 1)


def test_the_bound_does_not_depend_on_the_number_of_threads(monkeypatch):
    """Bit for bit."""
    rng = np.random.default_rng(0)
    problem = dense(
        rng.uniform(0.1, 8, (300, 6)),
        compute_s=rng.uniform(0.1, 0.2, 300),
        capacity_hz=rng.uniform(1e6, 2e6, 6),
        payload_bit=7e5,
        min_selected=150,
    )
    alone = bound(problem)
    monkeypatch.setattr("fedroam.scheduling.certified.blocks.WORTH_A_THREAD", 100)
    monkeypatch.setattr("os.cpu_count", lambda: 3)

    together = bound(problem)

    assert together.bound_s == alone.bound_s
    np.testing.assert_array_equal(together.prices, alone.prices)


def test_many_stations_are_priced_with_an_iterative_solve(monkeypatch):
    """Beyond some hundred stations the Newton step is not solved densely, and is as good."""
    kind = Kind(reach=0.3, has_unequal_bands=True, required=0.1)
    problem = random_problem(np.random.default_rng(0), 2000, 30, kind)
    dense_s = bound(problem).bound_s
    monkeypatch.setattr("fedroam.scheduling.certified.prices._DENSE_STATIONS", 0)

    assert bound(problem).bound_s == pytest.approx(dense_s, rel=1e-3)
    assert bound(problem).bound_s > bound(problem, np.ones(30)).bound_s
    assert bound(replace(problem, min_selected=1200)).bound_s > dense_s
