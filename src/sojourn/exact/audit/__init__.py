"""The audit of a model: where each estimator of the rate ends, and whether the optimal policy survives it.

`limits` has the law of a step that limits are made of, `frontier` the policy that is greedy for any rate, `signs` the
parts of a law above and below zero.
"""
