"""Parts of kernels: code that is compiled into other code, and never run by itself.

Numba optimises every function and makes machine code of it, once for each level of calls: the innermost loop of a plan six
times, of which five are thrown away. A part stops before that. What it is kept as is what LLVM links and inlines;
the kernel is optimised as a whole, once.

Numba is imported here, and this file only when the first kernel is compiled.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import llvmlite.binding as llvm
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

from sojourn.rules.bridge import Function

Numba: TypeAlias = Any  # its modules and results: Numba ships no types

_ENVIRONMENT = "_ZN08NumbaEnv"  # how Numba calls the variables that point to the Python objects of a function


class _Part(JITCodeLibrary):
    """The code of a function, to be linked into a kernel's. Machine code has only its variables for Python objects."""

    def _optimize_final_module(self) -> None:
        pass  # the kernel will be

    def _finalize_final_module(self) -> None:
        code: Numba = self._final_module
        for function in code.functions:
            if not function.is_declaration and function.linkage == llvm.Linkage.external:
                function.linkage = "linkonce_odr"  # as in Numba's own libraries, several kernels may have it
        codegen: Numba = self._codegen
        lines = [str(codegen._create_empty_module(self.name))]
        lines += [
            f"@{variable.name} = common global i8* null"
            for variable in code.global_variables
            if variable.name.startswith(_ENVIRONMENT)
        ]
        self._final_module = llvm.parse_assembly("\n".join(lines))
        self._final_module.name = code.name
        super()._finalize_final_module()  # type: ignore[no-untyped-call]
        self._shared_module = code


class PartCompiler(Compiler):
    """Numba's compiler, for parts."""

    def compile_extra(self, func: Function) -> Numba:
        """Compile a function into a library of that kind."""
        library: Numba = _Part(self.state.targetctx.codegen(), func.__qualname__)  # type: ignore[no-untyped-call]
        library.enable_object_caching()
        self.state.library = library
        return super().compile_extra(func)  # type: ignore[no-untyped-call]
