"""Pages to look at: the replay of runs, the same while a run goes on, and reports. No network."""

from fedroam.pages.replay import Replay, read_replay
from fedroam.pages.view import page_of, view_page

__all__ = ["Replay", "page_of", "read_replay", "view_page"]
