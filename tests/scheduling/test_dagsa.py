"""DAGSA against a transcription of the paper's Algorithm 1, and its options against their words."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedroam.errors import ConfigError, InfeasibleError
from fedroam.scheduling.judge import judge
from fedroam.scheduling.policies.dagsa import Dagsa
from fedroam.scheduling.problem import NO_STATION, dense
from scheduling.transcription import algorithm_1, channels, optimal_time
from strategies import Kind, problems, random_problem, same_arrays

each_reading = pytest.mark.parametrize(
    "reading",
    [
        Dagsa(),
        Dagsa(threshold="raise"),
        Dagsa(overshoot=False),
        Dagsa(threshold="raise", overshoot=False),
    ],
    ids=["printed", "raise", "exact", "raise-exact"],
)


def ask(policy, problem, seed=0):
    """The policy's answer under a seed."""
    return policy(problem, np.random.default_rng(seed))


def transcribed(policy, problem, seed=0):
    """The transcription's answer under the same reading and seed."""
    rng = np.random.default_rng(seed)
    return algorithm_1(problem, rng, threshold=policy.threshold, overshoot=policy.overshoot)


@each_reading
@given(problem=problems(max_users=20), seed=st.integers(0, 1000))
@settings(max_examples=200)
def test_the_fast_search_chooses_what_the_transcription_chooses(reading, problem, seed):
    """Compiled loops, additive loads and heaps change nothing about who is served where."""
    np.testing.assert_array_equal(
        ask(reading, problem, seed).station, transcribed(reading, problem, seed)
    )


@each_reading
@pytest.mark.parametrize("required", [0.0, 0.3])
@pytest.mark.parametrize("reach", [1.0, 0.4])
def test_the_fast_search_chooses_what_the_transcription_chooses_at_the_papers_size(
    reading, required, reach
):
    """The same at 50 users and 8 stations of unequal band."""
    for seed in range(5):
        kind = Kind(reach, has_unequal_bands=True, required=required, decades=seed)
        problem = random_problem(np.random.default_rng(seed), 50, 8, kind)
        np.testing.assert_array_equal(
            ask(reading, problem, seed).station, transcribed(reading, problem, seed)
        )


@each_reading
@pytest.mark.parametrize("selected", [0.2, 1.0])
def test_the_fast_search_chooses_the_same_where_one_station_attracts_most(reading, selected):
    """Stations take from none to nearly all users, more than a search for the best few expects."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        efficiency = rng.exponential(1.0, (150, 4)) * 100.0 ** -np.arange(4)
        efficiency[rng.random((150, 4)) < 0.3] = 0.0
        efficiency[:, 0] += 0.01
        problem = dense(
            efficiency,
            compute_s=rng.uniform(0.1, 0.11, 150),
            capacity_hz=np.array([1e6, 1e7, 1e8, 1e9]),
            payload_bit=7e5,
            required=rng.random(150) < 0.2,
            min_selected=int(150 * selected),
        )
        np.testing.assert_array_equal(
            ask(reading, problem, seed).station, transcribed(reading, problem, seed)
        )


@each_reading
@given(problem=problems(), seed=st.integers(0, 100))
def test_every_schedule_is_lawful_and_a_seed_gives_one(reading, problem, seed):
    """All required users and enough users take part, and a second call answers the same."""
    schedule = ask(reading, problem, seed)

    assert judge(problem, schedule).is_lawful
    same_arrays(schedule, ask(reading, problem, seed))


@given(problem=problems())
def test_without_overshoot_nobody_is_chosen_beyond_what_is_asked(problem):
    """The count is min_selected, unless more are required."""
    n_chosen = ask(Dagsa(overshoot=False), problem).chosen.size

    assert n_chosen == max(problem.min_selected, np.count_nonzero(problem.required))


def test_the_scan_may_select_more_than_asked_as_printed():
    """Two equal users on two equal stations finish at one threshold: the second comes for free."""
    problem = dense(
        np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.5]]),
        compute_s=np.zeros(3),
        capacity_hz=np.ones(2),
        payload_bit=1.0,
        required=np.array([True, False, False]),
        min_selected=2,
    )
    # Threshold 1 s after user 0; user 1 fits station 1 exactly; that makes two, and as printed one
    # more comes from a random station, whose only remaining user is 2.
    assert ask(Dagsa(overshoot=False), problem).chosen.tolist() == [0, 1]
    counts = {ask(Dagsa(), problem, seed).chosen.size for seed in range(20)}
    assert counts == {2, 3}


def test_an_assigned_threshold_falls_and_a_raised_one_does_not():
    """A quick user added late pulls the printed threshold down, so that fewer come for free."""
    # User 0 must take part: 10 s at station 2. At that threshold station 0 refuses its best user 1
    # (20 s there), which station 1 then takes (1 s). If chance falls on station 0 now, it adds
    # user 2, in 0.25 s: users 3 and 4, who need 1 s each, fit within 10 s but not within 0.25 s.
    # If chance falls elsewhere, nobody is added and the next scan takes 2, 3 and 4 at 10 s.
    problem = dense(
        np.array([[0, 0, 0.1], [0.05, 1, 0], [0.04, 0, 0], [0.03, 0, 0], [0.02, 0, 0]]),
        compute_s=np.zeros(5),
        capacity_hz=np.ones(3),
        payload_bit=np.array([1.0, 1.0, 0.01, 0.03, 0.02]),
        required=np.array([True, False, False, False, False]),
        min_selected=4,
    )
    h = channels(problem)
    assert [optimal_time(problem, h, [i], k) for i, k in ((0, 2), (1, 0), (1, 1), (2, 0))] == (
        pytest.approx([10, 20, 1, 0.25])
    )
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rng.permutation(1)
        by_chance = int(rng.random() * 3)
        everybody = [0, 1, 2, 3, 4]
        chosen = everybody[:4] if by_chance == 0 else everybody
        assert ask(Dagsa(threshold="raise"), problem, seed).chosen.tolist() == everybody
        assert ask(Dagsa(), problem, seed).chosen.tolist() == chosen


@each_reading
def test_too_few_users_within_reach_is_said(reading):
    """Two users reach a station, three must take part: no schedule exists."""
    problem = dense(
        np.array([[1.0], [0.0], [2.0], [0.0]]),
        compute_s=np.zeros(4),
        capacity_hz=np.ones(1),
        payload_bit=1.0,
        min_selected=3,
    )

    with pytest.raises(InfeasibleError, match="only 2 users can reach a station, 3 must take part"):
        ask(reading, problem)
    with pytest.raises(InfeasibleError):
        transcribed(reading, problem)


def test_an_unknown_reading_is_refused():
    """The message names the nearest reading."""
    with pytest.raises(ConfigError, match="threshold: no 'rise'; did you mean 'raise'"):
        Dagsa(threshold="rise")


@given(problem=problems())
def test_who_is_out_of_reach_is_never_chosen(problem):
    """A user without links is left out."""
    unreachable = np.diff(problem.indptr) == 0

    assert (ask(Dagsa(), problem).station[unreachable] == NO_STATION).all()
