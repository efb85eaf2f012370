"""Agents: what an agent learns from one transition, and which action it takes next.

`protocol` says what an agent is, `values` has what it knows about each action, `methods` has the TD error of each
method, and `learning` has the code that all methods share. `constructors` makes the agents that papers describe, and
`catalogue` has an entry for each. Agents know nothing about worlds, loops or environments.
"""
