"""Exact answers about a model: optimal policies, the gain of a policy, and bounds that certify both.

Each solver has its own file, `solve` chooses among them, `audit/` says what every estimator of the rate converges to, and
`logs/` answers from the counts of a log. All of this needs only a model. Code that draws random numbers, learns or runs
belongs to higher rooms.
"""
