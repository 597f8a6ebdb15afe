"""The round loop and what it is about."""

from fedroam.simulation.learner import Learned, Learner, Score
from fedroam.simulation.rounds import Evaluation, Round, Simulation
from fedroam.simulation.scenario import Fairness, Ground, Scenario, World, lay_out

__all__ = [
    "Evaluation",
    "Fairness",
    "Ground",
    "Learned",
    "Learner",
    "Round",
    "Scenario",
    "Score",
    "Simulation",
    "World",
    "lay_out",
]
