"""What the simulation asks of learning: steps 7 to 9 of a round. They know no radio."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray

from fedroam.arrays import Floats, Ints, freeze


@dataclass(frozen=True, eq=False, slots=True)
class Learned:
    """What a round of training did; ``n`` users took part."""

    users: Ints  # [n] whose update was taken into the model
    loss: Floats  # [n] mean loss of each while training
    n_refused: int = 0  # updates with nan or infinity, which never enter the model

    def __post_init__(self) -> None:
        freeze(self)


@dataclass(frozen=True, eq=False, slots=True)
class Score:
    """How good the model is on the test set."""

    accuracy: float
    loss: float
    class_accuracy: Floats  # [L]


class Learner(Protocol):
    """A model that users train together; its state is arrays, so that runs can be resumed."""

    @property
    def samples(self) -> Ints:
        """How many samples each user has, ``[U]``."""
        ...

    def train(self, round: int, users: Ints) -> Learned:
        """Let ``users`` train and average what they send."""
        ...

    def evaluate(self) -> Score:
        """Test the model."""
        ...

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything that the next round depends on."""
        ...

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from ``state()``."""
        ...
