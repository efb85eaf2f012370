"""The public names, by the file that defines them."""

from sojourn.models.problems.authors import (
    bonus,
    feinberg,
    gemini,
    harmonic_criterion,
    hell_or_heaven,
    high_time_variance,
    ratio_vs_step_rate,
    schwartz,
    two_states_uneven,
    whack_a_mole,
)
from sojourn.models.problems.catalogue import PROBLEMS
from sojourn.models.problems.estimators import early_pay, jobs, long_return, long_shot, rare_delay
from sojourn.models.problems.loops import gosavi, river_swim, two_choice
from sojourn.models.problems.machines import replacement, tijms_maintenance
from sojourn.models.problems.queues import access_control, admission_control
from sojourn.models.problems.risk import red_pill_blue_pill, three_rides
from sojourn.models.problems.rooms import four_rooms, hallways

__all__ = [
    "PROBLEMS",
    "access_control",
    "admission_control",
    "bonus",
    "early_pay",
    "feinberg",
    "four_rooms",
    "gemini",
    "gosavi",
    "hallways",
    "harmonic_criterion",
    "hell_or_heaven",
    "high_time_variance",
    "jobs",
    "long_return",
    "long_shot",
    "rare_delay",
    "ratio_vs_step_rate",
    "red_pill_blue_pill",
    "replacement",
    "river_swim",
    "schwartz",
    "three_rides",
    "tijms_maintenance",
    "two_choice",
    "two_states_uneven",
    "whack_a_mole",
]
