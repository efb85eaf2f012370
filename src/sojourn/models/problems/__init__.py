"""Named problems: models with a source, whose exact gains are computed and never typed in.

Each is a function of keyword arguments that returns a model with laws for simulation; its docstring
tells the mathematics, and its paragraphs States, Actions, Rewards, Durations and Source are
those of its Gymnasium environment (`sojourn.envs.problems`). `PROBLEMS` has them by the
names of the command line. State 0 is the one to begin in.

>>> from sojourn.models.problems import PROBLEMS
>>> PROBLEMS["long-shot"]().num_states
1
"""

from sojourn.rules.names import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
