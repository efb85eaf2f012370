"""Agents: what an agent learns from one transition, and which action it takes next.

`protocol` says what an agent is, `values` has what it knows about each action, `methods` has the TD error of each
method, and `learning` has the code that all methods share. `constructors` makes the agents that papers describe, and
`catalogue` has an entry for each. Agents know nothing about worlds, loops or environments.

>>> import sojourn as sj
>>> agent = sj.agents.fixed_rate(2, 2, rate=1.0, step_size=0.5, exploration=0.0)
>>> agent = sj.learn(agent, 0, 1, 3.0, 2.0, 0, False)  # action 1 in state 0: 3 in a time of 2
>>> agent.values.q[0].tolist()
[0.0, 0.5]
"""

from sojourn.data.names import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
