"""An agent that is held ready for compiled code while it learns, one step at a time.

`run` keeps an agent inside compiled code from its first step to its last. Where steps come one
by one, the agent is held as arrays of one number each; a kernel learns from one transition,
draws the next action, and writes the new numbers in place. That takes about 1 microsecond, most
of it for the way into compiled code, where the same rules in Python take 20.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sojourn.agents.checks import ready_agent
from sojourn.agents.protocol import Agent, draw, learn
from sojourn.agents.values.protocol import entries, sizes
from sojourn.rates.protocol import value
from sojourn.rules.arrays import Floats
from sojourn.rules.compile import kernel, put, take
from sojourn.rules.random import Stream, check_stream
from sojourn.rules.values import Column, Value, canonical, copied, is_value, replaced, stacked

V = TypeVar("V", bound=Value)

_draw, _learn, _value = draw.bare, learn.bare, value.bare

# What is kept from step to step, beside the agent and its stream.
_ACTION, _EXPLORED, _REWARD, CLOCK, _GREEDY_REWARD, _GREEDY_CLOCK, _GREEDY_STEPS, _STEPS = range(8)
_SURPLUS, _SURPLUS_SQUARED = 8, 9
SIZE = 10


class Totals(NamedTuple):
    """What an agent has seen in all: totals, and those of the accepted (greedy) steps."""

    steps: int
    reward: float
    duration: float
    greedy_steps: int
    greedy_reward: float
    greedy_duration: float


class Surplus(NamedTuple):
    """What the greedy steps earned beyond the learned rate, r - rho tau: sum, and sum of squares."""

    steps: int
    total: float
    squared: float


class HeldAgent:
    """An agent, its random stream, its next action and its totals."""

    def __init__(self, agent: Agent, rng: Stream, now: Column | None = None) -> None:
        self.rng = rng
        self._now: Column = np.zeros(SIZE) if now is None else now
        self.spare = -1  # a row of q that stands for no state; there is none until it is needed
        self._hold(copied(ready_agent(agent)))

    @classmethod
    def restored(cls, agent: Agent, stream: Stream, now: ArrayLike) -> HeldAgent:
        """Return a held agent from the contents of a file, or say what is wrong with them."""
        numbers: Column = np.array(now, dtype=np.float64)
        if numbers.shape != (SIZE,) or not np.isfinite(numbers).all():
            raise ValueError("its totals are not numbers")
        return cls(agent, check_stream(stream).copy(), numbers)

    def _hold(self, agent: Agent) -> None:
        self._held = stacked([agent])
        self._run = _advance.prepared(self._held, self._now, 0, 0, 0.0, 0.0, 0, False, 0, self.rng)
        self.q: Floats = entries(self._held.values)[0]

    def make_spare(self) -> None:
        """Give q, and whatever else has a row for each state, one row more.

        In it a state can be shown to the agent with other values than its own.
        """
        agent = self.agent
        self.spare = sizes(agent.values)[0]
        self._hold(
            _with_rows(agent, self.spare, lambda array: np.concatenate([array, np.zeros_like(array[:1])]))
        )

    @property
    def agent(self) -> Agent:
        """The agent as it is now, a value of its own."""
        agent: Agent = canonical(copied(take(self._held, 0)))
        if self.spare >= 0:
            agent = _with_rows(agent, self.spare + 1, lambda array: array[:-1].copy())
        return agent

    @property
    def rate(self) -> float:
        """The estimated rate."""
        return float(value(take(self._held, 0).rate))

    @property
    def totals(self) -> Totals:
        """What has been seen so far."""
        now = self._now.tolist()
        return Totals(
            steps=int(now[_STEPS]),
            reward=now[_REWARD],
            duration=now[CLOCK],
            greedy_steps=int(now[_GREEDY_STEPS]),
            greedy_reward=now[_GREEDY_REWARD],
            greedy_duration=now[_GREEDY_CLOCK],
        )

    @property
    def surplus(self) -> Surplus:
        """What the greedy steps earned beyond the learned rate: near 0 in the mean if the rate is right."""
        now = self._now.tolist()
        return Surplus(int(now[_GREEDY_STEPS]), now[_SURPLUS], now[_SURPLUS_SQUARED])

    @property
    def now(self) -> Column:
        """What is kept from step to step beside the agent and its stream, for a file."""
        return self._now

    def draw(self, state: int) -> tuple[int, bool]:
        """Draw the action for a state."""
        return self.advance(0, 0, 0.0, 0.0, 0, False, state)

    def advance(
        self,
        state: int,
        action: int,
        reward: float,
        duration: float,
        next_state: int,
        explored: bool,
        draw_at: int,
    ) -> tuple[int, bool]:
        """Learn from one transition and draw the next action, for the state `draw_at`, if that is not -1.

        A transition that took no time is not learned from.
        """
        self._run(
            self._held, self._now, state, action, reward, duration, next_state, explored, draw_at, self.rng
        )
        drawn, was_explored = self._now[:2].tolist()
        return int(drawn), bool(was_explored)


@kernel
def _advance(  # ten arguments, for they go into machine code as they are: to gather them would cost a step's time
    held: Agent,
    now: Column,
    state: int,
    action: int,
    reward: float,
    duration: float,
    next_state: int,
    explored: bool,
    draw_at: int,
    rng: Stream,
) -> None:
    agent = take(held, 0)
    if duration > 0.0:
        surplus = reward - _value(agent.rate) * duration
        agent = _learn(agent, state, action, reward, duration, next_state, explored)
        put(held, 0, agent)
        now[_STEPS] += 1
        now[_REWARD] += reward
        now[CLOCK] += duration
        if agent.accepted:
            now[_GREEDY_STEPS] += 1
            now[_GREEDY_REWARD] += reward
            now[_GREEDY_CLOCK] += duration
            now[_SURPLUS] += surplus
            now[_SURPLUS_SQUARED] += surplus * surplus
    if draw_at >= 0:
        drawn, was_explored = _draw(agent, draw_at, rng)
        now[_ACTION] = drawn
        now[_EXPLORED] = was_explored


def _with_rows(value: V, rows: int, change: Callable[[NDArray[np.generic]], NDArray[np.generic]]) -> V:
    """Return a value with its arrays changed, those of so many rows."""
    fields = value._asdict()
    for name, field in fields.items():
        if is_value(field):
            fields[name] = _with_rows(field, rows, change)
        elif isinstance(field, np.ndarray) and field.shape[:1] == (rows,):
            fields[name] = change(field)
    return replaced(value, **fields)
