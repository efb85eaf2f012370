"""Learner: an agent that learns in a Gymnasium environment, and can be monitored, evaluated, saved and loaded.

`learner` has the class itself; `choice` resolves its environment and its agent, `driver` takes the steps,
`table_agent` holds an agent with a table of values in the form for compiled code, and the other files evaluate, warn,
save and load. How an environment is read belongs in `envs`, how an agent learns in `agents`, and loops over many runs
in `runs`.

>>> import sojourn as sj
>>> learner = sj.Learner(sj.envs.WorldEnv(sj.worlds.TwoState(log_scale=0.01)), sj.smart, seed=1)
>>> learner.train(100).steps
100
"""

from sojourn.data.names import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
