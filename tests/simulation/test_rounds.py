"""The round loop against plain loops; common worlds; resuming; plug-ins that misbehave."""

from dataclasses import dataclass

import numpy as np
import pytest

from fedroam.comparison.compare import DEFAULT_POLICIES
from fedroam.errors import ConfigError, ContractError, InfeasibleError
from fedroam.learning.datasets import Synthetic
from fedroam.learning.federation import Federation, LearningSettings
from fedroam.learning.partition import Iid
from fedroam.learning.records import Evaluation, LocalTraining, TrainReport
from fedroam.mobility import Motion, RandomDirection, RandomWaypoint, Still
from fedroam.radio import LinkDraws, UrbanMacro
from fedroam.scheduling.bandwidth import share
from fedroam.scheduling.policies import POLICIES
from fedroam.scheduling.policies.best_station import All, Random, best_station
from fedroam.scheduling.policies.dagsa import Dagsa
from fedroam.scheduling.policies.fedcs import FedCS
from fedroam.scheduling.problem import NO_STATION, Schedule
from fedroam.simulation import Evaluating, Fairness, Scenario, Simulation, World, lay_out
from fedroam.streams import stream
from strategies import same_arrays

SMALL = World(users=12, stations=3)

PAPERS = {name: POLICIES[name] for name in DEFAULT_POLICIES}


def scenario(**changes):
    """A small paper-like scenario."""
    return Scenario(**({"world": SMALL} | changes))


def play(policy, n_rounds=6, *, seed=0, **changes):
    """Some rounds, and the simulation after them."""
    simulation = Simulation(scenario(**changes), policy, seed=seed)
    return list(simulation.rounds(rounds=n_rounds)), simulation


def test_the_first_rounds_are_what_plain_loops_give():
    """Walk, path loss, fading, fairness and clock, recomputed one user and link at a time."""
    seed, n_users, n_stations, area_m = 3, 12, 3, 1000.0
    played, _ = play(All(), 4, seed=seed)
    station_m = stream(seed, "stations").random((n_stations, 2)) * area_m
    compute_s = stream(seed, "compute").uniform(0.1, 0.11, n_users)
    place_m = stream(seed, "mobility", "place").random((n_users, 2)) * area_m
    angle = stream(seed, "mobility", "direction", 0).random(n_users) * 2 * np.pi
    now_s, times = 0.0, [0] * n_users
    for n, one in enumerate(played):
        assert one.round == n
        assert one.start_s == pytest.approx(now_s, rel=1e-12)
        np.testing.assert_allclose(one.position_m, place_m, rtol=1e-9)
        user = np.repeat(np.arange(n_users), n_stations)
        station = np.tile(np.arange(n_stations, dtype=np.int32), n_users)
        gain = LinkDraws(seed, n, user, station).exponential("fading").reshape(n_users, n_stations)
        finish_s = []
        for u in range(n_users):
            assert one.problem.required[u] == (times[u] < n * 0.1 - 1e-12)
            assert one.problem.times_selected[u] == times[u]
            rates = []
            for s in range(n_stations):
                km = max(np.hypot(*(place_m[u] - station_m[s])) / 1000, 1e-3)
                snr_db = 14 + 114 - 128.1 - 37.6 * np.log10(km)
                rates.append(np.log2(1 + 10 ** (snr_db / 10) * gain[u, s]))
            s = int(np.argmax(rates))
            assert one.schedule.station[u] == s
            hertz = one.schedule.bandwidth_hz[u]
            finish_s.append(compute_s[u] + 32 * 21_840 / (hertz * rates[s]))
            times[u] += 1
        assert one.length_s == pytest.approx(max(finish_s), rel=1e-9)
        assert one.problem.min_selected == 6
        assert one.end_s == one.start_s + one.length_s
        place_m = place_m + 20 * one.length_s * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        place_m = np.where(place_m < 0, -place_m, place_m)
        place_m = np.where(place_m > area_m, 2 * area_m - place_m, place_m)
        angle = stream(seed, "mobility", "direction", n + 1).random(n_users) * 2 * np.pi
        now_s += one.length_s


