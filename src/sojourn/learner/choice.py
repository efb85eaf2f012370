"""Which agent a learner has: the one that it is given, or otherwise one that suits the environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from sojourn.agents.constructors import smart
from sojourn.agents.planning.planner import planner
from sojourn.agents.protocol import Agent, described
from sojourn.runs.build import build_agent

MakeAgent: TypeAlias = Callable[..., Agent]

MOST_PAIRS = 1_000_000  # of state and action for which a planner is chosen: its counts take 100 bytes each


class Chosen(NamedTuple):
    """An agent, and a sentence that says why it was chosen."""

    agent: Agent
    sentence: str


def chosen_agent(
    given: Agent | MakeAgent | str | None, options: Mapping[str, Any], num_states: int, num_actions: int
) -> Chosen:
    """Return the agent for an environment of this size: the one that is given or named, or a good one to begin with.

    >>> chosen_agent(None, {}, num_states=11, num_actions=2).sentence
    'planner, because 11 states can be listed: it learns a model, plans with it, and has nothing to tune'
    >>> chosen_agent("relaxed-smart", {}, num_states=11, num_actions=2).sentence
    'relaxed-smart, as asked for'
    """
    if given is None:
        if options:
            raise TypeError(
                f'{", ".join(options)} cannot be given without an agent; name one, such as Learner(env, "smart", '
                f"{next(iter(options))}=...)"
            )
        return _to_begin_with(num_states, num_actions)
    if isinstance(given, str):
        agent = build_agent(given.replace("-", "_"), options, num_states, num_actions)
        return Chosen(agent, f"{given}, as asked for")
    if callable(given):
        agent = given(num_states=num_states, num_actions=num_actions, **options)
        return Chosen(agent, f"{getattr(given, '__name__', described(agent))}, as asked for")
    if options:
        raise TypeError(
            f"{', '.join(options)} cannot be given with an agent that is already made; give its constructor instead"
        )
    return Chosen(given, f"{type(given).__name__}, as given")


def _to_begin_with(num_states: int, num_actions: int) -> Chosen:
    if num_states * num_actions <= MOST_PAIRS:
        why = "can be listed: it learns a model, plans with it, and has nothing to tune"
        return Chosen(planner(num_states, num_actions), f"planner, because {num_states:,} states {why}")
    why = f"with {num_actions} actions are more than a planner has room for: it learns values, one step at a time"
    return Chosen(smart(num_states, num_actions), f"smart, because {num_states:,} states {why}")
