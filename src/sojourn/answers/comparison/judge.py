"""How agents are judged, and the record in `comparison.json`.

Agents are judged by the exact gain of their final policy, and by what they earned on the way.

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

In a world that changes, no policy stays the best, so agents are judged by a share: what a run earned, over what the
best policy at each time would have earned, which is the run's reward plus its dynamic regret.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sojourn.agents.baselines import policy_agent
from sojourn.agents.catalogue import NamedAgent
from sojourn.answers.audit import Audited
from sojourn.data.hints import check_lengths
from sojourn.exact.policies import PolicyGains
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
    from sojourn.answers.comparison.tuning import TunedOptions

ENOUGH = 0.99
_ROUNDING = 1e-9
_DENSE = 200  # up to this many states, powers of a dense matrix are faster than single steps


@dataclass(frozen=True)
class Earning:
    """What an agent earned on the way with the options that earn most, relative to the optimum."""

    options: dict[str, float]
    edges: tuple[str, ...]
    earned: float
    low: float
    high: float


@dataclass(frozen=True)
class AgentResult:
    """How good an agent became on a problem, and how soon; None where there is no number.

    Low and high are the ends of 95 % intervals over the runs. The module's docstring defines `relative_gain`,
    `followed` and `earned`. Everything but `earning` is with the options that give the best final policies;
    `edges` names those whose best choice is the last one tried.
    """

    agent: str
    name: str
    options: dict[str, float]
    edges: tuple[str, ...]
    optimal_share: float
    optimal_low: float
    optimal_high: float
    relative_gain: float
    relative_low: float
    relative_high: float
    followed: float
    followed_low: float
    followed_high: float
    earned: float
    earned_low: float
    earned_high: float
    earning: Earning
    steps_99: float | None
    steps_99_low: float | None
    steps_99_high: float | None
    time_99: float | None
    time_99_low: float | None
    time_99_high: float | None
    reached_share: float
    rate: float | None
    rate_gap: float | None
    regret: float | None
    diverged: int


@dataclass(frozen=True)
class LearningCurve:
    """The relative gain of an agent's policy over steps or time: the mean over runs, with its interval."""

    agent: str
    step: tuple[float, ...]
    relative_gain: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    def __post_init__(self) -> None:
        """Check that all lists are equally long."""
        check_lengths(self, "step", "relative_gain", "low", "high")


@dataclass(frozen=True)
class Trap:
    """The most frequent wrong policy of Harmonic R-Learning, and what happens to the rate under it."""

    policy: tuple[int, ...]
    share: float
    gain: float
    harmonic: float
    grows: bool  # whether values grow at that rate


@dataclass(frozen=True)
class EstimatorError:
    """How far an estimator is from the gain under the optimal policy: root mean square error, with its interval."""

    estimator: str
    mean: float
    error: float
    error_low: float
    error_high: float


@dataclass(frozen=True)
class Problem:
    """The results on one problem."""

    name: str
    gain: float
    states: int
    audit: Audited
    agents: tuple[AgentResult, ...]
    curves: tuple[LearningCurve, ...]
    trap: Trap | None = None
    estimators: tuple[EstimatorError, ...] = ()
    findings: tuple[str, ...] = ()

    def agent(self, label: str) -> AgentResult:
        """Return the result of one agent."""
        return {row.agent: row for row in self.agents}[label]


@dataclass(frozen=True)
class ChangingResult:
    """What an agent earned in a world that changes, as a share of what the best policy at each time would have earned.

    Low and high are the ends of the 95 % interval over the runs. `tracking_error` is the mean over time of the squared error
    of its learned rate; None for runs of a hundred steps or fewer.
    """

    agent: str
    name: str
    options: dict[str, float]
    edges: tuple[str, ...]
    share: float
    low: float
    high: float
    dynamic_regret: float
    tracking_error: float | None
    diverged: int


@dataclass(frozen=True)
class ChangingWorld:
    """The results in one world that changes."""

    name: str
    states: int
    agents: tuple[ChangingResult, ...]  # in descending order of earnings


@dataclass(frozen=True)
class RunSettings:
    """The settings of the runs of agents and estimators."""

    steps: int
    seeds: int
    tuning_seeds: int
    time: float | None
    grids: dict[
        str, dict[str, tuple[float, ...]]
    ]  # the choices of each agent's options, before they are widened
    widen: int
    estimator_step_size: float
    estimator_steps: int
    estimator_seeds: int


@dataclass(frozen=True)
class Comparison:
    """A whole comparison: its settings, and the results on each problem."""

    settings: RunSettings
    problems: tuple[Problem, ...]
    version: str
    changing: tuple[ChangingWorld, ...] = ()

    @property
    def names(self) -> list[str]:
        """The names of all problems, and then of the worlds that change."""
        return [*(found.name for found in self.problems), *(found.name for found in self.changing)]


# --- Judging -----------------------------------------------------------------------------


