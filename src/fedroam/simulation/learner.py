"""What the simulation asks of learning: steps 7 to 9 of a round. They know no radio."""

from collections.abc import Mapping
from typing import Any, Protocol

from numpy.typing import NDArray

from fedroam.arrays import Ints
from fedroam.learning.records import Evaluation, TrainReport


class Learner(Protocol):
    """A model that users train together; its state is arrays, so that runs can be resumed."""

    @property
    def samples_per_user(self) -> Ints:
        """``[U]``."""
        ...

    @property
    def label_histograms(self) -> Ints:
        """``[U, C]`` how many samples of each class each user holds."""
        ...

    def train(self, round: int, users: Ints) -> TrainReport:
        """Let ``users`` train and average what they send."""
        ...

    def evaluate(self) -> Evaluation:
        """Test the model."""
        ...

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything that the next round depends on, in arrays of its own."""
        ...

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from ``state()``."""
        ...
