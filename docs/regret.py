"""Measure the planner beside TSDE, UCRL-SMDP and CT-UCRL: `python docs/regret.py` writes docs/data/regret.json in four minutes.

Regret is what the best policy would have earned in the same time, less what was earned. Here it is a share of the
first: what is missing to 1 in what was earned.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import sojourn as sj
from sojourn.agents.catalogue import AGENTS
from sojourn.models.problems import PROBLEMS

TARGET = Path(__file__).resolve().parent / "data" / "regret.json"
STEPS, SEEDS = 30_000, range(500, 505)
RADII = {"ucrl_smdp": (1.0, 0.1, 0.01), "ct_ucrl": (0.1, 0.01)}
COMPARED = [("planner", {}), ("tsde", {})] + [
    (name, {"radius": radius}) for name, radii in RADII.items() for radius in radii
]


def relative(gain: float, best: float) -> float:
    """Return 1 for the best gain, and less for others, whatever its sign.

    >>> relative(1.5, 2.0), relative(-2.5, -2.0)
    (0.75, 0.75)
    """
    return 1.0 - (best - gain) / abs(best)


def earned(model: sj.SMDP, name: str, options: dict[str, Any]) -> tuple[float, float]:
    """Return what an agent earned, and what its final policy earns, relative to the best, as means over the seeds."""
    best, world = float(np.max(sj.solve(model).gain)), sj.worlds.Tabular(model)
    found = []
    for seed in SEEDS:
        run = sj.run(
            world, AGENTS[name].make(model.num_states, model.num_actions, **options), STEPS, seed=seed
        )
        gain = float(np.min(sj.evaluate(model, run.policy).gain))
        found.append((relative(run.reward / run.duration, best), relative(gain, best)))
    return tuple(round(float(mean), 3) for mean in np.mean(found, axis=0))  # type: ignore[return-value]


def main() -> None:
    """Measure all agents on all named problems."""
    rows = []
    for name in list(PROBLEMS):
        cells = [(agent, options, *earned(PROBLEMS[name](), agent, options)) for agent, options in COMPARED]
        rows.append({"name": name, "agents": cells})
    TARGET.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
