"""Values: what an agent knows of each pair of state and action.

`protocol` says what values are; then one kind a file. No rule outside this folder looks inside
one: whoever learns reads, asks for the best action, and moves.
"""
