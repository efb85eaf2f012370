"""Agents that learn a model of their world and plan with it.

`model` keeps what was seen of each pair of state and action and makes small models of it, `solver` finds the best policy
of a model, and `planner` is the agent: it decides when to plan, and whether to try something or to earn.
"""
