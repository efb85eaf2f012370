"""A finite model as a world.

Action a in state s is one *pair* of the model, a pair has *rows*, and a row has a probability,
a next state, and laws of its reward and its duration (see `sojourn.models.smdp`). A step draws
a row, then a reward, then a duration: one random word for the row, one for each law that is
not constant.

A row is drawn by the alias method (Walker, ACM TOMS 3, 1977; tables as Vose, IEEE TSE 17,
1991, makes them). The n rows of a pair stand for n cells of the same probability 1/n, and
cell i belongs to row i from 0 up to `share[i]` and to row `other[i]` from there to 1. With u
uniform, i = floor(n u) is the cell and n u - i the point in it: one draw and one comparison, however
many rows there are. A search among cumulative probabilities would need a loop in every step.

A state need not have every action. Agents do not take an action whose value is -inf, and a run
begins with that value for the actions that a state lacks (`initial_values` has it for a loop of your
own). Taking such an action all the same leads to `NO_STATE`, which stops a run with an error message.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sojourn.data.hints import Given, option_kinds
from sojourn.data.names import made
from sojourn.data.numbers import shown, within
from sojourn.models.laws import CONSTANT, EXPONENTIAL, FLOORED, GAMMA, KINDS, TWO_POINT, UNIFORM, WEIBULL
from sojourn.models.model_files import load_model
from sojourn.models.smdp import SMDP, check_model
from sojourn.rules.arrays import Flags, Floats, Ints, misread, outside, owned
from sojourn.rules.bridge import inlined
from sojourn.rules.door import told
from sojourn.rules.kernel import kernel
from sojourn.rules.random import Stream, exponential, gamma, lognormal, normal, uniform, weibull
from sojourn.rules.values import checked
from sojourn.worlds.protocol import NO_STATE, World, moving, start, step, unreadable

_LARGEST = float(np.finfo(np.float64).max)
Order: TypeAlias = Literal["given", "reversed"]
ACTIONS: tuple[Order, Order] = ("given", "reversed")
_ORDER = inspect.Parameter("actions", inspect.Parameter.KEYWORD_ONLY, default="given", annotation=Order)

_PATIENCE = 20_000  # up to this many rows, Python is faster than waiting for a compiled kernel


def Tabular(model: SMDP, start: int = 0) -> TabularWorld:  # noqa: N802 - it is named for the world that it makes
    """Return the world that follows a model, starting in the state `start`.

    >>> from sojourn.models import from_transitions
    >>> model = from_transitions([
    ...     (0, 0, 1, 1.0, 5.0, 2.0), (0, 1, 0, 0.25, 1.0, 1.0), (0, 1, 1, 0.75, 2.0, 1.0), (1, 0, 0, 1.0, 0.0, 3.0),
    ... ])
    >>> world = Tabular(model)
    >>> world.available
    array([[ True,  True],
           [ True, False]])
    >>> world.pairs[0, 1], world.share[1:3], world.other[1:3]
    (np.int64(1), array([0.5, 1. ]), array([2, 2]))
    """
    check_model(model)
    start = within("start", start, model.num_states)
    reward, duration, by_rows = model.flat_laws()
    pairs = model.pair_table()
    # One extra pair stands for all missing actions: its only row leads nowhere.
    nowhere = model.num_rows if by_rows else model.num_pairs
    kinds = np.zeros((nowhere + 1, 2), dtype=np.int8)
    parameters = np.ones((nowhere + 1, 6))
    for column, laws in enumerate((reward, duration)):
        kinds[:nowhere, column] = laws.kind
        parameters[:nowhere, 3 * column : 3 * column + 3] = laws.parameters
    row_offsets = np.append(model.row_offsets, model.num_rows + 1)
    share, other = _alias_tables(row_offsets, np.append(model.probability, 1.0))
    return TabularWorld(
        pairs=owned(np.where(pairs < 0, model.num_pairs, pairs)),
        row_offsets=owned(row_offsets),
        share=owned(share),
        other=owned(other),
        successor=owned(np.append(model.successor, NO_STATE).astype(np.int64)),
        kinds=owned(kinds),
        parameters=owned(parameters),
        by_rows=by_rows,
        first=start,
    )


@checked()
class TabularWorld(NamedTuple):
    """The world that `Tabular` makes: a model in flat arrays, with laws by rows or by pairs."""

    pairs: Ints  # [state, action]; the last pair stands for missing actions
    row_offsets: Ints
    share: Floats
    other: Ints
    successor: Ints
    kinds: npt.NDArray[np.int8]  # [row or pair, 2]: of reward and duration, as in `sojourn.models.laws`
    parameters: Floats  # [row or pair, 6]: three for each of the two
    by_rows: bool
    first: int

    @property
    def num_states(self) -> int:
        """As many as the model's."""
        return int(self.pairs.shape[0])

    @property
    def num_actions(self) -> int:
        """As many as the model's, whether or not any state has all of them."""
        return int(self.pairs.shape[1])

    @property
    def available(self) -> Flags:
        """Which actions each state has."""
        return np.asarray(self.pairs < len(self.row_offsets) - 2)


