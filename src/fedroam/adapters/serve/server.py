"""From an address to a service that runs until it is told to stop."""

import asyncio
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fedroam.errors import ConfigError, require
from fedroam.runs.settings import choice
from fedroam.scheduling.policies import POLICIES

MEGABYTE = 1 << 20
LARGEST_MB = 1024.0
GRACE_S = 3


@dataclass(frozen=True)
class Serving:
    """Where and within which limits."""

    host: str = "127.0.0.1"
    port: int = 8642
    workers: int = 2
    limit_s: float = 10.0  # to wait for a solver, and again to solve
    largest_mb: float = 16.0
    most_waiting: int = 256

    def __post_init__(self) -> None:
        require(0 <= self.port <= 65535, "port", self.port, "0..65535 (0: any free one)")
        require(self.workers >= 1, "workers", self.workers, ">= 1")
        require(0 < self.limit_s <= 3600, "time_limit", self.limit_s, "seconds > 0, at most 3600")
        require(
            0 < self.largest_mb <= LARGEST_MB,
            "max_mb",
            self.largest_mb,
            f"> 0, at most {LARGEST_MB:g}",
        )
        require(self.most_waiting >= 0, "max_waiting", self.most_waiting, ">= 0")


def serve(serving: Serving, policies: Sequence[str], say: Callable[[str], None]) -> None:
    """Serve until Ctrl-C or SIGTERM; ConfigError where the address cannot be had."""
    try:
        import uvicorn

        from fedroam.adapters.serve.app import make_app
    except ModuleNotFoundError as error:
        raise ConfigError(f"{error.name} is not installed: pip install 'fedroam[serve]'") from error
    from fedroam.adapters.serve.solvers import Solvers

    for name in policies:
        choice("policy", name)  # says what is wrong with it
    names = tuple(dict.fromkeys([*POLICIES, *policies]))
    bound = bind(serving.host, serving.port)
    try:
        solvers = Solvers(serving.workers, serving.limit_s, serving.most_waiting, names)
        app = make_app(solvers, int(serving.largest_mb * MEGABYTE), names)
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, timeout_graceful_shutdown=GRACE_S
        )

        async def live() -> None:
            say(f"starting {serving.workers} solvers (the very first time, kernels are compiled)")
            await solvers.start()
            say(f"listening on {address_of(bound)}")
            await uvicorn.Server(config).serve(sockets=[bound])  # which stops the solvers

        with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
            runner.run(live())
    finally:
        bound.close()


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens at the address, or ConfigError with the reason."""
    try:
        family, kind, proto, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"host is {host!r}, expected a name or address ({reason})") from error
    bound = socket.socket(family, kind, proto)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind(address)
        bound.listen(2048)
    except OSError as error:
        bound.close()
        reason = (error.strerror or str(error)).lower()
        raise ConfigError(
            f"cannot listen at {host}, port {port}: {reason} (--port 0 takes any free one)"
        ) from error
    return bound


def address_of(bound: socket.socket) -> str:
    """The URL that the socket stands for."""
    host, port = bound.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"
