"""The agent that knows the answer: it follows the optimal policy of a model."""

from __future__ import annotations

from sojourn.agents.baselines import PolicyAgent, policy_agent
from sojourn.data.numbers import shown
from sojourn.exact.solve import solve
from sojourn.models.model_files import named_model
from sojourn.models.smdp import SMDP
from sojourn.rates.protocol import Rate
from sojourn.rules.door import told


@told
def oracle(num_states: int, num_actions: int, *, model: SMDP | str, rate: Rate | None = None) -> PolicyAgent:
    """Follow the optimal policy of a model; no agent can earn more in the long run.

    `model` is a model, the name of a problem, or the path of a model's file.

    >>> from sojourn.models.problems import long_return
    >>> oracle(2, 2, model=long_return()).actions
    array([0, 0])
    """
    known = named_model(model) if isinstance(model, str) else model
    if (known.num_states, known.num_actions) != (num_states, num_actions):
        raise ValueError(
            f"the model has {known.num_states} states and {known.num_actions} actions, but the world has {shown(num_states)} "
            f"and {shown(num_actions)}; give the oracle the model of this world"
        )
    return policy_agent(solve(known).policy.tolist(), num_actions, rate=rate)
