"""Values in a loop that does not count references to their arrays.

Numba counts the references to an array, and each count is an instruction that waits for memory. In a loop over rules, which
take values apart and put them together again in every step, counting can cost more than everything else. But the caller of
the loop holds the value that the loop began with all the while. So the loop works on a `borrowed` value, whose arrays have
no owner, and its result is `given_back`. In Python, both functions do nothing.
"""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

from sojourn.rules.bridge import Function, bridge, is_plain, written_out

Numba: TypeAlias = Any  # its types and builders: Numba ships no types of its own

V = TypeVar("V")


def borrowed(value: V) -> V:
    """Return the same value for a loop; in compiled code, references to its arrays are not counted.

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


# --- For compiled code, in its own instructions: one function for a whole value takes little time to compile ---


def _resolve_borrowed(value: Numba) -> Function:
    if is_plain("borrowed"):
        return lambda value: value
    from numba import extending

    def build(context: Numba, builder: Numba, signature: Numba, args: Numba) -> Numba:
        return _disowned(context, builder, value, args[0])

    names: Numba = {"inner": extending.intrinsic(lambda _, value: (value(value), build))}
    return written_out("def function(value):\n    return inner(value)\n", names, known_as="borrowed")


def _disowned(context: Numba, builder: Numba, kind: Numba, value: Numba) -> Numba:
    """Return a value with no owner for any of its arrays."""
    if hasattr(kind, "ndim"):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo, array.parent = array.meminfo.type(None), array.parent.type(None)
        return array._getvalue()
    for i, part in enumerate(getattr(kind, "types", ())):
        changed = _disowned(context, builder, part, builder.extract_value(value, i))
        value = builder.insert_value(value, changed, i)
    return value


def _resolve_given_back(value: Numba, lender: Numba) -> Function:
    if is_plain("borrowed"):
        return lambda value, lender: value
    from numba import extending

    def build(context: Numba, builder: Numba, signature: Numba, args: Numba) -> Numba:
        returned, moved = _reowned(context, builder, value, args)
        context.nrt.incref(builder, value, returned)
        for is_moved in moved:
            # Its owner is unknown and must outlive it, so none of the lender's arrays is ever freed.
            with builder.if_then(is_moved, likely=False):
                context.nrt.incref(builder, lender, args[1])
        return returned

    names: Numba = {"inner": extending.intrinsic(lambda _, value, lender: (value(value, lender), build))}
    source = "def function(value, lender):\n    return inner(value, lender)\n"
    return written_out(source, names, known_as="given_back")


def _reowned(context: Numba, builder: Numba, kind: Numba, both: Numba) -> tuple[Numba, list[Numba]]:
    """Return a value with the lender's owners where it has none, and whether any such array has moved."""
    value, lender = both
    if hasattr(kind, "ndim"):
        array, lent = (context.make_array(kind)(context, builder, one) for one in both)
        is_lent = builder.icmp_unsigned("==", array.meminfo, array.meminfo.type(None))
        is_moved = builder.and_(is_lent, builder.icmp_unsigned("!=", array.data, lent.data))
        array.meminfo = builder.select(is_lent, lent.meminfo, array.meminfo)
        array.parent = builder.select(is_lent, lent.parent, array.parent)
        return array._getvalue(), [is_moved]
    moved: list[Numba] = []
    for i, part in enumerate(getattr(kind, "types", ())):
        parts = (builder.extract_value(value, i), builder.extract_value(lender, i))
        changed, found = _reowned(context, builder, part, parts)
        value = builder.insert_value(value, changed, i)
        moved = [builder.or_(*moved, *found)] if moved and found else moved or found
    return value, moved


bridge(borrowed, _resolve_borrowed)
bridge(given_back, _resolve_given_back)
