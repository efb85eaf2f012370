"""Agents that learn a model of their world and plan with it.

`counts` keeps what was seen of each pair of state and action, `model` makes a small model of it, `solve` finds
its best policy, `plan` decides when to plan and whether to try something or to earn, and `planner` is the agent.
"""
