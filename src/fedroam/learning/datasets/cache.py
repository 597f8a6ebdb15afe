"""
Decoded data sets on disk: four ``.npy`` files and a note, in a folder that appears whole or not.

Every process maps the same files into memory, so a data set is in memory once however many
workers read it. A look at a cached set costs a millisecond: the note remembers size and times of
each file as they were when its checksum was last seen to be right, and only a file that changed
since is read again. ``verify`` reads everything.
"""

import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from fedroam.arrays import Bytes
from fedroam.errors import DamagedError
from fedroam.learning.datasets.layouts import Arrays

PARTS = ("train_x", "train_y", "test_x", "test_y")
NOTE = "cached.json"
FORMAT = 1


@dataclass(frozen=True)
class Note:
    """What is known of a cached set; floats survive JSON to the last bit."""

    format: int
    shapes: tuple[tuple[int, ...], ...]
    sha256: tuple[str, ...]  # of the decoded arrays, in the order of PARTS
    mean: tuple[float, ...]
    std: tuple[float, ...]
    source: str


def home() -> Path:
    """``$FEDROAM_DATA``, else ``fedroam`` in the user's cache folder of this platform."""
    if named := os.environ.get("FEDROAM_DATA"):
        return Path(named).expanduser().absolute()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", "~/AppData/Local"))
    elif sys.platform == "darwin":
        base = Path("~/Library/Caches")
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    return base.expanduser() / "fedroam"


def read(place: Path) -> tuple[Arrays, Note]:
    """
    The cached arrays as read-only memory maps, after the quick check.

    Raises DamagedError for anything that is missing, cut short or changed.
    """
    arrays, note, stamps = _open(place)
    seen = [_stamp(_file(place, part)) for part in PARTS]
    if seen != stamps:
        _compare(arrays, note)
        with suppress(OSError):  # a cache that is read-only is read in full each time
            _write_note(place, note)
    return arrays, note


def verify(place: Path) -> Note:
    """Read every byte and compare the checksums; raises DamagedError where they differ."""
    arrays, note, _ = _open(place)
    _compare(arrays, note)
    return note


def write(place: Path, aside: Path, arrays: Arrays, source: str) -> None:
    """Store ``arrays`` in the folder ``aside`` first, and rename it to ``place`` when complete."""
    aside.mkdir()
    for part, array in zip(PARTS, arrays, strict=True):
        with _file(aside, part).open("wb") as file:
            np.save(file, np.ascontiguousarray(array), allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())
    mean, std = moments(arrays[0])
    digests = tuple(digest(array) for array in arrays)
    shapes = tuple(array.shape for array in arrays)
    _write_note(aside, Note(FORMAT, shapes, digests, mean, std, source))
    if place.exists():
        place.rename(aside.with_name(f"{aside.name}-old"))
    aside.rename(place)


def digest(array: Bytes) -> str:
    """SHA-256 of the bytes of a decoded array, in the order of its axes."""
    return sha256(np.ascontiguousarray(array).data).hexdigest()


def moments(pixels: Bytes) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """
    Mean and standard deviation per channel of ``pixels / 255``.

    Sums are of integers, so the result does not depend on the order of summation.
    """
    values = range(256)
    mean, std = [], []
    for channel in range(pixels.shape[1]):
        counts = np.zeros(256, np.int64)
        for start in range(0, len(pixels), 4096):
            part = pixels[start : start + 4096, channel]
            counts += np.bincount(part.reshape(-1), minlength=256)
        n = int(counts.sum())
        first = sum(v * int(c) for v, c in zip(values, counts, strict=True))
        second = sum(v * v * int(c) for v, c in zip(values, counts, strict=True))
        mean.append(first / (255 * n))
        std.append(sqrt(n * second - first * first) / (255 * n))
    return tuple(mean), tuple(std)


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """
    Hold ``path`` against other processes, waiting for them first.

    The system drops the lock when its owner ends, by kill -9 too, so none is ever left behind.
    """
    with path.open("a+b") as file:
        _lock_file(file.fileno())
        yield  # closing the file releases it


def clear(folder: Path, prefix: str) -> None:
    """Remove what a killed process left behind; call it with the lock held."""
    for left in folder.glob(f"{prefix}*"):
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)


def _lock_file(descriptor: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        while True:
            with suppress(OSError):  # gives up after ten seconds; we do not
                msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
                return
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX)


def _file(place: Path, part: str) -> Path:
    return place / f"{part}.npy"


def _open(place: Path) -> tuple[Arrays, Note, list[list[int]]]:
    note, stamps = _read_note(place)
    arrays = []
    for part, shape in zip(PARTS, note.shapes, strict=True):
        path = _file(place, part)
        try:
            array = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError, SyntaxError) as error:
            raise DamagedError(f"{path}: {error}") from error
        if array.shape != shape or array.dtype != np.uint8 or not array.flags.c_contiguous:
            raise DamagedError(f"{path} holds {array.dtype}{array.shape}, expected uint8{shape}")
        if path.stat().st_size != array.offset + array.nbytes:
            raise DamagedError(f"{path} is longer than its array")
        arrays.append(array)
    return (arrays[0], arrays[1], arrays[2], arrays[3]), note, stamps


def _compare(arrays: Arrays, note: Note) -> None:
    for part, array, expected in zip(PARTS, arrays, note.sha256, strict=True):
        if digest(array) != expected:
            raise DamagedError(f"{part}.npy has changed: its checksum is not {expected[:12]}…")


def _stamp(path: Path) -> list[int]:
    status = path.stat()
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def _write_note(place: Path, note: Note) -> None:
    content: dict[str, Any] = asdict(note)
    content["stamps"] = [_stamp(_file(place, part)) for part in PARTS]
    text = json.dumps(content, sort_keys=True)
    aside = place / f"{NOTE}.{os.getpid()}"
    aside.write_text(json.dumps({"note": text, "sha256": sha256(text.encode()).hexdigest()}))
    aside.replace(place / NOTE)


def _read_note(place: Path) -> tuple[Note, list[list[int]]]:
    path = place / NOTE
    try:
        outer = json.loads(path.read_text())
        text = outer["note"]
        if sha256(text.encode()).hexdigest() != outer["sha256"]:
            raise DamagedError(f"{path} has changed")
        content = json.loads(text)
        stamps = content["stamps"]
        note = Note(
            format=content["format"],
            shapes=tuple(tuple(shape) for shape in content["shapes"]),
            sha256=tuple(content["sha256"]),
            mean=tuple(content["mean"]),
            std=tuple(content["std"]),
            source=content["source"],
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedError(f"{path}: {error}") from error
    if note.format != FORMAT:
        raise DamagedError(f"{path} is of format {note.format}, expected {FORMAT}")
    return note, stamps
