"""
Local search at a fixed deadline ``t``: even out the stations until none is over its band.

At a fixed deadline loads add up: user ``u`` on link ``k`` takes the part
``r_k = need_k / (t - compute_u) / capacity`` of its station, and a schedule is shorter than ``t``
exactly when no station is filled beyond 1. The search lowers ``Σ_s exp(α fill_s)``, first with a
small ``α`` (spend little in all), then with larger ones (no station above the others). A change
starts at the fullest station that has not been tried in vain, and is the best among

* move: a user goes to another station;
* replace: a user that is free to be left out leaves, the cheapest newcomer joins anywhere;
* swap: two users exchange stations;
* relay: one user moves, and another moves on from where it arrives;
* ejection: one user moves, one is left out there, the cheapest newcomer joins anywhere; or one is
  left out, another takes its place, and a newcomer joins where that one was.

When no change helps, a few random ones are made, and undone unless the descent after them ends
lower.
"""

import numpy as np

from fedroam.compiled import kernel
from fedroam.scheduling.certified.moves import OUT, best_long, best_short

PINNED = -2
LARGEST_EXPONENT = 600.0
LOCAL = 100  # among more stations, random changes stay near the fullest one


@kernel
def search(  # type: ignore[no-untyped-def]
    indptr,
    station,
    part,
    free,
    sorted_start,
    sorted_link,
    owner,
    current,
    fill,
    sharpness,
    heat,
    patience,
    draws,
):
    """
    Improve ``current [C]`` (link of every user, or OUT) in place; ``fill [S]`` is used up.

    ``sharpness`` lists the values of ``α``, ascending; ``sorted_link`` the links of every station,
    lightest first; every row of ``draws [kicks, 16]``, uniform in 0..1, makes one restart.
    """
    n_users, n_stations = current.size, fill.size
    pinned = np.full(n_users, OUT)
    for u in range(n_users):
        if current[u] >= 0 and not part[current[u]] * sharpness[-1] <= LARGEST_EXPONENT:
            pinned[u] = current[u]
            current[u] = PINNED
    head = np.full(n_stations, -1)
    after, before = np.full(n_users, -1), np.full(n_users, -1)
    for u in range(n_users - 1, -1, -1):
        if current[u] >= 0:
            _join(u, station[current[u]], head, after, before)
    entry = np.empty(n_stations, np.int64)
    for s in range(n_stations):
        _refresh_entry(s, sorted_start, sorted_link, owner, current, entry)
    state = (indptr, station, part, free, sorted_start, sorted_link, owner)
    lists = (current, fill, head, after, before, entry)
    grown = np.empty(part.size)
    energy = np.empty(n_stations)
    row = np.full(n_stations, -1)
    stuck = np.zeros(n_stations, np.bool_)
    for alpha in sharpness:
        _grow(alpha, part, grown)
        stuck[:] = False
        _descend(state, lists, grown, energy, row, stuck, alpha)
    alpha = sharpness[-1]
    best, top = current.copy(), fill.max()
    here, here_fill = current.copy(), fill.copy()
    level = _level(fill, alpha)
    since = 0
    for kick in range(draws.shape[0]):
        stuck[:] = True
        _kick(state, lists, grown, stuck, draws[kick])
        _descend(state, lists, grown, energy, row, stuck, alpha)
        if fill.max() < top:
            top = fill.max()
            best[:] = current
            since = 0
        since += 1
        new_level = _level(fill, alpha)
        if new_level <= level - heat / alpha * np.log(draws[kick, 15] + 1e-300):
            level = new_level
            here[:] = current
            here_fill[:] = fill
        else:
            for u in range(n_users):
                if current[u] != here[u]:
                    _put(u, here[u], state, lists)
            fill[:] = here_fill
        if since > patience:
            since = 0
            for u in range(n_users):
                if current[u] != best[u]:
                    _put(u, best[u], state, lists)
            here[:] = current
            here_fill[:] = fill
            level = _level(fill, alpha)
    for u in range(n_users):
        current[u] = best[u] if pinned[u] < 0 else pinned[u]


@kernel
def _grow(alpha, part, grown):  # type: ignore[no-untyped-def]
    for k in range(part.size):
        grown[k] = np.exp(alpha * part[k]) if alpha * part[k] <= LARGEST_EXPONENT else np.inf


@kernel
def _level(fill, alpha):  # type: ignore[no-untyped-def]
    """The smooth maximum of the fills, which the search lowers."""
    top = fill.max()
    total = 0.0
    for s in range(fill.size):
        total += np.exp(alpha * (fill[s] - top))
    return top + np.log(total) / alpha


@kernel
def _join(u, s, head, after, before):  # type: ignore[no-untyped-def]
    after[u], before[u] = head[s], -1
    if head[s] >= 0:
        before[head[s]] = u
    head[s] = u


