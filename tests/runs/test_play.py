"""Runs in folders: repeatable, complete, refused where something else lies."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fedroam.errors import ConfigError, StorageError
from fedroam.files import aside
from fedroam.learning.checkpoints import load_arrays
from fedroam.learning.federation import Federation
from fedroam.runs import RunFolder, parse, play, read_rounds, read_settings, read_users
from fedroam.runs.summary import jain
from fedroam.runs.tables import keep, sha256_of
from fedroam.scheduling.interchange import read_problem
from fedroam.scheduling.judge import judge
from fedroam.simulation import Simulation


def small(**changes):
    """Thirty rounds of twelve users."""
    table = {"stop": {"rounds": 30}, "world": {"users": 12, "stations": 3}}
    return parse(table | changes)


def contents(folder):
    """Every file and its bytes."""
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_seed_gives_one_digest_and_another_seed_another(tmp_path):
    """Same settings, same rounds_sha256, wherever the folder."""
    one, same, other = (
        play(small(seed=seed), tmp_path / name)["rounds_sha256"]
        for name, seed in (("one", 4), ("same", 4), ("other", 5))
    )
    assert one == same != other


def test_a_run_is_repeated_from_its_own_settings_file(tmp_path):
    """config.toml is complete: it gives the same settings and the same digest."""
    first = play(small(seed=3, policy="fedcs-low"), tmp_path / "first")
    settings = read_settings(tmp_path / "first" / "config.toml")

    assert settings == small(seed=3, policy="fedcs-low")
    assert play(settings, tmp_path / "again")["rounds_sha256"] == first["rounds_sha256"]


def test_the_tables_say_what_happened(tmp_path):
    """Each row is recomputed from a simulation played beside it."""
    settings = small(policy="random", record={"problems": True})
    play(settings, tmp_path / "run")
    rounds, users = read_rounds(tmp_path / "run").to_pylist(), read_users(tmp_path / "run")
    simulation = Simulation(settings.scenario(), settings.policy.make())
    played = list(simulation.rounds(rounds=30))

    assert len(rounds) == 30
    for row, one in zip(rounds, played, strict=True):
        verdict = one.verdict
        assert row["round"] == one.round
        assert row["start_s"] == one.start_s
        assert row["length_s"] == max(t for t in verdict.finish_s if t == t)
        assert row["selected"] == one.schedule.chosen.tolist()
        assert row["n_selected"] == 6
        assert row["n_forced"] == sum(one.problem.required)
        assert row["n_missed"] == sum(one.problem.required[one.schedule.station == -1])
        assert row["n_lacking"] == 0
        assert row["straggler"] == np.nanargmax(verdict.finish_s)
        np.testing.assert_array_equal(row["station_s"], verdict.station_s)
        np.testing.assert_array_equal(row["station_load"], verdict.used_hz / 1e6)
        saved = read_problem(tmp_path / "run" / "problems" / f"round-{one.round:06d}.npz")
        assert judge(saved, one.schedule).round_s == row["length_s"]
    finish_s = users["finish_s"].to_numpy().reshape(30, 12)
    np.testing.assert_array_equal(finish_s, [one.verdict.finish_s for one in played])
    x_m = users["x_m"].to_numpy().reshape(30, 12)
    np.testing.assert_allclose(x_m, [one.position_m[:, 0] for one in played], rtol=1e-7)


def test_the_summary_is_recomputed_from_the_table(tmp_path):
    """Means, percentile, participation, fairness and violations by their definitions."""
    summary = play(small(policy="random"), tmp_path / "run")
    rows = read_rounds(tmp_path / "run").to_pylist()
    lengths = [row["length_s"] for row in rows]
    share = [sum(u in row["selected"] for row in rows) / 30 for u in range(12)]

    assert summary["rounds"] == 30
    assert summary["time_s"] == pytest.approx(sum(lengths), rel=1e-12)
    assert summary["mean_round_s"] == pytest.approx(sum(lengths) / 30, rel=1e-12)
    assert summary["p95_round_s"] == pytest.approx(np.percentile(lengths, 95), rel=1e-12)
    assert summary["users_per_round"] == 6
    assert summary["users_per_s"] == pytest.approx(180 / sum(lengths), rel=1e-12)
    assert summary["min_participation"] == pytest.approx(min(share))
    squares = sum(s * s for s in share)
    assert summary["jain"] == pytest.approx(sum(share) ** 2 / (12 * squares), rel=1e-12)
    assert summary["missed_per_round"] == pytest.approx(sum(r["n_missed"] for r in rows) / 30)
    assert summary["rounds_missing_rho1"] == sum(r["n_missed"] > 0 for r in rows) > 0
    assert summary["rounds_missing_rho2"] == 0
    assert json.loads((tmp_path / "run" / "summary.json").read_text()) == summary


def test_jain_runs_from_one_over_u_to_one():
    """One user has everything: 1/U; all are equal: 1; nobody has anything: 1."""
    assert jain(np.array([1.0, 0, 0, 0])) == 0.25
    assert jain(np.full(7, 0.3)) == pytest.approx(1.0)
    assert jain(np.zeros(3)) == 1.0


def test_a_complete_run_is_not_played_again(tmp_path):
    """The second call reads the summary and changes no file."""
    first = play(small(), tmp_path / "run")
    before = contents(tmp_path / "run")

    assert play(small(), tmp_path / "run") == first
    assert contents(tmp_path / "run") == before


def test_a_folder_with_another_run_is_refused_and_untouched(tmp_path):
    """The message names the first setting that differs, with both values."""
    play(small(seed=1), tmp_path / "run")
    before = contents(tmp_path / "run")

    with pytest.raises(ConfigError, match=r"holds another run .*differ in seed: 1 there, 2 here"):
        play(small(seed=2), tmp_path / "run")
    assert contents(tmp_path / "run") == before


def test_bug_a_run_that_cannot_start_was_in_the_way_of_the_one_meant(tmp_path):
    """Found by use: after ``model = "cn"`` its folder was said to hold another run."""
    learning = {"dataset": "synthetic", "model": "cn", "partition": "iid"}
    for place in (tmp_path / "new", tmp_path / "empty"):
        with pytest.raises(ConfigError, match="did you mean 'cnn'"):
            play(small(learning=learning), place)
        assert contents(tmp_path) == {}
        (tmp_path / "empty").mkdir()
    play(small(), tmp_path / "run")
    (tmp_path / "run/summary.json").unlink()
    before = contents(tmp_path / "run")

    with pytest.raises(LookupError), RunFolder(tmp_path / "run").or_not_begun():
        raise LookupError
    with pytest.raises(ConfigError), RunFolder(tmp_path / "run").or_not_begun():
        raise ConfigError
    assert contents(tmp_path / "run") == before, "rounds have been recorded"


@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_place_where_something_else_lies_is_refused_and_untouched(tmp_path, what):
    """Neither a file nor a folder of the user's is written into."""
    place = tmp_path / "mine"
    if what == "folder":
        place.mkdir()
    (place / "thesis.tex" if what == "folder" else place).write_text("precious")

    with pytest.raises(ConfigError, match="exists and is no run folder; choose another --out"):
        play(small(), place)
    assert [p.read_text() for p in tmp_path.rglob("*") if p.is_file()] == ["precious"]


