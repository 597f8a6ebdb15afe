"""
Schedules with a proof, measured: optimum, gap and time from 50 to 1,000,000 users.

    python benchmarks/certified.py            everything, about 20 minutes
    python benchmarks/certified.py --quick    a small share of each, about a minute
    python benchmarks/certified.py --only paper large

Prints a table and writes ``benchmarks/out/certified.json``. The very large problems run in a
process each, so that the peak memory is theirs.
"""

import argparse
import json
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree

from fedroam.mobility import RandomDirection
from fedroam.scheduling.certified import solve_certified, solve_exact
from fedroam.scheduling.policies.certified import Certified
from fedroam.scheduling.policies.dagsa import Dagsa
from fedroam.scheduling.problem import Problem, dense
from fedroam.simulation.rounds import Simulation
from fedroam.simulation.scenario import Fairness, Scenario, World

OUT = Path(__file__).parent / "out" / "certified.json"


def efficiencies(rng, distance_km):
    """The paper's link: -0.1 dB at 1 km, Rayleigh fading."""
    snr_db = -0.1 - 37.6 * np.log10(np.maximum(distance_km, 1e-3))
    snr = 10 ** (snr_db / 10) * rng.exponential(size=distance_km.shape)
    return np.log2(1 + snr)


def paper_like(
    n_users, n_stations, seed, *, rho2=0.5, required=0.1, spread=1.1, bands=0.0, block=0.0
):
    """Users and stations uniform over an area with the paper's density of stations."""
    rng = np.random.default_rng(seed)
    side_km = np.sqrt(n_stations / 8)
    user, station = rng.uniform(0, side_km, (n_users, 2)), rng.uniform(0, side_km, (n_stations, 2))
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
    n = 20 if quick else 200
    solve_exact(small_family(0), seeded())
    certified_cpu_s, exact_cpu_s = [], []
    above, certified_s, exact_s, optimal, gaps, worst = [], [], [], 0, [], 0.0
    for i in range(n):
        problem = small_family(i)
        found, cpu_s = with_cpu(solve_certified, problem, seeded())
        best, best_cpu_s = with_cpu(solve_exact, problem, seeded(), time_limit_s=20)
        certified_cpu_s.append(cpu_s)
        exact_cpu_s.append(best_cpu_s)
        above.append(found.round_s / best.round_s - 1)
        gaps.append(found.gap)
        certified_s.append(found.wall_s)
        exact_s.append(best.wall_s)
        worst = max(worst, best.gap)
        optimal += best.outcome.value == "optimal"
    return {
        "problems": n,
        "certified_above_optimum_median": np.median(above),
        "certified_above_optimum_p90": np.quantile(above, 0.9),
        "certified_above_optimum_max": max(above),
        "certified_optimal": int(np.sum(np.array(above) < 1e-5)),
        "certified_s_median": np.median(certified_s),
        "certified_s_p95": np.quantile(certified_s, 0.95),
        "certified_cpu_s_median": np.median(certified_cpu_s),
        "gap_to_prices_median": np.median(gaps),
        "exact_optimal_in_20_s": optimal,
        "exact_worst_gap": worst,
        "exact_s_median": np.median(exact_s),
        "exact_s_max": max(exact_s),
        "exact_cpu_s_median": np.median(exact_cpu_s),
    }


def bench_medium(quick):
    """500 x 20: certified gap, and what exact proves in 30 s."""
    rows = []
    for seed in range(1 if quick else 3):
        problem = paper_like(500, 20, seed)
        solve_certified(problem, seeded(), effort=0)
        found, cpu_s = with_cpu(solve_certified, problem, seeded())
        row = {"seed": seed, "certified_gap": found.gap, "certified_s": found.wall_s}
        row["certified_cpu_s"] = cpu_s
        best = solve_exact(problem, seeded(), effort=4, time_limit_s=5 if quick else 30)
        row |= {"exact_gap": best.gap, "exact_s": best.wall_s, "exact_s_round": best.round_s}
        rows.append(row)
    return rows


