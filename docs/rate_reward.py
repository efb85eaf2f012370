"""Measure stable-baselines3's PPO and DQN where an action lasts, with and without `sojourn.envs.RateReward`.

    python docs/rate_reward.py    (needs stable-baselines3; without it, one sentence)

The agent chooses an action and for how many frames to hold it (1, 2, 4 or 8). What counts is the reward per frame. An algorithm for
steps of equal length maximises the discounted rewards of decisions, however long these last; with `RateReward` around
the environment the reward of a decision is what it earns above the rate. Everything else is stable-baselines3's default.
The policy at the end is followed without learning for 20,000 frames. Results go to `docs/data/rate_reward.json`; runs that
are there already are not made again.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym

import sojourn as sj
from sojourn.data.files import write_json

FILE = Path(__file__).parent / "data" / "rate_reward.json"
LENGTHS, DECISIONS, FRAMES, SEEDS = (1, 2, 4, 8), 20_000, 20_000, (0, 1)


class Ends(gym.Wrapper[Any, Any, Any, Any]):
    """An environment in which nothing is paid, except so much at the end of an episode: a fall, or the top."""

    def __init__(self, env: Any, pay: float) -> None:
        super().__init__(env)
        self.pay = pay

    def step(self, action: Any) -> Any:
        """Take a frame."""
        observation, _, terminated, truncated, info = self.env.step(action)
        return observation, self.pay * terminated, terminated, truncated, info


def shop() -> Any:
    """Jobs that take 1 to 8 frames and pay more, but not in proportion: 4 frames for 3 is the best, 0.75 a frame."""
    return sj.envs.WorldEnv(
        sj.worlds.Tabular(
            sj.models.from_transitions([("shop", name, "shop", 1.0, pay, time) for name, pay, time in JOBS])
        )
    )


JOBS = (("short", 0.5, 1.0), ("good", 3.0, 4.0), ("long", 4.0, 8.0))
PROBLEMS: dict[str, Any] = {
    "CartPole, -1 a fall": lambda: sj.envs.Holding(Ends(gym.make("CartPole-v1"), -1.0), LENGTHS),
    "Acrobot, 1 at the top": lambda: sj.envs.Holding(Ends(gym.make("Acrobot-v1"), 1.0), LENGTHS),
    "three jobs": shop,
}


def followed(model: Any, make: Any) -> float:
    """Return what a policy earns per frame."""
    env = make()
    observation, _ = env.reset(seed=10_000)
    earned = passed = 0.0
    while passed < FRAMES:
        action, _ = model.predict(observation, deterministic=True)
        observation, reward, terminated, truncated, info = env.step(int(action))
        earned, passed = earned + reward, passed + info["duration"]
        if terminated or truncated:
            observation, _ = env.reset()
    return float(earned / passed)


def table() -> str:
    """Return what was measured as a table in Markdown, with the seeds beside each other."""
    found: dict[str, float] = json.loads(FILE.read_text())["runs"]
    rows = ["| reward per frame | | as it is | with `RateReward` |", "|---|---|---|---|"]
    for problem in PROBLEMS:
        for algorithm in ("PPO", "DQN"):
            cells = [
                ", ".join(
                    f"{found[key]:.4f}"
                    for seed in SEEDS
                    if (key := f"{problem}; {algorithm}; {how}; {seed}") in found
                )
                for how in ("as it is", "RateReward")
            ]
            rows.append(f"| {problem} | {algorithm} | {cells[0]} | {cells[1]} |")
    return "\n".join(rows)


def main() -> None:
    """Make the runs that are missing."""
    try:
        import torch
        from stable_baselines3 import DQN, PPO
        from stable_baselines3.common.monitor import Monitor
    except ModuleNotFoundError as error:
        sys.exit(f"{error.name} is not installed, so nothing was measured: pip install stable-baselines3")
    torch.set_num_threads(1)
    found: dict[str, float] = json.loads(FILE.read_text())["runs"] if FILE.exists() else {}
    for seed in SEEDS:
        for name, make in PROBLEMS.items():
            for algorithm in (PPO, DQN):
                for wrapped in (False, True):
                    key = f"{name}; {algorithm.__name__}; {'RateReward' if wrapped else 'as it is'}; {seed}"
                    if key in found:
                        continue
                    env = sj.envs.RateReward(make()) if wrapped else make()
                    model = algorithm("MlpPolicy", Monitor(env), seed=seed, device="cpu")
                    model.learn(DECISIONS)
                    found[key] = followed(model, make)
                    sys.stdout.write(f"{key}: {found[key]:.5g}\n")
                    write_json(FILE, {"decisions": DECISIONS, "frames": FRAMES, "runs": found})


if __name__ == "__main__":
    main()
