"""Ray: the same bits from a cluster as from this machine, whatever becomes of its nodes."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from fedroam.adapters.on_ray.cluster import connected
from fedroam.adapters.on_ray.crew import engine_on
from fedroam.errors import ConfigError, TrainingError, WorkerError
from fedroam.learning.datasets import Synthetic
from fedroam.learning.federation import Federation, LearningSettings
from fedroam.learning.partition import Dirichlet
from fedroam.learning.records import LocalTraining
from fedroam.runs import read_rounds
from fedroam.runs.tables import sha256_of
from learning.softmax import Broken, Deadly, Slow, Softmax

USERS = np.arange(11)


@dataclass(frozen=True)
class Nodes:
    """A cluster of two nodes, and how to lose one of them (another one comes)."""

    address: str
    lose_one: Callable[[], None]


@pytest.fixture(scope="module")
def nodes():
    """Both with one CPU, in processes of their own."""
    with subprocess.Popen(
        [sys.executable, Path(__file__).with_name("ray_nodes.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:

        def lose_one() -> None:
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.stdout.readline() == "killed\n"
            assert process.stdout.readline() == "replaced\n"

        yield Nodes(process.stdout.readline().strip(), lose_one)
        process.stdin.close()
        process.wait(60)


@pytest.fixture(scope="module")
def cluster(nodes):
    """Joined by the process of the tests."""
    with connected(nodes.address) as cluster:
        yield cluster


def settings(trainer=None) -> LearningSettings:
    """A small data set, users of very different sizes."""
    return LearningSettings(
        dataset=Synthetic(n_train=240, n_test=1100, side=8, classes=4),
        partition=Dirichlet(0.3, 3),
        trainer=trainer or Softmax(),
        local=LocalTraining(local_epochs=2, batch=8, lr=0.1),
    )


def played(trainer=None, *, rounds: int = 3, start=None, before=lambda round: None) -> list[object]:
    """What comes out of some rounds: the weights of each, and the test at the end."""
    found: list[object] = []
    with Federation(settings(trainer), users=12, seed=7, workers=0, start=start) as federation:
        for round in range(rounds):
            before(round)
            report = federation.train(round, USERS)
            found += [federation.weights_sha256, report.users.tolist(), report.loss.tolist()]
        tested = federation.evaluate()
        return [*found, tested.loss_sum, tested.correct.tolist(), tested.count.tolist()]


@pytest.fixture(scope="module")
def expected():
    """What this process alone makes of it."""
    return played()


@dataclass(frozen=True)
class Reader(Softmax):
    """Refuses data that lie in memory of its own process."""

    def train(self, weights, dataset, samples, how, rng):
        """As softmax regression."""
        for array in (weights, dataset.train_x, dataset.test_x):
            if array.flags.owndata or array.flags.writeable:
                raise ValueError("copied")
        return super().train(weights, dataset, samples, how, rng)


def test_two_workers_on_two_nodes_give_the_same_bits(cluster, expected):
    """Round after round, and in the test; data and weights are read where the node keeps them."""
    assert cluster.workers == 2
    assert played(Reader(), start=engine_on(cluster)) == expected


def test_a_node_that_is_lost_in_mid_round_costs_time_only(nodes, cluster, expected):
    """Its user is trained again, elsewhere; the next rounds have two nodes again."""

    def before(round: int) -> None:
        if round == 1:  # both nodes are up, each trains six users or so, one after another
            threading.Timer(0.5, lose).start()

    def lose() -> None:
        nodes.lose_one()
        lost.set()

    lost = threading.Event()
    assert played(Slow(pause_s=0.4), start=engine_on(cluster), before=before) == expected
    assert lost.wait(60)


def test_a_worker_that_dies_of_a_task_is_replaced_but_not_for_ever(cluster, expected, tmp_path):
    """The third death is the last one; the task is named."""
    deadly = Deadly(log=str(tmp_path / "twice"), times=2)
    assert played(deadly, start=engine_on(cluster)) == expected
    deadly = Deadly(log=str(tmp_path / "always"), times=99)
    with pytest.raises(WorkerError, match=r"round 0, user \d+: 3 worker processes died of it"):
        played(deadly, start=engine_on(cluster))


def test_what_a_trainer_raises_is_told_as_by_the_local_engine(cluster):
    """For whom, and what; a trainer that cannot be sent is refused at once."""
    for kind, error in (("raises", TrainingError), ("config", ConfigError)):
        with pytest.raises(error, match=r"round 0, user \d+: "):
            played(Broken(kind=kind), start=engine_on(cluster))

    class Locked(Softmax):
        def __reduce__(self):
            raise TypeError("never to be sent")

    with pytest.raises(ConfigError, match="trainer: cannot be sent to a worker process"):
        played(Locked(), start=engine_on(cluster))


CONFIG = """
[stop]
rounds = 400
[world]
users = 12
stations = 3
[compare]
labels = ["slow"]
"""

POLICIES = """
import time
from fedroam.scheduling.policies import POLICIES
def quick():
    return POLICIES["random"]()
