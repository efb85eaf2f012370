"""What an agent must have before it may run: checked once, with a sentence for what is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from sojourn.agents.kinds import DifferentialAgent, PolicyAgent
from sojourn.agents.protocol import draw, learn
from sojourn.rates.protocol import update, value
from sojourn.rules.values import is_value, validated


def ready_agent(agent: Any) -> Any:
    """Return an agent as compiled code needs it, or say what is wrong with it."""
    if not (is_value(agent) and draw.knows(type(agent)) and learn.knows(type(agent))):
        raise TypeError(
            f"{type(agent).__name__} is no agent: an agent is a NamedTuple with draw and learn registered for it"
        )
    for name in ("q", "rate", "accepted"):
        if not hasattr(agent, name):
            raise TypeError(
                f"{type(agent).__name__} has no field {name}; an agent needs q, rate and accepted"
            )
    if not (update.knows(type(agent.rate)) and value.knows(type(agent.rate))):
        raise TypeError(
            f"{type(agent.rate).__name__} is no estimator: one is a NamedTuple with update and value registered for it"
        )
    # What was built with _replace has passed no check; and a table of whole numbers would stay one.
    agent = validated(agent._replace(q=np.asarray(agent.q, dtype=np.float64)))
    _check_arrays(agent)
    return agent


def _check_arrays(agent: Any) -> None:
    """Refuse an agent of ours whose other arrays do not go with its q: compiled code looks for no bounds."""
    if agent.q.ndim != 2:
        raise ValueError(f"the agent's q has the shape {agent.q.shape}; it must be states by actions")
    wrong = ""
    if isinstance(agent, DifferentialAgent) and agent.mean_duration.shape != agent.q.shape:
        wrong = f"mean_duration has the shape {agent.mean_duration.shape}"
    if isinstance(agent, PolicyAgent):
        if agent.actions.shape != agent.q.shape[:1]:
            wrong = f"actions has the shape {agent.actions.shape}"
        elif not ((agent.actions >= 0) & (agent.actions < agent.q.shape[1])).all():
            wrong = "actions has an action that there is not"
    if wrong:
        raise ValueError(
            f"the agent's {wrong}, but its q is {agent.q.shape[0]} states by {agent.q.shape[1]} actions"
        )
