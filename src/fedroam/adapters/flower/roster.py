"""Which node is which user. Node ids change from run to run, and when a node is started anew."""

from collections.abc import Mapping

ROOM = 1 << 16
"""Whole numbers below it, as names, are the numbers of users themselves."""


class Roster:
    """
    Users by the names that nodes give themselves.

    A name that is a whole number, such as a partition id, is that user, whenever it turns up; any
    other gets the lowest number that is free. ``room`` is how many users there can be.
    """

    def __init__(self, room: int | None = None) -> None:
        self.room = room
        self.node_of: dict[int, int] = {}  # by user: the node that spoke last
        self.user_of: dict[int, int] = {}  # by node
        self.name_of: dict[int, str] = {}
        self._user_named: dict[str, int] = {}

    @property
    def n_users(self) -> int:
        """U: one more than the highest number so far, or as many as there can be."""
        return self.room or max(self.name_of, default=-1) + 1

    def admit(self, names: Mapping[int, str]) -> dict[int, int | None]:
        """Nodes with their names become users; None for those for whom there is no room."""
        found = {}
        # Numbers first, and all in order: who answered first must not matter.
        for node, name in sorted(names.items(), key=_order):
            found[node] = user = self._number(name)
            if user is not None:
                before = self.node_of.get(user)
                if before is not None:
                    self.user_of.pop(before, None)
                self.node_of[user], self.user_of[node] = node, user
        return found

    def _number(self, name: str) -> int | None:
        if name in self._user_named:
            return self._user_named[name]
        limit = self.room or ROOM
        wanted = int(name) if _is_number(name) else limit
        if wanted >= limit or wanted in self.name_of:
            if len(self.name_of) >= (self.room or len(self.name_of) + 1):
                return None
            wanted = next(n for n in range(len(self.name_of) + 1) if n not in self.name_of)
        self._user_named[name], self.name_of[wanted] = wanted, name
        return wanted


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdecimal() and len(name) < 10


def _order(item: tuple[int, str]) -> tuple[bool, int, str]:
    name = item[1]
    return not _is_number(name), int(name) if _is_number(name) else 0, name
