"""Checks of a world before it runs, and the sentence for a step that breaks a rule."""

from __future__ import annotations

from collections import deque

import numpy as np

from sojourn.rules.arrays import owned
from sojourn.rules.compile import first_meeting
from sojourn.rules.numbers import shown, whole
from sojourn.rules.returned import returned
from sojourn.rules.streams import stream
from sojourn.rules.values import is_value, validated, with_arrays
from sojourn.worlds.protocol import NO_STATE, W, World, start, step, unreadable


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
    for name in ("num_states", "num_actions"):
        whole(f"{type(world).__name__}.{name}", getattr(world, name, "missing"))
    _check_available(world)
    return world


def _check_available(world: World) -> None:
    """Refuse a world that says wrongly which actions its states have."""
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
            f"{name}.available gives state {int(available.any(axis=1).argmin())} no action; it needs one"
        )


def rehearse_world(world: World) -> None:
    """Take two steps in Python and check what the rules of a user's world return; the world stays as it was."""
    if not first_meeting(world):
        return
    rng = stream(0)
    world, state = returned(start, world, rng, parts=("world", "state"))
    for _ in range(2):
        if not 0 <= state < world.num_states:
            return  # whoever runs the world says this best
        available = np.broadcast_to(getattr(world, "available", True), (world.num_states, world.num_actions))
        action = int(available[state].argmax())
        world, state, _, _ = returned(
            step, world, int(state), action, rng, parts=("world", "next_state", "reward", "duration")
        )


def explore_world(world: World, most: int = 2000) -> None:
    """Take every action in every state that can be reached, in Python, and check what the rules return.

    A run visits the states that its agent goes to; this goes to all, as far as so many steps suffice.
    """
    rng, taken = stream(1), 0
    reached: dict[int, World] = {}
    for _ in range(100):
        begun, state = returned(start, world, rng, parts=("world", "state"))
        if not 0 <= state < world.num_states:
            raise ValueError(explain_step(world, "", 0, -1.0, 0.0, 0.0, 0.0, state))
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
                    explain_step(world, "the check", taken, state, action, reward, duration, next_state)
                )
            if int(next_state) not in reached:
                reached[int(next_state)] = after
                waiting.append(int(next_state))


def explain_step(  # the parts of one step, which compiled code hands over one by one
    world: World,
    agent: str,
    at: int,
    state: float,
    action: float,
    reward: float,
    duration: float,
    next_state: float,
) -> str:
    """Say in one sentence which rule a step of a world broke; `agent` is the name of who took it."""
    name, states = type(world).__name__, world.num_states - 1
    if state < 0:
        return f"start of {name} returned the state {next_state:.0f} at step {at}; states are 0 to {states}"
    if next_state == NO_STATE and getattr(world, "available", None) is not None:
        return (
            f"state {state:.0f} of {name} has no action {action:.0f}, which {agent} took at step {at}; "
            "an agent must not take an action whose q is -inf"
        )
    where = f"step of {name} at step {at} (state {state:.0f}, action {action:.0f}) returned"
    if not 0.0 <= duration < np.inf:
        return f"{where} the duration {duration}; a duration must be finite and at least 0"
    if not abs(reward) < np.inf:
        return f"{where} the reward {reward}; a reward must be finite"
    return f"{where} the state {next_state:.0f}; states are 0 to {states}"
