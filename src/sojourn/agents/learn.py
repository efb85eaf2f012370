"""The agent that learns: values, an estimator of the rate, a method, and one body of `learn` for all methods."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sojourn.agents.errors import Differential, Method, Step, evidence, takes_all, td_error
from sojourn.agents.protocol import draw, learn, misfit
from sojourn.agents.values.protocol import Values, best, entries, move, nth_available, sizes
from sojourn.rates.protocol import Rate, update, value
from sojourn.rules.arrays import Floats, misread
from sojourn.rules.bridge import inlined
from sojourn.rules.numbers import Number, fraction, probability, within
from sojourn.rules.random import uniform
from sojourn.rules.streams import Stream
from sojourn.rules.values import checked

_update, _value = update.bare, value.bare

READINGS = ("action", "draw", "after")
_ACTION, _DRAW, _AFTER = range(3)


@checked(start=probability, factor=fraction, floor=probability)
class Decay(NamedTuple):
    """Exploration that starts at `start` and is multiplied by `factor` after every step.

    >>> Decay(start=0.2, factor=0.999)
    Decay(start=0.2, factor=0.999, floor=0.0)
    """

    start: float
    factor: float
    floor: float = 0.0


def _reading(name: str, number: Number) -> int:
    return within(name, number, len(READINGS))


@checked(step_size=fraction, exploration_factor=fraction, exploration_floor=probability, greedy=_reading)
class Params(NamedTuple):
    """What stays as it is while an agent learns."""

    step_size: float
    exploration_factor: float
    exploration_floor: float
    greedy: int  # index into READINGS


@checked(exploration=probability)
class LearningAgent(NamedTuple):
    """An agent that learns values by a method, with any estimator of the rate.

    >>> from sojourn.agents.literature import smart
    >>> smart(num_states=1, num_actions=2).q
    array([[0., 0.]])
    """

    values: Values
    rate: Rate
    method: Method
    exploration: float
    accepted: bool
    params: Params

    @property
    def q(self) -> Floats:
        """The values as an array of states by actions."""
        return entries(self.values)


@misfit.register
def misfit_learning(agent: LearningAgent) -> str:
    """Its method's mean durations, if it keeps any, must be as many as its values."""
    if not td_error.knows(type(agent.method)):
        return f"method is {type(agent.method).__name__}, which has no td_error"
    if not isinstance(agent.method, Differential):
        return ""
    return misread("mean_duration", agent.method.mean_duration.q, np.float64, sizes(agent.values))


@draw.register
def draw_epsilon_greedy(agent: LearningAgent, state: int, rng: Stream) -> tuple[int, bool]:
    """With probability epsilon any action, else the greedy one; one number decides both."""
    u = uniform(rng)
    if u < agent.exploration:
        return nth_available(agent.values, state, u / agent.exploration), True
    return best(agent.values, state, 0.0)[0], False


@learn.register
def learn_from_step(
    agent: LearningAgent,
    state: int,
    action: int,
    reward: float,
    duration: float,
    next_state: int,
    explored: bool,
) -> LearningAgent:
    """Q(s, a) += alpha delta; then the rate, if the step is evidence for it."""
    values, rate, params = agent.values, agent.rate, agent.params
    greedy_before = not explored or action == best(values, state, 0.0)[0]
    step = Step(
        state=state,
        action=action,
        reward=reward,
        duration=duration,
        ahead=best(values, next_state, 0.0)[1],
    )
    rho = _value(rate)
    delta, method = td_error(agent.method, values, rho, step)
    values = move(values, state, action, params.step_size * delta)
    accepted = accepts(params, values, state, action, greedy_before, explored)
    if accepted or takes_all(method):
        rate = _update(rate, evidence(method, values, rho, step, delta), duration)
    return LearningAgent(
        values=values,
        rate=rate,
        method=method,
        exploration=next_exploration(agent.exploration, params),
        accepted=accepted,
        params=params,
    )


@inlined
def accepts(params: Params, values: Values, state: int, action: int, before: bool, explored: bool) -> bool:
    """Whether this step counts as greedy; `before` says whether it was so before the update."""
    if params.greedy == _ACTION:
        return before
    if params.greedy == _DRAW:
        return not explored
    return action == best(values, state, 0.0)[0]


@inlined
def next_exploration(exploration: float, params: Params) -> float:
    """Return epsilon for the next step."""
    return max(params.exploration_floor, exploration * params.exploration_factor)
