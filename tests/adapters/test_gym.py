"""The environment: lawful, the same worlds as ``Simulation``, the same bits in every form."""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

import fedroam.adapters.gym  # registers the id
from fedroam.adapters.gym import Played, Progress, RoundsEnv, RoundsVectorEnv
from fedroam.errors import ConfigError, ContractError
from fedroam.mobility import RandomDirection, RandomWaypoint, Still
from fedroam.radio import UrbanMacro
from fedroam.scheduling.bandwidth import share
from fedroam.scheduling.judge import judge
from fedroam.scheduling.policies.best_station import Uniform
from fedroam.scheduling.policies.dagsa import Dagsa
from fedroam.scheduling.problem import NO_STATION, Schedule
from fedroam.simulation import Fairness, Scenario, Simulation, World
from fedroam.streams import stream
from strategies import same_arrays


@dataclass(frozen=True)
class Flat:
    """A radio of somebody else: it knows the round."""

    def efficiency(self, distance_m, draws):
        """Answer."""
        return (1 + draws.round) / (1 + distance_m) + draws.uniform("flat")


SCENARIOS = {
    "the paper's": Scenario(),
    "fixed ground": Scenario(World(users=7, stations=3, compute_s=(0.0, 0.0)), Still()),
    "nearest stations": Scenario(
        World(users=20, stations=9, nearest=3, band_spread=0.5, download_s=0.02),
        RandomDirection(speed_m_s=300.0),
        UrbanMacro(shadowing_db=6.0),
        Fairness(0.3, 0.2, "staggered"),
    ),
    "one station": Scenario(World(users=4, stations=1), fairness=Fairness(0.0, 0.0)),
    "walks by time": Scenario(World(users=12, stations=4), RandomWaypoint()),
    "turns by time": Scenario(World(users=12, stations=4), RandomDirection(turn_every=0.5)),
    "no fading": Scenario(World(users=9, stations=4), radio=UrbanMacro(fading="none")),
    "a plug-in's radio": Scenario(World(users=9, stations=4, nearest=2), radio=Flat()),
}
scenarios = pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)


def plain_decoding(problem, scores, *, extra=False):
    """The stations by the documented rule, word by word."""
    wanted, own = [], []
    for user in range(problem.n_users):
        links = range(problem.indptr[user], problem.indptr[user + 1])
        stations = [int(problem.station[link]) for link in links]
        best = max(stations, key=lambda s: (scores[user, s], -s))
        wanted.append(best)
        own.append(scores[user, best])
    users = [u for u in range(problem.n_users) if problem.required[u]]
    for user in sorted(range(problem.n_users), key=lambda u: (-own[u], u)):
        if len(users) < problem.min_selected and user not in users:
            users.append(user)
    if extra:
        users += [u for u in range(problem.n_users) if u not in users and own[u] > 0]
    station = np.full(problem.n_users, NO_STATION, np.int32)
    for user in users:
        station[user] = wanted[user]
    return station


def played_by(env, policy, seed, rounds):
    """Lengths, problems and observations of an episode that a policy plays."""
    env.reset(seed=seed)
    for k in range(rounds):
        problem = env.problem
        schedule = policy(problem, stream(seed, "policy", k))
        seen, worth, _, _, info = env.step(schedule)
        yield problem, worth, info["now_s"], seen


@scenarios
def test_the_checker_of_gymnasium_is_content(scenario):
    """Spaces, seeding, determinism, and nothing of the past is written over; not one warning."""
    check_env(gymnasium.make("fedroam/Rounds-v0", scenario=scenario, rounds=10).unwrapped)


@scenarios
def test_an_episode_is_the_simulation_bit_for_bit(scenario):
    """A policy that plays the environment meets the problems, times and ends of ``Simulation``."""
    env, policy = RoundsEnv(scenario=scenario, rounds=12), Dagsa()
    rounds = list(Simulation(scenario, policy, seed=5).rounds(rounds=12))
    for played, (problem, worth, now_s, _) in zip(
        rounds, played_by(env, policy, 5, 12), strict=True
    ):
        same_arrays(played.problem, problem)
        assert worth == -played.length_s
        assert now_s == played.end_s


