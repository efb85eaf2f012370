"""Lanes as the compiler sees them: types without reference counts, whose entries are selected without branches.

This module imports Numba, so it is imported only when lanes are compiled. `lane` explains what lanes are.
"""

from __future__ import annotations

import operator
from typing import TypeAlias

from llvmlite import ir
from numba import extending as numba_extending
from numba import types
from numba.core import cgutils

from sojourn.rules.bridge import Function, Numba
from sojourn.rules.values import LANES

extending: Numba = numba_extending  # whose types are wrong
Codegen: TypeAlias = tuple[Numba, Function]  # an intrinsic's signature, and its code generator


class Block(types.Type):
    """An array whose last axis is the lane: its address, and the length of its first axis."""

    def __init__(self, dtype: Numba, ndim: int, num_actions: int) -> None:
        self.dtype, self.ndim, self.num_actions = dtype, ndim, num_actions
        super().__init__(f"{type(self).__name__}({dtype}, {ndim}, {num_actions})")


class Lane(Block):
    """One lane of a block of two or three axes: a stream, or a table."""


class BlockModel(extending.models.StructModel):
    """The address of the first entry, and the length of the first axis."""

    def __init__(self, manager: Numba, kind: Block) -> None:
        super().__init__(manager, kind, [("data", types.CPointer(kind.dtype)), ("length", types.intp)])


extending.register_model(Block)(BlockModel)
extending.register_model(Lane)(BlockModel)


def _parts(context: Numba, builder: Numba, kind: Numba, value: Numba) -> Numba:
    return cgutils.create_struct_proxy(kind)(context, builder, value=value)


def _made(context: Numba, builder: Numba, kind: Numba, data: Numba, length: Numba) -> Numba:
    block = cgutils.create_struct_proxy(kind)(context, builder)
    block.data, block.length = builder.bitcast(data, block.data.type), length
    return block._getvalue()


# --- Memory -------------------------------------------------------------------------------


def _read(context: Numba, builder: Numba, dtype: Numba, address: Numba, tag: str) -> Numba:
    entry = builder.load(address)
    entry.set_metadata("tbaa", _tag(builder.module, tag))
    return context.data_model_manager[dtype].from_data(builder, entry)


def _write(context: Numba, builder: Numba, dtype: Numba, entry: Numba, address: Numba, tag: str) -> None:
    stored = builder.store(context.data_model_manager[dtype].as_data(builder, entry), address)
    stored.set_metadata("tbaa", _tag(builder.module, tag))


def _tag(module: Numba, name: str) -> Numba:
    """Return the TBAA tag of one kind of memory: writing to tables does not change numbers, nor the reverse.

    The compiler can then drop writes of unchanged numbers.
    """
    zero = ir.Constant(ir.IntType(64), 0)
    root = module.add_metadata([ir.MetaDataString(module, "sojourn lanes")])
    kind = module.add_metadata([ir.MetaDataString(module, name), root, zero])
    return module.add_metadata([kind, kind, zero])


_ROWS, _TABLES = "sojourn rows", "sojourn tables"


# --- Blocks and lanes ---------------------------------------------------------------------


@extending.intrinsic
def row_of(typing: Numba, array: Numba, first: Numba, place: Numba) -> Codegen:
    """Return a row of numbers or streams as a block, addressed by its offset from the first row, so that rows cannot overlap."""
    kind = Block(array.dtype, array.ndim, 0)

    def code(context: Numba, builder: Numba, signature: Numba, args: Numba) -> Numba:
        data = _parts(context, builder, first, args[1]).data
        start = builder.gep(
            builder.bitcast(data, ir.IntType(64).as_pointer()), [_times_lanes(builder, args[2])]
        )
        return _made(context, builder, kind, start, ir.Constant(ir.IntType(64), 0))

    return kind(array, first, place), code


@extending.intrinsic
def table_of(typing: Numba, array: Numba, actions: Numba) -> Codegen:
    """Return tables as a block."""
    kind = Block(array.dtype, array.ndim, actions.count)

    def code(context: Numba, builder: Numba, signature: Numba, args: Numba) -> Numba:
        given = _parts(context, builder, array, args[0])
        return _made(context, builder, kind, given.data, builder.extract_value(given.shape, 0))

    return kind(array, actions), code


@extending.intrinsic
def _lane_of(typing: Numba, block: Numba, lane: Numba) -> Codegen:
    kind = Lane(block.dtype, block.ndim, block.num_actions)

    def code(context: Numba, builder: Numba, signature: Numba, args: Numba) -> Numba:
        whole = _parts(context, builder, block, args[0])
        data = builder.gep(whole.data, [args[1]], inbounds=True)
        return _made(context, builder, kind, data, whole.length)

    return kind(block, lane), code


