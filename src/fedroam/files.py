"""Files that are there whole or not at all."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


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
