"""
Learning on two cores: rounds of local training beside Flower's, and what the engine adds to them.

Flower 1.41 runs its own server loop, FedAvg and Ray backend (one core a client), with a plain
PyTorch loop in the clients; every contestant starts in a process of its own, turn by turn. Times of
Flower and of whole programs are wall time: on a busy machine all of them wait, and the shares of
the cores' throughput are given in processor time as well, which waiting does not count in.

    python benchmarks/learning.py [--quick] [--only throughput flower many_users overhead memory]
"""

import argparse
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

import engine_overhead
import numpy as np
import side_by_side
from side_by_side import Row

from fedroam.learning import datasets
from fedroam.learning.federation import Federation, LearningSettings
from fedroam.learning.partition import Iid
from fedroam.learning.records import LocalTraining
from fedroam.learning.trainers import trainer_for

WORKERS = 2
TRAINERS = ("native", "torch")
SAMPLES = 1200  # of a user
TICKS = os.sysconf("SC_CLK_TCK")
HANGS_S = 1800.0


# Training throughput of a round


def alone(trainer_name: str, users: int, epochs: int) -> tuple[float, float]:
    """Wall and processor seconds of training users one after another, without any engine."""
    trainer, data, weights = prepared(trainer_name)
    how = LocalTraining(local_epochs=epochs)
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    for user in range(users):
        rng = np.random.default_rng(user)
        trainer.train(weights, data, np.sort(rng.choice(60_000, SAMPLES, False)), how, rng)
    return time.perf_counter() - wall_s, time.process_time() - cpu_s


@lru_cache
def prepared(trainer_name: str):
    data = datasets.load("mnist")
    trainer = trainer_for(data, "cnn", trainer_name)
    return trainer, data, trainer.initial(np.random.default_rng(0))


def throughput(quick: bool) -> Iterator[Row]:
    """25 of 50 users, and one or two processes that do nothing but train, turn by turn."""
    epochs, repeats, few = (2, 2, 2) if quick else (10, 3, 4)
    for name in TRAINERS:
        settings = settings_of(name, epochs)
        with (
            multiprocessing.get_context("spawn").Pool(WORKERS) as pool,
            Federation(settings, users=50, workers=WORKERS) as federation,
        ):
            pool.starmap(alone, [(name, 1, 1)] * WORKERS, chunksize=1)
            federation.train(0, np.arange(4))
            cpu_s: dict[str, list[float]] = {"one": [], "two": [], "round": []}

            def one(name=name, pool=pool, cpu_s=cpu_s) -> list[float]:
                wall, cpu = pool.apply(alone, (name, few, epochs))
                cpu_s["one"].append(cpu / few)
                return [wall / few]

            def two(name=name, pool=pool, cpu_s=cpu_s) -> list[float]:
                start_s = time.perf_counter()
                done = pool.starmap(alone, [(name, few, epochs)] * WORKERS, chunksize=1)
                cpu_s["two"].append(sum(cpu for _, cpu in done) / few / WORKERS)
                return [(time.perf_counter() - start_s) / few / WORKERS]

            def whole(federation=federation, cpu_s=cpu_s) -> list[float]:
                pids = (os.getpid(), *federation.worker_pids)
                wall, cpu = time.perf_counter(), processor_s(pids)
                federation.train(1, np.arange(25) * 2)
                cpu_s["round"].append((processor_s(pids) - cpu) / 25)
                return [(time.perf_counter() - wall) / 25]

            turns = {"one": one, "two": two, "round": whole}
            times = side_by_side.alternate(turns, repeats)
        yield from throughput_rows(name, epochs, times, cpu_s)


def throughput_rows(name: str, epochs: int, times: dict, cpu_s: dict) -> Iterator[Row]:
    what = f"a user's {epochs} epochs, {name}"
    one_s = statistics.median(times["one"])
    one_cpu_s = statistics.median(cpu_s["one"])

    def note(turn: str, workers: int) -> str:
        """The share of the cores' throughput: by wall time, best turns, and processor time."""
        seconds, used = statistics.median(times[turn]), statistics.median(cpu_s[turn])
        return (
            f"{SAMPLES * epochs / seconds:,.0f} samples/s; "
            f"{one_s / seconds / workers:.2f} of the cores "
            f"(best turns {min(times['one']) / min(times[turn]) / workers:.2f}, "
            f"processor time {one_cpu_s / used:.2f})"
        )

    yield side_by_side.row(what, "one process", times["one"], note=note("one", 1))
    yield side_by_side.row(what, "two processes", times["two"], note=note("two", 2))
    ceiling = statistics.median(times["two"]) / statistics.median(times["round"])
    shares = f"{note('round', 2)}; {ceiling:.2f} of two processes"
    target = ">= 0.95 of the cores"
    yield side_by_side.row(what, "fedroam, 25 users", times["round"], target, shares)


