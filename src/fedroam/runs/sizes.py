"""How much a run will write, before it does."""

from dataclasses import dataclass

from fedroam.runs.settings import Settings

USERS_KEPT_UP_TO = 2_000
"""With ``record.detail = "auto"`` worlds up to this size keep a row for every user and round."""

USER_ROW_BYTES = 17
"""Of a compressed row of the user table, where half of the users take part."""


@dataclass(frozen=True)
class Expected:
    """Bytes of the user table, which is nearly all that a run writes."""

    n_bytes: int
    rounds: int  # for so many rounds
    is_total: bool  # the run has so many rounds; otherwise it stops by time


def keeps_users(settings: Settings) -> bool:
    """The run records a row for every user and round."""
    detail = settings.record.detail
    return settings.world.users <= USERS_KEPT_UP_TO if detail == "auto" else bool(detail)


def expected_bytes(settings: Settings) -> Expected:
    """How much there will be, for the whole run or for every 1,000 rounds."""
    is_total = settings.stop.rounds is not None
    rounds = settings.stop.rounds or 1000
    rows = rounds * settings.world.users if keeps_users(settings) else 0
    return Expected(rows * USER_ROW_BYTES, rounds, is_total)
