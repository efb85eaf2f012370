"""Run published experiments again: `python docs/published.py` writes docs/data/published.json in a minute."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import published_exact

import sojourn as sj
from sojourn.rules.intervals import mean_interval

TARGET = Path(__file__).resolve().parent / "data" / "published.json"

# What the notebook beside the code of Wan, Naik and Sutton prints (github.com/abhisheknaik96/average-reward-methods,
# learning_planning_exps.ipynb, commit 3d5c88a): mean reward over 80,000 steps, 30 runs, by alpha and eta. Each has a
# standard error of 0.002.
STEPS, SEEDS, ETAS = 80_000, 30, (0.125, 0.25, 0.5, 1.0, 2.0)
ACCESS_CONTROL = {
    0.0015625: (2.350, 2.401, 2.418, 2.427, 2.430),
    0.00625: (2.499, 2.518, 2.529, 2.530, 2.531),
    0.025: (2.577, 2.577, 2.580, 2.578, 2.571),
    0.1: (2.569, 2.564, 2.555, 2.528, 2.465),
    0.4: (2.444, 2.419, 2.372, 2.313, 2.283),
}
ROOMS = {
    "steps only": {"with_options": False},
    "steps and options": {},
    "options only": {"with_primitives": False},
}
ROOMS_STEPS, ROOMS_SIZES = 200_000, (0.03, 0.125, 0.3)


def access_control(alpha: float, eta: float, seeds: int = SEEDS, steps: int = STEPS) -> dict[str, Any]:
    """Return what Differential Q earned per step on access control, over the run and over its last tenth."""
    model = sj.problems.access_control(freed_first=True)
    agent = sj.agents.differential_q(
        model.num_states, model.num_actions, step_size=alpha, rate_step_size=eta * alpha, exploration=0.1
    )
    runs = [
        sj.run(sj.worlds.Tabular(model), agent, steps, seed=seed, record=np.array([9 * steps // 10, steps]))
        for seed in range(seeds)
    ]
    over = [run.reward / steps for run in runs]
    late = [(run.reward - run.curve.reward[0]) / (steps - run.curve.step[0]) for run in runs]
    return {"alpha": alpha, "eta": eta, "over": measured(over), "late": measured(late)}


def four_rooms(name: str, alpha: float, seeds: int = SEEDS, time: int = ROOMS_STEPS) -> dict[str, Any]:
    """Return what Differential Q earned per single step in four rooms, and the best that there is.

    Options take several steps; all runs end after so many single steps, by their clock.
    """
    model = sj.problems.four_rooms(**ROOMS[name])  # type: ignore[arg-type]
    agent = sj.agents.differential_q(
        model.num_states, model.num_actions, step_size=alpha, rate_step_size=0.1 * alpha, exploration=0.1
    )
    points = np.unique(np.geomspace(10, time, 60).astype(np.int64))
    early, over = [], []
    for seed in range(seeds):
        curve = sj.run(sj.worlds.Tabular(model), agent, time, seed=seed, record=points).curve
        early.append(float(np.interp(time / 10, curve.clock, curve.reward)) / (time / 10))
        over.append(float(np.interp(time, curve.clock, curve.reward)) / time)
    return {
        "choices": name,
        "alpha": alpha,
        "best": float(np.max(sj.solve(model).gain)),
        "early": measured(early),
        "over": measured(over),
    }


def measured(numbers: list[float]) -> dict[str, float]:
    """Return a mean and its 95 % interval over the runs.

    >>> measured([1.0, 1.0])
    {'mean': 1.0, 'low': 1.0, 'high': 1.0}
    """
    low, high = mean_interval(numbers)
    return {"mean": float(np.mean(numbers)), "low": low, "high": high}


# --- On the page --------------------------------------------------------------------


def read() -> dict[str, Any]:
    """Return what was written last."""
    return json.loads(TARGET.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def agrees(row: dict[str, Any]) -> bool:
    """Whether a published mean lies within our interval, widened by two of its own standard errors.

    >>> agrees({"alpha": 0.4, "eta": 2.0, "over": {"low": 2.288, "high": 2.3}})  # the published mean is 2.283
    False
    """
    return bool(row["over"]["low"] - 0.004 <= theirs(row) <= row["over"]["high"] + 0.004)


def theirs(row: dict[str, Any]) -> float:
    """Return the published mean of a pair of step sizes."""
    return ACCESS_CONTROL[row["alpha"]][ETAS.index(row["eta"])]


def how_many_agree() -> str:
    """Return how many of the published means agree with ours."""
    return str(sum(map(agrees, read()["access_control"])))


def at_the_end() -> str:
    """Return what the best pair of step sizes earns in the end."""
    (row,) = (row for row in read()["access_control"] if (row["alpha"], row["eta"]) == (0.025, 0.5))
    return _interval(row["late"], 3)


def exact_table() -> str:
    """Return published gains beside those that are solved for."""
    return published_exact.table(read()["exact"])


def how_many_exact() -> str:
    """Return how many of the published gains are ours to all of their digits."""
    rows = [published_exact.Row(**row) for row in read()["exact"]]
    return f"{sum(row.agrees for row in rows)} of {len(rows)}"


def access_control_table() -> str:
    """Return published means beside ours: a row for each alpha, a column for each eta."""
    lines = ["| | " + " | ".join(f"eta {eta:g}" for eta in ETAS) + " |", "|---|" + "---:|" * len(ETAS)]
    rows = {(row["alpha"], row["eta"]): row for row in read()["access_control"]}
    for alpha in ACCESS_CONTROL:
        cells = []
        for eta in ETAS:
            row = rows[alpha, eta]
            cell = f"{theirs(row):.3f}; {_interval(row['over'], 3)}"
            cells.append(cell if agrees(row) else f"*{cell}*")
        lines.append(f"| alpha {alpha:g} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def four_rooms_table() -> str:
    """Return what was earned with and without options."""
    lines = ["| | alpha | best gain | first 20,000 | all 200,000 |", "|---|---:|---:|---:|---:|"]
    for row in read()["four_rooms"]:
        cells = (
            f"{row['alpha']:g}",
            f"{row['best']:.4f}",
            _interval(row["early"], 4),
            _interval(row["over"], 4),
        )
        lines.append(f"| {row['choices']} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _interval(found: dict[str, float], digits: int) -> str:
    return f"{found['mean']:.{digits}f} ({found['low']:.{digits}f} to {found['high']:.{digits}f})"


if __name__ == "__main__":
    found = {
        "gain": float(np.max(sj.solve(sj.problems.access_control(freed_first=True)).gain)),
        "access_control": [access_control(alpha, eta) for alpha in ACCESS_CONTROL for eta in ETAS],
        "exact": [row._asdict() for row in published_exact.rows()],
        "four_rooms": [four_rooms(name, alpha) for name in ROOMS for alpha in ROOMS_SIZES],
    }
    TARGET.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
