"""Generates the code that gathers a value from a stack and scatters it back.

One function for a whole value compiles ten times faster than one for each field.
This module imports Numba, so it is imported only when the first of these functions is compiled.
"""

from __future__ import annotations

from numba import extending, types
from numba.core import cgutils
from numba.np.arrayobj import load_item, make_array, make_view, store_item

from sojourn.rules.bridge import Function, Numba


def _is_value(kind: Numba) -> bool:
    return isinstance(kind, types.BaseTuple)


def can_be_taken(kind: Numba) -> bool:
    """Whether a stack of this type holds only contiguous arrays, at any depth."""
    if _is_value(kind):
        return all(can_be_taken(part) for part in kind.types)
    return isinstance(kind, types.Array) and kind.layout == "C" and kind.ndim > 0


def can_be_put(kind: Numba, given: Numba) -> bool:
    """Whether a value of this type can be written into such a stack: its arrays have the same dtypes, and are contiguous."""
    if _is_value(kind):
        return _is_value(given) and all(map(can_be_put, kind.types, given.types))
    if kind.ndim == 1:
        return isinstance(given, types.Number | types.Boolean)
    return (
        isinstance(given, types.Array)
        and (given.dtype, given.ndim, given.layout) == (kind.dtype, kind.ndim - 1, "C")
    )  # fmt: skip


def taking() -> Function:
    """Return the function that gathers a value from a stack."""

    def typed(_: Numba, stack: Numba, index: Numba) -> Numba:
        taken = _taken(stack)

        def build(context: Numba, builder: Numba, signature: Numba, args: Numba) -> Numba:
            place = context.cast(builder, args[1], signature.args[1], types.intp)
            value = _take(context, builder, stack, args[0], place)
            context.nrt.incref(builder, taken, value)
            return value

        return taken(stack, index), build

    return extending.intrinsic(typed)


def _taken(kind: Numba) -> Numba:
    """Return the type of the values in a stack of this type."""
    if _is_value(kind):
        return types.BaseTuple.from_types([_taken(part) for part in kind.types], kind.instance_class)
    return kind.dtype if kind.ndim == 1 else kind.copy(ndim=kind.ndim - 1)


def _take(context: Numba, builder: Numba, kind: Numba, stack: Numba, place: Numba) -> Numba:
    if _is_value(kind):
        taken = [
            _take(context, builder, part, builder.extract_value(stack, i), place)
            for i, part in enumerate(kind.types)
        ]
        return context.make_tuple(builder, _taken(kind), taken)
    array = make_array(kind)(context, builder, stack)
    address = _address(builder, array, place)
    if kind.ndim == 1:
        return load_item(context, builder, kind, address)
    shape, strides = (cgutils.unpack_tuple(builder, axes)[1:] for axes in (array.shape, array.strides))
    return make_view(context, builder, kind, array, _taken(kind), address, shape, strides)._getvalue()


def putting() -> Function:
    """Return the function that scatters a value into a stack."""

    def typed(_: Numba, stack: Numba, index: Numba, value: Numba) -> Numba:
        def build(context: Numba, builder: Numba, signature: Numba, args: Numba) -> Numba:
            place = context.cast(builder, args[1], signature.args[1], types.intp)
            _put(context, builder, (stack, value), (args[0], args[2]), place)
            return context.get_dummy_value()

        return types.none(stack, index, value), build

    return extending.intrinsic(typed)


def _put(context: Numba, builder: Numba, kinds: Numba, both: Numba, place: Numba) -> None:
    """Write a value; read-only arrays are constants and are skipped."""
    kind, given = kinds
    stack, value = both
    if _is_value(kind):
        for i, parts in enumerate(zip(kind.types, given.types, strict=True)):
            _put(context, builder, parts, [builder.extract_value(one, i) for one in both], place)
        return
    array = make_array(kind)(context, builder, stack)
    address = _address(builder, array, place)
    if kind.ndim == 1:
        store_item(context, builder, kind, context.cast(builder, value, given, kind.dtype), address)
    elif kind.mutable:
        new = make_array(given)(context, builder, value)
        # Rules mostly write in place, and then there is nothing to copy.
        with builder.if_then(builder.icmp_unsigned("!=", address, new.data), likely=False):
            room, shape = (cgutils.unpack_tuple(builder, one.shape) for one in (array, new))
            for wanted, found in zip(room[1:], shape, strict=True):
                with builder.if_then(builder.icmp_signed("!=", wanted, found), likely=False):
                    says = ("a rule returned an array of another shape",)
                    context.call_conv.return_user_exc(builder, ValueError, says)
            cgutils.raw_memmove(builder, address, new.data, new.nitems, array.itemsize)


def _address(builder: Numba, array: Numba, place: Numba) -> Numba:
    """Return the address of an entry."""
    stride = builder.extract_value(array.strides, 0)
    return cgutils.pointer_add(builder, array.data, builder.mul(place, stride), array.data.type)
