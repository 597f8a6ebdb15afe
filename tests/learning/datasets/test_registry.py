"""The real data sets are the real ones, and every registered set keeps the contract."""

from dataclasses import replace
from hashlib import md5

import numpy as np
import pytest

from fedroam.errors import ConfigError, ContractError
from fedroam.learning import datasets
from fedroam.learning.contracts import check_dataset
from fedroam.learning.datasets import DATASETS, Synthetic
from learning.tiny import idx

every_name = pytest.mark.parametrize("name", DATASETS)


@every_name
def test_a_registered_set_keeps_the_contract_and_its_own_listing(name):
    """Being registered is being tested: shapes, labels, moments, and what the list promises."""
    dataset = datasets.load(name)
    check_dataset(dataset)

    listed = next(entry for entry in datasets.listing() if entry.name == name)
    assert listed.is_ready
    assert (listed.n_train, listed.n_test) == (len(dataset.train_y), len(dataset.test_y))
    assert listed.image == dataset.train_x.shape[1:]
    assert listed.n_classes == dataset.n_classes


@every_name
def test_getting_and_checking_say_where_the_data_are(name):
    """What the command line prints comes from here."""
    got, checked = datasets.get(name), datasets.check(name)

    assert got.n_bytes > 0
    assert got.source in ("cache", "made on the spot")
    assert checked.is_whole, checked.message
    assert checked.folder == got.folder
    assert got.folder in (None, str(datasets.data_home() / name))


@pytest.mark.parametrize(
    ("part", "digest"),
    [
        ("train_x", "6bbc9ace898e44ae57da46a324031adb"),
        ("train_y", "a25bea736e30d166cdddb491f175f624"),
        ("test_x", "2646ac647ad5339dbf082846283269ea"),
        ("test_y", "27ae3e4e09519cfbb04c329615203637"),
    ],
)
def test_mnist_written_as_idx_is_the_official_file(part, digest):
    """The MD5 sums that the official files are known by."""
    array = getattr(datasets.load("mnist"), part)
    assert md5(idx(array[:, 0] if array.ndim == 4 else array)).hexdigest() == digest


def test_cifar10_written_as_records_is_the_official_file():
    """The MD5 sums of the binary version, rebuilt from what was decoded out of PNG files."""
    dataset = datasets.load("cifar10")
    official = [
        "5dd7e06a14cb22eb9f671a540d1b7c25",
        "5ea93a67294ea407fff1d09f752e9692",
        "942cd6a4bcdd0dd3c604fbe906cb4421",
        "ae636b3ba5c66a11e91e8cb52e771fcb",
        "53f37980c15c3d472c316c40844f3f0d",
        "803d5f7f4d78ea53de84dbe85f74fb6d",
    ]

    def records(x, y):
        return np.concatenate([y[:, None], x.reshape(len(x), -1)], axis=1).tobytes()

    batches = [slice(k * 10_000, (k + 1) * 10_000) for k in range(5)]
    found = [md5(records(dataset.train_x[b], dataset.train_y[b])).hexdigest() for b in batches]
    found.append(md5(records(dataset.test_x, dataset.test_y)).hexdigest())
    assert found == official


@pytest.mark.parametrize(
    ("name", "mean", "std"),
    [
        ("mnist", [0.1307], [0.3081]),
        ("fashion-mnist", [0.2860], [0.3530]),
        ("cifar10", [0.4914, 0.4822, 0.4465], [0.2470, 0.2435, 0.2616]),
    ],
)
def test_moments_are_the_ones_everybody_uses(name, mean, std):
    """Known to four digits from public code that normalises these sets."""
    dataset = datasets.load(name)
    np.testing.assert_allclose(dataset.mean, mean, atol=5e-5)
    np.testing.assert_allclose(dataset.std, std, atol=5e-5)


def test_data_are_memory_maps_that_nobody_can_write_to():
    """Workers share one copy, and a trainer cannot spoil it for the others."""
    dataset = datasets.load("mnist")
    assert isinstance(dataset.train_x, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        dataset.train_x[0] = 0


def test_a_misspelt_name_gets_the_right_one():
    """The message carries the cure."""
    with pytest.raises(ConfigError, match="did you mean 'fashion-mnist'"):
        datasets.load("fashion_mnist")


def test_a_recipe_of_ones_own_needs_no_name():
    """Objects in Python, names only at the edge."""
    small = datasets.load(Synthetic(n_train=40, n_test=20, side=8, classes=4))
    assert small.train_x.shape == (40, 1, 8, 8)
    assert small.n_classes == 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: {"train_y": d.train_y[:-1]}, "labels for"),
        (lambda d: {"train_y": d.train_y + np.uint8(1)}, "out of range"),
        (lambda d: {"test_y": d.test_y * 0}, "no sample of class 1"),
        (lambda d: {"train_x": d.train_x.astype(np.float32)}, "expected arrays of uint8"),
        (lambda d: {"train_x": d.train_x[:, 0]}, "expected N, C, H, W"),
        (lambda d: {"test_x": d.test_x[:, :, 1:]}, "differ in shape"),
        (lambda d: {"mean": (0.5,)}, "not those of the training pixels"),
        (lambda d: {"mean": (0.5, 0.5)}, "need 1 values"),
        (lambda d: {"test_x": d.train_x[:500]}, "test pictures are training pictures"),
    ],
)
def test_the_contract_names_what_is_broken(change, message):
    """Each promise is looked at."""
    good = Synthetic(n_train=600, n_test=500).load()
    check_dataset(good)
    with pytest.raises(ContractError, match=message):
        check_dataset(replace(good, **change(good)))
