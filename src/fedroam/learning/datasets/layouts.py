"""
The containers in which data sets are published, and how each is decoded.

A layout is a frozen record with ``files``, the names to look for, and ``decode``, which is given
their paths. No layout unpickles anything.
"""

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from fedroam.arrays import Bytes
from fedroam.errors import StorageError

Arrays = tuple[Bytes, Bytes, Bytes, Bytes]
"""``train_x [N, C, H, W], train_y [N], test_x [M, C, H, W], test_y [M]``."""


class Layout(Protocol):
    """One way in which a data set's files may look."""

    @property
    def files(self) -> tuple[str, ...]:
        """The names of the files; each may also be there with ``.gz`` at its end."""
        ...

    def decode(self, paths: Sequence[Path]) -> Arrays:
        """The arrays in ``paths``, given in the order of ``files``."""
        ...


def find(layout: Layout, folders: Sequence[Path]) -> list[Path] | None:
    """Where the files of ``layout`` lie in or below ``folders``; None if one is missing."""
    paths = []
    for name in layout.files:
        either = (sorted(f.rglob(pattern)) for pattern in (name, f"{name}.gz") for f in folders)
        found = next((candidates[0] for candidates in either if candidates), None)
        if found is None:
            return None
        paths.append(found)
    return paths


@dataclass(frozen=True)
class Idx:
    """The IDX files of MNIST and its relatives, gzipped or not."""

    train_images: str
    train_labels: str
    test_images: str
    test_labels: str

    @property
    def files(self) -> tuple[str, ...]:
        """Four files."""
        return (self.train_images, self.train_labels, self.test_images, self.test_labels)

    def decode(self, paths: Sequence[Path]) -> Arrays:
        """Grey pictures get a channel axis of length one."""
        train_x, train_y, test_x, test_y = (read_idx(path) for path in paths)
        return train_x[:, None], train_y, test_x[:, None], test_y


@dataclass(frozen=True)
class CifarBinary:
    """CIFAR-10's binary version: records of one label byte and 3 x 1024 pixels."""

    @property
    def files(self) -> tuple[str, ...]:
        """Five files to train on and one to test on."""
        return (*(f"data_batch_{k}.bin" for k in range(1, 6)), "test_batch.bin")

    def decode(self, paths: Sequence[Path]) -> Arrays:
        """Split each record in label and picture."""
        records = [np.frombuffer(_content(p), np.uint8).reshape(-1, 3073) for p in paths]
        train, test = np.concatenate(records[:-1]), records[-1]
        return _pictures(train[:, 1:]), train[:, 0], _pictures(test[:, 1:]), test[:, 0]


@dataclass(frozen=True)
class CifarPictures:
    """CIFAR-10 as six PNG files: 10,000 rows, each one picture of 1,024 pixels; labels in JSON."""

    @property
    def files(self) -> tuple[str, ...]:
        """Six pictures and two lists of labels, spelt as in the package."""
        pictures = (*(f"data_batch_{k}.png" for k in range(1, 6)), "test_batch.png")
        return (*pictures, "train_lables.json", "test_lables.json")

    def decode(self, paths: Sequence[Path]) -> Arrays:
        """Channels come last in a PNG file and first here."""
        train = np.concatenate([read_png(path) for path in paths[:5]])
        labels = [np.array(json.loads(path.read_text()), dtype=np.uint8) for path in paths[6:]]
        return _channels_first(train), labels[0], _channels_first(read_png(paths[5])), labels[1]


def read_idx(path: Path) -> Bytes:
    """The array of unsigned bytes in an IDX file."""
    content = _content(path)
    if len(content) < 4 or content[:3] != b"\0\0\x08":
        raise StorageError(f"{path} is not an IDX file of unsigned bytes")
    axes = content[3]
    shape = np.frombuffer(content, ">i4", axes, offset=4)
    pixels = np.frombuffer(content, np.uint8, offset=4 + 4 * axes)
    if pixels.size != int(shape.prod(dtype=np.int64)):
        raise StorageError(f"{path} is cut short: {pixels.size} bytes of {shape.tolist()}")
    return pixels.reshape(shape)


def read_png(path: Path) -> Bytes:
    """The pixels of a colour picture, ``[H, W, 3]``."""
    from PIL import Image  # a dependency of matplotlib; slow to import, used once per data set

    with Image.open(path) as picture:
        return np.asarray(picture.convert("RGB"))


def _content(path: Path) -> bytes:
    if path.suffix == ".gz":
        with gzip.open(path) as file:
            return file.read()
    return path.read_bytes()


def _pictures(pixels: Bytes) -> Bytes:
    return pixels.reshape(-1, 3, 32, 32)


def _channels_first(rows: Bytes) -> Bytes:
    return rows.reshape(-1, 32, 32, 3).transpose(0, 3, 1, 2)
