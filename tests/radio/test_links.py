"""The channel: the specification's test vectors, Rayleigh fading, nearest stations."""

import numpy as np
import pytest
from scipy import stats

from fedroam.errors import ConfigError, ContractError
from fedroam.radio import LinkDraws, Reach, UrbanMacro
from fedroam.radio.draws import _uniform

PLAIN = UrbanMacro(fading="none")


def draws(n_users, n_stations=1, *, seed=0, round=0):
    """Draws for every user and station."""
    user = np.repeat(np.arange(n_users), n_stations)
    station = np.tile(np.arange(n_stations, dtype=np.int32), n_users)
    return LinkDraws(seed, round, user, station)


@pytest.mark.parametrize(
    ("distance_m", "snr_db"), [(1000, -0.1), (500, 11.22), (200, 26.18), (100, 37.5)]
)
def test_the_specifications_vectors(distance_m, snr_db):
    """SNR_dB = -0.1 - 37.6 log10(D / km), as printed to two digits, and its Shannon rate."""
    exact_db = -0.1 - 37.6 * np.log10(distance_m / 1000)
    assert exact_db == pytest.approx(snr_db, abs=0.005)
    efficiency = PLAIN.efficiency(np.array([float(distance_m)]), draws(1))

    assert efficiency[0] == pytest.approx(np.log2(1 + 10 ** (exact_db / 10)), rel=1e-13)


def test_users_closer_than_the_minimum_count_as_there():
    """The path loss is not extrapolated to zero metres."""
    distance_m = np.array([0.0, 0.3, 1.0, 1.5])
    worth = PLAIN.efficiency(distance_m, draws(4))

    assert worth[0] == worth[1] == worth[2] > worth[3]
    far = UrbanMacro(fading="none", min_distance_m=35.0).efficiency(distance_m, draws(4))
    assert len(set(far.tolist())) == 1
    assert distance_m.tolist() == [0.0, 0.3, 1.0, 1.5]


def test_a_link_far_away_keeps_its_digits():
    """log2(1 + x) of an SNR below rounding is x / ln 2, not zero."""
    distance_m = np.array([1e8])
    snr = 10 ** ((-0.1 - 37.6 * 5) / 10)

    assert PLAIN.efficiency(distance_m, draws(1))[0] == pytest.approx(snr / np.log(2), rel=1e-12)


def test_fading_is_exponential_with_mean_one():
    """Kolmogorov-Smirnov over 200,000 links, and no correlation between neighbours."""
    for gain in (draws(25_000, 8).exponential("fading"), draws(200_000).exponential("fading")):
        assert stats.kstest(gain, "expon").pvalue > 1e-3
        assert gain.min() > 0
        assert np.isfinite(gain).all()
        assert abs(np.corrcoef(gain[1:], gain[:-1])[0, 1]) < 4 / np.sqrt(gain.size)
    by_user = draws(25_000, 8).uniform("fading").reshape(25_000, 8)
    assert np.abs(np.corrcoef(by_user.T) - np.eye(8)).max() < 5 / np.sqrt(25_000)


def test_fading_multiplies_the_snr():
    """Efficiency with fading is log2(1 + gain SNR)."""
    distance_m, links = np.full(100, 700.0), draws(100)
    snr = 2 ** PLAIN.efficiency(distance_m, links) - 1
    faded = UrbanMacro().efficiency(distance_m, links)

    expected = np.log2(1 + snr * links.exponential("fading"))
    np.testing.assert_allclose(faded, expected, rtol=1e-12)


def test_every_link_round_seed_and_name_has_numbers_of_its_own():
    """No number occurs twice over users, stations, rounds, seeds and names."""
    numbers = [
        draws(100, 5, seed=seed, round=round).uniform(name)
        for seed in (0, 1)
        for round in (0, 1, 2)
        for name in ("fading", "other")
    ]
    everything = np.concatenate(numbers)

    assert np.unique(everything).size == everything.size


def test_lasting_numbers_are_the_same_in_every_round():
    """Shadowing belongs to the link, fading to the round."""
    early, late = draws(50, round=1), draws(50, round=2)

    np.testing.assert_array_equal(early.uniform("a", lasting=True), late.uniform("a", lasting=True))
    assert not np.array_equal(early.uniform("a"), late.uniform("a"))


def test_normal_numbers_are_normal():
    """Kolmogorov-Smirnov over 100,000 links."""
    assert stats.kstest(draws(100_000).normal("shadowing"), "norm").pvalue > 1e-3


def test_shadowing_is_a_lasting_gain_in_db():
    """The SNR in dB differs from the plain one by a normal number of the given deviation."""
    distance_m = np.full(50_000, 300.0)
    model = UrbanMacro(fading="none", shadowing_db=8.0)
    snr = [2 ** m.efficiency(distance_m, draws(50_000)) - 1 for m in (model, PLAIN)]
    gain_db = 10 * np.log10(snr[0] / snr[1])

    assert stats.kstest(gain_db / 8, "norm").pvalue > 1e-3
    again = model.efficiency(distance_m, draws(50_000, round=9))
    np.testing.assert_array_equal(again, model.efficiency(distance_m, draws(50_000)))


