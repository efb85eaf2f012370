"""Exact answers about a model: optimal policies, the worth of a policy, and bounds that prove both.

Each solver has its own file, `solve` chooses among them, and `audit/` says what every estimator of the rate converges to.
All of this needs only a model. Code that draws random numbers, learns or runs belongs to higher rooms.
"""
