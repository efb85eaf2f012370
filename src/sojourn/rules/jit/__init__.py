"""Numba: the only folder that imports it, or llvmlite.

`compiler` compiles kernels by Numba's public interface. The other files make that faster, or its code: `link`, `memory`,
`columns` and `lanes` reach into Numba, and so does `code_files`, which `cache` uses. Each can be switched off, and is if
this Numba lacks what it needs (`is_plain` in `rules/bridge.py`). `identity` says what machine code and numbers depend on.
"""
