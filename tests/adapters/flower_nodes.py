"""A SuperLink and SuperNodes of this machine, in processes of their own, all ended afterwards."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

BIN = Path(sys.executable).parent
APP = Path(__file__).parents[2] / "examples" / "flower_app"


def free_ports(n: int) -> list[int]:
    """So many, all different; nobody holds them any longer."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(n)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def wait_until(holds: Callable[[], object], limit_s: float, what: str) -> None:
    """Until it holds; the message says what did not come about."""
    end_s = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < end_s, f"after {limit_s} s: {what}"
        time.sleep(0.1)


@dataclass
class Flower:
    """Flower's programs with a home of their own, by which all that they start is known."""

    home: Path
    port: int = 0
    processes: list[subprocess.Popen] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        """No telemetry, no installations, no questions to the world outside."""
        return os.environ | {
            "FLWR_HOME": str(self.home),
            "FLWR_TELEMETRY_ENABLED": "0",
            "FLWR_DISABLE_UPDATE_CHECK": "1",
            "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
            "RAY_USAGE_STATS_ENABLED": "0",
            "PATH": f"{BIN}:{os.environ['PATH']}",
        }

    def start(self, name: str, *arguments: object) -> subprocess.Popen:
        """One of Flower's programs, in a group of its own; its log is ``home/name.log``."""
        with (self.home / f"{name}.log").open("w") as log:
            process = subprocess.Popen(
                [BIN / f"flower-{name.partition('-')[0]}", *map(str, arguments)],
                env=self.environment,
                cwd=self.home,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    def log_of(self, name: str) -> str:
        """What a program has said so far."""
        return (self.home / f"{name}.log").read_text()

    def start_superlink(self, *, simulates: bool) -> None:
        """Ready to take runs when this returns."""
        (self.port,) = free_ports(1)
        options = ["--simulation"] if simulates else []
        where = ["--insecure", "--host", "127.0.0.1", "--port", self.port]
        self.start("superlink", *where, *options)
        (self.home / "config.toml").write_text(
            f'[superlink]\ndefault = "here"\n[superlink.here]\n'
            f'address = "127.0.0.1:{self.port}"\ninsecure = true\n'
        )
        wait_until(self._is_up, 60, "no SuperLink")

    def _is_up(self) -> bool:
        with contextlib.suppress(OSError):
            url = f"http://127.0.0.1:{self.port}/health"
            with urllib.request.urlopen(url, timeout=2) as answer:
                return answer.status == 200
        return False

    def start_supernodes(self, n: int) -> list[subprocess.Popen]:
        """The users 0 to n - 1."""
        return [
            self.start(
                f"supernode-{i}",
                *("--insecure", "--superlink", f"127.0.0.1:{self.port}", "--port", port),
                *("--node-config", f"partition-id={i} num-partitions={n} snr_db={10.0 + i}"),
            )
            for i, port in enumerate(free_ports(n))
        ]

    def run(self, federation: str = "", **config: object) -> str:
        """The id of a run of the example app, which goes on while this returns."""
        values = " ".join(f"{k.replace('_', '-')}={json.dumps(v)}" for k, v in config.items())
        command = [BIN / "flwr", "run", APP, "--format", "json", "--run-config", values]
        if federation:
            command += ["--federation-config", federation]
        done = subprocess.run(
            command,
            env=self.environment,
            cwd=self.home,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return str(json.loads(done.stdout[done.stdout.index("{") :])["run-id"])

    def end(self) -> None:
        """Everything that bears this home in its environment, whoever started it."""
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(30)
        for _ in range(50):
            ours = list(_with_environment(f"FLWR_HOME={self.home}"))
            if not ours:
                return
            for pid in ours:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.1)


def _with_environment(setting: str) -> Iterator[int]:
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            if state != "Z" and setting.encode() in (folder / "environ").read_bytes().split(b"\0"):
                yield int(folder.name)


@contextlib.contextmanager
def flower(home: Path) -> Iterator[Flower]:
    """Flower in this folder, until the end of the block."""
    home.mkdir(parents=True, exist_ok=True)
    found = Flower(home)
    try:
        yield found
    finally:
        found.end()
