"""Arrays that several processes see."""

import numpy as np
import pytest

from fedroam.learning import datasets
from fedroam.learning.datasets import Synthetic
from fedroam.learning.sharing import SharedDataset, reserve, share


def test_what_is_written_in_one_place_is_read_in_another():
    """Both have the same memory, of any type and shape."""
    for dtype, shape in ((np.float32, (3, 4)), (np.int64, (5,)), (np.uint8, (0,))):
        shared = reserve(shape, dtype)
        assert shared.open().shape == shape
        assert not shared.open().any()
        shared.open()[...] = 1
        np.testing.assert_array_equal(shared.open(), np.ones(shape, dtype))


def test_a_cached_data_set_is_opened_by_its_path():
    """No byte of it is copied."""
    dataset = datasets.load("mnist")
    shared = SharedDataset.of(dataset)
    opened = shared.open()

    assert all(isinstance(array.source, str) for array in shared.arrays)
    assert isinstance(opened.train_x, np.memmap)
    np.testing.assert_array_equal(opened.test_x, dataset.test_x)
    assert (opened.name, opened.mean, opened.std) == (dataset.name, dataset.mean, dataset.std)


def test_a_data_set_in_memory_is_copied_once():
    """Whatever made it."""
    dataset = Synthetic(n_train=20, n_test=10, side=8, classes=2).load()
    opened = SharedDataset.of(dataset).open()
    np.testing.assert_array_equal(opened.train_x, dataset.train_x)
    np.testing.assert_array_equal(opened.test_y, dataset.test_y)


@pytest.mark.parametrize(
    "part",
    [
        lambda a: a[1:],
        lambda a: a[::-1],
        lambda a: a.T,
        lambda a: a[:, :2],
        lambda a: a.view(np.int8),
        lambda a: a + 1,
        lambda a: a.reshape(4, 3),
    ],
    ids=["later part", "reversed", "transposed", "columns", "other type", "changed", "other shape"],
)
def test_a_part_of_a_file_is_not_mistaken_for_the_whole(tmp_path, part):
    """A view keeps the name of its file, which is a trap."""
    np.save(tmp_path / "a.npy", np.arange(12, dtype=np.uint8).reshape(3, 4))
    whole = np.load(tmp_path / "a.npy", mmap_mode="r")

    assert isinstance(share(whole).source, str)
    shared = share(part(whole))
    assert not isinstance(shared.source, str)
    np.testing.assert_array_equal(shared.open(), part(whole))


def test_a_map_of_a_file_that_has_gone_is_copied(tmp_path):
    """The cache may be mended while it is in use."""
    np.save(tmp_path / "a.npy", np.arange(5))
    whole = np.load(tmp_path / "a.npy", mmap_mode="r")
    (tmp_path / "a.npy").unlink()
    np.testing.assert_array_equal(share(whole).open(), np.arange(5))
