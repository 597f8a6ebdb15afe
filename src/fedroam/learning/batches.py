"""What both trainers share: the order of the samples, and what they refuse."""

import numpy as np

from fedroam.arrays import Floats32, Ints
from fedroam.errors import require


def batch_order(samples: Ints, epochs: int, rng: np.random.Generator) -> Ints:
    """
    ``samples`` in a new random order for every epoch, ``[epochs, n]``.

    Batches are consecutive slices of a row, the last one smaller where it must be.
    """
    chosen = np.asarray(samples, np.int64)
    return np.stack([chosen[rng.permutation(chosen.size)] for _ in range(epochs)])


def check_request(n_parameters: int, weights: Floats32, images: np.ndarray, samples: Ints) -> None:
    """ConfigError unless there are samples, all of them exist, and the weights fit."""
    require(weights.shape == (n_parameters,), "weights: shape", weights.shape, f"({n_parameters},)")
    require(samples.size >= 1, "samples", samples.tolist(), "at least one")
    inside = int(samples.min()) >= 0 and int(samples.max()) < len(images)
    reach = (int(samples.min()), int(samples.max()))
    require(inside, "samples: smallest and largest", reach, f"in 0..{len(images) - 1}")


def check_images(expected: tuple[int, int, int], found: tuple[int, int, int], name: str) -> None:
    """ConfigError unless a data set has the channels, side and classes a network was made for."""
    require(
        found == expected,
        f"data set {name!r}: channels, side, classes",
        found,
        f"{expected}, which the network was made for",
    )
