"""
What trains users and tests models, whoever does the work: always the same bits.

The tasks of a round are put into a fixed order here; a crew performs them, wherever and whenever,
and hands the results back in that order. So they are summed up as if one process had done it all.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fedroam.arrays import Bools, Floats, Floats32, Ints
from fedroam.learning.partition import Partition
from fedroam.learning.records import Dataset, Evaluation, LocalTraining, Trainer
from fedroam.learning.worker import Evaluate, Reply, Task, Train, Trained

CHUNK = 500
"""Test samples per task: fixed, so that sums do not depend on the number of workers."""

Taken = Callable[[Sequence[tuple[Task, int, Reply]]], None]
"""What a crew hands results to: tasks, the rows that hold what was trained, and replies."""


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


class Crew(Protocol):
    """Performs tasks, in whatever places; its results come in the order of the tasks."""

    @property
    def rows(self) -> Floats32:
        """``[rows, P]`` where trained weights are found while ``taken`` is called."""
        ...

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes of this machine that are alive, for those who watch or test them."""
        ...

    def perform(self, weights: Floats32, tasks: Sequence[Task], taken: Taken) -> None:
        """Do ``tasks`` from the global ``weights``; all results go to ``taken``, in order."""
        ...

    def close(self) -> None:
        """End the workers; they are started anew if the crew is used again."""
        ...


class Engine:
    """Trains users and tests models by means of a crew."""

    def __init__(self, crew: Crew, partition: Partition, dataset: Dataset) -> None:
        self.crew = crew
        self._counts, self._n_test = partition.counts, len(dataset.test_y)

    def train(self, weights: Floats32, round: int, users: Ints, take: Take) -> None:
        """
        Let ``users`` train from ``weights`` and hand their results to ``take``.

        The largest start first, so that the workers end together; results are taken in that order
        too, the smaller number first among equals.
        """
        sizes = self._counts[users]
        order = np.lexsort((users, -sizes))
        tasks = [Train(round, int(users[k]), int(sizes[k])) for k in order]

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
                    rows=self.crew.rows,
                    row=np.array([row for _, row, _ in results]),
                )
            )

        self.crew.perform(weights, tasks, taken)

    def evaluate(self, weights: Floats32) -> Evaluation:
        """Test ``weights`` on the whole test set, in stretches of ``CHUNK``."""
        parts: list[Evaluation] = []

        def taken(results: Sequence[tuple[Task, int, Reply]]) -> None:
            parts.extend(reply for _, _, reply in results if isinstance(reply, Evaluation))

        starts = range(0, self._n_test, CHUNK)
        tasks = [Evaluate(at, min(at + CHUNK, self._n_test)) for at in starts]
        self.crew.perform(weights, tasks, taken)
        return Evaluation(
            loss_sum=sum(part.loss_sum for part in parts),
            correct=np.sum([part.correct for part in parts], axis=0),
            count=np.sum([part.count for part in parts], axis=0),
        )

    def close(self) -> None:
        """End the workers; the engine starts them anew if it is used again."""
        self.crew.close()

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class StartEngine(Protocol):
    """How an engine comes about: where the work is done is for this to know, and nobody else."""

    def __call__(
        self,
        trainer: Trainer,
        dataset: Dataset,
        partition: Partition,
        how: LocalTraining,
        *,
        seed: int,
    ) -> Engine:
        """An engine for users that hold ``partition`` of ``dataset``."""
        ...
