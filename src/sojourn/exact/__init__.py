"""Exact answers about a model: optimal policies, the worth of a policy, and bounds that prove both.

There is one solver to a file, `solve` chooses among them, and `audit/` says where every estimator of the rate ends.
All of it needs a model and nothing else: what draws random numbers, learns or runs belongs to upper rooms.
"""
