"""Estimators of the reward rate, a list of them by name, and means of recorded rates.

An estimator is a small value with three rules: `update`, `value` and `limit`; `catalogue` lists all estimators by name.
Nothing here knows of models, worlds or agents: an estimator sees only rewards and durations.

>>> import sojourn as sj
>>> rate = sj.rates.update(sj.rates.Cumulative(), 6.0, 2.0)  # a reward of 6 in a time of 2
>>> sj.rates.value(rate)
3.0
"""

from sojourn.data.names import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
