"""The record of the study: what each agent reached on each problem, and how much the rate matters."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Truth:
    """A problem and its best possible gain, which is not exact where a rule's measured rate stands for it."""

    problem: str
    gain: float
    is_exact: bool
    bar: (
        float | None
    )  # what the best agent should reach, relative to the gain; None where agents are only compared


@dataclass(frozen=True)
class Run:
    """The result of one run: the gain of its policy, also relative to the best, its learned rate and its CPU time."""

    problem: str
    agent: str
    variant: str
    seed: int
    steps: int
    gain: float
    relative_gain: float
    learned_rate: float
    seconds: float


@dataclass(frozen=True)
class Outcome:
    """What an agent reached on a problem with one way to get its rate: means over seeds, with an interval."""

    problem: str
    agent: str
    variant: str
    steps: int
    seeds: int
    gain: float
    relative_gain: float
    low: float
    high: float
    learned_rate: float
    seconds: float  # CPU time of a run


@dataclass(frozen=True)
class Observations:
    """The whole study: how much was run, all problems, and both parts."""

    seeds: int
    rate_seeds: int
    length: float
    truths: tuple[Truth, ...]
    first: tuple[Outcome, ...]
    second: tuple[Outcome, ...]
    version: str

    @property
    def is_comparison(self) -> bool:
        """Whether agents are only compared, on chosen problems."""
        return all(one.bar is None for one in self.truths)

    def truth(self, problem: str) -> Truth:
        """Return what is known about a problem."""
        return {one.problem: one for one in self.truths}[problem]

    def best(self, problem: str) -> Outcome:
        """Return what the best agent reached on a problem in the first part."""
        return max((one for one in self.first if one.problem == problem), key=lambda one: one.relative_gain)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The problems and agents of the second part."""
        return list(dict.fromkeys((one.problem, one.agent) for one in self.second))

    def varied(self, problem: str, agent: str) -> list[Outcome]:
        """Return what one pair of the second part reached with each way to get the rate."""
        return [one for one in self.second if (one.problem, one.agent) == (problem, agent)]