def test_the_ground_is_drawn_once_and_unequal_bands_keep_their_sum():
    """Bands within [1 - spread, 1 + spread] of each other, M x 1 MHz together."""
    world = World(users=40, stations=8, band_spread=0.5, compute_s=(0.2, 0.4), download_s=1.0)
    ground = lay_out(world, 4)

    assert ground.capacity_hz.sum() == pytest.approx(8e6, rel=1e-14)
    assert ground.capacity_hz.max() / ground.capacity_hz.min() <= 1.5 / 0.5
    assert len(set(ground.capacity_hz)) == 8
    assert (ground.ready_s >= 1.2).all()
    assert (ground.ready_s <= 1.4).all()
    assert ground.payload_bit.tolist() == [32 * 21_840] * 40
    assert lay_out(world, 4, 5.0).payload_bit[0] == 5.0
    assert lay_out(World(payload_bit=7.0), 4, 5.0).payload_bit[0] == 7.0
    assert lay_out(World(stations=2), 0).capacity_hz.tolist() == [1e6, 1e6]


@pytest.mark.parametrize("mobility", [RandomDirection(turn_every="never"), RandomWaypoint()])
def test_policies_under_one_seed_meet_the_same_world(mobility):
    """Users, stations, compute times, fading and timed walks are common; a walk is of its time."""
    runs = {name: play(make(), mobility=mobility) for name, make in PAPERS.items()}
    (first, reference), *others = runs.values()
    for played, simulation in others:
        same_arrays(simulation.ground, reference.ground)
        np.testing.assert_array_equal(played[0].position_m, first[0].position_m)
        np.testing.assert_array_equal(played[0].problem.efficiency, first[0].problem.efficiency)
    still = {name: play(make(), mobility=Still())[0] for name, make in PAPERS.items()}
    for n in range(6):
        worth = [played[n].problem.efficiency for played in still.values()]
        for other in worth[1:]:
            np.testing.assert_array_equal(other, worth[0])


def test_seeds_make_different_worlds():
    """Another seed, other places, fading and compute times."""
    one, other = play(All(), 1, seed=0)[0][0], play(All(), 1, seed=1)[0][0]

    assert not np.intersect1d(one.problem.efficiency, other.problem.efficiency).size
    assert not np.intersect1d(one.problem.compute_s, other.problem.compute_s).size
    assert not np.intersect1d(one.position_m, other.position_m).size


@pytest.mark.parametrize(
    "mobility",
    [RandomDirection(), RandomDirection(turn_every=0.7), RandomWaypoint(pause_s=0.2), Still()],
    ids=["round", "seconds", "waypoint", "still"],
)
@pytest.mark.parametrize("policy", [Dagsa(), Random(), FedCS(0.6)], ids=lambda p: type(p).__name__)
def test_a_run_goes_on_bit_for_bit_from_the_state_after_any_round(policy, mobility):
    """A new simulation restored from the arrays plays the rest as the first did."""
    whole, _ = play(policy, 7, mobility=mobility)
    simulation = Simulation(scenario(mobility=mobility), policy)
    for n in range(7):
        state = simulation.state()
        resumed = Simulation(scenario(mobility=mobility), policy)
        resumed.restore(state)
        for again, before in zip(resumed.rounds(rounds=7), whole[n:], strict=True):
            same_arrays(again.problem, before.problem)
            same_arrays(again.schedule, before.schedule)
            same_arrays(again.verdict, before.verdict)
            np.testing.assert_array_equal(again.position_m, before.position_m)
            assert (again.round, again.start_s) == (before.round, before.start_s)
        simulation.step()


def test_a_saved_state_is_not_touched_by_the_rounds_that_follow():
    """The arrays are copies."""
    simulation = Simulation(scenario(), Dagsa())
    simulation.step()
    state = simulation.state()
    kept = {name: array.copy() for name, array in state.items()}
    simulation.step()
    simulation.restore(state)
    simulation.step()

    for name, array in state.items():
        np.testing.assert_array_equal(array, kept[name], err_msg=name)


def test_the_past_is_counted():
    """Times and last rounds in each problem are those of the schedules before it."""
    played, _ = play(Random(), 10)
    times, last = np.zeros(12, int), np.full(12, -1)
    for one in played:
        np.testing.assert_array_equal(one.problem.times_selected, times)
        np.testing.assert_array_equal(one.problem.last_round, last)
        times[one.schedule.chosen] += 1
        last[one.schedule.chosen] = one.round