def slow():
    def choose(problem, rng):
        time.sleep(0.02)
        return quick()(problem, rng)
    return choose
"""


def test_a_comparison_goes_on_when_the_node_of_a_member_is_lost(nodes, cluster, fedroam, tmp_path):
    """From the member's last checkpoint, with the tables of a comparison on this machine."""
    (tmp_path / "mine.py").write_text(POLICIES)

    def compare(policy: str, *more: object):
        policies = f'compare.policies=["mine:{policy}"]'
        return fedroam("compare", "c.toml", "--set", policies, "--seeds", 2, "--json", *more)

    def lose() -> None:
        """As soon as both members have written something down."""
        while len({part.parts[-3] for part in tmp_path.glob("there/slow/*/rounds/*")}) < 2:
            time.sleep(0.05)
        nodes.lose_one()

    (tmp_path / "c.toml").write_text(CONFIG)
    losing = threading.Thread(target=lose, daemon=True)
    losing.start()
    there = compare("slow", "--engine", "ray", "--address", nodes.address, "--out", "there")
    assert there.code == 0, there.err
    losing.join(60)
    assert not losing.is_alive(), "no node was lost"
    here = compare("quick", "--workers", 1, "--out", "here")
    for seed in ("seed-0", "seed-1"):
        tables = [read_rounds(tmp_path / at / "slow" / seed) for at in ("here", "there")]
        assert tables[0].num_rows == 400
        assert sha256_of(tables[0]) == sha256_of(tables[1])
    assert json.loads(here.out)["policies"].keys() == json.loads(there.out)["policies"].keys()


WHERE = """
from pathlib import Path
from fedroam.scheduling.policies import POLICIES
def where():
    title = Path("/proc/self/cmdline").read_text()
    Path({folder!r}, "played-by", title.strip("\\0")[:5]).touch()
    return POLICIES["dagsa"]()
"""


def test_a_sweep_on_the_cluster_writes_the_tables_of_one_here(nodes, fedroam, tmp_path):
    """Byte by byte, with the hash of every member's rounds in them; and Ray's workers play it."""
    (tmp_path / "played-by").mkdir()
    (tmp_path / "told.py").write_text(WHERE.format(folder=str(tmp_path)))
    (tmp_path / "c.toml").write_text(CONFIG)
    asked = ("sweep", "c.toml", "--over", "speed_m_s=1,20", "-p", "told:where", "--seeds", 1)
    asked += ("--set", "rounds=4")
    there = fedroam(*asked, "--engine", "ray", "--address", nodes.address, "--out", "there")
    played_by = {file.name for file in (tmp_path / "played-by").iterdir()}
    here = fedroam(*asked, "--workers", 1, "--out", "here")
    assert (there.code, here.code) == (0, 0), there.err
    assert "ray::" in played_by
    tables = {at: (tmp_path / at / "sweep.csv").read_bytes() for at in ("here", "there")}
    assert tables["here"].count(b"\n") == 3
    assert tables["here"] == tables["there"]
