"""An agent with a table of values, ready for compiled code while it learns one step at a time.

`run` keeps an agent inside compiled code from its first step to its last. Where steps come one by one, the agent is
stored as arrays of one number each; a kernel learns from one transition, draws the next action, and updates the
numbers in place. That takes about 1 microsecond, most of it call overhead; the same rules in Python take 20.

To the rules, an unavailable action is one whose value is -inf. So masks are respected when acting, in the greedy
maximum and when looking ahead, without any further rules: `HiddenActions` writes -inf into the table, and keeps the
action's former value until it is allowed again. If a mask changes while the state stays the same, the agent gets a
spare row in its tables.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias, TypedDict, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sojourn.agents.protocol import Agent, draw, learn, learns_inside, looks_ahead, pauses, ready_agent, think
from sojourn.agents.values.protocol import Table, entries, maskable, read, sizes
from sojourn.data.numbers import shown, within
from sojourn.deploy.interface import Mask, checked_mask
from sojourn.rates.protocol import value
from sojourn.rules.arrays import MOST_COUNTED, Floats, Ints
from sojourn.rules.kernel import gradually, kernel
from sojourn.rules.random import Stream, check_stream
from sojourn.rules.values import (
    Column,
    Value,
    arrays_in,
    canonical,
    copied,
    put,
    stacked,
    take,
    with_arrays,
    with_fields,
)
from sojourn.runs.recording import Totals, counted, totals_in, write_totals

V = TypeVar("V", bound=Value)
Worth: TypeAlias = Callable[[int], Floats]

_draw, _learn, _value = draw.bare, learn.bare, value.bare
_NOTHING = Totals()
_NOWHERE = -1  # in place of the state: there is no transition

# The state between steps, apart from the agent and its stream, in a single array, since every array argument adds
# call overhead. The totals come first, by their fields; then these; then the visits of all pairs.
_FIRST = len(Totals._fields)
_ACTION, _EXPLORED, _SURPLUS, _SQUARED, _AGE, _LATE_STEPS, _LATE_TIME, _LATE_SURPLUS, _LATE_SQUARED = range(
    _FIRST, _FIRST + 9
)
_SIZE = _FIRST + 9
_NOT_YET = -1.0  # in place of the action: the agent pauses to think
_DURATION = Totals._fields.index("duration")
LATE = 10  # after this many greedy steps in a row, a step shows what the greedy policy does by itself


class Surplus(NamedTuple):
    """What greedy steps earned in excess of the learned rate, r - rho tau, as a sum and a sum of squares."""

    steps: int
    duration: float
    total: float
    squared: float


def check_totals(totals: Totals) -> None:
    """Refuse impossible totals from a file."""
    if not np.isfinite(totals).all() or not 0 <= totals.greedy_steps <= totals.steps <= MOST_COUNTED:
        raise ValueError(f"its totals are {shown(totals)}, which is impossible")


class TableAgent:
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
        self.spare = -1  # the index of a spare row of q; created on demand
        self._store(copied(agent))

    @classmethod
    def restored(
        cls, agent: Agent, stream: Stream, totals: Mapping[str, float], now: ArrayLike
    ) -> TableAgent:
        """Restore an agent from a file's contents, or raise an error that says what is wrong with them."""
        numbers: Column = np.array(now, dtype=np.float64)
        count = _SIZE - _FIRST + math.prod(sizes(agent.values))
        if numbers.shape != (count,) or not np.isfinite(numbers).all():
            raise ValueError("its totals are not numbers")
        seen = canonical(with_fields(_NOTHING, **totals))
        if set(totals) != set(Totals._fields) or list(map(type, seen)) != list(map(type, _NOTHING)):
            raise ValueError("its totals are not numbers")
        check_totals(seen)
        q = entries(agent.values)
        if np.isnan(q).any() or (q == np.inf).any() or not math.isfinite(value(agent.rate)):
            raise ValueError(
                "its values or its rate are not finite, so it has diverged; train it again with smaller step sizes"
            )
        if not ((numbers[_SIZE - _FIRST :] >= 0.0) & (numbers[_SIZE - _FIRST :] <= MOST_COUNTED)).all():
            raise ValueError("its visits are not counts")
        return cls(agent, check_stream(stream).copy(), seen, numbers)

    def _store(self, agent: Agent) -> None:
        self._stack = stacked([agent])
        # Nothing is compiled before the first step: inspecting a saved agent needs no compiler.
        self._run: Callable[..., None] = self._begin
        self._ponder: Callable[[Agent, int], Agent] = self._begin_to_think
        self.q: Floats = maskable(self._stack.values)[0]  # where masks write
        self.looks_ahead, self.learns_inside = looks_ahead(agent), learns_inside(agent)

    def _begin(self, *arguments: Any) -> None:
        """Take a step, and decide between interpreted and compiled further steps."""
        like = (self._stack, self._now, 0, 0, 0.0, 0.0, 0, False, 0, self.rng)
        self._run = gradually(_advance, like, use=functools.partial(setattr, self, "_run"))
        self._run(*arguments)

    def _begin_to_think(self, agent: Agent, state: int) -> Agent:
        """Think, and decide between interpreted and compiled thinking from now on."""
        use = functools.partial(setattr, self, "_ponder")
        self._ponder = gradually(_think, (agent, state), use, cost=4.0)
        return self._ponder(agent, state)

    def make_spare(self) -> None:
        """Add a row to q and to all other arrays with a row per state.

        In this row the agent can see a state with other values.
        """
        agent = self.agent
        self.spare = sizes(agent.values)[0]
        self._store(
            _with_rows(agent, self.spare, lambda array: np.concatenate([array, np.zeros_like(array[:1])]))
        )

    @property
    def agent(self) -> Agent:
        """A copy of the current agent."""
        agent: Agent = canonical(copied(take(self._stack, 0)))
        if self.spare >= 0:
            agent = _with_rows(agent, self.spare + 1, lambda array: array[:-1].copy())
        return agent

    @property
    def values(self) -> Floats:
        """The values of states by actions as they are now; -inf where an action is hidden."""
        return entries(take(self._stack, 0).values)

    @property
    def worth(self) -> Worth | None:
        """The function that reads the values of a state, if they are not simply where masks write."""
        return None if isinstance(self._stack.values, Table) else self._read

    def _read(self, state: int) -> Floats:
        values = take(self._stack, 0).values
        return np.array([read(values, state, action) for action in range(self._sizes[1])])

    @property
    def rate(self) -> float:
        """The estimated rate."""
        return float(value(take(self._stack, 0).rate))

    @property
    def totals(self) -> Totals:
        """The totals so far."""
        return canonical(totals_in(self._now))

    @property
    def clock(self) -> Floats:
        """The total duration so far: an array of one number, updated in every step."""
        return self._now[_DURATION : _DURATION + 1]

    @property
    def surplus(self) -> Surplus:
        """What greedy steps earned in excess of the learned rate: near 0 on average if the rate is right."""
        totals, (total, squared) = self.totals, self._now[_SURPLUS : _SQUARED + 1].tolist()
        return Surplus(totals.greedy_steps, totals.greedy_duration, total, squared)

    @property
    def late_surplus(self) -> Surplus:
        """The same for greedy steps after many others: near 0 if the policy earns the learned rate by itself."""
        steps, duration, total, squared = self._now[_LATE_STEPS:_SIZE].tolist()
        return Surplus(int(steps), duration, total, squared)

    @property
    def visits(self) -> Floats:
        """How often each pair of state and action was taken: states by actions."""
        return self._now[_SIZE:].reshape(self._sizes)

    @property
    def now(self) -> Column:
        """The state between steps apart from the agent, its stream and the totals, for a file."""
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
            self._stack, self._now, state, action, reward, duration, next_state, explored, draw_at, self.rng
        )
        drawn, was_explored = self._now[_ACTION : _EXPLORED + 1].tolist()
        if drawn == _NOT_YET:
            self._think(next_state if state >= 0 else draw_at)  # its state before any reset, as in `run`
            return self.draw(draw_at) if draw_at >= 0 else (0, False)
        return int(drawn), bool(was_explored)

    def _think(self, state: int) -> None:
        """Let the agent think; if it then needs larger arrays, reallocate them."""
        agent = take(self._stack, 0)
        thought = canonical(self._ponder(agent, state))
        before, after = ([array.shape for _, array in arrays_in(one)] for one in (agent, thought))
        if before == after:
            put(self._stack, 0, thought)
        else:  # the values keep their memory, since other objects hold views of it
            values = self._stack.values
            self._store(thought)
            self._stack = with_fields(self._stack, values=values)
            self.q = maskable(values)[0]


