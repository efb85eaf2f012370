"""How far each estimator is from the gain after a while, under an optimal policy: bias and noise together.

The agents that are compared have different step sizes, tuned for the policy; here all estimators have
the same one, so they can be compared with each other. `Cumulative` and `CumulativeHarmonic` use all
steps; the others forget at the same pace.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sojourn.agents.baselines import policy_agent
from sojourn.models.smdp import SMDP
from sojourn.rates.named import ESTIMATORS
from sojourn.rules.arrays import Floats
from sojourn.rules.intervals import mean_interval
from sojourn.runs.batch import run_many
from sojourn.studies.comparison.record import EstimatorError
from sojourn.worlds.tabular import Tabular

STEP_SIZE, STEPS, SEEDS = 0.01, 2000, 400


def errors(
    model: SMDP, policy: Sequence[int], gain: float, jobs: int | None = None
) -> tuple[EstimatorError, ...]:
    """Return the mean of each estimator over seeds, and its root mean square error with an interval."""
    agents = {
        name: policy_agent(policy, model.num_actions, rate=ESTIMATORS[name].make(STEP_SIZE))
        for name in sorted(ESTIMATORS)
        if ESTIMATORS[name].compared
    }
    runs = run_many(Tabular(model), agents, seeds=SEEDS, steps=STEPS, jobs=jobs)
    return tuple(_error(name, runs["rate"][runs["agent"] == name], gain) for name in agents)


def _error(name: str, found: Floats, gain: float) -> EstimatorError:
    squares = (found - gain) ** 2
    low, high = mean_interval(squares)
    return EstimatorError(
        estimator=name,
        mean=float(found.mean()),
        error=float(np.sqrt(squares.mean())),
        error_low=float(np.sqrt(low)),
        error_high=float(np.sqrt(high)),
    )