def test_budgets_of_rounds_and_time_end_a_run():
    """Whichever comes first; the last round may end after the time."""
    rounds = list(Simulation(scenario(), All()).rounds(rounds=3))
    assert len(rounds) == 3
    time_s = rounds[1].end_s
    assert len(list(Simulation(scenario(), All()).rounds(time_s=time_s))) == 2
    assert len(list(Simulation(scenario(), All()).rounds(time_s=time_s * 1.0001))) == 3
    assert len(list(Simulation(scenario(), All()).rounds(rounds=1, time_s=1e9))) == 1


def test_an_empty_fedcs_round_lasts_its_threshold():
    """Nobody computes within 0.05 s: the clock moves on by 0.05 s a round."""
    played, simulation = play(FedCS(0.05), 4)

    assert [one.length_s for one in played] == [0.05] * 4
    assert simulation.now_s == pytest.approx(0.2)
    assert all(one.verdict.lacking == 6 for one in played)


@pytest.mark.parametrize("name", PAPERS)
def test_bug_a_share_of_nobody_still_asks_for_somebody(name):
    """Found by review: with rho2 = 0 DAGSA and RS chose nobody in round 0 and were blamed."""
    played, _ = play(PAPERS[name](), 3, fairness=Fairness(rho2=0.0))

    assert [one.problem.min_selected for one in played] == [1, 1, 1]
    assert all(one.length_s > 0 for one in played)


def answer(make):
    """A policy from a function of the problem."""

    @dataclass(frozen=True)
    class Odd:
        def __call__(self, problem, rng):
            return make(problem)

    return Odd()


def best(problem):
    """Everyone at the best station."""
    return best_station(problem)


ODD = {
    "raises": (lambda p: 1 / 0, "policy Odd raised ZeroDivisionError in round 0: division by zero"),
    "raises much": (
        lambda p: (_ for _ in ()).throw(ValueError("one\ntwo\n  three")),
        "policy Odd raised ValueError in round 0: one two three",
    ),
    "gives up": (
        lambda p: (_ for _ in ()).throw(InfeasibleError("not today")),
        "policy Odd found no schedule in round 0: not today",
    ),
    "nothing": (lambda p: None, "policy Odd answered a NoneType in round 0, expected a Schedule"),
    "an array": (best, "policy Odd answered a ndarray in round 0, expected a Schedule"),
    "half a station": (
        lambda p: Schedule(best(p) + 0.5, np.ones(12)),
        "policy Odd raised ConfigError in round 0: station holds float64",
    ),
    "out of reach": (
        lambda p: share(p, best(p) + 7),
        "policy Odd raised ContractError in round 0: user 0 is sent to station",
    ),
    "too much": (
        lambda p: Schedule(best(p), np.full(12, 1e7)),
        "policy Odd answered unlawfully in round 0: station .* gives",
    ),
    "nan": (
        lambda p: Schedule(best(p), np.full(12, np.nan)),
        "policy Odd answered unlawfully in round 0: user 0 is chosen, but has nan Hz",
    ),
    "too few users": (
        lambda p: Schedule([0], [1.0]),
        "policy Odd answered unlawfully in round 0: the schedule is for 1 users",
    ),
    "nobody": (
        lambda p: Schedule(np.full(12, NO_STATION), np.zeros(12)),
        "policy Odd chose nobody in round 0 and named no time to wait",
    ),
    "writes": (
        lambda p: p.compute_s.__setitem__(0, 0.0),
        "policy Odd raised ValueError in round 0: .*read-only",
    ),
}


@pytest.mark.parametrize("odd", ODD)
def test_a_policy_that_misbehaves_is_named_and_nothing_moves(odd):
    """One line with the policy, the round and the reason; the state is that before the round."""
    make, message = ODD[odd]
    simulation = Simulation(scenario(), answer(make))
    before = simulation.state()

    with pytest.raises((ContractError, InfeasibleError), match=message) as refusal:
        simulation.step()
    assert "\n" not in str(refusal.value)
    for name, array in simulation.state().items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)


def test_a_policy_may_be_a_function():
    """It is called by its own name in messages."""

    def mine(problem, rng):
        return None

    with pytest.raises(ContractError, match="policy mine answered a NoneType"):
        Simulation(scenario(), mine).step()


@dataclass(frozen=True)
class Strays:
    """Users who do as told at first, then go where they may not."""

    place_m: tuple
    after: int
    follows_time = True

    def start(self, n_users, area_m, draw):
        """All at one place."""
        return self.advance(Motion(np.full((n_users, 2), 1.0)), area_m, 0.0, 0, draw)

    def advance(self, motion, area_m, now_s, round, draw):
        """Stay, then stray."""
        if round < self.after:
            return motion
        return Motion(np.full(motion.position_m.shape, self.place_m))