def test_rows_beyond_the_last_checkpoint_are_played_again(tmp_path):
    """A part that no checkpoint follows is dropped, then written anew."""
    whole = play(small(), tmp_path / "whole")
    folder = RunFolder(tmp_path / "run")
    settings = small()
    folder.begin(settings)
    simulation = Simulation(settings.scenario(), settings.policy.make())
    with folder.alone():
        folder.save([keep(p, users=True) for p in simulation.rounds(rounds=7)], simulation.state())
        late = [keep(p, users=True) for p in simulation.rounds(rounds=12)]
        state_after_7 = (tmp_path / "run" / "checkpoint.safetensors").read_bytes()
        folder.save(late, simulation.state())
        (tmp_path / "run" / "checkpoint.safetensors").write_bytes(state_after_7)

    assert play(settings, tmp_path / "run")["rounds_sha256"] == whole["rounds_sha256"]
    assert read_rounds(tmp_path / "run")["round"].to_pylist() == list(range(30))


def test_a_kill_between_the_joined_table_and_the_summary_is_mended(tmp_path):
    """Joined rows, parts and checkpoint still there: the run is summed up as it was."""
    whole = play(small(), tmp_path / "run")
    (tmp_path / "run" / "summary.json").unlink()

    again = play(small(), tmp_path / "run")
    assert again["rounds_sha256"] == whole["rounds_sha256"]
    assert again["jain"] == whole["jain"]


