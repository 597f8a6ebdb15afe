"""
Schedules with a proof, measured: optimum, gap and time from 50 to 1,000,000 users.

    python benchmarks/certified.py            everything, about 20 minutes
    python benchmarks/certified.py --quick    a small share of each, about a minute
    python benchmarks/certified.py --only paper large

Prints tables and writes ``certified_paper.json``, ``certified_large.json``, ... The very large
problems run in a process each, so that the peak memory is theirs.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import side_by_side
from scipy.spatial import cKDTree

from fedroam.mobility import RandomDirection
from fedroam.scheduling.certified import solve_certified, solve_exact
from fedroam.scheduling.policies.certified import Certified
from fedroam.scheduling.policies.dagsa import Dagsa
from fedroam.scheduling.problem import Problem, dense
from fedroam.simulation.rounds import Simulation
from fedroam.simulation.scenario import Scenario, World


@dataclass(frozen=True)
class Measured:
    """A table for people, and the figures behind it."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    figures: Any


def efficiencies(rng, distance_km):
    """The paper's link: -0.1 dB at 1 km, Rayleigh fading."""
    snr_db = -0.1 - 37.6 * np.log10(np.maximum(distance_km, 1e-3))
    snr = 10 ** (snr_db / 10) * rng.exponential(size=distance_km.shape)
    return np.log2(1 + snr)


