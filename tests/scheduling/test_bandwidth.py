"""The bandwidth split against 50-digit arithmetic, and the laws of the optimum."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedroam.errors import ContractError
from fedroam.scheduling.bandwidth import links_of, share, split
from fedroam.scheduling.judge import judge
from fedroam.scheduling.problem import NO_STATION, dense
from strategies import problems

DIGITS = 50


def exact_split(need, compute, capacity):
    """Bandwidths and finish time of one station, to 50 digits, by bisection on the wait."""
    with mpmath.workdps(DIGITS + 15):
        need, compute = (
            [mpmath.mpf(float(x)) for x in need],
            [mpmath.mpf(float(x)) for x in compute],
        )
        capacity, slowest = mpmath.mpf(float(capacity)), max(compute)

        def load(wait):
            pairs = zip(need, compute, strict=True)
            return mpmath.fsum(q / (wait + (slowest - c)) for q, c in pairs)

        high = mpmath.fsum(need) / capacity
        low = max(q / capacity - (slowest - c) for q, c in zip(need, compute, strict=True))
        pole = mpmath.fsum(q for q, c in zip(need, compute, strict=True) if c == slowest)
        low = max(low, pole / capacity)
        while high - low > mpmath.mpf(10) ** -DIGITS * high:
            middle = mpmath.sqrt(low * high)
            low, high = (middle, high) if load(middle) > capacity else (low, middle)
        wait = (low + high) / 2
        bandwidth = [q / (wait + (slowest - c)) for q, c in zip(need, compute, strict=True)]
        return bandwidth, slowest + wait


def split_one(need, compute, capacity):
    """The split of one station."""
    station = np.zeros(len(need), np.int32)
    bandwidth, finish = split(station, need, compute, np.array([capacity], float))
    return bandwidth, finish[0]


def worst_error(values, exact):
    """The largest relative error."""
    with mpmath.workdps(DIGITS):
        pairs = zip(values, exact, strict=True)
        return max(float(abs(mpmath.mpf(float(v)) / e - 1)) for v, e in pairs)


HARD = {
    "the paper's": lambda rng, n: (rng.uniform(1e5, 1e7, n), rng.uniform(0.1, 0.11, n)),
    "twelve decades of need": lambda rng, n: (
        10.0 ** rng.uniform(0, 12, n),
        rng.uniform(0.1, 0.11, n),
    ),
    "twelve decades of both": lambda rng, n: (
        10.0 ** rng.uniform(0, 12, n),
        10.0 ** rng.uniform(-9, 3, n),
    ),
    "slow computers": lambda rng, n: (10.0 ** rng.uniform(2, 8, n), rng.uniform(0, 1e3, n)),
    "all compute alike": lambda rng, n: (10.0 ** rng.uniform(2, 8, n), np.full(n, 1e3)),
    "ties": lambda rng, n: (rng.choice([1e5, 1e6], n), rng.choice([0.0, 0.1, 0.2], n)),
    "no computing": lambda rng, n: (10.0 ** rng.uniform(2, 8, n), np.zeros(n)),
    "nearly alike": lambda rng, n: (rng.uniform(1e5, 1e6, n), 1e3 + rng.uniform(0, 1e-9, n)),
}


@pytest.mark.parametrize("kind", HARD)
def test_split_is_right_to_twelve_digits(kind):
    """Finish time and every bandwidth agree with 50-digit arithmetic to 1e-12 on hard sets."""
    rng = np.random.default_rng(list(HARD).index(kind))
    for n in (1, 1, 2, 2, 3, 5, 8, 12, 20, 40):
        need, compute = HARD[kind](rng, n)
        capacity = 10.0 ** rng.uniform(5, 7)
        bandwidth, finish = split_one(need, compute, capacity)
        exact_bandwidth, exact_finish = exact_split(need, compute, capacity)
        assert worst_error([finish], [exact_finish]) <= 1e-12
        assert worst_error(bandwidth, exact_bandwidth) <= 1e-12


def test_the_finish_is_right_where_early_users_take_nearly_all_of_the_band():
    """The slowest user's share is then what rounding leaves of it; the finish stays exact."""
    rng = np.random.default_rng(3)
    for _ in range(40):
        n = int(rng.integers(2, 10))
        need, compute = 10.0 ** rng.uniform(0, 12, n), rng.uniform(0, 1e3, n)
        compute[0] = 1e3
        early_hz = (need[1:] / (1e3 - compute[1:])).sum()
        capacity = early_hz * (1 + 10.0 ** rng.uniform(-9, -1))
        bandwidth, finish = split_one(need, compute, capacity)
        exact_bandwidth, exact_finish = exact_split(need, compute, capacity)
        assert worst_error([finish], [exact_finish]) <= 1e-15
        assert worst_error(bandwidth, exact_bandwidth) <= 1e-9


