"""Measure what the planner promises: `python docs/planner.py` writes docs/data/planner.json in about five minutes.

On the named problems it is measured alone; `docs/data/comparison.json` has the tuned agents beside it. On other problems,
which nobody tuned on, three agents without a model are tuned for each problem and stand beside it.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import sojourn as sj
from sojourn.answers.comparison import plan
from sojourn.answers.comparison.judge import Judge
from sojourn.answers.comparison.tuning import tuned
from sojourn.models.problems import PROBLEMS
from sojourn.rules.intervals import mean_interval
from sojourn.runs.executors import executor
from sojourn.runs.results import load_results
from sojourn.runs.spec import Entry, Sweep
from sojourn.runs.store import run_sweep

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))  # where the other problems are

from planner_problems import others  # noqa: E402 - found there

TARGET = HERE / "data" / "planner.json"
FIRST_SEED, SEEDS, FEW = 40_000, 20, 10
STEPS = [10_000, 30_000]
RIVALS = ("smart", "r_learning", "differential_q")
SETTINGS = plan.Settings(STEPS[-1], FEW, tuning_seeds=3, agents=RIVALS, widen=2)
SIZES = (100, 300, 1000)


class Measurement:
    """Runs and judges sweeps on one problem, in a folder of its own."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder, self.judge = name, folder / name, Judge(PROBLEMS[name]())

    def __call__(self, sweep: Sweep, part: str) -> pl.DataFrame:
        """Return the judged runs of a sweep."""
        with executor(2) as (pool, width):
            run_sweep(sweep, self.folder / part, pool, width).whole()
        return self.judge.judged(load_results(self.folder / part))

    def planner(self, seeds: int) -> dict[str, Any]:
        """Return what the planner reached after each number of steps, and what it had earned by the last."""
        seen = list(range(FIRST_SEED, FIRST_SEED + seeds))
        world = Entry(self.name.replace("-", "_"))
        table = self(Sweep([world], [Entry("planner")], seen, STEPS), "planner")
        last = table.filter(steps=STEPS[-1])
        return {
            **{f"policy_{steps}": measured(table.filter(steps=steps)["relative_gain"]) for steps in STEPS},
            "earned": measured(last["earned"]),
        }

    def rivals(self) -> dict[str, Any]:
        """Return the best tuned agents without a model: for the final policy, and for what they earn."""
        chosen = tuned(self.name, SETTINGS, self)
        found = {}
        for measure, column in (("policy", "relative_gain"), ("earned", "earned")):
            options = {name: both[measure].options for name, both in chosen.items()}
            table = self(plan.earning(self.name, SETTINGS, options), f"runs-{measure}")
            means = {name: measured(table.filter(agent=name)[column]) for name in RIVALS}
            best = max(means, key=lambda name: means[name]["mean"])
            found[f"rival_{measure}"] = {"agent": best, **means[best]}
        return found


def measured(column: pl.Series) -> dict[str, float]:
    """Return a mean and its 95 % interval over the runs."""
    numbers = column.to_numpy()
    low, high = mean_interval(numbers)
    return {"mean": float(numbers.mean()), "low": low, "high": high}


def planning_time(num_states: int, steps: int = 30_000) -> dict[str, float]:
    """Return the microseconds that a step takes with the planner and with SMART, on a random model of this size."""
    rng = np.random.default_rng(num_states)
    rows = [
        (s, a, int(t), 1 / 8, float(rng.exponential()), 1.0)
        for s in range(num_states)
        for a in range(4)
        for t in rng.choice(num_states, 8, replace=False)
    ]
    world = sj.worlds.Tabular(sj.models.from_transitions(rows))
    found: dict[str, float] = {"states": num_states}
    for make in (sj.planner, sj.smart):
        agent = make(num_states, 4)  # type: ignore[operator]
        sj.run(world, agent, 10)
        begin = time.process_time()
        sj.run(world, agent, steps)
        found[make.__name__] = 1e6 * (time.process_time() - begin) / steps
    return found


def other(number: int, name: str, model: sj.SMDP, scratch: Path) -> dict[str, Any]:
    """Return what was measured on one of the other problems, which is a named one while this lasts."""
    PROBLEMS[f"other-{number}"] = lambda: model
    here = Measurement(f"other-{number}", scratch)
    return {"name": name, "states": model.num_states, **here.planner(FEW), **here.rivals()}


def main() -> None:
    """Measure everything, problem by problem."""
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        compared = json.loads((HERE / "data" / "comparison.json").read_text(encoding="utf-8"))["problems"]
        names = [problem["name"] for problem in compared]  # those with the tuned agents to stand beside
        named = [{"name": name, **Measurement(name, scratch).planner(SEEDS)} for name in names]
        unnamed = [other(number, *problem, scratch) for number, problem in enumerate(others())]
    found = {"named": named, "others": unnamed, "time": [planning_time(size) for size in SIZES]}
    TARGET.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
