"""Links into kernels the functions that they call: parts, which never run by themselves.

Numba optimises every function and generates machine code for it, once for each level of calls: for the innermost loop
of a plan, six times, of which five are thrown away. A part stops before that. It is kept as LLVM IR, which is linked
and inlined, and the kernel is optimised once, as a whole.

This module imports Numba, so it is imported only when the first kernel is compiled.
"""

from __future__ import annotations

import llvmlite.binding as llvm
from numba import njit, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.typing import templates

from sojourn.rules.bridge import Function, Numba
from sojourn.rules.jit.cache import keep, part_copy

_ENVIRONMENT = "_ZN08NumbaEnv"  # prefix of the variables that point to a function's Python objects


class _Part(JITCodeLibrary):
    """The code of a function to be linked into a kernel; only its variables for Python objects become machine code."""

    _codegen: Numba

    def _optimize_functions(self, ll_module: Numba) -> None:
        ll_module.data_layout = self._codegen._data_layout
        for function in ll_module.functions:
            if not function.is_declaration:  # Numba itself makes passes for declarations, too
                passes, builder = self._codegen._function_pass_manager()
                passes.run(function, builder)

    def _optimize_final_module(self) -> None:
        # A few passes, so that LLVM sees how small it is and inlines it; without that, lanes are not vectorised.
        passes, builder = self._codegen._module_pass_manager(opt=1, loop_vectorize=False, slp_vectorize=False)
        passes.run(self._final_module, builder)

    def _finalize_final_module(self) -> None:
        code: Numba = self._final_module
        for function in code.functions:
            if not function.is_declaration and function.linkage == llvm.Linkage.external:
                function.linkage = "linkonce_odr"  # several kernels may define it
        lines = [str(self._codegen._create_empty_module(self.name))]
        lines += [
            f"@{variable.name} = common global i8* null"
            for variable in code.global_variables
            if variable.name.startswith(_ENVIRONMENT)
        ]
        variables = llvm.parse_assembly("\n".join(lines))
        variables.name = code.name
        self._final_module = variables
        super()._finalize_final_module()
        self._shared_module = code


class _PartCompiler(Compiler):
    """Numba's compiler, for parts."""

    def compile_extra(self, func: Function) -> Numba:
        """Compile a function into a part."""
        library = _Part(self.state.targetctx.codegen(), func.__qualname__)
        library.enable_object_caching()
        self.state.library = library
        return super().compile_extra(func)


class _ByTypes:
    """Resolves a call for Numba: one function per signature, shared by all callers.

    Numba's own template would compile it separately for inlining and other callers.
    """

    context: Numba
    _found: dict[Numba, tuple[Numba, Numba]]
    _options: dict[str, bool]

    def _get_impl(self: Numba, args: Numba, kws: Numba) -> tuple[Numba, Numba]:
        key = (*args, *kws.items())
        if key not in self._found:
            self._found[key] = self._compiled(args, kws)
        return self._found[key]

    def _compiled(self: Numba, args: Numba, kws: Numba) -> tuple[Numba, Numba]:
        function = self._overload_func(*args, **kws)
        if function is None:
            return None, None
        kept = part_copy(function, (*args, *kws.values()))
        compiled = njit(pipeline_class=_PartCompiler, **self._options)(kept or function)
        if kept is not None:
            keep(compiled)
        types.Dispatcher(compiled).get_call_type(self.context, args, kws)
        return compiled, args


def connect(callee: Function, resolve: Function, inline: bool) -> None:
    """Let compiled code call a function: `resolve` returns the one to compile for the argument types."""
    options = {
        "forceinline": inline,
        "error_model": "numpy",
        "no_cfunc_wrapper": True,
        "no_cpython_wrapper": True,
    }
    numbas = templates.make_overload_template(callee, resolve, {}, strict=False, inline="never")
    template = type(numbas)(numbas.__name__, (_ByTypes, numbas), {"_found": {}, "_options": options})
    templates.infer(template)
    templates.infer_global(callee, types.Function(template))
