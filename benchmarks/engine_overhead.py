"""
What a round costs beyond training: 50 users, 25 chosen, 1.66 M parameters (target: 30 ms).

The trainer waits until 40 ms have passed since it was called, so whatever a round takes above
``ceil(25 / workers)`` times 40 ms is the engine's: sending tasks, putting 6.6 MB a user into
shared memory, checking and averaging in float64, the server's step. Waiting leaves the cores idle.
With a trainer that computes, the averaging would compete with it: at worst the processor time of
the averaging process, divided among the cores, is added. Both are shown, and their sum.

    python benchmarks/engine_overhead.py [--workers N] [--json]
"""

import argparse
import json
import time
from dataclasses import dataclass

import numpy as np

from fedroam.learning.datasets import Synthetic
from fedroam.learning.federation import Federation, LearningSettings
from fedroam.learning.partition import Iid
from fedroam.learning.processes import usable_cores
from fedroam.learning.records import Evaluation, Update

N_PARAMETERS = 1_663_370  # McMahan's CNN
USERS, CHOSEN, ROUNDS, PAUSE_S = 50, 25, 20, 0.04


@dataclass(frozen=True)
class Pause:
    """Takes ``PAUSE_S`` over a user, in which it makes an update of the right size."""

    @property
    def n_parameters(self) -> int:
        return N_PARAMETERS

    def initial(self, rng) -> np.ndarray:
        return rng.random(N_PARAMETERS, np.float32)

    def train(self, weights, dataset, samples, how, rng) -> Update:
        end_s = time.perf_counter() + PAUSE_S
        update = Update(weights * np.float32(0.5), samples.size, 1.0)
        time.sleep(max(0.0, end_s - time.perf_counter()))
        return update

    def evaluate(self, weights, dataset, samples) -> Evaluation:
        return Evaluation(0.0, np.ones(10, np.int64), np.ones(10, np.int64))


def rounds_ms(workers: int) -> np.ndarray:
    """``[rounds, 2]`` wall time beyond training, and processor time of the averaging process."""
    settings = LearningSettings(
        dataset=Synthetic(n_train=500, n_test=50), partition=Iid(), trainer=Pause()
    )
    training_s = -(-CHOSEN // workers) * PAUSE_S  # of the worker that has most users
    found = []
    with Federation(settings, users=USERS, workers=workers) as federation:
        for round in range(ROUNDS + 2):
            wall_s, cpu_s = time.perf_counter(), time.process_time()
            federation.train(round, np.arange(CHOSEN) * 2)
            wall_s, cpu_s = time.perf_counter() - wall_s, time.process_time() - cpu_s
            found.append((wall_s - training_s, cpu_s))
    return 1e3 * np.array(found[2:])  # the first ones start workers and compile


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--workers", type=int, default=usable_cores())
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    rounds = rounds_ms(given.workers)
    wall_ms, cpu_ms = np.median(rounds, axis=0)
    result = {
        "workers": given.workers,
        "n_parameters": N_PARAMETERS,
        "beyond_training_ms": round(float(wall_ms), 1),
        "best_round_ms": round(float(rounds[:, 0].min()), 1),  # a busy machine disturbs the others
        "averaging_cpu_ms": round(float(cpu_ms), 1),
        "at_worst_ms": round(float(wall_ms + cpu_ms / given.workers), 1),
    }
    if given.json:
        print(json.dumps(result))
    else:
        for name, value in result.items():
            print(f"{name:>20}: {value}")


if __name__ == "__main__":
    main()
