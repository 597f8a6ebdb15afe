"""Being registered is being tested: every built-in keeps its public contract."""

from dataclasses import dataclass

import numpy as np
import pytest

from fedroam.mobility import MOBILITY, Motion, RandomDirection
from fedroam.radio import RADIO, UrbanMacro
from fedroam.scheduling.policies import POLICIES
from fedroam.scheduling.policies.best_station import All, Random
from fedroam.scheduling.problem import Schedule
from fedroam.testing import check_mobility, check_policy, check_radio


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_keeps_its_contract(name):
    """Feasible, repeatable, true to its word, never better than brute force."""
    check_policy(POLICIES[name](), n_problems=4 if name == "exact" else 12)  # a solver


@pytest.mark.parametrize("name", MOBILITY)
def test_every_mobility_keeps_its_contract(name):
    """Inside, repeatable, resumable, and ``follows_time`` is the truth."""
    check_mobility(MOBILITY[name]())


@pytest.mark.parametrize("turn_every", [2.0, "never"])
def test_random_direction_keeps_its_contract_in_every_reading(turn_every):
    """Seconds and never, too."""
    check_mobility(RandomDirection(turn_every=turn_every))


@pytest.mark.parametrize("name", RADIO)
def test_every_radio_keeps_its_contract(name):
    """Finite, positive, each link's own, falling with distance."""
    check_radio(RADIO[name]())
    check_radio(UrbanMacro(fading="none", shadowing_db=4.0))


class Forgets:
    """Answers another way the second time."""

    def __init__(self):
        self.calls = 0

    def __call__(self, problem, rng):
        """Answer."""
        self.calls += 1
        return Random()(problem, np.random.default_rng(self.calls))


class Greedy:
    """Gives every user the whole band."""

    def __call__(self, problem, rng):
        """Answer."""
        schedule = All()(problem, rng)
        return Schedule(schedule.station, schedule.bandwidth_hz * 100)


class Few:
    """Leaves required users out without saying so."""

    def __call__(self, problem, rng):
        """Answer."""
        return Random()(problem, rng)


class Global:
    """Draws from NumPy's global generator."""

    def __call__(self, problem, rng):
        """Answer."""
        np.random.random()  # noqa: NPY002  (the mistake that the check is to find)
        return All()(problem, rng)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (Forgets(), "answered differently when asked again"),
        (Greedy(), "gives"),
        (Few(), "left out required users"),
        (Global(), "draws from numpy's global generator"),
        (lambda problem, rng: None, "answered a NoneType, expected a Schedule"),
    ],
    ids=["forgets", "greedy", "few", "global", "nothing"],
)
def test_a_policy_that_breaks_its_contract_is_found(policy, message):
    """The check names the broken rule."""
    with pytest.raises(AssertionError, match=message):
        check_policy(policy)


@dataclass(frozen=True)
class Drifts:
    """Says that it follows time, but moves a metre with every round."""

    metres: float = 1.0
    follows_time = True

    def start(self, n_users, area_m, draw):
        """All in one corner."""
        return Motion(np.zeros((n_users, 2)))

    def advance(self, motion, area_m, now_s, round, draw):
        """A metre on."""
        return Motion(motion.position_m + self.metres * (now_s > 0))


@pytest.mark.parametrize(
    ("mobility", "message"),
    [(Drifts(), "places depend on when rounds begin"), (Drifts(100.0), "a user left the area")],
)
def test_a_mobility_that_breaks_its_contract_is_found(mobility, message):
    """The check names the broken rule."""
    with pytest.raises(AssertionError, match=message):
        check_mobility(mobility)


class Neighbourly:
    """A link's worth depends on the others that are looked at."""

    def efficiency(self, distance_m, draws):
        """Relative to the mean distance."""
        return distance_m.mean() / distance_m


class Silent:
    """Far links are worth nothing, which no problem may hold."""

    def efficiency(self, distance_m, draws):
        """Zero beyond half a kilometre."""
        return np.where(distance_m < 500, 1.0, 0.0)


@pytest.mark.parametrize(
    ("radio", "message"),
    [(Neighbourly(), "depends on which other links"), (Silent(), "not all finite and positive")],
)
def test_a_radio_that_breaks_its_contract_is_found(radio, message):
    """The check names the broken rule."""
    with pytest.raises(AssertionError, match=message):
        check_radio(radio)
