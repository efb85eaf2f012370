"""What a comparison found: the record in `comparison.json`, which words, figures and the page are made of."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.rules.records import check_lengths
from sojourn.studies.audit.answer import Audited


@dataclass(frozen=True)
class AgentResult:
    """What an agent ended with on a problem, and how soon; None where there is no number.

    Low and high are the ends of 95 % intervals over the runs. `judge` says what a relative gain is; `optimal_given`
    and `optimal_reversed` are the shares of optimal policies with the actions numbered either way.
    """

    agent: str
    name: str
    optimal_share: float
    optimal_low: float
    optimal_high: float
    optimal_given: float
    optimal_reversed: float
    relative_gain: float
    relative_low: float
    relative_high: float
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
    options: dict[str, float]


@dataclass(frozen=True)
class LearningCurve:
    """The relative gain of an agent's policy after each number of steps: mean over runs, and its interval."""

    agent: str
    step: tuple[int, ...]
    relative_gain: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    def __post_init__(self) -> None:
        """Check that there is one of each for each number of steps."""
        check_lengths(self, "step", "relative_gain", "low", "high")


@dataclass(frozen=True)
class Trap:
    """The wrong policy that Harmonic R-Learning is held up by most often, and what happens to the rate there."""

    policy: tuple[int, ...]
    share: float
    gain: float
    harmonic: float
    drift: float


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
    """What was found on one problem."""

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
class RunSettings:
    """How the agents and the estimators were run."""

    steps: int
    seeds: int
    tuning_seeds: int
    exploration: float
    step_sizes: tuple[float, ...]
    rate_step_sizes: tuple[float, ...]
    discounts: tuple[float, ...]
    estimator_step_size: float
    estimator_steps: int
    estimator_seeds: int


@dataclass(frozen=True)
class Comparison:
    """A whole comparison: how it was run, and what was found on each problem."""

    settings: RunSettings
    problems: tuple[Problem, ...]
    version: str
