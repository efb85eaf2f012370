"""Learner: an agent that learns in a Gymnasium environment, is watched, judged, saved and loaded.

`learner` has the class itself; its parts are beside it: how it reads the environment, the driver that
takes the steps, the agent that is held compiled, masks, warnings, evaluation and files. What an
environment is belongs to `envs`, how an agent learns to `agents`, and no loop over many runs belongs here.
"""
