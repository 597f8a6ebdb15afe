"""The connection to a Ray cluster; the one place that imports Ray."""

import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedroam.errors import ConfigError, WorkerError, require
from fedroam.spawn import ENVIRONMENT

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would report to its makers
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else it warns

try:
    import ray as ray
except ImportError as error:
    raise ConfigError(
        "engine is 'ray', but Ray is not installed: pip install 'fedroam[ray]'"
    ) from error

REACH_S = 5.0
"""How long a cluster may take to answer at its address."""

DEAD = (
    ray.exceptions.RayActorError,
    ray.exceptions.ObjectLostError,
    ray.exceptions.NodeDiedError,
    ray.exceptions.WorkerCrashedError,
    ray.exceptions.OutOfMemoryError,
)
"""What Ray raises where a worker or its node is lost: somebody else can do the work."""


@dataclass(frozen=True)
class Cluster:
    """A cluster, and how many of its cores are used: one a worker."""

    workers: int
    is_shared: bool  # with others: it is there before and after


@contextlib.contextmanager
def connected(address: str | None = None, workers: int | None = None) -> Iterator[Cluster]:
    """
    The cluster at ``address`` (``auto``: the one that this machine is part of).

    Without an address, a cluster of this machine alone, on loopback, that ends with the context.
    ``workers`` defaults to all cores of the cluster.
    """
    require(workers is None or 1 <= workers <= 1024, "workers", workers, "1 to 1024")
    address = address or os.environ.get("RAY_ADDRESS")
    was_connected = ray.is_initialized()
    if not was_connected:
        with _signals_as_they_were():
            _join(address) if address else _found(workers)
    try:
        cores = int(ray.cluster_resources().get("CPU", 0))
        if workers is None and cores == 0:
            raise ConfigError("the Ray cluster has no CPUs; name how many workers to wait for")
        yield Cluster(workers or cores, bool(address) or was_connected)
    finally:
        if not was_connected:
            ray.shutdown()


def one_core() -> dict[str, Any]:
    """What a worker asks for: a core, one thread, and the modules that can be imported here."""
    installed = (sys.prefix, sys.base_prefix)
    own = [str(Path(folder).resolve()) for folder in (*sys.path, "")]
    path = os.pathsep.join(folder for folder in own if not folder.startswith(installed))
    variables = {**ENVIRONMENT, "PYTHONPATH": path}
    return {"num_cpus": 1, "max_restarts": 0, "runtime_env": {"env_vars": variables}}


def _join(address: str) -> None:
    host, _, port = address.rpartition(":")
    expected = "'auto' or HOST:PORT, where `ray start --head` said that a cluster can be joined"
    if address != "auto":
        require("/" not in address and bool(host) and port.isdigit(), "address", address, expected)
        if host in ("localhost", "127.0.0.1"):  # as Ray reads it
            host = ray.util.get_node_ip_address()
        try:  # Ray itself would try for many minutes
            socket.create_connection((host, int(port)), REACH_S).close()
        except (OSError, OverflowError) as error:
            raise ConfigError(
                f"address is {address!r}, but nobody answers at {host}:{port}: {error}"
            ) from error
    try:
        ray.init(address=address, log_to_driver=False, logging_level="error")
    except ConnectionError as error:
        raise ConfigError(f"address is {address!r}, expected {expected}: {error}") from error
    except RuntimeError as error:  # other versions of Ray or Python
        raise WorkerError(f"cannot join the Ray cluster at {address}: {error}") from error


def _found(workers: int | None) -> None:
    ray.init(
        address="local",
        num_cpus=workers,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="error",
        _node_ip_address="127.0.0.1",
    )


@contextlib.contextmanager
def _signals_as_they_were() -> Iterator[None]:
    """Ray takes SIGTERM for itself, which stops a run in an orderly way here."""
    before: Callable[..., Any] | int | None = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread() and before is not None:
            signal.signal(signal.SIGTERM, before)
