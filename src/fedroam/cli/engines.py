"""Where the work of ``run`` and ``compare`` is done: on this machine, or on a Ray cluster."""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, redirect_stdout
from dataclasses import dataclass

from fedroam.cli.screen import say
from fedroam.comparison.players import PlayParts
from fedroam.errors import ConfigError, nearest
from fedroam.learning.engine import StartEngine

ENGINES = ("local", "ray")


@dataclass(frozen=True)
class Elsewhere:
    """What plays elsewhere than in processes of this machine; None: nothing does."""

    start: StartEngine | None = None  # the local training of one run
    play_parts: PlayParts | None = None  # whole runs


Where = AbstractContextManager[Elsewhere]
"""To be entered when the settings have been read: it may have to start a cluster."""


@contextmanager
def engine_called(name: str, address: str | None, workers: int | None) -> Iterator[Elsewhere]:
    """The engine of that name, with ``workers`` cores; it ends with the context."""
    if name not in ENGINES:
        raise ConfigError(f"engine: no {name!r}; {nearest(name, ENGINES)}")
    if name == "local":
        if address:
            raise ConfigError(f"address is {address!r}, which needs --engine ray")
        yield Elsewhere()
        return
    from fedroam.adapters.on_ray.cluster import connected
    from fedroam.adapters.on_ray.crew import engine_on
    from fedroam.adapters.on_ray.members import players_on

    say(f"fedroam: {'joining the' if address else 'starting a'} Ray cluster")
    with redirect_stdout(sys.stderr), connected(address, workers) as cluster:  # Ray tells of losses
        yield Elsewhere(engine_on(cluster), players_on(cluster))
