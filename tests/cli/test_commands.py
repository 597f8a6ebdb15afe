"""Every command: what it prints, its exit code, and one line for whatever goes wrong."""

import json
import subprocess
import sys

import numpy as np
import pytest

from fedroam.comparison.compare import DEFAULT_POLICIES
from fedroam.mobility import MOBILITY
from fedroam.radio import RADIO
from fedroam.runs import read_rounds
from fedroam.scheduling.interchange import read_problem, write_problem
from fedroam.scheduling.judge import judge
from fedroam.scheduling.policies import POLICIES
from fedroam.scheduling.problem import Schedule
from strategies import Kind, random_problem

SMALL = "stop.rounds = 5\nworld = { users = 9, stations = 3 }\n"

POLICY = """
from fedroam.scheduling.policies.best_station import All

class Fine:
    def __call__(self, problem, rng):
        return All()(problem, rng)

class Raises:
    def __call__(self, problem, rng):
        raise OSError("the dog\\nate it")

class Nonsense:
    def __call__(self, problem, rng):
        return 42

class Exits:
    def __call__(self, problem, rng):
        raise SystemExit(0)

def plain(problem, rng, extra=0):
    return All()(problem, rng)
"""

PLUGIN = """
from dataclasses import dataclass

@dataclass(frozen=True)
class Brought:
    \"\"\"Nobody knows.\"\"\"

    depth: int = 3
"""


@pytest.fixture
def config(tmp_path):
    """A small settings file in the working directory."""
    (tmp_path / "small.toml").write_text(SMALL)
    return "small.toml"


@pytest.fixture
def problem_file(tmp_path):
    """A problem of twelve users and three stations, some of them required."""
    problem = random_problem(np.random.default_rng(0), 12, 3, Kind(required=0.2))
    write_problem(problem, tmp_path / "problem.npz")
    return "problem.npz"


@pytest.fixture
def own_policy(tmp_path, monkeypatch):
    """A module of the user's own, under a name that no other test imports."""
    name = f"own_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text(POLICY)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield name
    sys.modules.pop(name, None)


def one_line(done, code):
    """One line on stderr, nothing on stdout, the exit code."""
    assert done.code == code, done
    assert done.out == ""
    assert done.err.startswith("fedroam: ")
    assert len(done.err.strip().splitlines()) == 1, done.err
    return done.err


BAD_RUN = {
    "missing": (["nowhere.toml"], "there is no file nowhere.toml"),
    "typo": (["smal.toml"], "there is no file smal.toml; did you mean 'small.toml'"),
    "directory": (["folder"], "folder is a folder, expected a settings file"),
    "broken": (["broken.toml"], "broken.toml is not valid TOML"),
    "unknown key": (["small.toml", "--set", "world.usres=3"], "did you mean 'users'"),
    "unknown key in file": (["unknown.toml"], "seeed: no such setting; did you mean 'seed'"),
    "wrong type": (["small.toml", "--set", "users=many"], "world.users is 'many', expected a who"),
    "no users": (["small.toml", "--set", "users=0"], "world.users is 0, expected >= 1"),
    "speed": (["small.toml", "--set", "speed_m_s=-1"], "mobility.speed_m_s is -1.0, expected >= 0"),
    "rho2": (["small.toml", "--set", "rho2=1.1"], "fairness.rho2 is 1.1, expected in [0, 1]"),
    "policy": (["small.toml", "--policy", "dagas"], "policy: no 'dagas'; did you mean 'dagsa'"),
    "own policy": (["small.toml", "-p", "no_module:X"], "cannot load 'no_module:X'"),
    "no equals": (["small.toml", "--set", "rounds"], "is not an assignment, expected key=value"),
    "seed": (["small.toml", "--seed", "-3"], "seed is -3, expected >= 0"),
    "no workers": (
        ["small.toml", "--workers", "0"],
        "0 is not in the range x>=1. (fedroam run --he",
    ),
    "option": (
        ["small.toml", "--polcy", "all"],
        "No such option '--polcy'. Did you mean '--policy'",
    ),
    "nothing": ([], "Missing argument 'CONFIG'. (fedroam run --help)"),
}


