"""The public names, by the file that defines them."""

from sojourn.models.dictionaries import from_dict
from sojourn.models.explore import explore
from sojourn.models.matrices import from_arrays, from_matrices
from sojourn.models.model_files import load_model, save_model
from sojourn.models.modulated import modulated
from sojourn.models.option_models import Option, from_options, interrupted, primitive
from sojourn.models.smdp import SMDP
from sojourn.models.structure import end_components, findings
from sojourn.models.transitions import from_rates, from_table, from_transitions

__all__ = [
    "SMDP",
    "Option",
    "end_components",
    "explore",
    "findings",
    "from_arrays",
    "from_dict",
    "from_matrices",
    "from_options",
    "from_rates",
    "from_table",
    "from_transitions",
    "interrupted",
    "load_model",
    "modulated",
    "primitive",
    "save_model",
]