@scenarios
@pytest.mark.parametrize("extra", [False, True])
def test_scores_are_decoded_as_documented(scenario, extra):
    """Compiled decoding, split and clock give the bits of plain decoding, `share`, `judge`."""
    fast = RoundsEnv(scenario=scenario, rounds=12, extra=extra)
    plain = RoundsEnv(scenario=scenario, rounds=12)
    rng, *_ = stream(1, "scores"), fast.reset(seed=3), plain.reset(seed=3)
    for k in range(12):
        scores = rng.uniform(-1, 1, fast.action_space.shape).astype(np.float32)
        if k % 3 == 0:
            scores = np.round(scores)  # ties
        problem = plain.problem
        schedule = share(problem, plain_decoding(problem, scores, extra=extra))
        verdict = judge(problem, schedule)
        assert verdict.is_lawful
        fast_seen, fast_worth, *_, fast_info = fast.step(scores)
        plain_seen, plain_worth, *_, plain_info = plain.step(schedule)
        assert fast_worth == plain_worth == -verdict.round_s
        assert fast_info == plain_info
        assert fast_info["n_selected"] == verdict.n_selected
        np.testing.assert_array_equal(fast_seen, plain_seen)


@settings(max_examples=40)
@given(
    users=st.integers(1, 12),
    stations=st.integers(1, 5),
    nearest=st.integers(0, 5),
    rho=st.tuples(st.sampled_from([0.0, 0.3, 1.0]), st.sampled_from([0.0, 0.5, 1.0])),
    reading=st.sampled_from(["strict", "floor", "staggered"]),
    seed=st.integers(0, 2**63 - 1),
    size=st.sampled_from([0.0, 1.0, 1e30]),
    extra=st.booleans(),
)
def test_whatever_the_scores_the_schedule_is_lawful(
    users, stations, nearest, rho, reading, seed, size, extra
):
    """Any finite scores, any world: required users and enough users take part."""
    fairness = Fairness(*rho, reading)
    scenario = Scenario(World(users=users, stations=stations, nearest=nearest), fairness=fairness)
    env, rng = RoundsEnv(scenario=scenario, rounds=4, extra=extra), stream(seed, "scores")
    env.reset(seed=seed)
    for _ in range(4):
        problem = env.problem
        scores = size * rng.uniform(-1, 1, (users, stations))
        _, worth, *_ = env.step(scores)
        station = plain_decoding(problem, scores, extra=extra)
        verdict = judge(problem, share(problem, station))
        assert verdict.is_lawful
        assert worth == -verdict.round_s


@scenarios
@pytest.mark.parametrize("time_s", [None, 0.8])
def test_many_worlds_are_single_worlds_side_by_side(scenario, time_s):
    """World ``i`` gives the bits of ``RoundsEnv`` under ``seed + i``, over the ends of episodes."""
    n, options = 5, {"scenario": scenario, "rounds": 4, "time_s": time_s}
    many, singles = RoundsVectorEnv(n, **options), [RoundsEnv(**options) for _ in range(n)]
    seen, told = many.reset(seed=11)
    for i, single in enumerate(singles):
        one, info = single.reset(seed=11 + i)
        np.testing.assert_array_equal(seen[i], one)
        assert info == {name: told[name][i] for name in info}
    rng, over, n_ends = stream(2, "scores"), np.zeros(n, bool), 0
    for _ in range(11):
        scores = rng.uniform(-1, 1, many.action_space.shape).astype(np.float32)
        seen, worth, ended, truncated, told = many.step(scores)
        assert not ended.any()
        assert many.observation_space.contains(seen)
        for i, single in enumerate(singles):
            if over[i]:
                (one, info), length, stops = single.reset(), 0.0, False
            else:
                one, length, _, stops, info = single.step(scores[i])
            np.testing.assert_array_equal(seen[i], one)
            assert (worth[i], truncated[i]) == (length, stops)
            assert info == {name: told[name][i] for name in info}
        over, n_ends = truncated, n_ends + np.count_nonzero(truncated)
    assert n_ends >= n


