"""
A run in TensorBoard, beside its tables: the only file that knows the writer of its event files.

TensorBoard's "relative" axis shows simulated seconds: events carry the simulated time as theirs.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from fedroam.errors import ConfigError
from fedroam.scheduling.certified.solution import gap_of
from fedroam.simulation import Round


@contextmanager
def event_writer(path: Path, first_round: int) -> Iterator[Callable[[Round], None]]:
    """Writes a round's figures to the event files in ``path``; what lay beyond is taken back."""
    try:
        from tensorboardX import SummaryWriter
    except ImportError:
        raise ConfigError(
            "record.tensorboard is true, which needs pip install 'fedroam[tensorboard]'"
        ) from None
    writer = SummaryWriter(str(path), purge_step=first_round, flush_secs=5)

    def write(played: Round) -> None:
        for name, value in _figures(played).items():
            writer.add_scalar(name, value, played.round, walltime=played.end_s)

    try:
        yield write
    finally:
        writer.close()


def _figures(played: Round) -> dict[str, float]:
    figures = {
        "round/length_s": played.length_s,
        "round/selected": float(played.verdict.n_selected),
        "round/forced": float(played.problem.required.sum()),
        "round/missed": float(played.verdict.missed.size),
    }
    if played.bound_s is not None:
        figures["round/gap"] = gap_of(played.length_s, played.bound_s)
    if played.learned and played.learned.loss.size:
        figures["learning/train_loss"] = float(played.learned.loss.mean())
    if played.score:
        figures["learning/accuracy"] = played.score.accuracy
        figures["learning/loss"] = played.score.loss
    return figures
