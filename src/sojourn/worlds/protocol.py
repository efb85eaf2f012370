"""What a world is: a value with two rules.

    start(world, rng) -> (world, state)
    step(world, state, action, rng) -> (world, next_state, reward, duration)

A world says how many states and actions it has (`num_states`, `num_actions`), holds all
that changes between steps except the state, in numbers (its arrays are constants, shared by
all runs, and cannot be written into), and draws all its randomness from `rng` with
the functions of `sojourn.rules.random`. `reward` is the total over the step, never a rate;
`duration` is finite and at least 0; states and actions are numbered from 0.

A new world is one small file. This one, a machine that earns 5 a day until it is serviced
or breaks down, runs compiled like the built-in ones:

    from typing import NamedTuple
    import sojourn as sj

    class Machine(NamedTuple):
        risk: float = 0.02              # of a breakdown, for each day since the last service
        age: int = 0
        num_states: int = 30
        num_actions: int = 2            # 0 goes on for a day, 1 services

    @sj.start.register
    def start(world: Machine, rng):
        return Machine(world.risk, 0, world.num_states, world.num_actions), 0

    @sj.step.register
    def step(world: Machine, state, action, rng):
        if action == 1:
            age, reward, duration = 0, -2.0, 0.5
        elif sj.random.uniform(rng) < world.risk * state:
            age, reward, duration = 0, -10.0, 1.0 + sj.random.exponential(rng)
        else:
            age, reward, duration = min(state + 1, world.num_states - 1), 5.0, 1.0
        return Machine(world.risk, age, world.num_states, world.num_actions), age, reward, duration

    run = sj.run(Machine(), sj.smart(num_states=30, num_actions=2), steps=100_000, seed=0)

`sojourn.check_world(Machine())` tells whether it keeps the rules. Compiled code takes global
names as they are when it is first compiled; what may vary belongs into the world's fields.

A world in which some states lack some actions says so with `available`, an array [state,
action] of bools: an environment made of it then shows action masks. A step that takes an action
the state does not have returns `NO_STATE` as the next state, and the loop stops with a sentence.

Where states cannot be listed, a state is a tuple of floats, always of the same length. Such a world has 0 for
`num_states`, and `observed`, the `Bounds` of what is seen, which may be infinite. Where some actions are not always
there, the state goes on, behind what is seen, with a 1.0 or 0.0 for each action. A world whose actions are numbers
has 0 for `num_actions`, and `controlled`, their `Bounds`. `sojourn.continuous` has examples.

Two more rules are for worlds whose truth is known: `gain`, and `optimal`, the best action of a state.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from sojourn.rules.compile import no_rule, rule
from sojourn.rules.numbers import Number, at_least_zero, finite, within
from sojourn.rules.streams import Stream, check_stream
from sojourn.rules.values import Value
from sojourn.rules.vectors import Action, Bounds, State


class World(Value, Protocol):
    """What every world has: whoever runs one looks at nothing else."""

    @property
    def num_states(self) -> int:
        """The number of states; 0 where they are vectors."""

    @property
    def num_actions(self) -> int:
        """The number of actions; 0 where they are numbers."""


W = TypeVar("W", bound=World)

NO_STATE = -1  # the next state after an action that the state does not have


def _check_start(world: W, rng: Stream) -> tuple[W, Stream]:
    return world, check_stream(rng)


def observed(world: World) -> Bounds | None:
    """Return the bounds of what is seen of a world whose states are vectors; None where states can be listed.

    >>> from sojourn.worlds.continuous.wear import Wear
    >>> observed(Wear())
    Bounds(low=(0.0,), high=(inf,))
    """
    return getattr(world, "observed", None)


def controlled(world: World) -> Bounds | None:
    """Return the bounds of actions that are numbers; None where actions can be listed."""
    return getattr(world, "controlled", None)


def extent(world: World) -> tuple[int, int]:
    """Return the number of states, or of entries seen; and the number of actions, or 0 where they are numbers.

    >>> from sojourn.worlds.continuous.hold import Hold
    >>> extent(Hold())
    (2, 0)
    """
    seen = observed(world)
    return world.num_states if seen is None else len(seen.low), world.num_actions


def is_masked(world: World, state: State) -> bool:
    """Whether a state says which actions there are."""
    return isinstance(state, tuple) and len(state) > extent(world)[0]


def _check_step(world: W, state: State, action: Number, rng: Stream) -> tuple[W, State, Action, Stream]:
    size, num_actions = extent(world)
    return (
        world,
        within("state", state, size) if observed(world) is None else _vector(state, size),
        within("action", action, num_actions) if num_actions else finite("action", action),
        check_stream(rng),
    )


def _vector(state: State, size: int) -> State:
    numbers = tuple(state) if hasattr(state, "__len__") else ()
    if len(numbers) < size:
        raise ValueError(f"state is {state!r}; it must be {size} numbers")
    return tuple(finite(f"state[{i}]", number) for i, number in enumerate(numbers))


@rule(compiled=False)
def unreadable(world: World) -> str:
    """Return why compiled code must not read a world's fields, which it does without a look, or an empty text.

    However a world was made, `_replace` and pickles included, it is asked before it runs. A world without
    arrays needs no such rule.
    """
    return ""


@rule(compiled=False)
def is_unswayed(world: World) -> bool:
    """Whether the next state, and all that a world keeps, are the same whatever the action; rewards and durations are not.

    Many runs in such a world are taken side by side, in a fraction of the time. It is a hint: a world that is
    not as it says costs time, and nothing else.

    >>> import sojourn as sj
    >>> is_unswayed(sj.TwoState(log_scale=0.001)), is_unswayed(sj.Tabular(sj.problems.long_return()))
    (True, False)
    """
    return False


@rule(_check_start)
def start(world: W, rng: Stream) -> tuple[W, State]:
    """Return the world at the beginning of an episode, and its first state.

    >>> import sojourn as sj
    >>> world, state = start(sj.Tabular(sj.problems.long_return()), sj.stream(0))
    >>> state
    0
    """
    raise no_rule("start", world)


@rule(_check_step)
def step(world: W, state: State, action: Action, rng: Stream) -> tuple[W, State, float, float]:
    """Return the world after one action, the next state, the reward and the duration.

    >>> import sojourn as sj
    >>> world, state, reward, duration = step(sj.Tabular(sj.problems.long_return()), 0, 1, sj.stream(0))
    >>> int(state), float(reward), float(duration)
    (1, 770.0, 100.0)
    """
    raise no_rule("step", world)


class NotDrawnError(ValueError):
    """The error that the gain of a world depends on times that are drawn only when it starts."""


def _check_gain(world: W, clock: Number = 0.0) -> tuple[W, float]:
    return world, at_least_zero("clock", clock)


@rule(_check_gain, compiled=False)
def gain(world: World, clock: float = 0.0) -> float | None:
    """Return the exact gain of a world; of one that changes, that of the law at a time of its episode.

    It is None where it is not known.

    >>> import sojourn as sj
    >>> round(gain(sj.continuous.Offers()), 4)
    0.7478
    >>> given = sj.problems.long_shot()  # 5 in a time of 1, or 12 in a time of 4
    >>> world = sj.Switching([given, given.with_laws(reward=[1.0, 18.0])], times=1000.0)
    >>> gain(world, 0.0), gain(world, 1500.0)
    (5.0, 4.5)
    """
    return None


@rule(compiled=False)
def optimal(world: World, state: State) -> Action:
    """Return the best action of a state, for worlds in which it is known.

    >>> from sojourn.worlds.continuous.wear import Wear
    >>> optimal(Wear(), (0.9,))  # replace the machine
    1
    """
    raise no_rule("optimal", world)
