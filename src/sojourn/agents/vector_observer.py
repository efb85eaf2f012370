"""Lets agents whose states are vectors, such as those with tiles, learn from observations in a `Learner`.

The state of such an agent is an observation, followed by a 1 or 0 for each action. If there are several environments,
it takes them one after the other.
"""

from __future__ import annotations

import numpy as np

from sojourn.agents.acting import Actor, actor
from sojourn.agents.networks.base import CompiledAgent, as_saved, written_over
from sojourn.agents.networks.protocol import Actions, Masks, Memory, Spaces, Transitions, checked_spaces
from sojourn.agents.protocol import Agent, draw, learn, ready_agent
from sojourn.agents.values.protocol import best, reads_vectors, sizes
from sojourn.rates.protocol import Rate, stumbling
from sojourn.rules.arrays import Flags, Floats, Ints
from sojourn.rules.borrowed import borrowed
from sojourn.rules.bridge import inlined
from sojourn.rules.kernel import kernel
from sojourn.rules.random import Stream, check_stream, streams
from sojourn.rules.values import canonical, copied, put, replaced, stacked, take
from sojourn.rules.vectors import State, Vector, state_in

_draw, _learn = draw.bare, learn.bare


class VectorObserver(CompiledAgent):
    """An agent whose states are vectors, with the methods of an agent of observations.

    `kind` and `options` say how it was made, if it is one of Sojourn's.

    >>> from sojourn.agents.constructors import tile_q
    >>> agent = VectorObserver(tile_q(1, 2, bounds=([0.0], [1.0])), Spaces(1, 2), compiled=False)
    >>> agent.greedy(np.zeros((1, 1)), np.array([[0, 1]], dtype=np.int8))
    array([1])
    """

    def __init__(
        self,
        agent: Agent,
        spaces: Spaces,
        kind: str = "",
        options: Memory | None = None,
        compiled: bool = True,
    ) -> None:
        spaces = checked_spaces(spaces, kind or type(agent).__name__, continuous=False)
        super().__init__(kind, spaces, options or {}, compiled)
        agent = ready_agent(agent)
        wanted = (spaces.num_inputs, spaces.num_actions)
        if not reads_vectors(agent.values) or sizes(agent.values) != wanted:
            raise ValueError(
                f"the agent's values are {type(agent.values).__name__} of the shape {sizes(agent.values)}; the environment "
                f"has observations of {wanted[0]} numbers and {wanted[1]} actions"
            )
        self._rng = streams(spaces.seed, 2)[1]
        self._memory = stacked([copied(agent)])
        self._like: Vector = (0.0,) * (spaces.num_inputs + spaces.num_actions)

    @property
    def agent(self) -> Agent:
        """A copy of the agent as it is now."""
        agent: Agent = canonical(copied(take(self._memory, 0)))
        return agent

    @property
    def estimator(self) -> Rate:
        """The estimator of the rate as it is now."""
        estimator: Rate = canonical(take(self._memory.rate, 0))
        return estimator

    def actor(self) -> Actor:
        """Return what acts by the agent's values, for a policy file."""
        return actor(self.agent.values)

    def learn(self, transitions: Transitions) -> None:
        """Learn from these transitions, one after the other."""
        seen = transitions._replace(
            observations=np.ascontiguousarray(transitions.observations),
            next_observations=np.ascontiguousarray(transitions.next_observations),
        )
        self._run(_learn_all, self._memory, self._like, seen)

    def state(self) -> Memory:
        """Return all arrays by name, and the stream of random numbers."""
        return super().state() | {"stream": self._rng.copy()}

    def restored(self, state: Memory) -> None:
        """Take over the arrays of an agent that was made with the same options."""
        stream = check_stream(state["stream"]).copy()
        agent = replaced(self.agent, rate=as_saved(self.estimator, "rate", state))
        self._memory = stacked([agent])
        written_over(self._memory, {name: array for name, array in state.items() if name != "stream"})
        agent = ready_agent(self.agent)
        wrong = stumbling(agent.rate)
        if wrong:
            raise ValueError(wrong)
        self._memory, self._rng = stacked([agent]), stream

    def _choose(self, seen: Floats, mask: Masks, actions: Actions, explored: Flags) -> None:
        self._run(_choose_all, self._memory, self._like, seen, mask, self._rng, actions, explored)


@inlined
def _state(numbers: Floats, mask: Masks, row: int, like: State) -> State:
    """Return a row as a state: the observation, and which actions are allowed."""
    together = np.empty(len(like))
    for i in range(numbers.shape[1]):
        together[i] = numbers[row, i]
    for action in range(mask.shape[1]):
        together[numbers.shape[1] + action] = mask[row, action]
    return state_in(together, 0, like)


@kernel
def _choose_all(  # the seven arguments are passed to machine code as they are
    held: Agent,
    like: State,
    observations: Floats,
    allowed: Masks,
    rng: Stream,
    actions: Ints,
    explored: Flags,
) -> None:
    agent = borrowed(take(held, 0))
    for i in range(len(actions)):
        state = _state(observations, allowed, i, like)
        if explored[i]:
            action, was_explored = _draw(agent, state, rng)
            actions[i] = action
            explored[i] = was_explored
        else:
            actions[i] = best(agent.values, state, 0.0)[0]


@kernel
def _learn_all(held: Agent, like: State, steps: Transitions) -> None:
    for i in range(len(steps.rewards)):
        agent = _learn(
            borrowed(take(held, 0)),
            _state(steps.observations, steps.allowed, i, like),
            steps.actions[i],
            steps.rewards[i],
            steps.durations[i],
            _state(steps.next_observations, steps.next_allowed, i, like),
            steps.explored[i],
        )
        put(held, 0, agent)
