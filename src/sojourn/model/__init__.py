"""Finite models: `SMDP` is what one is, and the functions here make them of what people have."""

from sojourn.model.build import from_arrays, from_matrices, from_transitions
from sojourn.model.files import load_model, save_model
from sojourn.model.options import Option, from_options, primitive
from sojourn.model.smdp import SMDP
from sojourn.model.structure import end_components, findings
from sojourn.model.table import from_table

__all__ = [
    "SMDP",
    "Option",
    "end_components",
    "findings",
    "from_arrays",
    "from_matrices",
    "from_options",
    "from_table",
    "from_transitions",
    "load_model",
    "primitive",
    "save_model",
]
