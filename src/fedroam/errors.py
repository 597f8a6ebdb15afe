"""
Every error this package raises on purpose.

* FedroamError
  - ConfigError      (a value that the user gave is wrong)
  - ContractError    (a plug-in returned something that its protocol forbids)
  - InfeasibleError  (no schedule can exist; the message says why)
  - StorageError     (a file could not be read or written; the message says which)
"""

from collections.abc import Iterable
from difflib import get_close_matches


class FedroamError(Exception):
    """Base class: catch this to catch everything the package raises on purpose."""


class ConfigError(FedroamError, ValueError):
    """A value supplied by the user is wrong."""


class ContractError(FedroamError, TypeError):
    """A plug-in broke its protocol."""


class InfeasibleError(FedroamError):
    """No schedule satisfies the constraints."""


class StorageError(FedroamError, OSError):
    """A file or folder of ours could not be read or written."""


def nearest(name: str, known: Iterable[str]) -> str:
    """What to type instead of ``name``: the closest of ``known``, or all of them."""
    choices = sorted(known)
    longer = [choice for choice in choices if name and choice.startswith(name)]
    close = longer or get_close_matches(name, choices, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(choices)}"


def require(ok: bool, field: str, value: object, expected: str) -> None:
    """
    Raise ConfigError unless ``ok``.

    Pass the good condition, not the bad one, so that nan, which compares false, is refused.
    """
    if not ok:
        raise ConfigError(f"{field} is {value!r}, expected {expected}")