@pytest.mark.parametrize("flaw", BAD_RUN)
def test_bad_input_to_run_is_one_line_exit_2_and_nothing_written(fedroam, tmp_path, config, flaw):
    """The issue's list of mistakes: what was wrong, with the nearest right thing."""
    arguments, message = BAD_RUN[flaw]
    (tmp_path / "folder").mkdir()
    (tmp_path / "broken.toml").write_text("[world\n")
    (tmp_path / "unknown.toml").write_text("seeed = 1\n")
    before = sorted(tmp_path.rglob("*"))

    assert message in one_line(fedroam("run", *arguments), 2)
    assert sorted(tmp_path.rglob("*")) == before


def test_run_writes_a_folder_and_prints_its_summary_as_json(fedroam, tmp_path, config):
    """Stdout is one JSON object, with the documented keys, equal to summary.json."""
    done = fedroam("run", config, "--seed", 7, "--json")
    answer = json.loads(done.out)

    assert done.code == 0
    assert done.err == ""
    saved = json.loads((tmp_path / "runs/small/summary.json").read_text())
    assert answer == {"folder": "runs/small", **saved}
    assert (answer["seed"], answer["policy"], answer["rounds"]) == (7, "dagsa", 5)
    assert set(answer) >= {
        "time_s",
        "mean_round_s",
        "p95_round_s",
        "users_per_round",
        "users_per_s",
        "min_participation",
        "jain",
        "forced_per_round",
        "missed_per_round",
        "rounds_missing_rho1",
        "rounds_missing_rho2",
        "rounds_sha256",
    }
    assert read_rounds(tmp_path / "runs/small").num_rows == 5


def test_run_without_json_prints_a_table(fedroam, config):
    """For people: the same figures, on stdout."""
    done = fedroam("run", config)

    assert done.code == 0
    assert "mean round s" in done.out


def test_the_same_run_again_shows_its_summary_and_another_is_refused(fedroam, tmp_path, config):
    """A complete run is not played again; other settings are one line, exit 2, nothing changed."""
    first = json.loads(fedroam("run", config, "--json").out)
    again = fedroam("run", config, "--json")
    assert json.loads(again.out) == first
    assert "already holds this run" in again.err
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}

    message = one_line(fedroam("run", config, "--seed", 1, "--json"), 2)
    assert "runs/small holds another run (its settings differ in seed: 0 there, 1 here)" in message
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before


def test_a_run_is_repeated_from_its_folder(fedroam, config):
    """`fedroam run FOLDER/config.toml` goes to a folder beside it and gives the same digest."""
    first = json.loads(fedroam("run", config, "--policy", "random", "--json").out)
    again = json.loads(fedroam("run", "runs/small/config.toml", "--json").out)

    assert again["folder"] == "runs/small-again"
    assert again["rounds_sha256"] == first["rounds_sha256"]


def test_bug_a_folder_that_cannot_be_made_was_called_a_run_that_can_go_on(
    fedroam, tmp_path, config
):
    """Below a file there is no folder: a mistake of the user's, and nothing was recorded."""
    (tmp_path / "file").write_text("")

    for command in (["run"], ["compare", "--seeds", 1], ["sweep", "--over", "rho2=0.2,0.5"]):
        done = fedroam(command[0], config, *command[1:], "--out", "file/out")
        assert "file/out cannot be made: Not a directory" in one_line(done, 2)
        done = fedroam(command[0], config, *command[1:], "--out", "file")
        assert "file exists and is no " in one_line(done, 2)


def test_policies_of_ones_own_can_be_run_and_solve(fedroam, config, problem_file, own_policy):
    """A class or a plain function, by module and name."""
    for name in ("Fine", "plain"):
        policy = ("--policy", f"{own_policy}:{name}")
        done = fedroam("solve", problem_file, *policy, "--json")
        assert json.loads(done.out)["selected"] == 12
        done = fedroam("run", config, *policy, "--out", name, "--json")
        assert json.loads(done.out)["users_per_round"] == 9


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Raises", "policy Raises raised OSError"),
        ("Nonsense", "policy Nonsense answered a int"),
        ("Exits", "policy Exits raised SystemExit"),
        ("Absent", "AttributeError"),
    ],
)
def test_a_policy_that_misbehaves_is_named(
    fedroam, config, problem_file, own_policy, name, message
):
    """Under run and under solve: one line, exit 2, the culprit's name."""
    assert message in one_line(fedroam("run", config, "-p", f"{own_policy}:{name}"), 2)
    assert message in one_line(fedroam("solve", problem_file, "-p", f"{own_policy}:{name}"), 2)