@extending.intrinsic
def _number_of(typing: Numba, block: Numba, lane: Numba) -> Codegen:
    def code(context: Numba, builder: Numba, signature: Numba, args: Numba) -> Numba:
        data = _parts(context, builder, block, args[0]).data
        return _read(context, builder, block.dtype, builder.gep(data, [args[1]], inbounds=True), _ROWS)

    return block.dtype(block, lane), code


@extending.intrinsic
def _put_number(typing: Numba, block: Numba, lane: Numba, number: Numba) -> Codegen:
    def code(context: Numba, builder: Numba, signature: Numba, args: Numba) -> Numba:
        data = _parts(context, builder, block, args[0]).data
        cast = context.cast(builder, args[2], number, block.dtype)
        _write(context, builder, block.dtype, cast, builder.gep(data, [args[1]], inbounds=True), _ROWS)
        return context.get_dummy_value()

    return types.none(block, lane, number), code


def lane_of(stack: Numba, lane: Numba) -> Numba:
    """Return one lane of a block."""
    return _lane_of(stack, lane)


def number_of(stack: Numba, lane: Numba) -> Numba:
    """Return the number of a lane."""
    return _number_of(stack, lane)


def put_number(stack: Numba, lane: Numba, value: Numba) -> None:
    """Write the number of a lane."""
    _put_number(stack, lane, value)


# --- Entries of a lane: a stream's word, and a table's value ----------------------------------


def _address(builder: Numba, data: Numba, place: Numba) -> Numba:
    """Return the address of the entry at a place of a lane."""
    return builder.gep(data, [_times_lanes(builder, place)], inbounds=True)


def _times_lanes(builder: Numba, place: Numba) -> Numba:
    return builder.mul(place, ir.Constant(ir.IntType(64), LANES), flags=["nsw", "nuw"])


@extending.intrinsic
def _word_at(typing: Numba, lane: Numba, place: Numba) -> Codegen:
    def code(context: Numba, builder: Numba, signature: Numba, args: Numba) -> Numba:
        data = _parts(context, builder, lane, args[0]).data
        index = context.cast(builder, args[1], place, types.intp)
        return _read(context, builder, lane.dtype, _address(builder, data, index), _ROWS)

    return lane.dtype(lane, place), code


@extending.intrinsic
def _put_word(typing: Numba, lane: Numba, place: Numba, word: Numba) -> Codegen:
    def code(context: Numba, builder: Numba, signature: Numba, args: Numba) -> Numba:
        data = _parts(context, builder, lane, args[0]).data
        index = context.cast(builder, args[1], place, types.intp)
        cast = context.cast(builder, args[2], word, lane.dtype)
        _write(context, builder, lane.dtype, cast, _address(builder, data, index), _ROWS)
        return context.get_dummy_value()

    return types.none(lane, place, word), code


def _row(context: Numba, builder: Numba, lane: Numba, value: Numba, state: Numba) -> list[Numba]:
    """Return the addresses of all entries of a state."""
    data = _parts(context, builder, lane, value).data
    word = ir.IntType(64)
    first = builder.mul(state, ir.Constant(word, lane.num_actions), flags=["nsw", "nuw"])
    return [
        _address(builder, data, builder.add(first, ir.Constant(word, action), flags=["nsw", "nuw"]))
        for action in range(lane.num_actions)
    ]


def _is(builder: Numba, action: Numba, number: int) -> Numba:
    return builder.icmp_signed("==", action, ir.Constant(action.type, number))


@extending.intrinsic
def _entry(typing: Numba, lane: Numba, state: Numba, action: Numba) -> Codegen:
    """Read all entries of the state and select one, so that lanes with different actions read the same addresses."""

    def code(context: Numba, builder: Numba, signature: Numba, args: Numba) -> Numba:
        place = context.cast(builder, args[1], state, types.intp)
        which = context.cast(builder, args[2], action, types.intp)
        first, *others = (
            _read(context, builder, lane.dtype, address, _TABLES)
            for address in _row(context, builder, lane, args[0], place)
        )
        for number, entry in enumerate(others, 1):
            first = builder.select(_is(builder, which, number), entry, first)
        return first

    return lane.dtype(lane, state, action), code


