"""A loop over lanes that tells the compiler that they are independent.

This file imports Numba, and is itself imported only when lanes are compiled. `lanes` says what lanes are.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from llvmlite import ir
from llvmlite.ir.values import MDValue
from numba import types

from sojourn.rules.lane_code import Codegen, written_by

Numba: TypeAlias = Any  # its types, contexts and builders: Numba ships no types


class _Distinct(MDValue):  # type: ignore[misc]
    """A node of metadata that equals no other; the node of a loop has itself as its first operand."""

    def __init__(self, module: Numba, operands: list[Numba], of_loop: bool = False) -> None:
        super().__init__(module, operands, str(len(module.metadata)))
        self.operands: tuple[Numba, ...] = (self, *operands) if of_loop else tuple(operands)

    def descr(self, buf: list[str]) -> None:
        buf += [f"distinct !{{ {', '.join(op.get_reference() for op in self.operands)} }}\n"]

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


@written_by
def each_lane(typing: Numba, body: Numba, work: Numba, count: Numba) -> Codegen:
    """Call body(work, lane) for each lane, in a loop that says that its iterations do not touch each other's memory.

    The calls in the loop are marked, and LLVM also marks the code that it inlines in their place. LLVM then finds by
    itself that several lanes can be taken at once. If it were told that it must, it would print a warning where it cannot.
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
