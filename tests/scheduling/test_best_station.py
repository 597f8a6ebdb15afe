"""The simple baselines: the best station for everyone, and who is drawn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedroam.errors import InfeasibleError
from fedroam.scheduling.judge import judge
from fedroam.scheduling.policies.best_station import (
    All,
    Random,
    Uniform,
    best_station,
    split_evenly,
)
from fedroam.scheduling.problem import NO_STATION, dense
from strategies import problems


def example(n_users=50, n_reachable=50, min_selected=25):
    """Users of one station, the first ones within reach."""
    efficiency = np.where(np.arange(n_users) < n_reachable, 1.0, 0.0)[:, None]
    return dense(
        efficiency,
        compute_s=np.zeros(n_users),
        capacity_hz=np.ones(1),
        payload_bit=1.0,
        min_selected=min_selected,
    )


@given(problem=problems())
def test_the_best_station_is_the_first_of_the_best_links(problem):
    """Argmax over each user's links; nobody's for who has none."""
    for user, station in enumerate(best_station(problem)):
        links = slice(problem.indptr[user], problem.indptr[user + 1])
        gains = problem.efficiency[links]
        expected = problem.station[links][np.argmax(gains)] if gains.size else NO_STATION
        assert station == expected


@given(problem=problems(), seed=st.integers(0, 99))
def test_random_and_uniform_select_exactly_as_many_as_asked(problem, seed):
    """ceil(U rho2) users, each at its best station; both draw the same users under a seed."""
    random = Random()(problem, np.random.default_rng(seed))
    uniform = Uniform()(problem, np.random.default_rng(seed))

    assert random.chosen.size == problem.min_selected
    np.testing.assert_array_equal(random.station, uniform.station)
    best = best_station(problem)
    np.testing.assert_array_equal(random.station[random.chosen], best[random.chosen])
    assert judge(problem, random).lacking == 0


@given(problem=problems(), seed=st.integers(0, 99))
def test_the_best_split_is_no_slower_than_the_even_one(problem, seed):
    """RS and UB differ by the split only, and the optimal one wins."""
    random = judge(problem, Random()(problem, np.random.default_rng(seed)))
    uniform = judge(problem, Uniform()(problem, np.random.default_rng(seed)))

    assert random.round_s <= uniform.round_s * (1 + 1e-12)


@given(problem=problems())
def test_an_even_split_gives_every_user_of_a_station_the_same(problem):
    """Capacity / n for each of the n."""
    station = best_station(problem)
    bandwidth = split_evenly(problem, station).bandwidth_hz

    for user, s in enumerate(station):
        n_there = np.count_nonzero(station == s)
        assert bandwidth[user] == (0 if s == NO_STATION else problem.capacity_hz[s] / n_there)


@given(problem=problems())
def test_all_selects_everyone_within_reach(problem):
    """Those without a link are left out; required users take part."""
    schedule = All()(problem, np.random.default_rng(0))

    assert schedule.chosen.tolist() == np.flatnonzero(np.diff(problem.indptr)).tolist()
    assert judge(problem, schedule).is_lawful


def test_every_user_is_drawn_equally_often():
    """4000 rounds, 25 of 50 users: each within five standard deviations of half of them."""
    rng, times = np.random.default_rng(0), np.zeros(50)
    for _ in range(4000):
        times[Random()(example(), rng).chosen] += 1

    assert np.abs(times - 2000).max() < 5 * np.sqrt(4000 / 4)


def test_independent_coins_have_the_same_mean_and_break_the_rule_in_44_percent_of_rounds():
    """P(Binomial(50, 1/2) < 25) = 0.4439; five standard deviations over 4000 rounds."""
    rng, policy = np.random.default_rng(1), Random(independent=True)
    counts = np.array([policy(example(), rng).chosen.size for _ in range(4000)])

    assert counts.mean() == pytest.approx(25, abs=5 * np.sqrt(12.5 / 4000))
    share = np.mean(counts < 25)
    assert share == pytest.approx(0.4439, abs=5 * np.sqrt(0.25 / 4000))


def test_bug_independent_coins_choose_too_few_where_some_users_are_out_of_reach():
    """25 of 50 are asked for, 30 are within reach: the mean stays 25 (it was 15)."""
    problem, policy = example(n_reachable=30), Random(independent=True)
    rng = np.random.default_rng(3)
    counts = np.array([policy(problem, rng).chosen.size for _ in range(2000)])

    variance = 30 * (25 / 30) * (5 / 30)
    assert counts.mean() == pytest.approx(25, abs=5 * np.sqrt(variance / 2000))


def test_independent_coins_never_draw_nobody():
    """A round without users is drawn again."""
    problem, policy = example(n_users=3, n_reachable=3, min_selected=1), Random(independent=True)
    rng = np.random.default_rng(2)

    assert min(policy(problem, rng).chosen.size for _ in range(500)) == 1


@pytest.mark.parametrize("policy", [All(), Random(), Uniform(), Random(independent=True)])
def test_too_few_users_within_reach_is_said(policy):
    """Five users, two within reach, three must take part."""
    problem = example(n_users=5, n_reachable=2, min_selected=3)

    with pytest.raises(InfeasibleError, match="only 2 users can reach a station, 3 must take part"):
        policy(problem, np.random.default_rng(0))
