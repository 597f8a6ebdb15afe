"""
Contract checks for plug-ins, the same that every built-in passes.

In the tests of your own policy::

    from fedroam.testing import check_policy

    def test_my_policy():
        check_policy(MyPolicy())

Each check raises AssertionError with the broken rule and the case that shows it.
"""

import copy
from collections.abc import Iterator
from dataclasses import fields
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from fedroam.errors import ContractError, InfeasibleError
from fedroam.learning.contracts import check_dataset, check_partition
from fedroam.learning.trainer_contract import check_trainer
from fedroam.mobility import Mobility, Motion
from fedroam.radio import LinkDraws, Radio
from fedroam.scheduling.bandwidth import split
from fedroam.scheduling.judge import judge
from fedroam.scheduling.problem import Policy, Problem, Schedule, dense
from fedroam.streams import stream

__all__ = [
    "check_dataset",
    "check_mobility",
    "check_partition",
    "check_policy",
    "check_radio",
    "check_trainer",
    "example_problems",
    "optimum_s",
]


def check_policy(policy: Policy, *, n_problems: int = 40, seed: int = 0) -> None:
    """
    A policy answers feasibly, the same when asked again, changes nothing, and keeps its word.

    Its word: every required user and enough users take part, except for what it names in
    ``ignores``. On problems small enough for brute force it never beats the optimum.
    """
    problems = list(example_problems(n_problems, seed))
    answers = [_answer(policy, problem, i) for i, problem in enumerate(problems)]
    for i in reversed(range(len(problems))):  # in another order: a memory would show
        again = _answer(policy, problems[i], i)
        first = answers[i]
        _must(
            (first is None) == (again is None)
            and (first is None or again is None or _same(first, again)),
            f"problem {i}: answered differently when asked again with the same random numbers",
        )
    for i, (problem, schedule) in enumerate(zip(problems, answers, strict=True)):
        if schedule is not None:
            _check_answer(policy, problem, schedule, f"problem {i} ({_size(problem)})")
    _check_infeasible(policy)


def _answer(policy: Policy, problem: Problem, index: int) -> Schedule | None:
    """The policy's answer, or None where it says that there is none."""
    before = {f.name: copy.copy(getattr(problem, f.name)) for f in fields(problem)}
    state = np.random.get_state()  # noqa: NPY002  (to see that it is left alone)
    try:
        schedule = policy(problem, stream(index, "check"))
    except InfeasibleError:
        return None
    same_state = str(state) == str(np.random.get_state())  # noqa: NPY002
    _must(same_state, "draws from numpy's global generator; use the rng that it is given")
    for name, value in before.items():
        _must(
            np.array_equal(value, getattr(problem, name), equal_nan=name == "last_loss"),
            f"problem {index}: changed {name} of its input",
        )
    _must(
        isinstance(schedule, Schedule),
        f"problem {index}: answered a {type(schedule).__name__}, expected a Schedule",
    )
    return schedule


def _check_answer(policy: Policy, problem: Problem, schedule: Schedule, which: str) -> None:
    try:
        verdict = judge(problem, schedule)
    except ContractError as error:
        raise AssertionError(f"{which}: {error}") from error
    ignores = getattr(policy, "ignores", ())
    _must(
        "required" in ignores or verdict.missed.size == 0,
        f"{which}: left out required users {verdict.missed.tolist()}",
    )
    _must(
        "min_selected" in ignores or verdict.lacking == 0,
        f"{which}: chose {verdict.n_selected} users, expected at least {problem.min_selected}",
    )
    if verdict.is_lawful and verdict.n_selected and _is_tiny(problem):
        best_s = optimum_s(problem)
        _must(
            verdict.round_s >= best_s * (1 - 1e-9),
            f"{which}: a round of {verdict.round_s} s, but none is shorter than {best_s} s",
        )


def _check_infeasible(policy: Policy) -> None:
    """Two of three users have no station, two must take part."""
    problem = Problem(
        indptr=np.array([0, 1, 1, 1]),
        station=np.array([0]),
        efficiency=np.array([1.0]),
        compute_s=np.full(3, 0.1),
        capacity_hz=np.array([1e6]),
        payload_bit=np.full(3, 1e5),
        required=np.zeros(3, bool),
        min_selected=2,
    )
    schedule = _answer(policy, problem, 0)
    _must(
        schedule is None or "min_selected" in getattr(policy, "ignores", ()),
        "answered a problem that nobody can answer; raise InfeasibleError with the reason",
    )


def example_problems(n: int, seed: int = 0) -> Iterator[Problem]:
    """Random problems of all shapes: tiny and not, dense and sparse, with and without a past."""
    for i in range(n):
        rng = stream(seed, "example", i)
        is_small = i % 2 == 0
        n_users = int(rng.integers(1, 6 if is_small else 60))
        n_stations = int(rng.integers(1, 4 if is_small else 12))
        efficiency = rng.exponential(4.0, (n_users, n_stations)) + 1e-3
        if i % 3 == 0:  # some links are blocked, but everybody keeps one
            blocked = rng.random(efficiency.shape) < 0.5
            blocked[np.arange(n_users), rng.integers(0, n_stations, n_users)] = False
            efficiency[blocked] = 0.0
        problem = dense(
            efficiency,
            compute_s=rng.uniform(0.1, 0.11 if i % 4 else 5.0, n_users),
            capacity_hz=1e6 * rng.uniform(0.5, 1.5, n_stations),
            payload_bit=7e5 * (rng.uniform(0.5, 2.0, n_users) if i % 5 == 0 else 1.0),
            min_selected=int(rng.integers(1, n_users + 1)),
            required=rng.random(n_users) < rng.choice([0.0, 0.2, 1.0]),
        )
        yield problem


