"""What a rule that a user wrote has returned: checked in Python, before the rule is compiled.

Most slips (a tuple too short, a whole number where the field was a float, a forgotten return)
would surface deep inside the compiler. A few interpreted steps find them first; the error names
the rule and the field.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sojourn.rules.values import canonical, is_value


def returned(rule: Any, value: Any, *args: Any, parts: tuple[str, ...]) -> tuple[Any, ...]:
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
            same_kind(rule.__name__, value, entry)
        elif not isinstance(entry, int | float | np.number | np.bool_):
            raise TypeError(f"{name} returned {entry!r} as the {part}; it must be a number")
        elif part in ("state", "next_state", "action") and not isinstance(entry, int | np.integer):
            raise TypeError(f"{name} returned {entry!r} as the {part}; it must be a whole number")
    return result


def same_kind(rule_name: str, before: Any, after: Any) -> Any:
    """Return `after`, if each of its fields is of the kind that it was before."""
    owner = type(before).__name__
    if type(after) is not type(before):
        raise TypeError(f"{rule_name} of {owner} returned {after!r}; it must return a new {owner}")
    for name, old, new in zip(before._fields, before, after, strict=True):
        if is_value(old):
            same_kind(rule_name, old, new)
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
