"""How processes of ours are started: from scratch, with one thread each, deaf to Ctrl-C."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context

PROCESSES = get_context("spawn")
"""How processes are started: from scratch, so they inherit no threads and no locks."""

SINGLE_THREAD = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
)


@contextmanager
def single_thread() -> Iterator[None]:
    """Processes started inside use one thread each in whatever library they load."""
    before = {name: os.environ.get(name) for name in SINGLE_THREAD}
    os.environ.update(dict.fromkeys(SINGLE_THREAD, "1"))
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
