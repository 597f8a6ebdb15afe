"""Names become objects, or the message says what to type instead."""

import sys

import pytest

from fedroam.errors import ConfigError
from fedroam.plugins import resolve
from fedroam.scheduling.policies import POLICIES
from fedroam.scheduling.policies.dagsa import Dagsa


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working directory whose modules are forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.mark.parametrize("name", ["dagsa", "fedroam.scheduling.policies.dagsa:Dagsa"])
def test_a_name_and_a_path_find_the_same_policy(name):
    """Built-ins have names; everything importable has a path."""
    assert resolve("policies", name, POLICIES) is Dagsa


def test_a_module_in_the_working_directory_needs_no_installation(here):
    """A file of one's own is found by its name."""
    (here / "of_my_own_17.py").write_text("class Mine: pass\n")

    assert resolve("policies", "of_my_own_17:Mine", POLICIES).__name__ == "Mine"


def install(folder, entries):
    """What pip would leave of a package with these entry points."""
    (folder / "stranger_18.py").write_text("class Theirs: pass\n")
    info = folder / "stranger_18-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger-18\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[fedroam.policies]\n{entries}\n")


def test_an_entry_point_of_another_package_is_found(here, monkeypatch):
    """One line in its pyproject gives a policy a name."""
    install(here, "theirs = stranger_18:Theirs")
    monkeypatch.syspath_prepend(str(here))

    assert resolve("policies", "theirs", POLICIES).__name__ == "Theirs"
    with pytest.raises(ConfigError, match="no 'their'; did you mean 'theirs'"):
        resolve("policies", "their", POLICIES)


def test_bug_two_packages_that_claim_one_name_are_both_named(here, monkeypatch):
    """Found by review: the last one won in silence; one package met twice is no quarrel."""
    install(here, "theirs = stranger_18:Theirs\nalone = stranger_18:Theirs")
    (here / "again").mkdir()
    install(here / "again", "alone = stranger_18:Theirs")
    rival = here / "rival-2.0.dist-info"
    rival.mkdir()
    (rival / "METADATA").write_text("Metadata-Version: 2.1\nName: rival\nVersion: 2.0\n")
    (rival / "entry_points.txt").write_text("[fedroam.policies]\ntheirs = rival:Best\n")
    monkeypatch.syspath_prepend(str(here / "again"))
    monkeypatch.syspath_prepend(str(here))

    message = "'theirs' is claimed by rival .rival:Best. and stranger-18 .stranger_18:Theirs."
    with pytest.raises(ConfigError, match=message):
        resolve("policies", "theirs", POLICIES)
    assert resolve("policies", "alone", POLICIES).__name__ == "Theirs"


def test_an_entry_point_that_cannot_be_loaded_is_told(here, monkeypatch):
    """Not passed over in silence."""
    install(here, "broken = stranger_18:Nothing")
    monkeypatch.syspath_prepend(str(here))

    with pytest.raises(ConfigError, match="cannot load 'broken'"):
        resolve("policies", "broken", POLICIES)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("dagse", "policies: no 'dagse'; did you mean 'dagsa'"),
        ("zzz", "policies: no 'zzz'; known: .*dagsa"),
        ("no_such_package:X", "cannot load .* ModuleNotFoundError: No module named"),
        ("fedroam.errors:Nope", "AttributeError: .* no attribute 'Nope'"),
        (":X", "cannot load ':X': ValueError"),
    ],
)
def test_a_wrong_name_says_what_to_do(name, message):
    """The message carries the cure."""
    with pytest.raises(ConfigError, match=message):
        resolve("policies", name, POLICIES)


def test_a_module_that_fails_while_it_loads_is_told(here):
    """Its own error is in the message."""
    (here / "broken_19.py").write_text("1 / 0\n")

    with pytest.raises(ConfigError, match="'broken_19:X': ZeroDivisionError: division by zero"):
        resolve("policies", "broken_19:X", POLICIES)
