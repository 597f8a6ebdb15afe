"""Settings: what is written is read back, and everything else is refused by name."""

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedroam.errors import ConfigError
from fedroam.mobility import RandomDirection
from fedroam.runs.settings import Settings, assign, parse, read_settings, to_table, to_toml
from fedroam.scheduling.policies import POLICIES
from fedroam.scheduling.policies.dagsa import Dagsa
from fedroam.scheduling.policies.fedcs import FedCS


def assigned(*assignments, **table):
    """Settings from a table and assignments on top."""
    for assignment in assignments:
        assign(table, assignment)
    return parse(table)


@st.composite
def tables(draw):
    """Settings tables with some values given and others not."""
    options = {
        "name": st.text(st.characters(categories=["L", "N", "P", "Zs"]), max_size=10),
        "seed": st.integers(0, 2**40),
        "stop": st.fixed_dictionaries(
            {"rounds": st.integers(1, 10**6)}, optional={"time_s": st.floats(1e-3, 1e9)}
        ),
        "world": st.fixed_dictionaries(
            {},
            optional={
                "users": st.integers(1, 10**6),
                "area_m": st.floats(1e-3, 1e6),
                "payload_bit": st.floats(1.0, 1e12),
                "compute_s": st.tuples(st.floats(0, 1), st.floats(1, 2)).map(list),
            },
        ),
        "mobility": st.sampled_from(
            ["still", {"turn_every": 3}, {"turn_every": "never"}, {"name": "random-waypoint"}]
        ),
        "fairness": st.fixed_dictionaries({}, optional={"rho1": st.floats(0, 1)}),
        "policy": st.sampled_from(
            [*POLICIES, {"name": "dagsa", "threshold": "raise"}, {"name": "fedcs-low"}]
        ),
        "compare": st.sampled_from([{"seeds": 2}, {"policies": ["all", {"name": "fedcs"}]}]),
    }
    return draw(st.fixed_dictionaries({}, optional=options))


@given(table=tables())
@settings(max_examples=150)
def test_a_settings_file_gives_back_equal_settings(table):
    """Settings -> TOML -> settings is the identity, and the file is complete."""
    given_ = parse(table)
    text = to_toml(given_)

    assert parse(tomllib.loads(text)) == given_
    assert to_toml(parse(tomllib.loads(text))) == text


def test_defaults_are_the_papers_scenario():
    """50 users, 8 stations, 1 km, 20 m/s, a new direction every round, rho 0.1 and 0.5."""
    table = to_table(Settings())

    assert (table["world"]["users"], table["world"]["stations"]) == (50, 8)
    assert table["world"]["area_m"] == 1000.0
    assert table["mobility"] == {
        "name": "random-direction",
        "speed_m_s": 20.0,
        "turn_every": "round",
    }
    assert table["fairness"] == {"rho1": 0.1, "rho2": 0.5, "reading": "strict"}
    assert table["policy"] == {"name": "dagsa", "threshold": "assign", "overshoot": True}
    assert table["radio"]["min_distance_m"] == 1.0


def test_names_become_objects_with_their_options():
    """A name alone, or a table with a name, or a table for the default."""
    assert parse({"policy": "fedcs-low"}).policy.make() == FedCS(0.6)
    table = {"policy": {"name": "fedcs-low", "threshold_s": 0.7}}
    assert parse(table).policy.make() == FedCS(0.7)
    assert parse({"policy": {"threshold": "raise"}}).policy.make() == Dagsa("raise")
    assert parse({"mobility": {"turn_every": 5}}).scenario().mobility == RandomDirection(20.0, 5.0)


@pytest.mark.parametrize(
    ("assignment", "read"),
    [
        ("rounds=20", lambda s: s.stop.rounds == 20),
        ("stop.time_s = 2.5", lambda s: s.stop.time_s == 2.5),
        ("users=9", lambda s: s.world.users == 9),
        ("world.users=9", lambda s: s.world.users == 9),
        ("learning.server=momentum", lambda s: s.learning.server.name == "momentum"),
        ("speed_m_s=0", lambda s: s.mobility.options["speed_m_s"] == 0.0),
        ("turn_every=never", lambda s: s.mobility.options["turn_every"] == "never"),
        ('turn_every="never"', lambda s: s.mobility.options["turn_every"] == "never"),
        ("turn_every=3", lambda s: s.mobility.options["turn_every"] == 3.0),
        ("policy=all", lambda s: s.policy.name == "all"),
        ("policy.name=all", lambda s: s.policy.name == "all"),
        ("threshold=raise", lambda s: s.policy.options["threshold"] == "raise"),
        ("compute_s=[0.2, 0.3]", lambda s: s.world.compute_s == (0.2, 0.3)),
        ("record.detail=false", lambda s: s.record.detail is False),
        ("name=a=b", lambda s: s.name == "a=b"),
    ],
)
def test_any_value_can_be_assigned(assignment, read):
    """By its path, or by its last part where that is unique; text needs no quotes."""
    assert read(assigned(assignment))


def test_as_much_of_the_end_of_a_path_as_is_unique_will_do():
    """``lr`` is the users' or the server's; ``server.lr`` is the server's."""
    learning = {"learning": {"dataset": "synthetic", "server": "momentum"}}

    read = assigned("server.lr=0.5", "local.lr=0.25", **learning).learning
    assert (read.server.options["lr"], read.local.lr) == (0.5, 0.25)
    with pytest.raises(ConfigError, match=r"lr could be any of learning.local.lr, learning.server"):
        assigned("lr=1", **learning)