@pytest.mark.parametrize("place_m", [(-1.0, 5.0), (5.0, 1000.1), (np.nan, 5.0)])
@pytest.mark.parametrize("after", [0, 2])
def test_a_mobility_that_leaves_the_area_is_named(place_m, after):
    """At the start or later; the round before is not half counted."""
    with pytest.raises(ContractError, match=r"mobility Strays left the area \[0, 1000\.0\] m"):
        list(Simulation(scenario(mobility=Strays(place_m, after)), All()).rounds(rounds=5))
    if after:
        simulation = Simulation(scenario(mobility=Strays(place_m, after)), All())
        simulation.step()
        with pytest.raises(ContractError):
            simulation.step()
        assert simulation.round == 1
        assert simulation.times_selected.tolist() == [1] * 12


@dataclass(frozen=True)
class Drops(Still):
    """Users who stay where they are, until the model fails."""

    answer: object = None

    def advance(self, motion, area_m, now_s, round, draw):
        """Whatever the test wants."""
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (OSError("fell\nover"), r"^mobility Drops raised OSError in round 0: fell over \(test_"),
        (None, "^mobility Drops answered a NoneType, expected a Motion$"),
    ],
)
def test_bug_a_mobility_that_raises_is_named(answer, message):
    """Found by review: its traceback was shown; it is the culprit, and no round is counted."""
    simulation = Simulation(scenario(mobility=Drops(answer)), All())

    with pytest.raises(ContractError, match=message):
        simulation.step()
    assert simulation.round == 0


def test_bug_a_round_that_breaks_off_leaves_no_trace_in_the_model():
    """Users have trained when the mobility fails: the model is that before the round."""
    how = LearningSettings(
        dataset=Synthetic(n_train=200, n_test=50),
        partition=Iid(),
        model="logistic",
        local=LocalTraining(local_epochs=1),
    )
    with Federation(how, users=12, workers=0) as federation:
        simulation = Simulation(scenario(mobility=Drops()), All(), learner=federation)
        before = federation.weights_sha256
        with pytest.raises(ContractError):
            simulation.step()
        assert federation.weights_sha256 == before


@dataclass(frozen=True)
class Deaf:
    """A radio that answers what the test wants."""

    answer: object

    def efficiency(self, distance_m, draws):
        """One link is odd."""
        if isinstance(self.answer, Exception):
            raise self.answer
        return np.where(np.arange(distance_m.size) == 4, self.answer, 1.0)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            KeyError("gain"),
            r"^radio Deaf raised KeyError in round 0: 'gain' \(test_rounds.py:\d+\)$",
        ),
        (np.nan, "^radio Deaf answered nan bit/s/Hz in round 0 for user 1 and station 1, .* > 0$"),
        (0.0, "^radio Deaf answered 0.0 bit/s/Hz in round 0 for user 1 and station 1"),
        (-1.0, "^radio Deaf answered -1.0 bit/s/Hz"),
        (np.inf, "^radio Deaf answered inf bit/s/Hz"),
        ("loud", "^radio Deaf raised .*Error in round 0"),
    ],
)
def test_bug_a_radio_that_misbehaves_is_named(answer, message):
    """Found by review: a number that is none was said to be the problem's; it is the radio's."""
    simulation = Simulation(scenario(radio=Deaf(answer)), All())

    with pytest.raises(ContractError, match=message):
        simulation.step()


@dataclass(frozen=True)
class Overflows:
    """A learner whose losses are too large for a number; nothing is learnt."""

    samples_per_user = np.ones(12, np.int64)
    label_histograms = np.ones((12, 1), np.int64)

    def train(self, round, users):
        """Fit weights, infinite losses."""
        loss = np.full(users.size, np.inf)
        return TrainReport(users, loss, np.ones(users.size, np.int64), np.empty(0, np.int64))

    def evaluate(self):
        """All wrong."""
        return Evaluation(1.0, np.zeros(2, np.int64), np.ones(2, np.int64))

    def state(self):
        """Nothing is learnt."""
        return {}


