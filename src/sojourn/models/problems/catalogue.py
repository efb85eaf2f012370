"""The list of problems: the name of each on the command line, and where it is defined."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sojourn.data.names import Catalogue

if TYPE_CHECKING:
    from sojourn.models.smdp import SMDP

PROBLEMS: Catalogue[Callable[..., SMDP]] = Catalogue(
    {
        "gosavi": "sojourn.models.problems.loops:gosavi",
        "tijms-maintenance": "sojourn.models.problems.machines:tijms_maintenance",
        "access-control": "sojourn.models.problems.queues:access_control",
        "river-swim": "sojourn.models.problems.loops:river_swim",
        "two-choice": "sojourn.models.problems.loops:two_choice",
        "admission-control": "sojourn.models.problems.queues:admission_control",
        "replacement": "sojourn.models.problems.machines:replacement",
        "four-rooms": "sojourn.models.problems.rooms:four_rooms",
        "long-shot": "sojourn.models.problems.estimators:long_shot",
        "long-return": "sojourn.models.problems.estimators:long_return",
        "early-pay": "sojourn.models.problems.estimators:early_pay",
        "rare-delay": "sojourn.models.problems.estimators:rare_delay",
        "jobs": "sojourn.models.problems.estimators:jobs",
        "high-time-variance": "sojourn.models.problems.authors:high_time_variance",
        "ratio-vs-step-rate": "sojourn.models.problems.authors:ratio_vs_step_rate",
        "harmonic-criterion": "sojourn.models.problems.authors:harmonic_criterion",
        "two-states-uneven": "sojourn.models.problems.authors:two_states_uneven",
        "bonus": "sojourn.models.problems.authors:bonus",
        "schwartz": "sojourn.models.problems.authors:schwartz",
        "whack-a-mole": "sojourn.models.problems.authors:whack_a_mole",
        "three-rides": "sojourn.models.problems.risk:three_rides",
        "red-pill-blue-pill": "sojourn.models.problems.risk:red_pill_blue_pill",
    }
)

# The gain of these depends on the start, so agents are not compared on them; they can be solved.
SEVERAL_GAINS: Catalogue[Callable[..., SMDP]] = Catalogue(
    {
        "hell-or-heaven": "sojourn.models.problems.authors:hell_or_heaven",
        "gemini": "sojourn.models.problems.authors:gemini",
        "feinberg": "sojourn.models.problems.authors:feinberg",
    }
)