@kernel
def _leave(u, s, head, after, before):  # type: ignore[no-untyped-def]
    if before[u] >= 0:
        after[before[u]] = after[u]
    else:
        head[s] = after[u]
    if after[u] >= 0:
        before[after[u]] = before[u]


@kernel
def _refresh_entry(s, sorted_start, sorted_link, owner, current, entry):  # type: ignore[no-untyped-def]
    """The lightest link to ``s`` of a user that is left out."""
    entry[s] = -1
    for i in range(sorted_start[s], sorted_start[s + 1]):
        if current[owner[sorted_link[i]]] == OUT:
            entry[s] = sorted_link[i]
            return


@kernel
def _put(u, link, state, lists):  # type: ignore[no-untyped-def]
    """Move user ``u`` to ``link`` (or OUT), and keep lists, fills and entries true."""
    indptr, station, part, free, sorted_start, sorted_link, owner = state
    current, fill, head, after, before, entry = lists
    old = current[u]
    if old >= 0:
        fill[station[old]] -= part[old]
        _leave(u, station[old], head, after, before)
    current[u] = link
    if link >= 0:
        fill[station[link]] += part[link]
        _join(u, station[link], head, after, before)
    if (old < 0) == (link < 0):
        return
    for k in range(indptr[u], indptr[u + 1]):
        s = station[k]
        if link < 0:
            if entry[s] < 0 or part[k] < part[entry[s]]:
                entry[s] = k
        elif entry[s] == k:
            _refresh_entry(s, sorted_start, sorted_link, owner, current, entry)


@kernel
def _descend(state, lists, grown, energy, row, stuck, alpha):  # type: ignore[no-untyped-def]
    """Apply best changes until every station has been tried in vain."""
    indptr, station, part, free, sorted_start, sorted_link, owner = state
    current, fill, head, after, before, entry = lists
    n_stations = fill.size
    top = fill.max()
    for s in range(n_stations):
        energy[s] = np.exp(max(alpha * (fill[s] - top), -700.0))
    users, links = np.empty(3, np.int64), np.empty(3, np.int64)
    for _ in range(100 * current.size + 1000):
        b, most = -1, 0.0
        for s in range(n_stations):
            most = max(most, energy[s])
            if not stuck[s] and head[s] >= 0 and (b < 0 or fill[s] > fill[b]):
                b = s
        enough = -1e-9 * most
        if b < 0 or energy[b] < -enough:
            return
        gain = best_short(b, state, lists, grown, energy, row, users, links)
        if not gain < enough:
            gain = best_long(b, state, lists, grown, energy, users, links)
        if not gain < enough:
            stuck[b] = True
            continue
        for i in range(3):
            u = users[i]
            if u < 0:
                continue
            old = current[u]
            _put(u, links[i], state, lists)
            if old >= 0:
                stuck[station[old]] = False
            if links[i] >= 0:
                stuck[station[links[i]]] = False
        for i in range(3):
            if users[i] < 0:
                continue
            for k in range(indptr[users[i]], indptr[users[i] + 1]):
                s = station[k]
                energy[s] = np.exp(max(alpha * (fill[s] - top), -700.0))
        if alpha * (top - fill.max()) > 100.0:  # a giant has gone: see the others again
            top = fill.max()
            for s in range(n_stations):
                energy[s] = np.exp(max(alpha * (fill[s] - top), -700.0))


@kernel
def _kick(state, lists, grown, stuck, draw):  # type: ignore[no-untyped-def]
    """Two to five random changes, of a user of the fullest station first."""
    indptr, station, part, free, sorted_start, sorted_link, owner = state
    current, fill, head, after, before, entry = lists
    n_users = current.size
    n_changes = 2 + int(draw[0] * 4)
    place = np.argmax(fill)
    for i in range(n_changes):
        u = int(draw[1 + 3 * i] * n_users)
        if i == 0 or fill.size > LOCAL:
            u, n = head[place], 0
            while u >= 0:
                n += 1
                u = after[u]
            if n == 0:
                continue
            u = head[place]
            for _ in range(int(draw[1 + 3 * i] * n)):
                u = after[u]
        k = indptr[u] + int(draw[2 + 3 * i] * (indptr[u + 1] - indptr[u]))
        if not grown[k] < np.inf or part[k] > 0.7 or k == current[u] or current[u] == PINNED:
            continue
        stuck[station[k]] = False
        if current[u] >= 0:
            stuck[station[current[u]]] = False
            _put(u, k, state, lists)
            place = station[k]
            continue
        # A newcomer: somebody at its station, or anywhere from a random place on, goes.
        start = int(draw[3 + 3 * i] * n_users)
        for step in range(n_users):
            j = (start + step) % n_users
            if free[j] and current[j] >= 0:
                stuck[station[current[j]]] = False
                _put(j, OUT, state, lists)
                _put(u, k, state, lists)
                break
