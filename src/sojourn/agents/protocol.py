"""Agents: tabular values Q(s, a), a rate estimator, and how one transition changes them.

An agent is a value with at least the fields `q` (array of states by actions), `rate` (an
estimator of `sojourn.rates`) and `accepted` (whether the last step took the greedy
action), and two rules,

    draw(agent, state, rng) -> (action, explored)
    learn(agent, state, action, reward, duration, next_state, explored) -> agent

With rho the estimated rate, every average-reward agent here learns by

    delta = r - rho tau + max Q(s', .) - Q(s, a);      Q(s, a) += alpha delta

and then, if the action was the greedy one, shows its rate estimator the evidence: r for
SMART and all agents that differ from it only in the estimator, r + max Q(s', .) - max Q(s, .)
for R-Learning. Any estimator goes with any agent.

"The greedy one" has three readings, the option `greedy` of every agent: "action", the
action taken is the greedy one before the update (the default); "draw", the draw was not an
exploring one; "after", the action is the greedy one after the update. Ties go to the
lowest index.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from sojourn.rules.compile import inlined, kernel, no_rule, rule
from sojourn.rules.numbers import finite, fraction, positive, probability, within
from sojourn.rules.random import Stream, check_stream
from sojourn.rules.values import checked, copied

A = TypeVar("A")
Table: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.float64]]

READINGS = ("action", "draw", "after")
_ACTION, _DRAW, _AFTER = range(3)


# --- The rules ----------------------------------------------------------------------


def _check_draw(agent: Any, state: Any, rng: Any) -> tuple[Any, int, Stream]:
    return agent, within("state", state, len(agent.q)), check_stream(rng)


def _check_learn(
    agent: Any,
    state: Any,
    action: Any,
    reward: Any,
    duration: Any,
    next_state: Any,
    explored: Any = False,
) -> tuple[Any, int, int, float, float, int, bool]:
    num_states, num_actions = agent.q.shape
    state, action = within("state", state, num_states), within("action", action, num_actions)
    return (
        copied(agent),
        state,
        action,
        finite("reward", reward),
        positive("duration", duration),
        within("next_state", next_state, num_states),
        bool(explored) or action != greedy_action(agent.q, state),
    )


@rule(_check_draw)
def draw(agent: Any, state: int, rng: Stream) -> tuple[int, bool]:
    """Return the agent's next action, and whether it was drawn to explore.

    >>> from sojourn.agents.named import smart
    >>> from sojourn.rules.random import stream
    >>> draw(smart(num_states=1, num_actions=3, exploration=0.0), 0, stream(0))
    (0, False)
    """
    raise no_rule("draw", agent)


@rule(_check_learn)
def learn(
    agent: A,
    state: int,
    action: int,
    reward: float,
    duration: float,
    next_state: int,
    explored: bool = False,
) -> A:
    """Return the agent after one transition; the agent passed in stays as it was.

    `explored` says that the action was drawn to explore; an action that is not the greedy
    one always counts as such.

    >>> from sojourn.agents.named import smart
    >>> agent = smart(num_states=2, num_actions=2, step_size=0.5)
    >>> learn(agent, 0, 1, 6.0, 2.0, 1).q
    array([[0., 3.],
           [0., 0.]])
    """
    raise no_rule("learn", agent)


def act(agent: Any, state: int, rng: Stream) -> int:
    """Return the agent's next action.

    >>> from sojourn.agents.named import smart
    >>> from sojourn.rules.random import stream
    >>> act(smart(num_states=1, num_actions=3, exploration=0.0), 0, stream(0))
    0
    """
    return int(draw(agent, state, rng)[0])


# --- The parts that agents share ----------------------------------------------------


@checked(start=probability, factor=fraction, floor=probability)
class Decay(NamedTuple):
    """Exploration that starts at `start` and is multiplied by `factor` after every step.

    >>> Decay(start=0.2, factor=0.999)
    Decay(start=0.2, factor=0.999, floor=0.0)
    """

    start: float
    factor: float
    floor: float = 0.0


@checked(step_size=fraction, exploration_factor=fraction, exploration_floor=probability)
class Params(NamedTuple):
    """What stays as it is while an agent learns."""

    step_size: float
    exploration_factor: float
    exploration_floor: float
    greedy: int  # index into READINGS


@inlined
def greedy_action(q: Table, state: int) -> int:
    """Return the action with the largest value; of equal ones, the first.

    >>> greedy_action(np.array([[1.0, 3.0, 3.0]]), 0)
    1
    """
    best = 0
    highest = q[state, 0]
    for action in range(1, q.shape[1]):
        if q[state, action] > highest:
            best = action
            highest = q[state, action]
    return best


@inlined
def largest(q: Table, state: int) -> float:
    """Return the largest value of a state.

    >>> float(largest(np.array([[1.0, 3.0, 3.0]]), 0))
    3.0
    """
    best: float = q[state, 0]
    for action in range(1, q.shape[1]):
        if q[state, action] > best:
            best = q[state, action]
    return best


@inlined
def accepts(params: Params, q: Table, state: int, action: int, before: bool, explored: bool) -> bool:
    """Whether this step counts as greedy; `before` says whether it was so before the update."""
    if params.greedy == _ACTION:
        return before
    if params.greedy == _DRAW:
        return not explored
    return action == greedy_action(q, state)


@inlined
def next_exploration(exploration: float, params: Params) -> float:
    """Return epsilon for the next step."""
    return max(params.exploration_floor, exploration * params.exploration_factor)


@inlined
def nth_available(q: Table, state: int, share: float) -> int:
    """Return the action at this share, in [0, 1), of those available in a state.

    An action whose value is -inf is not available there: no rule takes it, nor counts on it.
    """
    count = 0
    for action in range(q.shape[1]):
        if q[state, action] != -np.inf:
            count += 1
    left = int(share * count)
    chosen = 0
    for action in range(q.shape[1]):
        if q[state, action] != -np.inf:
            if left == 0:
                chosen = action
            left -= 1
    return chosen


@inlined
def num_missing(q: Table) -> int:
    """Return how many pairs of state and action there are not: those of value -inf."""
    count = 0
    for state in range(q.shape[0]):
        for action in range(q.shape[1]):
            if q[state, action] == -np.inf:
                count += 1
    return count


@inlined
def has_diverged(q: Table, rate: float, missing: int) -> bool:
    """Whether the rate or a value is no longer finite, where so many were -inf from the beginning."""
    finite = abs(rate) < np.inf and num_missing(q) == missing
    for state in range(q.shape[0]):
        for action in range(q.shape[1]):
            finite = finite and q[state, action] < np.inf
    return not finite


# --- Reading an agent ---------------------------------------------------------------


def policy(agent: Any) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the greedy action of every state.

    >>> from sojourn.agents.named import smart
    >>> policy(smart(num_states=3, num_actions=2))
    array([0, 0, 0])
    """
    actions = np.empty(len(agent.q), dtype=np.int64)
    _policy(agent.q, actions)
    return actions


@kernel
def _policy(q: Table, actions: Any) -> None:
    for state in range(len(actions)):
        actions[state] = greedy_action(q, state)