PLUG_INS = """
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fedroam import RandomDirection, UrbanMacro


@dataclass(frozen=True)
class Stumbles(RandomDirection):
    def advance(self, motion, area_m, now_s, round, draw):
        if round == 3 and Path("fail").exists():
            raise RuntimeError("lost a shoe")
        return super().advance(motion, area_m, now_s, round, draw)


@dataclass(frozen=True)
class Fades(UrbanMacro):
    def efficiency(self, distance_m, draws):
        worth = super().efficiency(distance_m, draws)
        return worth * np.nan if draws.round == 3 and Path("fail").exists() else worth
"""


@pytest.mark.parametrize(
    ("family", "name", "message"),
    [
        ("mobility", "Stumbles", "mobility Stumbles raised RuntimeError in round 2: lost a shoe"),
        ("radio", "Fades", "radio Fades answered nan bit/s/Hz in round 3 for user 0"),
    ],
)
def test_a_radio_or_mobility_that_misbehaves_is_named_and_the_folder_stays_usable(
    fedroam, tmp_path, config, family, name, message
):
    """One line, exit 2; with the plug-in mended the same command ends the run."""
    (tmp_path / f"plug_{family}.py").write_text(PLUG_INS)
    arguments = [config, "--set", f"{family}=plug_{family}:{name}"]
    (tmp_path / "fail").touch()

    assert message in one_line(fedroam("run", *arguments), 2)
    (tmp_path / "fail").unlink()
    assert json.loads(fedroam("run", *arguments, "--json").out)["rounds"] == 5


@pytest.mark.parametrize("name", DEFAULT_POLICIES)
def test_solve_answers_a_problem(fedroam, tmp_path, problem_file, name):
    """The JSON has the documented keys, and its schedule takes as long as it says."""
    done = fedroam("solve", problem_file, "--policy", name, "--seed", 3, "--json")
    answer = json.loads(done.out)
    schedule = Schedule(answer["schedule"]["station"], answer["schedule"]["bandwidth_hz"])
    verdict = judge(read_problem(tmp_path / problem_file), schedule)

    assert done.code == 0
    assert done.err == ""
    if verdict.n_selected:
        assert answer["round_s"] == verdict.round_s
    assert answer["selected"] == verdict.n_selected
    assert answer["is_lawful"] == verdict.is_lawful
    assert answer["wall_s"] >= 0


def test_solve_reads_json_takes_options_and_writes_npz(fedroam, tmp_path, problem_file):
    """The same problem in both formats; --set reaches the policy; --out holds the schedule."""
    write_problem(read_problem(tmp_path / problem_file), tmp_path / "p.json")
    options = ["--policy", "dagsa", "--set", "threshold=raise", "--json"]
    one = json.loads(fedroam("solve", "p.json", *options).out)
    two = json.loads(fedroam("solve", problem_file, *options, "--out", "deep/s.npz").out)

    assert "schedule" not in two
    assert two["out"] == "deep/s.npz"
    with np.load(tmp_path / "deep/s.npz") as file:
        assert file["station"].tolist() == one["schedule"]["station"]
        assert file["bandwidth_hz"].tolist() == one["schedule"]["bandwidth_hz"]
    table = fedroam("solve", problem_file)
    assert table.code == 0
    assert "round_s" in table.out


def test_bad_input_to_solve_is_one_line_and_exit_2(fedroam, tmp_path, problem_file):
    """Files, fields, policies, options and limits that are not there; a problem without answer."""
    (tmp_path / "bad.json").write_text('{"indptr": [0, 1]}')
    (tmp_path / "text.npz").write_text("hello")
    (tmp_path / "far.json").write_text(
        '{"indptr": [0, 1, 1], "station": [0], "efficiency": [1.0], "compute_s": [0, 0],'
        '"capacity_hz": [1.0], "payload_bit": 1, "required": [false, false], "min_selected": 2}'
    )
    for arguments, message in (
        (["nowhere.npz"], "there is no file nowhere.npz"),
        (["."], "is a folder, expected a problem file"),
        (["bad.json"], "bad.json: station is missing"),
        (["text.npz"], "text.npz is not a problem file"),
        ([problem_file, "-p", "dagas"], "policy: no 'dagas'; did you mean 'dagsa'"),
        ([problem_file, "--set", "tresh=1"], "policy.tresh: no such option of 'dagsa'"),
        ([problem_file, "--time-limit", "1"], "policy 'dagsa' takes no time limit"),
        (["far.json"], "only 1 users can reach a station, 2 must take part"),
    ):
        assert message in one_line(fedroam("solve", *arguments), 2)


