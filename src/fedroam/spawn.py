"""
How processes of ours are started: one thread each, deaf to Ctrl-C, with nothing of the parent's.

A server, itself started from scratch, imports and loads once what they all need, and is copied
for each of them: they inherit no threads and no locks, and the second one starts at once. Where
there can be no such server, each starts from scratch.
"""

import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_all_start_methods, get_context
from multiprocessing.connection import Connection
from typing import Any

_SOCKET_PATH = 70
"""Characters of a folder that leave enough for the name of a socket in it (108 in all)."""

_IS_SERVED = "forkserver" in get_all_start_methods() and len(tempfile.gettempdir()) <= _SOCKET_PATH

PROCESSES: Any = get_context("forkserver" if _IS_SERVED else "spawn")
"""Processes, pipes and shared memory come from here."""

_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
)

_KEPT_MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(256 << 20),
}
"""
Freed memory stays with the process: else glibc hands large arrays back to the system, which clears
their pages anew each time (8 % of a training of LeNet in PyTorch). Others ignore these names.
"""

ENVIRONMENT = {**dict.fromkeys(_THREADS, "1"), **_KEPT_MEMORY}
"""What a process of ours finds in its environment: one thread in whatever library it loads."""

_DYING_S = 5.0
"""How long a server that has been killed may take to be replaced."""

_preloaded: list[str] = []


def preload(module: str) -> None:
    """Let the server import ``module`` before it is copied, unless it is running already."""
    if module not in _preloaded:
        _preloaded.append(module)


def wake_server() -> None:
    """Start the server, if there is one and it does not run; it loads while the caller goes on."""
    if _IS_SERVED:
        from multiprocessing import forkserver

        PROCESSES.set_forkserver_preload(_preloaded)
        with our_environment(), deaf_to_ctrl_c():
            forkserver.ensure_running()


def start(
    target: Callable[..., None], *args: Any, name: str, daemon: bool = False
) -> tuple[Any, Connection]:
    """
    A process that calls ``target(connection, *args)``, and the other end of the connection.

    It finds the environment of this moment with ours above it.
    """
    end_s = time.monotonic() + _DYING_S
    while True:
        try:
            return _started(target, args, name, daemon)
        except (ConnectionError, EOFError):  # the server has been killed: another, another pipe
            if time.monotonic() > end_s:
                raise
            time.sleep(0.02)  # it may not be quite dead yet


def _started(
    target: Callable[..., None], args: Any, name: str, daemon: bool
) -> tuple[Any, Connection]:
    ours, theirs = PROCESSES.Pipe()
    everything = ({**os.environ, **ENVIRONMENT}, target, theirs, args)
    process = PROCESSES.Process(target=_begin, args=everything, name=name, daemon=daemon)
    try:
        if _IS_SERVED:
            wake_server()
            process.start()  # waits until the server has loaded; may be interrupted
        else:
            with our_environment(), deaf_to_ctrl_c():
                process.start()
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    return process, ours


def _begin(
    environment: dict[str, str], target: Callable[..., None], connection: Connection, args: Any
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which tells us
    os.environ.clear()  # the server's is as old as the server
    os.environ.update(environment)
    target(connection, *args)


@contextmanager
def our_environment() -> Iterator[None]:
    """Processes started inside find ``ENVIRONMENT`` beside what is there anyway."""
    before = {name: os.environ.get(name) for name in ENVIRONMENT}
    os.environ.update(ENVIRONMENT)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def deaf_to_ctrl_c() -> Iterator[None]:
    """Processes started inside ignore Ctrl-C from their first moment, also while they import."""
    is_ours = signal.getsignal(signal.SIGINT) is not None  # None: set by a program around Python
    if not is_ours or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
