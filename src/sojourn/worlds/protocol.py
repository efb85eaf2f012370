"""A world is a value with two rules.

    start(world, rng) -> (world, state)
    step(world, state, action, rng) -> (world, next_state, reward, duration)

A world says how many states and actions it has (`num_states`, `num_actions`); both are numbered
from 0. It holds in numbers everything that changes between steps, except the state; its arrays
are constants, shared by all runs, and cannot be written to. It draws all its random numbers from
`rng` with the functions of `sojourn.rules.random`. `reward` is the total over the step, never a
rate; `duration` is finite and at least 0.

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

`sojourn.check_world(Machine())` checks whether it keeps the rules. Compiled code keeps the values
that global names have when it is first compiled, so whatever may vary belongs in the world's fields.

If some states lack some actions, the world says so with `available`, an array [state, action] of
bools; an environment made from it then shows action masks. A step that takes an action which the state
does not have returns `NO_STATE` as the next state, and the loop stops with an error message.

If states cannot be listed, a state is a tuple of floats, always of the same length. `num_states` is then 0, and
`observed` has the `Bounds` of what is seen, which may be infinite. If some actions are not always available, the state
continues after what is seen with a 1.0 or 0.0 for each action. If actions are numbers, `num_actions` is 0, and
`controlled` has their `Bounds`. `sojourn.worlds.continuous` has examples.

Two more rules are for worlds whose truth is known: `gain`, the exact gain, and `optimal`, the best action of a state.
"""

from __future__ import annotations

import operator
from collections import deque
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from sojourn.data.numbers import Number, at_least_zero, finite, shown, unmasked, whole, within
from sojourn.rules.arrays import owned
from sojourn.rules.random import Stream, check_stream, stream
from sojourn.rules.rehearsal import returned
from sojourn.rules.rule import first_meeting, no_rule, rule
from sojourn.rules.values import Value, is_value, validated, with_arrays
from sojourn.rules.vectors import Action, Bounds, State, is_offered, is_state


class World(Value, Protocol):
    """What every world has; the code that runs a world uses nothing else."""

    @property
    def num_states(self) -> int:
        """The number of states; 0 if they are vectors."""

    @property
    def num_actions(self) -> int:
        """The number of actions; 0 if they are numbers."""


W = TypeVar("W", bound=World)

NO_STATE = -1  # the next state after an action that is not available


def _check_start(world: W, rng: Stream) -> tuple[W, Stream]:
    return world, check_stream(rng)


def observed(world: World) -> Bounds | None:
    """Return the bounds of observations in a world whose states are vectors; None if states can be enumerated.

    >>> from sojourn.worlds.continuous.wear import Wear
    >>> observed(Wear())
    Bounds(low=(0.0,), high=(inf,))
    """
    return getattr(world, "observed", None)


def controlled(world: World) -> Bounds | None:
    """Return the bounds of continuous actions; None if actions can be enumerated."""
    return getattr(world, "controlled", None)


def extent(world: World) -> tuple[int, int]:
    """Return the number of states, or of the entries seen of a vector, and the number of actions, 0 if they are numbers.

    >>> from sojourn.worlds.continuous.hold import Hold
    >>> extent(Hold())
    (2, 0)
    """
    seen = observed(world)
    return world.num_states if seen is None else len(seen.low), world.num_actions


def is_masked(world: World, state: State) -> bool:
    """Whether a state says which actions it has."""
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
    """Return why compiled code must not read a world's fields, or an empty string if it may.

    Compiled code reads fields unchecked. So this is called before a world runs, however it was made, even by
    `_replace` or from a pickle. A world without arrays needs no such rule.
    """
    return ""


@rule(compiled=False)
def moving(world: World) -> tuple[str, ...]:
    """Return the fields that change while the world runs; without this rule, all of them may.

    A file may restore these fields only; all others belong to the world itself.
    """
    fields: tuple[str, ...] = world._fields
    return fields


@rule(compiled=False)
def is_unswayed(world: World) -> bool:
    """Whether the action affects only the reward and the duration, not the next state or anything that the world keeps.

    Many runs in such a world are taken in lanes, in a fraction of the time. This is only a hint: if it is wrong,
    it costs time but no correctness.

    >>> import sojourn as sj
    >>> is_unswayed(sj.worlds.TwoState(log_scale=0.001)), is_unswayed(sj.worlds.Tabular(sj.problems.long_return()))
    (True, False)
    """
    return False


