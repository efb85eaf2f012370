"""Finite models: the class `SMDP`, and functions that make models from arrays, lists, dictionaries and files.

This room describes models: their laws, their structure, their files, and named problems. Solving and judging them belongs to
`sojourn.exact`. The little that is computed here (`chain`) is needed to describe options as actions, since an option must be
followed to its end.

>>> import sojourn as sj
>>> model = sj.models.from_transitions([  # state, action, next state, probability, reward, duration
...     (0, 0, 1, 1.0, 6.0, 2.0),
...     (1, 0, 0, 1.0, 0.0, 1.0),
... ])
>>> sj.solve(model).gain
2.0
"""

from sojourn.data.names import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
