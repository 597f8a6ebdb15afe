"""
Tasks on their way through workers that may die, with results in the order of the tasks.

Knows neither processes nor machines: a worker is whatever can be given a task and says something.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from fedroam.errors import FedroamError, TrainingError, WorkerError
from fedroam.learning.engine import Taken
from fedroam.learning.worker import Failure, Ready, Reply, Task

PATIENCE = 3
"""How many workers one task may cost."""

ROWS_BYTES = 64 << 20
"""Memory for updates that wait for their turn."""


@dataclass(frozen=True)
class Given:
    """A task in a worker's hands, and where its result goes."""

    position: int
    row: int


class Worker(Protocol):
    """One worker, or the place for one."""

    is_ready: bool
    given: deque[Given]  # what it works on, then what waits

    @property
    def is_expected(self) -> bool:
        """It will say something: that it is ready, or a result."""
        ...

    def ensure(self) -> None:
        """Start it unless it is alive."""
        ...

    def give(self, given: Given, task: Task) -> bool:
        """Whether the worker could be told; then ``given`` is in its hands."""
        ...

    def mourn(self) -> str:
        """What it died of, all of it ended; WorkerError where it could not even start."""
        ...

    def bury(self) -> object:
        """End it at once."""
        ...


W = TypeVar("W", bound=Worker)

Listen = Callable[[Sequence[W]], Iterable[tuple[W, Reply | None]]]
"""Waits until some of these workers have said something; None: this one has died."""


class Shift(Generic[W]):
    """One list of tasks on its way through the workers."""

    def __init__(self, tasks: Sequence[Task], n_rows: int, taken: Taken, listen: Listen[W]) -> None:
        self._tasks, self._taken, self._listen = tasks, taken, listen
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

    def hand_out(self, crew: Sequence[W]) -> None:
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

    def _is_plenty(self, worker: W, n_workers: int) -> bool:
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

    def _give(self, worker: W) -> None:
        if not (self._to_do and self._rows):
            return
        given = Given(self._to_do.popleft(), self._rows.pop())
        self._size_to_do -= self._tasks[given.position].size
        if not worker.give(given, self._tasks[given.position]):
            self._give_back([given])

    def _give_back(self, tasks: Sequence[Given]) -> None:
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

    def collect(self, crew: Sequence[W]) -> None:
        """Wait until workers have something to say; replace those who died."""
        for worker, reply in self._listen([worker for worker in crew if worker.is_expected]):
            if reply is None:
                self._replace(worker)
            elif isinstance(reply, Failure):
                at = worker.given[0].position if worker.given else None
                worker.bury()
                _raise(reply, "starting a worker" if at is None else str(self._tasks[at]))
            elif not isinstance(reply, Ready):
                given = worker.given.popleft()
                self._done[given.position] = (given.row, reply)

    def _replace(self, worker: W) -> None:
        tasks, cause = list(worker.given), worker.mourn()
        self._give_back(tasks)
        if tasks:
            position = tasks[0].position  # the others had not begun
            self._lost[position] += 1
            if self._lost[position] >= PATIENCE:
                raise WorkerError(
                    f"{self._tasks[position]}: {PATIENCE} worker processes died of it, the last "
                    f"one with {cause}"
                )
        worker.ensure()


def work_off(
    tasks: Sequence[Task], crew: Sequence[W], n_rows: int, taken: Taken, listen: Listen[W]
) -> None:
    """Let ``crew`` do ``tasks``; after an exception nobody is at work any more."""
    shift = Shift(tasks, n_rows, taken, listen)
    try:
        for worker in crew:
            worker.ensure()
        while not shift.is_over:
            shift.hand_out(crew)
            if not shift.take():
                shift.collect(crew)
    finally:
        for worker in crew:  # only after an exception is anybody still at work
            if worker.given:
                worker.bury()


def _raise(failure: Failure, task: str) -> None:
    error = failure.error
    if error is None:
        raise TrainingError(f"{task}: {failure.name}: {failure.message}\n{failure.trace}")
    error.add_note(f"In the worker process:\n{failure.trace}")
    reraise(error, task)


def reraise(error: BaseException, task: str) -> None:
    """As the same kind of error where it is ours: a mistake of the user's remains one."""
    message = f"{task}: {error}"
    if isinstance(error, FedroamError):
        raise type(error)(message) from error
    raise TrainingError(f"{task}: {type(error).__name__}: {error}") from error


def n_rows(n_parameters: int, workers: int) -> int:
    """Enough that nobody waits, within the memory; three for each worker in any case."""
    if workers == 0:
        return 1
    return max(3 * workers, min(ROWS_BYTES // (4 * max(n_parameters, 1)), 256))