class Judge:
    """Computes the exact gains of a model's policies, each once; worlds start in state 0."""

    def __init__(self, model: SMDP) -> None:
        self._model = model
        self.gain = float(solve(model).gains[0])
        self._worst = -float(solve(model.with_means(-model.reward, model.duration)).gains[0])
        timed = model.duration > 0.0
        largest = float(np.abs(model.reward[timed] / model.duration[timed]).max())
        # A gain of 0 may come out as 1e-17, which is useless as a unit.
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
        """Return judged runs with the column `followed`, which only full-length runs have; these come last."""
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

    By doubling: the visits in 2 m steps are those in the first m steps plus those in m more from there, with the
    distribution after m steps as a matrix power. Large chains take single steps, which keep the matrix sparse.
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
    chosen: Mapping[str, Mapping[str, TunedOptions]],
    agents: Mapping[str, NamedAgent],
) -> tuple[AgentResult, ...]:
    """Return how good each agent becomes, how soon, and what it earned, with its chosen options.

    `earning` has the runs of the agents that earn most with other options.
    """
    last = table.filter(pl.col("length") == pl.col("length").max())
    found = []
    for label, agent in agents.items():
        ended, best = last.filter(pl.col("agent") == label), chosen[label]
        steps, times = _reaching(table.filter(pl.col("agent") == label))
        optimal = int(ended["optimal"].sum())
        shares = (optimal / ended.height, *share_interval(optimal, ended.height))
        found.append(
            AgentResult(
                agent=label,
                name=title(agent),
                options=best["policy"].options,
                edges=best["policy"].edges,
                **dict(zip(("optimal_share", "optimal_low", "optimal_high"), shares, strict=True)),
                **_mean(ended, "relative_gain", "relative"),
                **_mean(ended, "followed", "followed"),
                **_mean(ended, "earned", "earned"),
                earning=_earning(ended, earning.filter(pl.col("agent") == label), best["earned"]),
                **_middle("steps_99", steps),
                **_middle("time_99", times),
                reached_share=float(np.isfinite(steps).mean()),
                rate=_median(ended["rate"]),
                rate_gap=_median(ended["rate_gap"]),
                regret=_median(ended["regret"]),
                diverged=int(ended["diverged"].sum()),
            )
        )
    return tuple(found)


def _mean(runs: pl.DataFrame, column: str, name: str) -> dict[str, float]:
    """Return the mean of a column over runs, and its interval."""
    numbers = runs[column].drop_nulls().to_numpy()
    low, high = mean_interval(numbers)
    return {column: float(numbers.mean()), f"{name}_low": low, f"{name}_high": high}


def _earning(ended: pl.DataFrame, others: pl.DataFrame, chosen: TunedOptions) -> Earning:
    """Return what an agent earned with the options that earn most, from separate runs if there are any."""
    earned = (others if others.height else ended)["earned"].drop_nulls().to_numpy()
    return Earning(chosen.options, chosen.edges, float(earned.mean()), *mean_interval(earned))


def learning(table: pl.DataFrame, agents: Mapping[str, NamedAgent]) -> tuple[LearningCurve, ...]:
    """Return each agent's relative gain at each length: the mean over seeds, with its interval."""
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
    """Return an agent's most frequent policy that is not optimal, and its share.

    Only lengths from a hundredth of the longest on count. None if every policy is optimal.
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
    """Return, for each run, the steps and the time from which its policy stays good."""
    steps, times = [], []
    for _, runs in table.sort("length").group_by("seed", maintain_order=True):
        good = runs["relative_gain"].to_numpy() >= ENOUGH
        bad = np.flatnonzero(~good)
        first = 0 if not bad.size else int(bad[-1]) + 1
        reached = first < len(good)
        steps.append(float(runs["steps"][first]) if reached else math.inf)
        times.append(float(runs["duration"][first]) if reached else math.inf)
    return np.array(steps), np.array(times)


def _middle(name: str, numbers: Floats) -> dict[str, Any]:
    """Return the median and its interval; None where most runs never get there."""
    middle = float(np.sort(numbers)[len(numbers) // 2])  # infinite if half the runs never get there
    found = zip((name, f"{name}_low", f"{name}_high"), (middle, *median_interval(numbers)), strict=True)
    return {field: number if math.isfinite(number) else None for field, number in found}


def _median(column: pl.Series) -> float | None:
    finite = column.filter(column.is_finite())
    return float(finite.median()) if len(finite) else None  # type: ignore[arg-type]


# --- Worlds that change ------------------------------------------------------------------


def with_shares(table: pl.DataFrame) -> pl.DataFrame:
    """Add the share that was earned, by which options are also chosen; failed runs earned nothing.

    >>> with_shares(pl.DataFrame({"reward": [8.0, None], "dynamic_regret": [2.0, None]}))["earned"].to_list()
    [0.8, 0.0]
    """
    share = (pl.col("reward") / (pl.col("reward") + pl.col("dynamic_regret"))).fill_null(0.0)
    return table.with_columns(earned=share, relative_gain=share)


def changing_results(
    table: pl.DataFrame, chosen: Mapping[str, Mapping[str, TunedOptions]], agents: Mapping[str, NamedAgent]
) -> tuple[ChangingResult, ...]:
    """Return what each agent earned with its chosen options, in descending order."""
    found = []
    for label, agent in agents.items():
        runs, best = table.filter(pl.col("agent") == label), chosen[label]["earned"]
        shares, errors = runs["earned"].to_numpy(), runs["tracking_error"].drop_nulls()
        found.append(
            ChangingResult(
                agent=label,
                name=title(agent),
                options=best.options,
                edges=best.edges,
                share=float(shares.mean()),
                low=(interval := mean_interval(shares))[0],
                high=interval[1],
                dynamic_regret=float(runs["dynamic_regret"].drop_nulls().to_numpy().mean()),
                tracking_error=float(errors.to_numpy().mean()) if len(errors) else None,
                diverged=int(runs["diverged"].sum()),
            )
        )
    return tuple(sorted(found, key=lambda row: -row.share))


# --- Estimators by themselves -------------------------------------------------------------

STEP_SIZE, STEPS, SEEDS = 0.01, 2000, 400


def errors(
    model: SMDP, policy: Sequence[int], gain: float, jobs: int | None = None
) -> tuple[EstimatorError, ...]:
    """Return the mean of each estimator over seeds, and its root-mean-square error with an interval."""
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
