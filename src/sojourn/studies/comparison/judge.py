"""How agents are judged: by the exact gain of the policy that they end with.

The *relative gain* of a policy is 1 - (gain - its gain) / |gain|, with the optimal gain: 1 for an optimal
policy, and for positive gains the share of the optimum that it earns. Where the optimal gain is 0, the
largest rate of any state and action stands in place of |gain|. A run that diverged has no policy; it
counts as the worst that there is. *Steps to 99 %* are those after which the greedy policy has a relative
gain of at least 0.99 and keeps it, looked at at some lengths only; a run that ends without it has taken
for ever, which a median can count.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl
from scipy.sparse.csgraph import breadth_first_order

from sojourn.exact.chains import valued
from sojourn.exact.solve import solve
from sojourn.models.chain import Chain, chain_of_pairs, pairs_of
from sojourn.models.smdp import SMDP
from sojourn.rules.arrays import Floats
from sojourn.rules.intervals import mean_interval, median_interval, share_interval
from sojourn.runs.named import ACTIONS
from sojourn.runs.results import POLICY
from sojourn.studies.comparison.plan import compared, tuned_options
from sojourn.studies.comparison.record import AgentResult, LearningCurve

ENOUGH = 0.99
_ROUNDING = 1e-9


class Judge:
    """Knows the exact gain of every policy of a model, each computed once; worlds begin in state 0."""

    def __init__(self, model: SMDP) -> None:
        self._model = model
        self.gain = float(solve(model).gains[0])
        self._worst = -float(solve(model.with_means(-model.reward, model.duration)).gains[0])
        largest = float(np.abs(model.reward / model.duration).max())
        # A gain of 0 may come out as 1e-17, by which nothing can be measured.
        self._scale = abs(self.gain) if abs(self.gain) > _ROUNDING * largest else largest or 1.0
        self._gains: dict[tuple[int, ...], float] = {}

    def judged(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return results with the columns policy_gain, relative_gain and optimal, and policies by the given actions."""
        table = table.with_columns(self._as_given(table))
        gains = [
            self._worst if diverged else self._gain_of(tuple(policy))
            for policy, diverged in table.select("policy", "diverged").iter_rows()
        ]
        relative = pl.Series("relative_gain", [1.0 - (self.gain - gain) / self._scale for gain in gains])
        return table.with_columns(
            pl.Series("policy_gain", gains), relative, (relative >= 1.0 - _ROUNDING).alias("optimal")
        )

    def _as_given(self, table: pl.DataFrame) -> pl.Series:
        last = self._model.num_actions - 1
        return pl.Series(
            "policy",
            [
                policy if actions == ACTIONS[0] else [last - action for action in policy]
                for policy, actions in table.select("policy", "actions").iter_rows()
            ],
            dtype=POLICY,
        )

    def _gain_of(self, policy: tuple[int, ...]) -> float:
        """Return the gain from state 0 on, for which only the states count that are reached from it."""
        if policy not in self._gains:
            chain = chain_of_pairs(self._model, pairs_of(self._model, np.array(policy)))
            reached = np.sort(breadth_first_order(chain.matrix, 0, return_predecessors=False))
            key = (*reached.tolist(), -1, *(policy[state] for state in reached))
            if key not in self._gains:
                part = Chain(
                    chain.matrix[reached][:, reached], chain.reward[reached], chain.duration[reached]
                )
                self._gains[key] = float(valued(part)[0][0])
            self._gains[policy] = self._gains[key]
        return self._gains[policy]


def chosen(table: pl.DataFrame) -> dict[str, dict[str, float]]:
    """Return the options of each agent that did best: in relative gain, then in regret, in the mean."""
    found = {}
    for label in compared():
        names = tuned_options(label)
        means = (
            table.filter(pl.col("agent") == label)
            .group_by(names, maintain_order=True)
            .agg(pl.col("relative_gain").mean().round(9), pl.col("regret").mean())
            .sort("relative_gain", "regret", descending=[True, False], nulls_last=True, maintain_order=True)
        )
        found[label] = means.select(names).row(0, named=True)
    return found


