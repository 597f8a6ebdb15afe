"""How processes of ours are started."""

import gc
import os
import signal
import threading
import time

from fedroam import spawn


def look_around(loading, connection):
    """What a process finds."""
    while_loading = gc.isenabled()
    loading.is_over()
    deaf = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    connection.send((dict(os.environ), deaf, while_loading, gc.isenabled()))


def test_a_process_finds_one_thread_a_library_no_ctrl_c_and_no_collector_while_it_loads():
    """And the collector after that; here nothing changes."""
    before = dict(os.environ)
    ours, theirs = spawn.PROCESSES.Pipe()
    process = spawn.PROCESSES.Process(target=look_around, args=(spawn.Loading(), theirs))
    with spawn.our_environment(), spawn.deaf_to_ctrl_c():
        process.start()
    environment, deaf, while_loading, after = ours.recv()
    process.join()

    assert environment.items() >= spawn.ENVIRONMENT.items()
    assert environment["NUMBA_NUM_THREADS"] == "1"
    assert deaf
    assert not while_loading
    assert after
    assert dict(os.environ) == before
    assert gc.isenabled()


def test_bug_threads_that_start_processes_leave_the_environment_as_it_was():
    """Each took what another had set for what had been there."""
    before = dict(os.environ)

    def visit(pause_s):
        with spawn.our_environment():
            time.sleep(pause_s)

    threads = [threading.Thread(target=visit, args=(0.05 * (k + 1),)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert dict(os.environ) == before
