"""Agents: what an agent learns from one transition, and which action it takes next.

`protocol` says what an agent is, `values` has what it knows about each action, `errors` has the error of each
method, and `learn` has the code that all methods share. `literature` has the agents that papers describe, and
`named` has an entry for each. Agents know nothing about worlds, loops or environments.
"""
