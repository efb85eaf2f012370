"""Measures what docs/gallery/options.md says of learning inside options, and of choosing how long to hold an action.

    python docs/epochs.py inside-inter inside-intra cart pendulum light

measures the parts that are named, all by default, into `docs/data/epochs.json`; each takes a minute or two.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.wrappers import TransformAction
from scipy import stats

import sojourn as sj
from sojourn.models import Option, from_options, primitive

HERE = Path(__file__).resolve().parent
DATA = HERE / "data" / "epochs.json"
GOAL, SEEDS, AT = (9, 9), 5, (4_000, 16_000, 32_000, 48_000, 64_000)
FRAMES, LOOKS = 160_000.0, 8  # of training, and the evaluations of which the best says which policy is kept
TORQUES = [np.array([torque], dtype=np.float32) for torque in (-2, -1, 0, 1, 2)]
# The price of a decision, free lengths, and fixed ones to compare with.
TASKS: dict[str, tuple[float, list[list[int]]]] = {
    "cart": (0.1, [[3, 5, 7, 9], [4], [5], [6]]),
    "pendulum": (1.0, [[2, 4, 8], [4], [6], [8]]),
}


def inside(agent: str) -> list[list[float]]:
    """Return the share of the best gain that the greedy policy over options and single steps has, by run and number of steps."""
    rooms, doors = sj.problems.four_rooms(goal=GOAL, with_options=False), sj.problems.hallways(GOAL)
    chosen = [primitive(rooms, move) for move in range(4)] + doors
    whole = from_options(rooms, chosen)
    best, found = sj.solve(whole).gain, []
    for seed in range(SEEDS):
        env = sj.envs.Options(sj.envs.WorldEnv(sj.worlds.Tabular(rooms)), chosen)
        sizes: dict[str, Any] = {"step_size": 0.1, "rate_step_size": 0.001, "exploration": 0.1}
        learner, shares = sj.Learner(env, agent, seed=seed, **sizes), []
        for steps in AT:
            learner.train(duration=steps - learner.totals.duration)
            worth = learner.agent.worth.q if agent == "intra_option" else learner.q
            policy = np.where(whole.pair_table() >= 0, worth, -np.inf).argmax(axis=1)
            shares.append(float(np.min(sj.evaluate(whole, policy).gain)) / best)
        found.append(shares)
    return found


def made(task: str, lengths: list[int], price: float) -> Any:
    """Return an environment in which actions are held."""
    if task == "cart":
        inner: Any = gym.make("CartPole-v1", sutton_barto_reward=True)  # -1 for a fall
    else:
        inner = TransformAction(
            gym.make("Pendulum-v1"), lambda number: TORQUES[number], gym.spaces.Discrete(5)
        )
    return sj.envs.Holding(inner, lengths, price=price)


def held(task: str, lengths: list[int], price: float, seed: int) -> dict[str, float]:
    """Return what PPO's best policy earns a frame, on other episodes than those on which it was found to be the best."""
    make = lambda: made(task, lengths, price)  # noqa: E731
    learner, best = sj.Learner(make, "ppo", seed=seed), -np.inf
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(LOOKS):
            learner.train(duration=FRAMES / LOOKS)
            rate = learner.evaluate(duration=4_000.0, seed=500 + seed).rate
            if rate > best:
                best = rate
                learner.save(Path(folder) / "best")
        found = sj.Learner.load(Path(folder) / "best", make).evaluate(duration=20_000.0, seed=1_000 + seed)
    return {"rate": found.rate, "length": found.duration / found.steps}


