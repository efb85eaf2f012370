"""Finite models: `smdp` says what one is, `build` makes them of what people have.

`options` makes them of an MDP with options, `files` reads and writes them.
"""

from sojourn.model.build import from_arrays, from_matrices, from_table, from_transitions
from sojourn.model.smdp import SMDP

__all__ = ["SMDP", "from_arrays", "from_matrices", "from_table", "from_transitions"]
