"""What an agent must have before it may run: checked once, with a sentence for what is wrong."""

from __future__ import annotations

from sojourn.agents.errors import Differential
from sojourn.agents.policies import PolicyAgent
from sojourn.agents.protocol import A, Agent, draw, learn
from sojourn.agents.values.protocol import Values, best, move, read, ready_values, sizes
from sojourn.rates.protocol import update, value
from sojourn.rules.values import is_value, replaced, validated


def ready_agent(agent: A) -> A:
    """Return an agent as compiled code needs it, or say what is wrong with it."""
    name = type(agent).__name__
    if not (is_value(agent) and draw.knows(type(agent)) and learn.knows(type(agent))):
        raise TypeError(f"{name} is no agent: an agent is a NamedTuple with draw and learn registered for it")
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
            f"{type(agent.rate).__name__} is no estimator: one is a NamedTuple with update and value registered for it"
        )
    # What was built with _replace has passed no check.
    agent = validated(replaced(agent, values=ready_values(agent.values)))
    _check_arrays(agent)
    return agent


def _check_arrays(agent: Agent) -> None:
    """Refuse an agent of ours whose other arrays do not go with its values: compiled code looks for no bounds."""
    num_states, num_actions = sizes(agent.values)
    wrong = ""
    durations = _durations(agent)
    if durations is not None and sizes(durations) != (num_states, num_actions):
        wrong = f"mean_duration has the shape {sizes(durations)}"
    if isinstance(agent, PolicyAgent):
        if agent.actions.shape != (num_states,):
            wrong = f"actions has the shape {agent.actions.shape}"
        elif not ((agent.actions >= 0) & (agent.actions < num_actions)).all():
            wrong = "actions has an action that no state has"
    if wrong:
        raise ValueError(
            f"the agent's {wrong}, but its values are {num_states} states by {num_actions} actions"
        )


def _durations(agent: Agent) -> Values | None:
    method = getattr(agent, "method", None)
    return method.mean_duration if isinstance(method, Differential) else None
