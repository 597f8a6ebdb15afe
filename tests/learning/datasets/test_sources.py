"""Each way to get files, against small real counterparts."""

import sys
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from pathlib import Path

import pytest

from fedroam.learning.datasets import patience as patience_module
from fedroam.learning.datasets.patience import patience
from fedroam.learning.datasets.sources import (
    DebianPackage,
    Download,
    NpmPackage,
    SourceError,
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
    program = tmp_path / "npm"
    program.write_text("#!/bin/sh\necho first >&2\necho no such package >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(SourceError, match="npm: no such package"):
        NpmPackage("a", "1").fetch(tmp_path)


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
