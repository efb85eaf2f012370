"""Problems that tell estimators of the rate apart: the harmonic mean is wrong in some of them and best in one."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.data.numbers import finite, positive, probability, several
from sojourn.models.laws import Outcomes, TwoPoint
from sojourn.models.smdp import SMDP
from sojourn.models.transitions import from_transitions


def long_shot(
    *,
    short_rewards: Sequence[float] = (1.0, 9.0),
    short_duration: float = 1.0,
    long_rewards: Sequence[float] = (4.0, 20.0),
    long_duration: float = 4.0,
) -> SMDP:
    """A short action and a long one, with rewards that vary: the harmonic mean prefers the worse one.

    Each action has two rewards, equally likely, and a fixed duration. The gain of always taking A is
    (1 + 9) / 2 / 1 = 5, and that of always taking B is (4 + 20) / 2 / 4 = 3. The
    harmonic mean of A's rates 1 and 9 is only 1.8, because reward and duration are independent.
    A rate of 1.8 makes time too cheap: 12 - 1.8 * 4 = 4.8 for B is more than 5 - 1.8 = 3.2 for A. (An agent
    that explores little may keep to A all the same if it started with A: at such a low rate all values
    grow, and the value of an action that is seldom taken lags behind.)

    States: one.

    Actions: 0 is A, the short one; 1 is B, the long one.

    Rewards: 1 or 9 for A, 4 or 20 for B, each with probability 1/2.

    Durations: 1 for A, 4 for B.

    Source: Sojourn's own, a counterexample to the harmonic rate of Harmonic R-Learning.

    >>> model = long_shot()
    >>> model.reward / model.duration
    array([5., 3.])
    """
    rows = []
    for action, (name, rewards, duration) in enumerate(
        (("short", short_rewards, short_duration), ("long", long_rewards, long_duration))
    ):
        low, high = _two(f"{name}_rewards", rewards)
        rows.append((0, action, 0, 1.0, TwoPoint(low, high, 0.5), positive(f"{name}_duration", duration)))
    return from_transitions(rows, action_names=("A", "B"))


def long_return(
    *,
    short_reward: float = 30.0,
    short_duration: float = 2.0,
    long_reward: float = 770.0,
    long_duration: float = 100.0,
    return_reward: float = 0.0,
    return_duration: float = 1.0,
) -> SMDP:
    """The paper's two states with constant numbers: counting the way back as a rate of 0 is misleading.

    Both actions lead to the second state, which leads back. The gain of A is 30 / (2 + 1) = 10
    and that of B is 770 / (100 + 1) = 7.62. The modified harmonic
    mean gives the way back half the weight, however long it takes: (15 + 0) / 2 = 7.5 with A. At a
    rate of 7.5, B looks better than A, with 770 - 750 = 20 against 30 - 15 = 15. Under B the mean falls to
    3.85, and B looks better still.

    States: 0 has the choice, 1 is the way back.

    Actions: 0 is A, the short one; 1 is B, the long one. In state 1 they do the same.

    Rewards: 30 for A, 770 for B, 0 for the way back.

    Durations: 2 for A, 100 for B, 1 for the way back.

    Source: the graph of the simulation study in the Harmonic R-Learning paper, with Sojourn's own numbers.

    >>> model = long_return()
    >>> model.reward, model.duration
    (array([ 30., 770.,   0.,   0.]), array([  2., 100.,   1.,   1.]))
    """
    back = (finite("return_reward", return_reward), positive("return_duration", return_duration))
    return from_transitions(
        [
            (0, 0, 1, 1.0, finite("short_reward", short_reward), positive("short_duration", short_duration)),
            (0, 1, 1, 1.0, finite("long_reward", long_reward), positive("long_duration", long_duration)),
            (1, 0, 0, 1.0, *back),
            (1, 1, 0, 1.0, *back),
        ],
        state_names=("choice", "return"),
        action_names=("A", "B"),
    )


def early_pay(
    *,
    early_reward: float = 10.0,
    way_back: float = 9.0,
    late_rewards: Sequence[float] = (0.1, 1.3),
) -> SMDP:
    """Pay at once and a long way back, or little now and more on the way: a guess of the rate that never rests.

    A earns 10 in a time of 1, and the way back nothing in 9: a gain of 1. B earns 0.1 and then 1.3, each in 1: a gain of
    0.7. The modified harmonic mean is 5 under A and 0.19 under B, and the mean duration of a step 5 under A and 1 under B.
    An agent whose rate is corrected by the level of its values, but with a guess and a unit of time that forget, changes
    both with its policy, and its policy with them, for ever.

    States: 0 has the choice, 1 is the way back of A, 2 that of B.

    Actions: in state 0, 0 is A and 1 is B; elsewhere there is only 0.

    Rewards: 10 for A and 0 on its way back; 0.1 for B and 1.3 on its way back.

    Durations: 9 for the way back of A, otherwise 1.

    Source: Sojourn's own, a counterexample to centring with a guess that forgets.

    >>> model = early_pay()
    >>> model.reward, model.duration
    (array([10. ,  0.1,  0. ,  1.3]), array([1., 1., 9., 1.]))
    """
    first, second = _two("late_rewards", late_rewards)
    return from_transitions(
        [
            (0, 0, 1, 1.0, finite("early_reward", early_reward), 1.0),
            (0, 1, 2, 1.0, first, 1.0),
            (1, 0, 0, 1.0, 0.0, positive("way_back", way_back)),
            (2, 0, 0, 1.0, second, 1.0),
        ],
        state_names=("choice", "way back", "second half"),
        action_names=("A", "B"),
    )


def rare_delay(
    *,
    reward: float = 1.0,
    usual: float = 0.01,
    delay: float = 1000.0,
    chance: float = 0.001,
    gain: float = 0.6,
) -> SMDP:
    """An action that is nearly always short and very rarely very long, beside one that always takes the same time.

    A pays 1 in a time of 1: a gain of 1. B takes 0.01, but once in a thousand times 1000, which is 1.00999 in the mean, and
    pays 0.6 times that: a gain of 0.6. Whatever divides by durations, or by a mean that has just seen the step's own
    duration, takes a mean of ratios for a ratio of means, and charges B too little.

    States: one.

    Actions: 0 is A, the steady one; 1 is B.

    Rewards: 1 for A; 0.605994 for B, whatever its duration.

    Durations: 1 for A; 0.01 for B, or 1000 with probability 0.001.

    Source: Sojourn's own, a counterexample to centring with a unit of time that contains the step's own duration.

    >>> model = rare_delay()
    >>> (model.reward / model.duration).round(9)
    array([1. , 0.6])
    """
    usual, delay, chance = positive("usual", usual), positive("delay", delay), probability("chance", chance)
    paid = finite("gain", gain) * (chance * delay + (1.0 - chance) * usual)
    rows = [
        (0, 0, 0, 1.0, finite("reward", reward), 1.0),
        (0, 1, 0, 1.0, paid, TwoPoint(usual, delay, chance)),
    ]
    return from_transitions(rows, action_names=("steady", "short or long"))


def jobs(
    *,
    sizes: Sequence[float] = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0),
    first_paces: Sequence[float] = (0.5, 1.5),
    second_paces: Sequence[float] = (0.6, 1.2),
) -> SMDP:
    """Jobs of random size at a random pace: here the harmonic mean is the better estimator.

    A job of size r pays r and takes a time of r s, where the pace s (time per unit of size) is independent
    of r. The rate of a job is 1/s, so the harmonic mean of n rates is 1 / (mean of s), and the
    ratio of sums is 1 / (mean of s weighted by r). Both tend to the gain

        E[r] / E[r s] = 1 / E[s]

    but the variance of the second is larger by the factor E[r^2] / E[r]^2, here 2.06.

    States: one.

    Actions: 0 takes the next job to the first machine, with a mean pace of 1; 1 takes it to the second, with 0.9.

    Rewards: the size of the job; all of `sizes` are equally likely.

    Durations: size times pace; all paces of the machine are equally likely.

    Source: Sojourn's own, an example in which the harmonic rate of Harmonic R-Learning is right.

    >>> jobs().reward / jobs().duration * (1.0, 0.9)
    array([1., 1.])
    """
    sizes = _positives("sizes", sizes)
    rows = []
    for action, (name, given) in enumerate((("first_paces", first_paces), ("second_paces", second_paces))):
        paces = _positives(name, given)
        chance = 1.0 / (len(sizes) * len(paces))
        outcomes = Outcomes([(chance, size, size * pace) for size in sizes for pace in paces])
        rows.append((0, action, 0, 1.0, outcomes))
    return from_transitions(rows, action_names=("first", "second"))


def _two(name: str, numbers: Sequence[float]) -> tuple[float, float]:
    if len(several(name, numbers)) != 2:
        raise ValueError(f"{name} has {len(numbers)} numbers; it must have 2")
    return finite(name, numbers[0]), finite(name, numbers[1])


def _positives(name: str, numbers: Sequence[float]) -> list[float]:
    return [positive(name, number) for number in several(name, numbers)]
