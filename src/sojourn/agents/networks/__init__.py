"""Networks: agents for observations that cannot be listed, with gradients written by hand and compiled.

`products` and `perceptron` have the network itself, `adam` says how its weights move, and `scaling` has the running
means that give observations and rewards their units. `protocol` says what an agent of observations is; `deep_q` and
`ppo` are two of them. Environments do not belong here.
"""
