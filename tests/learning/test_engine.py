"""The engine: the same bits however many workers there are, whoever of them dies."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedroam.errors import ConfigError, ContractError, TrainingError, WorkerError
from fedroam.learning import shift as shift_module
from fedroam.learning.aggregation import WeightedMean
from fedroam.learning.datasets import Synthetic
from fedroam.learning.engine import Engine
from fedroam.learning.partition import Dirichlet
from fedroam.learning.processes import local_engine, usable_cores
from fedroam.learning.records import LocalTraining
from fedroam.learning.shift import Given, Shift
from fedroam.learning.worker import Evaluate, Train, Trained
from fedroam.streams import stream
from learning.softmax import Blind, Broken, Deadly, Slow, Softmax, Unstartable

TESTS = Path(__file__).parents[1]
USERS = np.arange(11)
HOW = LocalTraining(local_epochs=2, batch=8, lr=0.1)


@pytest.fixture(scope="module")
def data():
    """A small data set whose test set makes three stretches."""
    return Synthetic(n_train=240, n_test=1100, side=8, classes=4).load()


@pytest.fixture(scope="module")
def partition(data):
    """Users of very different sizes."""
    return Dirichlet(0.3, 3)(data.train_y, 12, np.random.default_rng(0))


def start(data, partition, trainer=None, workers=2) -> Engine:
    """An engine for the small world."""
    return local_engine(trainer or Softmax(), data, partition, HOW, seed=7, workers=workers)


def train(engine, round=0, users=USERS):
    """One round from zero weights: what was taken, in order, and the mean."""
    weights = np.zeros(engine.crew.rows.shape[1], np.float32)
    mean, taken = WeightedMean(weights.size), []

    def take(batch):
        mean.add_rows(batch.rows, batch.row[batch.is_fit], batch.n_samples[batch.is_fit])
        columns = (batch.users, batch.n_samples, batch.loss, batch.is_fit)
        taken.extend(zip(*(column.tolist() for column in columns), strict=True))

    engine.train(weights, round, users, take)
    return taken, mean.value()


@pytest.fixture(scope="module")
def expected(data, partition):
    """What this process alone makes of it."""
    with start(data, partition, workers=0) as engine:
        return train(engine)


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_any_number_of_workers_gives_the_same_bits_in_the_same_order(
    data, partition, expected, workers
):
    """Round after round, and in the test of the model."""
    with (
        start(data, partition, workers=workers) as engine,
        start(data, partition, workers=0) as alone,
    ):
        for round in range(3):
            (taken, mean), (taken_alone, mean_alone) = train(engine, round), train(alone, round)
            assert taken == taken_alone
            np.testing.assert_array_equal(mean, mean_alone)
        np.testing.assert_array_equal(train(engine)[1], expected[1])
        ours, theirs = engine.evaluate(mean.astype("f4")), alone.evaluate(mean.astype("f4"))
    assert ours.loss_sum == theirs.loss_sum
    np.testing.assert_array_equal(ours.correct, theirs.correct)
    np.testing.assert_array_equal(ours.count, np.bincount(data.test_y, minlength=4))


def test_the_result_is_that_of_the_trainer_called_by_hand(data, partition, expected):
    """Each user from the same weights, with its own stream of batches; the largest first."""
    mean = WeightedMean(Softmax().n_parameters)
    order = sorted(USERS, key=lambda user: (-partition.counts[user], user))
    for user in order:
        update = Softmax().train(
            np.zeros(mean._total.size, np.float32),
            data,
            partition.samples_of(user),
            HOW,
            stream(7, "batches", 0, int(user)),
        )
        assert mean.add(update.weights, update.n_samples)

    assert [user for user, *_ in expected[0]] == order
    np.testing.assert_array_equal(expected[1], mean.value())


def test_the_order_in_which_users_are_named_does_not_matter(data, partition, expected):
    """A set of users is trained, not a list."""
    with start(data, partition, workers=0) as engine:
        np.testing.assert_array_equal(train(engine, users=USERS[::-1])[1], expected[1])


def test_few_rows_are_enough_for_many_users(data, partition, expected, monkeypatch):
    """Memory is bounded: updates wait for a free row, and nothing locks up."""
    monkeypatch.setattr(shift_module, "ROWS_BYTES", 0)
    with start(data, partition) as engine:
        assert len(engine.crew.rows) == 6
        np.testing.assert_array_equal(train(engine)[1], expected[1])


def test_no_users_and_no_workers_are_nothing_special(data, partition):
    """An empty round changes nothing."""
    with start(data, partition, workers=0) as engine:
        assert train(engine, users=np.array([], np.int64)) == ([], None)
    assert usable_cores() >= 1


def test_a_worker_killed_while_it_trains_is_replaced_with_the_same_result(
    data, partition, expected, tmp_path
):
    """Each of the first two attempts kills its process, as the system does when memory is out."""
    deadly = Deadly(log=str(tmp_path / "log"), times=2)
    with start(data, partition, deadly) as engine:
        taken, mean = train(engine)
        assert len(engine.crew.pids) == 2
    assert taken == expected[0]
    np.testing.assert_array_equal(mean, expected[1])


def test_a_worker_killed_between_rounds_is_replaced(data, partition, expected):
    """Nobody notices."""
    with start(data, partition) as engine:
        train(engine)
        for pid in engine.crew.pids:
            os.kill(pid, signal.SIGKILL)
        np.testing.assert_array_equal(train(engine)[1], expected[1])


def test_a_worker_found_dead_when_it_is_given_a_task_is_replaced(data, partition, expected):
    """The task is not lost, and a new worker is on its way."""
    with start(data, partition, workers=1) as engine:
        train(engine)
        (worker,) = engine.crew.workers
        os.kill(worker.process.pid, signal.SIGKILL)
        while worker.connection.poll(0) is False:
            time.sleep(0.01)
        assert not worker.give(Given(0, 0), Evaluate(0, 1))
        np.testing.assert_array_equal(train(engine)[1], expected[1])


def test_a_task_that_kills_three_workers_is_named(data, partition, tmp_path):
    """Not tried for ever."""
    user = int(USERS[np.argmax(partition.counts[USERS])])
    first = int(partition.samples_of(user)[0])
    deadly = Deadly(log=str(tmp_path / "log"), times=99, first_sample=first)
    message = rf"round 5, user {user}: 3 worker processes .* SIGKILL \(out of memory\?\)"
    with start(data, partition, deadly) as engine, pytest.raises(WorkerError, match=message):
        train(engine, round=5)
    assert (tmp_path / "log").read_text() == "xxx"


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize(
    ("kind", "error", "message"),
    [
        ("raises", TrainingError, r"round 4, user \d+: ZeroDivisionError: no such luck"),
        ("unpicklable", TrainingError, r"round 4, user \d+: Unpicklable"),
        ("config", ConfigError, r"round 4, user \d+: lr is 7, expected less"),
        ("tuple", ContractError, r"round 4, user \d+: train\(\) gave tuple"),
        ("shape", ContractError, r"round 4, user \d+: .*returned float32\(259,\)"),
    ],
)
def test_an_exception_says_for_whom_and_the_engine_goes_on(
    data, partition, workers, kind, error, message
):
    """The round, the user, the cause; a mistake of the user's stays one."""
    with start(data, partition, Broken(kind=kind), workers) as engine:
        for _ in range(2):
            with pytest.raises(error, match=message) as caught:
                train(engine, round=4)
        assert engine.evaluate(np.zeros(260, np.float32)).count.sum() == 1100
    if workers and kind == "raises":
        assert "in train" in caught.value.__cause__.__notes__[0], "the trace of the worker"