def test_list_names_everything_with_options(fedroam):
    """One JSON object: families, and of each member its name, meaning and options."""
    found = json.loads(fedroam("list", "--json").out)

    for family, members in (("policies", POLICIES), ("mobility", MOBILITY), ("radio", RADIO)):
        rows = {row["name"]: row for row in found[family]}
        assert set(rows) == set(members)
        assert all(row["what"] for row in rows.values())
        assert json.loads(fedroam("list", family, "--json").out) == {family: found[family]}
    dagsa = next(row for row in found["policies"] if row["name"] == "dagsa")
    assert dagsa["options"] == {"threshold": "assign", "overshoot": True}
    low = next(row for row in found["policies"] if row["name"] == "fedcs-low")
    assert low["options"] == {"threshold_s": 0.6}
    pictures = {row["name"]: row["what"] for row in found["datasets"]}
    assert pictures["mnist"].startswith("MNIST handwritten digits: 60,000 to train and 10,000")
    networks = {row["name"]: row["what"] for row in found["models"]}
    assert "21,840 (images 1x28x28)" in networks["cnn"]
    assert "62,006 (images 3x32x32)" in networks["lenet"]
    assert "did you mean 'policies'" in one_line(fedroam("list", "polices"), 2)


def test_bug_list_shows_every_name_and_option_whole(fedroam):
    """Found by use: two columns that never gave way cut names to ``fashi…``."""
    found = json.loads(fedroam("list", "--json").out)
    shown = fedroam("list").out

    assert "…" not in shown
    words = set(shown.replace(",", " ").split())
    for row in (row for rows in found.values() for row in rows):
        assert row["name"] in words
        assert {f"{key}={value}" for key, value in row["options"].items()} <= words


def test_list_shows_what_other_packages_bring(fedroam, tmp_path, monkeypatch):
    """With whose it is; what cannot be loaded says why."""
    (tmp_path / "brought_20.py").write_text(PLUGIN)
    info = tmp_path / "brought_20-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: brought-20\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[fedroam.policy]\nbrought = brought_20:Brought\nlost = brought_20:Lost\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    rows = {row["name"]: row for row in json.loads(fedroam("list", "--json").out)["policies"]}

    assert rows["brought"] == {
        "name": "brought",
        "what": "Nobody knows. [from brought-20: brought_20:Brought]",
        "options": {"depth": 3},
    }
    assert rows["lost"]["what"].startswith("policy: cannot load 'lost'")


def test_compare_prints_and_writes_a_comparison(fedroam, tmp_path, config):
    """JSON with intervals and paired differences; a tidy table and a figure in the folder."""
    arguments = ["-p", "dagsa", "-p", "all", "--seeds", 2, "--workers", 1, "--json"]
    done = fedroam("compare", config, *arguments)
    answer = json.loads(done.out)

    assert done.code == 0, done.err
    assert answer["seeds"] == [0, 1]
    assert list(answer["policies"]) == ["dagsa", "all"]
    mean = answer["policies"]["all"]["mean_round_s"]
    assert mean["low"] <= mean["mean"] <= mean["high"]
    assert mean["mean"] == pytest.approx(sum(mean["per_seed"]) / 2)
    assert answer["policies"]["all"]["users_per_round"]["mean"] == 9
    assert "mean_round_s_minus_dagsa" in answer["policies"]["all"]
    assert "same draws of directions" in answer["paired"]
    for file in answer["files"]:
        assert (tmp_path / file).stat().st_size > 0
    again = fedroam("compare", config, *arguments)
    assert json.loads(again.out) == answer


