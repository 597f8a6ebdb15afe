"""FedCS against plain loops over the words of its definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedroam.errors import ConfigError
from fedroam.scheduling.judge import judge
from fedroam.scheduling.policies import POLICIES
from fedroam.scheduling.policies.best_station import best_station
from fedroam.scheduling.policies.fedcs import FedCS
from fedroam.scheduling.problem import NO_STATION, dense
from strategies import problems


def plain_fedcs(problem, threshold_s):
    """Add the best remaining candidate while the slowest, at equal shares, is in time."""
    home, chosen = best_station(problem), np.full(problem.n_users, NO_STATION)
    for s in range(problem.n_stations):
        gain = {}
        for user in np.flatnonzero(home == s):
            links = slice(problem.indptr[user], problem.indptr[user + 1])
            gain[user] = problem.efficiency[links][problem.station[links] == s][0]
        admitted = []
        for user in sorted(gain, key=lambda u: (-gain[u], u)):
            group = [*admitted, user]
            share_hz = problem.capacity_hz[s] / len(group)
            slowest_s = max(
                problem.compute_s[u] + problem.payload_bit[u] / (share_hz * gain[u]) for u in group
            )
            if slowest_s > threshold_s * (1 + 1e-12):
                break
            admitted = group
        chosen[admitted] = s
    return chosen


@given(problem=problems(max_users=30), threshold_s=st.floats(0.05, 20.0))
@settings(max_examples=300)
def test_who_is_admitted_is_who_the_definition_admits(problem, threshold_s):
    """The running minimum of limits is the same rule as asking the slowest each time."""
    schedule = FedCS(threshold_s)(problem, np.random.default_rng(0))
    verdict = judge(problem, schedule)

    np.testing.assert_array_equal(schedule.station, plain_fedcs(problem, threshold_s))
    assert verdict.round_s <= threshold_s * (1 + 1e-9)


def test_a_round_that_nobody_can_finish_is_empty_and_lasts_the_threshold():
    """Everybody computes for longer than the threshold."""
    problem = dense(
        np.ones((3, 2)),
        compute_s=np.ones(3),
        capacity_hz=np.ones(2),
        payload_bit=1e-3,
        min_selected=2,
    )
    schedule = FedCS(0.6)(problem, np.random.default_rng(0))

    assert schedule.chosen.size == 0
    assert judge(problem, schedule).round_s == 0.6


def test_a_round_lasts_until_the_slowest_admitted_user_not_the_threshold():
    """One user, 0.25 s of computing and 0.25 s of sending: 0.5 s of a second."""
    problem = dense(
        np.ones((1, 1)),
        compute_s=np.array([0.25]),
        capacity_hz=np.array([4.0]),
        payload_bit=1.0,
        min_selected=1,
    )

    assert judge(problem, FedCS(1.0)(problem, np.random.default_rng(0))).round_s == 0.5


def test_the_papers_thresholds_have_names():
    """CS-Low waits 0.6 s, CS-High 1 s."""
    assert POLICIES["fedcs-low"]() == FedCS(0.6)
    assert POLICIES["fedcs-high"]() == FedCS(1.0)


@pytest.mark.parametrize("threshold_s", [0.0, -1.0, np.nan, np.inf])
def test_a_threshold_that_is_no_time_is_refused(threshold_s):
    """Positive, finite seconds."""
    with pytest.raises(ConfigError, match=r"threshold_s is .*, expected > 0 seconds"):
        FedCS(threshold_s)
