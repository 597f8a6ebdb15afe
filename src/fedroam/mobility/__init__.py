"""Where users are: models of motion, one file each, one line here."""

from collections.abc import Callable

from fedroam.mobility.motion import Mobility, Motion
from fedroam.mobility.random_direction import RandomDirection
from fedroam.mobility.random_waypoint import RandomWaypoint
from fedroam.mobility.still import Still

MOBILITY: dict[str, Callable[..., Mobility]] = {
    "random-direction": RandomDirection,
    "random-waypoint": RandomWaypoint,
    "still": Still,
}

__all__ = ["MOBILITY", "Mobility", "Motion", "RandomDirection", "RandomWaypoint", "Still"]
