"""What every data set, partition rule and trainer must keep; for our tests and for plug-ins."""

import numpy as np

from fedroam.arrays import Bytes
from fedroam.errors import ContractError
from fedroam.learning.partition import Partition, PartitionRule
from fedroam.learning.records import Dataset


def check_dataset(dataset: Dataset) -> None:
    """
    Raise ContractError unless ``dataset`` is sound.

    Shapes and types agree, every label is in range, every class occurs in both parts, at most one
    test picture in fifty is a training picture too (real sets hold a few), and mean and standard
    deviation are those of the training set.
    """
    _check_part(dataset, "train", dataset.train_x, dataset.train_y)
    _check_part(dataset, "test", dataset.test_x, dataset.test_y)
    _demand(dataset.train_x.shape[1:] == dataset.test_x.shape[1:], "test pictures differ in shape")
    channels = dataset.train_x.shape[1]
    _demand(len(dataset.mean) == len(dataset.std) == channels, f"mean, std need {channels} values")
    for channel in range(channels):
        pixels = dataset.train_x[:, channel]
        _demand(
            abs(pixels.mean() / 255 - dataset.mean[channel]) < 1e-6
            and abs(pixels.std() / 255 - dataset.std[channel]) < 1e-6,
            f"mean and std of channel {channel} are not those of the training pixels / 255",
        )
    _demand(min(dataset.std) > 0, f"std is {dataset.std}, expected > 0")
    shared = _shared(dataset)
    _demand(shared <= len(dataset.test_y) // 50, f"{shared} test pictures are training pictures")


def check_partition(rule: PartitionRule, n_users: int = 12, n_samples: int = 600) -> None:
    """
    Raise ContractError unless ``rule`` divides samples among users as promised.

    Each sample has one holder at most, every user has some, equal streams give equal partitions
    and the labels are left as they were.
    """
    labels = (np.arange(n_samples) * 7 % 10).astype(np.uint8)
    before = labels.copy()
    first = rule(labels, n_users, np.random.default_rng(5))
    again = rule(labels, n_users, np.random.default_rng(5))
    _demand(isinstance(first, Partition), f"returned {type(first).__name__}, expected Partition")
    _demand(first.n_users == n_users, f"made parts for {first.n_users} users, expected {n_users}")
    _demand(bool((first.counts >= 1).all()), "a user holds no sample")
    sample = first.sample
    _demand(np.unique(sample).size == sample.size, "a sample is held twice")
    _demand(bool(((sample >= 0) & (sample < n_samples)).all()), "a sample does not exist")
    same = np.array_equal(first.indptr, again.indptr) and np.array_equal(sample, again.sample)
    _demand(same, "equal streams gave different partitions")
    _demand(np.array_equal(labels, before), "the labels were changed")


def _check_part(dataset: Dataset, part: str, pixels: Bytes, labels: Bytes) -> None:
    _demand(pixels.dtype == np.uint8 == labels.dtype, f"{part}: expected arrays of uint8")
    _demand(pixels.ndim == 4, f"{part}: pixels have {pixels.ndim} axes, expected N, C, H, W")
    _demand(labels.shape == pixels.shape[:1], f"{part}: {labels.shape} labels for {pixels.shape}")
    counts = np.bincount(labels, minlength=dataset.n_classes)
    _demand(counts.size == dataset.n_classes, f"{part}: label {labels.max()} is out of range")
    _demand(bool((counts > 0).all()), f"{part}: no sample of class {counts.argmin()}")


def _shared(dataset: Dataset) -> int:
    """How many test pictures occur, pixel for pixel, in the training set."""
    known = {picture.tobytes() for picture in dataset.train_x}
    return sum(picture.tobytes() in known for picture in dataset.test_x)


def _demand(ok: bool, message: str) -> None:
    if not ok:
        raise ContractError(message)
