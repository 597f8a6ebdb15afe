"""
Training and testing on the cores of a Ray cluster, with the bits of the local engine.

The data are put into the object store once: a node fetches them once and its workers read them
where they lie. So are the global weights, once a round. Results come back through the store and
are taken in the order of the tasks, like those of local processes. A worker that is lost with its
node is replaced wherever there is room, and its tasks are done again: that costs time only.
"""

import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedroam.adapters.on_ray.cluster import DEAD, Cluster, one_core, ray
from fedroam.arrays import Floats32
from fedroam.errors import ConfigError, WorkerError
from fedroam.learning.engine import Engine, StartEngine, Taken
from fedroam.learning.partition import Partition
from fedroam.learning.records import Dataset, LocalTraining, Trainer
from fedroam.learning.shift import PATIENCE, Given, n_rows, work_off
from fedroam.learning.worker import (
    Desk,
    Failure,
    Ready,
    Reply,
    Task,
    Train,
    Trained,
    attempt,
    failure_of,
)
from fedroam.runs.folder import versions

START_S = 300.0
"""How long to wait for the first worker; a cluster may have to start machines."""

_ARRAYS = ("train_x", "train_y", "test_x", "test_y")


def engine_on(cluster: Cluster) -> StartEngine:
    """How engines are started on ``cluster``."""
    return partial(_ray_engine, cluster)  # type: ignore[return-value]


def _ray_engine(
    cluster: Cluster,
    trainer: Trainer,
    dataset: Dataset,
    partition: Partition,
    how: LocalTraining,
    *,
    seed: int,
) -> Engine:
    kit = Kit(
        trainer=_put(trainer, "trainer"),
        how=how,
        seed=seed,
        dataset=_without_arrays(dataset),
        arrays={name: _put(np.asarray(getattr(dataset, name)), name) for name in _ARRAYS},
        indptr=_put(partition.indptr, "partition"),
        sample=_put(partition.sample, "partition"),
        versions=versions(),
    )
    return Engine(RayCrew(kit, trainer.n_parameters, cluster.workers), partition, dataset)


def _without_arrays(dataset: Dataset) -> Dataset:
    nothing = np.empty(0, np.uint8)
    return replace(dataset, train_x=nothing, train_y=nothing, test_x=nothing, test_y=nothing)


def _put(thing: Any, name: str) -> Any:
    """``thing`` in the object store."""
    try:
        return ray.put(thing)
    except TypeError as error:  # cannot be pickled
        reason = str(error).splitlines()[0]
        raise ConfigError(f"{name}: cannot be sent to a worker process: {reason}") from error


@dataclass(frozen=True, eq=False)
class Kit:
    """All that a worker has to know; what is large lies in the object store."""

    trainer: Any
    how: LocalTraining
    seed: int
    dataset: Dataset  # without its arrays
    arrays: dict[str, Any]
    indptr: Any
    sample: Any
    versions: dict[str, str]

    def open(self) -> Desk:
        """The same with everything at hand; arrays stay in the memory that the node shares."""
        if (here := versions()) != self.versions:
            name = next(
                k for k in sorted({*here, *self.versions}) if here.get(k) != self.versions.get(k)
            )
            raise ConfigError(
                f"{name} is {here.get(name)!r} on a node of the Ray cluster, expected "
                f"{self.versions.get(name)!r} as on this machine: the results would differ"
            )
        trainer = ray.get(self.trainer)
        arrays = {name: ray.get(ref) for name, ref in self.arrays.items()}
        return Desk(
            trainer,
            self.how,
            self.seed,
            replace(self.dataset, **arrays),
            Partition(ray.get(self.indptr), ray.get(self.sample)),
            np.empty(0, np.float32),
            np.empty((1, trainer.n_parameters), np.float32),
        )


class Seat:
    """A worker, in a process of its own somewhere in the cluster."""

    def __init__(self) -> None:
        self._desk: Desk | None = None

    def open(self, kit: Kit) -> tuple[Reply, None]:
        """Get everything ready."""
        try:
            self._desk = kit.open()
        except Exception as error:
            return failure_of(error), None
        return Ready(), None

    def perform(self, task: Task, weights: Floats32) -> tuple[Reply, NDArray[Any] | None]:
        """The reply, and what was trained."""
        assert self._desk is not None  # nobody is given a task before it is ready
        desk = replace(self._desk, weights=weights)
        reply = attempt(desk, replace(task, row=0) if isinstance(task, Train) else task)
        return reply, desk.rows[0] if isinstance(reply, Trained) else None


