"""Sweeps: what a grid is, where its points are played, and one table for all."""

import json

import numpy as np
import pandas
import pytest

from fedroam.comparison import (
    begin_sweep,
    cells_of,
    grid,
    open_sweep,
    play_sweep,
    read_sweep_tables,
    sweep_tables_of,
    write_sweep_tables,
)
from fedroam.errors import ConfigError
from fedroam.plots import sweep_figures_of
from fedroam.runs import RunFolder, read_rounds

TABLE = {
    "stop": {"rounds": 4},
    "world": {"users": 8, "stations": 2},
    "compare": {"policies": ["dagsa", "random"], "seeds": 2},
}
OVER = ["speed_m_s=0,20", "turn_every=round,never,0.5"]


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """A grid of two speeds and three ways to turn."""
    folder = tmp_path_factory.mktemp("sweep") / "sweep"
    cells = cells_of(TABLE, grid(TABLE, OVER), folder)
    begin_sweep(cells, folder)
    play_sweep(cells)
    return folder


def test_a_grid_is_all_combinations():
    """Full paths, values as TOML, words as words; the last key changes fastest."""
    points = grid(TABLE, [*OVER, "compute_s=[0.1, 0.2],[0.3, 0.3]"])

    assert len(points) == 12
    assert points[0] == {
        "mobility.speed_m_s": 0,
        "mobility.turn_every": "round",
        "world.compute_s": [0.1, 0.2],
    }
    assert [p["mobility.turn_every"] for p in points[:6:2]] == ["round", "never", 0.5]
    assert points[-1]["mobility.speed_m_s"] == 20


