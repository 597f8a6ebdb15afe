"""
Every error this package raises on purpose.

* FedroamError
  - ConfigError      (a value that the user gave is wrong)
  - ContractError    (a plug-in returned something that its protocol forbids)
  - InfeasibleError  (no schedule can exist; the message says why)
  - TrainingError    (a trainer raised; the message says for whom)
  - DivergedError    (the global model has left the range of numbers)
  - WorkerError      (worker processes cannot be kept alive)
  - StorageError     (a file could not be read or written; the message says which)
    - SourceError    (a source of a data set has nothing to give; the next one is asked)
    - DamagedError   (cached data are not what was written; they are to be fetched again)

The command line makes two of them failures of ours, exit code 1: WorkerError and StorageError with
all below it. The rest is for the user to mend, exit code 2.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from traceback import extract_tb


class FedroamError(Exception):
    """Base class: catch this to catch everything the package raises on purpose."""


class ConfigError(FedroamError, ValueError):
    """A value supplied by the user is wrong."""


class ContractError(FedroamError, TypeError):
    """A plug-in broke its protocol."""


class InfeasibleError(FedroamError):
    """No schedule satisfies the constraints."""


class TrainingError(FedroamError):
    """A trainer raised an exception; the message says for whom, the cause is the exception."""


class DivergedError(FedroamError):
    """The global model has left the range of numbers."""


class WorkerError(FedroamError):
    """Worker processes cannot be kept alive."""


class StorageError(FedroamError, OSError):
    """A file or folder of ours could not be read or written."""


class SourceError(StorageError):
    """A source has nothing to give; the next one is asked."""


class DamagedError(StorageError):
    """The cached files are not what was written; they are to be fetched again."""


def nearest(name: str, known: Iterable[str]) -> str:
    """What to type instead of ``name``: the closest of ``known``, or all of them."""
    choices = sorted(known)
    longer = [choice for choice in choices if name and choice.startswith(name)]
    close = longer or get_close_matches(name, choices, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(choices)}"


def blame(culprit: str, error: BaseException, when: str = "") -> ContractError:
    """What to raise, in one line, where a plug-in raised ``error``: who, what, when and where."""
    frames = extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    message = " ".join(str(error).split())
    return ContractError(f"{culprit} raised {type(error).__name__}{when}: {message}{where}")


@contextmanager
def blaming(culprit: str) -> Iterator[None]:
    """Within it a plug-in is at work: what it raises is told in one line, with its name."""
    try:
        yield
    except FedroamError:
        raise
    except Exception as error:
        raise blame(culprit, error) from error


def require(ok: bool, field: str, value: object, expected: str) -> None:
    """
    Raise ConfigError unless ``ok``.

    Pass the good condition, not the bad one, so that nan, which compares false, is refused.
    """
    if not ok:
        raise ConfigError(f"{field} is {value!r}, expected {expected}")
