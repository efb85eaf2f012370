"""Networks: agents for observations that cannot be listed, with gradients written by hand and compiled.

`products` and `perceptron` have the network itself, `adam` how its weights move, `scaling` the running means that
put observations and rewards into units of their own. `protocol` says what an agent of observations is; `deep_q`
and `ppo` are two of them. Environments do not belong here.
"""
