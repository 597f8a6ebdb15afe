"""Certified and exact schedules: the laws that optima obey, and oracles that know them."""

import builtins
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedroam.errors import ConfigError, InfeasibleError
from fedroam.scheduling.certified import (
    Outcome,
    bound,
    certify,
    gap_of,
    queues,
    solve_certified,
    solve_exact,
    solve_fair,
    sweep_selected,
)
from fedroam.scheduling.judge import judge, round_length
from fedroam.scheduling.policies.best_station import All
from fedroam.scheduling.policies.certified import Certified
from fedroam.scheduling.policies.dagsa import Dagsa
from fedroam.scheduling.policies.exact import Exact
from fedroam.scheduling.problem import dense
from fedroam.testing import check_policy
from scheduling.exact_oracles import brute_force, by_milp
from scheduling.test_bound import permuted
from strategies import Kind, problems, random_problem

PAPER_LIKE = Kind(has_unequal_bands=True, required=0.1)


def rng():
    """The same random numbers for each solver."""
    return np.random.default_rng(0)


def exact_s(problem) -> float:
    """The proven optimum."""
    solution = solve_exact(problem, rng())
    assert solution.outcome is Outcome.OPTIMAL
    return solution.round_s


@given(problem=problems(max_users=5, max_stations=3))
@settings(max_examples=60, deadline=None)
def test_exact_finds_what_trying_everything_finds(problem):
    """Brute force over users and stations with a textbook root finder."""
    if not (problem.min_selected or problem.required.any()):
        assert exact_s(problem) == 0.0
        return
    assert exact_s(problem) == pytest.approx(brute_force(problem), rel=2e-5)


@given(problem=problems())
@settings(max_examples=60, deadline=None)
def test_bound_exact_certified_and_others_stand_in_order(problem):
    """Bound <= exact <= certified <= any other lawful schedule."""
    exact, certified = solve_exact(problem, rng()), solve_certified(problem, rng())

    assert bound(problem).bound_s <= exact.round_s
    assert exact.bound_s <= exact.round_s
    assert exact.round_s <= certified.round_s * (1 + 1e-12)
    assert certified.bound_s <= exact.round_s
    for policy in (Dagsa(), All()):
        try:
            other = policy(problem, rng())
        except InfeasibleError:
            continue
        verdict = judge(problem, other)
        if verdict.is_lawful:
            assert exact.bound_s <= verdict.round_s
            assert exact.round_s <= verdict.round_s * (1 + 1.1e-5)
    for solution in (exact, certified):
        verdict = judge(problem, solution.schedule)
        assert verdict.is_lawful
        assert verdict.round_s == solution.round_s
        assert solution.gap == gap_of(solution.round_s, solution.bound_s)


@pytest.mark.parametrize("seed", range(4))
def test_exact_lies_in_the_bracket_of_an_independent_milp(seed):
    """Its own formulation: least greatest fill at a fixed length, bisected over the length."""
    problem = random_problem(np.random.default_rng(seed), 12, 3, PAPER_LIKE)
    found_s = exact_s(problem)

    low, high = by_milp(problem, found_s * 0.98, found_s * 1.02)

    assert low * (1 - 1e-4) <= found_s <= high * (1 + 1e-4)


@pytest.mark.parametrize("seed", range(12))
def test_certified_is_near_the_optimum_on_paper_like_problems(seed):
    """Fifty users, eight stations: within 2 per cent of the proven optimum, and below DAGSA."""
    drawn = np.random.default_rng(seed)
    kind = replace(PAPER_LIKE, reach=drawn.choice([1.0, 0.7]), selected=drawn.uniform(0.3, 0.7))
    problem = random_problem(drawn, 50, 8, kind)

    round_s = solve_certified(problem, rng()).round_s
    assert round_s <= 1.02 * exact_s(problem)
    assert round_s <= judge(problem, Dagsa()(problem, rng())).round_s


