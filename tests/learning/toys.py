"""Small pictures that are quickly learned, and modules as a user might bring them."""

import numpy as np
from torch import nn

from fedroam.learning.records import Dataset


def toy_images(
    channels: int = 1, side: int = 16, n_classes: int = 10, n: int = 96, seed: int = 0
) -> Dataset:
    """One random picture a class, and noise."""
    rng = np.random.default_rng(seed)
    ideal = rng.integers(0, 256, (n_classes, channels, side, side))
    parts = []
    for _ in range(2):
        labels = (np.arange(n) % n_classes).astype(np.uint8)
        noise = rng.normal(0, 20, (n, channels, side, side))
        parts += [np.clip(ideal[labels] + noise, 0, 255).astype(np.uint8), labels]
    pixels = parts[0] / 255
    mean = tuple(float(m) for m in pixels.mean((0, 2, 3)))
    std = tuple(float(s) for s in pixels.std((0, 2, 3)))
    return Dataset("toy", n_classes, *parts, mean, std)


def with_batch_norm(channels, side, n_classes):
    """A module with buffers: running means and a counter."""
    return nn.Sequential(
        nn.Conv2d(channels, 4, 3),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(4 * (side - 2) ** 2, n_classes),
    )


def with_dropout():
    """A module that draws random numbers, for 1 x 16 x 16 and 10 classes."""
    return nn.Sequential(nn.Flatten(), nn.Linear(256, 30), nn.Dropout(0.3), nn.Linear(30, 10))


def with_frozen_part():
    """A module of which only the last layer is trained."""
    first = nn.Linear(256, 30)
    first.requires_grad_(False)
    return nn.Sequential(nn.Flatten(), first, nn.ReLU(), nn.Linear(30, 10))


def too_many_outputs():
    """Eleven outputs, whatever the classes."""
    return nn.Sequential(nn.Flatten(), nn.Linear(256, 11))


def for_other_images():
    """A module for 28 x 28."""
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 10))


def in_double():
    """A module in float64."""
    return nn.Sequential(nn.Flatten(), nn.Linear(256, 10)).double()


def that_raises(side):
    """A factory with a mistake in it."""
    raise LookupError(f"nothing\nfor {side}")


def that_raises_later():
    """A module whose answer is a mistake."""

    class Later(nn.Module):
        def forward(self, images):
            raise LookupError("later")

    return Later()


def not_a_module():
    """Nothing to train."""
    return 3
