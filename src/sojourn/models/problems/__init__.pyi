"""The public names, by the file that defines them."""

from sojourn.models.problems.catalogue import PROBLEMS
from sojourn.models.problems.criteria import high_time_variance
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
    "high_time_variance",
    "jobs",
    "long_return",
    "long_shot",
    "replacement",
    "river_swim",
    "tijms_maintenance",
    "two_choice",
]
