"""Values in a loop without reference counting for their arrays.

Numba counts references to arrays, and each count is an atomic memory operation. In a loop over rules, which take
values apart and rebuild them in every step, counting can cost more than everything else. But the caller of the loop
keeps the initial value alive throughout. So the loop works on a `borrowed` value, whose arrays have no owner, and its
result is `given_back`. In Python, both functions do nothing.
"""

from __future__ import annotations

from typing import TypeVar

from sojourn.rules.bridge import Function, Numba, bridge, is_plain, written_out

V = TypeVar("V")


def borrowed(value: V) -> V:
    """Return the value itself; in compiled code, without reference counting for its arrays.

    >>> from sojourn.agents.values.protocol import zeros
    >>> table = zeros(1, 2)
    >>> borrowed(table) is table
    True
    """
    return value


def given_back(value: V, lender: V) -> V:
    """Return what a loop made from a value borrowed from `lender`; in compiled code, its arrays get owners again.

    >>> given_back((1.0, 2), (0.5, 1))
    (1.0, 2)
    """
    return value


# --- The same for compiled code ---------------------------------------------------------------


def _resolve_borrowed(value: Numba) -> Function:
    if is_plain("borrowed"):
        return lambda value: value
    from sojourn.rules.jit.memory import borrowing

    source = "def function(value):\n    return inner(value)\n"
    return written_out(source, {"inner": borrowing()}, known_as="borrowed")


def _resolve_given_back(value: Numba, lender: Numba) -> Function:
    if is_plain("borrowed"):
        return lambda value, lender: value
    from sojourn.rules.jit.memory import giving_back

    source = "def function(value, lender):\n    return inner(value, lender)\n"
    return written_out(source, {"inner": giving_back()}, known_as="given_back")


bridge(borrowed, _resolve_borrowed)
bridge(given_back, _resolve_given_back)