@kernel
def _advance(  # ten separate arguments; bundling them would cost as much as a step
    stack: Agent,
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
    agent = take(stack, 0)
    if state >= 0:
        surplus = reward - _value(agent.rate) * duration
        agent = _learn(agent, state, action, reward, duration, next_state, explored)
        put(stack, 0, agent)
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


def _with_rows(value: V, rows: int, change: Callable[[NDArray[np.generic]], NDArray[np.generic]]) -> V:
    """Return a value with every array of this many rows changed."""
    return with_arrays(value, lambda array: change(array) if array.shape[:1] == (rows,) else array)


class HiddenValues(TypedDict):
    """The values of hidden actions as arrays: pairs of state and action, and their values."""

    places: Ints
    values: Floats


class HiddenActions:
    """Hides actions in an agent's table, and stores their values.

    >>> q = np.array([[1.0, 2.0]])
    >>> hidden = HiddenActions(q, 'info["action_mask"]')
    >>> hidden.apply(0, [1, 0])
    >>> q, hidden.values(0)
    (array([[  1., -inf]]), array([1., 2.]))
    >>> hidden.apply(0, [1, 1])
    >>> q
    array([[1., 2.]])
    """

    def __init__(self, q: Floats, name: str, worth: Worth | None = None) -> None:
        """Take the array where masks write; `worth` reads the values of a state if they are not in that array."""
        self.q, self.name, self._worth = q, name, worth
        self._values: dict[tuple[int, int], float] = {}
        self._masks: dict[int, ArrayLike] = {}  # the last mask of each state, which rarely changes
        self._never = int((q == -np.inf).sum())

    def is_known(self, state: int, mask: ArrayLike) -> bool:
        """Whether this mask already applies in a state."""
        last = self._masks.get(state)
        return last is not None and np.array_equal(last, mask)

    def apply(self, state: int, mask: ArrayLike) -> None:
        """Make exactly the actions that the mask allows available in a state."""
        if self.is_known(state, mask):
            return
        allowed = self.checked(mask)
        for action in range(len(allowed)):
            if allowed[action]:
                if (state, action) in self._values:
                    self.q[state, action] = self._values.pop((state, action))
            elif (state, action) not in self._values:
                self._values[state, action] = float(self.q[state, action])
                self.q[state, action] = -np.inf
        self._masks[state] = np.array(mask)

    def lifted(self, state: int) -> Mask | None:
        """Return the mask of a state without one: None, or a mask of all actions if the last one hid some."""
        num_actions = self.q.shape[1]
        if self._values and any((state, action) in self._values for action in range(num_actions)):
            return np.ones(num_actions, dtype=np.bool_)
        return None

    def checked(self, mask: ArrayLike) -> Mask:
        """Return a mask as an array of bools, or raise an error that says what is wrong with it."""
        return checked_mask(mask, self.q.shape[1], self.name)

    def values(self, state: int) -> Floats:
        """Return the values of a state, including those of hidden actions."""
        row: Floats = self.q[state].copy()
        for action in range(len(row)):
            row[action] = self._values.get((state, action), row[action])
        if self._worth is not None:
            seen, self.q[state] = self.q[state].copy(), row
            row = self._worth(state)
            self.q[state] = seen
        return row

    def seen_through(self, state: int, mask: ArrayLike) -> Floats:
        """Return the values of a state under a mask, with -inf for disallowed actions; the table is not modified."""
        return np.where(self.checked(mask), self.values(state), -np.inf)

    def is_finite(self) -> bool:
        """Whether all values are finite, except for those of hidden actions."""
        return int((~np.isfinite(self.q)).sum()) == len(self._values) + self._never

    def to_dict(self) -> HiddenValues:
        """Return the hidden values as arrays."""
        places = np.array(list(self._values), dtype=np.int64).reshape(-1, 2)
        return {"places": places, "values": np.array(list(self._values.values()), dtype=np.float64)}

    @classmethod
    def restored(cls, q: Floats, name: str, data: HiddenValues, worth: Worth | None = None) -> HiddenActions:
        """Restore the hidden actions of a table that already contains -inf for them."""
        hidden = cls(q, name, worth)
        num_states, num_actions = q.shape
        places, values = data["places"], data["values"]
        if places.shape != (len(values), 2) or values.shape != (len(places),):
            raise ValueError(f"{len(places)} places of hidden values do not fit {len(values)} values")
        if len(set(map(tuple, places.tolist()))) != len(places):
            raise ValueError("two hidden values have the same place")
        for (state, action), former in zip(places.tolist(), values.tolist(), strict=True):
            place = within("state", state, num_states), within("action", action, num_actions)
            if q[place] != -np.inf:
                raise ValueError(
                    f"action {action} of state {state} is listed as hidden, but the table has a value for it"
                )
            hidden._values[place] = former
        hidden._never -= len(hidden._values)
        return hidden