def test_a_station_of_ten_thousand_users_is_split_to_twelve_digits():
    """The load at 1e-12 below and above the answer lies on either side of the band."""
    rng = np.random.default_rng(5)
    need, compute = 10.0 ** rng.uniform(3, 8, 10_000), rng.uniform(0.0, 1e3, 10_000)
    bandwidth, finish = split_one(need, compute, 1e6)
    with mpmath.workdps(DIGITS):

        def load(t):
            pairs = zip(need.tolist(), compute.tolist(), strict=True)
            return mpmath.fsum(mpmath.mpf(q) / (t - mpmath.mpf(c)) for q, c in pairs)

        t = mpmath.mpf(float(finish))
        assert load(t * (1 + mpmath.mpf("1e-12"))) < mpmath.mpf(10) ** 6
        assert load(t * (1 - mpmath.mpf("1e-12"))) > mpmath.mpf(10) ** 6
        # Load is steepest at the root for the slowest users; theirs is the hardest bandwidth.
        given_hz = mpmath.fsum(map(mpmath.mpf, bandwidth.tolist()))
        assert abs(given_hz / 10**6 - 1) < mpmath.mpf("1e-12")


@st.composite
def groups(draw):
    """Needs and compute times of one station's users over many magnitudes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, decades = draw(st.integers(1, 30)), draw(st.sampled_from([0, 3, 9]))
    need = 1e5 * 10.0 ** rng.uniform(-decades / 2, decades / 2, n)
    compute = 10.0 ** rng.uniform(-decades / 3, 0, n)
    if draw(st.booleans()):
        compute[:] = compute[0]
    return need, compute, 10.0 ** draw(st.integers(3, 8))


@given(group=groups())
@settings(max_examples=200)
def test_all_users_of_a_station_finish_together_and_use_up_the_band(group):
    """The two facts that make the split optimal."""
    need, compute, capacity = group
    bandwidth, finish = split_one(need, compute, capacity)

    np.testing.assert_allclose(bandwidth.sum(), capacity, rtol=1e-12)
    np.testing.assert_allclose(compute + need / bandwidth, finish, rtol=1e-11)


@given(group=groups(), need=st.floats(1.0, 1e9), compute=st.floats(0.0, 10.0))
@settings(max_examples=200)
def test_another_user_never_shortens_the_wait(group, need, compute):
    """T(S + i) >= T(S), and it is no less than what user i needs alone."""
    needs, computes, capacity = group
    _, before = split_one(needs, computes, capacity)
    _, after = split_one(np.append(needs, need), np.append(computes, compute), capacity)

    assert after >= before * (1 - 1e-14)
    assert after >= (compute + need / capacity) * (1 - 1e-14)


@given(group=groups())
@settings(max_examples=200)
def test_more_band_never_lengthens(group):
    """T falls with the band."""
    need, compute, capacity = group
    assert split_one(need, compute, capacity * 1.1)[1] <= split_one(need, compute, capacity)[1]


@given(group=groups(), doublings=st.integers(-20, 20))
@settings(max_examples=200)
def test_scaling_laws(group, doublings):
    """Bits with band change nothing; needs with times scale the finish; powers of two exactly."""
    need, compute, capacity = group
    factor = 2.0**doublings
    bandwidth, finish = split_one(need, compute, capacity)

    scaled, same = split_one(need * factor, compute, capacity * factor)
    assert same == finish
    np.testing.assert_array_equal(scaled, bandwidth * factor)
    same, scaled = split_one(need * factor, compute * factor, capacity)
    assert scaled == finish * factor
    np.testing.assert_array_equal(same, bandwidth)


@given(group=groups(), shift=st.floats(0.0, 100.0))
def test_a_common_head_start_only_shifts_the_finish(group, shift):
    """Everybody computing longer by the same time finishes later by it."""
    need, compute, capacity = group
    _, finish = split_one(need, compute, capacity)
    _, later = split_one(need, compute + shift, capacity)

    assert later == pytest.approx(finish + shift, rel=1e-12)


def test_one_user_gets_the_whole_band():
    """T = compute + need / capacity."""
    bandwidth, finish = split_one(np.array([7e5]), np.array([0.1]), 1e6)

    assert bandwidth[0] == pytest.approx(1e6, rel=4e-16)
    assert finish == pytest.approx(0.1 + 7e5 / 1e6, rel=4e-16)


def test_two_users_by_hand():
    """1/(T) + 1/(T - 1) = 1 has the root (3 + sqrt 5) / 2."""
    _, finish = split_one(np.ones(2), np.array([0.0, 1.0]), 1.0)

    assert finish == pytest.approx((3 + 5**0.5) / 2, rel=1e-15)


def test_stations_are_split_independently():
    """Each station's answer is that of its users alone, in whatever order they stand."""
    rng = np.random.default_rng(0)
    station = rng.permutation(np.repeat(np.array([0, 1, 3], np.int32), 7))
    need, compute = rng.uniform(1, 2, 21), rng.uniform(0, 1, 21)
    capacity = np.array([1.0, 2.0, 3.0, 4.0])
    bandwidth, finish = split(station, need, compute, capacity)

    assert finish[2] == 0
    for s in (0, 1, 3):
        mine = station == s
        alone, alone_s = split_one(need[mine], compute[mine], capacity[s])
        np.testing.assert_array_equal(bandwidth[mine], alone)
        assert finish[s] == alone_s


