"""A small real trainer, softmax regression in NumPy, and some that misbehave."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fedroam.errors import ConfigError
from fedroam.learning.records import Dataset, Evaluation, LocalTraining, Update


@dataclass(frozen=True)
class Softmax:
    """Softmax regression on the pixels of ``Synthetic(side=side, classes=classes)``."""

    side: int = 8
    classes: int = 4

    @property
    def n_parameters(self) -> int:
        """A weight for each pixel and class, and a bias for each class."""
        return (self.side**2 + 1) * self.classes

    def initial(self, rng):
        """Small random numbers."""
        return rng.normal(0, 0.01, self.n_parameters).astype(np.float32)

    def train(self, weights, dataset: Dataset, samples, how: LocalTraining, rng) -> Update:
        """Plain SGD with FedProx's term."""
        start = weights.reshape(-1, self.classes)
        w, loss = start.copy(), 0.0
        for _ in range(how.local_epochs):
            order, loss = rng.permutation(samples), 0.0
            for at in range(0, order.size, how.batch):
                batch = order[at : at + how.batch]
                x, share, losses = self._forward(w, dataset.train_x[batch], dataset.train_y[batch])
                share[np.arange(batch.size), dataset.train_y[batch]] -= 1
                gradient = x.T @ share / batch.size + how.prox * (w - start)
                w -= np.float32(how.lr) * gradient.astype(np.float32)
                loss += float(losses.sum())
        return Update(w.reshape(-1), int(samples.size), loss / samples.size)

    def evaluate(self, weights, dataset: Dataset, samples) -> Evaluation:
        """Cross-entropy and hits."""
        y = dataset.test_y[samples]
        _, share, losses = self._forward(
            weights.reshape(-1, self.classes), dataset.test_x[samples], y
        )
        hits = y[share.argmax(axis=1) == y]
        correct = np.bincount(hits, minlength=self.classes)
        return Evaluation(float(losses.sum()), correct, np.bincount(y, minlength=self.classes))

    def _forward(self, w, pixels, labels):
        x = pixels.reshape(len(pixels), -1).astype(np.float32) / 255
        x = np.concatenate([x, np.ones((len(x), 1), np.float32)], axis=1)
        score = x @ w
        share = np.exp(score - score.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        return x, share, -np.log(share[np.arange(len(x)), labels])


@dataclass(frozen=True)
class Slow(Softmax):
    """Takes its time over each user."""

    pause_s: float = 0.2

    def train(self, *arguments) -> Update:
        """As softmax regression, later."""
        time.sleep(self.pause_s)
        return super().train(*arguments)


@dataclass(frozen=True)
class Deadly(Softmax):
    """Kills its process while it trains, the first ``times`` times; ``log`` counts."""

    log: str = ""
    times: int = 1
    first_sample: int = -1  # whose training is deadly: the user that holds it first

    def train(self, weights, dataset, samples, how, rng) -> Update:
        """Write down the attempt, then die or train."""
        if self.first_sample in (-1, samples[0]):
            with Path(self.log).open("a") as file:
                file.write("x")
            if len(Path(self.log).read_text()) <= self.times:
                os.kill(os.getpid(), signal.SIGKILL)
        return super().train(weights, dataset, samples, how, rng)


@dataclass(frozen=True)
class Broken(Softmax):
    """Goes wrong in the way that ``kind`` says."""

    kind: str = "raises"

    def train(self, weights, dataset, samples, how, rng) -> Update:
        """Raise, or return what must not be."""
        update = super().train(weights, dataset, samples, how, rng)
        if self.kind == "raises":
            raise ZeroDivisionError("no such luck")
        if self.kind == "config":
            raise ConfigError("lr is 7, expected less")
        if self.kind == "unpicklable":
            raise Unpicklable(lambda: None)
        if self.kind == "tuple":
            return (update.weights, 1, 0.0)
        if self.kind == "shape":
            return Update(update.weights[1:], 1, 0.0)
        bad = update.weights.copy()
        bad[3] = np.nan if self.kind == "nan" else np.inf
        return update if samples[0] % 2 else Update(bad, update.n_samples, np.nan)


@dataclass(frozen=True)
class Blind(Softmax):
    """Returns no evaluation."""

    def evaluate(self, weights, dataset, samples):
        """A number."""
        return 0.9


class Unpicklable(Exception):
    """Holds something that cannot be sent."""


class Unstartable(Softmax):
    """Cannot be opened in another process."""

    def __setstate__(self, state):
        """Refuse."""
        raise RuntimeError("not here")
