"""Generates the code that strips the owners from a value's arrays, and restores them.

One function for a whole value is quick to compile. This module imports Numba, so it is imported only when the first
of these functions is compiled. `borrowed` explains what they are for.
"""

from __future__ import annotations

from numba import extending

from sojourn.rules.bridge import Function, Numba


def borrowing() -> Function:
    """Return the function that strips the owners from all arrays of a value."""

    def typed(_: Numba, value: Numba) -> Numba:
        def build(context: Numba, builder: Numba, signature: Numba, args: Numba) -> Numba:
            return _disowned(context, builder, value, args[0])

        return value(value), build

    return extending.intrinsic(typed)


def _disowned(context: Numba, builder: Numba, kind: Numba, value: Numba) -> Numba:
    if hasattr(kind, "ndim"):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo, array.parent = array.meminfo.type(None), array.parent.type(None)
        return array._getvalue()
    for i, part in enumerate(getattr(kind, "types", ())):
        changed = _disowned(context, builder, part, builder.extract_value(value, i))
        value = builder.insert_value(value, changed, i)
    return value


def giving_back() -> Function:
    """Return the function that gives arrays without an owner the lender's owners."""

    def typed(_: Numba, value: Numba, lender: Numba) -> Numba:
        def build(context: Numba, builder: Numba, signature: Numba, args: Numba) -> Numba:
            returned, moved = _reowned(context, builder, value, args)
            context.nrt.incref(builder, value, returned)
            for is_moved in moved:
                # Its owner is unknown and must outlive it, so the lender's arrays are never freed.
                with builder.if_then(is_moved, likely=False):
                    context.nrt.incref(builder, lender, args[1])
            return returned

        return value(value, lender), build

    return extending.intrinsic(typed)


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
