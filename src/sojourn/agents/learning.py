"""The agent that learns: values, an estimator of the rate, a method, and one body of `learn` for all methods.

Each thing in which agents differ is a value with rules of its own: `methods` has the methods, `exploration` has
exploration and ties, and `step_sizes` the step sizes of the values. An agent that does without one of them is compiled as if there were no such choice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sojourn.agents.exploration import Exploration, Ties, chance, epsilon_greedy, is_best, later, share_of
from sojourn.agents.methods import Method, Step, ahead_of, elapsed, evidence, misplaced, takes_all, td_error
from sojourn.agents.protocol import draw, is_greedy, learn, misfit
from sojourn.agents.step_sizes import StepSize, sized
from sojourn.agents.values.protocol import (
    Table,
    Values,
    entries,
    move,
    reads_vectors,
    ready_values,
    sizes,
)
from sojourn.data.numbers import Number, finite, shown, within
from sojourn.rates.centred import levelled, own_value, timed
from sojourn.rates.protocol import Rate, carry, value
from sojourn.rules.arrays import Floats, misread
from sojourn.rules.bridge import Function, inlined
from sojourn.rules.random import Stream
from sojourn.rules.rule import Rule
from sojourn.rules.values import Value, checked, is_value, named_fields
from sojourn.rules.vectors import State

# --- Learning from one step ------------------------------------------------------------

_value = value.bare

READINGS = ("action", "draw", "after", "every")
_ACTION, _DRAW, _AFTER, _EVERY = range(len(READINGS))


def _reading(name: str, number: Number) -> int:
    return within(name, number, len(READINGS))


def _ruled(rule: Rule[Function], what: str) -> Callable[[str, Value], Value]:
    """Return a check that a part of an agent has the rule that will be called."""

    def check(name: str, part: Value) -> Value:
        if not rule.knows(type(part)):
            raise TypeError(f"{name} is {shown(part)}; it must be {what}, with {rule.name} registered for it")
        return part

    return check


@checked(
    method=_ruled(td_error, "a method"),
    step_size=_ruled(sized, "a step size"),
    exploration=_ruled(chance, "an exploration"),
    ties=_ruled(share_of, "a way to break ties"),
    greedy=_reading,
    carried=finite,
)
class LearningAgent(NamedTuple):
    """An agent that learns values by a method, with any estimator of the rate.

    >>> from sojourn.agents.constructors import smart
    >>> smart(num_states=1, num_actions=2).q
    array([[0., 0.]])
    """

    values: Values
    rate: Rate
    method: Method
    step_size: StepSize
    exploration: Exploration
    ties: Ties
    greedy: int  # index into READINGS
    carried: float  # evidence for the rate from steps that took no time
    accepted: bool

    @property
    def q(self) -> Floats:
        """The values as an array of states by actions."""
        return entries(self.values)


@misfit.register
def misfit_learning(agent: LearningAgent) -> str:
    """The tables of its method and its step sizes must be as large as its values; tiles must be of the same kind."""
    for part in (agent.method, agent.step_size, *filter(is_value, agent.method)):
        for name, field in named_fields(part):
            wrong = (
                misread(name, field.q, np.float64, sizes(agent.values)) if isinstance(field, Table) else ""
            )
            if not wrong and reads_vectors.knows(type(field)):
                alike = type(ready_values(field)) is type(agent.values) and sizes(field) == sizes(
                    agent.values
                )
                wrong = "" if alike else f"{name} are tiles of another kind"
            if wrong:
                return wrong
    return misplaced(agent.method, sizes(agent.values))


@is_greedy.register
def is_greedy_learning(agent: LearningAgent, state: State, action: int) -> bool:
    """Whether its way to break ties counts the action as greedy."""
    return is_best(agent.ties, agent.values, state, action)


@draw.register
def draw_learning(agent: LearningAgent, state: State, rng: Stream) -> tuple[int, bool]:
    """Any action with probability epsilon, otherwise a greedy one."""
    return epsilon_greedy(agent.values, state, chance(agent.exploration), agent.ties, rng)


@learn.register
def learn_from_step(
    agent: LearningAgent,
    state: State,
    action: int,
    reward: float,
    duration: float,
    next_state: State,
    explored: bool,
) -> LearningAgent:
    """Q(s, a) += alpha delta; then the rate, if the step is evidence for it."""
    values, ties, carried = agent.values, agent.ties, agent.carried
    greedy_before = not explored or is_best(ties, values, state, action)
    ahead = ahead_of(agent.method, values, next_state, chance(agent.exploration))
    step = Step(state=state, action=action, reward=reward, duration=duration, ahead=ahead)
    passed = elapsed(agent.method, duration)
    rate = timed(agent.rate, passed)
    delta, method = td_error(agent.method, values, _value(rate), step)
    rate = levelled(rate, ahead)
    size, step_size = sized(agent.step_size, state, action)
    values = move(values, state, action, size * delta)
    accepted = accepts(agent.greedy, ties, values, state, action, greedy_before, explored)
    if accepted or takes_all(method):
        earned = evidence(method, values, own_value(rate), step, delta)
        rate, carried = carry(rate, carried, earned, passed)
    return LearningAgent(
        values=values,
        rate=rate,
        method=method,
        step_size=step_size,
        exploration=later(agent.exploration),
        ties=ties,
        greedy=agent.greedy,
        carried=carried,
        accepted=accepted,
    )


@inlined
def accepts(
    greedy: int, ties: Ties, values: Values, state: State, action: int, before: bool, explored: bool
) -> bool:
    """Whether this step counts as greedy; `before` says whether its action was greedy before the update."""
    if greedy == _ACTION:
        return before
    if greedy == _DRAW:
        return not explored
    return greedy == _EVERY or is_best(ties, values, state, action)