@unreadable.register
def unreadable_tabular(world: TabularWorld) -> str:
    """Every index must be in range, every law a known one, and every share between 0 and 1."""
    if not (type(world.by_rows) is bool and type(world.first) is int):
        return "by_rows must be true or false, and first a whole number"
    wrong = misread("pairs", world.pairs, np.int64, (None, None)) or misread(
        "row_offsets", world.row_offsets, np.int64, (None,)
    )
    if wrong:
        return wrong
    num_states, num_pairs = world.num_states, len(world.row_offsets) - 1
    num_rows = int(world.row_offsets[-1])
    if num_pairs < 1 or world.row_offsets[0] != 0 or (np.diff(world.row_offsets) < 1).any():
        return "row_offsets does not ascend from 0"
    num_places = num_rows if world.by_rows else num_pairs
    return (
        misread("share", world.share, np.float64, (num_rows,))
        or misread("other", world.other, np.int64, (num_rows,))
        or misread("successor", world.successor, np.int64, (num_rows,))
        or misread("kinds", world.kinds, np.int8, (num_places, 2))
        or misread("parameters", world.parameters, np.float64, (num_places, 6))
        or outside("pairs", world.pairs, 0, num_pairs - 1)
        or outside("share", world.share, 0, 1)
        or outside("other", world.other, 0, num_rows - 1)
        or outside("successor", world.successor, NO_STATE, num_states - 1)
        or outside("kinds", world.kinds, 0, len(KINDS) - 1)
        or outside("parameters", world.parameters, -_LARGEST, _LARGEST)
        or ("" if 0 <= world.first < num_states else f"first is {world.first}; it must be a state")
    )


def available(model: SMDP) -> Flags:
    """Return which actions each state of a model has, [state, action]."""
    return np.asarray(model.pair_table() >= 0)


@told
def initial_values(model: SMDP, value: float = 0.0) -> Floats:
    """Return values [state, action] for an agent to begin with: `value`, and -inf for actions that a state lacks.

    >>> from sojourn.models import from_transitions
    >>> initial_values(from_transitions([(0, 0, 1, 1.0, 0.0, 1.0), (0, 1, 0, 1.0, 0.0, 1.0), (1, 1, 0, 1.0, 0.0, 1.0)]))
    array([[  0.,   0.],
           [-inf,   0.]])
    """
    return np.where(available(model), float(value), -np.inf)


@moving.register
def moving_tabular(world: TabularWorld) -> tuple[str, ...]:
    """Nothing: its state is all that changes."""
    return ()


@start.register
def start_tabular(world: TabularWorld, rng: Stream) -> tuple[TabularWorld, int]:
    """Begin in the first state."""
    return world, world.first


@step.register
def step_tabular(
    world: TabularWorld, state: int, action: int, rng: Stream
) -> tuple[TabularWorld, int, float, float]:
    """Draw a row, a reward and a duration."""
    pair = world.pairs[state, action]
    begin = world.row_offsets[pair]
    point = uniform(rng) * (world.row_offsets[pair + 1] - begin)
    cell = begin + int(point)
    row = _either(point - int(point) < world.share[cell], cell, world.other[cell])
    k = _either(world.by_rows, row, pair)
    law = world.parameters
    reward = sampled(world.kinds[k, 0], law[k, 0], law[k, 1], law[k, 2], rng)
    duration = sampled(world.kinds[k, 1], law[k, 3], law[k, 4], law[k, 5], rng)
    return world, world.successor[row], reward, duration


@inlined
def _either(condition: bool, one: int, other: int) -> int:
    # In a function of numbers, for the reason that worlds/market/world.py gives.
    return one if condition else other


@inlined
def sampled(kind: int, a: float, b: float, c: float, rng: Stream) -> float:
    """Draw from the law of this kind with these parameters.

    >>> from sojourn.rules.random import stream
    >>> sampled(0, 2.5, 0.0, 0.0, stream(0))
    2.5
    """
    if kind == CONSTANT:
        return a
    if kind == EXPONENTIAL:
        return a * exponential(rng)
    if kind == GAMMA:
        return b * gamma(rng, a)
    if kind == UNIFORM:
        return a + (b - a) * uniform(rng)
    if kind == FLOORED:
        return max(c, a + b * normal(rng))
    if kind == TWO_POINT:
        return b if uniform(rng) < c else a
    if kind == WEIBULL:
        return b * weibull(rng, a)
    return a * lognormal(rng, b)


# --- Several tables as one --------------------------------------------------------------


