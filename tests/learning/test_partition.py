"""Who holds which samples: laws of every rule, and the paper's numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedroam.errors import ConfigError, ContractError
from fedroam.learning import datasets
from fedroam.learning.contracts import check_partition
from fedroam.learning.partition import PARTITIONS, Dirichlet, Iid, Partition, Shards


@st.composite
def labelled(draw):
    """Labels of a small unbalanced set."""
    n = draw(st.integers(30, 300))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return rng.choice(10, n, p=np.arange(1, 11) / 55).astype(np.uint8)


rules = st.one_of(
    st.builds(Shards, shards=st.just(0), per_user=st.integers(1, 3)),
    st.just(Iid()),
    st.builds(Dirichlet, alpha=st.floats(0.001, 100), min_samples=st.integers(1, 3)),
)
seeds = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("name", PARTITIONS)
def test_every_rule_keeps_the_contract(name):
    """Being registered is being tested."""
    check_partition(PARTITIONS[name]())


@given(labels=labelled(), rule=rules, n_users=st.integers(1, 10), seed=seeds)
@settings(deadline=None)
def test_all_samples_are_held_once_and_equal_seeds_agree(labels, rule, n_users, seed):
    """Disjoint, covering, deterministic; the histogram counts what is held."""
    first = rule(labels, n_users, np.random.default_rng(seed))
    again = rule(labels, n_users, np.random.default_rng(seed))

    np.testing.assert_array_equal(np.sort(first.sample), np.arange(labels.size))
    np.testing.assert_array_equal(first.sample, again.sample)
    np.testing.assert_array_equal(first.indptr, again.indptr)
    assert (first.counts >= getattr(rule, "min_samples", 1)).all()
    histograms = first.label_histograms(labels, 10)
    for user in range(n_users):
        own = first.samples_of(user)
        assert (np.diff(own) > 0).all()
        np.testing.assert_array_equal(histograms[user], np.bincount(labels[own], minlength=10))


@given(labels=labelled(), n_users=st.integers(1, 30), seed=seeds)
@settings(deadline=None)
def test_iid_sizes_differ_by_one_at_most(labels, n_users, seed):
    """Everybody counts the same in the average."""
    counts = Iid()(labels, n_users, np.random.default_rng(seed)).counts
    assert np.ptp(counts) <= 1


@given(
    shards=st.integers(1, 60), per_user=st.integers(1, 4), n_users=st.integers(1, 60), seed=seeds
)
@settings(deadline=None)
def test_shards_are_dealt_whole_and_the_rest_is_held_by_nobody(shards, per_user, n_users, seed):
    """Any number of users and shards that is possible at all; the sizes are those of the parts."""
    labels = np.sort(np.random.default_rng(seed).integers(0, 10, 200)).astype(np.uint8)
    rule = Shards(shards, per_user)
    if n_users * per_user > shards:
        with pytest.raises(ConfigError, match=f"shards is {shards}, expected >= "):
            rule(labels, n_users, np.random.default_rng(seed))
        return
    partition = rule(labels, n_users, np.random.default_rng(seed))

    # Labels are sorted already, so shard k is the k-th stretch of samples.
    shard = np.searchsorted(np.arange(shards + 1) * 200 // shards, partition.sample, "right") - 1
    holder = np.repeat(np.arange(n_users), partition.counts)
    pairs = np.unique(np.stack([holder, shard]), axis=1)
    assert np.unique(pairs[1]).size == pairs.shape[1] == n_users * per_user
    np.testing.assert_array_equal(np.bincount(pairs[0]), per_user)


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist", "cifar10"])
def test_the_papers_split_gives_every_user_the_same_number(name):
    """50 users, 2 of 100 shards: 1,200 samples each, 1,000 of CIFAR-10; few labels each."""
    dataset = datasets.load(name)
    partition = Shards()(dataset.train_y, 50, np.random.default_rng(0))
    met = (partition.label_histograms(dataset.train_y, 10) > 0).sum(axis=1)

    np.testing.assert_array_equal(partition.counts, dataset.train_y.size // 50)
    if name == "mnist":  # classes of unequal size: some shards lie across a border
        assert met.max() <= 4
    else:
        assert met.max() <= 2


def test_pure_shards_hold_one_label_each():
    """MNIST's rarest digit is 5, 5,421 times: ten shards of 542, and 1,084 samples a user."""
    labels = datasets.load("mnist").train_y
    partition = Shards(pure=True)(labels, 50, np.random.default_rng(0))
    histograms = partition.label_histograms(labels, 10)

    np.testing.assert_array_equal(partition.counts, 1084)
    assert set(np.unique(histograms)) == {0, 542, 1084}
    np.testing.assert_array_equal(histograms.sum(axis=0), 5420)


