"""How far each estimator is from the gain after a while, under an optimal policy: bias and noise together.

Agents that are compared have step sizes of their own, tuned for the policy; here all have the same,
so that estimators can be compared with each other. `Cumulative` and `CumulativeHarmonic` use all
steps, the others forget at one pace.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sojourn.agents.named import policy_agent
from sojourn.models.smdp import SMDP
from sojourn.rates.named import ESTIMATORS
from sojourn.rules.intervals import mean_interval
from sojourn.runs.batch import run_many
from sojourn.worlds.tabular import Tabular

STEP_SIZE, STEPS, SEEDS = 0.01, 2000, 400


def errors(model: SMDP, policy: Any, gain: float, jobs: int | None = None) -> list[dict[str, Any]]:
    """Return the mean of each estimator over seeds, and its root mean square error with an interval."""
    agents = {
        name: policy_agent(policy, model.num_actions, rate=entry.make(STEP_SIZE))
        for name, entry in ESTIMATORS.items()
        if entry.compared
    }
    runs = run_many(Tabular(model), agents, seeds=SEEDS, steps=STEPS, jobs=jobs)
    rows = []
    for name in agents:
        found = runs["rate"][runs["agent"] == name]
        squares = (found - gain) ** 2
        low, high = mean_interval(squares)
        rows.append(
            {
                "estimator": name,
                "mean": float(found.mean()),
                "error": float(np.sqrt(squares.mean())),
                "error_low": float(np.sqrt(low)),
                "error_high": float(np.sqrt(high)),
            }
        )
    return rows
