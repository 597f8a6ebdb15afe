"""Each way to get files, against small real counterparts."""

import sys
import tarfile
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from pathlib import Path

import pytest

from fedroam.errors import SourceError
from fedroam.learning.datasets import patience as patience_module
from fedroam.learning.datasets.patience import patience
from fedroam.learning.datasets.sources import (
    DebianPackage,
    Download,
    NpmPackage,
)


class Quiet(SimpleHTTPRequestHandler):
    """A web server of files that keeps no log and breaks off where a name says so."""

    def log_message(self, format, *args):
        """Nothing."""

    def do_GET(self):
        """``short`` promises more than it sends."""
        if self.path.endswith("short"):
            self.send_response(200)
            self.send_header("Content-Length", "100")
            self.end_headers()
            self.wfile.write(b"abc")
        else:
            super().do_GET()


@contextmanager
def server(folder: Path):
    """The address of a server of the files in ``folder``."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as web:
        thread = threading.Thread(target=web.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{web.server_address[1]}/"
        finally:
            web.shutdown()
            thread.join()


def test_files_are_downloaded(tmp_path):
    """By name, below one address."""
    (tmp_path / "web").mkdir()
    (tmp_path / "into").mkdir()
    (tmp_path / "web" / "a.bin").write_bytes(b"content")
    with server(tmp_path / "web") as address:
        assert Download(address, ("a.bin",)).fetch(tmp_path / "into") == (tmp_path / "into",)
    assert (tmp_path / "into" / "a.bin").read_bytes() == b"content"


@pytest.mark.parametrize(
    ("name", "message"), [("missing", "missing: File not found"), ("short", "ended early")]
)
def test_a_download_that_fails_says_why(tmp_path, name, message):
    """So does one that stops half way."""
    with server(tmp_path) as address, pytest.raises(SourceError, match=message):
        Download(address, (name,)).fetch(tmp_path)


def test_a_server_that_is_not_there_is_given_up_at_once(tmp_path):
    """Nothing listens on the discard port of this machine."""
    with pytest.raises(SourceError, match="refused"):
        Download("http://127.0.0.1:9/", ("a",)).fetch(tmp_path)


@pytest.mark.parametrize("source", [NpmPackage("a", "1"), DebianPackage("a")], ids=str)
def test_a_client_that_is_not_installed_is_named(tmp_path, monkeypatch, source):
    """Most machines have one of the two at most."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SourceError, match=r"(npm|apt-get) is not installed"):
        source.fetch(tmp_path)


def test_what_a_client_says_last_is_the_reason(tmp_path, monkeypatch):
    """A small program stands for npm."""
    script = "echo first >&2\necho no such package >&2\nexit 1"
    install(tmp_path / "bin", "npm", script, monkeypatch)
    with pytest.raises(SourceError, match="npm: no such package"):
        NpmPackage("a", "1").fetch(tmp_path)


def install(folder: Path, name: str, script: str, monkeypatch) -> None:
    """Put a small program where ``name`` is looked for first."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\nset -e\n{script}\n")
    (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


def test_a_package_of_npm_is_unpacked(tmp_path, monkeypatch):
    """``npm pack`` leaves an archive in the working directory; a small program stands for it."""
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "a.bin").write_bytes(b"content")
    with tarfile.open(tmp_path / "made.tgz", "w:gz") as tar:
        tar.add(tmp_path / "package", "package")
    script = f'test "$1 $2" = "pack a@1.0" && cp {tmp_path / "made.tgz"} a-1.0.tgz'
    install(tmp_path / "bin", "npm", script, monkeypatch)
    into = tmp_path / "into"
    into.mkdir()

    assert NpmPackage("a", "1.0").fetch(into) == (into,)
    assert (into / "package" / "a.bin").read_bytes() == b"content"


@pytest.mark.parametrize("has_lists", [True, False])
def test_a_debian_package_is_unpacked_with_lists_of_our_own_if_need_be(
    tmp_path, monkeypatch, has_lists
):
    """Container images come without package lists, and not everybody may fetch the machine's."""
    unknown = "" if has_lists else 'test -e updated || { echo "Unable to locate" >&2; exit 100; }'
    apt = f"""case "$*" in
    *State::Lists=*update) touch updated;;
    *download*) {unknown}
      echo content > a.deb;;
    esac"""
    install(tmp_path / "bin", "apt-get", apt, monkeypatch)
    install(tmp_path / "bin", "dpkg-deb", 'mkdir usr && cp "$2" usr/a.bin', monkeypatch)
    into = tmp_path / "into"
    into.mkdir()

    assert DebianPackage("a").fetch(into) == (into,)
    assert (into / "usr" / "a.bin").read_text() == "content\n"
    assert (into / "updated").exists() is not has_lists


class Terminal(StringIO):
    """A stream that says that somebody is watching."""

    def isatty(self) -> bool:
        """Yes."""
        return True


def test_what_takes_long_is_told_on_a_terminal(tmp_path, monkeypatch):
    """What is done, and how much of it is there."""
    monkeypatch.setattr(sys, "stderr", Terminal())
    (tmp_path / "part").write_bytes(bytes(2_000_000))
    with patience("fetching", tmp_path, after_s=0.0):
        threading.Event().wait(0.7)
    assert "fetching (2 MB)" in sys.stderr.getvalue()


@pytest.mark.parametrize("stream", [Terminal, StringIO])
def test_what_is_quick_or_unwatched_is_not_told(tmp_path, monkeypatch, stream):
    """Logs stay clean."""
    monkeypatch.setattr(sys, "stderr", stream())
    with patience("fetching", tmp_path, after_s=60 if stream is Terminal else 0.0):
        pass
    assert sys.stderr.getvalue() == ""
    assert patience_module.PATIENCE_S == 2.0
