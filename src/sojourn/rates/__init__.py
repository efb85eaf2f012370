"""Estimators of the reward rate: what one is, ours by family, and means of recorded rates.

An estimator is a small value with three rules: `update`, `value` and `limit`; `named` lists them all by name.
Nothing here knows of models, worlds or agents: an estimator sees rewards and durations, and nothing else.
"""
