"""Checks of a world before it runs, and the sentence for a step that breaks a rule."""

from __future__ import annotations

import operator
from typing import NamedTuple

import numpy as np

from sojourn.rules.arrays import owned
from sojourn.rules.compile import first_meeting
from sojourn.rules.numbers import whole
from sojourn.rules.returned import returned
from sojourn.rules.streams import stream
from sojourn.rules.values import is_value, validated, with_arrays
from sojourn.rules.vectors import Action, Bounds, State, is_offered, is_state
from sojourn.worlds.protocol import NO_STATE, W, World, controlled, extent, observed, start, step, unreadable


def ready_world(world: W) -> W:
    """Return a world as compiled code needs it, or refuse it with a sentence.

    Its arrays are its own: whoever changes those that it was made of changes nothing here.
    """
    if not (is_value(world) and start.knows(type(world)) and step.knows(type(world))):
        raise TypeError(
            f"{type(world).__name__} is no world: a world is a NamedTuple with start and step registered for it"
        )
    world = with_arrays(validated(world), owned)
    wrong = unreadable(world)
    if wrong:
        raise ValueError(f"{type(world).__name__}: {wrong}")
    for name, instead in (("num_states", observed(world)), ("num_actions", controlled(world))):
        if instead is None:
            whole(f"{type(world).__name__}.{name}", getattr(world, name, "missing"))
        else:
            _check_bounds(type(world).__name__, instead)
    return world


def _check_bounds(name: str, bounds: Bounds) -> None:
    if not (bounds.low and len(bounds.low) == len(bounds.high) and all(map(operator.lt, *bounds))):
        raise ValueError(f"{name} has {bounds}; each low must be below its high")


def first_state(world: World) -> State:
    """Return a state of the kind that the world has, for compiled code to know its type."""
    if observed(world) is None:
        return 0
    state = start.bare(world, stream(0))[1]
    return state if isinstance(state, tuple) else ()


def rehearse_world(world: World) -> None:
    """Take two steps in Python and check what the rules of a user's world return; the world stays as it was."""
    if not first_meeting(world):
        return
    rng = stream(0)
    world, state = returned(start, world, rng, parts=("world", "state"))
    for _ in range(2):
        size, num_actions = extent(world)
        if not is_state(state, size):
            return  # whoever runs the world says this best
        world, state, _, _ = returned(
            step,
            world,
            state,
            _some_action(world, state, num_actions),
            rng,
            parts=("world", "next_state", "reward", "duration"),
        )


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

    Of a state that is a vector, it has the entry that is not finite, or 0.
    """

    state: float
    action: float
    reward: float
    duration: float
    next_state: float


def explain_step(world: World, agent: str, at: int, fault: Fault) -> str:
    """Say in one sentence which rule a step of a world broke; `agent` is the name of who took it."""
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
