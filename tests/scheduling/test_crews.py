"""Packing by crews, held to trying everything: the tree, its knapsacks, and what they rule out."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedroam.scheduling.certified.crews import Packing, pack_crews
from fedroam.scheduling.certified.knapsack import affordable_arcs, best_crews
from scheduling.exact_oracles import least_greatest_fill

ENOUGH = 10**6
seeds = st.integers(0, 2**32 - 1)


def random_parts(rng, n_stations, n_users):
    """Parts of stations from nothing to more than all, some arcs missing, often with ties."""
    part = rng.uniform(0.05, 1.2, (n_stations, n_users))
    if rng.random() < 0.5:
        part = rng.choice([0.2, 0.25, 0.3, 0.5, 1.0], part.shape)
    return np.where(rng.random(part.shape) < 0.8, part, np.inf)


def random_packing(rng, n_stations, n_users):
    """Some must be served, some number has to be; a coin decides whether that can be."""
    part = random_parts(rng, n_stations, n_users)
    station, user = np.nonzero(part <= 1.0)
    order = np.argsort(user, kind="stable")
    return Packing(
        user=user[order],
        station=station[order],
        part=part[station[order], user[order]],
        must=rng.random(n_users) < rng.choice([0.0, 0.3]),
        n_stations=n_stations,
        n_selected=int(rng.integers(1, n_users + 1)),
    )


def can_be_packed(packing: Packing) -> bool:
    """Every user on every arc or none."""
    arcs = [[-1, *np.flatnonzero(packing.user == u)] for u in range(packing.must.size)]
    for used in product(*arcs):
        used = np.array(used)
        if np.any(packing.must & (used < 0)) or np.count_nonzero(used >= 0) < packing.n_selected:
            continue
        used = used[used >= 0]
        fill = np.bincount(packing.station[used], packing.part[used], packing.n_stations)
        if fill.max(initial=0.0) <= 1.0 + 1e-12:
            return True
    return False


def is_packing(packing: Packing, used) -> bool:
    """What it takes, by itself."""
    users = packing.user[used].tolist()
    fill = np.bincount(packing.station[used], packing.part[used], packing.n_stations)
    return (
        len(set(users)) == len(users) >= packing.n_selected
        and set(np.flatnonzero(packing.must)) <= set(users)
        and fill.max(initial=0.0) <= 1.0 + 1e-9
    )


@given(seed=seeds)
@settings(max_examples=60, deadline=None)
def test_a_packing_is_found_exactly_where_one_exists(seed):
    """Whatever users are said to be worth at first."""
    rng = np.random.default_rng(seed)
    packing = random_packing(rng, int(rng.integers(1, 4)), int(rng.integers(1, 7)))
    guess = rng.choice([0.0, 1.0, np.inf], packing.must.size) * rng.random(packing.must.size)

    found = pack_crews(packing, guess, 60.0, ENOUGH)

    assert found is not None
    assert bool(found.size) == can_be_packed(packing)
    assert not found.size or is_packing(packing, found)


def random_numbers(rng, n_stations, n_users):
    """Fewest and most members of a crew; often without any sense of limits."""
    least = rng.integers(0, 4, n_stations) * (rng.random() < 0.5)
    return least, np.maximum(least, rng.choice([2, 3, n_users], n_stations))


def has_packing(packing: Packing) -> bool:
    """What another solver says."""
    fill = least_greatest_fill(
        packing.user,
        packing.station,
        packing.part,
        packing.must,
        packing.n_stations,
        packing.n_selected,
    )
    return fill <= 1.0


@pytest.mark.parametrize("seed", range(6))
def test_large_crews_are_packed_where_another_solver_packs_them(seed):
    """A dozen alike users a station: their numbers are decided, on both sides of what fits."""
    rng = np.random.default_rng(seed)
    part = rng.uniform(0.07, 0.12, 24)[None] * rng.uniform(0.8, 1.4, (2, 24))
    station, user = (x.ravel(order="F") for x in np.indices(part.shape))
    answers = set()
    for n in range(16, 24):
        packing = Packing(user, station, part[station, user], rng.random(24) < 0.1, 2, n)
        found = pack_crews(packing, np.ones(24), 60.0, ENOUGH)
        assert found is not None
        assert bool(found.size) == has_packing(packing)
        assert not found.size or is_packing(packing, found)
        answers.add(bool(found.size))
    assert answers == {True, False}


@given(seed=seeds)
@settings(max_examples=120, deadline=None)
def test_the_best_crew_is_that_of_trying_all(seed):
    """With any floor below, and any number of members; a bound holds where steps run out."""
    rng = np.random.default_rng(seed)
    part = random_parts(rng, 2, 8)
    worth = rng.uniform(0, 0.3, 8) * (rng.random(8) < 0.8)
    if rng.random() < 0.3:
        worth = np.full(8, 0.2)
    least, limit = random_numbers(rng, 2, 8)
    crews = np.array(list(product([False, True], repeat=8)))
    lawful = np.where(crews[:, None, :], part, 0.0).sum(axis=2) <= 1.0  # [crews, stations]
    size = crews.sum(axis=1)[:, None]
    lawful &= (size >= least) & (size <= limit)
    most = np.where(lawful, (crews @ worth)[:, None], -1.0).max(axis=0)

    for floor in (np.zeros(2), 0.9 * most, most + 1e-6):
        at_most, members = best_crews(part, worth, floor, least, limit, ENOUGH)
        np.testing.assert_allclose(at_most, np.maximum(most, floor), atol=1e-9)
        assert np.all(np.where(members, part, 0.0).sum(axis=1) <= 1.0 + 1e-12)
        found = members.any(axis=1)
        np.testing.assert_array_equal(found, most > np.maximum(floor, 0.0) + 1e-11)
        np.testing.assert_allclose((members @ worth)[found], most[found], atol=1e-9)
        sizes = members.sum(axis=1)[found]
        assert np.all((sizes >= least[found]) & (sizes <= limit[found]))
    hurried, _ = best_crews(part, worth, np.zeros(2), least, limit, 2)
    assert np.all(hurried >= most)


def test_bug_users_who_are_alike_are_not_tried_in_all_combinations():
    """Twelve of a hundred fit; all are worth the same, so that twelve and a half is no proof."""
    part = np.random.default_rng(0).uniform(0.079, 0.081, (1, 100))
    nothing, everybody = np.zeros(1, np.int64), np.full(1, 100)

    at_most, members = best_crews(part, np.full(100, 0.01), np.zeros(1), nothing, everybody, 2000)

    assert members.sum() == 12
    assert at_most[0] == pytest.approx(0.12, abs=1e-10)


@given(seed=seeds)
@settings(max_examples=80, deadline=None)
def test_no_arc_is_ruled_out_that_a_good_enough_crew_uses(seed):
    """Every lawful crew within the slack of its station's best keeps all of its arcs."""
    rng = np.random.default_rng(seed)
    part, worth = random_parts(rng, 2, 7), rng.uniform(0, 0.3, 7) * (rng.random(7) < 0.8)
    slack = rng.uniform(0, 0.3)
    least, limit = random_numbers(rng, 2, 7)
    at_most, _ = best_crews(part, worth, np.zeros(2), least, limit, ENOUGH)

    keeps = affordable_arcs(part, worth, least, limit, at_most, slack)

    for crew in product([False, True], repeat=7):
        crew = np.array(crew)
        for s in range(2):
            lawful = part[s][crew].sum() <= 1.0 and least[s] <= crew.sum() <= limit[s]
            if lawful and worth[crew].sum() >= at_most[s] - slack:
                assert np.all(keeps[s][crew])


def test_bug_arcs_of_users_that_are_worth_nothing_are_not_charged_for():
    """Nine of twelve alike users fit, and with them one who is worth nothing and needs little."""
    part, worth = np.append(np.full(12, 0.11), 0.005)[None], np.append(np.full(12, 0.01), 0.0)
    nothing, everybody = np.zeros(1, np.int64), np.full(1, 13)
    at_most, _ = best_crews(part, worth, np.zeros(1), nothing, everybody, ENOUGH)

    keeps = affordable_arcs(part, worth, nothing, everybody, at_most, 1e-6)

    assert keeps.all()


@pytest.mark.parametrize("limits", [(60.0, 1), (0.0, ENOUGH)])
def test_what_is_not_decided_is_said_so(limits):
    """Fractions of crews serve eleven of fourteen users; the tree finds whole ones, in time."""
    part = np.random.default_rng(0).uniform(0.2, 0.6, (4, 14))
    station, user = np.nonzero(part <= 1.0)
    packing = Packing(user, station, part[station, user], np.zeros(14, bool), 4, 11)
    answer = pack_crews(packing, np.ones(14), 60.0, ENOUGH)

    assert answer is not None
    assert is_packing(packing, answer)
    assert pack_crews(packing, np.ones(14), *limits) is None
