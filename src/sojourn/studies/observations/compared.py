"""Compare agents on chosen problems whose observations cannot be listed, as `sojourn compare wear offers` does.

This is the first part of the study with other agents, problems and lengths: every agent has its own settings and is
judged against the best policy. There is no bar that an agent should reach.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sojourn.learner.observing import OBSERVERS, Source, driver_for, observer_for
from sojourn.rules.names import is_users, users_constructor
from sojourn.rules.numbers import nearest, shown, whole
from sojourn.runs.named import plain_kind
from sojourn.studies.observations import judge, plan

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
    continuous = [name for name in names if _problem(name) in plan.BARS]
    if continuous and len(continuous) < len(names):
        other = next(name for name in names if name not in continuous)
        raise ValueError(
            f"the observations of {continuous[0]} cannot be listed, and {shown(other)} is judged in another way; "
            "compare agents on them with two commands, each with its own --out"
        )
    return bool(continuous)


def cells(asked: Asked) -> list[plan.Cell]:
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
        plan.Cell(problem, agent, plan.OWN, seed, asked.steps)
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
    options = {"rate": plan.OWN.rate(), "centring": plan.OWN.centring} if own else {}
    driver_for(observer.agent, options, env, Source())
