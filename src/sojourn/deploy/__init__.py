"""Policies at work: they load without Gymnasium, Numba and matplotlib, act within microseconds, and can be watched.

`load_policy` reads the policy file of any agent, and `Monitor` says when what is earned has left the interval that was
promised. This room needs NumPy alone, so importing it takes no longer than importing NumPy and a few files.

`tabulation` numbers observations, and `spaces` flattens them; `tables`, `networks` and `tiled` act; `reading` reads policy files,
`monitor` watches, and `exports` writes networks as ONNX or as a module of NumPy.
"""

from sojourn.data.names import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