def settings_of(trainer: str, epochs: int) -> LearningSettings:
    return LearningSettings(partition=Iid(), trainer=trainer, local=LocalTraining(epochs))


def processor_s(pids: tuple[int, ...]) -> float:
    """Processor time that processes have used so far, all their threads."""
    fields = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids]
    return sum(int(field[11]) + int(field[12]) for field in fields) / TICKS


# The same work in Flower


FLOWER_TARGETS = {("native", 1): 3.5, ("native", 10): 2.5, ("torch", 1): 1.7, ("torch", 10): 1.3}
FIRST_TARGET = 10.0


def flower(quick: bool) -> Iterator[Row]:
    """20 users, 10 chosen; seconds a round after two rounds, and of the first one."""
    repeats = 1 if quick else 2
    for epochs, rounds in ((1, 4 if quick else 10), (10, 3 if quick else 4)):
        contestants = {
            f"fedroam, {name}": clocked("fedroam_app.py", name, epochs, rounds) for name in TRAINERS
        } | {"Flower, Ray": clocked("learning.py", "--flower", epochs, rounds)}
        found = side_by_side.alternate(contestants, repeats)
        flower_of = {key: medians(found["Flower, Ray"], key) for key in ("round", "first", "all")}
        for key, what, target in (
            ("round", f"a round, {epochs} epochs", None),
            ("first", f"first round, {epochs} epochs", FIRST_TARGET),
            ("all", f"program to first round, {epochs}", 0.0),
        ):
            for who, runs in found.items():
                times = [s for run in runs for s in run[key]]
                ratio = flower_of[key] / statistics.median(times)
                name = who.removeprefix("fedroam, ")
                least = FLOWER_TARGETS.get((name, epochs), 0.0) if target is None else target
                is_ours = name in TRAINERS
                yield side_by_side.row(
                    what,
                    who,
                    times,
                    f">= {least}x Flower's speed" if is_ours and least else "",
                    f"{ratio:.1f}x Flower's speed" if is_ours else "",
                )
    yield from cold(1 if quick else 2)


def cold(repeats: int) -> Iterator[Row]:
    """The first round ever: nothing is compiled yet."""
    what = "first round, 1 epochs"
    times = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            times += clocked("fedroam_app.py", "native", 1, 1, NUMBA_CACHE_DIR=folder)()[0]["first"]
    yield side_by_side.row(what, "fedroam, native, nothing compiled", times)


def medians(runs: list[dict[str, list[float]]], key: str) -> float:
    return statistics.median(s for run in runs for s in run[key])


def clocked(app: str, *arguments: object, **environment: str) -> Callable[[], list[dict]]:
    """A program of its own that prints when its first round began and when each round ended."""
    command = [sys.executable, str(Path(__file__).with_name(app)), *map(str, arguments)]
    quiet = {"FLWR_TELEMETRY_ENABLED": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    alone = {"RAY_ADDRESS": "local"}  # not whatever cluster happens to run on this machine

    def play() -> list[dict]:
        launch_s = time.perf_counter()  # the same clock for all processes
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            env={**os.environ, **quiet, **alone, **environment},
            check=False,
            timeout=HANGS_S,
        )
        if done.returncode:
            raise SystemExit(f"{app} {arguments} failed:\n{done.stderr[-2000:]}")
        printed = [line for line in done.stdout.splitlines() if line.startswith("[")]  # not logged
        begin_s, *ends_s = json.loads(printed[-1])
        rounds = np.diff(ends_s)[1:].tolist()
        first, everything = ends_s[0] - begin_s, ends_s[0] - launch_s
        return [{"round": rounds, "first": [first], "all": [everything]}]

    return play


# Many users, the engine's own cost, memory


