"""A run on disk: its settings, its tables, its checkpoints, and the loop that fills them."""

from fedroam.runs.certifying import certify_run
from fedroam.runs.folder import RunFolder
from fedroam.runs.play import Progress, play
from fedroam.runs.settings import Settings, parse, read_settings, to_toml
from fedroam.runs.tables import read_rounds, read_users

__all__ = [
    "Progress",
    "RunFolder",
    "Settings",
    "certify_run",
    "parse",
    "play",
    "read_rounds",
    "read_settings",
    "read_users",
    "to_toml",
]
