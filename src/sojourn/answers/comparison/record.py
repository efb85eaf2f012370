"""What a comparison found: the record in `comparison.json`, from which words, figures and the page are made."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.answers.audit.record import Audited
from sojourn.data.hints import check_lengths


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

    Low and high are the ends of 95 % intervals over the runs. `judge` says what `relative_gain`, `followed` and
    `earned` are. All but `earning` is with the options that give the best final policies; `edges` names those of them
    whose best choice is the last that was tried.
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
    """The relative gain of an agent's policy over the steps, or over time: mean over runs, with its interval."""

    agent: str
    step: tuple[float, ...]
    relative_gain: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    def __post_init__(self) -> None:
        """Check that each length has one of each."""
        check_lengths(self, "step", "relative_gain", "low", "high")


@dataclass(frozen=True)
class Trap:
    """The wrong policy that Harmonic R-Learning has most often, and what happens to the rate there."""

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
class ChangingResult:
    """What an agent earned in a world that changes, as a share of what the best policy of each time would have earned.

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
    """What was found in one world that changes."""

    name: str
    states: int
    agents: tuple[ChangingResult, ...]  # those that earned most first


@dataclass(frozen=True)
class RunSettings:
    """How the agents and the estimators were run."""

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
    """A whole comparison: how it was run, and what was found on each problem."""

    settings: RunSettings
    problems: tuple[Problem, ...]
    version: str
    changing: tuple[ChangingWorld, ...] = ()

    @property
    def names(self) -> list[str]:
        """The names of all problems, and then of the worlds that change."""
        return [*(found.name for found in self.problems), *(found.name for found in self.changing)]