@rule(_check_start)
def start(world: W, rng: Stream) -> tuple[W, State]:
    """Return the world at the start of an episode, and its first state.

    >>> import sojourn as sj
    >>> world, state = start(sj.worlds.Tabular(sj.problems.long_return()), sj.stream(0))
    >>> state
    0
    """
    raise no_rule("start", world)


@rule(_check_step)
def step(world: W, state: State, action: Action, rng: Stream) -> tuple[W, State, float, float]:
    """Return the world after one action, the next state, the reward and the duration.

    >>> import sojourn as sj
    >>> world, state, reward, duration = step(sj.worlds.Tabular(sj.problems.long_return()), 0, 1, sj.stream(0))
    >>> int(state), float(reward), float(duration)
    (1, 770.0, 100.0)
    """
    raise no_rule("step", world)


class NotDrawnError(ValueError):
    """Raised if the gain of a world depends on times that are drawn only when it starts."""


def _check_gain(world: W, clock: Number = 0.0) -> tuple[W, float]:
    return world, at_least_zero("clock", clock)


@rule(_check_gain, compiled=False)
def gain(world: World, clock: float = 0.0) -> float | None:
    """Return the exact gain of a world, or None if it is not known.

    If the world changes, this is the gain of the law in force at the time `clock` of an episode.

    >>> import sojourn as sj
    >>> round(gain(sj.worlds.continuous.Offers()), 4)
    0.7478
    >>> given = sj.problems.long_shot()  # 5 in a time of 1, or 12 in a time of 4
    >>> world = sj.worlds.Switching([given, given.with_laws(reward=[1.0, 18.0])], times=1000.0)
    >>> gain(world, 0.0), gain(world, 1500.0)
    (5.0, 4.5)
    """
    return None


@rule(compiled=False)
def optimal(world: World, state: State) -> Action:
    """Return the best action of a state, in worlds where it is known.

    >>> from sojourn.worlds.continuous.wear import Wear
    >>> optimal(Wear(), (0.9,))  # replace the machine
    1
    """
    raise no_rule("optimal", world)


# --- Checks -----------------------------------------------------------------------------


def ready_world(world: W) -> W:
    """Return a world in the form that compiled code needs, or raise an error that says what is wrong.

    Its arrays are copies: changing the originals does not change them.
    """
    if not (is_value(world) and start.knows(type(world)) and step.knows(type(world))):
        raise TypeError(
            f"{type(world).__name__} is not a world; a world is a NamedTuple with start and step registered for it"
        )
    unmasked(type(world).__name__, world)
    world = with_arrays(validated(world), owned)
    wrong = unreadable(world)
    if wrong:
        raise ValueError(f"{type(world).__name__}: {wrong}")
    for name, instead in (("num_states", observed(world)), ("num_actions", controlled(world))):
        if instead is None:
            whole(f"{type(world).__name__}.{name}", getattr(world, name, "missing"))
        else:
            _check_bounds(type(world).__name__, instead)
    _check_available(world)
    return world


def _check_available(world: World) -> None:
    """Refuse a world whose `available` cannot be right."""
    available = getattr(world, "available", None)
    if available is None:
        return
    name, shape = type(world).__name__, (world.num_states, world.num_actions)
    if not isinstance(available, np.ndarray) or available.dtype != np.bool_ or available.shape != shape:
        raise ValueError(
            f"{name}.available is {shown(available)}; it must be an array of bools, {shape[0]} states by {shape[1]} actions"
        )
    if not available.any(axis=1).all():
        raise ValueError(
            f"{name}.available gives state {int(available.any(axis=1).argmin())} no action; every state needs one"
        )


def _check_bounds(name: str, bounds: Bounds) -> None:
    if not (bounds.low and len(bounds.low) == len(bounds.high) and all(map(operator.lt, *bounds))):
        raise ValueError(f"{name} has {bounds}; each low must be below its high")


