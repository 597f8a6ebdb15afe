"""What a worker process does: it trains the user, or tests the samples, that it is told."""

import os
import signal
import threading
import traceback
from dataclasses import dataclass
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait

import numpy as np

from fedroam.arrays import Floats32
from fedroam.errors import ContractError
from fedroam.learning.partition import Partition
from fedroam.learning.records import Dataset, Evaluation, LocalTraining, Trainer, Update
from fedroam.learning.sharing import Shared, SharedDataset
from fedroam.spawn import Loading
from fedroam.streams import stream

_PART = 1 << 15


@dataclass(frozen=True, eq=False)
class Job:
    """All that a worker has to know, given to it once."""

    trainer: Trainer
    how: LocalTraining
    seed: int
    dataset: SharedDataset
    indptr: Shared  # [U + 1] the partition
    sample: Shared
    weights: Shared  # [P] the global model, written by the engine between rounds
    rows: Shared  # [rows, P] where workers put what they have trained

    def open(self) -> "Desk":
        """The same with the shared arrays opened in this process."""
        return Desk(
            self.trainer,
            self.how,
            self.seed,
            self.dataset.open(),
            Partition(self.indptr.open(), self.sample.open()),
            self.weights.open(),
            self.rows.open(),
        )


@dataclass(frozen=True)
class Train:
    """Train one user, from the present global weights, and put the result into ``row``."""

    round: int
    user: int
    size: int  # samples
    row: int = -1  # the engine chooses it

    def __str__(self) -> str:
        return f"round {self.round}, user {self.user}"


@dataclass(frozen=True)
class Evaluate:
    """Test the present global weights on a stretch of the test samples."""

    first: int
    end: int

    @property
    def size(self) -> int:
        """Samples."""
        return self.end - self.first

    def __str__(self) -> str:
        return f"testing samples {self.first} to {self.end - 1}"


@dataclass(frozen=True)
class Trained:
    """The weights are in the row."""

    n_samples: int
    loss: float
    is_fit: bool  # finite numbers, from at least one sample


@dataclass(frozen=True)
class Failure:
    """An exception in a worker, in a form that any process can read."""

    error: BaseException | None  # None: it could not be pickled
    name: str
    message: str
    trace: str


@dataclass(frozen=True)
class Ready:
    """The worker has opened everything and waits for its first task."""


Task = Train | Evaluate
Reply = Trained | Evaluation | Failure | Ready


@dataclass(frozen=True, eq=False, slots=True)
class Desk:
    """All that a worker has before it, and what is done with it."""

    trainer: Trainer
    how: LocalTraining
    seed: int
    dataset: Dataset
    partition: Partition
    weights: Floats32  # [P] the global model
    rows: Floats32  # [rows, P] where trained weights go

    def __post_init__(self) -> None:
        weights = self.weights.view()
        weights.flags.writeable = False  # a trainer that writes into them fails at once
        object.__setattr__(self, "weights", weights)

    def perform(self, task: Task) -> Trained | Evaluation:
        """Do it; the same task has the same result in every process."""
        if isinstance(task, Train):
            return self._train(task)
        samples = np.arange(task.first, task.end)
        tested = self.trainer.evaluate(self.weights, self.dataset, samples)
        if not isinstance(tested, Evaluation):
            raise ContractError(f"evaluate() gave {type(tested).__name__}, expected Evaluation")
        return tested

    def _train(self, task: Train) -> Trained:
        update = self.trainer.train(
            self.weights,
            self.dataset,
            self.partition.samples_of(task.user),
            self.how,
            stream(self.seed, "batches", task.round, task.user),
        )
        if not isinstance(update, Update):
            raise ContractError(f"train() gave {type(update).__name__}, expected Update")
        row = self.rows[task.row]
        if update.weights.shape != row.shape or update.weights.dtype != row.dtype:
            got = f"{update.weights.dtype}{update.weights.shape}"
            raise ContractError(f"the trainer returned {got}, expected float32{row.shape}")
        is_fit = _copy(update.weights, row) and update.n_samples > 0
        return Trained(int(update.n_samples), float(update.loss), is_fit)


def _copy(source: Floats32, target: Floats32) -> bool:
    """Whether all numbers copied are finite; looked at while they are in the cache."""
    is_fit = True
    for start in range(0, source.size, _PART):
        part = slice(start, start + _PART)
        target[part] = source[part]
        is_fit = is_fit and bool(np.isfinite(target[part]).all())
    return is_fit


def work(loading: Loading, connection: Connection, job: Job) -> None:
    """The life of a worker process: it ends when the engine hangs up or dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the engine, which tells us
    threading.Thread(target=_follow_the_parent, daemon=True).start()
    try:
        desk = job.open()
        connection.send(Ready())
        connection.send(attempt(desk, connection.recv()))  # which loads what a trainer needs
        loading.is_over()
        while True:
            connection.send(attempt(desk, connection.recv()))
    except (EOFError, OSError):
        return  # nobody listens any more
    except Exception as error:
        connection.send(failure_of(error))


def attempt(desk: Desk, task: Task) -> Reply:
    """The result of ``task``, or the failure of whoever was asked for it."""
    try:
        return desk.perform(task)
    except Exception as error:  # whatever a trainer raises belongs to who asked for the training
        return failure_of(error)


def failure_of(error: Exception) -> Failure:
    """``error`` in a form that any process can read."""
    from multiprocessing.reduction import ForkingPickler

    trace = "".join(traceback.format_exception(error))
    try:
        ForkingPickler.loads(ForkingPickler.dumps(error))
    except Exception:  # pickling runs others' code, which may raise anything
        return Failure(None, type(error).__name__, str(error), trace)
    return Failure(error, type(error).__name__, str(error), trace)


def _follow_the_parent() -> None:
    """A parent that is killed cannot say goodbye; the system tells."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
