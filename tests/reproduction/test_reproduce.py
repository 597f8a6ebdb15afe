"""``fedroam reproduce``: killed at random it ends as if nothing had happened."""

import os
import signal
import subprocess
import sys
import time

import pytest

from fedroam.reproduction import collect, derive

TINY = """
import fedroam.cli, fedroam.runs.play, fedroam.reproduction.studies as studies
from fedroam.learning import datasets

fedroam.runs.play.CHECKPOINT_S = 0.02
load = datasets.load
datasets.load = lambda which, *rest: None if which == "mnist" else load(which, *rest)
whole = studies._table

def tiny(profile, study, dataset):
    table = whole(profile, study, dataset)
    table["stop"] = {"time_s": 4.0}
    table["world"] = {"users": 10, "stations": 3}
    table["compare"] |= {"policies": ["dagsa", "random"], "seeds": 2, "times_s": [1.0, 4.0]}
    table["learning"] = {
        "dataset": {"name": "synthetic", "n_train": 600, "n_test": 100},
        "partition": "iid",
        "model": "logistic",
        "local": {"local_epochs": 1},
    }
    return table

studies._table = tiny
if __name__ == "__main__":
    fedroam.cli.main()
"""

TABLES = ("comparison.csv", "curves.csv", "lengths.csv", "paired.csv", "accuracy.svg")


def start(here, *arguments):
    """Begin in a session of its own, so that the whole of it can be killed."""
    (here / "tiny.py").write_text(TINY)
    return subprocess.Popen(
        [sys.executable, "tiny.py", "reproduce", *arguments],
        cwd=here,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def end(process):
    """Wait for it to go well."""
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """What comes out when nothing happens, by two workers."""
    here = tmp_path_factory.mktemp("undisturbed")
    end(start(here, "fig1", "-d", "mnist", "--out", "out", "--workers", "2"))
    return here / "out/quick/fig1/mnist"


def test_a_reproduction_that_is_killed_ends_with_the_same_tables(undisturbed, tmp_path):
    """Killed while each of three members is being played, then let go on to its end."""
    folder = tmp_path / "out/quick/fig1/mnist"
    arguments = ("fig1", "-d", "mnist", "--out", "out", "--workers", "1")
    for member in ("dagsa/seed-0", "dagsa/seed-1", "random/seed-0"):
        process = start(tmp_path, *arguments)
        while not any((folder / member / "rounds").glob("*.parquet")):
            assert process.poll() is None, process.communicate()
            time.sleep(0.002)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        assert not (folder / member / "summary.json").exists()
    end(start(tmp_path, *arguments))

    for name in TABLES:
        assert (folder / name).read_bytes() == (undisturbed / name).read_bytes(), name


def test_what_is_collected_has_everything(undisturbed, tmp_path):
    """Tables, settings and versions are copied; differences and figures follow from them."""
    labels = collect(undisturbed, tmp_path / "kept")
    files = derive(tmp_path / "kept")
    again = derive(tmp_path / "kept", tmp_path / "again")

    assert labels == ["dagsa", "random"]
    for name in ("comparison.csv", "curves.csv", "lengths.csv", "paired.csv"):
        assert (tmp_path / "kept" / name).read_bytes() == (undisturbed / name).read_bytes()
    for one, other in zip(files, again, strict=True):
        assert one.read_bytes() == other.read_bytes()
    assert (tmp_path / "kept/versions.json").exists()
    assert (tmp_path / "kept/compare.toml").exists()


def test_a_sweep_among_the_studies_plays_and_is_collected(fedroam, tmp_path, monkeypatch):
    """fig3 without learning, at two speeds: table, figures, differences between points."""
    from fedroam.reproduction import studies

    whole = studies._table

    def tiny(*which):
        return whole(*which) | {
            "stop": {"rounds": 3},
            "world": {"users": 6, "stations": 2},
        }

    monkeypatch.setattr(studies, "_table", tiny)
    monkeypatch.setitem(studies.SPEEDS, "quick", (0.0, 20.0))
    words = ("reproduce", "fig3", "-d", "timing", "--seeds", 2, "--out", "out", "--workers", 1)
    done = fedroam(*words)
    assert done.code == 0, done.err
    assert "never" in done.out
    done = fedroam(*words, "--collect", "kept", "--json")

    assert done.code == 0, done.err
    kept = tmp_path / "kept/quick/fig3/timing"
    assert (kept / "sweep.csv").read_bytes() == (
        tmp_path / "out/quick/fig3/timing/sweep.csv"
    ).read_bytes()
    text = (kept / "paired.csv").read_text()
    assert '"certified: speed_m_s 20, turn_every never"' in text
    assert (kept / "mean-round.svg").stat().st_size > 0
    missing = fedroam("reproduce", "fig2", "-d", "timing", "--out", "out", "--collect", "kept")
    assert missing.code == 0
    assert "quick/fig2/timing: nothing to collect" in missing.err
