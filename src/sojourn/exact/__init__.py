"""Exact answers about a model: optimal policies, the gain of a policy, and bounds that certify both.

Each solver has its own file, `solve` chooses among them, `audit/` says what every estimator of the rate converges to, and
`logs/` answers from the counts of a log. All of this needs only a model. Code that draws random numbers, learns or runs
belongs to higher rooms.

>>> import sojourn as sj
>>> model = sj.problems.PROBLEMS["gosavi"]()
>>> abs(sj.solve(model).gain - sj.exact.modified_policy_iteration(model).gain) < 1e-6
True
"""

from sojourn.data.names import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
