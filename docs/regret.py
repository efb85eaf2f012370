"""Measure the planner beside TSDE, UCRL-SMDP and CT-UCRL: `python docs/regret.py` writes docs/data/regret.json in three minutes.

The planner has nothing to tune. The others get the best of a grid for each problem, by what they earn on seeds of
their own. Regret is what the pairs taken lose beside the best ones: the expectation of what the best policy would have
earned in the same time, less what was earned, up to a constant, without the noise of rewards and durations.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import sojourn as sj
from sojourn.agents.catalogue import AGENTS
from sojourn.agents.planning.model import VISITS
from sojourn.answers.comparison.plan import GRIDS
from sojourn.models.problems import PROBLEMS
from sojourn.rules.intervals import mean_interval

TARGET = Path(__file__).resolve().parent / "data" / "regret.json"
COMPARED = ("planner", "tsde", "ucrl_smdp", "ct_ucrl")
STEPS = (1_000, 3_000, 10_000, 30_000)
SEEDS, TUNING = range(70_000, 70_005), range(71_000, 71_002)
MOST_STATES = 30  # on the 103 states of four-rooms, a run of TSDE takes 12 seconds
LONG, FEW = (10_000, 100_000, 1_000_000, 20_000_000), range(72_000, 72_003)
KNOWN = {  # what the papers assume to be known of CT-UCRL's example; sojourns above 5 come once in 22,000 steps
    "planner": {},
    "tsde": {},
    "ucrl_smdp": {"lowest": -12.0, "highest": 8.0, "shortest": 0.0, "longest": 5.0},
    "ct_ucrl": {"highest": 8.0, "shortest": 1 / 7, "longest": 1 / 2},
}


def two_states() -> sj.SMDP:
    """Return the example of Gao and Zhou (2022): each action leads to the other state."""
    rewards, rates = ((5.0, 8.0), (-4.0, -12.0)), ((3.0, 5.0), (2.0, 7.0))
    return sj.models.from_transitions(
        [
            (
                state,
                action,
                1 - state,
                1.0,
                rewards[state][action],
                sj.laws.Exponential(1 / rates[state][action]),
            )
            for state in range(2)
            for action in range(2)
        ]
    )


def strangers() -> Iterator[tuple[str, sj.SMDP]]:
    """Yield problems that played no part in the planner's design."""
    rows = [(0, 0, 0, 1.0, 1.0, 1.0), (0, 1, 1, 1.0, 0.0, 1.0)]
    rows += [
        (s, a, 0 if a or s == 15 else s + 1, 1.0, 40.0 * (s == 15 and not a), 1.0)
        for s in range(1, 16)
        for a in (0, 1)
    ]
    yield "late pay: 1 now, or 40 after 16 steps", sj.models.from_transitions(rows)
    slow = sj.problems.admission_control(arrival_rate=0.98, capacity=50, reward=3.0)
    yield "slow queue: load .98, room for 50", slow
    rows = [(0, 0, 0, 1.0, 1.0, 1.0), (0, 1, 0, 0.998, 0.0, 1.0), (0, 1, 1, 0.002, 0.0, 1.0)]
    rows += [(1, a, 0, 1.0, 1000.0, 1.0) for a in (0, 1)]
    yield "jackpot: 1 a step, or 1,000 once in 500", sj.models.from_transitions(rows)


def losses(model: sj.SMDP) -> tuple[float, np.ndarray[Any, np.dtype[np.float64]]]:
    """Return the best gain g, and what each pair loses beside the best one: g d + h(s) - r - P h."""
    solved = sj.solve(model)
    gain = float(np.max(solved.gain))
    bias = np.asarray(sj.evaluate(model, solved.policy).bias)
    ahead = np.add.reduceat(model.probability * bias[model.successor], model.row_offsets[:-1])
    lost = gain * model.duration + bias[model.state_of_pair()] - model.reward - ahead
    return gain, np.maximum(lost, 0.0)


def regrets(model: sj.SMDP, name: str, options: dict[str, Any], seeds: range, steps: int) -> list[float]:
    """Return the regret of each seed: how often each pair was taken, times what it loses."""
    world, (_, lost) = sj.worlds.Tabular(model), losses(model)
    found = []
    for seed in seeds:
        agent: Any = AGENTS[name].make(model.num_states, model.num_actions, **options)
        run: Any = sj.run(world, agent, steps, seed=seed)
        found.append(float(run.agent.counts.pairs[model.state_of_pair(), model.action, VISITS] @ lost))
    return found


def measured(numbers: list[float]) -> dict[str, float]:
    """Return a mean and its 95 % interval."""
    low, high = mean_interval(np.array(numbers))
    return {"mean": float(np.mean(numbers)), "low": float(low), "high": float(high)}


def on(name: str, model: sj.SMDP) -> dict[str, Any]:
    """Return the regret of all agents on a problem after each number of steps, and the options chosen."""
    gain, _ = losses(model)
    found: dict[str, Any] = {"name": name, "states": model.num_states, "gain": gain, "agents": []}
    for agent in COMPARED:
        points = [{key: value} for key, values in GRIDS.get(agent, {}).items() for value in values] or [{}]
        tried = [np.mean(regrets(model, agent, point, TUNING, STEPS[-1])) for point in points]
        chosen = points[int(np.argmin(tried))]
        curve = [measured(regrets(model, agent, chosen, SEEDS, steps)) for steps in STEPS]
        found["agents"].append({"agent": agent, "options": chosen, "regret": curve})
    return found


def published() -> list[dict[str, Any]]:
    """Return the regret of all agents in CT-UCRL's own example."""
    model, found = two_states(), []
    for agent, options in KNOWN.items():
        curve = [measured(regrets(model, agent, options, FEW, steps)) for steps in LONG]
        found.append({"agent": agent, "regret": curve})
    return found


def main() -> None:
    """Measure everything, the published example first."""
    found = {"steps": STEPS, "long": LONG, "published": published()}
    found["strangers"] = [on(*problem) for problem in strangers()]
    models = {name: PROBLEMS[name]() for name in list(PROBLEMS)}
    found["named"] = [on(name, model) for name, model in models.items() if model.num_states <= MOST_STATES]
    TARGET.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
