"""Estimators of the reward rate, a list of them by name, and means of recorded rates.

An estimator is a small value with three rules: `update`, `value` and `limit`; `catalogue` lists all estimators by name.
Nothing here knows of models, worlds or agents: an estimator sees only rewards and durations.
"""
