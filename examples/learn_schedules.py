"""
Learn to schedule: evolution strategies in plain NumPy over many worlds side by side.

    python examples/learn_schedules.py [--quick]      (needs: pip install 'fedroam[gym]')

A small network, the same for every user and station, turns what is known of a link into its score.
World i plays its own perturbation of the weights, worlds i and i + N/2 the opposite one in the same
world; weights move towards what made rounds shorter (OpenAI-ES: Salimans et al. 2017). Judged on
worlds that no training saw, beside its own beginnings ("untaught": much like "the best links"),
`random`, the paper's DAGSA and `certified`.
"""

import argparse
import time

import gymnasium
import numpy as np

import fedroam.adapters.gym  # noqa: F401  it registers fedroam/Rounds-v0
from fedroam import Certified, Dagsa, Random, Scenario, Simulation

N_FEATURES, HIDDEN = 8, 16
SHAPES = ((N_FEATURES, HIDDEN), (HIDDEN,), (HIDDEN,))
SIZE = sum(int(np.prod(shape)) for shape in SHAPES)


def features(seen):
    """``[N, U, S, F]`` from what is seen, ``[N, U, S + 4]``: each link alone and among others."""
    n_stations = seen.shape[2] - 4
    rate = np.log(np.maximum(seen[..., :n_stations], 1e-6))
    best = rate.max(axis=2, keepdims=True)
    second = np.partition(rate, -2, axis=2)[..., -2:-1] if n_stations > 1 else best
    pull = np.exp(4 * (rate - best))  # to whom a user would go, softly
    crowd = np.log(pull.sum(axis=1, keepdims=True) + 1e-3)
    good = np.log((pull * np.exp(best)).sum(axis=1, keepdims=True) + 1e-3)
    required = (seen[..., None, n_stations + 1] * pull).sum(axis=1, keepdims=True)
    columns = (
        rate,
        rate - best,
        best - second,
        crowd,
        good,
        required,
        best - best.mean(axis=1, keepdims=True),
        seen[..., n_stations, None] * 10 - 1,
    )
    return np.stack(np.broadcast_arrays(*columns), axis=-1)


def scores(weights, seen):
    """``[N, U, S]`` by one set of weights a world, ``[N, SIZE]``."""
    parts = np.split(weights, np.cumsum([int(np.prod(shape)) for shape in SHAPES])[:-1], axis=1)
    w1, b1, w2 = (p.reshape(-1, *shape) for p, shape in zip(parts, SHAPES, strict=True))
    x = features(seen)
    n, u, s, f = x.shape
    hidden = np.tanh(x.reshape(n, u * s, f) @ w1 + b1[:, None])
    return (hidden @ w2[..., None]).reshape(n, u, s) + x[..., 0]  # begins near "the best links"


def returns(envs, weights, seeds, rounds):
    """Mean round length of each world under its weights."""
    seen, _ = envs.reset(seed=seeds)
    total = np.zeros(len(weights))
    for _ in range(rounds):
        seen, reward, *_ = envs.step(scores(weights, seen))
        total += reward
    return -total / rounds


def learn(seed, generations, rounds, n_worlds=64, step=0.05, spread=0.1):
    rng = np.random.default_rng(seed)
    envs = gymnasium.make_vec("fedroam/Rounds-v0", num_envs=n_worlds, rounds=rounds)
    weights, velocity = rng.normal(0, 0.1, SIZE), np.zeros(SIZE)
    for generation in range(generations):
        half = rng.normal(0, 1, (n_worlds // 2, SIZE))
        noise = np.concatenate([half, -half])
        seeds = 10**6 * (1 + seed) + generation * n_worlds + np.arange(n_worlds // 2)
        length_s = returns(envs, weights + spread * noise, [*map(int, seeds)] * 2, rounds)
        gain = length_s[n_worlds // 2 :] - length_s[: n_worlds // 2]
        velocity = 0.9 * velocity + (gain / (gain.std() + 1e-9)) @ half / len(half)
        weights = weights + step * velocity * (1 - generation / generations)
    return weights


def judge(networks, n_worlds, rounds):
    """Mean round lengths on unseen worlds (seeds 0, 1, ...): of networks by name, and of others."""
    envs = gymnasium.make_vec("fedroam/Rounds-v0", num_envs=n_worlds, rounds=rounds)
    means = {
        name: returns(envs, np.tile(weights, (n_worlds, 1)), 0, rounds).mean()
        for name, weights in networks.items()
    }
    for policy in (Random(), Dagsa(), Certified(effort=0.0)):
        played = (
            Simulation(Scenario(), policy, seed=s).rounds(rounds=rounds) for s in range(n_worlds)
        )
        means[type(policy).__name__] = np.mean([r.length_s for run in played for r in run])
    return means


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--quick", action="store_true", help="seconds instead of minutes")
    parser.add_argument("--seeds", type=int, default=3, help="how often to learn from scratch")
    given = parser.parse_args()
    generations, rounds, n_worlds = (15, 8, 4) if given.quick else (150, 20, 20)
    for seed in range(1 if given.quick else given.seeds):
        before_s = time.perf_counter()
        networks = {"learnt": learn(seed, generations, rounds), "untaught": learn(seed, 0, rounds)}
        took_s = time.perf_counter() - before_s
        means = judge(networks, n_worlds, 20)
        others = ", ".join(f"{name} {mean_s:.4f} s" for name, mean_s in means.items())
        print(f"seed {seed}: {others} a round, learnt in {took_s:.0f} s", flush=True)


if __name__ == "__main__":
    main()
