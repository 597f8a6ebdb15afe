"""
Training and testing on all cores, with the result of doing it one after another.

Long-lived worker processes, one thread each, read the data by memory map and the global weights
from shared memory; what they train they leave in rows of shared memory, and only a few numbers
per user are sent. Results are taken in the order in which the tasks were given, whoever did them
and whenever, so they are the same bits for any number of workers.
"""

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from typing import Any

import numpy as np

from fedroam.arrays import Bools, Floats, Floats32, Ints
from fedroam.errors import ConfigError, FedroamError, TrainingError, WorkerError, require
from fedroam.learning.partition import Partition
from fedroam.learning.records import Dataset, Evaluation, LocalTraining, Trainer
from fedroam.learning.sharing import PROCESSES, SharedDataset, reserve, share
from fedroam.learning.worker import (
    Desk,
    Evaluate,
    Failure,
    Job,
    Ready,
    Reply,
    Task,
    Train,
    Trained,
    work,
)

CHUNK = 500
"""Test samples per task: fixed, so that sums do not depend on the number of workers."""

ROWS_BYTES = 64 << 20
"""Memory for updates that wait for their turn."""

PATIENCE = 3
"""How many workers one task may cost."""

GRACE_S = 5.0
"""How long a worker that ends by itself may take for it."""

SINGLE_THREAD = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
)


@dataclass(frozen=True, eq=False, slots=True)
class Batch:
    """Results of some users, in the fixed order; valid until the next batch."""

    users: Ints  # [n]
    n_samples: Ints  # [n]
    loss: Floats  # [n]
    is_fit: Bools  # [n] finite, and of at least one sample
    rows: Floats32  # [rows, P] the weights of user n are rows[row[n]]
    row: Ints  # [n]


Take = Callable[[Batch], None]
Taken = Callable[[Sequence[tuple[Task, int, Reply]]], None]


def usable_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Engine:
    """
    Trains users and tests models, with ``workers`` processes.

    With ``workers = 0`` everything happens in this process, with the threads that it has: for
    debugging, and for trainers that cannot be sent to another process.
    """

    def __init__(
        self,
        trainer: Trainer,
        dataset: Dataset,
        partition: Partition,
        how: LocalTraining,
        *,
        seed: int,
        workers: int | None = None,
    ) -> None:
        workers = usable_cores() if workers is None else workers
        require(0 <= workers <= 1024, "workers", workers, "0 to 1024")
        self._counts, self._n_test = partition.counts, len(dataset.test_y)
        self._job = Job(
            trainer=trainer,
            how=how,
            seed=seed,
            dataset=SharedDataset.of(dataset),
            indptr=share(partition.indptr),
            sample=share(partition.sample),
            weights=reserve((trainer.n_parameters,), np.float32),
            rows=reserve((_n_rows(trainer.n_parameters, workers), trainer.n_parameters), "f4"),
        )
        self._weights, self._rows = self._job.weights.open(), self._job.rows.open()
        self._desk = Desk(self._job) if workers == 0 else None
        self._crew: list[_Worker] = []
        try:
            for _ in range(workers):
                self._crew.append(_Worker(self._job))
        except BaseException:
            self.close()
            raise

    def train(self, weights: Floats32, round: int, users: Ints, take: Take) -> None:
        """
        Let ``users`` train from ``weights`` and hand their results to ``take``.

        The largest start first, so that the workers end together; results are taken in that order
        too, the smaller number first among equals.
        """
        sizes = self._counts[users]
        order = np.lexsort((users, -sizes))
        tasks = [Train(round, int(users[k]), int(sizes[k])) for k in order]
        self._weights[...] = weights

        def taken(results: Sequence[tuple[Task, int, Reply]]) -> None:
            trained = [reply for _, _, reply in results if isinstance(reply, Trained)]
            take(
                Batch(
                    users=np.array(
                        [task.user for task, _, _ in results if isinstance(task, Train)]
                    ),
                    n_samples=np.array([reply.n_samples for reply in trained]),
                    loss=np.array([reply.loss for reply in trained]),
                    is_fit=np.array([reply.is_fit for reply in trained]),
                    rows=self._rows,
                    row=np.array([row for _, row, _ in results]),
                )
            )

        self._run(tasks, taken)

    def evaluate(self, weights: Floats32) -> Evaluation:
        """Test ``weights`` on the whole test set, in stretches of ``CHUNK``."""
        parts: list[Evaluation] = []
        self._weights[...] = weights

        def taken(results: Sequence[tuple[Task, int, Reply]]) -> None:
            parts.extend(reply for _, _, reply in results if isinstance(reply, Evaluation))

        starts = range(0, self._n_test, CHUNK)
        self._run([Evaluate(at, min(at + CHUNK, self._n_test)) for at in starts], taken)
        return Evaluation(
            loss_sum=sum(part.loss_sum for part in parts),
            correct=np.sum([part.correct for part in parts], axis=0),
            count=np.sum([part.count for part in parts], axis=0),
        )

    def close(self) -> None:
        """End the workers; the engine starts them anew if it is used again."""
        for worker in self._crew:
            worker.dismiss()
        for worker in self._crew:
            worker.bury(GRACE_S if worker.is_dismissed else 0.0)

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def worker_pids(self) -> tuple[int, ...]:
        """The processes that are alive, for those who watch or test them."""
        pids = (worker.process.pid for worker in self._crew if worker.is_alive)
        return tuple(pid for pid in pids if pid is not None)

    def _run(self, tasks: Sequence[Task], taken: Taken) -> None:
        if self._desk is not None:
            _run_here(self._desk, tasks, taken)
            return
        shift = _Shift(tasks, len(self._rows), taken)
        try:
            for worker in self._crew:
                worker.ensure()
            while not shift.is_over:
                shift.hand_out(self._crew)
                if not shift.take():
                    shift.collect(self._crew)
        finally:
            for worker in self._crew:  # only after an exception is anybody still at work
                if worker.given:
                    worker.bury()


