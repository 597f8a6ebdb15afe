"""The judge against plain loops, and what it refuses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedroam.errors import ContractError
from fedroam.scheduling.judge import finish_times, judge, round_length
from fedroam.scheduling.problem import NO_STATION, Schedule, dense
from strategies import problems


@st.composite
def answered(draw):
    """A problem and a feasible schedule for it, at random bandwidths."""
    problem = draw(problems())
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    station = np.full(problem.n_users, NO_STATION, np.int32)
    for user in range(problem.n_users):
        links = slice(problem.indptr[user], problem.indptr[user + 1])
        station[user] = rng.choice([NO_STATION, *problem.station[links]])
    bandwidth = np.where(station == NO_STATION, 0.0, rng.uniform(1e-3, 1, problem.n_users))
    for s in range(problem.n_stations):
        at = station == s
        total = bandwidth[at].sum()
        bandwidth[at] *= problem.capacity_hz[s] * rng.uniform(0.1, 1) / max(total, 1e-300)
    return problem, Schedule(station, bandwidth, if_empty_s=2.0)


def plain_finish_times(problem, schedule):
    """The definition, with loops and dictionaries."""
    finish = {}
    for user in range(problem.n_users):
        s = int(schedule.station[user])
        if s == -1:
            continue
        first, last = problem.indptr[user], problem.indptr[user + 1]
        worth = dict(
            zip(problem.station[first:last].tolist(), problem.efficiency[first:last], strict=True)
        )
        rate = float(schedule.bandwidth_hz[user]) * float(worth[s])
        finish[user] = float(problem.compute_s[user]) + float(problem.payload_bit[user]) / rate
    return finish


@given(case=answered())
@settings(max_examples=300)
def test_the_verdict_is_that_of_plain_loops(case):
    """Finish times, loads, round length, straggler and broken rules follow their definitions."""
    problem, schedule = case
    verdict = judge(problem, schedule)
    finish = plain_finish_times(problem, schedule)

    assert verdict.n_selected == len(finish)
    for user in range(problem.n_users):
        if user in finish:
            assert verdict.finish_s[user] == finish[user]
        else:
            assert np.isnan(verdict.finish_s[user])
    for s in range(problem.n_stations):
        members = [u for u in finish if schedule.station[u] == s]
        used = sum(float(schedule.bandwidth_hz[u]) for u in members)
        assert verdict.used_hz[s] == pytest.approx(used, rel=1e-14)
        last = max((finish[u] for u in members), default=np.nan)
        np.testing.assert_equal(verdict.station_s[s], last)
    assert verdict.round_s == max(finish.values(), default=2.0)
    if finish:
        assert finish[verdict.straggler] == verdict.round_s
    else:
        assert verdict.straggler == -1
    required = set(np.flatnonzero(problem.required).tolist())
    assert verdict.missed.tolist() == sorted(required - set(finish))
    assert verdict.lacking == max(0, problem.min_selected - len(finish))
    assert verdict.is_lawful == (required <= set(finish) and len(finish) >= problem.min_selected)
    np.testing.assert_array_equal(finish_times(problem, schedule), verdict.finish_s)
    assert round_length(problem, schedule) == verdict.round_s


def two_by_two(**changes):
    """User 0 reaches both stations, user 1 only station 1; each has 10 Hz."""
    facts = {
        "compute_s": np.array([1.0, 2.0]),
        "capacity_hz": np.array([10.0, 10.0]),
        "payload_bit": 20.0,
        "min_selected": 1,
        "required": np.array([False, True]),
    }
    return dense(np.array([[1.0, 2.0], [0.0, 1.0]]), **(facts | changes))


def test_a_verdict_by_hand():
    """User 0: 1 s + 20 bit / (5 Hz * 2 bit/s/Hz) = 3 s; user 1: 2 s + 20 / (4 * 1) = 7 s."""
    verdict = judge(two_by_two(), Schedule([1, 1], [5.0, 4.0]))

    assert verdict.finish_s.tolist() == [3.0, 7.0]
    assert verdict.used_hz.tolist() == [0.0, 9.0]
    np.testing.assert_array_equal(verdict.station_s, [np.nan, 7.0])
    assert (verdict.round_s, verdict.straggler, verdict.n_selected) == (7.0, 1, 2)
    assert verdict.is_lawful


def test_leaving_a_required_user_out_is_feasible_and_unlawful():
    """Baselines that ignore the rule are played and told of, not refused."""
    verdict = judge(two_by_two(), Schedule([0, -1], [5.0, 0.0]))

    assert verdict.missed.tolist() == [1]
    assert verdict.lacking == 0
    assert not verdict.is_lawful


def test_too_few_users_is_feasible_and_unlawful():
    """One user of two that are asked for: one is lacking."""
    verdict = judge(two_by_two(min_selected=2), Schedule([-1, 1], [0.0, 5.0]))

    assert verdict.lacking == 1
    assert verdict.missed.size == 0
    assert not verdict.is_lawful


def test_nobody_is_a_round_that_lasts_what_the_schedule_says():
    """An empty round has no straggler and lasts its deadline."""
    verdict = judge(two_by_two(), Schedule([-1, -1], [0.0, 0.0], if_empty_s=0.6))

    assert (verdict.round_s, verdict.straggler, verdict.n_selected) == (0.6, -1, 0)
    assert np.isnan(verdict.station_s).all()


@pytest.mark.parametrize(
    ("station", "bandwidth", "message"),
    [
        ([1, 1], [np.nan, 1.0], "user 0 is chosen, but has nan Hz, expected > 0"),
        ([1, 1], [5.0, 0.0], "user 1 is chosen, but has 0.0 Hz, expected > 0"),
        ([1, 1], [5.0, -1.0], "user 1 is chosen, but has -1.0 Hz, expected > 0"),
        ([1, 1], [np.inf, 1.0], "user 0 is chosen, but has inf Hz, expected > 0"),
        ([-1, 1], [1.0, 1.0], "user 0 is left out, but has 1.0 Hz, expected 0"),
        ([-1, 1], [np.nan, 1.0], "user 0 is left out, but has nan Hz, expected 0"),
        ([0, 0], [1.0, 1.0], "user 1 is sent to station 0, which is out of its reach"),
        ([2, 1], [1.0, 1.0], r"user 0 is sent to station 2, expected -1\.\.1"),
        ([-2, 1], [1.0, 1.0], r"user 0 is sent to station -2, expected -1\.\.1"),
        ([1, 1], [5.0, 5.1], r"station 1 gives 10\.1 Hz, has 10"),
        ([1], [5.0], "the schedule is for 1 users, the problem has 2"),
        ([1, 1, -1], [5.0, 1.0, 0.0], "the schedule is for 3 users, the problem has 2"),
        ([-1, 1], [0.0, 5e-324], "the round lasts inf s, expected a finite time"),
    ],
)
def test_an_infeasible_schedule_is_refused_with_the_reason(station, bandwidth, message):
    """The message names the user or station and both numbers."""
    with pytest.raises(ContractError, match=message):
        judge(two_by_two(), Schedule(station, bandwidth))


@pytest.mark.parametrize("if_empty_s", [np.nan, np.inf, -1.0])
def test_an_empty_round_without_a_length_is_refused(if_empty_s):
    """The clock moves forward by a finite time only."""
    with pytest.raises(ContractError, match="the round lasts"):
        judge(two_by_two(), Schedule([-1, -1], [0.0, 0.0], if_empty_s=if_empty_s))


def test_the_band_may_be_exceeded_by_rounding_only():
    """A relative 1e-9 is rounding, 1e-8 is not."""
    judge(two_by_two(), Schedule([1, 1], [5.0, 5.0 * (1 + 1e-10)]))

    with pytest.raises(ContractError, match="station 1 gives"):
        judge(two_by_two(), Schedule([1, 1], [5.0, 5.0 * (1 + 1e-7)]))
