"""The experiments are what they are said to be, and stay what the committed results are of."""

import pytest

from fedroam.comparison import members_of
from fedroam.errors import ConfigError
from fedroam.reproduction import GROUPS, STUDIES, pieces
from fedroam.runs import parse

FIG2 = """
seed = 0
stop = { time_s = 20.0 }
world = { band_spread = 0.5 }
record = { certify = "prices" }

[learning]
dataset = "fashion-mnist"
model = "cnn"
train_fraction = 0.1
test_fraction = 0.3
local = { local_epochs = 5, lr = 0.05 }

[compare]
policies = ["dagsa", "certified", "random", "uniform", "fedcs-low", "fedcs-high", "all"]
seeds = 5
"""

CIFAR10 = """
seed = 0
stop = { time_s = 30.0 }
record = { certify = "prices" }

[learning]
dataset = "cifar10"
model = "lenet"

[learning.local]
local_epochs = 10
lr = 0.01

[compare]
policies = ["dagsa", "certified", "random", "uniform", "fedcs-low", "fedcs-high", "all"]
seeds = 1
"""


@pytest.mark.parametrize(
    ("toml", "name", "profile", "dataset"),
    [(FIG2, "fig2", "quick", "fashion-mnist"), (CIFAR10, "fig1", "paper", "cifar10")],
)
def test_members_are_those_of_the_committed_results(tmp_path, toml, name, profile, dataset):
    """The same settings in the same folders, so that runs are taken over as they are."""
    import tomllib

    (piece,) = pieces(name, tmp_path, profile=profile, datasets=(dataset,))
    expected = members_of(parse(tomllib.loads(toml)), tmp_path / profile / name / dataset)

    assert members_of(piece.settings, piece.folder) == expected


def test_the_paper_is_three_figures_on_its_data_sets(tmp_path):
    """In its order; the last one has both readings of the direction at every speed."""
    names = [piece.name for piece in pieces("all", tmp_path)]
    (fig3,) = pieces("fig3", tmp_path)
    speeds = [p["mobility.speed_m_s"] for p in fig3.points if p["mobility.turn_every"] == "never"]

    assert names == [
        "quick/fig1/mnist",
        "quick/fig1/fashion-mnist",
        "quick/fig1/cifar10",
        "quick/fig2/fashion-mnist",
        "quick/fig3/fashion-mnist",
    ]
    assert speeds == [0.0, 5.0, 10.0, 20.0, 50.0]
    assert len(fig3.cells()) == 10
    (paper,) = pieces("fig3", tmp_path, profile="paper")
    assert [row[0].label for row in paper.cells()[0].members()] == ["dagsa"]
    assert paper.settings.learning.train_fraction == 1.0


@pytest.mark.parametrize("profile", ["quick", "paper"])
@pytest.mark.parametrize("name", STUDIES)
def test_every_study_has_settings_that_are_valid(tmp_path, name, profile):
    """On its own data sets and without learning, with any number of seeds."""
    for seeds, chosen in ((None, ()), (3, ("timing",))):
        for piece in pieces(name, tmp_path, profile=profile, datasets=chosen, seeds=seeds):
            rows = [row for cell in piece.cells() for row in cell.members()] or members_of(
                piece.settings, piece.folder
            )
            assert rows
            assert (piece.settings.learning is None) == (piece.dataset == "timing")
            assert seeds is None or all(len(row) == seeds for row in rows)
    assert name in [n for group in GROUPS.values() for n in group]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "fig4"}, "reproduce: no 'fig4'; did you mean 'fig3'?"),
        ({"name": "fig1", "profile": "quik"}, "profile: no 'quik'; did you mean 'quick'?"),
        ({"name": "fig1", "datasets": ("cifar",)}, "dataset: no 'cifar'; did you mean 'cifar10'?"),
    ],
)
def test_what_does_not_exist_is_refused(tmp_path, arguments, message):
    """With the nearest name."""
    with pytest.raises(ConfigError) as error:
        pieces(out=tmp_path, **arguments)
    assert str(error.value) == message