@given(problem=problems(), seed=st.integers(0, 99))
def test_share_serves_whom_it_is_told_and_fills_every_band_in_use(problem, seed):
    """The schedule has the given stations; all users of a station finish together."""
    rng = np.random.default_rng(seed)
    station = np.full(problem.n_users, NO_STATION, np.int32)
    for user in range(problem.n_users):
        links = slice(problem.indptr[user], problem.indptr[user + 1])
        station[user] = rng.choice([NO_STATION, *problem.station[links]])
    schedule = share(problem, station)
    verdict = judge(problem, schedule)

    np.testing.assert_array_equal(schedule.station, station)
    for s in np.unique(station[station != NO_STATION]):
        assert verdict.used_hz[s] == pytest.approx(problem.capacity_hz[s], rel=1e-11)
        finish = verdict.finish_s[station == s]
        np.testing.assert_allclose(finish, finish[0], rtol=1e-10)


def test_share_refuses_a_station_out_of_reach():
    """The message names user and station."""
    problem = dense(
        np.array([[1.0, 0.0], [1.0, 1.0]]),
        compute_s=np.zeros(2),
        capacity_hz=np.ones(2),
        payload_bit=1.0,
        min_selected=1,
    )

    with pytest.raises(ContractError, match="user 0 is sent to station 1, which is out of its re"):
        share(problem, np.array([1, 1], np.int32))
    assert links_of(problem, np.array([0, -1], np.int32)).tolist() == [0, -1]
