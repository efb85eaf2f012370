"""What tiles earn, and what rules of thumb earn on the fleet: `python docs/fleet.py` writes docs/data/tiles.json in a minute."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import sojourn as sj
from sojourn.agents.protocol import draw, learn
from sojourn.agents.values.tiles import NoValues
from sojourn.rates.ratio import Cumulative
from sojourn.rules.intervals import mean_interval
from sojourn.rules.random import Stream
from sojourn.rules.vectors import Vector

TARGET = Path(__file__).resolve().parent / "data" / "tiles.json"
WORLDS = {
    "wear": sj.worlds.continuous.Wear,
    "offers": sj.worlds.continuous.Offers,
    "fleet": sj.worlds.continuous.Fleet,
}
STEPS, SEEDS, FOLLOWED = 1_000_000, 5, 400_000
THRESHOLDS = tuple(round(0.3 + 0.05 * k, 2) for k in range(11))
RUNS = 10  # of each rule of thumb, of a fifth of a million steps


class Threshold(NamedTuple):
    """An agent for the fleet that mends the most worn machine if its wear is at least `threshold`."""

    threshold: float
    values: NoValues = NoValues(4, 5)
    rate: Cumulative = Cumulative()
    accepted: bool = True


@draw.register
def draw_threshold(agent: Threshold, state: Vector, rng: Stream) -> tuple[int, bool]:
    """Mend the most worn one, or let all run on.

    >>> draw(Threshold(0.5), (0.1, 0.7, 0.9, 0.2), sj.stream(0))
    (3, False)
    """
    worst = 0
    for i in range(1, 4):
        if state[i] > state[worst]:
            worst = i
    return (worst + 1 if state[worst] >= agent.threshold else 0), False


@learn.register
def learn_nothing(
    agent: Threshold,
    state: Vector,
    action: int,
    reward: float,
    duration: float,
    next_state: Vector,
    explored: bool,
) -> Threshold:
    """Stay as it is."""
    return agent


def threshold_rule(threshold: float, runs: int = RUNS) -> dict[str, float]:
    """Return what a rule of thumb earns on the fleet per unit time, and its 95 % interval over runs."""
    found = [
        sj.run(sj.worlds.continuous.Fleet(), Threshold(threshold), 200_000, seed=seed, record=0)
        for seed in range(runs)
    ]
    return {"threshold": threshold, **measured([run.reward / run.duration for run in found])}


def learned(name: str, seeds: int = SEEDS, steps: int = STEPS, followed: int = FOLLOWED) -> dict[str, Any]:
    """Return what the policies earn that tile_q learns with its own settings, and the exact gain if it is known."""
    world = WORLDS[name]()
    agent = sj.tile_q(len(world.observed.low), world.num_actions, bounds=world.observed)
    earned = []
    for seed in range(seeds):
        run = sj.run(world, agent, steps, seed=seed, record=0)
        test = sj.run(world, sj.agents.follow(run.agent), followed, seed=1000 + seed, record=0)
        earned.append(test.reward / test.duration)
    return {"name": name, "steps": steps, "exact": sj.gain(world), **measured(earned)}


def measured(numbers: list[float]) -> dict[str, float]:
    """Return a mean and its 95 % interval over the runs.

    >>> measured([1.0, 1.0])
    {'mean': 1.0, 'low': 1.0, 'high': 1.0}
    """
    low, high = mean_interval(numbers)
    return {"mean": float(np.mean(numbers)), "low": low, "high": high}


# --- On the page --------------------------------------------------------------------


def places() -> dict[str, Any]:
    """The places in the page, and what makes each."""
    return {
        "<!-- tiles: earned -->": earned_table,
        "<!-- tiles: thresholds -->": thresholds_table,
        "<!-- tiles: fleet -->": fleet_sentence,
    }


def read() -> dict[str, Any]:
    """Return what was measured last."""
    return json.loads(TARGET.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def earned_table() -> str:
    """Return what tiles earn on each problem, beside the best gain."""
    lines = ["| | best gain | policies of tile_q earn | relative to the best |", "|---|---:|---:|---:|"]
    for row in read()["learned"]:
        exact = row["exact"]
        beside = ("not known", "") if exact is None else (f"{exact:.4f}", f"{row['mean'] / exact:.4f}")
        lines.append(f"| `{row['name']}` | {beside[0]} | {_interval(row)} | {beside[1]} |")
    return "\n".join(lines)


def thresholds_table() -> str:
    """Return what the rules of thumb earn on the fleet."""
    lines = ["| mend from a wear of | earns |", "|---:|---:|"]
    lines += [f"| {row['threshold']:.2f} | {_interval(row)} |" for row in read()["thresholds"]]
    return "\n".join(lines)


def best_rule() -> dict[str, Any]:
    """Return the rule of thumb that earns most."""
    rule: dict[str, Any] = max(read()["thresholds"], key=lambda row: row["mean"])
    return rule


def fleet_sentence() -> str:
    """Return the comparison of both in words."""
    rule, tiles = best_rule(), next(row for row in read()["learned"] if row["name"] == "fleet")
    return (
        f"The best such rule mends from a wear of {rule['threshold']:.2f} on and earns {rule['mean']:.3f} per unit time; "
        f"the policies of `tile_q` earn {tiles['mean']:.3f}."
    )


def _interval(row: dict[str, float]) -> str:
    return f"{row['mean']:.4f} ({row['low']:.4f} to {row['high']:.4f})"


if __name__ == "__main__":
    found = {
        "thresholds": [threshold_rule(threshold) for threshold in THRESHOLDS],
        "learned": [learned(name) for name in WORLDS],
    }
    TARGET.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