def test_observation_says_what_it_should():
    """Each column against the problem."""
    env = RoundsEnv(scenario=SCENARIOS["nearest stations"])
    env.reset(seed=0)
    for _ in range(5):
        seen, *_ = env.step(env.action_space.sample())
    problem, rates = env.problem, np.zeros((20, 9))
    for user in range(20):
        for link in range(problem.indptr[user], problem.indptr[user + 1]):
            s, band_hz = problem.station[link], problem.capacity_hz[problem.station[link]]
            rates[user, s] = problem.efficiency[link] * band_hz / problem.payload_bit[user]
    np.testing.assert_allclose(seen[:, :9], rates, rtol=1e-6)
    np.testing.assert_allclose(seen[:, 9], problem.compute_s, rtol=1e-6)
    np.testing.assert_array_equal(seen[:, 10], problem.required)
    np.testing.assert_allclose(seen[:, 11], problem.times_selected / 5, rtol=1e-6)
    np.testing.assert_array_equal(seen[:, 12], 5 - problem.last_round)


def test_one_seed_is_one_story_and_resets_go_on_to_other_worlds():
    """Episodes follow from the first seed; without any, chance gives one and tells it."""
    env, again = RoundsEnv(rounds=2), RoundsEnv(rounds=2)
    seeds = [env.reset(seed=4)[1]["seed"]] + [env.reset()[1]["seed"] for _ in range(3)]
    assert seeds[0] == 4
    assert len(set(seeds)) == 4
    assert seeds == [again.reset(seed=4)[1]["seed"]] + [again.reset()[1]["seed"] for _ in range(3)]
    seen, info = RoundsEnv().reset()
    np.testing.assert_array_equal(seen, env.reset(seed=info["seed"])[0])


def test_progress_is_fedavg_on_quadratic_losses():
    """The closed form is the mean over many real FedAvg runs on random quadratics."""
    rng, n_users, n_draws, rate, spread = stream(0, "quadratics"), 6, 200_000, 0.3, 2.0
    proxy, part = Progress(rate, heterogeneity=spread), np.zeros((1, n_users))
    own = rng.normal(0, np.sqrt(spread), (n_draws, n_users))  # the users' optima, one number each
    common = own.mean(axis=1)
    model = common + rng.choice([-1.0, 1.0], n_draws)  # starts at distance 1
    for round in range(6):
        took_part = rng.random((1, n_users)) < 0.5
        took_part[0, round] = True
        sent = model[:, None] + rate * (own[:, took_part[0]] - model[:, None])
        model, part = sent.mean(axis=1), proxy.mix(part, took_part)
        loss = (model - common) ** 2
        error = loss.std() / np.sqrt(n_draws)
        assert abs(proxy.loss(part)[0] - loss.mean()) < 4 * error


def test_rewards_of_progress_add_up():
    """Over an episode they are the logarithm of how often the loss was divided."""
    proxy = Progress(0.2, 5.0)
    env = RoundsEnv(reward=proxy, time_s=3.0, rounds=50)
    env.reset(seed=1)
    part, total, is_over = np.zeros((1, 50)), 0.0, False
    while not is_over:
        before = env.problem.times_selected
        _, worth, _, is_over, info = env.step(env.action_space.sample())
        total += worth
        if not is_over:
            part = proxy.mix(part, (env.problem.times_selected > before)[None])
            assert total == pytest.approx(-np.log(proxy.loss(part)[0]))
    assert info["now_s"] >= 3.0 > info["now_s"] - info["length_s"]


def test_nobody_in_a_round_teaches_nothing():
    """A deadline that nobody makes costs time only; the record says who was missed."""
    env = RoundsEnv(reward="progress", time_s=9.0)
    env.reset(seed=1)
    nobody = Schedule(np.full(50, NO_STATION), np.zeros(50), if_empty_s=1.5)
    _, worth, _, _, info = env.step(nobody)
    assert (worth, info["now_s"], info["n_selected"]) == (0.0, 1.5, 0)


def test_a_reward_of_ones_own():
    """It gets the round as it was played."""
    seen = []

    def mine(played: Played) -> float:
        seen.append(played)
        return 2.0 * played.n_required

    envs = gymnasium.make_vec("fedroam/Rounds-v0", num_envs=2, reward=mine, rounds=3)
    assert isinstance(envs, RoundsVectorEnv)
    envs.reset(seed=0)
    for _ in range(2):
        _, worth, *_ = envs.step(envs.action_space.sample())
    assert worth.tolist() == [2.0 * seen[2].n_required, 2.0 * seen[3].n_required]
    assert (seen[2].round, seen[2].n_missed) == (1, 0)
    assert seen[2].n_required == 25  # the strict reading: all who were left out of round 0
    assert seen[2].times_selected.sum() == seen[2].n_required + 25


