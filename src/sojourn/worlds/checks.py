"""Checks of a world before it runs, and the error message for a step that breaks a rule."""

from __future__ import annotations

import operator
from collections import deque
from typing import NamedTuple

import numpy as np

from sojourn.data.numbers import shown, unmasked, whole
from sojourn.rules.arrays import owned
from sojourn.rules.rehearsal import returned
from sojourn.rules.rule import first_meeting
from sojourn.rules.streams import stream
from sojourn.rules.values import is_value, validated, with_arrays
from sojourn.rules.vectors import Action, Bounds, State, is_offered, is_state
from sojourn.worlds.protocol import NO_STATE, W, World, controlled, extent, observed, start, step, unreadable


def ready_world(world: W) -> W:
    """Return a world in the form that compiled code needs, or refuse it with a sentence.

    Its arrays are its own: changing those that it was made from does not change them.
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
    """Return an example of the world's states, from which compiled code knows their type."""
    if observed(world) is None:
        return 0
    state = start.bare(world, stream(0))[1]
    return state if isinstance(state, tuple) else ()


def rehearse_world(world: World) -> None:
    """Take two steps in Python and check what the rules of a user's world return; the world is not changed."""
    if not first_meeting(world):
        return
    rng = stream(0)
    world, state = returned(start, world, rng, parts=("world", "state"))
    for _ in range(2):
        size, num_actions = extent(world)
        if not is_state(state, size):
            return  # the code that runs the world has a better message for this
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

    A run visits only the states that its agent goes to. This visits all states, as far as `most` steps suffice.
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
