"""What a step of a vector of compiled worlds costs beside the compiled loop, measured in one run.

    python bench/vectors.py

`gymnasium.make_vec("sojourn/...", num_envs=64)` steps 64 copies of a world in one call. A step of one copy is compared with a
step of `sojourn.run` in the same world, where an agent learns (smart). Rounds alternate, and the median of CPU times is shown, so
that a busy machine disturbs all alike; beside them are Gymnasium's vector of single environments, and the bound.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

import sojourn as sj
import sojourn.envs

COPIES, ROUNDS, STEPS = 64, 15, 1000
BOUND = 3.0  # times the compiled loop
WORLDS = ("TwoState", "WhackAMole", "AdmissionControl", "Gosavi", "Market")


def nanoseconds(run: Callable[[], object], steps: int) -> float:
    """Return the CPU time of a step."""
    begun = time.process_time()
    run()
    return (time.process_time() - begun) / steps * 1e9


def measured(name: str) -> tuple[float, float, float]:
    """Return what a step costs in the vector, in the compiled loop, and in Gymnasium's vector."""
    env_id = f"sojourn/{name}-v0"
    ours = gym.make_vec(env_id, num_envs=COPIES)
    theirs = gym.make_vec(env_id, num_envs=COPIES, vectorization_mode="sync")
    world: Any = ours.unwrapped
    actions = np.zeros(COPIES, dtype=np.int64)
    agent = sj.smart(
        num_states=int(world.single_observation_space.n), num_actions=int(world.single_action_space.n)
    )

    def taken(envs: Any, steps: int) -> None:
        for _ in range(steps):
            envs.step(actions)

    for envs in (ours, theirs):
        envs.reset(seed=0)
        taken(envs, 30_000 if envs is ours else 2_000)  # until its steps are compiled
    sj.run(world.world, agent, 1000)
    rounds = [
        (
            nanoseconds(lambda: taken(ours, STEPS), STEPS * COPIES),
            nanoseconds(lambda: sj.run(world.world, agent, 200_000), 200_000),
            nanoseconds(lambda: taken(theirs, 20), 20 * COPIES),
        )
        for _ in range(ROUNDS)
    ]
    vector, loop, single = (statistics.median(column) for column in zip(*rounds, strict=True))
    return vector, loop, single


def main() -> None:
    """Print a row for each world; exit with 1 if a vector is slower than its bound."""
    slow = False
    print(
        f"{'world':18} {'vector':>8} {'loop':>8} {'ratio':>6} {'Gymnasium':>10}   ns a step of one of {COPIES}"
    )
    for name in WORLDS:
        vector, loop, single = measured(name)
        slow |= vector > BOUND * loop
        print(f"{name:18} {vector:8.0f} {loop:8.0f} {vector / loop:6.1f} {single:10.0f}")
    sys.exit(int(slow))


if __name__ == "__main__":
    main()