class RayCrew:
    """Workers on a Ray cluster."""

    pids: tuple[int, ...] = ()  # they are none of this machine's business

    def __init__(self, kit: Kit, n_parameters: int, workers: int) -> None:
        self.rows = np.empty((n_rows(n_parameters, workers), n_parameters), np.float32)
        self.workers = [_Worker(kit, self.rows) for _ in range(workers)]

    def perform(self, weights: Floats32, tasks: Sequence[Task], taken: Taken) -> None:
        """Do ``tasks``, the results in order whoever did them and wherever."""
        sent = ray.put(weights)
        for worker in self.workers:
            worker.weights = sent
        work_off(tasks, self.workers, len(self.rows), taken, self._listen)

    def close(self) -> None:
        """End the workers; what was put into the store goes with the crew."""
        for worker in self.workers:
            worker.bury()

    def _listen(self, expected: Sequence["_Worker"]) -> Iterator[tuple["_Worker", Reply | None]]:
        by_ref = {worker.next: worker for worker in expected}
        deadline_s = time.monotonic() + START_S
        while not (said := ray.wait(list(by_ref), num_returns=1, timeout=1.0)[0]):
            is_up = any(worker.is_ready for worker in self.workers)
            if not is_up and time.monotonic() > deadline_s:
                raise WorkerError(
                    f"no worker of the Ray cluster was ready within {START_S:.0f} s: "
                    "has it a free CPU?"
                )
        for ref in said:
            yield by_ref[ref], by_ref[ref].receive()


class _Worker:
    """One worker of the cluster, or the place for one."""

    def __init__(self, kit: Kit, rows: Floats32) -> None:
        self._kit, self._rows = kit, rows
        self._false_starts, self._cause = 0, ""
        self._seat: Any = None
        self._words: deque[Any] = deque()  # what it is going to say, in order
        self.is_ready = False
        self.given: deque[Given] = deque()
        self.weights: Any = None  # [P] in the object store
        self.ensure()

    @property
    def is_expected(self) -> bool:
        """It will say something: that it is ready, or a result."""
        return bool(self._words)

    @property
    def next(self) -> Any:
        """Where its next word will be."""
        return self._words[0]

    def ensure(self) -> None:
        """Ask for a process, wherever in the cluster, unless there is one."""
        if self._seat is not None:
            return
        if self._false_starts >= PATIENCE:
            raise WorkerError(
                f"{PATIENCE} workers of the Ray cluster died before they were ready, the last one "
                f"with {self._cause}"
            )
        self._false_starts += 1
        self._seat = ray.remote(Seat).options(**one_core()).remote()
        self._words.append(self._seat.open.remote(self._kit))

    def give(self, given: Given, task: Task) -> bool:
        """Send it; whether it has arrived is seen from what comes back."""
        self._words.append(self._seat.perform.remote(task, self.weights))
        self.given.append(given)
        return True

    def receive(self) -> Reply | None:
        """What the worker says; None when it, or its answer, is lost."""
        try:
            reply, trained = ray.get(self._words.popleft())
        except ray.exceptions.RayTaskError as error:
            return Failure(None, "RayTaskError", str(error.cause), str(error))
        except DEAD as error:
            self._cause = f"{type(error).__name__}: {' '.join(str(error).split())}"
            return None
        if isinstance(reply, Ready):
            self.is_ready, self._false_starts = True, 0
        if trained is not None:
            self._rows[self.given[0].row] = trained
        return reply  # type: ignore[no-any-return]

    def mourn(self) -> str:
        """What it died of."""
        self.bury()
        return self._cause

    def bury(self) -> None:
        """End it at once."""
        seat, self._seat = self._seat, None
        self.is_ready = False
        self.given.clear()
        self._words.clear()
        if seat is not None:
            with suppress(*DEAD):
                ray.kill(seat)
