"""What a Learner costs beside the environment it learns in, measured in one run.

    python bench/learner.py

For each environment: microseconds of the environment's own step, driven by a bare loop, and of
a step of training; the difference is the Learner's. Blocks of both alternate, and the
median over blocks is shown, so that a busy machine disturbs both alike.
"""

from __future__ import annotations

import statistics
import time
import warnings
from typing import Any

import gymnasium as gym

import sojourn as sj
import sojourn.envs

BLOCKS, STEPS = 15, 20_000
BOUND = 5.0  # microseconds above the environment's own, for Discrete observations


def own(env: Any) -> float:
    """Return the microseconds of the environment's own step."""
    env.reset(seed=0)
    step, choose = env.step, [int(env.action_space.start) + i % env.action_space.n for i in range(STEPS)]
    begin = time.perf_counter()
    for action in choose:
        _, _, terminated, truncated, _ = step(action)
        if terminated or truncated:
            env.reset()
    return (time.perf_counter() - begin) / STEPS * 1e6


def training(learner: sj.Learner) -> float:
    """Return the microseconds of a step of training."""
    begin = time.perf_counter()
    learner.train(STEPS)
    return (time.perf_counter() - begin) / STEPS * 1e6


def main() -> None:
    """Print a table."""
    warnings.simplefilter("ignore")
    print(f"{'environment':44}{'agent':14}{'own step':>10}{'training':>10}{'Learner':>10}  microseconds")
    options: dict[str, dict[str, Any]] = {
        "sojourn/TwoState-v0": {"log_scale": 1e-5, "max_episode_steps": 10_000},
        "sojourn/Market-v0": {"num_bars": 100_000, "state_size": 6},
        "FrozenLake-v1": {},
    }
    worst = 0.0
    for env_id, arguments in options.items():
        for name, make in (("smart", sj.smart), ("harmonic_r", sj.harmonic_r)):
            env = gym.make(env_id, **arguments)
            duration: Any = "duration" if env_id.startswith("sojourn/") else 1
            # An exploring agent: what a step of FrozenLake costs depends on where one goes.
            learner = sj.Learner(gym.make(env_id, **arguments), make, duration=duration, exploration=1.0)
            learner.train(2000)
            own(env)
            pairs = [(own(env), training(learner)) for _ in range(BLOCKS)]
            alone, together = (statistics.median(column) for column in zip(*pairs, strict=True))
            worst = max(worst, together - alone)
            print(f"{env_id:44}{name:14}{alone:10.2f}{together:10.2f}{together - alone:10.2f}")
    print(f"the Learner costs at most {worst:.2f} microseconds a step; the bound is {BOUND}")


if __name__ == "__main__":
    main()
