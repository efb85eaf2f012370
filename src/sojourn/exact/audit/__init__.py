"""The audit of a model: what each estimator of the rate converges to, and whether the optimal policy survives it.

`limits` has the law of a step, from which the limits follow. `frontier` finds the policy that is greedy at a given rate,
and `signs` the parts of a law above and below zero.
"""
