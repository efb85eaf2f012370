"""Named problems: models with a source, whose exact gains are computed and never typed in.

Each is a function of keyword arguments that returns a model with laws for simulation; its docstring
tells the mathematics, and its paragraphs States, Actions, Rewards, Durations and Source are
those of its Gymnasium environment (`sojourn.envs.problems`). `PROBLEMS` has them by the
names of the command line. State 0 is the one to begin in.

>>> from sojourn.models.problems import PROBLEMS
>>> PROBLEMS["long-shot"]().num_states
1
"""

from sojourn.models.problems.catalogue import PROBLEMS
from sojourn.models.problems.estimators import jobs, long_return, long_shot
from sojourn.models.problems.loops import gosavi, river_swim, two_choice
from sojourn.models.problems.machines import replacement, tijms_maintenance
from sojourn.models.problems.queues import access_control, admission_control
from sojourn.models.problems.rooms import four_rooms

__all__ = [
    "PROBLEMS",
    "access_control",
    "admission_control",
    "four_rooms",
    "gosavi",
    "jobs",
    "long_return",
    "long_shot",
    "replacement",
    "river_swim",
    "tijms_maintenance",
    "two_choice",
]
