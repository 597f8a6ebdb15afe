"""Fetching, verifying, storing and mending a published data set."""

import gzip
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from fedroam.errors import ConfigError, SourceError, StorageError
from fedroam.learning.datasets import cache, check, get, load
from fedroam.learning.datasets.sources import Folder
from learning import tiny

TESTS = Path(__file__).parents[2]


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty cache of our own."""
    monkeypatch.setenv("FEDROAM_DATA", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def files(tmp_path):
    """The published files of the tiny set."""
    return tiny.write_files(tmp_path / "files")


@dataclass(frozen=True)
class Counting:
    """A slow source that writes down each time it is asked."""

    log: Path
    folder: Path

    def __str__(self) -> str:
        return "counting source"

    def fetch(self, into: Path) -> tuple[Path, ...]:
        """Half a second of work."""
        del into
        with self.log.open("a") as file:
            file.write("asked\n")
        time.sleep(0.5)
        return (self.folder,)


def equal_to_the_files(dataset) -> bool:
    """The four arrays are those in the files."""
    ours = (dataset.train_x[:, 0], dataset.train_y, dataset.test_x[:, 0], dataset.test_y)
    return all(np.array_equal(a, b) for a, b in zip(ours, tiny.arrays(), strict=True))


def good_digests() -> tuple[str, ...]:
    """The right checksums of the tiny set."""
    return tuple(cache.digest(array) for array in tiny.arrays())


def test_a_fetched_set_is_the_published_one_and_is_fetched_once(home, files):
    """The second time it comes from the cache, with its source gone."""
    recipe = tiny.recipe(files, sha256=good_digests())
    assert get(recipe).source == f"folder {files}"
    assert equal_to_the_files(load(recipe))

    for file in files.iterdir():
        file.unlink()
    assert get(recipe).source == "cache"
    assert equal_to_the_files(load(recipe))
    assert sorted(p.name for p in home.iterdir()) == [".tiny.lock", "tiny"]


@pytest.mark.parametrize(
    ("rename", "pack"),
    [
        (lambda name: f"{name}.gz", gzip.compress),
        (lambda name: f"below/{name}", lambda content: content),
    ],
    ids=["gzipped", "in a folder below"],
)
def test_files_may_be_zipped_and_may_lie_deeper(home, tmp_path, rename, pack):
    """As downloads and packages leave them."""
    (tmp_path / "files" / "below").mkdir(parents=True)
    tiny.write_files(tmp_path / "files", rename, pack)
    assert equal_to_the_files(load(tiny.recipe(), tmp_path / "files"))


def test_a_named_folder_and_the_inbox_come_before_the_other_sources(home, files, tmp_path):
    """The order of the design: cache, a folder, official addresses, registries."""
    never = Counting(tmp_path / "log", files)
    assert get(tiny.recipe(never), files).source == f"folder {files}"

    (home / "tiny").rename(tmp_path / "gone")
    tiny.write_files(home / "inbox" / "tiny")
    assert get(tiny.recipe(never)).source == f"folder {home / 'inbox' / 'tiny'}"
    assert not (tmp_path / "log").exists()


@pytest.mark.parametrize(
    "harm",
    [
        lambda f: f.write_bytes(f.read_bytes()[:-1]),
        lambda f: f.write_bytes(f.read_bytes() + b"x"),
        lambda f: f.write_bytes(f.read_bytes()[:-1] + bytes([f.read_bytes()[-1] ^ 1])),
        lambda f: f.write_bytes(b""),
        lambda f: f.unlink(),
        lambda f: np.save(f, np.load(f)[:-1]),
        lambda f: np.save(f, np.load(f).astype(np.int64)),
        lambda f: np.save(f, np.array([{}]), allow_pickle=True),
        lambda f: f.write_text("not an array"),
    ],
    ids=["cut", "longer", "flipped", "empty", "gone", "shape", "dtype", "pickle", "text"],
)
@pytest.mark.parametrize("part", ["train_x", "test_y"])
def test_a_damaged_cache_is_noticed_and_mended(home, files, harm, part):
    """Whatever happened to a file, the data that are loaded are right."""
    recipe = tiny.recipe(files, sha256=good_digests())
    load(recipe)
    harm(home / "tiny" / f"{part}.npy")

    assert not check(recipe).is_whole
    assert get(recipe).source == f"folder {files}"
    assert check(recipe).is_whole
    assert equal_to_the_files(load(recipe))


def test_a_flipped_byte_with_the_old_time_is_noticed(home, files):
    """The time of the last change of a file can be set back, that of its entry cannot."""
    recipe = tiny.recipe(files, sha256=good_digests())
    load(recipe)
    path = home / "tiny" / "train_y.npy"
    before = path.stat()
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert get(recipe).source == f"folder {files}"


@pytest.mark.parametrize(
    "harm",
    [
        lambda text: text.replace("1", "2"),
        lambda text: text[:-5],
        lambda text: "[]",
        lambda text: json.dumps({"note": 5, "sha256": ""}),
    ],
)
def test_a_damaged_note_is_noticed_and_mended(home, files, harm):
    """A digit that changed in the mean would otherwise change every result."""
    recipe = tiny.recipe(files)
    right = load(recipe)
    note = home / "tiny" / "cached.json"
    note.write_text(harm(note.read_text()))

    assert get(recipe).source == f"folder {files}"
    assert load(recipe).mean == right.mean


def test_a_copied_cache_is_read_once_and_believed(home, files, tmp_path, monkeypatch):
    """Copies have new times: their checksums are compared, nothing is fetched."""
    recipe = tiny.recipe(files)
    load(recipe)
    (tmp_path / "copy" / "tiny").mkdir(parents=True)
    for path in (home / "tiny").iterdir():
        (tmp_path / "copy" / "tiny" / path.name).write_bytes(path.read_bytes())
    monkeypatch.setenv("FEDROAM_DATA", str(tmp_path / "copy"))

    assert get(tiny.recipe()).source == "cache"


def test_wrong_data_are_refused_and_the_next_source_is_asked(home, files, tmp_path):
    """A checksum decides, not the name of a file."""
    bad = tiny.write_files(tmp_path / "bad")
    name = "t10k-labels-idx1-ubyte"
    content = (bad / name).read_bytes()
    (bad / name).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))

    recipe = tiny.recipe(bad, tmp_path / "nowhere", files, sha256=good_digests())
    assert get(recipe).source == f"folder {files}"


def test_offline_the_message_says_what_to_put_where(home, tmp_path):
    """All sources and their reasons, the files, the folder: one message, and it works."""
    recipe = tiny.recipe(tmp_path / "nowhere")
    with pytest.raises(StorageError) as caught:
        load(recipe)
    message = str(caught.value)

    assert f"folder {tmp_path / 'nowhere'}: no such folder" in message
    assert "train-images-idx3-ubyte, train-labels-idx1-ubyte" in message
    assert str(home / "inbox" / "tiny") in message
    tiny.write_files(home / "inbox" / "tiny")
    assert equal_to_the_files(load(recipe))


def test_a_broken_file_in_a_source_is_a_reason_not_a_crash(home, files):
    """Others' files may break a decoder in any way."""
    (files / "train-images-idx3-ubyte").write_bytes(b"\0\0\x08\x03\0\0")
    with pytest.raises(StorageError, match="cannot get 'tiny'"):
        load(tiny.recipe(files))


