"""Measure the planner beside TSDE, UCRL-SMDP and CT-UCRL: `python docs/regret.py` writes docs/data/regret.json and docs/figures/regret.svg.

It takes a few minutes. Regret is how often each pair was taken, times what the pair loses against the best policy in the
long run. Its mean is that of what the best policy would have earned in the same time less what was earned, but it lacks
the noise of rewards and durations, which is often larger than the regret itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from published_exact import two_states

import sojourn as sj
from sojourn.agents.catalogue import AGENTS
from sojourn.agents.planning.model import VISITS
from sojourn.models.problems import PROBLEMS
from sojourn.report.charts import Axis, Lines, Series, Sheet
from sojourn.report.figures import write
from sojourn.report.looks import plain, title

HERE = Path(__file__).resolve().parent
TARGET, FIGURE = HERE / "data" / "regret.json", HERE / "figures" / "regret"
STEPS, SEEDS = 30_000, range(900, 905)
DRAWN, TIMES = ("gosavi", "river-swim"), (100, 300, 1_000, 3_000, 10_000, STEPS)
RADII = {"ucrl_smdp": (1.0, 0.1, 0.01), "ct_ucrl": (0.1, 0.01)}
COMPARED: list[tuple[str, dict[str, float]]] = [("planner", {}), ("tsde", {})] + [
    (name, {"radius": radius}) for name, radii in RADII.items() for radius in radii
]
LONG, FEW = 20_000_000, range(910, 912)
KNOWN = {  # what the papers take to be known of CT-UCRL's example; one sojourn in 22,000 is longer than 5
    "planner": {},
    "tsde": {},
    "ucrl_smdp": {"lowest": -12.0, "highest": 8.0, "shortest": 0.0, "longest": 5.0},
    "ct_ucrl": {"highest": 8.0, "shortest": 1 / 7, "longest": 1 / 2},
}


class Regret(NamedTuple):
    """The regret of a run, and how many of its steps lost anything."""

    worth: float  # in units of reward
    steps: float  # in steps' worth of the best policy's pay
    share: float  # of what the best policy would have earned
    wrong: float  # steps
    pathwise: float  # with the noise of rewards and durations


class Judge:
    """Runs agents in a model and says what their steps lost.

    >>> model = sj.models.from_transitions([(0, 0, 0, 1.0, 2.0, 1.0), (0, 1, 0, 1.0, 1.0, 1.0)])
    >>> Judge(model).losses  # 2 in a time of 1, or only 1
    array([0., 1.])
    """

    def __init__(self, model: sj.SMDP) -> None:
        best = sj.solve(model)
        self.model, self.gain = model, float(np.max(best.gain))
        self.losses = 0.0 - np.minimum(sj.evaluate(model, best.policy).advantages, 0.0)
        self.losses[self.losses < 1e-9 * self.losses.max()] = 0.0
        self.states = np.repeat(np.arange(model.num_states), np.diff(model.pair_offsets))

    def run(self, agent: str, options: dict[str, Any], steps: int, seed: int) -> Regret:
        """Return the regret of a run of an agent that counts."""
        made = AGENTS[agent].make(self.model.num_states, self.model.num_actions, **options)
        run = sj.run(sj.worlds.Tabular(self.model), made, steps, seed=seed)
        visits = run.agent.counts.pairs[self.states, self.model.action, VISITS]
        worth, pay = float(visits @ self.losses), abs(self.gain) * float(visits @ self.model.duration)
        wrong = float(visits[self.losses > 0.0].sum())
        return Regret(worth, worth * steps / pay, worth / pay, wrong, self.gain * run.duration - run.reward)

    def runs(self, agent: str, options: dict[str, Any], steps: int, seeds: range) -> list[Regret]:
        """Return the regret of each seed."""
        with ThreadPoolExecutor(len(seeds)) as pool:
            return list(pool.map(lambda seed: self.run(agent, options, steps, seed), seeds))

    def mean(self, agent: str, options: dict[str, Any], steps: int = STEPS) -> Regret:
        """Return the means over the seeds."""
        return Regret(*np.mean(self.runs(agent, options, steps, SEEDS), axis=0).tolist())

    def row(self, name: str) -> dict[str, Any]:
        """Return what was earned relative to the best policy: each agent, its options, and the share."""
        cells = [
            (agent, options, round(1.0 - self.mean(agent, options).share, 4)) for agent, options in COMPARED
        ]
        return {"name": name, "agents": cells}


def strangers() -> Iterator[tuple[str, sj.SMDP]]:
    """Yield problems that played no part in the planner's design."""
    rows = [(0, 0, 0, 1.0, 1.0, 1.0), (0, 1, 1, 1.0, 0.0, 1.0)]
    rows += [
        (s, a, 0 if a or s == 15 else s + 1, 1.0, 40.0 * (s == 15 and not a), 1.0)
        for s in range(1, 16)
        for a in (0, 1)
    ]
    yield "late pay: 1 now, or 40 after 16 steps", sj.models.from_transitions(rows)
    slow = sj.problems.admission_control(arrival_rate=0.98, capacity=30, reward=3.0)
    yield "slow queue: load .98, room for 30", slow
    rows = [(0, 0, 0, 1.0, 1.0, 1.0), (0, 1, 0, 0.998, 0.0, 1.0), (0, 1, 1, 0.002, 0.0, 1.0)]
    rows += [(1, a, 0, 1.0, 1000.0, 1.0) for a in (0, 1)]
    yield "jackpot: 1 a step, or 1,000 once in 500", sj.models.from_transitions(rows)


def curves(name: str) -> list[dict[str, Any]]:
    """Return the regret of all agents along a named problem, in steps' worth of pay."""
    judge = Judge(PROBLEMS[name]())
    return [
        {
            "agent": agent,
            "options": options,
            "regret": [round(judge.mean(agent, options, steps).steps, 1) for steps in TIMES],
        }
        for agent, options in COMPARED
    ]


def published() -> list[dict[str, Any]]:
    """Return the regret of all agents in CT-UCRL's own example, seed by seed."""
    judge, found = Judge(sj.models.explore(0, two_states)), []
    for agent, options in KNOWN.items():
        runs = [run._asdict() for run in judge.runs(agent, options, LONG, FEW)]
        found.append({"agent": agent, "runs": runs})
    return found


def drawn(found: dict[str, list[dict[str, Any]]]) -> Sheet:
    """Draw the regret of the planner, and of each other agent with the radius that was best in the end."""
    charts = []
    for name, rows in found.items():
        best = {row["agent"]: row for row in sorted(rows, key=lambda row: -row["regret"][-1])}
        lines = [
            Series(title(agent), plain(place), list(TIMES), best[agent]["regret"])
            for place, agent in enumerate(KNOWN)
        ]
        charts.append(Lines(name, Axis("steps", log=True), Axis("regret, in steps' worth of pay"), lines))
    return Sheet([charts], (7.4, 3.2))


def main() -> None:
    """Measure all agents on all problems."""
    found: dict[str, Any] = {"steps": STEPS, "seeds": len(SEEDS), "long": LONG, "published": published()}
    found["curves"] = {name: curves(name) for name in DRAWN}
    found["strangers"] = [Judge(model).row(name) for name, model in strangers()]
    found["named"] = [Judge(PROBLEMS[name]()).row(name) for name in list(PROBLEMS)]
    TARGET.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    write(drawn(found["curves"]), FIGURE, ["svg"])


if __name__ == "__main__":
    main()
