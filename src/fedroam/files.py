"""Files that are there whole or not at all."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from fedroam.errors import ConfigError


@contextlib.contextmanager
def aside(path: Path) -> Iterator[Path]:
    """A path to write to; it takes the place of ``path`` when all went well."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        with contextlib.suppress(OSError):  # the folder itself may be what is wrong
            temporary.unlink()


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    with aside(path) as temporary:
        temporary.write_bytes(data)


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    write_bytes(path, text.encode())


def make_folder(path: Path) -> None:
    """Make a folder to write to; ConfigError where there can be none, which is no fault of ours."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, FileNotFoundError, NotADirectoryError, PermissionError) as error:
        raise ConfigError(f"the folder {path} cannot be made: {error.strerror}") from error
