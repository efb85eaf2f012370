"""Learner: an agent that learns in a Gymnasium environment, and can be watched, judged, saved and loaded.

`learner` has the class itself. The other files have its parts: how it reads the environment, the driver that
takes the steps, the agent that is held ready for compiled code, masks, warnings, evaluation and files. What an
environment is belongs in `envs`, how an agent learns in `agents`, and no loop over many runs belongs here.
"""
