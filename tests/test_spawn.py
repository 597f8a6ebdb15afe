"""Processes of ours: copied from a server that has one thread, or started from scratch."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fedroam import spawn
from fedroam.learning.datasets import Synthetic
from fedroam.learning.federation import Federation, LearningSettings
from fedroam.learning.partition import Iid


def look_around(connection):
    """What a process finds: its environment, its parent, what it does about Ctrl-C."""
    deaf = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    connection.send((dict(os.environ), os.getppid(), deaf))


def found():
    """What a new process finds."""
    process, connection = spawn.start(look_around, name="curious")
    seen = connection.recv()
    process.join()
    assert process.exitcode == 0
    return seen


def settings():
    """A training that takes no time."""
    return LearningSettings(Synthetic(n_train=60, n_test=10, side=4), Iid(), model="logistic")


def trained(n_rounds=2, between=lambda federation: None):
    """What is left of the weights after some rounds with two workers."""
    with Federation(settings(), users=4, workers=2) as federation:
        for round in range(n_rounds):
            between(federation)
            federation.train(round, np.arange(4))
        return federation.weights_sha256


def test_a_process_has_the_environment_of_the_moment_with_ours_above_it(monkeypatch):
    """The server is older than the variable; nothing is changed here."""
    found()
    monkeypatch.setenv("FEDROAM_TEST", "late")
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    environment, _, _ = found()
    assert environment == {**os.environ, **spawn.ENVIRONMENT}
    assert environment["FEDROAM_TEST"] == "late"
    assert os.environ["OMP_NUM_THREADS"] == "8"


def test_the_server_has_one_thread_so_that_it_can_be_copied():
    """After all that it loads: a copy of one thread of several could wait for the others."""
    import fedroam.comparison.players
    import fedroam.learning.processes  # noqa: F401

    _, server, deaf = found()
    assert server != os.getpid()
    status = Path(f"/proc/{server}/status").read_text()
    assert "\nThreads:\t1\n" in status
    assert deaf


def test_a_server_that_is_killed_is_started_anew():
    """And the workers that it leaves behind go on."""
    undisturbed = trained()

    def kill(federation):
        _, server, _ = found()
        os.kill(server, signal.SIGKILL)
        if federation.worker_pids:
            os.kill(federation.worker_pids[0], signal.SIGKILL)

    assert trained(between=kill) == undisturbed


SCRIPT = """
from fedroam import spawn
from test_spawn import trained
if __name__ == "__main__":
    print(spawn.PROCESSES.get_start_method(), trained())
"""


@pytest.mark.parametrize(("length", "method"), [(20, "forkserver"), (90, "spawn")])
def test_without_room_for_a_socket_everybody_starts_from_scratch(length, method):
    """To the same bits."""
    folder = Path("/tmp") / ("t" * (length - 5))
    folder.mkdir(exist_ok=True)
    try:
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={
                **os.environ,
                "TMPDIR": str(folder),
                "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path]),
            },
            capture_output=True,
            text=True,
            check=True,
        )
    finally:
        subprocess.run(["rm", "-rf", folder], check=True)
    assert done.stdout.split() == [method, trained()]
