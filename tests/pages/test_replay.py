"""What the page is made of is what the run's folder says; damaged folders are named in a line."""

import base64
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fedroam.errors import ConfigError
from fedroam.pages import page_of, read_replay
from fedroam.pages.packing import as_script, pack
from fedroam.plots import COLOURS
from fedroam.runs import read_rounds, read_users
from fedroam.runs.settings import parse
from fedroam.simulation.scenario import lay_out
from looking import LEARNING, WORLD


def unpacked(packed):
    """The arrays as the page's script reads them."""
    block = base64.b64decode(packed["data"])
    return {
        name: np.frombuffer(block, a["type"], int(np.prod(a["shape"])), a["at"]).reshape(a["shape"])
        for name, a in packed["arrays"].items()
    }


def test_the_page_holds_the_tables(learns):
    """Figures of rounds to the last bit, places to 15 mm, the chosen as they were."""
    rounds, users = read_rounds(learns), read_users(learns)
    arrays = unpacked(pack(read_replay(learns)))
    shape = (12, WORLD["world"]["users"])
    ground = lay_out(parse(WORLD).world, 0)

    for name in ("start_s", "length_s", "bound_s", "accuracy", "n_selected", "straggler"):
        expected = np.array(rounds[name].to_pylist(), float)
        np.testing.assert_array_equal(arrays[name], expected)
    np.testing.assert_allclose(
        arrays["x"] / 65535 * 1000, users["x_m"].to_numpy().reshape(shape), atol=0.0077
    )
    np.testing.assert_array_equal(arrays["station"], users["station"].to_numpy().reshape(shape))
    required = np.unpackbits(arrays["required"], axis=1, bitorder="little", count=shape[1])
    np.testing.assert_array_equal(
        required.astype(bool), users["is_required"].to_numpy(zero_copy_only=False).reshape(shape)
    )
    finish_s = users["finish_s"].to_numpy()
    np.testing.assert_array_equal(
        arrays["finish_s"], finish_s[np.isfinite(finish_s)].astype(np.float32)
    )
    np.testing.assert_allclose(arrays["station_m"], ground.station_m, rtol=1e-6)


def test_some_rounds_are_a_part_of_all(learns):
    """Cutting and putting together again changes nothing."""
    replay = read_replay(learns)
    low, high = unpacked(pack(replay.between(0, 5))), unpacked(pack(replay.since(5)))
    once = ("station_m", "capacity_hz", "ready_s")
    for name, values in replay.arrays.items():
        whole = low[name] if name in once else np.concatenate([low[name], high[name]])
        np.testing.assert_array_equal(whole, values)


@pytest.mark.parametrize("text", ["</script>", "<!--", "]]>", "a&b", "\u2028", "\U0001f600", "\\"])
def test_json_in_a_script_element_ends_nothing(text):
    """Nothing that a browser reads as markup, and the same value when it is read back."""
    written = as_script({"name": text})

    assert json.loads(written) == {"name": text}
    assert written.isascii()
    assert not set(written) & set("<>&")


def test_the_colours_of_runs_are_those_of_the_figures():
    """One palette in page and plots."""
    from fedroam.pages.html import part

    for i, colour in enumerate(COLOURS):
        assert f"--run-{i}: light-dark({colour.lower()}," in part("colours.css")


def rewrite(path, change):
    """Change a table in place."""
    pq.write_table(change(pq.read_table(path)), path)


def put(table, name, values):
    """The table with other values in a column."""
    return table.set_column(table.column_names.index(name), name, pa.array(values))


FLAWS = {
    "no folder": (lambda f: None, "there is no run folder"),
    "no settings": (lambda f: (f / "config.toml").unlink(), "is no run folder (no config.toml"),
    "bad settings": (
        lambda f: (f / "config.toml").write_text("[world]\nusers = -1"),
        "world.users is -1, expected >= 1",
    ),
    "cut file": (
        lambda f: (f / "rounds.parquet").write_bytes(b"PAR1"),
        "readable table of rounds",
    ),
    "other users": (
        lambda f: (f / "config.toml").write_text("[world]\nusers = 14\nstations = 3"),
        "readable table of users",
    ),
    "other stations": (
        lambda f: (f / "config.toml").write_text("[world]\nusers = 15\nstations = 4"),
        "station_load is not what a run writes",
    ),
    "no column": (
        lambda f: rewrite(f / "rounds.parquet", lambda t: t.drop_columns(["length_s"])),
        "no length_s",
    ),
    "no length": (
        lambda f: rewrite(f / "rounds.parquet", lambda t: put(t, "length_s", [np.nan] * len(t))),
        "length_s is not what a run writes",
    ),
    "out of the area": (
        lambda f: rewrite(f / "users.parquet", lambda t: put(t, "x_m", [1e6] * len(t))),
        "x_m or y_m is not what a run writes",
    ),
    "no such station": (
        lambda f: rewrite(
            f / "users.parquet", lambda t: put(t, "station", np.full(len(t), 3, np.int32))
        ),
        "station is not what a run writes",
    ),
}


