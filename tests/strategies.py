"""Random problems: sparse and dense, with ties, unequal bands, extreme magnitudes."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from fedroam.scheduling.problem import Problem, dense


@dataclass(frozen=True)
class Kind:
    """What sort of problem to draw."""

    reach: float = 1.0  # share of links that exist
    has_ties: bool = False  # few distinct values, so that many comparisons are exact ties
    has_unequal_bands: bool = False
    has_own_payloads: bool = False  # one payload a user instead of one for all
    decades: float = 0.0  # orders of magnitude that efficiencies and payloads spread over
    required: float = 0.0  # share of users that must take part
    selected: float = 0.5  # share of the reachable users that is asked for


def random_problem(rng: np.random.Generator, n_users: int, n_stations: int, kind: Kind) -> Problem:
    """A feasible problem of that kind."""
    shape = (n_users, n_stations)
    if kind.has_ties:
        efficiency = rng.choice([1.0, 2.0, 4.0], shape)
        compute_s = rng.choice([0.0, 0.125], n_users)
    else:
        spread = kind.decades / 2
        efficiency = rng.uniform(0.1, 10, shape) * 10.0 ** rng.uniform(-spread, spread, shape)
        compute_s = rng.uniform(0.1, 0.11, n_users) * 10.0 ** rng.uniform(
            -spread, spread / 2, n_users
        )
    efficiency = np.where(rng.random(shape) < kind.reach, efficiency, 0.0)
    is_reachable = (efficiency > 0).any(axis=1)
    capacity_hz = np.full(n_stations, 1e6)
    if kind.has_unequal_bands:
        capacity_hz *= rng.uniform(0.5, 1.5, n_stations)
    payload_bit = 7e5
    if kind.has_own_payloads:
        payload_bit *= 10.0 ** rng.uniform(-kind.decades / 2, kind.decades / 2 + 0.1, n_users)
    return dense(
        efficiency,
        compute_s=compute_s,
        capacity_hz=capacity_hz,
        payload_bit=payload_bit,
        min_selected=int(np.ceil(kind.selected * np.count_nonzero(is_reachable))),
        required=is_reachable & (rng.random(n_users) < kind.required),
    )


kinds = st.builds(
    Kind,
    reach=st.sampled_from([1.0, 0.7, 0.3]),
    has_ties=st.booleans(),
    has_unequal_bands=st.booleans(),
    has_own_payloads=st.booleans(),
    decades=st.sampled_from([0.0, 2.0, 8.0]),
    required=st.sampled_from([0.0, 0.2, 1.0]),
    selected=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
)


@st.composite
def problems(draw, max_users: int = 14, max_stations: int = 4) -> Problem:
    """Small feasible problems of every kind."""
    n_users = draw(st.integers(1, max_users))
    n_stations = draw(st.integers(1, max_stations))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return random_problem(rng, n_users, n_stations, draw(kinds))


def same_arrays(one: object, other: object) -> None:
    """Two records hold the same values, bit for bit (nan equals nan)."""
    assert type(one) is type(other)
    for name in type(one).__dataclass_fields__:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