def test_something_else_than_an_evaluation_is_a_broken_contract(data, partition):
    """Not left out of the sum in silence."""
    with (
        start(data, partition, Blind(), workers=0) as engine,
        pytest.raises(ContractError, match=r"testing samples 0 to 499: evaluate\(\) gave float"),
    ):
        engine.evaluate(np.zeros(260, np.float32))


@pytest.mark.parametrize("kind", ["nan", "inf"])
def test_updates_that_are_not_numbers_are_marked_unfit(data, partition, kind):
    """By the worker that has trained them."""
    with start(data, partition, Broken(kind=kind)) as engine:
        taken, mean = train(engine)
    expected = [bool(partition.samples_of(user)[0] % 2) for user, *_ in taken]
    assert [is_fit for *_, is_fit in taken] == expected
    assert 0 < sum(expected) < len(expected)
    assert np.isfinite(mean).all()


def test_a_trainer_that_cannot_be_sent_is_refused(data, partition):
    """With the reason, before anything is started."""

    class Local(Softmax):
        """Of this function."""

    with pytest.raises(ConfigError, match="cannot be sent to a worker process"):
        start(data, partition, Local())
    with start(data, partition, Local(), workers=0) as engine:
        assert train(engine)[1] is not None


def test_a_worker_that_cannot_start_is_reported(data, partition):
    """Not started for ever."""
    with (
        start(data, partition, Unstartable()) as engine,
        pytest.raises(WorkerError, match="did not start"),
    ):
        train(engine)


