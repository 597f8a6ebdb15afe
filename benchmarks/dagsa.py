"""
DAGSA compiled, beside the tests' plain transcription of Algorithm 1: 50 users, 8 stations.

    python benchmarks/dagsa.py [--quick]
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import side_by_side

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fedroam.scheduling.policies.dagsa import Dagsa
from fedroam.scheduling.problem import Problem
from fedroam.simulation import Scenario, Simulation
from scheduling.transcription import algorithm_1


def problems(n: int) -> list[Problem]:
    """The rounds of the paper's scenario, those included in which many users are required."""
    simulation = Simulation(Scenario(), Dagsa())
    return [played.problem for played in simulation.rounds(rounds=n)]


def times_s(policy, rounds: list[Problem], stations: list[np.ndarray]) -> list[float]:
    found = []
    for i, problem in enumerate(rounds):
        rng = np.random.default_rng(i)
        begin_s = time.perf_counter()
        station = policy(problem, rng)
        found.append(time.perf_counter() - begin_s)
        stations.append(station)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    rounds, before = problems(10 if given.quick else 40), side_by_side.machine()
    compiled, plain = [], []
    times = side_by_side.alternate(
        {
            "compiled": lambda: times_s(lambda p, r: Dagsa()(p, r).station, rounds, compiled),
            "transcription": lambda: times_s(algorithm_1, rounds, plain),
        },
        2 if given.quick else 5,
    )
    for one, other in zip(compiled, plain, strict=True):
        np.testing.assert_array_equal(one, other)
    what = "one decision, 50 x 8"
    rows = [
        side_by_side.row(what, "fedroam DAGSA", times["compiled"], note="band split included"),
        side_by_side.row(what, "plain transcription", times["transcription"], ">= 50x"),
    ]
    extra = {"same_schedules": len(compiled)}
    side_by_side.report("dagsa", rows, before=before, extra=extra, is_kept=not given.quick)
    print(f"same schedules in all {len(compiled)} decisions")


if __name__ == "__main__":
    main()
