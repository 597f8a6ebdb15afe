"""How processes of ours are started: from scratch, with one thread each, deaf to Ctrl-C."""

import gc
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context

PROCESSES = get_context("spawn")
"""How processes are started: from scratch, so they inherit no threads and no locks."""

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

_changing = threading.Lock()


@contextmanager
def our_environment() -> Iterator[None]:
    """Processes started inside find ``ENVIRONMENT`` above what is there anyway."""
    with _changing:  # a second thread would take ours for what was there before
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


class Loading:
    """
    Sent to a process as its first argument, it keeps the garbage collector from looking again and
    again through what is being imported, until ``is_over``: a seventh of the time that it takes.
    """

    def __reduce__(self) -> tuple[Callable[[], "Loading"], tuple[()]]:
        return _loading, ()

    def is_over(self) -> None:
        """All that is here now stays."""
        gc.freeze()
        gc.enable()


def _loading() -> Loading:
    gc.disable()
    return Loading()


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