def test_a_small_alpha_gives_few_labels_and_a_large_one_all():
    """What Dirichlet's parameter is for."""
    labels = np.arange(20_000) % 10

    def labels_met(alpha):
        partition = Dirichlet(alpha)(labels, 20, np.random.default_rng(1))
        share = partition.label_histograms(labels, 10) / partition.counts[:, None]
        return (1 / (share**2).sum(axis=1)).mean()  # effective number of labels

    assert labels_met(0.05) < 3 < 5 < labels_met(1) < 9.9 < labels_met(1000) <= 10


def test_two_hundred_thousand_users_take_a_second():
    """No loop runs over users."""
    labels = np.arange(1_000_000) * 7 % 10
    for rule in (Shards(0), Iid(), Dirichlet()):
        partition = rule(labels, 200_000, np.random.default_rng(0))
        assert partition.n_users == 200_000
        assert partition.counts.min() >= 1
        assert partition.label_histograms(labels, 10).shape == (200_000, 10)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Shards(shards=-1), "shards is -1"),
        (lambda: Shards(per_user=0), "per_user is 0"),
        (lambda: Dirichlet(alpha=float("nan")), "alpha is nan"),
        (lambda: Dirichlet(alpha=0.0), "alpha is 0.0"),
        (lambda: Dirichlet(min_samples=0), "min_samples is 0"),
    ],
)
def test_impossible_rules_are_refused(make, message):
    """At construction."""
    with pytest.raises(ConfigError, match=message):
        make()


@pytest.mark.parametrize(
    ("rule", "n_users", "message"),
    [
        (Iid(), 0, "n_users is 0"),
        (Iid(), 101, "n_users is 101, expected <= 100"),
        (Shards(200), 10, "shards is 200, expected <= 100, the number of samples"),
        (Shards(0, 20), 10, "shards is 200, expected <= 100"),
        (Shards(10), 6, "shards is 10, expected >= 12: 6 users get 2 each"),
        (Shards(25, pure=True), 5, "shards is 25, expected a multiple of 10"),
        (Shards(100, pure=True), 5, None),
        (Shards(110, pure=True), 5, "shards is 110, expected <= 100"),
        (Dirichlet(min_samples=11), 10, "min_samples is 11, expected <= 10"),
    ],
)
def test_what_cannot_be_divided_is_said(rule, n_users, message):
    """With the number that would do."""
    labels = np.arange(100) % 10
    if message is None:
        assert rule(labels, n_users, np.random.default_rng(0)).counts.sum() == 10
        return
    with pytest.raises(ConfigError, match=message):
        rule(labels, n_users, np.random.default_rng(0))


def test_an_indptr_that_does_not_fit_is_refused():
    """A rule of somebody else's may be wrong."""
    with pytest.raises(ContractError, match="does not cut 3 samples"):
        Partition(np.array([0, 2]), np.arange(3))


class Twice:
    """A broken rule: everybody holds the same."""

    def __call__(self, labels, n_users, rng):
        """All of sample 0."""
        return Partition(np.arange(n_users + 1), np.zeros(n_users, np.int64))


def test_the_contract_catches_a_sample_that_is_held_twice():
    """So a stranger's rule is told before it spoils a study."""
    with pytest.raises(ContractError, match="held twice"):
        check_partition(Twice())