def many_users(quick: bool) -> Iterator[Row]:
    """FLUTE's published comparison (200 s there), tested after every round; start included."""
    rounds = 20 if quick else 100
    for name in TRAINERS:
        found = [many_users_s(name, rounds) for _ in range(1 if quick else 3)]
        accuracy = found[0][1]
        yield side_by_side.row(
            f"logistic, 1,000 users, {rounds} rounds",
            f"fedroam, {name}",
            [seconds for seconds, _ in found],
            "<= 30 s",
            f"all tested, last {accuracy:.3f}",
        )


def many_users_s(trainer: str, rounds: int) -> tuple[float, float]:
    local = LocalTraining(local_epochs=1, batch=10, lr=0.03)
    settings = LearningSettings(partition=Iid(), model="logistic", trainer=trainer, local=local)
    start_s = time.perf_counter()
    with Federation(settings, users=1000, workers=WORKERS) as federation:
        for round in range(rounds):
            chosen = np.random.default_rng(round).choice(1000, 10, replace=False)
            federation.train(round, chosen)
            accuracy = federation.evaluate().accuracy
    return time.perf_counter() - start_s, accuracy


def overhead(quick: bool) -> Iterator[Row]:
    """Beyond training and evaluation: 50 users, 25 chosen, 1.66 M parameters."""
    found = [engine_overhead.rounds_ms(WORKERS) for _ in range(1 if quick else 5)]
    wall_ms, cpu_ms = np.concatenate(found).T
    what, note = "a round's cost beyond training", "the averaging process, beside training"
    yield side_by_side.row(what, "wall time", wall_ms / 1e3, "<= 30 ms", "1.66 M parameters")
    yield side_by_side.row(what, "processor time", cpu_ms / 1e3, note=note)
    worst_s = (wall_ms + cpu_ms / WORKERS) / 1e3
    yield side_by_side.row(what, "at worst", worst_s, "<= 30 ms", "both, cores divided")


def memory(quick: bool) -> Iterator[Row]:
    """Peaks of parent and workers, shared memory counted in each; a round's time beside them."""
    rounds = 1 if quick else 2
    play_memory(100, 2, 1)  # compiles
    for users, chosen in ((100, 10), (1000, 100), (1000, 500)):
        command = [sys.executable, __file__, "--memory", str(users), str(chosen), str(rounds)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout)
        parent, *workers = found["peaks_mb"]
        note = (
            f"peak {parent + sum(workers):,.0f} MB: parent {parent:,.0f}, "
            f"workers {' + '.join(f'{mb:,.0f}' for mb in workers)}"
        )
        yield side_by_side.row("a round, McMahan CNN", f"{chosen} of {users}", found["s"], "", note)


def play_memory(users: int, chosen: int, rounds: int) -> dict[str, object]:
    settings = LearningSettings(partition=Iid(), model="mcmahan", local=LocalTraining(1, batch=10))
    times = []
    with Federation(settings, users=users, workers=WORKERS) as federation:
        for round in range(rounds):
            start_s = time.perf_counter()
            federation.train(round, np.arange(chosen))
            times.append(time.perf_counter() - start_s)
        peaks = [peak_mb(pid) for pid in (os.getpid(), *federation.worker_pids)]
    return {"s": times, "peaks_mb": peaks}


def peak_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(x.split()[1]) for x in status.splitlines() if x.startswith("VmHWM")) / 1024


SECTIONS = {part.__name__: part for part in (throughput, flower, many_users, overhead, memory)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=[])
    parser.add_argument("--flower", nargs=2, type=int, help=argparse.SUPPRESS)
    parser.add_argument("--memory", nargs=3, type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.flower:
        import flower_app  # as a module: Ray's processes import it and keep what it caches

        print(json.dumps(flower_app.play(*given.flower)))
    elif given.memory:
        print(json.dumps(play_memory(*given.memory)))
    else:
        measure(given.only or list(SECTIONS), given.quick, not given.quick and not given.only)


def measure(sections: list[str], quick: bool, is_kept: bool) -> None:
    before, rows = side_by_side.machine(), []
    for name in sections:
        rows += SECTIONS[name](quick)
        print(name, "done, load", round(os.getloadavg()[0], 1), file=sys.stderr, flush=True)
    name = "learning" if set(sections) == set(SECTIONS) else "learning_part"
    side_by_side.report(name, rows, before=before, is_kept=is_kept)


if __name__ == "__main__":
    main()