@dataclass(frozen=True)
class Given:
    """A task in a worker's hands, and where its result goes."""

    position: int
    row: int


class _Shift:
    """One list of tasks on its way through the workers."""

    def __init__(self, tasks: Sequence[Task], n_rows: int, taken: Taken) -> None:
        self._tasks, self._taken = tasks, taken
        self._to_do = deque(range(len(tasks)))
        self._size_to_do = sum(task.size for task in tasks)
        self._rows = list(range(n_rows))
        self._done: dict[int, tuple[int, Reply]] = {}
        self._lost = np.zeros(len(tasks), np.int64)
        self._next = 0

    @property
    def is_over(self) -> bool:
        """Everything has been taken."""
        return self._next == len(self._tasks)

    def hand_out(self, crew: Sequence["_Worker"]) -> None:
        """
        Give every idle worker a task, in order, while there are rows to put results into.

        The task to be taken next is always at work or done, since tasks are given in order, so
        rows are never all held by later ones.
        """
        for worker in crew:
            if worker.is_ready and not worker.given:
                self._give(worker)
        for worker in crew:
            if worker.is_ready and len(worker.given) == 1 and self._is_plenty(worker, len(crew)):
                self._give(worker)

    def _is_plenty(self, worker: "_Worker", n_workers: int) -> bool:
        """
        ``worker`` may have a second task at hand, to go on without asking: there is so much to do
        that nobody will be idle before it gets to that. For if somebody is, all of ``to_do`` has
        been given out: the others have done ``(n - 1) ahead`` of it at most, and ``n - 2`` of them
        may have two tasks at hand, none larger than ``ahead`` since the largest come first.
        """
        if not self._to_do:
            return False
        ahead = self._tasks[worker.given[0].position].size + self._tasks[self._to_do[0]].size
        return self._size_to_do >= (3 * n_workers - 4) * ahead

    def _give(self, worker: "_Worker") -> None:
        if not (self._to_do and self._rows):
            return
        given = Given(self._to_do.popleft(), self._rows.pop())
        self._size_to_do -= self._tasks[given.position].size
        if not worker.give(given, self._tasks[given.position]):
            self._give_back([given])

    def _give_back(self, tasks: Sequence["Given"]) -> None:
        for given in reversed(tasks):
            self._to_do.appendleft(given.position)
            self._size_to_do += self._tasks[given.position].size
            self._rows.append(given.row)

    def take(self) -> bool:
        """Take the results that are next in order, if they are there."""
        end = self._next
        while end in self._done:
            end += 1
        if end == self._next:
            return False
        results = [(self._tasks[k], *self._done.pop(k)) for k in range(self._next, end)]
        self._taken(results)
        self._rows += [row for _, row, _ in results]
        self._next = end
        return True

    def collect(self, crew: Sequence["_Worker"]) -> None:
        """Wait until workers have something to say; replace those who died."""
        expected = {worker.connection: worker for worker in crew if worker.is_expected}
        for connection in wait(list(expected)):
            worker = expected[connection]  # type: ignore[index]
            reply = worker.receive()
            if reply is None:
                self._replace(worker)
            elif isinstance(reply, Failure):
                at = worker.given[0].position if worker.given else None
                worker.bury()
                _raise(reply, "starting a worker" if at is None else str(self._tasks[at]))
            elif not isinstance(reply, Ready):
                given = worker.given.popleft()
                self._done[given.position] = (given.row, reply)

    def _replace(self, worker: "_Worker") -> None:
        tasks, exit_code = list(worker.given), worker.bury(GRACE_S)
        self._give_back(tasks)
        if tasks:
            position = tasks[0].position  # the others had not begun
            self._lost[position] += 1
            if self._lost[position] >= PATIENCE:
                raise WorkerError(
                    f"{self._tasks[position]}: {PATIENCE} worker processes died of it, the last "
                    f"one with {_cause(exit_code)}"
                )
        elif exit_code is not None and exit_code >= 0:
            raise WorkerError(
                f"a worker process did not start (exit code {exit_code}); a script that trains "
                'needs its calls below `if __name__ == "__main__":`'
            )
        worker.ensure()