def paper_like(
    n_users,
    n_stations,
    seed,
    *,
    rho2=0.5,
    required=0.1,
    spread=1.1,
    bands=0.0,
    block=0.0,
    is_grid=False,
):
    """Users and stations uniform over an area with the paper's density; or stations on a grid."""
    rng = np.random.default_rng(seed)
    side_km = np.sqrt(n_stations / 8)
    user, station = rng.uniform(0, side_km, (n_users, 2)), rng.uniform(0, side_km, (n_stations, 2))
    if is_grid:
        rows = int(np.sqrt(n_stations))
        row, column = np.divmod(np.arange(n_stations), n_stations // rows)
        station = side_km * np.stack([column + 0.5, row + 0.5], 1) / [n_stations // rows, rows]
    distance_km = np.linalg.norm(user[:, None] - station[None], axis=2)
    efficiency = efficiencies(rng, distance_km)
    efficiency[rng.random(efficiency.shape) < block] = 0.0
    reach = (efficiency > 0).any(axis=1)
    return dense(
        efficiency,
        compute_s=rng.uniform(0.1, 0.1 * spread, n_users),
        capacity_hz=1e6 * rng.uniform(1 - bands, 1 + bands, n_stations),
        payload_bit=698_880.0,
        min_selected=min(int(np.ceil(rho2 * n_users)), int(reach.sum())),
        required=reach & (rng.random(n_users) < required),
    )


def small_family(i):
    """Unequal bands, 0-20 % required, rho2 0.3-1, compute spread up to 50x, blocked links."""
    rng = np.random.default_rng([7, i])
    return paper_like(
        50,
        8,
        i,
        rho2=rng.uniform(0.3, 1.0),
        required=rng.uniform(0, 0.2),
        spread=1.1 * (50 / 1.1) ** rng.uniform(),
        bands=0.5,
        block=float(rng.choice([0.0, 0.0, 0.1, 0.3])),
    )


def seeded():
    return np.random.default_rng(0)


def with_cpu(solve, *args, **kwargs):
    """The solution, and the processor seconds that it took: others may be using the machine."""
    before_s = time.process_time()
    solution = solve(*args, **kwargs)
    return solution, time.process_time() - before_s


def bench_paper(quick):
    """50 x 8: certified against the proven optimum."""
    problems = [small_family(i) for i in range(20 if quick else 200)]
    solve_certified(problems[0], seeded())
    solve_exact(problems[0], seeded())
    figures = []
    for problem in problems:
        found, cpu_s = with_cpu(solve_certified, problem, seeded())
        best, best_cpu_s = with_cpu(solve_exact, problem, seeded(), time_limit_s=20)
        figures.append(
            {
                "above_best": found.round_s / best.round_s - 1,
                "gap_to_prices": found.gap,
                "certified_s": found.wall_s,
                "certified_cpu_s": cpu_s,
                "exact_s": best.wall_s,
                "exact_cpu_s": best_cpu_s,
                "exact_gap": best.gap,
                "exact_outcome": best.outcome.value,
            }
        )
    column = {name: np.array([row[name] for row in figures]) for name in figures[0]}
    above, n_proven = column["above_best"], int(np.sum(column["exact_outcome"] == "optimal"))
    rows = [
        (
            "`certified`",
            f"{percent(np.median(above))} above the optimum in the median, nine in ten within "
            f"{percent(np.quantile(above, 0.9))}, worst {percent(above.max())}; "
            f"{int(np.sum(above < 1e-5))} of {above.size} optimal",
            seconds(np.median(column["certified_s"])),
            seconds(np.quantile(column["certified_s"], 0.95)),
            seconds(np.median(column["certified_cpu_s"])),
            "0.5 % in the median, 2 % at worst, <= 50 ms median",
        ),
        (
            "`exact`",
            f"{n_proven} of {above.size} proven; worst gap left "
            f"{percent(column['exact_gap'].max())}",
            seconds(np.median(column["exact_s"])),
            seconds(np.quantile(column["exact_s"], 0.95)),
            seconds(np.median(column["exact_cpu_s"])),
            "all proven, <= 0.3 s median",
        ),
    ]
    header = ("50 x 8", "found", "median", "95th percentile", "median, processor", "target")
    return Measured(header, rows, figures)


def bench_medium(quick):
    """500 x 20: certified gap, and what exact proves in 30 s."""
    figures, rows = [], []
    for is_grid in (False, True):
        for seed in range(1 if quick else 8):
            problem = paper_like(500, 20, seed, is_grid=is_grid)
            solve_certified(problem, seeded(), effort=0)
            found, cpu_s = with_cpu(solve_certified, problem, seeded())
            best, best_cpu_s = with_cpu(
                solve_exact, problem, seeded(), effort=100, time_limit_s=5 if quick else 30
            )
            figures.append(
                {
                    "is_grid": is_grid,
                    "seed": seed,
                    "certified_gap": found.gap,
                    "certified_above_exact": found.round_s / best.round_s - 1,
                    "certified_s": found.wall_s,
                    "certified_cpu_s": cpu_s,
                    "exact_gap": best.gap,
                    "exact_s": best.wall_s,
                    "exact_cpu_s": best_cpu_s,
                }
            )
            rows.append(
                (
                    f"{'on a grid' if is_grid else 'at random'}, seed {seed}",
                    percent(found.gap),
                    f"{seconds(found.wall_s)} ({seconds(cpu_s)})",
                    percent(found.round_s / best.round_s - 1),
                    percent(best.gap),
                    f"{seconds(best.wall_s)} ({seconds(best_cpu_s)})",
                )
            )
    header = (
        "500 x 20, stations",
        "`certified`, gap to prices",
        "time (processor)",
        "above the best of `exact`",
        "`exact`, gap left",
        "time (processor)",
    )
    return Measured(header, rows, figures)


TARGETS = {10_000: "0.3 % in 1 s, 0.1 % in 3 s", 100_000: "0.3 % in 1 s, 0.1 % in 3 s"}


def bench_large(quick):
    """10^4 x 20 and 10^5 x 50, all links."""
    figures, rows = [], []
    solve_certified(paper_like(2_000, 20, 0), seeded())
    for n_users, n_stations in ((10_000, 20), (100_000, 50))[: 1 if quick else 2]:
        for effort in (0.0, 1.0, 4.0):
            solved = []
            for seed in range(3):
                problem = paper_like(n_users, n_stations, seed)
                found, cpu_s = with_cpu(solve_certified, problem, seeded(), effort=effort)
                solved.append({"gap": found.gap, "s": found.wall_s, "cpu_s": cpu_s})
            case = {"users": n_users, "stations": n_stations, "effort": effort}
            figures.append(case | {"seeds": solved})
            rows.append(
                (
                    f"{n_users:,} x {n_stations}",
                    f"{effort:g}",
                    f"{percent(min(x['gap'] for x in solved))} to "
                    f"{percent(max(x['gap'] for x in solved))}",
                    seconds(np.median([x["s"] for x in solved])),
                    seconds(np.median([x["cpu_s"] for x in solved])),
                    TARGETS[n_users],
                )
            )
    header = ("all links", "effort", "gap, 3 seeds", "median", "processor", "target")
    return Measured(header, rows, figures)


def huge_dense(n_users, n_stations):
    """Built in slices, so that the peak memory is the problem's and the solver's."""
    rng = np.random.default_rng(0)
    side_km = np.sqrt(n_stations / 8)
    station = rng.uniform(0, side_km, (n_stations, 2))
    efficiency = np.empty((n_users, n_stations))
    for first in range(0, n_users, 20_000):
        rows = efficiency[first : first + 20_000]
        user = rng.uniform(0, side_km, (len(rows), 2))
        rows[:] = efficiencies(rng, np.linalg.norm(user[:, None] - station[None], axis=2))
    np.maximum(efficiency, 1e-9, out=efficiency)
    return _huge(
        rng, efficiency, np.tile(np.arange(n_stations, dtype=np.int32), n_users), n_stations
    )


def huge_sparse(n_users, n_stations, nearest=8):
    """The nearest stations of every user only."""
    rng = np.random.default_rng(0)
    side_km = np.sqrt(n_stations / 8)
    station = rng.uniform(0, side_km, (n_stations, 2))
    user = rng.uniform(0, side_km, (n_users, 2))
    distance_km, index = cKDTree(station).query(user, nearest, workers=2)
    order = np.argsort(index, axis=1)
    index = np.take_along_axis(index, order, axis=1)
    efficiency = efficiencies(rng, np.take_along_axis(distance_km, order, axis=1))
    return _huge(rng, np.maximum(efficiency, 1e-9), index.ravel().astype(np.int32), n_stations)


def _huge(rng, efficiency, station, n_stations):
    n_users, k = efficiency.shape
    return Problem(
        indptr=np.arange(n_users + 1) * k,
        station=station,
        efficiency=efficiency.reshape(-1),
        compute_s=rng.uniform(0.1, 0.11, n_users),
        capacity_hz=np.full(n_stations, 1e6),
        payload_bit=698_880.0,
        required=rng.random(n_users) < 0.1,
        min_selected=n_users // 2,
    )


def one_huge(kind, n_users, n_stations, effort):
    """Run by ``bench_huge`` in a process of its own."""
    small = paper_like(400, 20, 0)
    solve_certified(small, seeded())  # load the compiled code
    make = huge_dense if kind == "dense" else huge_sparse
    problem = make(n_users, n_stations)
    found, cpu_s = with_cpu(solve_certified, problem, seeded(), effort=effort)
    peak_gb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return {
        "kind": kind,
        "users": n_users,
        "stations": n_stations,
        "effort": effort,
        "gap": found.gap,
        "s": found.wall_s,
        "cpu_s": cpu_s,
        "peak_gb": peak_gb,
    }


def bench_huge(quick):
    """10^6 users: 100 stations with all links, and 10^4 with the 8 nearest."""
    cases = (
        ("dense", 10**6, 100, "0.2 % in 10 s, <= 3 GB"),
        ("sparse", 10**6, 10**4, "as small as can be in 30 s"),
    )
    if quick:
        cases = (("dense", 10**5, 100, ""), ("sparse", 10**5, 10**3, ""))
    figures, rows = [], []
    for kind, n_users, n_stations, target in cases:
        for effort in (0.0, 1.0):
            case = (kind, str(n_users), str(n_stations), str(effort))
            command = [sys.executable, __file__, "--one", *case]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            found = json.loads(done.stdout.splitlines()[-1])
            figures.append(found)
            rows.append(
                (
                    f"{n_users:,} x {n_stations:,}, "
                    f"{'all links' if kind == 'dense' else '8 nearest'}",
                    f"{effort:g}",
                    percent(found["gap"]),
                    seconds(found["s"]),
                    seconds(found["cpu_s"]),
                    f"{found['peak_gb']:.2f} GB",
                    target,
                )
            )
    header = ("links", "effort", "gap", "time", "processor", "peak memory", "target")
    return Measured(header, rows, figures)


def bench_dagsa(quick):
    """Mean round over the paper's scenario, beside DAGSA, each in its own run of one seed."""
    figures, rows = [], []
    for bands, target in ((0.0, ">= 10 %"), (0.5, ">= 20 %")):
        for seed in range(1 if quick else 3):
            scenario = Scenario(world=World(band_spread=bands), mobility=RandomDirection())
            row = {"band_spread": bands, "seed": seed}
            for name, policy in (("dagsa", Dagsa()), ("certified", Certified())):
                row |= {f"{name}_{k}": v for k, v in _play(scenario, policy, seed, quick).items()}
            row["shorter"] = 1 - row["certified_mean_s"] / row["dagsa_mean_s"]
            figures.append(row)
            rows.append(
                (
                    "unequal" if bands else "equal",
                    str(seed),
                    f"{row['dagsa_mean_s']:.4f} s",
                    f"{row['certified_mean_s']:.4f} s",
                    percent(row["shorter"]),
                    target,
                    f"{row['certified_wall_ms']:.0f} ms",
                )
            )
    header = ("bands", "seed", "DAGSA", "`certified`", "shorter by", "target", "one decision")
    return Measured(header, rows, figures)


def _play(scenario, policy, seed, quick):
    simulation = Simulation(scenario, policy, seed=seed, payload_bit=698_880.0)
    rounds = list(simulation.rounds(rounds=30 if quick else 200))
    lengths = [r.length_s for r in rounds]
    part = simulation.times_selected / len(rounds)
    return {
        "mean_s": np.mean(lengths),
        "p95_s": np.quantile(lengths, 0.95),
        "users": np.mean([r.verdict.n_selected for r in rounds]),
        "least_part": part.min(),
        "wall_ms": 1e3 * np.median([r.policy_wall_s for r in rounds]),
    }


def unrelated_machines(kind, n_jobs, n_machines, seed):
    """
    Processing times of R||Cmax: our problem with no compute time and everybody required.

    ``c``, ``d``, ``e`` are the resource matrices of the generalised-assignment instances by the
    published recipes of Chu and Beasley (c, d) and Laguna et al. (e), with the capacity that they
    give each machine; ``u`` is U(1, 100); ``corr`` job-correlated: U(1, 100) a job plus U(1, 20).
    """
    rng = np.random.default_rng(seed)
    if kind in "cu":
        times = (
            rng.integers(5, 26, (n_jobs, n_machines))
            if kind == "c"
            else rng.integers(1, 101, (n_jobs, n_machines))
        )
    elif kind == "d":
        times = rng.integers(1, 101, (n_jobs, n_machines))
    elif kind == "e":
        times = 1 - 10 * np.log(rng.uniform(1e-12, 1, (n_jobs, n_machines)))
    else:
        times = rng.integers(1, 101, (n_jobs, 1)) + rng.integers(1, 21, (n_jobs, n_machines))
    times = times.astype(float)
    capacity = np.full(n_machines, 1.0)
    if kind in "cde":  # min-max of the relative load, at the capacity of the recipe
        capacity = 0.8 * times.sum(axis=0) / n_machines
    return dense(
        1 / times,
        compute_s=np.zeros(n_jobs),
        capacity_hz=capacity,
        payload_bit=1.0,
        min_selected=n_jobs,
        required=np.ones(n_jobs, bool),
    )


def milp_min_max(problem, time_limit_s):
    """HiGHS on the textbook model: least greatest finish time (loads are linear, as c = 0)."""
    import highspy

    n, m = problem.n_users, problem.n_stations
    highs = highspy.Highs()
    highs.silent()
    highs.setOptionValue("time_limit", time_limit_s)
    highs.setOptionValue("threads", 1)
    highs.setOptionValue("mip_rel_gap", 1e-5)
    x = [highs.addBinary() for _ in range(n * m)]
    z = highs.addVariable(obj=1.0)
    q = 1 / problem.efficiency / problem.capacity_hz[problem.station]
    for u in range(n):
        highs.addConstr(highs.qsum(x[u * m : (u + 1) * m]) == 1)
    for s in range(m):
        highs.addConstr(highs.qsum(float(q[u * m + s]) * x[u * m + s] for u in range(n)) <= z)
    highs.run()
    info = highs.getInfo()
    return info.objective_function_value, info.mip_dual_bound


def bench_machines(quick):
    """Generalised assignment and R||Cmax in min-max form beside HiGHS at equal time."""
    figures, rows = [], []
    limit_s = 2.0 if quick else 10.0
    for kind in KINDS:
        for n, m in ((100, 10),) if quick else ((100, 10), (200, 20)):
            problem = unrelated_machines(kind, n, m, 0)
            default = solve_certified(problem, seeded())
            ours = solve_certified(problem, seeded(), time_limit_s=limit_s)
            exact = solve_exact(problem, seeded(), time_limit_s=limit_s)
            theirs_s, their_bound_s = milp_min_max(problem, limit_s)
            lower_s = max(ours.bound_s, exact.bound_s, their_bound_s)
            found_s = (default.round_s, ours.round_s, exact.round_s, theirs_s)
            above = [x / lower_s - 1 for x in found_s]
            figures.append(
                {
                    "kind": kind,
                    "jobs": n,
                    "machines": m,
                    "limit_s": limit_s,
                    "default_s": default.wall_s,
                    "exact_s": exact.wall_s,
                    "above_best_bound": dict(zip(CONTESTANTS, above, strict=True)),
                    "bounds_below_best": {
                        "prices": 1 - ours.bound_s / lower_s,
                        "exact": 1 - exact.bound_s / lower_s,
                        "highs": 1 - their_bound_s / lower_s,
                    },
                }
            )
            rows.append((f"{KINDS[kind]}, {n} x {m}", *map(percent, above)))
    header = (
        "above the best bound",
        "`certified`, default",
        f"`certified`, {limit_s:g} s",
        f"`exact`, {limit_s:g} s",
        f"HiGHS, {limit_s:g} s",
    )
    return Measured(header, rows, figures)


KINDS = {
    "c": "assignment c",
    "d": "assignment d",
    "e": "assignment e",
    "u": "unrelated machines, U(1, 100)",
    "corr": "unrelated machines, correlated by job",
}
CONTESTANTS = ("default", "certified", "exact", "highs")

BENCHES: dict[str, Callable[[bool], Measured]] = {
    "paper": bench_paper,
    "medium": bench_medium,
    "large": bench_large,
    "huge": bench_huge,
    "dagsa": bench_dagsa,
    "machines": bench_machines,
}


def percent(part):
    """Two digits that count; what is below a millionth is none."""
    if abs(part) < 1e-6:
        return "0 %"
    return f"{100 * part:.2g} %" if part < 0.1 else f"{100 * part:.0f} %"


def seconds(s):
    return f"{1e3 * s:.0f} ms" if s < 0.1 else f"{s:.2f} s" if s < 10 else f"{s:.1f} s"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="+", choices=BENCHES, default=list(BENCHES))
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        kind, n_users, n_stations, effort = given.one
        print(json.dumps(one_huge(kind, int(n_users), int(n_stations), float(effort))))
        return
    for name in given.only:
        before = side_by_side.machine()
        found = BENCHES[name](given.quick)
        print(f"\n{name}: {BENCHES[name].__doc__}")
        side_by_side.report_table(
            f"certified_{name}",
            found.header,
            found.rows,
            before=before,
            extra={"figures": found.figures},
            is_kept=not given.quick,
        )


if __name__ == "__main__":
    main()