def below_each_other(tables: Sequence[TabularWorld]) -> TabularWorld:
    """Concatenate tables by state; the result has laws by rows if any table does."""
    by_rows = any(table.by_rows for table in tables)
    pairs, rows, states = np.cumsum([[0, 0, 0], *(_sizes(table) for table in tables)], axis=0).T

    def laws(table: TabularWorld, name: str) -> Floats:
        given = getattr(table, name)
        expanded = by_rows and not table.by_rows
        return np.asarray(np.repeat(given, np.diff(table.row_offsets), axis=0) if expanded else given)

    offsets = [table.row_offsets[:-1] + rows[k] for k, table in enumerate(tables)]
    return TabularWorld(
        pairs=owned(np.concatenate([table.pairs + pairs[k] for k, table in enumerate(tables)])),
        row_offsets=owned(np.append(np.concatenate(offsets), rows[-1])),
        share=owned(np.concatenate([table.share for table in tables])),
        other=owned(np.concatenate([table.other + rows[k] for k, table in enumerate(tables)])),
        successor=owned(
            np.concatenate(
                [
                    np.where(table.successor < 0, table.successor, table.successor + states[k])
                    for k, table in enumerate(tables)
                ]
            )
        ),
        kinds=owned(np.concatenate([laws(table, "kinds") for table in tables]).astype(np.int8)),
        parameters=owned(np.concatenate([laws(table, "parameters") for table in tables])),
        by_rows=by_rows,
        first=tables[0].first,
    )


def _sizes(table: TabularWorld) -> tuple[int, int, int]:
    """Return the number of pairs, rows and states of a table."""
    return len(table.row_offsets) - 1, len(table.share), table.num_states


# --- The tables of the alias method -----------------------------------------------------


def _alias_tables(row_offsets: Ints, probability: Floats) -> tuple[Floats, Ints]:
    """Return `share` and `other` for every cell."""
    share, other = np.empty(len(probability)), np.empty(len(probability), dtype=np.int64)
    small, large = np.empty(len(probability), dtype=np.int64), np.empty(len(probability), dtype=np.int64)
    fill = _fill if len(probability) > _PATIENCE else _fill.python
    fill(row_offsets, probability, share, other, small, large)
    return share, other


@kernel
def _fill(
    row_offsets: Ints, probability: Floats, share: Floats, other: Ints, small: Ints, large: Ints
) -> None:
    """Fill the small cells of each pair with the excess of the large ones."""
    for pair in range(len(row_offsets) - 1):
        begin, end = row_offsets[pair], row_offsets[pair + 1]
        num_small = num_large = 0
        for row in range(begin, end):
            share[row] = probability[row] * (end - begin)
            other[row] = row
            if share[row] < 1.0:
                small[num_small] = row
                num_small += 1
            else:
                large[num_large] = row
                num_large += 1
        while num_small > 0 and num_large > 0:
            num_small -= 1
            lesser, greater = small[num_small], large[num_large - 1]
            other[lesser] = greater
            share[greater] -= 1.0 - share[lesser]
            if share[greater] < 1.0:
                num_large -= 1
                small[num_small] = greater
                num_small += 1
        for k in range(num_small):  # left over by rounding
            share[small[k]] = 1.0
            other[small[k]] = small[k]
        for k in range(num_large):
            share[large[k]] = 1.0


# --- Worlds by the names of models -----------------------------------------------------


def model_in_file(data: str | None = None) -> SMDP:
    """Read the model in a TOML or JSON file."""
    if data is None:
        raise ValueError("data is missing; it must be the TOML or JSON file of a model")
    return load_model(data)


class WorldOfModel:
    """Makes worlds from a model; besides the model's options there is `actions`, the order of its actions: "given" or "reversed".

    >>> from sojourn.models.problems import PROBLEMS
    >>> WorldOfModel(PROBLEMS["long-shot"])(actions="reversed", short_duration=2.0).num_actions
    2
    """

    def __init__(self, model: Callable[..., SMDP]) -> None:
        self.model = model
        others = inspect.signature(model, eval_str=True).parameters.values()
        self.__signature__ = inspect.Signature([*others, _ORDER])

    def __call__(self, actions: Order = "given", **options: Given) -> TabularWorld:
        """Return the world of the model with these options."""
        return _ordered(self.model(**options), actions)


def _ordered(model: SMDP, actions: Order) -> TabularWorld:
    return Tabular(model if actions == ACTIONS[0] else model.with_actions_reversed())


class WorldOfUser:
    """Makes worlds with a user's own function or class; if it makes models, there is also the option `actions`."""

    def __init__(self, name: str, make: Callable[..., Any]) -> None:
        self.name, self.make = name, make
        kinds = option_kinds(make)
        own = [
            parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=kinds[parameter.name])
            for parameter in inspect.signature(make).parameters.values()
            if parameter.name in kinds
        ]
        self._has_order = "actions" in kinds
        self.__signature__ = inspect.Signature(own if self._has_order else [*own, _ORDER])

    def __call__(self, **options: Any) -> World:
        """Return the world with these options."""
        order: Order | None = None if self._has_order else options.pop("actions", None)
        thing = made(self.name, self.make, **options)
        if isinstance(thing, SMDP):
            return _ordered(thing, order or ACTIONS[0])
        if not (start.knows(type(thing)) and step.knows(type(thing))):
            raise TypeError(
                f"{self.name!r} makes {shown(thing)}, which is neither a model nor a world (a NamedTuple with start "
                "and step registered for it)"
            )
        if order is not None:
            raise ValueError(
                f"actions is given, but {self.name!r} does not make a model; only actions of a model can be reversed"
            )
        world: World = thing
        return world