def inverse_mix(x):
    """The one 64-bit number that the mixer of ``_uniform`` sends to ``x``."""
    mask = 2**64 - 1

    def unshift(y, by):
        x = y
        for _ in range(64 // by + 1):
            x = y ^ (x >> by)
        return x

    x = unshift(x, 31) * pow(0x94D049BB133111EB, -1, 2**64) & mask
    x = unshift(x, 27) * pow(0xBF58476D1CE4E5B9, -1, 2**64) & mask
    return unshift(x, 30)


@pytest.mark.parametrize("bits", [0, 1, 2**64 - 1, 2**63])
def test_uniform_numbers_lie_strictly_between_0_and_1(bits):
    """
    Also where all mixed bits are zeros or ones, so that logarithms are finite and negative.

    The mixer is undone to find keys that lead there. Found by review: all ones rounded to 1.
    """
    once = 12345
    low = np.uint64(inverse_mix(once))  # user 0, station 0: the state is the key
    high = np.uint64((inverse_mix(bits) - once) % 2**64)
    number = _uniform(low, high, np.zeros(1, np.int64), np.zeros(1, np.int32))[0]

    assert 0 < number < 1
    assert number == pytest.approx(bits / 2**64, abs=2**-52)


def places(n, seed):
    """Uniform over a square kilometre."""
    return np.random.default_rng(seed).random((n, 2)) * 1000


@pytest.mark.parametrize("nearest", [1, 3, 8, 19, 20, 25, 0])
def test_nearest_stations_are_those_of_brute_force(nearest):
    """The k nearest of twenty, sorted by station; all of them where k is 0 or large."""
    user_m, station_m = places(300, 1), places(20, 2)
    found = Reach(station_m, nearest).stations_of(user_m)
    distance_m = np.linalg.norm(user_m[:, None] - station_m[None], axis=2)
    k = nearest if 0 < nearest < 20 else 20

    np.testing.assert_array_equal(found, np.sort(np.argsort(distance_m, axis=1)[:, :k], axis=1))


@pytest.mark.parametrize("nearest", [1, 3, 8])
@pytest.mark.parametrize("radio", [UrbanMacro(), UrbanMacro(shadowing_db=6.0), PLAIN])
def test_a_link_is_worth_the_same_whichever_others_are_looked_at(nearest, radio):
    """Bit for bit equal between the nearest few and all, also across blocks of links."""
    user_m, station_m = places(7000, 3), places(13, 4)
    few = Reach(station_m, nearest).measure(radio, user_m, 5, 6)
    every = Reach(station_m).measure(radio, user_m, 5, 6)
    matrix = every.efficiency.reshape(7000, 13)
    user = np.repeat(np.arange(7000), nearest)

    assert few.indptr.tolist() == list(range(0, 7000 * nearest + 1, nearest))
    np.testing.assert_array_equal(few.efficiency, matrix[user, few.station])


def test_measured_links_are_what_plain_loops_give():
    """Distance, path loss, fading and Shannon's formula, one link at a time."""
    user_m, station_m = places(9, 5), places(4, 6)
    links = Reach(station_m).measure(UrbanMacro(), user_m, 7, 8)
    gain = draws(9, 4, seed=7, round=8).exponential("fading").reshape(9, 4)

    for u in range(9):
        for s in range(4):
            km = max(np.hypot(*(user_m[u] - station_m[s])) / 1000, 1e-3)
            snr = 10 ** ((14 + 114 - 128.1 - 37.6 * np.log10(km)) / 10)
            expected = np.log2(1 + snr * gain[u, s])
            assert links.efficiency[4 * u + s] == pytest.approx(expected, rel=1e-11)
    assert links.station.tolist() == [0, 1, 2, 3] * 9
    assert not links.efficiency.flags.writeable


def test_a_radio_that_answers_the_wrong_shape_is_named():
    """The culprit's class, what it answered and what was expected."""

    class OneNumber:
        def efficiency(self, distance_m, draws):
            return np.array([1.0])

    with pytest.raises(ContractError, match=r"radio OneNumber answered shape \(1,\)"):
        Reach(places(3, 0)).measure(OneNumber(), places(2, 1), 0, 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"power_dbm_per_mhz": np.nan}, "power_dbm_per_mhz is nan, expected a finite number"),
        ({"loss_per_decade_db": -1.0}, r"loss_per_decade_db is -1\.0, expected >= 0"),
        ({"min_distance_m": 0.0}, r"min_distance_m is 0\.0, expected > 0"),
        ({"shadowing_db": -1.0}, r"shadowing_db is -1\.0, expected >= 0"),
        ({"fading": "rayliegh"}, "fading: no 'rayliegh'; did you mean 'rayleigh'"),
    ],
)
def test_nonsense_is_refused(options, message):
    """The message has the field, the value and what was expected."""
    with pytest.raises(ConfigError, match=message):
        UrbanMacro(**options)
