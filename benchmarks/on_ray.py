"""
Ray with two workers beside the local engine with two workers: the MNIST round.

25 of 50 users with 1,200 samples each, 10 local epochs, batches of 32, the 21,840-parameter CNN,
fedroam's own trainer; and the same with one epoch, where whatever an engine adds weighs ten times
as much. Both engines stand ready and take turns, each in rounds 1, 2, 3, ... of its own model; the
weights are asserted equal after every round. What else the machine does changes from minute to
minute: so the turns are compared in pairs, and processor time is given too, of this process and of
all that it started, Ray's own ones among them. Ray's workers get the priority of the local ones
here; left alone they yield to everybody (nice 15).

    python benchmarks/on_ray.py [--quick]
"""

import argparse
import contextlib
import os
import statistics
import time
from functools import partial
from pathlib import Path

import numpy as np
import side_by_side
from side_by_side import Row

from fedroam.adapters.on_ray.cluster import Cluster, connected
from fedroam.adapters.on_ray.crew import engine_on
from fedroam.learning.federation import Federation, LearningSettings
from fedroam.learning.partition import Iid
from fedroam.learning.records import LocalTraining

WORKERS, USERS = 2, 50
CHOSEN = np.arange(0, USERS, 2)
MOST_SLOWER = 1.10
TICKS = os.sysconf("SC_CLK_TCK")


def family_s() -> float:
    """Processor seconds that this process and its descendants have used so far."""
    parent, used_s = {}, {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended
            fields = file.read_text().rpartition(")")[2].split()
            pid = int(file.parent.name)
            parent[pid], used_s[pid] = int(fields[1]), (int(fields[11]) + int(fields[12])) / TICKS

    def is_ours(pid: int) -> bool:
        while pid not in (os.getpid(), 0):
            pid = parent.get(pid, 0)
        return pid != 0

    return sum(seconds for pid, seconds in used_s.items() if is_ours(pid))


class Turns:
    """One engine's rounds, one after another."""

    def __init__(self, federation: Federation) -> None:
        self.federation, self.hashes, self.cpu_s = federation, [], []

    def play(self) -> list[float]:
        """Wall seconds of the next round; processor seconds are noted."""
        before_s, wall = family_s(), time.perf_counter()
        self.federation.train(len(self.hashes), CHOSEN)
        wall = time.perf_counter() - wall
        self.cpu_s.append(family_s() - before_s)
        self.hashes.append(self.federation.weights_sha256)
        return [wall]


def side(cluster: Cluster, epochs: int, repeats: int) -> list[Row]:
    settings = LearningSettings(partition=Iid(), local=LocalTraining(epochs))
    open_one = partial(Federation, settings, users=USERS, seed=1, workers=WORKERS)
    with open_one() as local, open_one(start=engine_on(cluster)) as ray:
        contestants = {"local engine": Turns(local), "Ray": Turns(ray)}
        first_s = {name: turns.play()[0] for name, turns in contestants.items()}
        plays = {name: turns.play for name, turns in contestants.items()}
        times_s = side_by_side.alternate(plays, repeats)
    ours, rays = contestants.values()
    if ours.hashes != rays.hashes:
        raise SystemExit("the weights differ")
    what = f"a round of 25 users, {epochs} epoch{'s' * (epochs > 1)}"
    local_s, there_s = times_s["local engine"], times_s["Ray"]
    slower = statistics.median(np.divide(there_s, local_s)) - 1
    used = {name: statistics.median(turns.cpu_s[1:]) for name, turns in contestants.items()}
    beyond = used["Ray"] / used["local engine"] - 1
    notes = {
        "local engine": "",
        "Ray": f"{slower:+.1%} turn by turn, processor time {beyond:+.1%}; "
        f"same weights after all {len(rays.hashes)} rounds; ",
    }
    targets = {"Ray": f"<= {MOST_SLOWER - 1:.0%} slower"}
    return [
        side_by_side.row(
            what,
            name,
            times_s[name],
            targets.get(name, ""),
            f"{notes[name]}{used[name]:.2f} s of processor; first round {first_s[name]:.1f} s",
        )
        for name in contestants
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    os.environ.setdefault("RAY_worker_niceness", "0")
    before = side_by_side.machine()
    start_s = time.perf_counter()
    with connected(workers=WORKERS) as cluster:
        start_s = time.perf_counter() - start_s
        rows = []
        for epochs, repeats in ((1, 3),) if given.quick else ((10, 10), (1, 20)):
            rows += side(cluster, epochs, repeats)
    rows.append(side_by_side.row("a cluster of this machine", "Ray's start", [start_s]))
    side_by_side.report("on_ray", rows, before=before, is_kept=not given.quick)


if __name__ == "__main__":
    main()
