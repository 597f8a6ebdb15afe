"""What all tests have in common: examples that are the same in every run, and the command line."""

import signal
import sys
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "same",
    deadline=None,  # the first example compiles kernels
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("same")

# Tests send Ctrl-C, to themselves and to others. A shell's background ignores it, and children
# inherit that; a handler they do not.
signal.signal(signal.SIGINT, signal.default_int_handler)


@dataclass(frozen=True)
class Done:
    """What a command did."""

    code: int
    out: str
    err: str


@pytest.fixture
def fedroam(tmp_path, monkeypatch, capsys):
    """Call the command line in this process, in an empty working directory."""
    from fedroam.cli import main

    monkeypatch.chdir(tmp_path)
    before = signal.getsignal(signal.SIGTERM)

    def call(*arguments: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["fedroam", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit_:
            main()
        printed = capsys.readouterr()
        return Done(int(exit_.value.code or 0), printed.out, printed.err)

    yield call
    signal.signal(signal.SIGTERM, before)
