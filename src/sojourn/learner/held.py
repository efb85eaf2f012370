"""An agent that is held ready for compiled code while it learns, one step at a time.

`run` keeps an agent inside compiled code from its first step to its last. Where steps come one
by one, the agent is held as arrays of one number each; a kernel learns from one transition,
draws the next action, and writes the new numbers in place. That takes about 1 microsecond, most
of it for the way into compiled code; the same rules in Python take 20.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sojourn.agents.protocol import Agent, draw, learn, looks_ahead, pauses, ready_agent, think
from sojourn.agents.values.protocol import entries, sizes
from sojourn.data.numbers import shown
from sojourn.rates.protocol import value
from sojourn.rules.arrays import MOST_COUNTED, Floats
from sojourn.rules.gradual import gradually
from sojourn.rules.kernel import kernel
from sojourn.rules.stacks import put, take
from sojourn.rules.streams import Stream, check_stream
from sojourn.rules.values import Column, Value, canonical, copied, is_value, replaced, stacked
from sojourn.runs.recording import Totals, counted, totals_in, write_totals

V = TypeVar("V", bound=Value)

_draw, _learn, _value = draw.bare, learn.bare, value.bare
_NOTHING = Totals()
_NOWHERE = -1  # the state if there is no transition

# What is kept from step to step, besides the agent and its stream, in one array, as every array costs time on the way
# into compiled code. First come the totals, by their fields; then these; then the visits of all pairs.
_FIRST = len(Totals._fields)
_ACTION, _EXPLORED, _SURPLUS, _SQUARED, _AGE, _LATE_STEPS, _LATE_TIME, _LATE_SURPLUS, _LATE_SQUARED = range(
    _FIRST, _FIRST + 9
)
_SIZE = _FIRST + 9
_NOT_YET = -1.0  # in place of the action: the agent pauses
_DURATION = Totals._fields.index("duration")
LATE = 10  # greedy steps in a row, after which a step shows what the greedy policy does by itself


class Surplus(NamedTuple):
    """What the greedy steps earned beyond the learned rate, r - rho tau, as a sum and a sum of squares."""

    steps: int
    duration: float
    total: float
    squared: float


def check_totals(totals: Totals) -> None:
    """Refuse totals from a file that no training can have."""
    if not np.isfinite(totals).all() or not 0 <= totals.greedy_steps <= totals.steps <= MOST_COUNTED:
        raise ValueError(f"its totals are {shown(totals)}, which is impossible")


class HeldAgent:
    """An agent, its random stream, its next action and its totals."""

    def __init__(
        self, agent: Agent, rng: Stream, totals: Totals = _NOTHING, now: Column | None = None
    ) -> None:
        self.rng = rng
        agent = ready_agent(agent)
        self._sizes = sizes(agent.values)
        self._now: Column = np.zeros(_SIZE + self._sizes[0] * self._sizes[1])
        self._now[:_FIRST] = totals
        if now is not None:
            self._now[_FIRST:] = now
        self.spare = -1  # a row of q that stands for no state; there is none until it is needed
        self._hold(copied(agent))

    @classmethod
    def restored(cls, agent: Agent, stream: Stream, totals: Mapping[str, float], now: ArrayLike) -> HeldAgent:
        """Return a held agent from the contents of a file, or say what is wrong with them."""
        numbers: Column = np.array(now, dtype=np.float64)
        count = _SIZE - _FIRST + math.prod(sizes(agent.values))
        if numbers.shape != (count,) or not np.isfinite(numbers).all():
            raise ValueError("its totals are not numbers")
        seen = canonical(replaced(_NOTHING, **totals))
        if set(totals) != set(Totals._fields) or list(map(type, seen)) != list(map(type, _NOTHING)):
            raise ValueError("its totals are not numbers")
        check_totals(seen)
        q = entries(agent.values)
        if np.isnan(q).any() or (q == np.inf).any():
            raise ValueError(
                "its values are not finite, so it has diverged; train it again with smaller step sizes"
            )
        if not ((numbers[_SIZE - _FIRST :] >= 0.0) & (numbers[_SIZE - _FIRST :] <= MOST_COUNTED)).all():
            raise ValueError("its visits are not counts")
        return cls(agent, check_stream(stream).copy(), seen, numbers)

    def _hold(self, agent: Agent) -> None:
        self._held = stacked([agent])
        # Nothing is compiled before the first step, as reading a saved agent needs no compiler.
        self._run: Callable[..., None] = self._begin
        self._ponder: Callable[[Agent, int], Agent] = self._begin_to_think
        self.q: Floats = entries(self._held.values)[0]
        self.looks_ahead = looks_ahead(agent)

    def _begin(self, *arguments: Any) -> None:
        """Take a step, and decide how further steps are taken."""
        like = (self._held, self._now, 0, 0, 0.0, 0.0, 0, False, 0, self.rng)
        self._run = gradually(_advance, like, use=functools.partial(setattr, self, "_run"))
        self._run(*arguments)

    def _begin_to_think(self, agent: Agent, state: int) -> Agent:
        """Think, and decide how that is done from now on."""
        use = functools.partial(setattr, self, "_ponder")
        self._ponder = gradually(_think, (agent, state), use, cost=4.0)
        return self._ponder(agent, state)

    def make_spare(self) -> None:
        """Add a row to q, and to everything else that has a row for each state.

        In this row a state can be shown to the agent with values other than its own.
        """
        agent = self.agent
        self.spare = sizes(agent.values)[0]
        self._hold(
            _with_rows(agent, self.spare, lambda array: np.concatenate([array, np.zeros_like(array[:1])]))
        )

    @property
    def agent(self) -> Agent:
        """A copy of the agent as it is now."""
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
        return canonical(totals_in(self._now))

    @property
    def clock(self) -> Floats:
        """The total duration so far: an array of one number, which changes with every step."""
        return self._now[_DURATION : _DURATION + 1]

    @property
    def surplus(self) -> Surplus:
        """What the greedy steps earned beyond the learned rate: near 0 on average if the rate is right."""
        totals, (total, squared) = self.totals, self._now[_SURPLUS : _SQUARED + 1].tolist()
        return Surplus(totals.greedy_steps, totals.greedy_duration, total, squared)

    @property
    def late_surplus(self) -> Surplus:
        """The same for greedy steps that came after many others: near 0 if the policy earns the learned rate by itself."""
        steps, duration, total, squared = self._now[_LATE_STEPS:_SIZE].tolist()
        return Surplus(int(steps), duration, total, squared)

    @property
    def visits(self) -> Floats:
        """How often each pair of state and action was taken: states by actions."""
        return self._now[_SIZE:].reshape(self._sizes)

    @property
    def now(self) -> Column:
        """What is kept from step to step besides the agent, its stream and the totals, for a file."""
        return self._now[_FIRST:]

    def draw(self, state: int) -> tuple[int, bool]:
        """Draw the action for a state."""
        return self.advance(_NOWHERE, 0, 0.0, 0.0, 0, False, state)

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
        """Learn from one transition, unless its state is -1; draw the action for `draw_at`, unless that is -1."""
        self._run(
            self._held,
            self._now,
            state,
            action,
            reward,
            duration,
            next_state,
            explored,
            draw_at,
            self.rng,
        )
        drawn, was_explored = self._now[_ACTION : _EXPLORED + 1].tolist()
        if drawn == _NOT_YET:
            self._think(next_state if state >= 0 else draw_at)  # where it is before any reset, as in `run`
            return self.draw(draw_at) if draw_at >= 0 else (0, False)
        return int(drawn), bool(was_explored)

    def _think(self, state: int) -> None:
        """Let the agent think; if it then needs more room, hold it in new arrays."""
        agent = take(self._held, 0)
        thought = canonical(self._ponder(agent, state))
        if [array.shape for array in _arrays(thought)] == [
            array.shape for array in _arrays(take(self._held, 0))
        ]:
            put(self._held, 0, thought)
        else:  # the values stay where they are, as other objects look at them there
            values = self._held.values
            self._hold(thought)
            self._held = replaced(self._held, values=values)
            self.q = entries(values)[0]


@kernel
def _advance(  # the ten arguments go into machine code as they are; to gather them would cost as much as a step
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
    if state >= 0:
        surplus = reward - _value(agent.rate) * duration
        agent = _learn(agent, state, action, reward, duration, next_state, explored)
        put(held, 0, agent)
        write_totals(now, counted(totals_in(now), reward, duration, agent.accepted))
        now[_SIZE + state * sizes(agent.values)[1] + action] += 1.0
        if agent.accepted:
            now[_SURPLUS] += surplus
            now[_SQUARED] += surplus * surplus
        if explored or not agent.accepted:
            now[_AGE] = 0.0
        else:
            now[_AGE] += 1.0
            if now[_AGE] > LATE:
                now[_LATE_STEPS] += 1.0
                now[_LATE_TIME] += duration
                now[_LATE_SURPLUS] += surplus
                now[_LATE_SQUARED] += surplus * surplus
    if pauses(agent):
        now[_ACTION] = _NOT_YET
    elif draw_at >= 0:
        drawn, was_explored = _draw(agent, draw_at, rng)
        now[_ACTION] = drawn
        now[_EXPLORED] = was_explored


@kernel
def _think(agent: Agent, state: int) -> Agent:
    return think(agent, state)


def _arrays(value: Value) -> Iterator[NDArray[np.generic]]:
    """Yield all arrays of a value."""
    for field in value:
        if is_value(field):
            yield from _arrays(field)
        elif isinstance(field, np.ndarray):
            yield field


def _with_rows(value: V, rows: int, change: Callable[[NDArray[np.generic]], NDArray[np.generic]]) -> V:
    """Return a value in which every array with this many rows is changed."""
    fields = value._asdict()
    for name, field in fields.items():
        if is_value(field):
            fields[name] = _with_rows(field, rows, change)
        elif isinstance(field, np.ndarray) and field.shape[:1] == (rows,):
            fields[name] = change(field)
    return replaced(value, **fields)
