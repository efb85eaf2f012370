"""Finite models: `SMDP` is what one is, and the functions here make them from what people have.

Models are descriptions: their laws, their structure, their files, and named problems. Solving and judging them belongs to
`sojourn.exact`; what is computed here (`chain`) is what it takes to describe options as actions, which have to be
followed to their ends.

>>> import sojourn as sj
>>> model = sj.model.from_transitions([  # state, action, next state, probability, reward, duration
...     (0, 0, 1, 1.0, 6.0, 2.0),
...     (1, 0, 0, 1.0, 0.0, 1.0),
... ])
>>> sj.solve(model).gain
2.0
"""

from sojourn.models.build import from_arrays, from_matrices
from sojourn.models.files import load_model, save_model
from sojourn.models.options import Option, from_options, primitive
from sojourn.models.smdp import SMDP
from sojourn.models.structure import end_components, findings
from sojourn.models.table import from_table
from sojourn.models.transitions import from_transitions

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