@pytest.mark.parametrize(
    ("over", "message"),
    [
        (["speed=1,2"], "speed: no such setting; did you mean"),
        (["speed_m_s"], "over: 'speed_m_s' is no axis, expected key=value,value,..."),
        (["speed_m_s="], "is no axis"),
        (["speed_m_s=1", "mobility.speed_m_s=2"], "over: mobility.speed_m_s is swept twice"),
        (["speed_m_s=1,1"], "has a value twice"),
        (["seed=1,2"], "over: seed is the same at every point; use --seeds and --policy"),
        (["compare.seeds=1,2"], "is the same at every point"),
        (["speed_m_s=1,fast"], "mobility.speed_m_s is 'fast', expected a number"),
        (["rho2=0.5,1.5"], "fairness.rho2 is 1.5, expected in"),
        (["name=a b,a-b"], "two points would be called name=a-b"),
    ],
)
def test_bad_axes_are_refused_before_anything_is_played(tmp_path, over, message):
    """With the key, the value and what was expected."""
    with pytest.raises(ConfigError, match=message.replace("(", r"\(")):
        cells_of(TABLE, grid(TABLE, over), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_policies_and_their_options_can_be_swept(tmp_path):
    """The swept one plays alone; otherwise those of the comparison do."""
    table = TABLE | {"policy": {"name": "fedcs"}}
    cells = cells_of(table, grid(table, ["threshold_s=0.5,1.0"]), tmp_path)
    plain = cells_of(TABLE, grid(TABLE, ["rho2=0.5"]), tmp_path)

    assert [c.members()[0][0].settings.policy.options["threshold_s"] for c in cells] == [0.5, 1.0]
    assert [len(c.members()) for c in cells] == [1, 1]
    assert [row[0].label for row in plain[0].members()] == ["dagsa", "random"]
    assert cells[0].folder.name == "threshold_s=0.5"
    named = cells_of(TABLE, grid(TABLE, ["policy=all,random"]), tmp_path)
    assert [c.members()[0][0].label for c in named] == ["all", "random"]


def test_one_table_has_a_row_for_each_point_policy_and_seed(played):
    """Pandas reads it in one line; each row is what its run says."""
    tables = sweep_tables_of(open_sweep(played))
    write_sweep_tables(tables, played)
    frame = pandas.read_parquet(played / "sweep.parquet")

    assert len(frame) == 2 * 3 * 2 * 2
    assert set(frame["mobility.turn_every"]) == {"round", "never", "0.5"}  # words and numbers
    for row in frame.to_dict("records"):
        name = f"speed_m_s={row['mobility.speed_m_s']:g},turn_every={row['mobility.turn_every']}"
        run = RunFolder(played / name / row["label"] / f"seed-{row['seed']}")
        assert row["mean_round_s"] == run.summary["mean_round_s"]
        assert run.settings.mobility.options["speed_m_s"] == row["mobility.speed_m_s"]
        assert len(read_rounds(run.path)) == 4


def test_standing_still_both_readings_are_one(played):
    """Who does not move does not turn: the same rounds, bit for bit."""
    frame = sweep_tables_of(open_sweep(played)).joined("comparison").to_pandas()
    still = frame[frame["mobility.speed_m_s"] == 0]

    assert (still.groupby(["label", "seed"]).rounds_sha256.nunique() == 1).all()
    assert frame.rounds_sha256.nunique() > still.rounds_sha256.nunique()


def test_a_sweep_comes_back_from_its_files(played, tmp_path):
    """From Parquet and from CSV alone, point by point."""
    found = open_sweep(played)
    tables = sweep_tables_of(found)
    write_sweep_tables(tables, tmp_path)
    for kinds in ("parquet and csv", "csv"):
        again = read_sweep_tables(tmp_path, [point for point, _, _ in found])
        assert again.points == tables.points, kinds
        for mine, theirs in zip(again.tables, tables.tables, strict=True):
            np.testing.assert_array_equal(
                mine.values("random", "mean_round_s"), theirs.values("random", "mean_round_s")
            )
            np.testing.assert_array_equal(mine.lengths_s()["dagsa"], theirs.lengths_s()["dagsa"])
        for file in tmp_path.glob("*.parquet"):
            file.unlink()


def test_points_can_be_compared_like_policies(played):
    """One policy, points as labels, up to the time that all of them reach."""
    tables = sweep_tables_of(open_sweep(played))
    across = tables.across("dagsa")

    assert across.labels[:2] == ["speed_m_s 0, turn_every round", "speed_m_s 0, turn_every never"]
    assert across.horizon_s == min(t.horizon_s for t in tables.tables)
    np.testing.assert_array_equal(
        across.values("speed_m_s 20, turn_every never", "jain"),
        tables.tables[4].values("dagsa", "jain"),
    )


def test_the_figure_of_a_sweep_shows_its_table(played):
    """Means over the seeds against the first key, a curve a policy and value of the other."""
    tables = sweep_tables_of(open_sweep(played))
    axes = sweep_figures_of(tables)["mean-round"]
    curves = {line.get_label(): line for line in axes.get_lines()}
    curve = curves["random, turn_every never"]

    expected = [tables.tables[i].values("random", "mean_round_s").mean() for i in (1, 4)]
    np.testing.assert_allclose(curve.get_xydata(), np.transpose([[0, 20], expected]))
    assert axes.get_xlabel() == "mobility.speed_m_s"


def test_a_sweep_goes_on_is_extended_and_mixes_with_nothing_else(fedroam, tmp_path):
    """Points that were played are read; other folders and settings are refused, untouched."""
    (tmp_path / "small.toml").write_text(
        "stop.rounds = 3\nworld = { users = 6, stations = 2 }\ncompare.seeds = 1\n"
    )
    words = ["sweep", "small.toml", "-p", "dagsa", "--workers", 1, "--out", "out", "--json"]
    first = json.loads(fedroam(*words, "--over", "rho2=0.3,0.5").out)
    kept = (tmp_path / "out/rho2=0.5/dagsa/seed-0/summary.json").stat().st_mtime_ns
    more = json.loads(fedroam(*words, "--over", "rho2=0.5,0.7").out)

    assert [row["point"] for row in first["rows"]] == [{"fairness.rho2": r} for r in (0.3, 0.5)]
    assert more["rows"][0] == first["rows"][1]
    assert (tmp_path / "out/rho2=0.5/dagsa/seed-0/summary.json").stat().st_mtime_ns == kept
    assert all((tmp_path / file).stat().st_size for file in more["files"])
    shown = fedroam(*words[:-1], "--over", "rho2=0.5,0.7")
    assert "0.7" in shown.out
    assert 'pandas.read_parquet("out/sweep.parquet")' in shown.err

    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.tex").write_text("precious")
    for arguments, message in (
        (["--over", "rho2=0.5", "--set", "rounds=4"], "holds another run"),
        (["--over", "rho2=0.5", "--out", "mine"], "mine exists and is no sweep"),
        (["--over", "threshold=raise"], "policy is swept, so --policy cannot be given too"),
        (["--over", "rho=1"], "rho: no such setting"),
        ([], "over: nothing to sweep"),
    ):
        done = fedroam(*words, *arguments)
        assert done.code == 2
        assert message in done.err
        assert done.err.count("\n") == 1
    assert [f.name for f in (tmp_path / "mine").iterdir()] == ["thesis.tex"]