def test_a_loss_that_overflows_is_unknown_to_the_next_round():
    """Problems refuse infinite losses, and a run must not break off for one."""
    simulation = Simulation(scenario(), All(), learner=Overflows(), payload_bit=1e5)
    simulation.step()

    assert np.isnan(simulation.pose().last_loss).all()


def test_evaluation_is_due_by_rounds_or_by_seconds():
    """After every third round; or where a round crosses a multiple of ten seconds."""
    by_rounds, by_time = Evaluating(every_rounds=3), Evaluating(every_s=10.0)

    assert [by_rounds.is_due(n, 0.0, 0.0) for n in range(6)] == [False, False, True] * 2
    ends_s = [4.0, 9.9, 10.0, 15.0, 35.0, 36.0]
    starts_s = [0.0, *ends_s[:-1]]
    due = [by_time.is_due(0, a, b) for a, b in zip(starts_s, ends_s, strict=True)]
    assert due == [False, False, True, False, True, False]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: World(users=0), "users is 0, expected >= 1"),
        (lambda: World(stations=0), "stations is 0, expected >= 1"),
        (lambda: World(area_m=np.nan), "area_m is nan, expected > 0"),
        (lambda: World(nearest=-1), "nearest is -1, expected >= 0"),
        (lambda: World(band_hz=0.0), r"band_hz is 0\.0, expected > 0"),
        (lambda: World(band_spread=1.0), r"band_spread is 1\.0, expected in \[0, 1\)"),
        (lambda: World(payload_bit=0.0), r"payload_bit is 0\.0, expected > 0"),
        (lambda: World(compute_s=(0.2, 0.1)), r"compute_s is \(0\.2, 0\.1\), expected \[low, hi"),
        (lambda: World(download_s=-1.0), r"download_s is -1\.0, expected >= 0"),
        (lambda: Fairness(rho1=-0.1), r"rho1 is -0\.1, expected in \[0, 1\]"),
        (lambda: Fairness(rho2=1.01), r"rho2 is 1\.01, expected in \[0, 1\]"),
        (lambda: Fairness(rho2=np.nan), r"rho2 is nan, expected in \[0, 1\]"),
        (lambda: Fairness(reading="flor"), "reading: no 'flor'; did you mean 'floor'"),
        (lambda: Evaluating(every_rounds=0), "every_rounds is 0, expected >= 1"),
        (lambda: Evaluating(every_s=-1.0), r"every_s is -1\.0, expected >= 0"),
    ],
)
def test_nonsense_is_refused(make, message):
    """The message has the field, the value and what was expected."""
    with pytest.raises(ConfigError, match=message):
        make()


def test_dagsa_keeps_both_rules_and_baselines_break_rho1():
    """Over 40 rounds DAGSA never misses a required user; RS and FedCS do, and are told of."""
    missed = {
        name: sum(r.verdict.missed.size for r in play(PAPERS[name](), 40)[0])
        for name in ("dagsa", "random", "fedcs-low", "all")
    }

    assert missed["dagsa"] == missed["all"] == 0
    assert missed["random"] > 0
    assert missed["fedcs-low"] > 0


def test_another_radio_can_be_put_in():
    """Without fading a still world poses the same links in every round."""
    played, _ = play(All(), 3, radio=UrbanMacro(fading="none"), mobility=Still())

    np.testing.assert_array_equal(played[0].problem.efficiency, played[2].problem.efficiency)


def test_the_model_is_tested_when_due_and_after_the_last_round():
    """Every third round, and the eighth because it is the last; by seconds likewise."""
    how = LearningSettings(
        dataset=Synthetic(n_train=200, n_test=50),
        partition=Iid(),
        model="logistic",
        local=LocalTraining(local_epochs=1),
    )
    scenario = Scenario(World(users=10, stations=2))

    def tested(evaluating, **stop):
        with Federation(how, users=10, workers=0) as federation:
            simulation = Simulation(
                scenario, Random(), learner=federation, evaluating=evaluating, payload_bit=1e5
            )
            played = list(simulation.rounds(**stop))
        return played, [p.round for p in played if p.score]

    _, rounds = tested(Evaluating(every_rounds=3), rounds=8)
    assert rounds == [2, 5, 7]
    played, rounds = tested(Evaluating(every_s=1.0), time_s=3.5)
    assert rounds[-1] == played[-1].round
    crossed = [p.round for p in played if int(p.end_s) > int(p.start_s)]
    assert set(rounds) == {*crossed, played[-1].round}
