"""A data set that others have published: how to get it, and how to know that it is the real one."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from fedroam.errors import DamagedError, SourceError, StorageError, require
from fedroam.learning.datasets import cache
from fedroam.learning.datasets.layouts import Arrays, Layout, find
from fedroam.learning.datasets.patience import patience
from fedroam.learning.datasets.sources import Download, Folder, Source
from fedroam.learning.records import Dataset

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Listed:
    """One line of the list of data sets."""

    name: str
    title: str
    n_train: int
    n_test: int
    image: tuple[int, int, int]  # channels, rows, columns
    n_classes: int
    is_ready: bool  # it needs no download
    folder: str | None
    sources: tuple[str, ...]


@dataclass(frozen=True)
class Got:
    """Where a data set is now and where it came from."""

    name: str
    source: str
    folder: str | None
    n_train: int
    n_test: int
    n_bytes: int
    wall_s: float


@dataclass(frozen=True)
class Checked:
    """Whether every byte of a data set is right, and what is wrong if not."""

    name: str
    is_whole: bool
    message: str
    folder: str | None


class Recipe(Protocol):
    """A data set that can be loaded: a published one, or one made on the spot."""

    @property
    def name(self) -> str:
        """A short name, fit for a file."""
        ...

    def load(self, folder: str | Path | None = None) -> Dataset:
        """The data; ``folder`` may hold the downloaded files."""
        ...

    def listed(self) -> Listed:
        """Its line in the list of data sets; must not fetch or compute."""
        ...


@dataclass(frozen=True)
class Published:
    """
    A published data set: its shape, its checksums, the layouts it comes in and where to ask.

    Checksums are SHA-256 over the decoded ``train_x, train_y, test_x, test_y``, so any container
    will do. Without them the first copy that is fetched is believed.
    """

    name: str
    title: str
    n_classes: int
    image: tuple[int, int, int]  # channels, rows, columns
    n_train: int
    n_test: int
    layouts: tuple[Layout, ...]
    sources: tuple[Source, ...]
    sha256: tuple[str, str, str, str] | None = None

    def __post_init__(self) -> None:
        plain = self.name.replace("-", "").replace("_", "").isalnum()
        require(plain, "name", self.name, "letters, digits, - and _")
        require(2 <= self.n_classes <= 256, "n_classes", self.n_classes, "2 to 256")

    @property
    def place(self) -> Path:
        """The folder of the cached arrays."""
        return cache.home() / self.name

    @property
    def inbox(self) -> Path:
        """A folder that is looked into before anybody is asked over the network."""
        return cache.home() / "inbox" / self.name

    def load(self, folder: str | Path | None = None) -> Dataset:
        """The data, as memory maps of the cached files."""
        self.ensure(folder)
        (train_x, train_y, test_x, test_y), note = cache.read(self.place)
        return Dataset(
            name=self.name,
            n_classes=self.n_classes,
            train_x=train_x,
            train_y=train_y,
            test_x=test_x,
            test_y=test_y,
            mean=note.mean,
            std=note.std,
        )

    def ensure(self, folder: str | Path | None = None) -> tuple[str, Path]:
        """Where the data came from (``"cache"``: they were here and whole) and where they are."""
        place = self.place
        if self._trouble() is None:
            return "cache", place
        with _storing(place):
            place.parent.mkdir(parents=True, exist_ok=True)
            with cache.lock(place.with_name(f".{self.name}.lock")):
                if (trouble := self._trouble()) is None:
                    return "cache", place  # another process was faster
                if place.exists():
                    log.warning("%s: the cached files are damaged (%s)", self.name, trouble)
                return self._fetch(folder), place

    def check(self) -> Checked:
        """Read every byte; changes nothing."""
        place = self.place
        if not place.exists():
            return Checked(self.name, False, "not fetched yet", None)
        try:
            self._recognise(cache.verify(place))
        except StorageError as error:
            return Checked(self.name, False, str(error), str(place))
        return Checked(self.name, True, "every byte is right", str(place))

    def listed(self) -> Listed:
        """Its line in the list of data sets."""
        is_ready = self._trouble() is None
        return Listed(
            name=self.name,
            title=self.title,
            n_train=self.n_train,
            n_test=self.n_test,
            image=self.image,
            n_classes=self.n_classes,
            is_ready=is_ready,
            folder=str(self.place) if is_ready else None,
            sources=tuple(str(source) for source in self.sources),
        )

    def _trouble(self) -> str | None:
        try:
            self._recognise(cache.read(self.place)[1])
        except StorageError as error:
            return str(error)
        return None

    def _recognise(self, note: cache.Note) -> None:
        shapes = (
            (self.n_train, *self.image),
            (self.n_train,),
            (self.n_test, *self.image),
            (self.n_test,),
        )
        if note.shapes != shapes or (self.sha256 and note.sha256 != self.sha256):
            raise DamagedError("these are other data than the published ones")

    def _fetch(self, folder: str | Path | None) -> str:
        refusals = []
        prefix = f".{self.name}-"
        cache.clear(self.place.parent, prefix)
        for source in self._sources(folder):
            with TemporaryDirectory(
                prefix=prefix, dir=self.place.parent, ignore_cleanup_errors=True
            ) as aside:
                try:
                    with patience(f"{self.name}: {source}", Path(aside)):
                        arrays = self._arrays(source, Path(aside))
                except Exception as error:  # files made by others break a decoder in any way
                    refusals.append(f"  {source}: {error}")
                    log.info("%s: %s: %s", self.name, source, error)
                    continue
                with patience(f"{self.name}: storing", Path(aside)):
                    cache.write(self.place, Path(aside) / "store", arrays, str(source))
                return str(source)
        raise StorageError(self._cure(refusals))

    def _sources(self, folder: str | Path | None) -> Iterator[Source]:
        archives = tuple(
            name
            for source in self.sources
            if isinstance(source, Download)
            for name in source.files
            if name.endswith((".tar.gz", ".tgz"))
        )
        if folder is not None:
            yield Folder(folder, archives)
        if self.inbox.is_dir():
            yield Folder(self.inbox, archives)
        yield from self.sources

    def _arrays(self, source: Source, aside: Path) -> Arrays:
        folders = source.fetch(aside)
        wrong = f"none of its files is there, such as {self.layouts[0].files[0]}"
        for layout in self.layouts:
            paths = find(layout, folders)
            if paths is not None:
                arrays = layout.decode(paths)
                digests = tuple(cache.digest(array) for array in arrays)
                if self.sha256 in (None, digests):
                    return arrays
                wrong = "the checksums of its data are wrong"
        raise SourceError(wrong)

    def _cure(self, refusals: list[str]) -> str:
        choices = "\n  or ".join(", ".join(layout.files) for layout in self.layouts)
        return "\n".join(
            [
                f"cannot get {self.name!r}: nobody has it",
                *refusals,
                f"Put these files (as they are, or with .gz) into the folder {self.inbox}",
                f"     {choices}",
                "and try again; any other folder that holds them can be named instead.",
            ]
        )


@contextmanager
def _storing(place: Path) -> Iterator[None]:
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        raise StorageError(
            f"cannot store data in {place.parent}: {error}; "
            "set FEDROAM_DATA to a folder that can be written to"
        ) from error
