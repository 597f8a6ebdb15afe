"""One tree of errors, and messages that name the nearest right thing."""

import pickle
import re
from pathlib import Path

import pytest

from fedroam import errors
from fedroam.cli import app
from fedroam.errors import (
    ConfigError,
    ContractError,
    DamagedError,
    DivergedError,
    FedroamError,
    InfeasibleError,
    SourceError,
    StorageError,
    TrainingError,
    WorkerError,
    nearest,
    require,
)


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (ConfigError, ValueError),
        (ContractError, TypeError),
        (InfeasibleError, Exception),
        (TrainingError, Exception),
        (DivergedError, Exception),
        (WorkerError, Exception),
        (StorageError, OSError),
        (SourceError, StorageError),
        (DamagedError, StorageError),
    ],
)
def test_every_error_is_of_the_tree_and_of_its_builtin_kind(kind, builtin):
    """Catch FedroamError for all; and errors travel between processes whole."""
    error = kind("what happened")

    assert isinstance(error, FedroamError)
    assert isinstance(error, builtin)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert str(again) == "what happened"


def test_the_tree_that_is_drawn_is_the_tree_that_there_is():
    """Each error of the package is defined in this one file and listed at its top."""
    package = Path(errors.__file__).parent
    elsewhere = [
        p for p in package.rglob("*.py") if re.search(r"^class \w+Error\(", p.read_text(), re.M)
    ]
    drawn = re.findall(r"^ *[*-] (\w+)", errors.__doc__, re.M)
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    defined = [kind.__name__ for kind in kinds if issubclass(kind, errors.FedroamError)]

    assert elsewhere == [package / "errors.py"]
    assert sorted(drawn) == sorted(defined)


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (ConfigError, 2),
        (ContractError, 2),
        (InfeasibleError, 2),
        (TrainingError, 2),
        (DivergedError, 2),
        (WorkerError, 1),
        (StorageError, 1),
        (SourceError, 1),
        (DamagedError, 1),
    ],
)
def test_mistakes_of_the_users_are_exit_2_and_failures_of_ours_exit_1(
    kind, code, monkeypatch, capsys
):
    """Whatever a command raises on purpose is one line on stderr."""

    def command(standalone_mode):
        raise kind("what happened")

    monkeypatch.setattr(app, "app", command)
    with pytest.raises(SystemExit) as exit_:
        app.main()

    assert exit_.value.code == code
    assert capsys.readouterr().err == "fedroam: what happened\n"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("dagas", "did you mean 'dagsa'?"),
        ("fed", "did you mean 'fedcs'?"),
        ("zzz", "known: all, dagsa, fedcs"),
        ("", "known: all, dagsa, fedcs"),
    ],
)
def test_nearest_names_what_to_type_instead(name, hint):
    """The closest, the completion of what was begun, or all there is."""
    assert nearest(name, ["fedcs", "dagsa", "all"]) == hint


def test_require_takes_the_good_condition_so_that_nan_is_refused():
    """The message has field, value and expectation."""
    speed = float("nan")
    require(True, "speed", 1.0, ">= 0")
    with pytest.raises(ConfigError, match=r"^speed is nan, expected >= 0$"):
        require(speed >= 0, "speed", speed, ">= 0")
