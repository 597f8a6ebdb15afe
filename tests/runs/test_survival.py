"""Runs that are killed, interrupted, crowded out or refused: real processes, the same tables."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from fedroam.runs import RunFolder, play, read_rounds, read_settings, read_users
from fedroam.runs.tables import parts_of

N_ROUNDS = 300

PAUSE_AT = 100

POLICY = f'''
"""RS that may be told to wait, to fail, and is slow enough to be killed."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

from fedroam.scheduling.policies.best_station import Random


@dataclass(frozen=True)
class Waits:
    def __call__(self, problem, rng):
        if problem.round == {PAUSE_AT}:
            if Path("fail").exists():
                raise RuntimeError("told to")
            while Path("pause").exists():
                Path("paused").touch()
                Path(f"paused-{{os.getpid()}}").touch()
                time.sleep(0.005)
        time.sleep(0.0005)
        return Random()(problem, rng)
'''

CONFIG = f"""
policy = "waits:Waits"
stop.rounds = {N_ROUNDS}
world = {{ users = 10, stations = 3 }}
mobility.turn_every = 0.5
"""

OFTEN = "import fedroam.runs.play as p; p.CHECKPOINT_S = 0.02; import fedroam.cli as c; c.main()"
"""The command ``fedroam`` with many checkpoints, so that kills fall between and into them."""


@pytest.fixture
def here(tmp_path):
    """A working directory with settings and a policy of one's own."""
    (tmp_path / "waits.py").write_text(POLICY)
    (tmp_path / "config.toml").write_text(CONFIG)
    return tmp_path


def start(here, *, often=False, limit_bytes=None, out="out"):
    """Begin the run in a process of its own."""
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit_bytes},) * 2); "
    often = (limit if limit_bytes else "") + OFTEN if often else ""
    program = ["-c", often] if often else ["-m", "fedroam"]
    return subprocess.Popen(
        [sys.executable, *program, "run", "config.toml", "--out", out],
        cwd=here,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def end(process):
    """Exit code and what was said on stderr."""
    _, err = process.communicate(timeout=120)
    return process.returncode, err


def wait_for(path: Path, process):
    """Until a file is there; the process must not end before."""
    while not path.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)


@pytest.fixture
def reference(here):
    """The run that nobody disturbed: RS, which never waits and chooses the same."""
    settings = read_settings(here / "config.toml", ("policy=random",))
    play(settings, here / "undisturbed")
    return here / "undisturbed"


def assert_same_run(folder, reference):
    """Equal digests, and equal tables but for measured times."""
    assert RunFolder(folder).is_complete
    mine, other = RunFolder(folder).summary, RunFolder(reference).summary
    assert mine["rounds_sha256"] == other["rounds_sha256"]
    rounds, expected = read_rounds(folder), read_rounds(reference)
    assert rounds.num_rows == N_ROUNDS
    for name in rounds.column_names:
        if name != "policy_wall_s":
            assert str(rounds[name].to_pylist()) == str(expected[name].to_pylist()), name
    users, expected = read_users(folder), read_users(reference)
    assert users.num_rows == N_ROUNDS * 10
    for name in users.column_names:
        np.testing.assert_array_equal(users[name].to_numpy(), expected[name].to_numpy())
    assert not list(folder.rglob("*.part"))


def test_kill_9_at_random_moments_changes_nothing(here, reference):
    """Killed again and again and started again, a run ends with the same tables bit for bit."""
    rng = np.random.default_rng(0)
    for _ in range(6):
        process = start(here, often=True)
        wait_for(here / "out" / ".lock", process)
        n_parts = len(parts_of(here / "out", "rounds"))
        if rng.random() < 0.8:  # else in the very beginning
            while process.poll() is None and len(parts_of(here / "out", "rounds")) == n_parts:
                time.sleep(0.001)
        time.sleep(rng.uniform(0.0, 0.05))
        process.kill()
        code, err = end(process)
        assert code in (0, -signal.SIGKILL), err
    code, err = end(start(here))

    assert code == 0, err
    assert_same_run(here / "out", reference)


def test_a_kill_before_the_settings_are_written_leaves_a_folder_that_can_be_used(here, reference):
    """Found by review: such a folder was refused as one that is no run folder."""
    (here / "out").mkdir()
    (here / "out" / "versions.json").write_text("{}")
    (here / "out" / ".config.toml.123.part").write_text("policy =")
    code, err = end(start(here))

    assert code == 0, err
    assert_same_run(here / "out", reference)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_leaves_a_run_that_goes_on_and_says_how(here, reference, number):
    """Exit 130; every round played is kept; the same command ends the run as if undisturbed."""
    (here / "pause").touch()
    process = start(here)
    wait_for(here / "paused", process)
    process.send_signal(number)
    code, err = end(process)

    assert code == 130
    assert "the same command goes on" in err
    assert "Traceback" not in err
    assert read_rounds(here / "out").num_rows == PAUSE_AT
    (here / "pause").unlink()
    assert end(start(here))[0] == 0
    assert_same_run(here / "out", reference)


def compare(here):
    """Begin a comparison of one policy under two seeds, each in a process of its own."""
    arguments = ["compare", "config.toml", "-p", "waits:Waits", "--seeds", "2", "--workers", "2"]
    return subprocess.Popen(
        [sys.executable, "-m", "fedroam", *arguments, "--out", "out"],
        cwd=here,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(
    ("number", "target", "code", "message"),
    [
        (signal.SIGKILL, "worker", 1, "a worker process died"),
        (signal.SIGINT, "all", 130, "the same command goes on"),
        (signal.SIGTERM, "parent", 130, "the same command goes on"),
    ],
)
def test_bug_a_comparison_that_is_killed_or_stopped_keeps_its_rounds_and_goes_on(
    here, reference, number, target, code, message
):
    """One line of it; Ctrl-C reaches all, a polite kill one; then it ends as undisturbed."""
    (here / "pause").touch()
    process = compare(here)
    while len(members := [int(p.name[7:]) for p in here.glob("paused-*")]) < 2:
        wait_for(here / "out", process)
        time.sleep(0.005)
    if target != "parent":
        for pid in members if target == "all" else members[:1]:
            os.kill(pid, number)
    if target != "worker":
        process.send_signal(number)
    found, err = end(process)

    assert found == code, err
    assert message in err
    said = [line for line in err.splitlines() if not line.startswith("will write about ")]
    assert len(said) == 1, err
    if number != signal.SIGKILL:
        assert read_rounds(here / "out" / "Waits" / "seed-0").num_rows == PAUSE_AT
    (here / "pause").unlink()
    found, err = end(compare(here))
    assert found == 0, err
    assert_same_run(here / "out" / "Waits" / "seed-0", reference)


def test_a_second_process_on_one_folder_is_refused_and_harms_nothing(here, reference):
    """One line, exit 2; the first goes on undisturbed, its half-written files too."""
    (here / "pause").touch()
    first = start(here)
    wait_for(here / "paused", first)
    (here / "out" / "rounds").mkdir(exist_ok=True)
    half_written = here / "out" / "rounds" / ".00000099.parquet.1.part"
    half_written.touch()
    code, err = end(start(here))

    assert code == 2
    assert err.strip() == "fedroam: another process is writing out"
    assert half_written.exists()
    half_written.unlink()
    (here / "pause").unlink()
    code, err = end(first)
    assert code == 0, err
    assert_same_run(here / "out", reference)


def test_a_full_disk_loses_no_recorded_round(here, reference):
    """No file may exceed 50 kB: one line, exit 1; with room again the run ends as it should."""
    assert (reference / "users.parquet").stat().st_size > 50_000  # so it cannot be joined
    code, err = end(start(here, often=True, limit_bytes=50_000))

    assert code == 1
    assert len(err.strip().splitlines()) == 1, err
    assert "the rounds recorded so far are safe, and the same command goes on" in err
    rounds = read_rounds(here / "out")
    assert 0 < rounds.num_rows <= N_ROUNDS
    kept = read_rounds(reference).slice(0, rounds.num_rows)
    assert rounds["length_s"].to_pylist() == kept["length_s"].to_pylist()
    assert not RunFolder(here / "out").is_complete
    code, err = end(start(here))
    assert code == 0, err
    assert_same_run(here / "out", reference)


def test_a_policy_that_raises_is_named_and_the_folder_stays_usable(here, reference):
    """One line, exit 2; what was played is kept; with the policy mended the run goes on."""
    (here / "fail").touch()
    code, err = end(start(here))

    assert code == 2
    assert err.strip() == (
        f"fedroam: policy Waits raised RuntimeError in round {PAUSE_AT}: told to (waits.py:17)"
    )
    assert read_rounds(here / "out").num_rows == PAUSE_AT
    (here / "fail").unlink()
    assert end(start(here))[0] == 0
    assert_same_run(here / "out", reference)
