"""
Training and testing on all cores of this machine.

Long-lived worker processes, one thread each, read the data by memory map and the global weights
from shared memory; what they train they leave in rows of shared memory, and only a few numbers
per user are sent.
"""

import os
import signal
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from typing import Any

import numpy as np

from fedroam.arrays import Floats32
from fedroam.errors import ConfigError, WorkerError, require
from fedroam.learning.engine import Engine, Taken
from fedroam.learning.partition import Partition
from fedroam.learning.records import Dataset, LocalTraining, Trainer
from fedroam.learning.sharing import SharedDataset, reserve, share
from fedroam.learning.shift import PATIENCE, Given, n_rows, reraise, work_off
from fedroam.learning.worker import Job, Ready, Reply, Task, Train, work
from fedroam.spawn import PROCESSES, Loading, deaf_to_ctrl_c, our_environment

GRACE_S = 5.0
"""How long a worker that ends by itself may take for it."""


def usable_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def local_engine(
    trainer: Trainer,
    dataset: Dataset,
    partition: Partition,
    how: LocalTraining,
    *,
    seed: int,
    workers: int | None = None,
) -> Engine:
    """
    An engine of ``workers`` processes on this machine (default: one for each core).

    With ``workers = 0`` everything happens in this process, with the threads that it has: for
    debugging, and for trainers that cannot be sent to another process.
    """
    workers = usable_cores() if workers is None else workers
    require(0 <= workers <= 1024, "workers", workers, "0 to 1024")
    job = Job(
        trainer=trainer,
        how=how,
        seed=seed,
        dataset=SharedDataset.of(dataset),
        indptr=share(partition.indptr),
        sample=share(partition.sample),
        weights=reserve((trainer.n_parameters,), np.float32),
        rows=reserve((n_rows(trainer.n_parameters, workers), trainer.n_parameters), "f4"),
    )
    return Engine(Processes(job, workers) if workers else Alone(job), partition, dataset)


class Alone:
    """The process that asks, which does one task after the other."""

    pids: tuple[int, ...] = ()

    def __init__(self, job: Job) -> None:
        self._desk, self.rows, self._weights = job.open(), job.rows.open(), job.weights.open()

    def perform(self, weights: Floats32, tasks: Sequence[Task], taken: Taken) -> None:
        """Do ``tasks``; each result is taken at once."""
        self._weights[...] = weights
        for task in tasks:
            given = replace(task, row=0) if isinstance(task, Train) else task
            try:
                reply = self._desk.perform(given)
            except Exception as error:
                reraise(error, str(task))
            taken([(task, 0, reply)])

    def close(self) -> None:
        """Nobody is to be ended."""


class Processes:
    """Worker processes of this machine."""

    def __init__(self, job: Job, workers: int) -> None:
        self.rows, self._weights = job.rows.open(), job.weights.open()
        self.workers: list[_Worker] = []
        try:
            for _ in range(workers):
                self.workers.append(_Worker(job))
        except BaseException:
            self.close()
            raise

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes that are alive."""
        pids = (worker.process.pid for worker in self.workers if worker.is_alive)
        return tuple(pid for pid in pids if pid is not None)

    def perform(self, weights: Floats32, tasks: Sequence[Task], taken: Taken) -> None:
        """Do ``tasks``, the results in order whoever did them and whenever."""
        self._weights[...] = weights
        work_off(tasks, self.workers, len(self.rows), taken, _listen)

    def close(self) -> None:
        """End the workers, the idle ones by telling them to go."""
        for worker in self.workers:
            worker.dismiss()
        for worker in self.workers:
            worker.bury(GRACE_S if worker.is_dismissed else 0.0)


def _listen(expected: Sequence["_Worker"]) -> Iterator[tuple["_Worker", Reply | None]]:
    by_connection = {worker.connection: worker for worker in expected}
    for connection in wait(list(by_connection)):
        worker = by_connection[connection]  # type: ignore[index]
        yield worker, worker.receive()


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
            target=work, args=(Loading(), theirs, self._job), name="fedroam-worker", daemon=True
        )
        try:
            with our_environment(), deaf_to_ctrl_c():
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

    def mourn(self) -> str:
        """What it died of, after some time to do so; WorkerError where it could not even start."""
        was_at_work, exit_code = bool(self.given), self.bury(GRACE_S)
        if not was_at_work and exit_code is not None and exit_code >= 0:
            raise WorkerError(
                f"a worker process did not start (exit code {exit_code}); a script that trains "
                'needs its calls below `if __name__ == "__main__":`'
            )
        return _cause(exit_code)

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


def _cause(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        name = signal.Signals(-exit_code).name
        memory = " (out of memory?)" if name == "SIGKILL" else ""
        return f"signal {name}{memory}"
    return f"exit code {exit_code}"
