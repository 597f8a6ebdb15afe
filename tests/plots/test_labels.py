"""The figure of labels shows the histograms that it is given."""

import numpy as np

from fedroam.learning.federation import Federation, LearningSettings
from fedroam.plots import plot_labels
from fedroam.scheduling.policies.best_station import Random
from fedroam.simulation import Scenario, Simulation, World


def test_policies_and_figures_see_the_same_histograms():
    """Two shards of at most two classes each to a user; the picture is the counts."""
    how = LearningSettings(dataset="synthetic", model="logistic")
    with Federation(how, users=50, workers=0) as federation:
        problem = Simulation(Scenario(World()), Random(), learner=federation).pose()
        counts = federation.label_histograms
    image = plot_labels(problem.label_counts).images[0].get_array()

    np.testing.assert_array_equal(problem.label_counts, counts)
    np.testing.assert_array_equal(image, counts.T)
    assert (counts.sum(axis=1) == problem.samples).all()
    assert (np.count_nonzero(counts, axis=1) <= 4).all()
