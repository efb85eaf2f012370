"""Agents: how one transition changes what is known, and which action comes next.

`protocol` says what an agent is; `values` has what it knows of each action, `errors` what each method
takes for the error, `learn` the one body that all of them share. `literature` has the agents that papers
describe, `named` an entry for each. No agent knows a world, a loop or an environment.
"""
