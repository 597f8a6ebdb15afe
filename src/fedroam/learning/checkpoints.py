"""Arrays on disk, without pickle: a file is there whole or not at all."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedroam.errors import StorageError
from fedroam.files import write_bytes

Arrays = dict[str, NDArray[Any]]

LAST, BEST = "last.safetensors", "best.safetensors"


def save_arrays(
    path: Path, arrays: Mapping[str, NDArray[Any]], notes: Mapping[str, str] | None = None
) -> None:
    """Write ``arrays`` and short ``notes`` to a safetensors file, aside first, then renamed."""
    from safetensors.numpy import save

    # Contiguous arrays have at least one axis: single numbers get their shape back.
    content = {n: np.ascontiguousarray(a).reshape(np.shape(a)) for n, a in arrays.items()}
    try:
        write_bytes(path, save(content, dict(notes) if notes else None))
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error}") from error


def load_arrays(path: Path) -> tuple[Arrays, dict[str, str]]:
    """The arrays and notes in a safetensors file."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(str(path), framework="numpy") as file:
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return arrays, dict(file.metadata() or {})
    except (OSError, SafetensorError) as error:
        raise StorageError(f"cannot read {path}: {error}") from error


class Checkpoints:
    """
    The last state of a run and the one with the best accuracy, in one folder.

    The best so far is read from its file, so it is right after a resume too.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def best_accuracy(self) -> float:
        """Of the best state; minus infinity when there is none."""
        path = self.folder / BEST
        if not path.exists():
            return -np.inf
        return float(load_arrays(path)[1].get("accuracy", "-inf"))

    def save(self, arrays: Mapping[str, NDArray[Any]], accuracy: float | None = None) -> None:
        """Keep ``arrays`` as the last state, and as the best where ``accuracy`` is higher."""
        notes = {} if accuracy is None else {"accuracy": repr(accuracy)}
        if accuracy is not None and accuracy > self.best_accuracy:
            save_arrays(self.folder / BEST, arrays, notes)
        save_arrays(self.folder / LAST, arrays, notes)

    def last(self) -> Arrays | None:
        """The last state; None before the first."""
        path = self.folder / LAST
        return load_arrays(path)[0] if path.exists() else None
