"""The only folder that imports Numba or llvmlite.

`compiler` compiles kernels through Numba's public interface. The other files speed up compilation, or the code
itself: `link`, `memory`, `columns` and `lanes` use Numba's private interface, and so does `code_files`, which `cache`
uses. Each can be switched off, and is if this version of Numba does not support it (`is_plain` in `rules/bridge.py`).
`identity` hashes what machine code and numbers depend on.
"""
