"""How long the server waits for a round."""

from dataclasses import dataclass
from math import inf

from fedroam.errors import require


@dataclass(frozen=True)
class Deadline:
    """
    When a round closes in real seconds, whoever is still missing.

    A measured round closes after ``scale`` times what its schedule predicts, and after ``floor_s``
    at the earliest; while a chosen user has never been measured, after ``unmeasured_s``. A round
    of a simulated world, whose seconds are not real ones, closes after ``simulated_s``. Evaluation
    closes after ``evaluate_s``, or else after as long as the round's training might have taken.
    Nothing waits longer than the ``timeout`` of Flower's ``start``, but for the first answers to
    who is there: ``query_s``.
    """

    scale: float = 3.0
    floor_s: float = 10.0
    unmeasured_s: float = inf
    simulated_s: float = inf
    evaluate_s: float | None = None
    query_s: float = 60.0

    def __post_init__(self) -> None:
        require(1 <= self.scale < inf, "scale", self.scale, ">= 1")
        require(0 < self.floor_s < inf, "floor_s", self.floor_s, "> 0 seconds")
        for name in ("unmeasured_s", "simulated_s", "query_s"):
            require(getattr(self, name) > 0, name, getattr(self, name), "> 0 seconds")
        evaluate_s = self.evaluate_s
        require(evaluate_s is None or evaluate_s > 0, "evaluate_s", evaluate_s, "> 0 seconds")

    def after_s(self, predicted_s: float, *, is_simulated: bool, is_measured: bool) -> float:
        """For a round whose schedule predicts ``predicted_s``."""
        if is_simulated:
            return self.simulated_s
        if not is_measured:
            return self.unmeasured_s
        return max(self.floor_s, self.scale * predicted_s)
