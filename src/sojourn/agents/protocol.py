"""What an agent is: values Q(s, a), an estimator of the rate, and how one transition changes them.

An agent is a value with at least the fields `values` (a `Table`, or anything with the rules of
`sojourn.agents.values`), `rate` (an estimator of `sojourn.rates`) and `accepted` (whether the last
step took the greedy action), and two rules,

    draw(agent, state, rng) -> (action, explored)
    learn(agent, state, action, reward, duration, next_state, explored) -> agent

An agent that sometimes stops to think has two more rules, `pauses` and `think`. With rho the estimated
rate, every average-reward agent here learns by

    delta = r - rho tau + max Q(s', .) - Q(s, a);      Q(s, a) += alpha delta

If the action was the greedy one, the agent then shows its rate estimator the evidence: r in
SMART and all agents that differ from it only in the estimator, r + max Q(s', .) - max Q(s, .)
in R-Learning. Any estimator can be used with any agent.

A step may take no time. Its evidence is then carried over to the next step that takes some
(`sojourn.rates.protocol`).

"The greedy one" can be read in several ways, and the option `greedy` of every agent chooses
one: "action", the action taken is the greedy one before the update (the default); "draw", the
action was not drawn to explore; "after", the action is the greedy one after the update;
"every", all steps count. If several actions are equally good, any of them may be drawn, and
each counts as greedy; with the option `ties="lowest"`, only the one with the lowest index.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

import numpy as np

from sojourn.agents.values.protocol import (
    Values,
    best,
    checked_state,
    move,
    read,
    reads_vectors,
    ready_values,
    sizes,
    write_policy,
)
from sojourn.data.numbers import at_least_zero, finite, unmasked, within
from sojourn.rates.protocol import Rate, update, value
from sojourn.rules.arrays import Ints
from sojourn.rules.door import told
from sojourn.rules.kernel import kernel
from sojourn.rules.random import Stream, check_stream
from sojourn.rules.rule import no_rule, rule
from sojourn.rules.values import Value, copied, is_value, validated, with_fields
from sojourn.rules.vectors import Action, State


class Agent(Value, Protocol):
    """What every agent has; code that runs agents uses nothing else."""

    @property
    def values(self) -> Values:
        """Q(s, a)."""

    @property
    def rate(self) -> Rate:
        """The estimator of the rate."""

    @property
    def accepted(self) -> bool:
        """Whether the last step took the greedy action."""


A = TypeVar("A", bound=Agent)


# --- The rules ----------------------------------------------------------------------


def _check_draw(agent: A, state: State, rng: Stream) -> tuple[A, State, Stream]:
    return agent, checked_state(_values_of(agent), "state", state), check_stream(rng)


def _check_learn(
    agent: A,
    state: State,
    action: int,
    reward: float,
    duration: float,
    next_state: State,
    explored: bool = False,
) -> tuple[A, State, int, float, float, State, bool]:
    values = _values_of(agent)
    state, action = checked_state(values, "state", state), within("action", action, sizes(values)[1])
    return (
        copied(agent),
        state,
        action,
        finite("reward", reward),
        at_least_zero("duration", duration),
        checked_state(values, "next_state", next_state),
        bool(explored) or not is_greedy(agent, state, action),
    )


def _values_of(agent: Agent) -> Values:
    if not hasattr(agent, "values"):
        raise TypeError(
            f"{type(agent).__name__} has no field values; an agent needs values, rate and accepted"
        )
    return agent.values


@rule(_check_draw)
def draw(agent: Agent, state: State, rng: Stream) -> tuple[Action, bool]:
    """Return the agent's next action, and whether it was drawn to explore.

    >>> from sojourn.agents.constructors import smart
    >>> from sojourn.rules.random import stream
    >>> agent, rng = smart(num_states=1, num_actions=3, exploration=0.0), stream(0)
    >>> sorted({draw(agent, 0, rng) for _ in range(50)})  # all actions are equally good
    [(0, False), (1, False), (2, False)]
    """
    raise no_rule("draw", agent)


@rule(_check_learn)
def learn(
    agent: A,
    state: State,
    action: Action,
    reward: float,
    duration: float,
    next_state: State,
    explored: bool = False,
) -> A:
    """Return the agent after one transition; the agent passed in stays as it was.

    `explored` says whether the action was drawn to explore; an action that is not greedy always
    counts as exploring.

    >>> from sojourn.agents.constructors import smart
    >>> agent = smart(num_states=2, num_actions=2, step_size=0.5)
    >>> learn(agent, 0, 1, 6.0, 2.0, 1).q
    array([[0., 3.],
           [0., 0.]])
    """
    raise no_rule("learn", agent)


@rule(fallback=True)
def pauses(agent: Agent) -> bool:
    """Whether the agent wants to think before its next action. An agent without this rule never does.

    >>> from sojourn.agents.constructors import smart
    >>> pauses(smart(num_states=1, num_actions=2))
    False
    """
    return False


@rule(fallback=True)
def think(agent: A, state: State) -> A:
    """Return the agent after it has thought in its current state; it may write into its arrays.

    Code that runs agents calls this between two steps if the agent `pauses`. Slow work, such as planning or learning
    from a batch, belongs here and not in `learn`.

    >>> from sojourn.agents.planning.planner import planner
    >>> agent = learn(planner(num_states=1, num_actions=1), 0, 0, 6.0, 2.0, 0)
    >>> pauses(agent), round(float(think(agent, 0).rate.rate), 9)
    (True, 3.0)
    """
    return agent


@rule(compiled=False)
def looks_ahead(agent: Agent) -> bool:
    """Whether `learn` looks at the values of the next state. An agent without this rule does.

    An agent that does not, but counts where each pair led, must always be given the next state's own number.
    """
    return True


@rule(compiled=False)
def learns_inside(agent: Agent) -> bool:
    """Whether `learn` takes the steps inside an action that lasts for several steps. An agent without this rule does not."""
    return False


@rule(compiled=False)
def misfit(agent: Agent) -> str:
    """Return why compiled code, which checks nothing, must not read an agent's own arrays, or an empty text.

    The arrays must fit the agent's values. An agent without arrays of its own needs no such rule.
    """
    return ""


@rule(compiled=False)
def is_greedy(agent: Agent, state: State, action: int) -> bool:
    """Whether an action counts as greedy: no other has a larger value, unless the agent says otherwise."""
    return bool(read(agent.values, state, action) == best(agent.values, state, 0.0)[1])


def act(agent: Agent, state: State, rng: Stream) -> int:
    """Return the agent's next action.

    >>> from sojourn.agents.constructors import smart
    >>> from sojourn.rules.random import stream
    >>> act(smart(num_states=1, num_actions=3, exploration=0.0, ties="lowest"), 0, stream(0))
    0
    """
    return int(draw(agent, state, rng)[0])


def described(agent: Agent) -> str:
    """Return what an agent is called in a sentence: its method and its estimator of the rate.

    >>> from sojourn.agents.constructors import smart
    >>> described(smart(num_states=3, num_actions=2))
    'AverageReward with Cumulative'
    """
    return f"{type(getattr(agent, 'method', agent)).__name__} with {type(agent.rate).__name__}"


# --- Reading an agent ---------------------------------------------------------------


@told
def policy(agent: Agent) -> Ints:
    """Return the greedy action of every state; if several are equally good, the first, whatever `ties` is.

    >>> from sojourn.agents.constructors import smart
    >>> policy(smart(num_states=3, num_actions=2))
    array([0, 0, 0])
    """
    values = ready_values(agent.values)
    if reads_vectors(values):
        raise TypeError(
            f"{type(agent).__name__} has {type(values).__name__}, whose states are vectors and cannot be listed; ask "
            "for the best action of one state with sojourn.agents.act(sojourn.agents.follow(agent), state, rng)"
        )
    actions = np.empty(sizes(values)[0], dtype=np.int64)
    _policy(values, actions)
    return actions


@kernel
def _policy(values: Values, actions: Ints) -> None:
    write_policy(values, actions)


# --- What an agent must have before it may run ----------------------------------------


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
    agent = validated(with_fields(agent, values=ready_values(agent.values)))
    wrong = misfit(agent)  # compiled code does not check bounds
    if wrong:
        num_states, num_actions = sizes(agent.values)
        raise ValueError(
            f"the agent's {wrong}, which does not fit its values of {num_states} states by {num_actions} actions"
        )
    return agent
