"""
Packing users into stations by crews: a crew is a set of users that fits one station.

The fractional problem over crews, each station having one, is much tighter than the one over
arcs, since every crew fits as a whole: at few users a station it mostly settles the question by
itself. Crews are too many to list, so those that help are made as they are needed. Each user is
worth something, and the best crew of a station is a knapsack. Any worths >= 0 may prove something:

    Σ worth of the cheapest lawful choice of users > Σ_stations worth of the best crew

says that no packing exists. Where they prove nothing, a tree (branch and price) decides how many
users stations have, where that is a dozen or so, and then arcs one by one.
"""

import time
from dataclasses import dataclass, replace

import numpy as np

from fedroam.arrays import Bools, Floats, Ints
from fedroam.scheduling.certified.knapsack import MANY, affordable_arcs, best_crews
from fedroam.scheduling.certified.linear import Crews

PROVEN = 1e-9
"""Relative excess of worth that counts as a proof: rounding errs by less than 1e-12."""

_PULL = 0.6
_DUST = 1e-9
_WHOLE = 1e-6
_CLEARLY = 0.02
_KNAPSACK_SUMS = 1_000_000


@dataclass(frozen=True, eq=False, slots=True)
class Packing:
    """Users ``0..U-1``, each on at most one of its arcs ``[A]``; no station filled beyond 1."""

    user: Ints  # [A]
    station: Ints  # [A]
    part: Floats  # [A] of the station that the arc takes
    must: Bools  # [U] has to be served
    n_stations: int
    n_selected: int


@dataclass(frozen=True, eq=False, slots=True)
class _Node:
    """What the tree has fixed so far, and worths that nearly prove that it is impossible."""

    part: Floats  # [S, U] inf where the arc is ruled out
    must: Bools  # [U]
    worth: Floats  # [U]
    least: Ints  # [S] members of a crew
    most: Ints  # [S]

    def asked(self, worth: Floats, n: int) -> float:
        """The worth of the cheapest lawful choice of users; inf where there is none."""
        optional = np.sort(worth[self._may])
        n_optional = max(n - int(np.count_nonzero(self.must)), 0)
        if optional.size < n_optional or not self.able[:, self.must].any(axis=0).all():
            return np.inf
        return float(worth[self.must].sum()) + float(optional[:n_optional].sum())

    @property
    def able(self) -> Bools:
        """Which arcs are left ``[S, U]``."""
        return self.part <= 1.0

    @property
    def _may(self) -> Bools:
        return self.able.any(axis=0) & ~self.must


@dataclass(frozen=True, eq=False, slots=True)
class _Proof:
    """What worths say: all that stations can give is 1, the cheapest lawful choice is ``asked``."""

    worth: Floats  # [U]
    at_most: Floats  # [S]
    asked: float


class _Undecided(Exception):
    """Time is up, or the solver gave up."""


def pack_crews(
    packing: Packing, worth: Floats, time_limit_s: float, most_nodes: int
) -> Ints | None:
    """
    Arcs of a packing, or none (an empty array) where none exists; None where that is not decided.

    ``worth [U]`` is a first guess of what users are worth. "None exists" holds up to rounding
    errors of our own, 1e-12 of a station.
    """
    end_s = time.perf_counter() + time_limit_s
    part = np.full((packing.n_stations, packing.must.size), np.inf)
    part[packing.station, packing.user] = packing.part
    crews = Crews(packing.n_stations, packing.must.size, packing.n_selected)
    stack = [
        _Node(
            part=part,
            must=packing.must,
            worth=np.where(np.isfinite(worth), worth, 0.0),
            least=np.zeros(packing.n_stations, np.int64),
            most=np.full(packing.n_stations, packing.must.size),
        )
    ]
    n_nodes = 0
    try:
        while stack:
            node, use = _relaxed(crews, stack.pop(), packing.n_selected, end_s)
            n_nodes += 1
            if use is None:
                continue
            children = _by_number(node, use) or _by_arc(node, use)
            if not children:
                return _arcs_of(packing, use)
            if n_nodes >= most_nodes:
                return None
            stack += children
    except _Undecided:
        return None
    return np.empty(0, np.int64)


def _relaxed(crews: Crews, node: _Node, n: int, end_s: float) -> tuple[_Node, Floats | None]:
    """
    The node without arcs that are too dear, and how much of every user each station serves
    ``[S, U]`` in a fractional packing; None: there is no packing.
    """
    while True:
        proof, use = _priced(crews, node, n, end_s)
        if use is None:
            return node, None
        tighter = _fixed(node, proof, n)
        if not np.any(use[node.able & ~tighter.able] > _WHOLE):
            return tighter, use
        node = tighter


