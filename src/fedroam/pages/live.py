"""
A run that goes on, for a browser on this machine.

Safe by what it is: it listens on the loopback interface only, at a port that the system chooses; it
answers under a name nobody can guess, so that other users of the machine see nothing, and only
where the ``Host`` header is this machine's (a page from outside, whose name was made to lead here,
is refused). It reads the run folder and writes nothing, so it can be stopped and started at will.
"""

import json
import secrets
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from fedroam.errors import FedroamError
from fedroam.pages.packing import pack
from fedroam.pages.replay import read_replay
from fedroam.pages.view import page_of

LOOPBACK = "127.0.0.1"
HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class LiveServer(ThreadingHTTPServer):
    """Serves one run's page, and its rounds as they come."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, run: Path) -> None:
        read_replay(run)  # what is wrong with it is said before anything is served
        self.run = run
        self.secret = secrets.token_urlsafe(16)
        super().__init__((LOOPBACK, 0), _Handler)

    @property
    def url(self) -> str:
        """Where to look."""
        return f"http://{LOOPBACK}:{self.server_port}/{self.secret}/"

    @property
    def hosts(self) -> tuple[str, str]:
        """What a browser that was sent here by ``url`` calls this server."""
        return f"{LOOPBACK}:{self.server_port}", f"localhost:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: LiveServer
    server_version, sys_version = "fedroam", ""
    timeout = 30

    def do_GET(self) -> None:
        if self.headers.get("Host") not in self.server.hosts:
            self._answer(HTTPStatus.MISDIRECTED_REQUEST, "text/plain", "not this machine's name")
            return
        url = urlsplit(self.path)
        answers: dict[str, Callable[[str], tuple[str, str]]] = {
            f"/{self.server.secret}/": self._page,
            f"/{self.server.secret}/rounds": self._rounds,
        }
        if url.path not in answers:
            self._answer(HTTPStatus.NOT_FOUND, "text/plain", "there is nothing here")
            return
        try:
            kind, text = answers[url.path](url.query)
        except FedroamError as error:  # e.g. the run is just being joined; the page asks again
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE, "text/plain", str(error))
            return
        self._answer(HTTPStatus.OK, kind, text)

    def _page(self, query: str) -> tuple[str, str]:
        del query
        return "text/html", page_of([read_replay(self.server.run)], live="rounds")

    def _rounds(self, query: str) -> tuple[str, str]:
        wish = parse_qs(query).get("first", ["0"])[0]
        replay = read_replay(self.server.run)
        first = min(int(wish), replay.n_rounds) if wish.isdecimal() and len(wish) < 12 else 0
        return "application/json", json.dumps(pack(replay.since(first)), allow_nan=False)

    def _answer(self, status: HTTPStatus, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: what people asked for is on their screen."""
        del format, args

    def handle(self) -> None:
        """As ever, but a browser that has gone away is no event."""
        try:
            super().handle()
        except (ConnectionError, TimeoutError):
            return
