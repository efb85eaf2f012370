"""Values: what an agent knows about each pair of state and action.

`protocol` says what values are and has tables; `tiles` has values for states that are vectors. No rule outside this folder
looks inside them: agents read a value, ask for the best action, and move a value.
"""