@pytest.mark.parametrize("flaw", FLAWS)
def test_a_damaged_folder_is_one_line_exit_2(fedroam, learns, tmp_path, flaw):
    """Whatever is wrong with it: what, where, no traceback, no page."""
    import shutil

    folder = tmp_path / "damaged"
    if flaw != "no folder":
        shutil.copytree(learns, folder)
    spoil, message = FLAWS[flaw]
    spoil(folder)

    done = fedroam("view", folder, "--no-open")
    assert done.code == 2, done
    assert message in done.err
    assert "damaged" in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert done.out == ""
    assert not (folder / "view.html").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rounds", "5"], "rounds is '5', expected FIRST:END within 0:12"),
        (["--rounds", "9:3"], "rounds is '9:3', expected FIRST:END"),
        (["--out", "."], "is a folder, expected a file"),
        (["--live", "--out", "x.html"], "--live follows one run, and writes no page"),
    ],
)
def test_wrong_options_are_one_line_exit_2(fedroam, learns, arguments, message):
    """What was given, what is expected."""
    done = fedroam("view", learns, *arguments, "--no-open")
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert len(done.err.strip().splitlines()) == 1


def test_a_page_that_no_browser_would_open_is_refused(learns, monkeypatch):
    """The size is known before it is written, and which rounds would fit."""
    monkeypatch.setattr("fedroam.pages.view.LARGEST", 2_000)
    with pytest.raises(ConfigError, match=r"about 0 MB, .*e\.g\. --rounds 0:\d+"):
        page_of([read_replay(learns)])


def test_somebody_elses_policy_is_not_loaded(fedroam, learns, tmp_path):
    """A run is looked at without the code that its settings name."""
    import shutil

    shutil.copytree(learns, tmp_path / "theirs")
    text = (tmp_path / "theirs/config.toml").read_text()
    assert 'name = "dagsa"' in text
    (tmp_path / "theirs/config.toml").write_text(text.replace('"dagsa"', '"antigravity:X"'))

    assert read_replay(tmp_path / "theirs").about["policy"] == "antigravity:X"


def test_a_comparison_shows_the_first_run_of_each_policy(fedroam, tmp_path):
    """In the order in which they were compared; the same label twice is told apart."""
    (tmp_path / "small.toml").write_text("stop.rounds = 3\nworld = { users = 9, stations = 3 }\n")
    policies = ["-p", "random", "-p", "all", "-p", "dagsa"]
    fedroam("compare", "small.toml", *policies, "--seeds", 2, "--workers", 1, "--out", "cmp")

    done = fedroam("view", "cmp", "--no-open", "--json")
    assert json.loads(done.out)["runs"] == ["cmp"]
    title = (tmp_path / "cmp/view.html").read_text().split("<title>")[1].split("</title>")[0]
    assert title == "fedroam: random · all · dagsa"
    runs = ["cmp/all/seed-0", "cmp/all/seed-1"]
    fedroam("view", *runs, "--no-open")
    title = (tmp_path / "view.html").read_text().split("<title>")[1].split("</title>")[0]
    assert title == "fedroam: all (seed 0) · all (seed 1)"


def test_the_demo_ends_with_a_page_of_all_its_policies(fedroam, tmp_path, monkeypatch):
    """It is written, named on stderr, and opened only where somebody sits at a screen."""
    from fedroam.cli import demo

    small = demo.DEMO | {
        "stop": {"rounds": 2},
        "evaluation": {"every_rounds": 1},
        "learning": LEARNING,
        "compare": {"policies": ["dagsa", "random"], "seeds": 2},
    }
    opened = []
    monkeypatch.setattr(demo, "DEMO", small)
    monkeypatch.setattr("webbrowser.open", opened.append)
    done = fedroam("demo", "--workers", 1, "--out", "d")
    page = (tmp_path / "d/view.html").read_text()

    assert done.code == 0
    assert "wrote d/view.html" in done.err
    assert "<title>fedroam: dagsa · random</title>" in page
    assert opened == []
    done = fedroam("demo", "--workers", 1, "--out", "d", "--json")
    assert json.loads(done.out)["page"] == "d/view.html"
    assert read_replay(tmp_path / "d/dagsa/seed-0").arrays["bound_s"].min() > 0
