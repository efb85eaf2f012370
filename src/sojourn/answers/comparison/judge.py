"""How agents are judged: by the exact gain of the policy that they end with, and by what they earned on the way.

The *relative gain* of a policy is 1 - (gain - its gain) / |gain|, where gain is the optimal one: it is 1 for an
optimal policy and, for positive gains, the share of the optimum that the policy earns. If the optimal gain is 0,
the largest rate of any state and action takes the place of |gain|. A run that diverged has no policy; it counts
as the worst possible one. Three things are measured in this way:

    relative_gain   the final greedy policy from state 0, where worlds begin
    followed        the same policy from the state in which learning ended, for as many steps as the run had:
                    its expected reward over its expected time. Wrong actions in states that are rarely
                    reached from there hardly count, though in the long run the gain may depend on them
    earned          the reward over the time of the run itself, mistakes and exploration included; what is
                    missing to 1 is its regret, in units of |gain| times the time

*Steps to 99 %* is the number of steps after which the greedy policy has a relative gain of at least 0.99 and keeps it.
Policies are examined at some lengths only. A run that never gets there counts as infinite, which a median can take.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sojourn.agents.baselines import policy_agent
from sojourn.agents.catalogue import NamedAgent
from sojourn.answers.comparison.record import AgentResult, Earning, EstimatorError, LearningCurve
from sojourn.exact.policy_gains import PolicyGains
from sojourn.exact.solve import solve
from sojourn.models.chain import Chain, chain_of_pairs, pairs_of
from sojourn.models.smdp import SMDP
from sojourn.rates.catalogue import ESTIMATORS
from sojourn.report.looks import title
from sojourn.rules.arrays import Floats
from sojourn.rules.intervals import mean_interval, median_interval, share_interval
from sojourn.runs.batch import run_many
from sojourn.worlds.tabular import Tabular

if TYPE_CHECKING:
    from sojourn.answers.comparison.tuning import Chosen

ENOUGH = 0.99
_ROUNDING = 1e-9
_DENSE = 200  # up to so many states, powers of a full matrix are faster than single steps


class Judge:
    """Knows the exact gain of every policy of a model, each computed once; worlds begin in state 0."""

    def __init__(self, model: SMDP) -> None:
        self._model = model
        self.gain = float(solve(model).gains[0])
        self._worst = -float(solve(model.with_means(-model.reward, model.duration)).gains[0])
        timed = model.duration > 0.0
        largest = float(np.abs(model.reward[timed] / model.duration[timed]).max())
        # A gain of 0 may come out as 1e-17, which is of no use as a unit.
        self._scale = abs(self.gain) if abs(self.gain) > _ROUNDING * largest else largest or 1.0
        self._gain_of = PolicyGains(model)
        self._ahead_of: dict[tuple[int, ...], float] = {}

    def judged(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return results with the columns policy_gain, relative_gain, optimal and earned."""
        gains = [
            self._worst if diverged is not False else self._gain_of(policy)  # or null, if the run failed
            for policy, diverged in table.select("policy", "diverged").iter_rows()
        ]
        relative = self.relative(pl.Series("relative_gain", gains))
        return table.with_columns(
            pl.Series("policy_gain", gains),
            relative,
            (relative >= 1.0 - _ROUNDING).alias("optimal"),
            self.relative(table["reward"] / table["duration"]).alias("earned"),
        )

    def with_followed(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return judged runs with the column `followed`, which only runs of full length have; these come last."""
        ends = pl.col("length") == pl.col("length").max()
        ended = table.filter(ends)
        gains = [
            self._worst if diverged is not False else self._ahead(tuple(policy), state, steps)
            for policy, diverged, state, steps in ended.select(
                "policy", "diverged", "state", "steps"
            ).iter_rows()
        ]
        followed = self.relative(pl.Series("followed", gains, dtype=pl.Float64))
        return pl.concat([table.filter(~ends), ended.with_columns(followed)], how="diagonal")

    def relative(self, gains: pl.Series) -> pl.Series:
        """Return gains relative to the optimal one."""
        return 1.0 - (self.gain - gains) / self._scale

    def _ahead(self, policy: tuple[int, ...], state: int, steps: int) -> float:
        """Return the expected reward over the expected time of `steps` steps of a policy."""
        known = (*policy, state, steps)
        if known not in self._ahead_of:
            chain = chain_of_pairs(self._model, pairs_of(self._model, np.array(policy)))
            totals = _visits(chain, state, steps) @ np.column_stack([chain.reward, chain.duration])
            self._ahead_of[known] = float(totals[0] / totals[1])
        return self._ahead_of[known]


def _visits(chain: Chain, start: int, steps: int) -> Floats:
    """Return the expected number of visits to each state among the first states of a chain.

    With the law after m steps as a matrix power, the visits in 2 m steps are those in m steps plus those in
    m more steps from there. Large chains take single steps, which keep the matrix sparse.
    """
    law = np.zeros(len(chain.reward))
    law[start] = 1.0
    visits = np.zeros_like(law)
    if len(law) > _DENSE:
        onward = chain.matrix.T.tocsr()
        for _ in range(steps):
            visits += law
            law = onward @ law
        return visits
    power, sums = chain.matrix.toarray(), np.eye(len(law))  # of one step
    while steps:
        if steps % 2:
            visits += law @ sums
            law = law @ power
        sums += power @ sums
        power = power @ power
        steps //= 2
    return visits


def results(
    table: pl.DataFrame,
    earning: pl.DataFrame,
    chosen: Mapping[str, Mapping[str, Chosen]],
    agents: Mapping[str, NamedAgent],
) -> tuple[AgentResult, ...]:
    """Return how good each agent becomes, how soon, and what it earned, with the options that were chosen for it.

    `earning` has the runs of those agents that earn most with other options.
    """
    last = table.filter(pl.col("length") == pl.col("length").max())
    found = []
    for label, agent in agents.items():
        ended = last.filter(pl.col("agent") == label)
        steps, times = _reaching(table.filter(pl.col("agent") == label))
        optimal = int(ended["optimal"].sum())
        low, high = mean_interval(ended["relative_gain"].to_numpy())
        followed_low, followed_high = mean_interval(ended["followed"].to_numpy())
        earned_low, earned_high = mean_interval(ended["earned"].drop_nulls().to_numpy())
        share_low, share_high = share_interval(optimal, ended.height)
        steps_99, time_99 = _middle(steps), _middle(times)
        found.append(
            AgentResult(
                agent=label,
                name=title(agent),
                options=chosen[label]["policy"].options,
                edges=chosen[label]["policy"].edges,
                optimal_share=optimal / ended.height,
                optimal_low=share_low,
                optimal_high=share_high,
                relative_gain=float(ended["relative_gain"].to_numpy().mean()),
                relative_low=low,
                relative_high=high,
                followed=float(ended["followed"].to_numpy().mean()),
                followed_low=followed_low,
                followed_high=followed_high,
                earned=float(ended["earned"].drop_nulls().to_numpy().mean()),
                earned_low=earned_low,
                earned_high=earned_high,
                earning=_earning(ended, earning.filter(pl.col("agent") == label), chosen[label]["earned"]),
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
            )
        )
    return tuple(found)


def _earning(ended: pl.DataFrame, others: pl.DataFrame, chosen: Chosen) -> Earning:
    """Return what an agent earned with the options that earn most, in runs of its own if it has any."""
    earned = (others if others.height else ended)["earned"].drop_nulls().to_numpy()
    return Earning(chosen.options, chosen.edges, float(earned.mean()), *mean_interval(earned))


def learning(table: pl.DataFrame, agents: Mapping[str, NamedAgent]) -> tuple[LearningCurve, ...]:
    """Return the relative gain of each agent's policy after each length: mean over seeds, with its interval."""
    curves = []
    for label in agents:
        points = []
        for (length,), runs in (
            table.filter(pl.col("agent") == label).sort("length").group_by("length", maintain_order=True)
        ):
            relative = runs["relative_gain"].to_numpy()
            points.append((length, float(relative.mean()), *mean_interval(relative)))
        curves.append(LearningCurve(label, *zip(*points, strict=True)))
    return tuple(curves)


def trap(table: pl.DataFrame, label: str) -> tuple[list[int], float] | None:
    """Return the policy, other than the optimal ones, that an agent has most often, and how often.

    Only lengths from a hundredth of the longest on count. The answer is None if every policy is optimal.
    """
    late = table.filter((pl.col("agent") == label) & (pl.col("length") >= pl.col("length").max() / 100))
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
    for _, runs in table.sort("length").group_by("seed", maintain_order=True):
        good = runs["relative_gain"].to_numpy() >= ENOUGH
        bad = np.flatnonzero(~good)
        first = 0 if not bad.size else int(bad[-1]) + 1
        reached = first < len(good)
        steps.append(float(runs["steps"][first]) if reached else math.inf)
        times.append(float(runs["duration"][first]) if reached else math.inf)
    return np.array(steps), np.array(times)


def _middle(numbers: Floats) -> tuple[float | None, float | None, float | None]:
    """Return the median and the ends of its interval; None where most runs never get there."""
    low, high = median_interval(numbers)
    middle = float(np.sort(numbers)[len(numbers) // 2])  # infinite if half of the runs never get there
    return _finite(middle), _finite(low), _finite(high)


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _median(column: pl.Series) -> float | None:
    finite = column.filter(column.is_finite())
    return float(finite.median()) if len(finite) else None  # type: ignore[arg-type]


# --- The estimators alone ----------------------------------------------------------------

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