def light() -> dict[str, Any]:
    """Return what the planner's policies earn in the traffic light of the page, exactly, and the best that there is."""
    page = (HERE / "gallery" / "options.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    exec(page.split("```python\n")[4].split("\nlight = ")[0], names)  # noqa: S102 - our own documentation
    model = sj.models.explore((0, 0, 0, 0), names["second"])
    found: dict[str, Any] = {"price": 1.0, "runs": {}, "best": {}}
    for lengths in ([1, 2, 4, 8], [1], [2], [4]):
        whole = from_options(
            model, [Option(road, steps=one) for road in (0, 1) for one in lengths], price=1.0
        )
        found["best"][_named(lengths)] = sj.solve(whole).gain
        runs = []
        for seed in range(SEEDS):
            env = sj.envs.Holding(sj.envs.WorldEnv(sj.worlds.Tabular(model)), lengths, price=1.0)
            learner = sj.Learner(env, seed=seed)
            learner.train(duration=30_000.0)
            runs.append({"rate": sj.evaluate(whole, learner.policy).gain, "length": 0.0})
        found["runs"][_named(lengths)] = runs
    return found


def _named(lengths: list[int]) -> str:
    return ", ".join(map(str, lengths))


def worth(found: dict[str, Any]) -> tuple[str, str, float, float, float]:
    """Return the free lengths, the best fixed one, and how much more the free ones earn, with a 95 % interval over pairs of runs.

    >>> one, other = ({"rate": rate, "length": 1.0} for rate in (2.0, 1.0))
    >>> worth({"runs": {"1, 2": [one, one], "1": [other, other], "2": [other, other]}})[:3]
    ('1, 2', '1', 1.0)
    """
    rates = {name: np.array([run["rate"] for run in runs]) for name, runs in found["runs"].items()}
    free, *fixed = rates
    best = max(fixed, key=lambda name: float(rates[name].mean()))
    more = rates[free] - rates[best]
    half = float(stats.t.ppf(0.975, len(more) - 1)) * float(more.std(ddof=1)) / len(more) ** 0.5
    return free, best, float(more.mean()), float(more.mean()) - half, float(more.mean()) + half


def read() -> dict[str, Any]:
    """Return what was measured."""
    return json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else {}


def holding_table() -> str:
    """Return what the freedom to choose lengths is worth, by task."""
    names = {
        "light": "traffic light, per second",
        "cart": "CartPole, per frame",
        "pendulum": "Pendulum, per frame",
    }
    lines = [
        "| task | price | free lengths | earned | best fixed | earned | worth |",
        "|---|--:|---|--:|---|--:|--:|",
    ]
    for task, name in names.items():
        found = read()[task]
        free, fixed, more, low, high = worth(found)
        means = [np.mean([run["rate"] for run in found["runs"][one]]) for one in (free, fixed)]
        cells = (name, f"{found['price']:g}", free, f"{means[0]:.4f}", fixed, f"{means[1]:.4f}")
        lines.append(f"| {' | '.join(cells)} | {more:.4f} ({low:.4f} to {high:.4f}) |")
    return "\n".join(lines)


def inside_table() -> str:
    """Return the mean shares of the best gain by the number of steps."""
    shares = {agent: np.array(read()["inside"][agent]) for agent in ("differential_q", "intra_option")}
    lines = ["| steps | inter-option | intra-option |", "|--:|--:|--:|"]
    for place, steps in enumerate(AT):
        cells = [f"{100.0 * share[:, place].mean():.0f} %" for share in shares.values()]
        lines.append(f"| {steps:,} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main(parts: list[str]) -> None:
    """Measure the parts."""
    for part in parts or ["inside-inter", "inside-intra", "cart", "pendulum", "light"]:
        key = ("differential_q" if part == "inside-inter" else "intra_option") if "-" in part else part
        if "-" in part:
            measured: Any = inside(key)
        elif part == "light":
            measured = light()
        else:
            price, sets = TASKS[part]
            runs = {_named(one): [held(part, one, price, seed) for seed in range(SEEDS)] for one in sets}
            measured = {"price": price, "runs": runs}
        found = read()  # several parts may be measured at once
        (found.setdefault("inside", {}) if "-" in part else found)[key] = measured
        DATA.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
