"""A small data set made on the spot: for tests, examples and machines without a network."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fedroam.arrays import Bytes, Ints
from fedroam.errors import require
from fedroam.learning.datasets.cache import moments
from fedroam.learning.datasets.published import Listed
from fedroam.learning.records import Dataset
from fedroam.streams import stream

CHUNK = 2048


@dataclass(frozen=True)
class Synthetic:
    """
    Smooth random patterns, one per class, that are shifted, dimmed, mixed with the pattern of
    another class and covered with noise.

    All arithmetic is on integers: equal sizes give equal bytes on every machine. A linear model
    gets part of it, a small CNN nearly all.
    """

    n_train: int = 2000
    n_test: int = 500
    side: int = 28
    channels: int = 1
    classes: int = 10
    name: str = "synthetic"

    def __post_init__(self) -> None:
        require(self.n_train >= 1, "n_train", self.n_train, ">= 1")
        require(self.n_test >= 1, "n_test", self.n_test, ">= 1")
        require(4 <= self.side <= 512, "side", self.side, "4 to 512")
        require(1 <= self.channels <= 16, "channels", self.channels, "1 to 16")
        require(2 <= self.classes <= 256, "classes", self.classes, "2 to 256")

    def load(self, folder: str | Path | None = None) -> Dataset:
        """The data; there are no files to look for."""
        del folder
        train_x, train_y = self._part("train", self.n_train)
        test_x, test_y = self._part("test", self.n_test)
        mean, std = moments(train_x)
        return Dataset(self.name, self.classes, train_x, train_y, test_x, test_y, mean, std)

    def listed(self) -> Listed:
        """Its line in the list of data sets."""
        return Listed(
            name=self.name,
            title="patterns made on the spot, any size",
            n_train=self.n_train,
            n_test=self.n_test,
            image=(self.channels, self.side, self.side),
            n_classes=self.classes,
            is_ready=True,
            folder=None,
            sources=("made on the spot",),
        )

    @property
    def _margin(self) -> int:
        return max(1, self.side // 8)

    def _part(self, part: str, n: int) -> tuple[Bytes, Bytes]:
        rng = stream(0, "synthetic", part, self.channels, self.side, self.classes)
        labels = rng.permutation(np.arange(n) % self.classes)
        patterns = self._patterns()
        pixels = np.empty((n, self.channels, self.side, self.side), np.uint8)
        for start in range(0, n, CHUNK):
            own = labels[start : start + CHUNK]
            pixels[start : start + CHUNK] = self._draw(patterns, own, rng)
        return pixels, labels.astype(np.uint8)

    def _patterns(self) -> Ints:
        """``[L, C, side + 2 margin, ...]`` from a coarse grid of bytes, bilinearly."""
        rng = stream(0, "synthetic", "patterns", self.channels, self.side, self.classes)
        wide = self.side + 2 * self._margin
        cells = 5
        grid = rng.integers(0, 256, (self.classes, self.channels, cells + 1, cells + 1), np.int64)
        at: Ints = np.arange(wide) * cells * 256 // wide  # in 1/256 of a cell
        cell, part = at >> 8, at & 255
        rows = grid[:, :, cell] * (256 - part)[:, None] + grid[:, :, cell + 1] * part[:, None]
        fine: Ints = rows[..., cell] * (256 - part) + rows[..., cell + 1] * part
        return fine >> 16

    def _draw(self, patterns: Ints, own: Ints, rng: np.random.Generator) -> Ints:
        n = len(own)
        other = (own + rng.integers(1, self.classes, n)) % self.classes
        light = rng.integers(110, 257, n)[:, None, None, None]
        veil = rng.integers(0, 120, n)[:, None, None, None]
        mixed = light * self._shifted(patterns, own, rng) + veil * self._shifted(
            patterns, other, rng
        )
        noise = rng.integers(-48, 49, (2, *mixed.shape)).sum(axis=0)
        drawn: Ints = np.clip((mixed >> 8) + noise, 0, 255)
        return drawn

    def _shifted(self, patterns: Ints, which: Ints, rng: np.random.Generator) -> Ints:
        top, left = rng.integers(0, 2 * self._margin + 1, (2, len(which)))
        span = np.arange(self.side)
        rows = (top[:, None] + span)[:, None, :, None]
        columns = (left[:, None] + span)[:, None, None, :]
        channels = np.arange(self.channels)[None, :, None, None]
        return patterns[which[:, None, None, None], channels, rows, columns]
