"""What is run: networks with their own settings on every problem, then with other rates, and without durations.

The first part uses the agents' default settings on all problems. The second part uses the problems in which actions
decide how long a step takes, and changes one thing at a time: the estimator of the rate, whether it is centred, or
whether the agent is told durations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sojourn.answers.observations import judge
from sojourn.data.names import is_users, users_constructor
from sojourn.data.numbers import nearest, positive, shown, whole
from sojourn.envs.places import places_of
from sojourn.learner.choice import OBSERVERS, observer_for, observing_agent
from sojourn.rates.named import ESTIMATORS
from sojourn.rates.protocol import Rate
from sojourn.runs.named import plain_kind

RATE_STEP_SIZE, CENTRING = 0.001, 0.1  # the agents' defaults
IGNORED = "durations ignored"
_FEWEST = 1000  # steps of a run

STEPS = {  # of a run; problems that take longer to learn get more
    ("wear", "deep_q"): 100_000,
    ("offers", "deep_q"): 100_000,
    ("offers-16", "deep_q"): 200_000,
    ("workload", "deep_q"): 100_000,
    ("fleet", "deep_q"): 200_000,
    ("c-mu", "ppo"): 500_000,
    ("hold", "ppo"): 1_000_000,
    ("update-or-wait", "ppo"): 500_000,
    ("c-mu", "deep_q"): 100_000,
    ("wear", "ppo"): 200_000,
    ("offers", "ppo"): 200_000,
}
SECOND = (("wear", "deep_q"), ("offers", "deep_q"), ("offers", "ppo"), ("update-or-wait", "ppo"))
SECOND_LENGTH = 0.4  # of the runs of the second part, as a share of those of the first

# What the best agent of each problem should reach, relative to the exact gain; for the fleet, to the best threshold rule.
BARS = {
    "wear": 0.995,
    "offers": 0.995,
    "offers-16": 0.99,
    "workload": 0.995,
    "c-mu": 0.97,
    "hold": 0.98,
    "update-or-wait": 0.98,
    "fleet": 1.0,
}


class Variant(NamedTuple):
    """How an agent gets its rate: from an estimator, centred or not; or it is told that every step takes a time of 1.

    >>> Variant("Harmonic", 0.0).label, Variant().label
    ('Harmonic, not centred', 'Exponential, centred')
    """

    estimator: str = "Exponential"
    centring: float = CENTRING
    ignores_durations: bool = False

    @property
    def label(self) -> str:
        """The name in tables."""
        if self.ignores_durations:
            return IGNORED
        return f"{self.estimator}, {'centred' if self.centring else 'not centred'}"

    def rate(self) -> Rate:
        """Return a fresh estimator."""
        return ESTIMATORS[self.estimator].make(RATE_STEP_SIZE)


OWN = Variant()
VARIANTS = (
    OWN,
    Variant("Exponential", 0.0),
    Variant("Harmonic"),
    Variant("Harmonic", 0.0),
    Variant("Cumulative"),
    Variant("Cumulative", 0.0),
    Variant(ignores_durations=True),
)


class Cell(NamedTuple):
    """One run: an agent learns in a problem for a number of steps, with one seed."""

    problem: str
    agent: str
    variant: Variant
    seed: int
    steps: int


class Settings(NamedTuple):
    """How much is run: the seeds of the two parts, and the length of runs as a share of the usual length."""

    seeds: int = 3
    rate_seeds: int = 2
    length: float = 1.0


def checked_settings(settings: Settings) -> Settings:
    """Return the settings, or raise an error if they make no sense."""
    whole("seeds", settings.seeds)
    whole("rate_seeds", settings.rate_seeds, least=0)
    positive("length", settings.length)
    return settings


def first(settings: Settings) -> list[Cell]:
    """Return the runs of the first part.

    >>> len(first(Settings(seeds=3)))
    33
    """
    return [
        Cell(problem, agent, OWN, seed, _steps(problem, agent, settings.length))
        for seed in range(settings.seeds)
        for problem, agent in STEPS
    ]


def second(settings: Settings) -> list[Cell]:
    """Return the runs of the second part.

    >>> len(second(Settings(rate_seeds=1)))
    28
    """
    return [
        Cell(problem, agent, variant, seed, _steps(problem, agent, SECOND_LENGTH * settings.length))
        for seed in range(settings.rate_seeds)
        for problem, agent in SECOND
        for variant in VARIANTS
    ]


def num_steps(settings: Settings) -> int:
    """Return how many steps all runs take together."""
    return sum(cell.steps for cell in {*first(settings), *second(settings)})


def _steps(problem: str, agent: str, length: float) -> int:
    return max(_FEWEST, round(length * STEPS[problem, agent]))


# --- Agents and problems that a user names -----------------------------------------------

_USUAL = ("tile_q", "deep_q", "ppo")


class Asked(NamedTuple):
    """What is compared: problems and agents, for how many steps, and with how many seeds."""

    problems: tuple[str, ...]
    agents: tuple[str, ...] = ()  # those that fit the problem, if none is named
    steps: int = 30_000
    seeds: int = 30


def observed(names: Sequence[str]) -> bool:
    """Whether the observations of these problems cannot be listed; an error if this is true of only some of them.

    >>> observed(["wear", "offers_16"]), observed(["gosavi", "mine:queue"])
    (True, False)
    """
    continuous = [name for name in names if _problem(name) in BARS]
    if continuous and len(continuous) < len(names):
        other = next(name for name in names if name not in continuous)
        raise ValueError(
            f"the observations of {continuous[0]} cannot be listed, and {shown(other)} is judged in another way; "
            "compare agents on them with two commands, each with its own --out"
        )
    return bool(continuous)


def cells(asked: Asked) -> list[Cell]:
    """Return the runs, or raise an error if one cannot be made.

    >>> asked = Asked(("hold",), steps=5000, seeds=2)
    >>> [(cell.agent, cell.seed, cell.steps) for cell in cells(asked)]
    [('ppo', 0, 5000), ('ppo', 1, 5000)]
    """
    whole("seeds", asked.seeds)
    whole("steps", asked.steps, least=100)
    problems = [_problem(name) for name in asked.problems]
    agents = [_agent(name) for name in asked.agents]
    for kind, several in (("problem", problems), ("agent", agents)):
        twice = [name for name in several if several.count(name) > 1]
        if twice:
            raise ValueError(f"the {kind} {twice[0]!r} is named twice; name each once")
    return [
        Cell(problem, agent, OWN, seed, asked.steps)
        for problem in problems
        for agent in _fitting(problem, agents)
        for seed in range(asked.seeds)
    ]


def _problem(name: str) -> str:
    return name if is_users(name) else name.replace("_", "-")


def _agent(name: str) -> str:
    kind = plain_kind(name)
    if is_users(name) or kind in OBSERVERS:
        return kind
    raise ValueError(
        f"{shown(name)} is not an agent for observations that cannot be listed{nearest(kind, OBSERVERS)}; or name your "
        "own as module:Agent"
    )


def _fitting(problem: str, agents: Sequence[str]) -> list[str]:
    """Return the agents that were named, each of which must fit; if none were named, the usual ones that fit."""
    for agent in agents:
        try:
            _check_fit(problem, agent)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{agent} cannot be compared on {problem}: {error}") from None
    return list(agents) or [agent for agent in _USUAL if _fits(problem, agent)]


def _fits(problem: str, agent: str) -> bool:
    try:
        _check_fit(problem, agent)
    except ValueError:
        return False
    return True


def _check_fit(problem: str, agent: str) -> None:
    """Make the agent, which raises an error if it does not fit."""
    env, own = judge.environment(problem), not is_users(agent)
    observer = observer_for(agent if own else users_constructor(agent), env)
    if observer is None:
        raise ValueError(
            "it is not an agent for observations; such an agent is made with spaces=..., which say what it can see and do"
        )
    options = {"rate": OWN.rate(), "centring": OWN.centring} if own else {}
    observing_agent(observer[0], options, places_of(env))