def optimum_s(problem: Problem) -> float:
    """The shortest lawful round, by trying every choice (for tiny problems)."""
    links = [range(problem.indptr[u], problem.indptr[u + 1]) for u in range(problem.n_users)]
    options = [
        [*own, *([] if must else [None])] for own, must in zip(links, problem.required, strict=True)
    ]
    best_s = np.inf
    for choice in product(*options):
        users = np.array([u for u, link in enumerate(choice) if link is not None], int)
        if users.size < problem.min_selected:
            continue
        chosen = np.array([link for link in choice if link is not None], int)
        _, finish_s = split(
            problem.station[chosen],
            problem.payload_bit[users] / problem.efficiency[chosen],
            problem.compute_s[users],
            problem.capacity_hz,
        )
        best_s = min(best_s, float(finish_s.max()))
    return best_s


def check_mobility(mobility: Mobility, *, seed: int = 0) -> None:
    """Users stay inside, moves repeat, no time means no move, and ``follows_time`` is the truth."""
    n_users, area_m = 64, 500.0
    draw = partial(stream, seed, "mobility")
    start = mobility.start(n_users, area_m, draw)
    _must(isinstance(start, Motion), f"start answered a {type(start).__name__}, not a Motion")
    times_s = np.cumsum(stream(seed, "times").exponential(3.0, 40))
    walked = _walk(mobility, start, times_s, area_m, draw)
    for place_m in (start.position_m, *walked):
        _must(place_m.shape == (n_users, 2), f"places of shape {place_m.shape}")
        _must(bool(place_m.min() >= 0 and place_m.max() <= area_m), "a user left the area")
    again = _walk(mobility, mobility.start(n_users, area_m, draw), times_s, area_m, draw)
    _must(np.array_equal(walked, again), "the same walk, walked again, came out differently")
    still = mobility.advance(start, area_m, 0.0, 1, draw)
    _must(np.allclose(still.position_m, start.position_m), "users moved in no time")
    saved = Motion(start.position_m.copy(), {name: np.array(a) for name, a in start.memory.items()})
    resumed = _walk(mobility, saved, times_s, area_m, draw)
    _must(np.array_equal(walked, resumed), "a walk that goes on from a checkpoint differs")
    if mobility.follows_time:
        coarse = _walk(mobility, start, times_s[9::10], area_m, draw)
        _must(
            np.array_equal(walked[9::10], coarse),
            "follows_time is true, but places depend on when rounds begin",
        )


def _walk(mobility: Mobility, motion: Motion, times_s: Any, area_m: float, draw: Any) -> Any:
    places = []
    for i, now_s in enumerate(times_s):
        motion = mobility.advance(motion, area_m, float(now_s), i + 1, draw)
        places.append(motion.position_m)
    return np.array(places)


def check_radio(radio: Radio, *, seed: int = 0) -> None:
    """Efficiencies are finite, positive, repeatable, the link's own, and fall with distance."""
    n_users, n_stations = 400, 5
    user = np.repeat(np.arange(n_users), n_stations)
    station = np.tile(np.arange(n_stations, dtype=np.int32), n_users)
    distance_m = stream(seed, "distance").uniform(1.0, 1000.0, user.size)
    draws = LinkDraws(seed, 3, user, station)
    before = distance_m.copy()
    worth = radio.efficiency(distance_m, draws)
    _must(np.array_equal(before, distance_m), "changed the distances that it was given")
    _must(worth.shape == user.shape, f"shape {worth.shape}, expected {user.shape}")
    _must(bool(np.isfinite(worth).all() and (worth > 0).all()), "not all finite and positive")
    again = radio.efficiency(distance_m, draws)
    _must(np.array_equal(worth, again), "the same links in the same round came out differently")
    some = slice(7, 1500, 3)
    alone = radio.efficiency(distance_m[some], LinkDraws(seed, 3, user[some], station[some]))
    _must(
        np.array_equal(worth[some], alone),
        "a link's efficiency depends on which other links are looked at; draw from `draws`",
    )
    near, far = distance_m < 200, distance_m > 800
    _must(worth[near].mean() > worth[far].mean(), "near links are no better than far ones")


def _same(one: Schedule, other: Schedule) -> bool:
    return np.array_equal(one.station, other.station) and np.array_equal(
        one.bandwidth_hz, other.bandwidth_hz
    )


def _is_tiny(problem: Problem) -> bool:
    choices = np.prod(np.diff(problem.indptr) + 1.0)
    return bool(choices <= 2000)


def _size(problem: Problem) -> str:
    n_chosen = np.count_nonzero(problem.required)
    return (
        f"{problem.n_users} users, {problem.n_stations} stations, {n_chosen} required, "
        f"{problem.min_selected} at least"
    )


def _must(ok: bool, rule: str) -> None:
    if not ok:
        raise AssertionError(rule)
