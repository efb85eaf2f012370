"""Measures what docs/networks.md says of deep Q that goes on learning, on environments that nobody here wrote.

    python docs/going_on.py

makes the runs that `docs/data/going_on.json` does not have yet, each of about half a minute, in the order of `RUNS`; it
can be stopped at any time. LunarLander needs `pip install "gymnasium[box2d]"`.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

import sojourn as sj

DATA = Path(__file__).resolve().parent / "data" / "going_on.json"
STEPS, LOOK, LAST = (
    25_000,
    6_000.0,
    12_000.0,
)  # between evaluations; frames of each of these, and of the last one


class Top(gym.Wrapper[Any, Any, Any, Any]):
    """Pays 1 at the top, where an episode ends, and nothing on the way."""

    def step(self, action: Any) -> Any:
        """Take a step."""
        seen, _, terminated, truncated, info = self.env.step(action)
        return seen, float(terminated), terminated, truncated, info


class Repeated(gym.Wrapper[Any, Any, Any, Any]):
    """Every action lasts 1 to 8 frames, all equally likely; a fall costs 20."""

    def step(self, action: Any) -> Any:
        """Take up to 8 frames."""
        total, frames, last = 0.0, 0, int(self.np_random.integers(1, 9))
        while frames < last:
            frames += 1
            seen, reward, terminated, truncated, info = self.env.step(action)
            total += float(reward)
            if terminated or truncated:
                break
        return (
            seen,
            total - 20.0 * terminated,
            terminated,
            truncated,
            {**info, "duration": float(frames)},
        )


TASKS: dict[str, tuple[str, Callable[[], Any]]] = {
    "cart": (
        "CartPole (-1 for a fall)",
        lambda: gym.make("CartPole-v1", sutton_barto_reward=True),
    ),
    "lander": ("LunarLander", lambda: gym.make("LunarLander-v3")),
    "car": ("MountainCar (1 at the top)", lambda: Top(gym.make("MountainCar-v0"))),
    "acrobot": ("Acrobot", lambda: gym.make("Acrobot-v1")),
    "held cart": ("CartPole, 1 to 8 frames a decision", lambda: Repeated(gym.make("CartPole-v1"))),
}
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "default": ("as it is", {}),
    "units": ("units of the last 10,000 steps", {"unit_steps": 10_000}),
    "single": ("actions not held", {"hold": 1}),
    "0.2": ("none of these, as in 0.2", {"lookahead": 1, "hold": 1, "unit_steps": 10_000}),
    "short": ("returns of one step", {"lookahead": 1}),
}
RUNS = [
    ("cart", "default", 1),
    ("lander", "default", 0),
    ("car", "default", 0),
    ("cart", "0.2", 1),
    ("lander", "default", 1),
    ("held cart", "default", 0),
    ("cart", "default", 0),
    ("acrobot", "default", 0),
    *((task, "default", 1) for task in ("car", "acrobot")),
    *(("cart", *run) for run in (("0.2", 0), ("single", 0), ("single", 1), ("units", 0), ("units", 1))),
    *((task, "units", 0) for task in ("lander", "car", "acrobot", "held cart")),
    *((task, "units", 1) for task in ("lander", "car")),
    *((task, "default", 2) for task in ("lander", "cart", "car", "held cart")),
    ("lander", "0.2", 0),
    ("car", "single", 0),
    ("held cart", "0.2", 0),
    *((task, "default", seed) for seed in (3, 4) for task in ("lander", "cart", "car")),
    ("lander", "single", 0),
    ("car", "short", 0),
]


def measured(task: str, variant: str, seed: int) -> dict[str, Any]:
    """Return what greedy policies earn a frame: after each 25,000 steps, the last one, and the best one.

    The last and the best are followed through other episodes than those that said which one is best.
    """
    make = TASKS[task][1]
    where: Any = "duration" if task == "held cart" else 1.0
    learner = sj.Learner(make, "deep_q", duration=where, seed=seed, **VARIANTS[variant][1])
    found: dict[str, Any] = {"task": task, "variant": variant, "seed": seed, "at": []}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(4):
            learner.train(STEPS)
            found["at"].append(learner.evaluate(duration=LOOK, seed=500 + seed).rate)
            if found["at"][-1] == max(found["at"]):
                learner.save(Path(folder) / "best")
        kept = sj.Learner.load(Path(folder) / "best", make)
        for name, one in (("last", learner), ("kept", kept)):
            found[name] = one.evaluate(duration=LAST, seed=1_000 + seed).rate
    return {**found, "learned rate": learner.rate}


def read() -> list[dict[str, Any]]:
    """Return what was measured."""
    return json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else []


def table() -> str:
    """Return what the last policies earn, and the best of four, by task and variant."""
    lines = [
        "| reward per frame | deep Q | runs | last policy | worst | best of four | learned rate |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for task, (name, _) in TASKS.items():
        for variant, (words, _) in VARIANTS.items():
            runs = [run for run in read() if (run["task"], run["variant"]) == (task, variant)]
            if runs:
                last, kept, rates = (
                    np.array([run[key] for run in runs]) for key in ("last", "kept", "learned rate")
                )
                numbers = last.mean(), last.min(), kept.mean(), rates.mean()
                cells = name, words, str(len(runs)), *(f"{number:.4f}" for number in numbers)
                lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Make the runs that are missing."""
    for run in RUNS:
        if run not in [(one["task"], one["variant"], one["seed"]) for one in read()]:
            found = [*read(), measured(*run)]
            DATA.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