def test_data_of_another_shape_than_promised_are_refused(home, files):
    """The list of data sets must not lie."""
    recipe = tiny.recipe(files)
    get(recipe)
    other = type(recipe)(**{**vars(recipe), "n_train": 31})
    assert "other data" in check(other).message


def test_a_place_that_cannot_be_written_to_is_named(tmp_path, monkeypatch, files):
    """With the variable that chooses another one."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FEDROAM_DATA", str(tmp_path / "file"))
    with pytest.raises(StorageError, match="set FEDROAM_DATA"):
        load(tiny.recipe(files))


def test_a_name_must_fit_a_file(files):
    """Nothing is ever written outside the cache."""
    with pytest.raises(ConfigError, match=r"name is '\.\./x'"):
        type(tiny.recipe())(**{**vars(tiny.recipe()), "name": "../x"})


def test_the_place_of_the_cache_follows_the_platform(tmp_path, monkeypatch):
    """$FEDROAM_DATA, then the user's cache folder."""
    monkeypatch.delenv("FEDROAM_DATA", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.home() == tmp_path / "fedroam"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache.home() == Path.home() / "Library" / "Caches" / "fedroam"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert cache.home() == tmp_path / "local" / "fedroam"


PROCESS = """
import sys
from pathlib import Path
from learning import tiny
from learning.datasets.test_published import Counting
from fedroam.learning.datasets import get
print(get(tiny.recipe(Counting(Path(sys.argv[1]), Path(sys.argv[2])))).source)
"""


def start(code: str, *arguments) -> subprocess.Popen:
    """Another process with the same cache."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_three_processes_at_once_fetch_once(home, files, tmp_path):
    """The others wait and find it in the cache."""
    processes = [start(PROCESS, tmp_path / "log", files) for _ in range(3)]
    said = sorted(process.communicate(timeout=60)[0].strip() for process in processes)

    assert said == ["cache", "cache", "counting source"]
    assert (tmp_path / "log").read_text() == "asked\n"


def test_a_process_killed_while_it_fetches_leaves_nothing_in_the_way(home, files, tmp_path):
    """The lock is dropped by the system, and what was half written is removed."""
    endless = PROCESS.replace(
        "print(", "import time; time.sleep = lambda s, z=time.sleep: z(60)\nprint("
    )
    process = start(endless, tmp_path / "log", files)
    deadline = time.monotonic() + 60
    while not (tmp_path / "log").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert [p for p in home.iterdir() if p.is_dir()], "it had begun to write"

    assert get(tiny.recipe(files)).source == f"folder {files}"
    assert sorted(p.name for p in home.iterdir()) == [".tiny.lock", "tiny"]


def test_an_archive_in_the_users_folder_is_unpacked_elsewhere(tmp_path):
    """Their folder stays as it was."""
    place, into = tmp_path / "place", tmp_path / "into"
    place.mkdir()
    into.mkdir()
    with tarfile.open(place / "a.tar.gz", "w:gz") as tar:
        entry = tarfile.TarInfo("inside.txt")
        entry.size = 2
        tar.addfile(entry, BytesIO(b"hi"))

    assert Folder(place, ("a.tar.gz",)).fetch(into) == (place, into)
    assert (into / "inside.txt").read_text() == "hi"
    assert [p.name for p in place.iterdir()] == ["a.tar.gz"]


def test_an_archive_that_leads_out_of_its_folder_is_refused(tmp_path):
    """A package from a registry is not trusted."""
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as tar:
        entry = tarfile.TarInfo("../outside.txt")
        tar.addfile(entry, BytesIO())
    (tmp_path / "into").mkdir()
    with pytest.raises(SourceError, match="outside"):
        Folder(tmp_path, ("a.tar.gz",)).fetch(tmp_path / "into")
    assert not (tmp_path / "outside.txt").exists()
