"""Arrays that several processes see, without a copy for each and without a name to clean up."""

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedroam.learning.records import Dataset
from fedroam.spawn import PROCESSES

_FIELDS = ("train_x", "train_y", "test_x", "test_y")


@dataclass(frozen=True, eq=False)
class Shared:
    """
    A handle that can be given to a process when it is started.

    The memory is a file without a name, so it goes when the last process ends, however it ends.
    An array that is a whole ``.npy`` file is opened by its path instead.
    """

    source: Any  # a path, or memory from multiprocessing
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    def open(self) -> NDArray[Any]:
        """The array; changes are seen by everybody, unless it is a file, which is read-only."""
        if isinstance(self.source, str):
            return np.load(self.source, mmap_mode="r", allow_pickle=False)  # type: ignore[no-any-return]
        size = int(np.prod(self.shape, dtype=np.int64))
        flat = np.frombuffer(self.source, self.dtype, count=size)
        return flat.reshape(self.shape)


def reserve(shape: tuple[int, ...], dtype: Any) -> Shared:
    """Shared memory for an array of zeros."""
    kind = np.dtype(dtype)
    n_bytes = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    return Shared(PROCESSES.RawArray(ctypes.c_byte, max(n_bytes, 1)), kind, shape)


def share(array: NDArray[Any]) -> Shared:
    """``array`` where others can see it; copied unless it is a whole file already."""
    path = _file_of(array)
    if path is not None:
        return Shared(path, array.dtype, array.shape)
    shared = reserve(array.shape, array.dtype)
    shared.open()[...] = array
    return shared


@dataclass(frozen=True, eq=False)
class SharedDataset:
    """A data set as handles."""

    name: str
    n_classes: int
    mean: tuple[float, ...]
    std: tuple[float, ...]
    arrays: tuple[Shared, ...]

    @classmethod
    def of(cls, dataset: Dataset) -> "SharedDataset":
        """Handles of a data set's arrays."""
        arrays = tuple(share(getattr(dataset, name)) for name in _FIELDS)
        return cls(dataset.name, dataset.n_classes, dataset.mean, dataset.std, arrays)

    def open(self) -> Dataset:
        """The data set, in any process."""
        opened = dict(zip(_FIELDS, (shared.open() for shared in self.arrays), strict=True))
        return Dataset(
            name=self.name, n_classes=self.n_classes, mean=self.mean, std=self.std, **opened
        )


def _file_of(array: NDArray[Any]) -> str | None:
    """The file that ``array`` is all of: as many bytes, without a gap, can only be the whole."""
    name = getattr(array, "filename", None)
    if not isinstance(array, np.memmap) or name is None or not array.flags.c_contiguous:
        return None
    try:
        whole = np.load(name, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError):
        return None
    same = whole.shape == array.shape and whole.dtype == array.dtype
    return str(name) if same and not np.isfortran(whole) else None
