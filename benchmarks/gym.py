"""
Steps of the Gymnasium environment on one core, one world at a time and many in one call.

A step is a whole round at 50 x 8: scores decoded to a lawful schedule, the bands split at best, the
round's length, everybody's walk, new fading and a new rate for all 400 links, who is required, and
the observation. Episodes last 100 rounds; the resets between them are in the figures, making the
actions is not. A vectorised call is one step in each of its worlds. The target is 5,000 steps a
second, 0.2 ms each.

    python benchmarks/gym.py [--quick]
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable
from functools import partial

import gymnasium
import numpy as np
import side_by_side

import fedroam.adapters.gym

ROUNDS, POOL = 100, 10
WORLDS = (1, 4, 16, 64, 256)  # 1: the form that is not vectorised
TARGET_STEPS = 5000


def player(worlds: int) -> Callable[[int], None]:
    """Plays so many steps, in worlds that go on where the last call left them."""
    rng = np.random.default_rng(0)
    if worlds == 1:
        env = gymnasium.make(fedroam.adapters.gym.ROUNDS, rounds=ROUNDS).unwrapped
        env.reset(seed=0)
        scores = rng.uniform(-1, 1, (POOL, *env.action_space.shape)).astype(np.float32)

        def single(steps: int) -> None:
            for i in range(steps):
                *_, is_over, _ = env.step(scores[i % POOL])
                if is_over:
                    env.reset()

        return single
    envs = gymnasium.make_vec(fedroam.adapters.gym.ROUNDS, num_envs=worlds, rounds=ROUNDS)
    envs.reset(seed=0)
    scores = rng.uniform(-1, 1, (POOL, *envs.action_space.shape)).astype(np.float32)

    def many(steps: int) -> None:
        for i in range(steps // worlds):
            envs.step(scores[i % POOL])

    return many


def step_s(play: Callable[[int], None], steps: int, cpu_s: list[float]) -> list[float]:
    """Wall seconds a step; processor seconds are noted."""
    wall, cpu = time.perf_counter(), time.process_time()
    play(steps)
    cpu_s.append((time.process_time() - cpu) / steps)
    return [(time.perf_counter() - wall) / steps]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    before = side_by_side.machine()
    steps, repeats = (2560, 2) if given.quick else (12_800, 9)
    players = {worlds: player(worlds) for worlds in WORLDS}
    cpu_s: dict[int, list[float]] = {worlds: [] for worlds in WORLDS}
    for play in players.values():
        play(2 * ROUNDS * max(WORLDS) // 10)  # loads or compiles the kernels, ends episodes
    turns = {w: partial(step_s, players[w], steps, cpu_s[w]) for w in WORLDS}
    found = side_by_side.alternate(turns, repeats)
    rows = []
    for worlds, times_s in found.items():
        used_s = statistics.median(cpu_s[worlds])
        note = (
            f"{1 / statistics.median(times_s):,.0f} steps/s; "
            f"{1 / used_s:,.0f} by processor time, of {steps:,} a turn"
        )
        who = "one world" if worlds == 1 else f"{worlds} worlds a call"
        rows.append(
            side_by_side.row("a step, 50 x 8", who, times_s, f"<= {1e3 / TARGET_STEPS:g} ms", note)
        )
    side_by_side.report("gym", rows, before=before, is_kept=not given.quick)


if __name__ == "__main__":
    main()