def test_it_is_registered_and_plays_through_gymnasiums_wrappers():
    """``gymnasium.make`` with all its checks, and the problem through them."""
    env = gymnasium.make("fedroam/Rounds-v0", rounds=2)
    env.reset(seed=0)
    _, length, *_ = env.step(Uniform()(env.unwrapped.problem, stream(0, "policy", 0)))
    assert length == -next(Simulation(Scenario(), Uniform(), seed=0).rounds(rounds=1)).length_s
    assert env.step(env.action_space.sample())[3]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: RoundsEnv(reward="lenght"), ConfigError, "did you mean 'length'"),
        (lambda: RoundsEnv(reward=3), ConfigError, "reward is 3, expected 'length' or 'progress'"),
        (lambda: RoundsEnv(reward="progress"), ConfigError, "time_s is None, expected"),
        (lambda: RoundsEnv(rounds=0), ConfigError, "rounds is 0, expected >= 1"),
        (lambda: RoundsEnv(time_s=np.nan), ConfigError, "time_s is nan"),
        (lambda: RoundsVectorEnv(0), ConfigError, "num_envs is 0"),
        (lambda: Progress(rate=0), ConfigError, "rate is 0"),
        (lambda: Progress(heterogeneity=-1), ConfigError, "heterogeneity is -1"),
        (lambda: RoundsVectorEnv(2).reset(seed=[1]), ConfigError, "seed holds 1 seeds, expected 2"),
        (lambda: RoundsVectorEnv(1).reset(seed=[-1]), ConfigError, "seed is -1"),
        (lambda: RoundsVectorEnv(1).step(np.zeros((1, 50, 8))), ResetNeeded, "call reset"),
        (lambda: RoundsEnv().problem, ResetNeeded, "call reset"),
        (lambda: begun().step(np.zeros((8, 50))), ConfigError, "shape"),
        (lambda: begun().step("scores"), ConfigError, "expected scores"),
        (lambda: begun().step(np.full((50, 8), np.nan)), ConfigError, "nan or inf"),
        (lambda: begun().step(np.full((50, 8), -np.inf)), ConfigError, "nan or inf"),
        (lambda: begun().step(Schedule(np.zeros(50), np.zeros(50))), ConfigError, "station holds"),
        (lambda: begun().step(crowd()), ContractError, "station 0 gives"),
        (lambda: begun().step(Schedule(np.full(50, -1), np.zeros(50))), ConfigError, "if_empty_s"),
    ],
)
def test_mistakes_are_named(call, error, message):
    """One clear line."""
    with pytest.raises(error, match=message):
        call()


def begun():
    """An environment in its first round."""
    env = RoundsEnv()
    env.reset(seed=0)
    return env


def crowd():
    """Everybody gets the whole band of station 0."""
    return Schedule(np.zeros(50, np.int32), np.full(50, 1e6))


def test_after_the_end_comes_a_reset():
    """A step beyond the end is refused; after a reset it goes on."""
    env = RoundsEnv(rounds=1)
    env.reset(seed=0)
    assert env.step(env.action_space.sample())[3]
    with pytest.raises(ResetNeeded, match="call reset"):
        env.step(env.action_space.sample())
    env.reset()
    env.step(env.action_space.sample())


def test_without_gymnasium_it_says_what_to_install():
    """One line, and importing fedroam needs it not."""
    program = (
        "import sys; sys.modules['gymnasium'] = None\n"
        "import fedroam\n"
        "try:\n    import fedroam.adapters.gym\n"
        "except fedroam.FedroamError as error:\n    print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "gymnasium is not installed: pip install 'fedroam[gym]'\n"
    assert fedroam.adapters.gym.ROUNDS in gymnasium.registry


def test_the_example_learns_within_seconds():
    """On worlds that it never saw it beats its own beginnings, and chance by a fifth."""
    program = Path(__file__).parents[2] / "examples" / "learn_schedules.py"
    done = subprocess.run(
        [sys.executable, str(program), "--quick"], capture_output=True, text=True, check=True
    )
    told = dict(re.findall(r"(\w+) (0\.\d+) s", done.stdout))
    length_s = {name: float(value) for name, value in told.items()}
    assert length_s.keys() == {"learnt", "untaught", "Random", "Dagsa", "Certified"}
    assert length_s["learnt"] < 0.95 * length_s["untaught"]
    assert length_s["learnt"] < 0.8 * length_s["Random"]
