"""A market: at every bar the agent buys or sells, and the action takes part of the bar's interval.

With m = close - open the move of the bar, action 0 buys (x = m) and action 1 sells (x = -m).
An action that takes tau seconds of the interval I = 60 trades at the price that a straight
line from open to close has reached by then, and earns the rest of the move:

    r = x (1 - tau / I)

The duration follows one of three rules, between `shortest` = 5 and `longest` = 45 seconds:

    "random"            tau is uniform, the same for both actions
    "scaled"            tau = shortest + (longest - shortest) (x - lowest) / (highest - lowest)
    "scaled-magnitude"  the same with |x| for x and 0 for `lowest`

where `highest` is the largest |m| of all bars and `lowest` its negative, unless they are
given; beyond them tau stays at its bound. If no bar moves, tau is half-way. The paper says
of its scaled durations that larger rewards take longer: "scaled" takes the sign of a reward
into account, "scaled-magnitude" does not.

The state is the direction of the last `state_size` bars, the latest in the lowest bit, 1 for
up and 0 for down or no move; before the first bar all are 0. It does not depend on the
actions. After the last bar the first one follows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sojourn.data.numbers import finite, positive, unmasked, whole
from sojourn.rules.arrays import Floats, misread, outside, owned
from sojourn.rules.bridge import inlined
from sojourn.rules.door import told
from sojourn.rules.random import Stream, uniform
from sojourn.rules.values import checked, replaced
from sojourn.worlds.protocol import is_unswayed, moving, start, step, unreadable

DURATIONS = ("random", "scaled", "scaled-magnitude")
_RANDOM, _, _MAGNITUDE = range(3)
LARGEST_STATE_SIZE = 20  # a table of a million states
_LARGEST = float(np.finfo(np.float64).max)


@told
def Market(  # noqa: N802 - it is named for the world that it makes; each argument is a number of the study
    open: ArrayLike | None,  # noqa: A002 - the usual name
    close: ArrayLike,
    *,
    state_size: int = 3,
    duration: str = "random",
    interval: float = 60.0,
    shortest: float = 5.0,
    longest: float = 45.0,
    lowest: float | None = None,
    highest: float | None = None,
) -> MarketWorld:
    """Return the world in which an agent buys or sells at every bar of an instrument.

    If `open` is None, each bar opens at the close before it, and the first does not move.
    `lowest` and `highest` bound the scaling of durations; unless they are given, they come
    from the bars.

    >>> world = Market(open=[10.0, 12.0, 11.0], close=[12.0, 11.0, 11.5], state_size=3)
    >>> world.moves, world.num_states
    (array([ 2. , -1. ,  0.5]), 8)
    """
    prices = _prices("close", close)
    opening = np.append(prices[:1], prices[:-1]) if open is None else _prices("open", open)
    if len(opening) != len(prices):
        raise ValueError(
            f"there are {len(opening)} opening and {len(prices)} closing prices; there must be as many of both"
        )
    with np.errstate(over="ignore"):
        moves = prices - opening
    if not np.isfinite(moves).all():
        raise ValueError("a price moves by more than a float can hold")
    if duration not in DURATIONS:
        raise ValueError(f"duration is {duration!r}; it must be one of {', '.join(DURATIONS)}")
    largest = float(np.abs(moves).max())
    lowest = -largest if lowest is None else finite("lowest", lowest)
    highest = largest if highest is None else finite("highest", highest)
    if lowest > highest:
        raise ValueError(f"lowest is {lowest}; it must not be above highest, {highest}")
    shortest, longest = positive("shortest", shortest), positive("longest", longest)
    if not shortest <= longest <= positive("interval", interval):
        raise ValueError(
            f"durations go from {shortest} to {longest} in an interval of {interval}; "
            "shortest must not be above longest, nor longest above the interval"
        )
    if whole("state_size", state_size) > LARGEST_STATE_SIZE:
        raise ValueError(f"state_size is {state_size}; it must be at most {LARGEST_STATE_SIZE}")
    return MarketWorld(
        moves=owned(moves),
        state_size=state_size,
        duration=DURATIONS.index(duration),
        interval=interval,
        shortest=shortest,
        longest=longest,
        lowest=lowest,
        highest=highest,
    )


def _prices(name: str, prices: ArrayLike) -> Floats:
    unmasked(name, prices)
    try:
        array = np.asarray(prices, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a flat sequence of prices") from None
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name} must be a flat sequence of at least one price")
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        raise ValueError(f"{name} is {array[bad[0]]} at bar {bad[0]}; prices must be finite")
    return array


@checked(interval=positive, shortest=positive, longest=positive, lowest=finite, highest=finite)
class MarketWorld(NamedTuple):
    """The world that `Market` makes: the moves of the bars, and how long an action takes."""

    moves: Floats
    state_size: int
    duration: int  # index into DURATIONS
    interval: float
    shortest: float
    longest: float
    lowest: float
    highest: float
    t: int = 0

    @property
    def num_states(self) -> int:
        """2 to the power of the number of directions that are remembered."""
        return int(2**self.state_size)

    @property
    def num_actions(self) -> int:
        """Two: buy = 0 and sell = 1."""
        return 2

    @property
    def num_steps(self) -> int:
        """The number of bars: a run of that many steps sees each bar once."""
        return len(self.moves)


@unreadable.register
def unreadable_market(world: MarketWorld) -> str:
    """The current bar must exist, and states and durations must be such as `Market` makes."""
    for name in ("state_size", "duration", "t"):
        if type(getattr(world, name)) is not int:
            return f"{name} is {getattr(world, name)}; it must be a whole number"
    wrong = misread("moves", world.moves, np.float64, (None,)) or outside(
        "moves", world.moves, -_LARGEST, _LARGEST
    )
    if wrong:
        return wrong
    for name, low, high in (
        ("state_size", 1, LARGEST_STATE_SIZE),
        ("duration", 0, len(DURATIONS) - 1),
        ("t", 0, len(world.moves) - 1),
    ):
        if not low <= getattr(world, name) <= high:
            return f"{name} is {getattr(world, name)}; it must be {low} to {high}"
    fits = world.shortest <= world.longest <= world.interval and world.lowest <= world.highest
    return "" if fits else "shortest, longest and interval must ascend, and so must lowest and highest"


@is_unswayed.register
def is_unswayed_market(world: MarketWorld) -> bool:
    """One trader does not move prices."""
    return True


@moving.register
def moving_market(world: MarketWorld) -> tuple[str, ...]:
    """The bar."""
    return ("t",)


@start.register
def start_market(world: MarketWorld, rng: Stream) -> tuple[MarketWorld, int]:
    """Go back to the first bar."""
    return replaced(world, t=0), 0


@step.register
def step_market(
    world: MarketWorld, state: int, action: int, rng: Stream
) -> tuple[MarketWorld, int, float, float]:
    """Trade at this bar, and go on to the next."""
    move, t = world.moves[world.t], _following(world.t, len(world.moves))
    taken = _taken(move, action)
    duration = _duration(
        world.duration, taken, world.shortest, world.longest, world.lowest, world.highest, rng
    )
    reward = taken * (1.0 - duration / world.interval)
    return replaced(world, t=t), _remembered(state, move, world.state_size), reward, duration


# Branches are in functions of numbers. In a function that also handles the world's array, a branch makes Numba
# count references to the array in every step, which costs as much as all the rest.


@inlined
def _following(t: int, num_bars: int) -> int:
    return t + 1 if t + 1 < num_bars else 0


@inlined
def _taken(move: float, action: int) -> float:
    return move if action == 0 else -move


@inlined
def _remembered(state: int, move: float, state_size: int) -> int:
    """Return the directions of the last bars, this one included."""
    up = 1 if move > 0.0 else 0
    return ((state << 1) | up) & ((1 << state_size) - 1)


@inlined
def _duration(
    kind: int, taken: float, shortest: float, longest: float, lowest: float, highest: float, rng: Stream
) -> float:
    """Return how long an action takes for a move of `taken` in its direction."""
    if kind == _RANDOM:
        return shortest + (longest - shortest) * uniform(rng)
    if kind == _MAGNITUDE:
        taken, lowest = abs(taken), 0.0
    span = highest - lowest
    if span <= 0.0:
        return (shortest + longest) / 2.0
    return min(max(shortest + (longest - shortest) * (taken - lowest) / span, shortest), longest)