class Hand:
    """A worker in simulated time: one sample a second."""

    def __init__(self):
        self.is_ready, self.given, self.free_s = True, deque(), 0.0

    def give(self, given, task):
        """Always succeeds."""
        del task
        self.given.append(given)
        return True


@given(
    sizes=st.lists(st.integers(1, 30) | st.integers(1, 1000), max_size=40),
    n_workers=st.integers(1, 6),
    n_rows=st.integers(2, 40),
)
def test_nobody_is_idle_while_a_task_waits_in_the_hands_of_another(sizes, n_workers, n_rows):
    """Workers have their next task at hand, and still end as if they had to ask."""
    tasks = [Train(0, user, size) for user, size in enumerate(sorted(sizes, reverse=True))]
    order = []
    shift = Shift(tasks, n_rows, lambda results: order.extend(results), None)
    crew = [Hand() for _ in range(n_workers)]
    now_s = 0.0
    while not shift.is_over:
        shift.hand_out(crew)
        if not shift.take():
            if n_rows >= len(tasks) and any(not hand.given for hand in crew):
                assert all(len(hand.given) < 2 for hand in crew)
            busy = [hand for hand in crew if hand.given]
            for hand in busy:  # the first task at hand is being worked on
                hand.free_s = hand.free_s or now_s + tasks[hand.given[0].position].size
            first = min(busy, key=lambda hand: hand.free_s)
            now_s, first.free_s = first.free_s, 0.0
            done = first.given.popleft()
            shift._done[done.position] = (done.row, Trained(1, 0.0, True))
            for hand in busy:
                hand.free_s = hand.free_s or (
                    now_s + tasks[hand.given[0].position].size if hand.given else 0.0
                )
    assert [task for task, _, _ in order] == tasks


def test_an_interrupt_leaves_an_engine_that_works(data, partition, expected):
    """Ctrl-C in the middle of a round: the workers at work are ended, the next round is right."""
    with start(data, partition, Slow(pause_s=1.0)) as engine:
        engine.evaluate(np.zeros(260, np.float32))  # everybody is up
        timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            train(engine)
        timer.join()
        assert engine.crew.pids == ()
        engine.evaluate(np.zeros(260, np.float32))
        assert len(engine.crew.pids) == 2


def test_closing_ends_the_workers_and_using_it_again_starts_them(data, partition, expected):
    """No process and no zombie is left."""
    engine = start(data, partition)
    train(engine)
    pids = engine.crew.pids
    engine.close()
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
    engine.close()
    np.testing.assert_array_equal(train(engine)[1], expected[1])
    engine.close()


CHILD = """
import json, sys
import numpy as np
from learning.softmax import Slow
from learning.test_engine import HOW
from fedroam.learning.datasets import Synthetic
from fedroam.learning.partition import Iid
from fedroam.learning.processes import local_engine
if __name__ == "__main__":
    data = Synthetic(n_train=240, n_test=60, side=8, classes=4).load()
    partition = Iid()(data.train_y, 12, np.random.default_rng(0))
    engine = local_engine(Slow(pause_s=float(sys.argv[1])), data, partition, HOW, seed=0, workers=2)
    engine.evaluate(np.zeros(260, np.float32))
    print(json.dumps(engine.crew.pids), flush=True)
    engine.train(np.zeros(260, np.float32), 0, np.arange(12), lambda batch: None)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_workers_end_with_their_parent_however_it_ends(tmp_path, how):
    """Also in the middle of a training, and without leaving memory behind."""
    (tmp_path / "child.py").write_text(CHILD)
    with subprocess.Popen(
        [sys.executable, tmp_path / "child.py", "0.5"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as parent:
        pids = json.loads(parent.stdout.readline())
        time.sleep(0.2)
        parent.send_signal(how)
        parent.wait(timeout=30)
    deadline = time.monotonic() + 10
    while any(_is_running(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)

    assert len(pids) == 2
    assert not any(_is_running(pid) for pid in pids)
    assert not any(name.startswith(f"pym-{parent.pid}-") for name in os.listdir("/dev/shm"))


def _is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"  # a zombie waits for the init process of its container
