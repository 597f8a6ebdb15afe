"""
A whole timing-only round, record on disk included, beside Flower's round without training.

Flower runs its own simulation engine (server loop, FedAvg, in-memory grid, node registry); only
the Ray backend is replaced by one that calls the client function in the engine's thread. The
client echoes a model of ten numbers at once, so what is left is what a round costs by itself.

    python benchmarks/rounds.py [--quick]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import side_by_side

SIZES = {
    # users, stations, nearest, rounds of a run of ours; chosen by Flower, rounds of Flower's
    "50 x 8": (50, 8, 0, 2000, 10, 12),
    "10,000 x 100, all links": (10_000, 100, 0, 60, 100, 4),
    "10,000 x 100, 8 nearest": (10_000, 100, 8, 100, None, 0),
}
TARGETS = {"50 x 8": "<= 1 ms"}


def fedroam_s(users: int, stations: int, nearest: int, rounds: int, cpu_s: list) -> list[float]:
    """
    Seconds a round of a run from its second round on, the writing and summing up included.

    ``cpu_s`` gets the processor time a round, which tells how much of that was waiting for others.
    """
    from fedroam.runs import Settings, play
    from fedroam.runs.settings import Stop
    from fedroam.simulation import World

    area_m = 1000.0 * (stations / 8) ** 0.5  # as many stations a square metre as in the paper
    world = World(users=users, stations=stations, area_m=area_m, nearest=nearest)
    settings = replace(Settings(), stop=Stop(rounds=rounds), world=world)
    first_s = []

    def note(progress) -> None:
        if not first_s:
            first_s.extend((time.perf_counter(), time.process_time()))

    with tempfile.TemporaryDirectory() as folder:
        play(settings, Path(folder) / "run", note)
        cpu_s.append((time.process_time() - first_s[1]) / (rounds - 1))
        return [(time.perf_counter() - first_s[0]) / (rounds - 1)]


def flower_s(users: int, chosen: int, rounds: int) -> list[float]:
    """Seconds of each of Flower's rounds from its second on; in a process of its own."""
    command = [sys.executable, __file__, "--flower", str(users), str(chosen), str(rounds)]
    environment = {**os.environ, "FLWR_TELEMETRY_ENABLED": "0"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise SystemExit(f"Flower failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def play_flower(users: int, chosen: int, rounds: int) -> list[float]:
    import types

    import numpy as np
    from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
    from flwr.clientapp import ClientApp
    from flwr.common import EventType
    from flwr.server.superlink.fleet.vce.backend import Backend
    from flwr.serverapp import ServerApp
    from flwr.serverapp.strategy import FedAvg
    from flwr.simulation.run_simulation import _run_simulation

    class InThread(Backend):
        """Runs the client function where Ray would send it to a worker."""

        num_workers = 1

        def __init__(self, backend_config) -> None:
            self.app = None

        def build(self, app_fn) -> None:
            self.app = app_fn()

        def is_worker_idle(self) -> bool:
            return True

        def terminate(self) -> None:
            pass

        def process_message(self, message, context):
            return self.app(message, context), context

    name = "flwr.server.superlink.fleet.vce.backend.raybackend"
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].RayBackend = InThread

    client, server, begins_s = ClientApp(), ServerApp(), []

    @client.train()
    def echo(message, context):
        content = {
            "arrays": message.content["arrays"],
            "metrics": MetricRecord({"num-examples": 1}),
        }
        return Message(RecordDict(content), reply_to=message)

    class Clocked(FedAvg):
        def configure_train(self, server_round, arrays, config, grid):
            begins_s.append(time.perf_counter())
            return super().configure_train(server_round, arrays, config, grid)

    @server.main()
    def main(grid, context):
        strategy = Clocked(fraction_train=chosen / users, fraction_evaluate=0.0)
        strategy.start(grid, ArrayRecord([np.zeros(10)]), num_rounds=rounds)

    _run_simulation(users, EventType.PYTHON_API_RUN_SIMULATION_ENTER, client, server, "in-thread")
    return np.diff(begins_s)[1:].tolist()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--flower", nargs=3, type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.flower:
        print(json.dumps(play_flower(*given.flower)))
        return
    before, rows = side_by_side.machine(), []
    for what, (users, stations, nearest, rounds, chosen, flower_rounds) in SIZES.items():
        cpu_s: list[float] = []
        n_rounds = rounds // (4 if given.quick else 1)
        contestants = {"fedroam": partial(fedroam_s, users, stations, nearest, n_rounds, cpu_s)}
        if chosen:
            contestants["Flower"] = partial(flower_s, users, chosen, flower_rounds)
        fedroam_s(users, stations, nearest, 3, [])  # compiles, or loads what was compiled
        times = side_by_side.alternate(contestants, 1 if given.quick else 5 if users < 100 else 3)
        cpu_ms = 1e3 * statistics.median(cpu_s)
        note = f"means of {n_rounds} rounds; {cpu_ms:.2f} ms of processor"
        rows.append(
            side_by_side.row(what, "fedroam", times["fedroam"], TARGETS.get(what, "<= 30 ms"), note)
        )
        if chosen:
            note = f"{chosen} of {users} users chosen, one worker thread"
            rows.append(side_by_side.row(what, "Flower, no training", times["Flower"], note=note))
    side_by_side.report("rounds", rows, before=before, is_kept=not given.quick)


if __name__ == "__main__":
    main()
