"""
Where the files of a data set come from.

A source is a frozen record with one method: ``fetch(into)`` puts files into an empty folder and
returns the folders to look in, or raises ``SourceError``. What it brings is verified by others.
"""

import os
import shutil
import subprocess
import tarfile
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Protocol

from fedroam.errors import SourceError

CONNECT_S = 8.0
COMMAND_S = 900.0
CHUNK = 1 << 20


class Source(Protocol):
    """One place to get files from; ``str`` of it is shown to people."""

    def fetch(self, into: Path) -> tuple[Path, ...]:
        """Bring the files; returns the folders that they are in or below."""
        ...


@dataclass(frozen=True)
class Folder:
    """Files that are on this machine already."""

    path: str | Path
    archives: tuple[str, ...] = ()  # unpacked where they are found

    def __str__(self) -> str:
        return f"folder {self.path}"

    def fetch(self, into: Path) -> tuple[Path, ...]:
        """Nothing is copied and nothing written to the folder."""
        place = Path(self.path).expanduser()
        if not place.is_dir():
            raise SourceError("no such folder")
        for name in self.archives:
            for archive in place.rglob(name):
                _unpack(archive, into)
        return (place, into)


@dataclass(frozen=True)
class Download:
    """Files below one web address; archives are unpacked."""

    address: str
    files: tuple[str, ...]

    def __str__(self) -> str:
        return self.address

    def fetch(self, into: Path) -> tuple[Path, ...]:
        """Fetch each file; a server that is silent for some seconds is given up."""
        for name in self.files:
            try:
                _download(self.address + name, into / name)
            except (OSError, HTTPException) as error:
                reason = getattr(error, "reason", None) or error
                raise SourceError(f"{name}: {reason}") from error
            if name.endswith((".tar.gz", ".tgz")):
                _unpack(into / name, into)
        return (into,)


@dataclass(frozen=True)
class NpmPackage:
    """A package of npm's registry, by the client and the registry that the user has set up."""

    package: str
    version: str

    def __str__(self) -> str:
        return f"npm package {self.package} {self.version}"

    def fetch(self, into: Path) -> tuple[Path, ...]:
        """``npm pack`` downloads the package and runs nothing of it."""
        options = ["--silent", "--ignore-scripts", "--fetch-retries=1", "--no-update-notifier"]
        cache = f"--cache={into / 'npm-cache'}"
        _run(["npm", "pack", f"{self.package}@{self.version}", *options, cache], into)
        for archive in into.glob("*.tgz"):
            _unpack(archive, into)
        return (into,)


@dataclass(frozen=True)
class DebianPackage:
    """A package of the Debian archive, by the user's apt; needs no root and installs nothing."""

    package: str

    def __str__(self) -> str:
        return f"Debian package {self.package}"

    def fetch(self, into: Path) -> tuple[Path, ...]:
        """Download and unpack; with package lists of our own where the machine has none."""
        apt = ["apt-get", "-q", "-o", "APT::Sandbox::User="]
        try:
            _run([*apt, "download", self.package], into)
        except SourceError:
            lists, archives = into / "lists" / "partial", into / "archives" / "partial"
            lists.mkdir(parents=True)
            archives.mkdir(parents=True)
            apt += ["-o", f"Dir::State::Lists={lists.parent}", "-o", f"Dir::Cache={into}"]
            _run([*apt, "update"], into)
            _run([*apt, "download", self.package], into)
        for archive in into.glob("*.deb"):
            _run(["dpkg-deb", "-x", archive.name, "."], into)
        return (into,)


def _download(url: str, path: Path) -> None:
    request = urllib.request.Request(url, headers={"User-Agent": "fedroam"})
    with urllib.request.urlopen(request, timeout=CONNECT_S) as answer, path.open("wb") as file:
        shutil.copyfileobj(answer, file, CHUNK)
        expected = answer.headers.get("Content-Length")
    if expected is not None and path.stat().st_size != int(expected):
        raise urllib.error.URLError("the connection ended early")


def _run(command: Sequence[str], folder: Path) -> None:
    program = shutil.which(command[0])
    if program is None:
        raise SourceError(f"{command[0]} is not installed")
    try:
        done = subprocess.run(
            [program, *command[1:]],
            cwd=folder,
            env={**os.environ, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=COMMAND_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SourceError(f"{command[0]}: {error}") from error
    if done.returncode != 0:
        said = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        why = said[-1].strip() if said else f"exit code {done.returncode}"
        raise SourceError(f"{command[0]}: {why}")


def _unpack(archive: Path, into: Path) -> None:
    try:
        with tarfile.open(archive) as tar:
            tar.extractall(into, filter="data")  # refuses paths that lead out of the folder
    except (tarfile.TarError, EOFError, OSError) as error:
        raise SourceError(f"{archive.name}: {error}") from error
