"""Checks what a user's rule returns in Python, before the rule is compiled.

Most mistakes (a tuple too short, an int where the field was a float, a missing return) would otherwise surface deep
inside the compiler. A few interpreted steps find them first, and the error names the rule and the field.
"""

from __future__ import annotations

import numpy as np

from sojourn.rules.bridge import F
from sojourn.rules.rule import Rule
from sojourn.rules.values import Field, V, canonical, fields_of, is_value


def returned(rule: Rule[F], value: Field, *args: Field, parts: tuple[str, ...]) -> tuple[Field, ...]:
    """Call a rule and check that it returns these parts."""
    name = f"{rule.name} of {type(value).__name__}"
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
            same_kind(rule.name, value, entry)
        elif part in ("state", "next_state") and isinstance(entry, tuple):
            _check_vector(name, part, entry)
        elif not isinstance(entry, int | float | np.number | np.bool_):
            raise TypeError(f"{name} returned {entry!r} as the {part}; it must be a number")
        elif part in ("state", "next_state") and not isinstance(entry, int | np.integer):
            raise TypeError(
                f"{name} returned {entry!r} as the {part}; it must be a whole number, or a tuple of floats"
            )
    return result


def _check_vector(name: str, part: str, entries: tuple[Field, ...]) -> None:
    for entry in entries:
        if not isinstance(entry, float):
            raise TypeError(f"{name} returned {entries!r} as the {part}; {entry!r} in it is not a float")


def same_kind(rule_name: str, before: Field, after: V) -> V:
    """Return `after` if each of its fields has the same type as before; otherwise raise an error."""
    owner, was = type(before).__name__, before._asdict().items()
    if type(after) is not type(before):
        raise TypeError(f"{rule_name} of {owner} returned {after!r}; it must return a new {owner}")
    for (name, old), new in zip(was, fields_of(after), strict=True):
        if is_value(old):
            same_kind(rule_name, old, new)
        elif _kind(old) != _kind(new):
            raise TypeError(
                f"{rule_name} of {owner} returned {name}={new!r}, {_kind(new)}, where {name} was {_kind(old)}"
            )
    return canonical(after)


def _kind(field: Field) -> str:
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