def test_another_plug_in_starts_from_its_own_defaults():
    """Options of the one it replaces go; the same name keeps its options."""
    fast = {"mobility": {"name": "random-direction", "speed_m_s": 3.0}}

    assert assigned("mobility=still", **fast).mobility.options == {}
    kept = assigned("mobility=random-direction", **fast)
    assert kept.mobility.options["speed_m_s"] == 3.0
    policy = assigned('policy="fedcs"', "threshold_s=0.3").policy
    assert policy.make() == FedCS(0.3)


BAD = {
    "unknown table": ({"wrld": {}}, "wrld: no such setting; did you mean 'world'"),
    "unknown key": ({"world": {"user": 3}}, "world.user: no such setting; did you mean 'users'"),
    "unknown option": (
        {"policy": {"name": "dagsa", "treshold": "raise"}},
        "policy.treshold: no such option of 'dagsa'; did you mean 'threshold'",
    ),
    "no options": ({"mobility": {"name": "still", "speed_m_s": 1}}, "it has no options"),
    "unknown policy": ({"policy": "dagse"}, "policy: no 'dagse'; did you mean 'dagsa'"),
    "unknown radio": ({"radio": "urban"}, "radio: no 'urban'; did you mean 'urban-macro'"),
    "text for number": ({"world": {"users": "50"}}, "world.users is '50', expected a whole number"),
    "real for whole": ({"world": {"users": 5.5}}, r"world.users is 5\.5, expected a whole number"),
    "bool for whole": ({"seed": True}, "seed is True, expected a whole number"),
    "number for text": ({"name": 3}, "name is 3, expected text"),
    "number for table": ({"world": 3}, "world is 3, expected a table"),
    "list for policy": ({"policy": ["a"]}, "policy is .*, expected a name or a table with a name"),
    "name not text": ({"policy": {"name": 3}}, "expected a name or a table with a name"),
    "one of two": ({"world": {"compute_s": [0.1]}}, r"world.compute_s is \[0\.1\], expected a li"),
    "no users": ({"world": {"users": 0}}, "world.users is 0, expected >= 1"),
    "speed": ({"mobility": {"speed_m_s": -1}}, r"mobility.speed_m_s is -1\.0, expected >= 0"),
    "turn": ({"mobility": {"turn_every": "often"}}, "mobility.turn_every is 'often', expected"),
    "fading": ({"radio": {"fading": "rice"}}, "radio.fading is 'rice', expected \"rayleigh\" or"),
    "rho2": ({"fairness": {"rho2": 1.5}}, r"fairness.rho2 is 1\.5, expected in \[0, 1\]"),
    "rho nan": ({"fairness": {"rho1": float("nan")}}, "fairness.rho1 is nan"),
    "rounds": ({"stop": {"rounds": 0}}, "stop.rounds is 0, expected >= 1"),
    "never ends": ({"stop": {}}, "neither rounds nor time_s is set, so the run would never end"),
    "endless": ({"stop": {"time_s": float("inf")}}, "stop.time_s is inf"),
    "seed": ({"seed": -1}, "seed is -1, expected >= 0"),
    "seeds": ({"compare": {"seeds": 0}}, "compare.seeds is 0, expected >= 1"),
    "policies": ({"compare": {"policies": "all"}}, "compare.policies is 'all', expected a list"),
    "compared": ({"compare": {"policies": ["al"]}}, "policy: no 'al'; did you mean 'all'"),
    "detail": ({"record": {"detail": "some"}}, "record.detail is 'some', expected true or false"),
    "module": ({"policy": "no_such_module:X"}, "cannot load 'no_such_module:X': ModuleNotFound"),
    "attribute": ({"policy": "fedroam.errors:X"}, "cannot load 'fedroam.errors:X': AttributeErr"),
}


@pytest.mark.parametrize("flaw", BAD)
def test_a_bad_setting_is_refused_with_its_path(flaw):
    """The message has the path, the value, what was expected or the nearest choice; one line."""
    table, message = BAD[flaw]

    with pytest.raises(ConfigError, match=message) as refusal:
        parse(table)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("rounds", "'rounds' is not an assignment, expected key=value"),
        ("=3", "'=3' is not an assignment"),
        ("usrs=3", "usrs: no such setting; did you mean 'users'"),
        ("world.usrs=3", "world.usrs: no such setting; did you mean 'users'"),
        ("name.x=3", "name.x: no such setting|name is .*, expected"),
        ("rounds=many", "stop.rounds is 'many', expected a whole number"),
        ("policy=dags", "policy: no 'dags'; did you mean 'dagsa'"),
    ],
)
def test_a_bad_assignment_is_refused(assignment, message):
    """The key by its nearest name, the value by what was expected."""
    with pytest.raises(ConfigError, match=message):
        assigned(assignment)


def test_a_value_below_a_number_is_refused():
    """World = 3 has no users."""
    with pytest.raises(ConfigError, match="world is 3, expected a table"):
        assigned("world.users=3", world=3)


def test_files_that_are_no_settings_are_refused(tmp_path):
    """Missing, a folder, not TOML, not text: each its own word."""
    (tmp_path / "good.toml").write_text("seed = 1")
    (tmp_path / "broken.toml").write_text("seed = ")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    run = tmp_path / "run"
    run.mkdir()
    (run / "config.toml").write_text("seed = 2")

    assert read_settings(tmp_path / "good.toml").seed == 1
    for name, message in (
        ("goood.toml", "there is no file .*goood.toml; did you mean 'good.toml'"),
        ("broken.toml", "broken.toml is not valid TOML: Invalid value"),
        ("binary.toml", "binary.toml is not a text file"),
        ("run", "is a folder, expected a settings file .*; did you mean .*config.toml"),
        ("no/where.toml", "there is no file"),
    ):
        with pytest.raises(ConfigError, match=message):
            read_settings(tmp_path / name)
