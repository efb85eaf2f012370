"""Networks: agents for observations that cannot be listed, with gradients written by hand and compiled.

`protocol` says what an agent of observations is. `perceptron` has the network and how its weights move, `base` has what
all network agents share, such as the running means that give observations and rewards their units; `deep_q`, `ppo`
and `sac` are such agents. Environments do not belong here.
"""