def test_the_digest_sees_every_value_but_measured_times(tmp_path):
    """Another length changes it, another wall time does not, nor does the order of parts."""
    play(small(), tmp_path / "run")
    table = read_rounds(tmp_path / "run")
    names = table.column_names

    def with_column(name, values):
        column = table[name].type
        return table.set_column(names.index(name), name, pa.array(values, column))

    walls = with_column("policy_wall_s", [1.0] * 30)
    lengths = with_column("length_s", [*table["length_s"].to_pylist()[:-1], 9.0])
    selected = table["selected"].to_pylist()
    moved = [selected[0][:-1], [selected[0][-1], *selected[1]], *selected[2:]]
    assert sha256_of(walls) == sha256_of(table)
    assert sha256_of(lengths) != sha256_of(table)
    assert sha256_of(with_column("selected", moved)) != sha256_of(table)


def test_details_are_kept_where_asked_for(tmp_path):
    """record.detail false: no table of users; Parquet files are plain Parquet."""
    play(small(record={"detail": False}), tmp_path / "run")

    assert not (tmp_path / "run" / "users.parquet").exists()
    assert read_users(tmp_path / "run").num_rows == 0
    assert pq.read_table(tmp_path / "run" / "rounds.parquet").num_rows == 30


def test_a_damaged_table_is_told(tmp_path):
    """The message has the folder and the table."""
    play(small(), tmp_path / "run")
    (tmp_path / "run" / "rounds.parquet").write_bytes(b"not parquet")

    with pytest.raises(ConfigError, match="does not hold a readable table of rounds"):
        read_rounds(tmp_path / "run")


STOPS = """
from dataclasses import dataclass
from pathlib import Path

from fedroam import RandomDirection


@dataclass(frozen=True)
class Stops(RandomDirection):
    def advance(self, motion, area_m, now_s, round, draw):
        if round == 4 and Path("stop").exists():
            raise KeyboardInterrupt
        return super().advance(motion, area_m, now_s, round, draw)
"""

LEARNING = {
    "dataset": {"name": "synthetic", "n_train": 200, "n_test": 50},
    "partition": "iid",
    "model": "logistic",
    "local": {"local_epochs": 1},
    "server": {"name": "momentum"},
}


def test_bug_ctrl_c_after_training_lost_the_rounds_since_the_last_checkpoint(tmp_path, monkeypatch):
    """
    Interrupted in the fourth round, when its users have trained but it is not over yet: three are
    kept, and the same command ends with the model of an undisturbed run, bit for bit.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "plug_stops.py").write_text(STOPS)
    settings = small(
        mobility="plug_stops:Stops", stop={"rounds": 6}, learning=LEARNING, policy="random"
    )
    whole = play(settings, tmp_path / "whole")
    (tmp_path / "stop").touch()
    with pytest.raises(KeyboardInterrupt):
        play(settings, tmp_path / "run")

    assert read_rounds(tmp_path / "run").num_rows == 3
    (tmp_path / "stop").unlink()
    again = play(settings, tmp_path / "run")
    assert again["rounds_sha256"] == whole["rounds_sha256"]
    assert again["weights_sha256"] == whole["weights_sha256"]
    best = [load_arrays(tmp_path / run / "best.safetensors") for run in ("whole", "run")]
    assert best[0][1] == best[1][1]
    np.testing.assert_array_equal(best[0][0]["weights"], best[1][0]["weights"])


def test_bug_a_checkpoint_that_cannot_be_written_said_nothing_of_what_is_safe(tmp_path):
    """The folder has been taken away: each file is named, and what is safe."""
    settings, folder = small(learning=LEARNING), RunFolder(tmp_path / "gone")
    with Federation(settings.learning.made(), users=12, workers=0) as federation:
        simulation = Simulation(settings.scenario(), settings.policy.make(), learner=federation)
        for name, write in (
            ("checkpoint", lambda: folder.save([], simulation.state())),
            ("best", lambda: folder.keep_if_best(0.5, simulation)),
        ):
            message = rf"{name}\.safetensors.*; the rounds recorded so far are safe, and the same"
            with pytest.raises(StorageError, match=message):
                write()


def test_what_is_written_aside_takes_its_place_only_when_all_went_well(tmp_path):
    """After a failure the old content stands and nothing lies beside it."""
    file = tmp_path / "file"
    file.write_text("old")

    def fail():
        with aside(file) as temporary:
            temporary.write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert contents(tmp_path) == {file.relative_to(tmp_path): b"old"}

    with aside(file) as temporary:
        temporary.write_text("new")
    assert contents(tmp_path) == {file.relative_to(tmp_path): b"new"}
