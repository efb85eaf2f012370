"""An agent that is held while it learns, one step at a time, from any environment.

`run` keeps an agent inside compiled code from its first step to its last. Where steps come one
by one, the agent is held as arrays of one number each; a kernel learns from one transition,
draws the next action, and writes the new numbers in place. That takes about 1 microsecond, most
of it for the way into compiled code, where the same rules in Python take 20.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sojourn._compile import kernel, put, take
from sojourn._values import canonical, copied, stacked
from sojourn.agents.rules import draw, learn
from sojourn.random import Stream
from sojourn.rates import value
from sojourn.simulate import Column, ready_agent

_draw, _learn = draw.bare, learn.bare

_ACTION, _EXPLORED, _REWARD, _CLOCK, _GREEDY_REWARD, _GREEDY_CLOCK, _GREEDY_STEPS, _STEPS = range(8)


class Totals(NamedTuple):
    """What an agent has seen in all: totals, and those of the accepted (greedy) steps."""

    steps: int
    reward: float
    duration: float
    greedy_steps: int
    greedy_reward: float
    greedy_duration: float


class HeldAgent:
    """An agent, its random stream, its next action and its totals."""

    def __init__(self, agent: Any, rng: Stream) -> None:
        self._held = stacked([copied(ready_agent(agent))])
        self._now: Column = np.zeros(8)
        self.rng = rng
        self._run = _advance.prepared(self._held, self._now, 0, 0, 0.0, 0.0, 0, False, 0, rng)
        self.q = self._held.q[0]

    @property
    def agent(self) -> Any:
        """The agent as it is now, a value of its own."""
        return canonical(copied(take(self._held, 0)))

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
            duration=now[_CLOCK],
            greedy_steps=int(now[_GREEDY_STEPS]),
            greedy_reward=now[_GREEDY_REWARD],
            greedy_duration=now[_GREEDY_CLOCK],
        )

    @property
    def now(self) -> Column:
        """All that goes on from step to step beside the agent and its stream: for saving and going on."""
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
        """Learn from one transition and draw the next action, for the state `draw_at`.

        A transition that took no time is not learned from.
        """
        self._run(
            self._held, self._now, state, action, reward, duration, next_state, explored, draw_at, self.rng
        )
        drawn, was_explored = self._now[:2].tolist()
        return int(drawn), bool(was_explored)


@kernel
def _advance(
    held: Any,
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
        agent = _learn(agent, state, action, reward, duration, next_state, explored)
        put(held, 0, agent)
        now[_STEPS] += 1
        now[_REWARD] += reward
        now[_CLOCK] += duration
        if agent.accepted:
            now[_GREEDY_STEPS] += 1
            now[_GREEDY_REWARD] += reward
            now[_GREEDY_CLOCK] += duration
    drawn, was_explored = _draw(agent, draw_at, rng)
    now[_ACTION] = drawn
    now[_EXPLORED] = was_explored