@given(problem=problems(max_users=10), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_renaming_changes_no_optimum(problem, seed):
    """Permuting users or stations permutes the answer: same length."""
    drawn = np.random.default_rng(seed)
    users = drawn.permutation(problem.n_users)
    stations = drawn.permutation(problem.n_stations)

    renamed = permuted(problem, users, stations)

    assert exact_s(renamed) == pytest.approx(exact_s(problem), rel=2.1e-5)


@given(problem=problems(max_users=10), factor=st.sampled_from([1e-3, 0.5, 8.0, 1e4]))
@settings(max_examples=25, deadline=None)
def test_scaling_payload_and_bands_together_changes_nothing(problem, factor):
    """Only payload over band matters."""
    scaled = replace(
        problem,
        payload_bit=problem.payload_bit * factor,
        capacity_hz=problem.capacity_hz * factor,
    )

    assert exact_s(scaled) == pytest.approx(exact_s(problem), rel=2.1e-5)


@given(problem=problems(max_users=10), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_more_band_is_never_longer_and_more_duty_never_shorter(problem, seed):
    """Widening a band relaxes the problem; requiring one more user, or one more, restricts it."""
    drawn = np.random.default_rng(seed)
    optimum_s = exact_s(problem)
    wider = problem.capacity_hz.copy()
    wider[drawn.integers(problem.n_stations)] *= 1.5
    reachable = np.flatnonzero(np.diff(problem.indptr))

    assert exact_s(replace(problem, capacity_hz=wider)) <= optimum_s * (1 + 1.1e-5)
    if reachable.size:
        required = problem.required.copy()
        required[drawn.choice(reachable)] = True
        assert exact_s(replace(problem, required=required)) >= optimum_s * (1 - 1.1e-5)
    if problem.min_selected < reachable.size:
        more = replace(problem, min_selected=problem.min_selected + 1)
        assert exact_s(more) >= optimum_s * (1 - 1.1e-5)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=15, deadline=None)
def test_one_more_station_is_never_longer(seed):
    """Nobody has to use it."""
    drawn = np.random.default_rng(seed)
    problem = random_problem(drawn, 10, 4, PAPER_LIKE)

    fewer = permuted(problem, np.arange(10), np.arange(3))

    assert exact_s(problem) <= exact_s(fewer) * (1 + 1.1e-5)


def test_partition_is_solved():
    """Two equal stations, integer needs that sum to 2 x 20 and split evenly: 8+7+5 and 9+6+5."""
    needs = np.array([9.0, 8.0, 7.0, 6.0, 5.0, 5.0])
    problem = dense(
        np.repeat(1 / needs[:, None], 2, axis=1),
        compute_s=np.zeros(6),
        capacity_hz=np.ones(2),
        payload_bit=1.0,
        min_selected=6,
    )

    assert exact_s(problem) == pytest.approx(20.0, rel=1e-9)
    assert solve_certified(problem, rng()).round_s == pytest.approx(20.0, rel=1e-9)


def test_identical_users_fill_stations_evenly():
    """C + S_bit ceil(K / S) / (B e)."""
    problem = dense(
        np.full((9, 4), 2.0),
        compute_s=np.full(9, 0.1),
        capacity_hz=np.full(4, 1e6),
        payload_bit=1e6,
        min_selected=7,
    )

    assert exact_s(problem) == pytest.approx(0.1 + 2 / 2.0, rel=1e-9)


@pytest.mark.parametrize("policy", [Certified(), Certified(effort=0), Exact()])
def test_the_policies_keep_the_contract(policy):
    """Lawful, repeatable, without memory, never better than brute force."""
    check_policy(policy, n_problems=20)


def test_queues_keep_the_contract():
    """The same for virtual queues."""
    check_policy(Certified(fairness="queues", quota=0.3, weight=10.0), n_problems=20)


def test_large_problems_are_cut_to_a_core():
    """A hundred users a station are searched, the others stay; the gap says that it is enough."""
    problem = random_problem(np.random.default_rng(0), 3000, 4, PAPER_LIKE)

    solution = solve_certified(problem, rng())

    assert judge(problem, solution.schedule).is_lawful
    assert solution.gap < 0.002


def test_one_seed_gives_one_schedule_and_prices_of_the_past_are_used():
    """Bit for bit; a list of prices that is good already is kept or bettered."""
    problem = random_problem(np.random.default_rng(1), 50, 8, PAPER_LIKE)
    first, again = solve_certified(problem, rng()), solve_certified(problem, rng())
    warm = solve_certified(problem, rng(), prices=first.prices)

    np.testing.assert_array_equal(first.schedule.station, again.schedule.station)
    np.testing.assert_array_equal(first.schedule.bandwidth_hz, again.schedule.bandwidth_hz)
    assert warm.bound_s >= first.bound_s * (1 - 1e-9)


def test_a_time_limit_is_kept_and_said():
    """The search goes on until the time is up."""
    problem = random_problem(np.random.default_rng(2), 200, 10, PAPER_LIKE)
    solve_certified(problem, rng(), effort=0)  # compiled
    solution = solve_certified(problem, rng(), time_limit_s=0.3)

    assert solution.outcome is Outcome.TIME_LIMIT
    assert 0.3 <= solution.wall_s < 3


def test_exact_returns_its_best_when_time_is_up():
    """A problem too hard for the time: the best schedule, and a bound below it."""
    problem = random_problem(np.random.default_rng(3), 300, 12, replace(PAPER_LIKE, decades=2.0))
    solution = solve_exact(problem, rng(), time_limit_s=0.5)

    assert judge(problem, solution.schedule).is_lawful
    assert solution.bound_s <= solution.round_s
    if solution.gap > 1e-5:
        assert solution.outcome is Outcome.TIME_LIMIT


def test_the_solver_is_asked_for_by_name_when_it_is_missing(monkeypatch):
    """The message carries the cure."""
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "highspy":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ConfigError, match=r"pip install 'fedroam\[exact\]'"):
        Exact()(random_problem(np.random.default_rng(0), 5, 2, PAPER_LIKE), rng())