def _priced(crews: Crews, node: _Node, n: int, end_s: float) -> tuple[_Proof, Floats | None]:
    """
    The best worths, and a fractional packing or None, by making crews until none helps.

    Crews are sought for worths between those of the crews at hand and the best so far: that takes
    fewer steps than going from one extreme to the other.
    """
    crews.restrict(node.able, node.must, node.least, node.most)
    best, pull = _proof(node, node.worth, np.zeros(len(node.part)), n)[0], _PULL
    while best.asked <= 1.0 + PROVEN:
        answer = crews.solve()
        if answer is None or time.perf_counter() >= end_s:
            raise _Undecided
        too_many, worth, rent = answer
        worth, rent = worth / rent.sum(), rent / rent.sum()
        if too_many <= _DUST and 1.0 - best.asked <= 1.5 * (1.0 - node.asked(worth, n)) + _DUST:
            return best, crews.use()
        while True:
            floor = pull * best.at_most + (1.0 - pull) * rent
            proof, members = _proof(node, pull * best.worth + (1.0 - pull) * worth, floor, n)
            if proof.asked > best.asked:
                best = proof
            helpful = np.flatnonzero(members @ worth > rent + _DUST)
            if helpful.size:
                crews.add(helpful, members[helpful])
            if helpful.size or best.asked > 1.0 + PROVEN:
                break
            if pull == 0.0:
                return best, crews.use()
            pull = 0.0 if pull < 0.3 else pull - 0.3
    return best, None


def _proof(node: _Node, worth: Floats, floor: Floats, n: int) -> tuple[_Proof, Bools]:
    """What these worths say, and for each station a crew worth more than ``floor [S]`` if any."""
    at_most, members = best_crews(node.part, worth, floor, node.least, node.most, _KNAPSACK_SUMS)
    total = max(float(at_most.sum()), 1e-300)
    return _Proof(worth / total, at_most / total, node.asked(worth, n) / total), members


def _fixed(node: _Node, proof: _Proof, n: int) -> _Node:
    """The node without arcs and choices of users that would cost more than there is to spend."""
    worth, slack = proof.worth, 1.0 - proof.asked + _DUST
    able = affordable_arcs(node.part, worth, node.least, node.most, proof.at_most, slack)
    must = node.must.copy()
    n_optional = n - int(np.count_nonzero(must))
    may = node.able.any(axis=0) & ~must
    if n_optional <= 0:
        able[:, ~must] = False
    elif n_optional < np.count_nonzero(may):
        ranked = np.sort(worth[may])
        last, following = ranked[n_optional - 1], ranked[n_optional]
        must |= may & (worth + slack < following)
        able[:, may & (worth > last + slack)] = False
    else:
        must |= may
    return replace(node, part=np.where(able, node.part, np.inf), must=must, worth=worth)


def _by_number(node: _Node, use: Floats) -> list[_Node]:
    """
    Fewer or more users at the station whose number of them is the least whole one.

    Users near a station need much alike: where they are many, it is their number that a deadline
    changes, and single arcs say little about it. Empty where they are few, or all numbers whole.
    """
    number = use.sum(axis=1)
    if number.mean() < MANY:
        return []
    below = np.floor(number)
    fraction = np.minimum(number - below, below + 1 - number)
    fraction[(below < node.least) | (below >= node.most)] = 0.0
    s = int(fraction.argmax())
    if fraction[s] <= _CLEARLY:
        return []
    least, most = node.least.copy(), node.most.copy()
    least[s], most[s] = below[s] + 1, below[s]
    fewer, more = replace(node, most=most), replace(node, least=least)
    return [more, fewer] if number[s] - below[s] < 0.5 else [fewer, more]


def _by_arc(node: _Node, use: Floats) -> list[_Node]:
    """Without the arc that is farthest from 0 and 1, and with no other of its user; or empty."""
    fraction = np.minimum(use, 1.0 - use)
    station, user = np.unravel_index(int(fraction.argmax()), use.shape)
    if fraction[station, user] <= _WHOLE:
        return []
    without = node.part.copy()
    without[station, user] = np.inf
    only = node.part.copy()
    only[:, user] = np.inf
    only[station, user] = node.part[station, user]
    must = node.must.copy()
    must[user] = True
    return [replace(node, part=without), replace(node, part=only, must=must)]


def _arcs_of(packing: Packing, use: Floats) -> Ints | None:
    """The arcs used, one a user; None where they are no packing after all."""
    used = np.flatnonzero(use[packing.station, packing.user] > 0.5)
    _, first = np.unique(packing.user[used], return_index=True)
    used = used[first]
    fill = np.bincount(packing.station[used], packing.part[used], packing.n_stations)
    lawful = fill.max(initial=0.0) <= 1 + PROVEN and used.size >= packing.n_selected
    lawful = lawful and set(np.flatnonzero(packing.must)) <= set(packing.user[used])
    return used if lawful else None
