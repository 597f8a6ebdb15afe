"""
What a schedule costs that is made area by area: 10,000 users, 100 stations, 8 nearest links each.

The square is cut into areas. A user belongs to the area of its best link; links to stations of
other areas are forgotten; each area is a problem of its own. What is left in common is how many
users each area has to choose: in proportion to its users, or by its own curve of round lengths
over numbers of users (`sweep_selected`, 24 points), from which the earliest common deadline is read
that leaves enough users in all. That is one exchange of 24 numbers an area. The parts are put
together and judged as a schedule of the whole. Figures are simulated time: they depend on no
machine.

    python benchmarks/shards.py [--quick]
"""

import argparse
from dataclasses import dataclass, replace

import numpy as np
import side_by_side

from fedroam.scheduling.certified import certify, solve_certified, sweep_selected
from fedroam.scheduling.judge import judge
from fedroam.scheduling.policies.dagsa import Dagsa
from fedroam.scheduling.problem import NO_STATION, Problem, Schedule
from fedroam.simulation import Scenario, Simulation, World, lay_out

USERS, STATIONS, POINTS = 10_000, 100, 24
SIDES = (2, 5)  # areas along a side of the square
WORLD = World(users=USERS, stations=STATIONS, area_m=1000 * (STATIONS / 8) ** 0.5, nearest=8)


@dataclass(frozen=True, eq=False)
class Area:
    """One area's problem, and who and what it is in the whole."""

    problem: Problem
    users: np.ndarray
    stations: np.ndarray

    def solve(self, n_selected: int) -> Schedule:
        problem = replace(self.problem, min_selected=n_selected)
        return solve_certified(problem, np.random.default_rng(0)).schedule


def areas_of(problem: Problem, station_m: np.ndarray, sides: int) -> list[Area]:
    """The areas that have users, each with the links that stay within it."""
    cell = np.minimum((station_m / WORLD.area_m * sides).astype(int), sides - 1) @ [sides, 1]
    user = np.repeat(np.arange(USERS), np.diff(problem.indptr))
    by_worth = np.lexsort((problem.efficiency, user))
    home = cell[problem.station[by_worth[problem.indptr[1:] - 1]]]
    found = []
    for at in np.unique(home):
        users, stations = np.flatnonzero(home == at), np.flatnonzero(cell == at)
        links = np.flatnonzero((home[user] == at) & (cell[problem.station] == at))
        part = Problem(
            indptr=np.concatenate(
                [[0], np.cumsum(np.bincount(user[links], minlength=USERS)[users])]
            ),
            station=np.searchsorted(stations, problem.station[links]).astype(np.int32),
            efficiency=problem.efficiency[links],
            compute_s=problem.compute_s[users],
            capacity_hz=problem.capacity_hz[stations],
            payload_bit=problem.payload_bit[users],
            required=problem.required[users],
            min_selected=0,
        )
        found.append(Area(part, users, stations))
    return found


def by_users(areas: list[Area], n_selected: int) -> list[int]:
    """How many each area chooses: in proportion to its users."""
    return [int(np.ceil(n_selected * area.users.size / USERS)) for area in areas]


def by_curves(areas: list[Area], n_selected: int) -> list[int]:
    """The same by the earliest common deadline at which all together reach the number."""
    curves = [
        sweep_selected(
            area.problem,
            np.random.default_rng(0),
            n_selected=np.unique(
                np.linspace(max(1, area.problem.required.sum()), area.users.size, POINTS).astype(
                    int
                )
            ),
        )
        for area in areas
    ]

    def numbers(deadline_s: float) -> list[int]:
        return [int(np.interp(deadline_s, c.round_s, c.n_selected)) for c in curves]

    low_s, high_s = 0.0, max(c.round_s[-1] for c in curves)
    for _ in range(50):
        middle_s = (low_s + high_s) / 2
        enough = sum(numbers(middle_s)) >= n_selected
        low_s, high_s = (low_s, middle_s) if enough else (middle_s, high_s)
    return numbers(high_s)


def together(problem: Problem, areas: list[Area], numbers: list[int]) -> float:
    """The length of the whole round, as the judge has it."""
    station, bandwidth_hz = np.full(USERS, NO_STATION), np.zeros(USERS)
    for area, n_selected in zip(areas, numbers, strict=True):
        part = area.solve(n_selected)
        chosen = part.station != NO_STATION
        station[area.users[chosen]] = area.stations[part.station[chosen]]
        bandwidth_hz[area.users] = part.bandwidth_hz
    verdict = judge(problem, Schedule(station, bandwidth_hz))
    if not verdict.is_lawful:
        raise SystemExit("the parts make no lawful whole")
    return verdict.round_s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    before = side_by_side.machine()
    lengths_s: dict[str, list[float]] = {"one problem": []}
    bounds_s = []
    for seed in range(1 if given.quick else 3):
        station_m = lay_out(WORLD, seed).station_m
        for played in Simulation(Scenario(WORLD), Dagsa(), seed=seed).rounds(rounds=4):
            problem = played.problem
            if played.round == 1:  # the burst: everybody left out of round 0 is required
                continue
            whole = solve_certified(problem, np.random.default_rng(0)).schedule
            lengths_s["one problem"].append(judge(problem, whole).round_s)
            bounds_s.append(certify(problem, whole, level="prices")[0])
            for sides in SIDES:
                areas = areas_of(problem, station_m, sides)
                for name, rule in (("by users", by_users), ("by curves", by_curves)):
                    numbers = rule(areas, problem.min_selected)
                    who = f"{sides * sides} areas, numbers {name}"
                    lengths_s.setdefault(who, []).append(together(problem, areas, numbers))
            print(f"seed {seed}, round {played.round} done", flush=True)
    what = f"length of a round, {USERS:,} x {STATIONS}"
    rows = []
    for who, found_s in lengths_s.items():
        over = np.divide(found_s, bounds_s) - 1
        note = f"{np.median(over):.1%} above the whole's bound, at worst {over.max():.1%}"
        rows.append(side_by_side.row(what, who, found_s, "", note))
    side_by_side.report("shards", rows, before=before, is_kept=not given.quick)


if __name__ == "__main__":
    main()
