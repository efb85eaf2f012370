"""Problems of the authors of Harmonic R-Learning, in which ways to average a rate part from each other.

They are written after the definitions in their repository, github.com/erelon/SMDP_Agents, file examples/envs/configs.py
at commit 1d662de; the analyses are Sojourn's own, where nothing else is said.
"""

from __future__ import annotations

from sojourn.models.problems.loops import MOST_STATES
from sojourn.models.smdp import SMDP
from sojourn.models.transitions import Transition, from_transitions
from sojourn.rules.numbers import finite, positive, whole


def high_time_variance(
    *,
    long_reward: float = 10.0,
    long_duration: float = 10.0,
    burst_length: int = 10,
    burst_reward: float = 1.0,
    burst_duration: float = 0.1,
    steady_reward: float = 1.0,
    steady_duration: float = 1.0,
) -> SMDP:
    """A long step and then a burst of short ones, or a steady step: forgetting by steps forgets the long one.

    A round of A earns 10 + 10 * 1 in a time of 10 + 10 * 0.1, and so 20/11 = 1.818; B earns 1. A step of either takes a time
    of 1 in the mean, so that A is greedy at every rate. Yet a learner can lose it: ten of the eleven steps of a round
    have the rate 10, so that estimators which count steps are far too high. Then all values fall, and that of B, which is
    seldom taken, falls later. With exploration e and k = (1 - e/2) / (e/2), A is kept at rates up to

        (20 k / 11 - 1) / (k - 1)

    which is 1.9205 for e = 0.2. (The authors have 19/10, which leaves out that values fall.)

    States: 0 has the choice, then those of the burst in order.

    Actions: in state 0, 0 is A, the long step, and 1 is B, the steady one; elsewhere only 0.

    Rewards: 10 for the long step, 1 for each step of the burst and for B.

    Durations: 10 for the long step, 0.1 for each of the burst, 1 for B.

    Source: `high_time_variance` in the repository of the authors of Harmonic R-Learning,
    github.com/erelon/SMDP_Agents, examples/envs/configs.py, commit 1d662de.

    >>> model = high_time_variance()
    >>> model, model.reward[:3], model.duration[:3]
    (SMDP(11 states, 12 pairs, 12 rows), array([10.,  1.,  1.]), array([10. ,  1. ,  0.1]))
    """
    length = whole("burst_length", burst_length, most=MOST_STATES)
    burst = finite("burst_reward", burst_reward), positive("burst_duration", burst_duration)
    rows: list[Transition] = [
        (0, 0, 1, 1.0, finite("long_reward", long_reward), positive("long_duration", long_duration)),
        (0, 1, 0, 1.0, finite("steady_reward", steady_reward), positive("steady_duration", steady_duration)),
        *((place, 0, (place + 1) % (length + 1), 1.0, *burst) for place in range(1, length + 1)),
    ]
    return from_transitions(rows)
