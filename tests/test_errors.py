"""One tree of errors, and messages that name the nearest right thing."""

import pickle

import pytest

from fedroam.errors import (
    ConfigError,
    ContractError,
    FedroamError,
    InfeasibleError,
    StorageError,
    nearest,
    require,
)


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (ConfigError, ValueError),
        (ContractError, TypeError),
        (InfeasibleError, Exception),
        (StorageError, OSError),
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