def results(table: pl.DataFrame, chosen: dict[str, dict[str, float]]) -> tuple[AgentResult, ...]:
    """Return what each agent ends with, and how soon, with the options that were chosen for it."""
    last = table.filter(pl.col("steps") == pl.col("steps").max())
    found = []
    for label, agent in compared().items():
        ended = last.filter(pl.col("agent") == label)
        steps, times = _reaching(table.filter(pl.col("agent") == label))
        relative = ended["relative_gain"].to_numpy()
        optimal = int(ended["optimal"].sum())
        low, high = mean_interval(relative)
        share_low, share_high = share_interval(optimal, ended.height)
        steps_99, time_99 = _middle(steps), _middle(times)
        found.append(
            AgentResult(
                agent=label,
                name=agent.title,
                optimal_share=optimal / ended.height,
                optimal_low=share_low,
                optimal_high=share_high,
                optimal_given=_share(ended, ACTIONS[0]),
                optimal_reversed=_share(ended, ACTIONS[1]),
                relative_gain=float(relative.mean()),
                relative_low=low,
                relative_high=high,
                steps_99=steps_99[0],
                steps_99_low=steps_99[1],
                steps_99_high=steps_99[2],
                time_99=time_99[0],
                time_99_low=time_99[1],
                time_99_high=time_99[2],
                reached_share=float(np.isfinite(steps).mean()),
                rate=_median(ended["rate"]),
                rate_gap=_median(ended["rate_gap"]),
                regret=_median(ended["regret"]),
                diverged=int(ended["diverged"].sum()),
                options=chosen[label],
            )
        )
    return tuple(found)


def learning(table: pl.DataFrame) -> tuple[LearningCurve, ...]:
    """Return the relative gain of each agent's policy after each length: mean over seeds, with its interval."""
    curves = []
    for label in compared():
        points = []
        for (steps,), runs in (
            table.filter(pl.col("agent") == label).sort("steps").group_by("steps", maintain_order=True)
        ):
            relative = runs["relative_gain"].to_numpy()
            points.append((steps, float(relative.mean()), *mean_interval(relative)))
        curves.append(LearningCurve(label, *zip(*points, strict=True)))
    return tuple(curves)


def trap(table: pl.DataFrame, label: str) -> tuple[list[int], float] | None:
    """Return the policy, other than the optimal ones, that an agent has most often, and how often.

    Looked at are the lengths from a hundredth of the whole on; None where every policy is optimal.
    """
    late = table.filter((pl.col("agent") == label) & (pl.col("steps") >= pl.col("steps").max() / 100))
    wrong = late.filter(~pl.col("optimal") & ~pl.col("diverged"))
    if not wrong.height:
        return None
    counts = (
        wrong.group_by("policy", maintain_order=True).len().sort("len", descending=True, maintain_order=True)
    )
    policy, count = counts.row(0)
    return policy, count / late.height


def _reaching(table: pl.DataFrame) -> tuple[Floats, Floats]:
    """Return, for each run, after how many steps and how much time its policy is good and stays so."""
    steps, times = [], []
    for _, runs in table.sort("steps").group_by("seed", "actions", maintain_order=True):
        good = runs["relative_gain"].to_numpy() >= ENOUGH
        bad = np.flatnonzero(~good)
        first = 0 if not bad.size else int(bad[-1]) + 1
        reached = first < len(good)
        steps.append(float(runs["steps"][first]) if reached else math.inf)
        times.append(float(runs["duration"][first]) if reached else math.inf)
    return np.array(steps), np.array(times)


def _share(ended: pl.DataFrame, numbered: str) -> float:
    """Return the share of runs with an optimal policy among those with one numbering of the actions."""
    return float(ended.filter(pl.col("actions") == numbered)["optimal"].to_numpy().mean())


def _middle(numbers: Floats) -> tuple[float | None, float | None, float | None]:
    """Return the median and the ends of its interval; None where most runs never get there."""
    low, high = median_interval(numbers)
    middle = float(np.sort(numbers)[len(numbers) // 2])  # the upper one: what half never reach has none
    return _finite(middle), _finite(low), _finite(high)


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _median(column: pl.Series) -> float | None:
    finite = column.filter(column.is_finite())
    return float(finite.median()) if len(finite) else None  # type: ignore[arg-type]
