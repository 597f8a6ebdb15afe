"""
World and DAGSA from a thousand to a million users, 8 nearest links, 100 users a station.

The area grows with the stations, so that their density is the paper's. Each size is played in a
process of its own, for the peak of its memory. Round 1 is the burst of the strict reading of rho1:
everyone left out of round 0 is required.

    python benchmarks/scale.py [--quick]
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import side_by_side

ROUNDS = 6
TARGETS = {(131_072, 1_000): "<= 500 ms", (1_000_000, 10_000): "<= 4000 ms, <= 4 GB"}
GROWTH = ((1_000, 10), (3_200, 32), (10_000, 100), (32_000, 320), (100_000, 1_000),
          (320_000, 3_200), (1_000_000, 10_000))  # fmt: skip


def play(users: int, stations: int) -> dict[str, object]:
    """Seconds of each round, the policy's share, and the peak of memory; in this process."""
    from fedroam.scheduling.policies.dagsa import Dagsa
    from fedroam.simulation import Scenario, Simulation, World

    list(Simulation(Scenario(World(nearest=4)), Dagsa()).rounds(rounds=2))  # loads the kernels
    world = World(users=users, stations=stations, area_m=1000 * (stations / 8) ** 0.5, nearest=8)
    begin_s = time.perf_counter()
    simulation = Simulation(Scenario(world), Dagsa())
    found = {"setup_s": time.perf_counter() - begin_s, "round_s": [], "cpu_s": [], "policy_s": []}
    for _ in range(ROUNDS):
        begin_s, begin_cpu_s = time.perf_counter(), time.process_time()
        played = simulation.step()
        found["cpu_s"].append(time.process_time() - begin_cpu_s)
        found["round_s"].append(time.perf_counter() - begin_s)
        found["policy_s"].append(played.policy_wall_s)
    peak_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return found | {"peak_gb": peak_kb * 1024 / 1e9}


def measure(users: int, stations: int) -> dict[str, object]:
    command = [sys.executable, __file__, "--one", str(users), str(stations)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def plot(points: list[tuple[int, float]], exponent: float, path: Path) -> None:
    from fedroam.plots.style import COLOURS, new_axes, save_figure

    users, seconds = np.array(points).T
    axes = new_axes()
    axes.loglog(users, seconds, "o-", color=COLOURS[0], label=f"measured, slope {exponent:.2f}")
    axes.loglog(
        users, seconds[0] * users / users[0], "--", color=COLOURS[7], label="linear, from the first"
    )
    axes.set_xlabel("users (100 a station, 8 nearest links each)")
    axes.set_ylabel("real seconds a round, world and DAGSA")
    axes.legend(frameon=False)
    save_figure(axes, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--one", nargs=2, type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(play(*given.one)))
        return
    before = side_by_side.machine()
    sizes = sorted({*GROWTH[: 4 if given.quick else None], (131_072, 1_000)})
    rows, points, details = [], [], {}
    found = {size: [] for size in sizes}
    for _ in range(1 if given.quick else 3):
        for size in sizes:
            found[size].append(measure(*size))
    for (users, stations), runs in found.items():
        what = f"{users:,} x {stations:,}, 8 nearest"
        peak_gb = max(run["peak_gb"] for run in runs)
        usual_s = [s for run in runs for i, s in enumerate(run["round_s"]) if i != 1]
        burst_s = [run["round_s"][1] for run in runs]
        cpu_ms = 1e3 * float(np.median([s for run in runs for s in run["cpu_s"]]))
        note = f"peak {peak_gb:.2f} GB; {cpu_ms:.0f} ms of processor, both cores"
        target = TARGETS.get((users, stations), "")
        rows.append(side_by_side.row(what, "a usual round", usual_s, target, note))
        rows.append(side_by_side.row(what, "round 1, all others required", burst_s, target))
        details[what] = runs
        if (users, stations) in GROWTH:
            points.append((users, float(np.median(usual_s))))
    exponent = float(np.polyfit(*np.log(points).T, 1)[0])
    extra = {"growth": points, "exponent": exponent, "runs": details}
    side_by_side.report("scale", rows, before=before, extra=extra, is_kept=not given.quick)
    print(f"a round's cost grows with the {exponent:.2f}th power of the users")
    folder = side_by_side.OUT if given.quick else side_by_side.KEPT
    plot(points, exponent, folder / "growth.svg")


if __name__ == "__main__":
    main()