def test_compare_with_one_seed_has_no_interval(fedroam, config):
    """Nothing is known of the spread: null in JSON, which knows no infinity."""
    done = fedroam("compare", config, "-p", "all", "--seeds", 1, "--workers", 1, "--json")
    mean = json.loads(done.out)["policies"]["all"]["mean_round_s"]

    assert mean["low"] is mean["high"] is None


def test_bad_input_to_compare_is_one_line_and_exit_2(fedroam, tmp_path, config):
    """Policies, labels and tables that cannot be."""
    (tmp_path / "labels.toml").write_text('compare = { policies = ["all"], labels = ["a", "b"] }')
    (tmp_path / "number.toml").write_text("compare = 3")
    for arguments, message in (
        ([config, "-p", "al"], "policy: no 'al'; did you mean 'all'"),
        (["labels.toml"], "compare.labels has 2 entries, expected 1, one a policy"),
        (["number.toml", "-p", "all"], "compare is 3, expected a table"),
        (["number.toml", "--seeds", "2"], "compare is 3, expected a table"),
        (["nowhere.toml"], "there is no file nowhere.toml"),
    ):
        before = sorted(tmp_path.rglob("*"))
        assert message in one_line(fedroam("compare", *arguments), 2)
        assert sorted(tmp_path.rglob("*")) == before


def test_a_comparison_can_be_extended_and_nothing_else_is_mixed_in(fedroam, tmp_path, config):
    """More policies and seeds join; other settings, runs and files are refused, untouched."""
    two = ["-p", "dagsa", "-p", "all", "--workers", 1, "--out", "out", "--json"]
    first = json.loads(fedroam("compare", config, *two, "--seeds", 1).out)
    more = json.loads(fedroam("compare", config, "-p", "random", *two, "--seeds", 2).out)

    assert list(more["policies"]) == ["random", "dagsa", "all"]
    for policy in ("dagsa", "all"):
        seeds = [answer["policies"][policy]["jain"]["per_seed"] for answer in (first, more)]
        assert seeds[0] == seeds[1][:1]
    assert fedroam("compare", "out/compare.toml", *two, "--seeds", 1).code == 0
    fedroam("run", config, "--out", "run")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("precious")
    (tmp_path / "file").write_text("precious")
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    other = "out holds another comparison (its settings differ in "
    for arguments, message in (
        (["--set", "rounds=6"], other + "stop.rounds: 5 there, 6 here); choose another --out"),
        (["--set", "seed=1"], other + "seed: 0 there, 1 here)"),
        (["--set", 'compare.policies=[{name="dagsa", threshold="raise"}]'], "out/dagsa/seed-0 hol"),
        (["--out", "run"], "run exists and is no comparison; choose another --out"),
        (["--out", "mine"], "mine exists and is no comparison; choose another --out"),
        (["--out", "file"], "file exists and is no comparison; choose another --out"),
    ):
        assert message in one_line(fedroam("compare", config, *two, *arguments), 2)
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before


def test_bug_a_comparison_that_cannot_be_written_showed_a_traceback(fedroam, tmp_path, config):
    """One line, exit 1: what is in the way, and that the rounds are safe."""
    arguments = ["compare", config, "-p", "all", "--seeds", 1, "--workers", 1, "--out", "out"]
    for name in ("comparison.csv", "round-lengths.svg"):
        (tmp_path / "out" / name).mkdir(parents=True)
        (tmp_path / "out" / "compare.toml").write_text(SMALL)
        assert "the rounds recorded so far are safe" in one_line(fedroam(*arguments), 1)
        (tmp_path / "out" / name).rmdir()
    assert fedroam(*arguments).code == 0


def test_compare_without_json_prints_a_table(fedroam, config):
    """One row a policy; what is common to all is said on stderr."""
    done = fedroam("compare", config, "-p", "all", "-p", "random", "--seeds", 2, "--workers", 1)

    assert done.code == 0
    assert "random" in done.out
    assert "under one seed all policies meet the same users" in done.err


def test_version_and_help_are_printed(fedroam):
    """Exit 0; help names the commands."""
    assert fedroam("--version").out.strip()
    listed = fedroam("--help").out
    for command in ("run", "compare", "solve", "list", "demo"):
        assert command in listed


def test_output_that_nobody_reads_any_more_is_no_failure():
    """`fedroam list | head -1` ends quietly."""
    command = f"{sys.executable} -m fedroam list --json | head -c 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0
    assert done.stderr == ""
