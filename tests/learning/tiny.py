"""A published data set of a few pixels, in the official container, for tests."""

from pathlib import Path

import numpy as np

from fedroam.learning.datasets.layouts import Idx
from fedroam.learning.datasets.mnist import FILES
from fedroam.learning.datasets.published import Published
from fedroam.learning.datasets.sources import Folder

N_TRAIN, N_TEST, SIDE = 30, 9, 4


def arrays() -> list[np.ndarray]:
    """train_x, train_y, test_x, test_y as an IDX file holds them."""
    rng = np.random.default_rng(3)
    sizes = ((N_TRAIN, SIDE, SIDE), (N_TRAIN,), (N_TEST, SIDE, SIDE), (N_TEST,))
    pixels = [rng.integers(0, 256, size, np.uint8) for size in sizes]
    return [a % 3 if a.ndim == 1 else a for a in pixels]


def idx(array: np.ndarray) -> bytes:
    """The content of an IDX file of bytes."""
    shape = np.array(array.shape, ">i4").tobytes()
    return bytes([0, 0, 8, array.ndim]) + shape + array.tobytes()


def write_files(folder: Path, rename=lambda name: name, pack=lambda content: content) -> Path:
    """The four files of the tiny set, in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in zip(FILES, arrays(), strict=True):
        (folder / rename(name)).write_bytes(pack(idx(array)))
    return folder


def recipe(*sources, sha256=None) -> Published:
    """The tiny set, to be had from ``sources`` (folders or any source)."""
    return Published(
        name="tiny",
        title="A few pixels",
        n_classes=3,
        image=(1, SIDE, SIDE),
        n_train=N_TRAIN,
        n_test=N_TEST,
        layouts=(Idx(*FILES),),
        sources=tuple(Folder(s) if isinstance(s, (str, Path)) else s for s in sources),
        sha256=sha256,
    )