@extending.intrinsic
def _put_entry(typing: Numba, lane: Numba, state: Numba, action: Numba, entry: Numba) -> Codegen:
    """Write all entries of the state, those of other actions unchanged."""

    def code(context: Numba, builder: Numba, signature: Numba, args: Numba) -> Numba:
        place = context.cast(builder, args[1], state, types.intp)
        which = context.cast(builder, args[2], action, types.intp)
        cast = context.cast(builder, args[3], entry, lane.dtype)
        for number, address in enumerate(_row(context, builder, lane, args[0], place)):
            old = _read(context, builder, lane.dtype, address, _TABLES)
            new = builder.select(_is(builder, which, number), cast, old)
            _write(context, builder, lane.dtype, new, address, _TABLES)
        return context.get_dummy_value()

    return types.none(lane, state, action, entry), code


@extending.overload(operator.getitem, strict=False)
def _getitem(lane: Numba, place: Numba) -> Function | None:
    if not isinstance(lane, Lane):
        return None
    if lane.ndim == 2:
        return lambda lane, place: _word_at(lane, place)
    return lambda lane, place: _entry(lane, place[0], place[1])


@extending.overload(operator.setitem, strict=False)
def _setitem(lane: Numba, place: Numba, entry: Numba) -> Function | None:
    if not isinstance(lane, Lane):
        return None
    if lane.ndim == 2:
        return lambda lane, place, entry: _put_word(lane, place, entry)
    return lambda lane, place, entry: _put_entry(lane, place[0], place[1], entry)


@extending.intrinsic
def _length(typing: Numba, lane: Numba) -> Codegen:
    def code(context: Numba, builder: Numba, signature: Numba, args: Numba) -> Numba:
        return _parts(context, builder, lane, args[0]).length

    return types.intp(lane), code


@extending.overload_attribute(Lane, "shape", strict=False)
def _shape(lane: Numba) -> Function:
    num_actions = lane.num_actions  # a compile-time constant: loops over actions are unrolled
    return lambda lane: (_length(lane), num_actions)


@extending.overload(len, strict=False)
def _len(lane: Numba) -> Function | None:
    return (lambda lane: _length(lane)) if isinstance(lane, Lane) else None


@extending.intrinsic
def select(typing: Numba, condition: Numba, one: Numba, other: Numba) -> Codegen:
    """Return one of two numbers, without a branch."""

    def code(context: Numba, builder: Numba, signature: Numba, args: Numba) -> Numba:
        return builder.select(*args)

    return one(condition, one, one), code


# --- The loop over lanes ------------------------------------------------------------------


class _Distinct(ir.MDValue):
    """A distinct metadata node; a loop's node has itself as its first operand."""

    def __init__(self, module: Numba, operands: list[Numba], of_loop: bool = False) -> None:
        super().__init__(module, operands, str(len(module.metadata)))
        self.operands: tuple[Numba, ...] = (self, *operands) if of_loop else tuple(operands)

    def descr(self, buf: list[str]) -> None:
        buf += [f"distinct !{{ {', '.join(op.get_reference() for op in self.operands)} }}\n"]

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


@extending.intrinsic
def each_lane(typing: Numba, body: Numba, work: Numba, count: Numba) -> Codegen:
    """Call body(work, lane) for each lane, in a loop marked as free of dependences between iterations.

    The calls in the loop are marked, and LLVM propagates the marks to the code that it inlines. LLVM then
    vectorises the loop on its own initiative; if it were forced to, it would print a warning where it cannot.
    """

    def code(context: Numba, builder: Numba, signature: Numba, given: Numba) -> Numba:
        call = context.get_function(body, body.get_call_type(typing, (work, types.uintp), {}))
        module, end = builder.module, given[2]
        touched = _Distinct(module, [])
        told = [ir.MetaDataString(module, "llvm.loop.parallel_accesses"), touched]
        about = _Distinct(module, [module.add_metadata(told)], of_loop=True)
        before, loop, after = (
            builder.block,
            builder.append_basic_block("lane"),
            builder.append_basic_block("lanes.end"),
        )
        zero, one = ir.Constant(end.type, 0), ir.Constant(end.type, 1)
        builder.cbranch(builder.icmp_signed(">", end, zero), loop, after)
        builder.position_at_end(loop)
        lane = builder.phi(end.type)
        lane.add_incoming(zero, before)
        earlier = len(builder.function.blocks)
        call(builder, (given[1], lane))
        for block in (loop, *builder.function.blocks[earlier:]):
            for instruction in block.instructions:
                if isinstance(instruction, ir.CallInstr):
                    instruction.set_metadata("llvm.access.group", touched)
        following = builder.add(lane, one, flags=["nuw", "nsw"])
        lane.add_incoming(following, builder.block)
        jump = builder.cbranch(builder.icmp_signed("<", following, end), loop, after)
        jump.set_metadata("llvm.loop", about)
        builder.position_at_end(after)
        return context.get_dummy_value()

    return types.none(body, work, types.intp), code