class _Worker:
    """One worker process, or the place for one."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._false_starts = 0
        self.is_ready = False
        self.connection: Connection
        self.process: Any = None
        self.given: deque[Given] = deque()  # what it works on, then what waits
        self.ensure()

    @property
    def is_alive(self) -> bool:
        """It has been started and has not ended."""
        return self.process is not None and self.process.is_alive()

    @property
    def is_expected(self) -> bool:
        """It will say something: that it is ready, or a result."""
        return self.process is not None and (bool(self.given) or not self.is_ready)

    def ensure(self) -> None:
        """Start the process unless it is alive."""
        if self.is_alive:
            return
        self.bury()
        if self._false_starts >= PATIENCE:
            raise WorkerError(f"{PATIENCE} worker processes died before they were ready")
        self._false_starts += 1
        ours, theirs = PROCESSES.Pipe()
        process = PROCESSES.Process(
            target=work, args=(theirs, self._job), name="fedroam-worker", daemon=True
        )
        try:
            with _single_thread(), _deaf_to_ctrl_c():
                process.start()
        except (TypeError, AttributeError, ValueError, ImportError) as error:
            ours.close()
            raise ConfigError(f"trainer: cannot be sent to a worker process: {error}") from error
        except Exception as error:  # pickle.PicklingError and what others' __reduce__ may raise
            ours.close()
            raise WorkerError(f"cannot start a worker process: {error}") from error
        finally:
            theirs.close()
        self.connection, self.process = ours, process

    def give(self, given: Given, task: Task) -> bool:
        """Whether the worker could be told."""
        if isinstance(task, Train):
            task = replace(task, row=given.row)
        try:
            self.connection.send(task)
        except OSError:
            if not self.given:  # else its last word is being waited for, and will not come
                self.bury()
                self.ensure()
            return False
        self.given.append(given)
        return True

    def receive(self) -> Reply | None:
        """What the worker says; None when it has died."""
        try:
            reply: Reply = self.connection.recv()
        except (EOFError, OSError):
            return None
        if isinstance(reply, Ready):
            self.is_ready, self._false_starts = True, 0
        return reply

    @property
    def is_dismissed(self) -> bool:
        """It has been told to go."""
        return self.process is not None and self.connection.closed

    def dismiss(self) -> None:
        """Tell an idle worker to go."""
        if self.process is not None and self.is_ready and not self.given:
            self.connection.close()

    def bury(self, grace_s: float = 0.0) -> int | None:
        """End the process, which has ``grace_s`` to end by itself, and return its exit code."""
        process, self.process = self.process, None
        self.is_ready = False
        self.given.clear()
        if process is None:
            return None
        self.connection.close()
        process.join(grace_s)
        if process.is_alive():
            process.kill()
            process.join()
        exit_code: int | None = process.exitcode
        process.close()
        return exit_code


def _run_here(desk: Desk, tasks: Sequence[Task], taken: Taken) -> None:
    for task in tasks:
        given = replace(task, row=0) if isinstance(task, Train) else task
        try:
            reply = desk.perform(given)
        except Exception as error:
            _reraise(error, str(task))
        taken([(task, 0, reply)])


def _raise(failure: Failure, task: str) -> None:
    error = failure.error
    if error is None:
        raise TrainingError(f"{task}: {failure.name}: {failure.message}\n{failure.trace}")
    error.add_note(f"In the worker process:\n{failure.trace}")
    _reraise(error, task)


def _reraise(error: BaseException, task: str) -> None:
    """As the same kind of error where it is ours: a mistake of the user's remains one."""
    message = f"{task}: {error}"
    if isinstance(error, FedroamError):
        raise type(error)(message) from error
    raise TrainingError(f"{task}: {type(error).__name__}: {error}") from error


def _n_rows(n_parameters: int, workers: int) -> int:
    """Enough that nobody waits, within the memory; three for each worker in any case."""
    if workers == 0:
        return 1
    return max(3 * workers, min(ROWS_BYTES // (4 * max(n_parameters, 1)), 256))


def _cause(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        name = signal.Signals(-exit_code).name
        memory = " (out of memory?)" if name == "SIGKILL" else ""
        return f"signal {name}{memory}"
    return f"exit code {exit_code}"


@contextmanager
def _single_thread() -> Iterator[None]:
    """Processes started inside use one thread each in whatever library they load."""
    before = {name: os.environ.get(name) for name in SINGLE_THREAD}
    os.environ.update(dict.fromkeys(SINGLE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """Processes started inside ignore Ctrl-C from their first moment, also while they import."""
    is_ours = signal.getsignal(signal.SIGINT) is not None  # None: set by a program around Python
    if not is_ours or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
