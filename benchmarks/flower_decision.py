"""
What the Flower strategy's own decision costs a round, beside Flower's bookkeeping for it.

"Decision": who is there, the problem from their reports, the policy, the judge; "afterwards": the
same round's replies sorted and heard, clock and fairness moved on, the problem of the next one not
included. Both without what the wrapped FedAvg does by itself (its messages, its average), and on a
grid whose calls cost nothing. Nodes report signal, compute time and their last upload with every
update. Flower: as in rounds.py, its own engine without training, 100 of 10,000 nodes.

    python benchmarks/flower_decision.py [--quick]
"""

import argparse
import logging
import statistics
import time
from functools import partial

import numpy as np
import rounds as of_rounds
import side_by_side

USERS, STATIONS = 10_000, 100
CHOSEN = {  # at least; rounds a go, goes
    "100 of 10,000": (0.01, 8, 3),
    "5,000 of 10,000": (0.5, 3, 2),
}
TARGET = "<= 50 ms"


def worlds(share: float) -> dict:
    from fedroam import Fairness, Scenario, World
    from fedroam.adapters.flower import Measured

    fairness = Fairness(rho1=0.0, rho2=share)  # rho1 would choose whoever is due as well
    area_m = 1000.0 * (STATIONS / 8) ** 0.5
    simulated = World(users=USERS, stations=STATIONS, area_m=area_m, nearest=8)
    return {
        "measured": Measured(band_hz=(1e6,) * STATIONS, fairness=fairness),
        "simulated": Scenario(simulated, fairness=fairness),
    }


class FreeGrid:
    """Takes messages and has the answers at hand; what that costs is not counted."""

    def __init__(self, n: int) -> None:
        self.ids = np.random.default_rng(0).integers(1 << 40, 1 << 62, n).tolist()
        self.user_of = {node: user for user, node in enumerate(self.ids)}
        self.replies: dict = {}

    def get_node_ids(self):
        return self.ids

    def push_messages(self, messages):
        from flwr.app import ConfigRecord, Message, MetricRecord, RecordDict

        for message in messages:
            user = self.user_of[message.metadata.dst_node_id]
            rng = np.random.default_rng(user)
            report = {
                "name": str(user),
                "station": sorted(rng.choice(STATIONS, 8, replace=False).tolist()),
                "snr_db": rng.uniform(0, 30, 8).tolist(),
                "compute_s": rng.uniform(0.1, 0.11),
                "upload_s": rng.uniform(0.1, 0.5),
                "upload_bit": 6e5,
            }
            content = RecordDict({"fedroam.report": ConfigRecord(report)})
            if message.metadata.message_type == "train":
                content["arrays"] = message.content["arrays"]
                content["metrics"] = MetricRecord({"num-examples": 1})
            sent = f"{len(self.replies)}-{time.perf_counter_ns()}"
            message.metadata.__dict__["_message_id"] = sent
            self.replies[sent] = Message(content, reply_to=message)
            yield sent

    def pull_messages(self, message_ids):
        return [self.replies.pop(sent) for sent in message_ids if sent in self.replies]


class Stopwatch:
    """What a strategy's two calls take, to be taken off."""

    def __init__(self, strategy) -> None:
        self.seconds = {"configure_train": 0.0, "aggregate_train": 0.0}
        for name in self.seconds:
            setattr(strategy, name, partial(self._timed, name, getattr(strategy, name)))

    def _timed(self, name, call, *arguments):
        before_s = time.perf_counter()
        found = call(*arguments)
        self.seconds[name] = time.perf_counter() - before_s
        return found


def decision_s(kind: str, share: float, n_rounds: int) -> tuple[list, list, list]:
    """From the third round on: seconds of decisions and of what comes after, users chosen."""
    from flwr.app import ArrayRecord, ConfigRecord
    from flwr.serverapp.strategy import FedAvg
    from flwr.supercore.task_identity import TaskIdentity

    from fedroam.adapters.flower import Scheduled
    from fedroam.adapters.flower.exchange import TimedGrid

    TaskIdentity.run_id = TaskIdentity.node_id = TaskIdentity.task_id = 1
    logging.getLogger("flwr").setLevel(logging.ERROR)
    wrapped, grid = FedAvg(fraction_evaluate=0.0), TimedGrid(FreeGrid(USERS))
    flowers_own = Stopwatch(wrapped)
    strategy = Scheduled(wrapped, "dagsa", world=worlds(share)[kind])
    arrays, decided_s, heard_s, chosen = ArrayRecord([np.zeros(10)]), [], [], []
    for number in range(1, n_rounds + 3):
        before_s = time.perf_counter()
        messages = strategy.configure_train(number, arrays, ConfigRecord(), grid)
        decided_s.append(time.perf_counter() - before_s - flowers_own.seconds["configure_train"])
        chosen.append(len(messages))
        replies = grid.send_and_receive(messages)
        before_s = time.perf_counter()
        strategy.aggregate_train(number, replies)
        heard_s.append(time.perf_counter() - before_s - flowers_own.seconds["aggregate_train"])
    return decided_s[2:], heard_s[2:], chosen[2:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    before, rows = side_by_side.machine(), []
    for what, (share, n_rounds, repeats) in CHOSEN.items():
        n_rounds, repeats = (2, 1) if given.quick else (n_rounds, repeats)
        n_chosen: dict[str, list[int]] = {kind: [] for kind in worlds(share)}
        heard: dict[str, list[float]] = {kind: [] for kind in worlds(share)}

        def deciding(kind: str, share: float, n: int, heard: dict, chosen: dict) -> list[float]:
            decided_s, heard_s, counts = decision_s(kind, share, n)
            heard[kind] += heard_s
            chosen[kind] += counts
            return decided_s

        contestants = {
            kind: partial(deciding, kind, share, n_rounds, heard, n_chosen) for kind in heard
        }
        if share * USERS == 100:
            contestants["Flower"] = partial(of_rounds.flower_s, USERS, 100, 4)
        times_s = side_by_side.alternate(contestants, repeats)
        for kind in heard:
            who = f"fedroam, {kind} world"
            target = TARGET if share * USERS == 100 else ""
            note = f"{statistics.median(n_chosen[kind]):.0f} chosen"
            rows.append(side_by_side.row(what, f"{who}: decision", times_s[kind], target, note))
            note = "their replies checked for nan and infinity"
            rows.append(side_by_side.row(what, f"{who}: afterwards", heard[kind], "", note))
        if "Flower" in times_s:
            note = "a whole round of its own engine, no training"
            rows.append(side_by_side.row(what, "Flower's bookkeeping", times_s["Flower"], "", note))
    side_by_side.report("flower_decision", rows, before=before, is_kept=not given.quick)


if __name__ == "__main__":
    main()
