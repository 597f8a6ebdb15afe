"""Following a run: the page grows with it, and the server talks to nobody else."""

import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from urllib.parse import urlsplit

import pytest

from fedroam.errors import ConfigError
from fedroam.pages.live import LiveServer
from looking import table_of, unfinished

BOUND = """() => {
    const canvas = [...document.querySelectorAll("#shared canvas")].at(-1);
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let green = 0;
    for (let i = 0; i < data.length; i += 4) {
        if (data[i + 1] > data[i] + 40 && data[i + 1] > data[i + 2] + 20) green++;
    }
    return green;
}"""
"""How many dots of the bound, which alone is green, the picture of the round lengths has."""


@pytest.fixture
def follow():
    """Serve a run folder in a thread of this process."""
    servers = []

    def start(run):
        server = LiveServer(run)
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        return server

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def ask(server, path=None, host=None, method="GET"):
    """Status, headers and text of an answer."""
    url = urlsplit(server.url)
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=10)
    headers = {"Host": host} if host else {}
    connection.request(method, url.path if path is None else path, headers=headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, dict(answer.headers), text


def test_the_page_grows_with_the_run(look, follow, learns, tmp_path):
    """Rounds appear as they are written, are those of the table, and the end is told."""
    rows, half = table_of(learns), tmp_path / "half"
    unfinished(learns, half, range(3))
    server = follow(half)
    with look(server.url, moment="") as seen:
        badge = seen.page.locator("#live")
        assert badge.inner_text() == "live"
        assert float(seen.fact("round")) == 2
        unfinished(learns, half, range(3, 9))
        fact = seen.page.locator("[data-fact=round]")
        seen.until(lambda: "of 9" in fact.inner_text())
        seen.at(0.999)
        assert float(seen.fact("length")) == rows[8]["length_s"]
        shutil.copytree(learns, half, dirs_exist_ok=True)  # the run ends: tables are joined
        shutil.rmtree(half / "rounds")
        shutil.rmtree(half / "users")
        seen.until(lambda: badge.inner_text() == "ended")
        seen.at(1.0)
        assert seen.fact("round") == "11"
        assert float(seen.fact("accuracy")) == rows[-1]["accuracy"]


def test_a_run_that_has_not_begun_is_waited_for(look, follow, learns, tmp_path):
    """Only settings at first; the first rounds fill the page."""
    (tmp_path / "new").mkdir()
    shutil.copy(learns / "config.toml", tmp_path / "new")
    server = follow(tmp_path / "new")
    with look(server.url, moment="") as seen:
        assert seen.page.locator(".map .note").inner_text() == "No rounds yet."
        unfinished(learns, tmp_path / "new", range(6))
        seen.until(lambda: seen.page.locator(".map .note").count() == 0)
        seen.at(0.999)
        assert float(seen.fact("length")) == table_of(learns)[5]["length_s"]
        assert float(seen.fact("bound")) == table_of(learns)[5]["bound_s"]
        assert seen.page.evaluate(BOUND) > 20


def test_it_listens_on_this_machine_only_under_a_secret_name(follow, learns):
    """Loopback, a free port, a path that cannot be guessed and differs every time."""
    one, other = follow(learns), follow(learns)

    assert one.socket.getsockname()[0] == "127.0.0.1"
    assert one.server_port != other.server_port
    assert one.secret != other.secret
    assert len(one.secret) >= 20
    assert ask(one)[0] == 200
    for path in ("/", "/rounds", f"/{other.secret}/", f"/{one.secret}", f"/{one.secret}/../x"):
        assert ask(one, path)[0] == 404


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost:1", "[::1]:80", ""])
def test_other_names_for_this_machine_are_refused(follow, learns, host):
    """A page from outside whose name was made to lead here gets nothing."""
    server = follow(learns)
    if not host:  # no Host header at all
        with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as raw:
            raw.sendall(f"GET /{server.secret}/ HTTP/1.0\r\n\r\n".encode())
            assert raw.recv(100).split()[1] == b"421"
        return
    status, headers, text = ask(server, host=host)
    assert status == 421
    assert "fedroam" not in text
    assert ask(server, host=f"localhost:{server.server_port}")[0] == 200


def test_nothing_can_be_changed_and_nothing_is_shared_with_other_pages(follow, learns):
    """Reading only; no permission for other origins, nothing kept, nothing guessed."""
    server = follow(learns)
    before = {p: p.stat().st_mtime_ns for p in learns.rglob("*")}
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert ask(server, method=method)[0] == 501
    _, headers, text = ask(server)

    assert "Access-Control-Allow-Origin" not in headers
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "connect-src 'self'" in text
    assert {p: p.stat().st_mtime_ns for p in learns.rglob("*")} == before


@pytest.mark.parametrize("first", ["0", "5", "12", "99", "-1", "x", "1e9", "9" * 30])
def test_rounds_are_given_from_anywhere(follow, learns, first):
    """Whatever is asked for, the answer is a part of the run."""
    server = follow(learns)
    status, _, text = ask(server, f"/{server.secret}/rounds?first={first}")
    n = int(first) if first in ("0", "5", "12") else 12 if first == "99" else 0

    assert status == 200
    assert f'"first": {n}, "rounds": {12 - n}' in text


def test_a_run_that_is_damaged_meanwhile_is_told_and_asked_for_again(follow, learns, tmp_path):
    """503 with one line; when it is whole again, all is well."""
    shutil.copytree(learns, tmp_path / "run")
    server = follow(tmp_path / "run")
    (tmp_path / "run/rounds.parquet").write_bytes(b"PAR1")
    status, _, text = ask(server)
    assert status == 503
    assert "readable table of rounds" in text
    shutil.copy(learns / "rounds.parquet", tmp_path / "run")
    assert ask(server)[0] == 200


def test_a_folder_without_a_run_is_refused_before_anything_is_served(tmp_path):
    """One line, no server."""
    with pytest.raises(ConfigError, match="there is no run folder"):
        LiveServer(tmp_path / "nowhere")


def test_the_command_serves_until_ctrl_c_and_can_be_started_again(learns):
    """The address on stdout, all else on stderr, exit 0; twice."""
    for _ in range(2):
        process = subprocess.Popen(
            [sys.executable, "-m", "fedroam", "view", "--live", str(learns), "--no-open"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        url = urlsplit(process.stdout.readline().strip())
        connection = http.client.HTTPConnection(url.hostname, url.port, timeout=10)
        connection.request("GET", url.path)
        assert connection.getresponse().status == 200
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=30)
        assert (process.returncode, out) == (0, "")
        assert "stopped looking" in err
        assert "Traceback" not in err
