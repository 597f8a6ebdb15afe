"""The round loop and what it is about."""

from fedroam.simulation.learner import Learner
from fedroam.simulation.rounds import Evaluating, Round, Simulation
from fedroam.simulation.scenario import Fairness, Ground, Scenario, World, lay_out

__all__ = [
    "Evaluating",
    "Fairness",
    "Ground",
    "Learner",
    "Round",
    "Scenario",
    "Simulation",
    "World",
    "lay_out",
]
