"""The audit of a model: what each estimator of the rate converges to, and whether the optimal policy survives it.

`limits` has the law of a step, from which the limits follow, and `step_sizes` the means at given step sizes. `frontier` finds
the policy that is greedy at a given rate, `lock_in` finds the policies that a learner keeps at a wrong rate, and `audit` puts
all of this together.
"""