def bench_large(quick):
    """10^4 x 20 and 10^5 x 50, all links."""
    rows = []
    for n_users, n_stations in ((10_000, 20), (100_000, 50))[: 1 if quick else 2]:
        for effort in (0.0, 1.0, 4.0):
            for seed in range(3):
                problem = paper_like(n_users, n_stations, seed)
                found, cpu_s = with_cpu(solve_certified, problem, seeded(), effort=effort)
                rows.append(
                    {
                        "users": n_users,
                        "stations": n_stations,
                        "effort": effort,
                        "seed": seed,
                        "gap": found.gap,
                        "s": found.wall_s,
                        "cpu_s": cpu_s,
                    }
                )
    return rows


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
    cases = (("dense", 10**6, 100), ("sparse", 10**6, 10**4))
    if quick:
        cases = (("dense", 10**5, 100), ("sparse", 10**5, 10**3))
    rows = []
    for case in cases:
        for effort in (0.0, 1.0):
            command = [sys.executable, __file__, "--one", *map(str, case), str(effort)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            rows.append(json.loads(done.stdout.splitlines()[-1]))
    return rows


def bench_dagsa(quick):
    """Mean round over the paper's scenario, beside DAGSA, each in its own run of one seed."""
    rows = []
    for bands in (0.0, 0.5):
        for seed in range(1 if quick else 3):
            scenario = Scenario(world=World(band_spread=bands), mobility=RandomDirection())
            row = {"band_spread": bands, "seed": seed}
            for name, policy in (("dagsa", Dagsa()), ("certified", Certified())):
                row |= {f"{name}_{k}": v for k, v in _play(scenario, policy, seed, quick).items()}
            row["shorter"] = 1 - row["certified_mean_s"] / row["dagsa_mean_s"]
            rows.append(row)
    return rows


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


def bench_fairness(quick):
    """Latency against the worst quota deficit: hard set and virtual queues, several seeds."""
    rows = []
    rounds = 40 if quick else 60
    for quota in (0.1, 0.3):
        cases = [("none", 0.0, Certified(effort=0.3)), ("hard", quota, Certified(effort=0.3))]
        cases += [
            (
                f"queues {weight}",
                0.0,
                Certified(effort=0.3, fairness="queues", quota=quota, weight=weight),
            )
            for weight in (20.0, 60.0, 200.0)
        ]
        for name, rho1, policy in cases:
            means, worst, part = [], [], []
            for seed in range(2 if quick else 4):
                scenario = Scenario(fairness=Fairness(rho1=rho1))
                simulation = Simulation(scenario, policy, seed=seed, payload_bit=698_880.0)
                means.append(np.mean([r.length_s for r in simulation.rounds(rounds=rounds)]))
                worst.append(float(max(0.0, quota * rounds - simulation.times_selected.min())))
                part.append(simulation.times_selected.min() / rounds)
            rows.append(
                {
                    "quota": quota,
                    "fairness": name,
                    "mean_s": np.mean(means),
                    "mean_s_sd_over_seeds": np.std(means, ddof=1),
                    "worst_deficit_rounds": np.max(worst),
                    "mean_worst_deficit_rounds": np.mean(worst),
                    "least_part": np.mean(part),
                }
            )
    return rows


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
    rows = []
    shapes = ((100, 10), (200, 20)) if not quick else ((100, 10),)
    for kind in ("c", "d", "e", "u", "corr"):
        for n, m in shapes:
            problem = unrelated_machines(kind, n, m, 0)
            limit_s = 2.0 if quick else 10.0
            ours = solve_certified(problem, seeded(), time_limit_s=limit_s)
            default = solve_certified(problem, seeded())
            exact = solve_exact(problem, seeded(), time_limit_s=limit_s)
            theirs, their_bound = milp_min_max(problem, limit_s)
            lower = max(ours.bound_s, exact.bound_s, their_bound)
            rows.append(
                {
                    "kind": kind,
                    "jobs": n,
                    "machines": m,
                    "limit_s": limit_s,
                    "default_above_best_bound": default.round_s / lower - 1,
                    "default_s": default.wall_s,
                    "certified_above_best_bound": ours.round_s / lower - 1,
                    "exact_above_best_bound": exact.round_s / lower - 1,
                    "highs_above_best_bound": theirs / lower - 1,
                    "exact_s": exact.wall_s,
                }
            )
    return rows


BENCHES = {
    "paper": bench_paper,
    "medium": bench_medium,
    "large": bench_large,
    "huge": bench_huge,
    "dagsa": bench_dagsa,
    "fairness": bench_fairness,
    "machines": bench_machines,
}


def show(name, result):
    print(f"\n{name}: {BENCHES[name].__doc__}")
    rows = result if isinstance(result, list) else [result]
    if len(rows) == 1:
        for key, value in rows[0].items():
            print(f"  {key:36} {_text(value)}")
        return
    keys = list(rows[0])
    table = [keys] + [[_text(row[key]) for key in keys] for row in rows]
    widths = [max(len(line[i]) for line in table) for i in range(len(keys))]
    for line in table:
        print("  " + "  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True)))


def _text(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="+", choices=BENCHES, default=list(BENCHES))
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        kind, n_users, n_stations, effort = args.one
        print(json.dumps(one_huge(kind, int(n_users), int(n_stations), float(effort))))
        return
    OUT.parent.mkdir(exist_ok=True)
    for name in args.only:
        before_s = time.perf_counter()
        result = BENCHES[name](args.quick)
        show(name, result)
        # Read anew: another process may have written its own rows meanwhile.
        results = json.loads(OUT.read_text()) if OUT.exists() else {}
        results["machine"] = {"python": platform.python_version(), "processor": platform.machine()}
        results[name] = {"quick": args.quick, "s": time.perf_counter() - before_s, "rows": result}
        OUT.write_text(json.dumps(results, indent=1, default=float) + "\n")


if __name__ == "__main__":
    main()