def first_state(world: World) -> State:
    """Return an example of the world's states, which tells compiled code their type."""
    if observed(world) is None:
        return 0
    state = start.bare(world, stream(0))[1]
    return state if isinstance(state, tuple) else ()


def rehearse_world(world: World) -> None:
    """Take two steps in Python and check what the rules of a user's world return; the world is not modified."""
    if not first_meeting(world):
        return
    rng = stream(0)
    world, state = returned(start, world, rng, parts=("world", "state"))
    for _ in range(2):
        size, num_actions = extent(world)
        if not is_state(state, size):
            return  # the loop has a better message for this
        world, state, _, _ = returned(
            step,
            world,
            state,
            _some_action(world, state, num_actions),
            rng,
            parts=("world", "next_state", "reward", "duration"),
        )


def explore_world(world: World, most: int = 2000) -> None:
    """Take every action in every state that can be reached, in Python, and check what the rules return.

    A run visits only the states where its agent goes. This visits all states, as far as `most` steps suffice.
    """
    rng, taken = stream(1), 0
    reached: dict[int, World] = {}
    for _ in range(100):
        begun, state = returned(start, world, rng, parts=("world", "state"))
        if not 0 <= state < world.num_states:
            raise ValueError(explain_step(world, "", 0, Fault(-1.0, 0.0, 0.0, 0.0, state)))
        reached.setdefault(int(state), begun)
    waiting = deque(reached)
    available = np.broadcast_to(getattr(world, "available", True), (world.num_states, world.num_actions))
    while waiting and taken < most:
        state = waiting.popleft()
        for action in np.flatnonzero(available[state]).tolist():
            after, next_state, reward, duration = returned(
                step, reached[state], state, action, rng, parts=("world", "next_state", "reward", "duration")
            )
            taken += 1
            if not (0 <= next_state < world.num_states and abs(reward) < np.inf and 0.0 <= duration < np.inf):
                raise ValueError(
                    explain_step(
                        world, "the check", taken, Fault(state, action, reward, duration, next_state)
                    )
                )
            if int(next_state) not in reached:
                reached[int(next_state)] = after
                waiting.append(int(next_state))


def _some_action(world: World, state: State, num_actions: int) -> Action:
    """Return the first action that a state has."""
    numbers = controlled(world)
    if numbers is not None:
        return float(np.clip(0.0, numbers.low[0], numbers.high[0]))
    if isinstance(state, tuple):
        return next(
            action
            for action in range(num_actions)
            if is_offered(state, action, extent(world)[0], num_actions)
        )
    available = np.broadcast_to(getattr(world, "available", True), extent(world))
    return int(available[state].argmax())


class Fault(NamedTuple):
    """A step that broke the rules; the state is -1 if the start of an episode did.

    A state that is a vector is given by an entry that is not finite, or by 0.
    """

    state: float
    action: float
    reward: float
    duration: float
    next_state: float


def explain_step(world: World, agent: str, at: int, fault: Fault) -> str:
    """Say in one sentence which rule a step of a world broke; `agent` names who took the step."""
    state, action, reward, duration, next_state = fault
    name, is_vector = type(world).__name__, observed(world) is not None
    states = "the entries of a state are finite" if is_vector else f"states are 0 to {extent(world)[0] - 1}"
    led = f"a state with the entry {next_state}" if is_vector else f"the state {next_state:.0f}"
    if state < 0:
        return f"start of {name} returned {led} at step {at}; {states}"
    if next_state == NO_STATE and getattr(world, "available", None) is not None:
        return (
            f"state {state:.0f} of {name} has no action {action:.0f}, which {agent} took at step {at}; "
            "an agent must not take an action whose q is -inf"
        )
    stood = f"action {action:g}" if is_vector else f"state {state:.0f}, action {action:.0f}"
    where = f"step of {name} at step {at} ({stood}) returned"
    if not 0.0 <= duration < np.inf:
        return f"{where} the duration {duration}; a duration must be finite and at least 0"
    if not abs(reward) < np.inf:
        return f"{where} the reward {reward}; a reward must be finite"
    if is_vector and abs(next_state) < np.inf:
        return (
            f"the state of {name} at step {at} has no action {action:g}, which {agent} took; its mask says so"
        )
    return f"{where} {led}; {states}"
