"""
The work of flower_app.py in fedroam, as a program of its own.

    python benchmarks/fedroam_app.py TRAINER EPOCHS ROUNDS
"""

import json
import sys
import time

USERS, CHOSEN, SAMPLES, WORKERS = 20, 10, 1200, 2


def play(trainer: str, epochs: int, rounds: int) -> list[float]:
    """When the federation was made, and when each of its rounds was over."""
    # Workers import this file: what only the parent needs, it imports here.
    import numpy as np

    from fedroam.learning.federation import Federation, LearningSettings
    from fedroam.learning.partition import Iid
    from fedroam.learning.records import LocalTraining

    settings = LearningSettings(
        partition=Iid(),
        trainer=trainer,
        local=LocalTraining(epochs),
        train_fraction=USERS * SAMPLES / 60_000,
    )
    clock_s = [time.perf_counter()]
    with Federation(settings, users=USERS, workers=WORKERS) as federation:
        assert (federation.samples_per_user == SAMPLES).all()
        for round in range(rounds):
            chosen = np.random.default_rng(round).choice(USERS, CHOSEN, replace=False)
            federation.train(round, chosen)
            clock_s.append(time.perf_counter())
    return clock_s


if __name__ == "__main__":
    trainer, epochs, rounds = sys.argv[1:]
    print(json.dumps(play(trainer, int(epochs), int(rounds))))
