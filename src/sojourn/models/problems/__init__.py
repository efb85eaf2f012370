"""Named problems: models from the literature and our own, whose exact gains are computed, never typed in.

Each problem is a function of keyword arguments that returns a model with laws for simulation. Its docstring has the
mathematics; the paragraphs States, Actions, Rewards, Durations and Source also appear in its Gymnasium environment
(`sojourn.envs.registered`). `PROBLEMS` lists the problems by their names on the command line. State 0 is the start.

>>> from sojourn.models.problems import PROBLEMS
>>> PROBLEMS["long-shot"]().num_states
1
"""

from sojourn.data.names import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
