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

from sojourn.rules.names import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