@given(problem=problems(max_users=10))
@settings(max_examples=25, deadline=None)
def test_any_schedule_can_be_certified(problem):
    """Both bounds hold; exact is the higher one, and is the optimum."""
    schedule = solve_certified(problem, rng(), effort=0).schedule
    round_s = round_length(problem, schedule)

    prices_s, gap = certify(problem, schedule)
    best_s, least = certify(problem, schedule, level="exact")

    assert prices_s <= best_s <= round_s
    assert least <= gap
    assert gap == gap_of(round_s, prices_s)


def test_an_unknown_level_is_refused():
    """With the nearest known one."""
    problem = random_problem(np.random.default_rng(0), 5, 2, PAPER_LIKE)
    with pytest.raises(ConfigError, match="did you mean 'exact'"):
        certify(problem, All()(problem, rng()), level="exakt")


@given(problem=problems(max_users=9, max_stations=3))
@settings(max_examples=20, deadline=None)
def test_a_sweep_brackets_the_optimum_of_every_number_of_users(problem):
    """For each K the exact optimum lies between bound and schedule, and both rise with K."""
    sweep = sweep_selected(problem, rng())

    assert np.all(np.diff(sweep.round_s) >= 0)
    assert np.all(np.diff(sweep.bound_s) >= 0)
    for i in range(0, sweep.n_selected.size, 3):
        optimum_s = exact_s(replace(problem, min_selected=int(sweep.n_selected[i])))
        assert sweep.bound_s[i] <= optimum_s * (1 + 1e-12)
        assert optimum_s <= sweep.round_s[i] * (1 + 1.1e-5)


def test_a_sweep_takes_numbers_of_ones_own():
    """Sorted, once each; out of range is refused."""
    problem = random_problem(np.random.default_rng(0), 20, 3, PAPER_LIKE)

    assert sweep_selected(problem, rng(), n_selected=[9, 7, 9]).n_selected.tolist() == [7, 9]
    with pytest.raises(ConfigError, match="n_selected is 21"):
        sweep_selected(problem, rng(), n_selected=[21])


def test_queues_are_what_users_are_behind():
    """Quota * round - times_selected, in exact arithmetic, never below 0."""
    problem = replace(
        random_problem(np.random.default_rng(0), 3, 2, replace(PAPER_LIKE, required=0.0)),
        round=30,
        times_selected=np.array([0, 3, 5]),
    )

    np.testing.assert_array_equal(queues(problem, 0.1), [3.0, 0.0, 0.0])


def test_whoever_waits_long_enough_is_served():
    """A user with a bad channel is left out while it is not behind, and taken when it is."""
    efficiency = np.full((6, 2), 4.0)
    efficiency[0] = 0.5
    problem = dense(
        efficiency,
        compute_s=np.full(6, 0.1),
        capacity_hz=np.full(2, 1e6),
        payload_bit=7e5,
        min_selected=3,
    )
    late = replace(problem, round=100, times_selected=np.array([0, 90, 90, 90, 90, 90]))

    calm = solve_fair(problem, rng(), quota=0.3, weight=20.0)
    urged = solve_fair(late, rng(), quota=0.3, weight=20.0)

    assert calm.schedule.station[0] == -1
    assert urged.schedule.station[0] >= 0
    assert calm.round_s < urged.round_s


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"effort": -1}, "effort"),
        ({"effort": float("nan")}, "effort"),
        ({"time_limit_s": -1.0}, "time_limit_s"),
        ({"fairness": "queue"}, "did you mean 'queues'"),
        ({"quota": 2.0}, "quota"),
        ({"weight": 0.0}, "weight"),
        ({"fairness": "queues", "time_limit_s": 1.0}, "none with queues"),
    ],
)
def test_options_without_sense_are_refused(options, message):
    """At construction, with the field and what was expected."""
    with pytest.raises(ConfigError, match=message):
        Certified(**options)


def test_exact_refuses_no_time():
    """A limit of 0 seconds is a mistake."""
    with pytest.raises(ConfigError, match=r"time_limit_s is 0"):
        Exact(time_limit_s=0.0)
