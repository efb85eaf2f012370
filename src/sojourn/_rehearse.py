"""A rehearsal in Python of rules that users wrote, before they are compiled.

Most slips (a tuple too short, a whole number where the field was a float, a forgotten
return) would surface deep inside the compiler. Two interpreted steps find them first, and
name the rule and the field.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sojourn._values import canonical, copied, is_value
from sojourn.agents.rules import draw, learn
from sojourn.random import streams
from sojourn.worlds.rules import start, step


def rehearse(world: Any, agent: Any) -> None:
    """Take two steps and check what every rule returns; the arguments stay as they were."""
    agent = copied(agent)
    world_rng, agent_rng = streams(0, 2)
    world, state = _returned(start, world, world_rng, parts=("world", "state"))
    for _ in range(2):
        if not 0 <= state < world.num_states:
            return  # the loop itself says this best
        action, explored = _returned(draw, agent, int(state), agent_rng, parts=("action", "explored"))
        if not 0 <= action < world.num_actions:
            return
        world, next_state, reward, duration = _returned(
            step,
            world,
            int(state),
            int(action),
            world_rng,
            parts=("world", "next_state", "reward", "duration"),
        )
        if not (0 <= next_state < world.num_states and 0.0 < duration < np.inf and abs(reward) < np.inf):
            return
        after = learn.bare(agent, int(state), int(action), reward, duration, int(next_state), explored)
        agent, state = _same_kind("learn", agent, after), next_state


def _returned(rule: Any, value: Any, *args: Any, parts: tuple[str, ...]) -> tuple[Any, ...]:
    """Call a rule and check that it returns these parts."""
    name = f"{rule.__name__} of {type(value).__name__}"
    try:
        result = rule.bare(value, *args)
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        raise TypeError(
            f"{name} writes into an array of the world, which all runs share; keep what changes in numbers"
        ) from None
    if not isinstance(result, tuple) or is_value(result) or len(result) != len(parts):
        raise TypeError(f"{name} returned {result!r}; it must return ({', '.join(parts)})")
    for part, entry in zip(parts, result, strict=True):
        if part == "world":
            _same_kind(rule.__name__, value, entry)
        elif not isinstance(entry, int | float | np.number | np.bool_):
            raise TypeError(f"{name} returned {entry!r} as the {part}; it must be a number")
        elif part in ("state", "next_state", "action") and not isinstance(entry, int | np.integer):
            raise TypeError(f"{name} returned {entry!r} as the {part}; it must be a whole number")
    return result


def _same_kind(rule_name: str, before: Any, after: Any) -> Any:
    """Return `after`, if each of its fields is of the kind that it was before."""
    owner = type(before).__name__
    if type(after) is not type(before):
        raise TypeError(f"{rule_name} of {owner} returned {after!r}; it must return a new {owner}")
    for name, old, new in zip(before._fields, before, after, strict=True):
        if is_value(old):
            _same_kind(rule_name, old, new)
        elif _kind(old) != _kind(new):
            raise TypeError(
                f"{rule_name} of {owner} returned {name}={new!r}, {_kind(new)}, where {name} was {_kind(old)}"
            )
    return canonical(after)


def _kind(field: Any) -> str:
    if isinstance(field, np.ndarray):
        return f"an array of {field.dtype} with {field.ndim} dimensions"
    for types, name in (
        (bool | np.bool_, "a bool"),
        (int | np.integer, "an int"),
        (float | np.floating, "a float"),
    ):
        if isinstance(field, types):
            return name
    return f"a {type(field).__name__}"
