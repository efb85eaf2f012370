"""Checks what an agent must have before it may run, once, and says in a sentence what is wrong."""

from __future__ import annotations

from sojourn.agents.protocol import A, draw, learn, misfit
from sojourn.agents.values.protocol import best, move, read, ready_values, sizes
from sojourn.data.numbers import unmasked
from sojourn.rates.protocol import update, value
from sojourn.rules.values import is_value, replaced, validated


def ready_agent(agent: A) -> A:
    """Return an agent as compiled code needs it, or say what is wrong with it."""
    name = type(agent).__name__
    if not (is_value(agent) and draw.knows(type(agent)) and learn.knows(type(agent))):
        raise TypeError(
            f"{name} is not an agent; an agent is a NamedTuple with draw and learn registered for it"
        )
    for field in ("values", "rate", "accepted"):
        if not hasattr(agent, field):
            raise TypeError(f"{name} has no field {field}; an agent needs values, rate and accepted")
    if not all(rule.knows(type(agent.values)) for rule in (read, best, move, sizes)):
        raise TypeError(
            f"the values of {name} are {type(agent.values).__name__}; they must be a Table, or a NamedTuple with "
            "read, best, move and sizes registered for it"
        )
    if not (update.knows(type(agent.rate)) and value.knows(type(agent.rate))):
        raise TypeError(
            f"{type(agent.rate).__name__} is not an estimator; an estimator is a NamedTuple with update and value "
            "registered for it"
        )
    # An agent that was made with _replace has not been checked yet.
    unmasked(type(agent).__name__, agent)
    agent = validated(replaced(agent, values=ready_values(agent.values)))
    wrong = misfit(agent)  # compiled code does not check bounds
    if wrong:
        num_states, num_actions = sizes(agent.values)
        raise ValueError(
            f"the agent's {wrong}, which does not fit its values of {num_states} states by {num_actions} actions"
        )
    return agent
