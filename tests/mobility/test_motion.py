"""Reflection against bounces one by one; every model inside, repeatable, and bounded in speed."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fedroam.errors import ConfigError
from fedroam.mobility import MOBILITY, RandomDirection, RandomWaypoint, Still
from fedroam.mobility.motion import reflect
from fedroam.streams import stream

DRAW = partial(stream, 5, "mobility")
AREA_M = 100.0

MODELS = {
    "round": RandomDirection(20.0),
    "7 s": RandomDirection(20.0, turn_every=7.0),
    "0.3 s": RandomDirection(20.0, turn_every=0.3),
    "never": RandomDirection(20.0, turn_every="never"),
    "waypoint": RandomWaypoint(1.0, 20.0),
    "waypoint with pauses": RandomWaypoint(5.0, 20.0, pause_s=3.0),
    "still": Still(),
}
each_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
each_timed = pytest.mark.parametrize(
    "model", [m for m in MODELS.values() if m.follows_time], ids=[*MODELS][1:]
)


def bounce(place, step, area):
    """Walk to the border, turn, walk on: one bounce at a time."""
    place, step = float(place), float(step)
    while True:
        room = area - place if step > 0 else place
        if abs(step) <= room:
            return place + step
        step = -np.sign(step) * (abs(step) - room)
        place = area if step < 0 else 0.0


@given(share=st.floats(0, 1), steps=st.floats(-50, 50), area=st.floats(0.1, 1e4))
@settings(max_examples=500)
def test_reflection_is_bouncing_as_often_as_needed(share, steps, area):
    """Steps of up to fifty sides end where single bounces end."""
    start = share * area
    end = reflect(np.array([start + steps * area]), area)[0]

    assert 0 <= end <= area
    assert end == pytest.approx(bounce(start, steps * area, area), abs=1e-12 * area)


def walk(model, times_s, n_users=50, area_m=AREA_M, draw=DRAW):
    """Places at the start and at each time, ``[T + 1, U, 2]``."""
    motion = model.start(n_users, area_m, draw)
    places = [motion.position_m]
    for i, now_s in enumerate(times_s):
        motion = model.advance(motion, area_m, float(now_s), i + 1, draw)
        places.append(motion.position_m)
    return np.array(places)


@each_model
def test_users_stay_inside_and_keep_the_speed_limit(model):
    """Never out of the area, never faster than 20 m/s, also over steps of many sides."""
    times_s = np.cumsum(np.random.default_rng(0).exponential(5.0, 100))
    places = walk(model, times_s)
    steps_m = np.linalg.norm(np.diff(places, axis=0), axis=2)
    elapsed_s = np.diff(times_s, prepend=0)

    assert places.min() >= 0
    assert places.max() <= AREA_M
    assert (steps_m <= 20.0 * elapsed_s[:, None] * (1 + 1e-9) + 1e-9).all()


@each_model
def test_no_time_is_no_move_and_little_time_a_small_one(model):
    """At dt = 0 users stand where they stood; at dt -> 0 they go there continuously."""
    start = model.start(50, AREA_M, DRAW)
    for dt_s in (0.0, 1e-9, 1e-3):
        moved = model.advance(start, AREA_M, dt_s, 1, DRAW)
        gone_m = np.linalg.norm(moved.position_m - start.position_m, axis=1)
        assert gone_m.max() <= 20.0 * dt_s * (1 + 1e-6) + 1e-12


@each_timed
@given(cuts=st.lists(st.floats(0.001, 60.0), max_size=12))
@settings(max_examples=60)
def test_places_depend_on_absolute_time_only(model, cuts):
    """Bit for bit the same at 60 s, whatever the rounds on the way there."""
    stops_s = [*sorted(cuts), 60.0]

    np.testing.assert_array_equal(walk(model, stops_s)[-1], walk(model, [60.0])[-1])


@each_model
def test_a_seed_gives_one_walk_and_another_seed_another(model):
    """Walks repeat, and differ between seeds."""
    times_s = np.arange(1.0, 30.0)
    other = partial(stream, 6, "mobility")

    np.testing.assert_array_equal(walk(model, times_s), walk(model, times_s))
    assert not np.array_equal(walk(model, times_s), walk(model, times_s, draw=other))


@each_model
def test_motion_goes_on_from_its_arrays(model):
    """What a checkpoint holds is all that the walk depends on."""
    times_s = np.arange(1.0, 30.0)
    whole = walk(model, times_s)
    motion = model.start(50, AREA_M, DRAW)
    for i, now_s in enumerate(times_s):
        saved = {k: np.array(v) for k, v in motion.memory.items()}
        motion = type(motion)(np.array(motion.position_m), saved)
        motion = model.advance(motion, AREA_M, float(now_s), i + 1, DRAW)
    np.testing.assert_array_equal(motion.position_m, whole[-1])


@pytest.mark.parametrize("turn_every", ["round", 5.0, "never"])
def test_random_direction_keeps_users_uniform(turn_every):
    """After 200 s of bouncing x and y are still uniform: Kolmogorov-Smirnov, p > 1e-3."""
    places = walk(RandomDirection(20.0, turn_every), np.arange(10.0, 210.0, 10.0), n_users=20_000)

    for axis in (0, 1):
        assert stats.kstest(places[-1, :, axis] / AREA_M, "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(places[-1].T)[0, 1]) < 4 / np.sqrt(20_000)


def test_random_direction_walks_straight_at_its_speed():
    """In an area too large for borders each step is speed x time long, in uniform directions."""
    places = walk(RandomDirection(20.0), [0.35, 0.85], n_users=20_000, area_m=1e9)
    for step_m, length_m in zip(np.diff(places, axis=0), (7.0, 10.0), strict=True):
        np.testing.assert_allclose(np.linalg.norm(step_m, axis=1), length_m, rtol=1e-6)
        angle = np.arctan2(step_m[:, 1], step_m[:, 0]) / (2 * np.pi) + 0.5
        assert stats.kstest(angle, "uniform").pvalue > 1e-3


def test_directions_last_as_long_as_they_should():
    """Every round anew, every 10 s, or never again."""
    times_s = np.arange(1.0, 21.0)
    for turn_every, n_turns in (("round", 19), (10.0, 1), ("never", 0)):
        model = RandomDirection(1.0, turn_every)
        steps_m = np.diff(walk(model, times_s, area_m=1e6), axis=0)
        has_turned = (np.abs(np.diff(steps_m, axis=0)).max(axis=(1, 2)) > 1e-6).sum()
        assert has_turned == n_turns


def test_at_speed_zero_nobody_moves():
    """Figure 4 begins at 0 m/s."""
    places = walk(RandomDirection(0.0), [1.0, 100.0])

    np.testing.assert_array_equal(places[0], places[-1])


def test_waypoint_users_pause_where_they_arrive_and_gather_in_the_middle():
    """Pauses longer than walks: most stand still; the middle quarter holds more than 1/4."""
    # A leg of 52 m on average takes some 3.6 s, a pause 5 s.
    places = walk(RandomWaypoint(10.0, 20.0, pause_s=5.0), [300.0, 300.01], n_users=4000)
    stands = (places[1] == places[2]).all(axis=1).mean()
    assert stands == pytest.approx(5 / 8.6, abs=0.05)

    walking = walk(RandomWaypoint(10.0, 20.0), [300.0], n_users=4000)[-1]
    middle = (np.abs(walking / AREA_M - 0.5) < 0.25).all(axis=1).mean()
    assert middle > 0.3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RandomDirection(-1.0), r"speed_m_s is -1\.0, expected >= 0"),
        (lambda: RandomDirection(np.nan), "speed_m_s is nan"),
        (lambda: RandomDirection(np.inf), "speed_m_s is inf"),
        (lambda: RandomDirection(1.0, 0.0), 'turn_every is 0.0, expected "round", "never" or'),
        (lambda: RandomDirection(1.0, 1e-9), r"turn_every is 1e-09, .* or seconds >= 0\.001"),
        (lambda: RandomDirection(1.0, "sometimes"), "turn_every is 'sometimes'"),
        (lambda: RandomDirection(1.0, np.nan), "turn_every is nan"),
        (lambda: RandomWaypoint(0.0), r"slowest_m_s is 0\.0, expected > 0"),
        (lambda: RandomWaypoint(5.0, 4.0), r"fastest_m_s is 4\.0, expected >= slowest_m_s"),
        (lambda: RandomWaypoint(pause_s=-1.0), r"pause_s is -1\.0, expected >= 0"),
    ],
)
def test_nonsense_is_refused(make, message):
    """The message has the field, the value and what was expected."""
    with pytest.raises(ConfigError, match=message):
        make()


def test_the_registry_holds_the_three_models():
    """Names in settings files are stable."""
    assert sorted(MOBILITY) == ["random-direction", "random-waypoint", "still"]
