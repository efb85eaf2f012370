"""Problems by the authors of Harmonic R-Learning, in which ways to average a rate, or criteria for it, disagree.

They follow the definitions in the authors' repository, github.com/erelon/SMDP_Agents, folder examples/envs at commit 1d662de.
The analyses are Sojourn's own, unless something else is said. In `hell_or_heaven`, `gemini` and `feinberg` the gain depends
on the start, so a learner without restarts has nothing to learn. `solve` finds a gain for each state, and `solve_ratio` uses
another criterion. These three are not among `PROBLEMS`, on which agents are compared.
"""

from __future__ import annotations

import math

import numpy as np

from sojourn.data.numbers import finite, positive, probability, whole
from sojourn.models.laws import Outcomes, TwoPoint
from sojourn.models.problems.loops import MOST_STATES
from sojourn.models.smdp import SMDP
from sojourn.models.transitions import Transition, from_transitions
from sojourn.rules.arrays import Floats

MOST_HOLES = 9  # which make 4,608 states


# --- Ways to average a rate ---------------------------------------------------------------


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
    """A long step and then a burst of short ones, or a steady step: an estimator that counts steps forgets the long one.

    A round of A earns 10 + 10 * 1 in a time of 10 + 10 * 0.1, which is 20/11 = 1.818 per unit time; B earns 1. A step of
    either takes a mean time of 1, so A is greedy at every rate. Yet a learner can lose A: ten of the eleven steps of a round
    have the rate 10, so estimators that count steps are far too high. Then all values fall, and that of B, which is seldom
    taken, lags behind. With exploration e and k = (1 - e/2) / (e/2), A is kept at rates up to

        (20 k / 11 - 1) / (k - 1)

    which is 1.9205 for e = 0.2. (The authors give 19/10, which does not take into account that values fall.)

    States: 0 has the choice; then come those of the burst, in order.

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


def ratio_vs_step_rate(
    *,
    chance: float = 0.01,
    lucky_reward: float = 100.0,
    lucky_duration: float = 1.0,
    usual_reward: float = 1.0,
    usual_duration: float = 1000.0,
    steady_reward: float = 1.0,
    steady_duration: float = 1.0,
) -> SMDP:
    """A rare jackpot in a long grind, or a steady income: the mean of the rates prefers the worse one.

    A earns (0.01 * 100 + 0.99 * 1) / (0.01 * 1 + 0.99 * 1000) = 1.99 / 990.01 = 0.002 per unit time, and B earns 1. But the
    mean of A's rates is 0.01 * 100 + 0.99 / 1000 = 1.00099.

    States: one.

    Actions: 0 is A, the jackpot; 1 is B, the steady one.

    Rewards: 100 with probability 0.01 and otherwise 1 for A; 1 for B.

    Durations: 1 with the jackpot and 1000 without it for A; 1 for B.

    Source: `ratio_vs_step_rate` in the repository of the authors of Harmonic R-Learning,
    github.com/erelon/SMDP_Agents, examples/envs/configs.py, commit 1d662de.

    >>> (ratio_vs_step_rate().reward / ratio_vs_step_rate().duration).round(5)
    array([0.00201, 1.     ])
    """
    lucky = finite("lucky_reward", lucky_reward), positive("lucky_duration", lucky_duration)
    usual = finite("usual_reward", usual_reward), positive("usual_duration", usual_duration)
    steady = finite("steady_reward", steady_reward), positive("steady_duration", steady_duration)
    p = probability("chance", chance)
    jackpot = Outcomes([(share, *each) for share, each in ((p, lucky), (1.0 - p, usual)) if share > 0.0])
    return from_transitions([(0, 0, 0, 1.0, jackpot), (0, 1, 0, 1.0, *steady)], action_names=("A", "B"))


def harmonic_criterion(
    *, spread: float = 10.0, steady_rate: float = 0.5, steady_duration: float = 100.0
) -> SMDP:
    """Three ways to average a rate give 1, 5.05 and 0.198 for one action; the other's rate of 0.5 lies between them.

    A pays 10 in a time of 1, or 1 in a time of 10, equally often. Its gain is 5.5 / 5.5 = 1, the mean of its rates is (10 +
    0.1) / 2 = 5.05, and their harmonic mean is 2 / (0.1 + 10) = 0.198. The gain is the geometric mean of the other two for
    any spread. B earns 0.5 per unit time, in a time of 100, and is greedy at rates below (50 - 5.5) / (100 - 5.5) = 0.471: the
    harmonic mean is low enough to prefer it. Yet a learner with that rate stays with A: values grow, and that of B, which is
    seldom taken, lags behind. If it started with B, it would leave B, since B's own rate is 0.5.

    States: one.

    Actions: 0 is A, 1 is B.

    Rewards: 10 or 1 for A, 50 for B.

    Durations: 1 or 10 for A, 100 for B.

    Source: `harmonic_criterion` in the repository of the authors of Harmonic R-Learning,
    github.com/erelon/SMDP_Agents, examples/envs/configs.py, commit 1d662de, which calls the use of such a rate in
    r - rho tau "a type error, not a better gain estimate".

    >>> harmonic_criterion().reward / harmonic_criterion().duration
    array([1. , 0.5])
    """
    wide, lasting = positive("spread", spread), positive("steady_duration", steady_duration)
    gamble = Outcomes([(0.5, wide, 1.0), (0.5, 1.0, wide)])
    steady = finite("steady_rate", steady_rate) * lasting
    return from_transitions(
        [(0, 0, 0, 1.0, gamble), (0, 1, 0, 1.0, steady, lasting)], action_names=("A", "B")
    )


def two_states_uneven(
    *,
    best_rate: float = 0.8,
    shortest: float = 1.0,
    longest: float = 500.0,
    num_durations: int = 50,
    leave: float = 0.2,
    escape: float = 0.8,
) -> SMDP:
    """A good state and a bad one; in the bad one, the action that pays less is the one that leads out.

    All steps take a random time from 1 to 500 with the same law, and pay that time multiplied by a rate: 0.8 or 0.4 in the
    good state, 0.8 / 1.5 or 0.8 / 3 in the bad one. The good state is left with probability 0.2; the bad one is left with 0.2
    by the first action and 0.8 by the second. So taking the first action everywhere earns (0.8 + 0.8 / 1.5) / 2 = 0.667 per
    unit time, and taking the second one in the bad state earns 0.8 * 0.8 + 0.2 * 0.8 / 3 = 0.693.

    States: 0 is the good one, 1 the bad one.

    Actions: 0 pays more in both states, 1 leads out of the bad one.

    Rewards: the duration times the rate of the state and action.

    Durations: the middles of 50 equal parts of 1 to 500, equally likely.

    Source: `UnevenTwoStates` in the repository of the authors of Harmonic R-Learning,
    github.com/erelon/SMDP_Agents, examples/envs/two_states.py, commit 1d662de. There durations are uniform, and rewards have
    noise with a standard deviation of 5, cut off at 1 and at the duration. Without the noise the gains are exactly the same.

    >>> model = two_states_uneven()
    >>> (model.reward / model.duration).round(3)
    array([0.8  , 0.4  , 0.533, 0.267])
    """
    low, high = positive("shortest", shortest), positive("longest", longest)
    if high < low:
        raise ValueError(f"longest is {high}; it must be at least shortest, which is {low}")
    count = whole("num_durations", num_durations, most=MOST_STATES)
    best, away = finite("best_rate", best_rate), probability("leave", leave)
    times = [low + (high - low) * (place + 0.5) / count for place in range(count)]
    rows: list[Transition] = []
    for state, action, divisor, moved in (
        (0, 0, 1.0, away),
        (0, 1, 2.0, away),
        (1, 0, 1.5, away),
        (1, 1, 3.0, probability("escape", escape)),
    ):
        pay = Outcomes([(1.0 / count, best / divisor * time, time) for time in times])
        rows += [
            (state, action, after, chance, pay)
            for after, chance in ((1 - state, moved), (state, 1.0 - moved))
            if chance > 0.0
        ]
    return from_transitions(rows, state_names=("good", "bad"))


# --- The long run: single payments, and choices for ever ----------------------------------


def bonus(*, once: float = 100.0, income: float = 10.0) -> SMDP:
    """A bonus on the way into a loop that pays in any case: the bonus changes the bias, but not the gain.

    Both actions lead to the same loop, so every policy earns 10 per unit time. But the bias of the start is 100 - 10 with the
    bonus, and -10 without it.

    States: 0 is the start, 1 the loop.

    Actions: in state 0, 0 leaves the bonus and 1 takes it; in state 1 there is only 0.

    Rewards: 100 for the bonus, 10 in the loop, 0 otherwise.

    Durations: 1.

    Source: `bonus_unichain` in the repository of the authors of Harmonic R-Learning,
    github.com/erelon/SMDP_Agents, examples/envs/configs.py, commit 1d662de.

    >>> bonus().reward
    array([  0., 100.,  10.])
    """
    return from_transitions(
        [
            (0, 0, 1, 1.0, 0.0, 1.0),
            (0, 1, 1, 1.0, finite("once", once), 1.0),
            (1, 0, 1, 1.0, finite("income", income), 1.0),
        ],
        state_names=("start", "loop"),
    )


def schwartz(*, length: int = 49, payout: float = 50.0) -> SMDP:
    """A long way through noise to a payout; before the last step, staying pays as much as going on.

    Every step but the last pays 1 or -1, equally likely. Going on all the way earns 50 / 50 = 1 per unit time, staying 0.

    States: the places along the way, 0 to 49.

    Actions: 0 stays, 1 goes on; the last place leads back to the first.

    Rewards: 1 or -1; 50 for going on from the last place.

    Durations: 1.

    Source: `schwartz_loop` in the repository of the authors of Harmonic R-Learning,
    github.com/erelon/SMDP_Agents, examples/envs/configs.py, commit 1d662de, after A. Schwartz.

    >>> schwartz(length=2, payout=6.0)
    SMDP(3 states, 6 pairs, 6 rows)
    """
    last, coin = whole("length", length, most=MOST_STATES), TwoPoint(-1.0, 1.0, 0.5)
    rows: list[Transition] = []
    for place in range(last + 1):
        rows.append((place, 0, place, 1.0, coin, 1.0))
        end = place == last
        rows.append((place, 1, 0 if end else place + 1, 1.0, finite("payout", payout) if end else coin, 1.0))
    return from_transitions(rows, action_names=("stay", "go"))


def hell_or_heaven(*, jackpot: float = 100.0) -> SMDP:
    """A jackpot once and then a loss for ever, or nothing and then an income for ever.

    From the start the gain is 1 without the jackpot and -1 with it. (In episodes of L steps, taking the jackpot is right up to
    L = 51.)

    States: 0 is the start, 1 heaven, 2 hell.

    Actions: in state 0, 0 leads to heaven and 1 to hell; elsewhere there is only 0.

    Rewards: 100 on the way to hell, 0 on the way to heaven, 1 in heaven, -1 in hell.

    Durations: 1.

    Source: `hell_or_heaven` in the repository of the authors of Harmonic R-Learning,
    github.com/erelon/SMDP_Agents, examples/envs/configs.py, commit 1d662de.

    >>> import sojourn as sj
    >>> sj.solve(hell_or_heaven()).gains
    array([ 1.,  1., -1.])
    """
    return from_transitions(
        [
            (0, 0, 1, 1.0, 0.0, 1.0),
            (0, 1, 2, 1.0, finite("jackpot", jackpot), 1.0),
            (1, 0, 1, 1.0, 1.0, 1.0),
            (2, 0, 2, 1.0, -1.0, 1.0),
        ],
        state_names=("start", "heaven", "hell"),
    )


def gemini() -> SMDP:
    """A gamble on two loops, or a sure income: two criteria for reward per time choose differently.

    The gamble leads to a loop with a rate of 20 or, equally likely, to one with a rate of 0 in which a step takes a time of
    19. The mean of what a run earns per unit time is 10, but the mean reward of a step over its mean time is 10 / 10 = 1. The
    sure income is 4 by both criteria.

    States: 0 is the start, 1 and 2 are the loops.

    Actions: in state 0, 0 gambles and 1 stays; elsewhere there is only 0.

    Rewards: 20 for a step that takes 1 and 0 for one that takes 19; 4 for staying.

    Durations: 1 or 19; 1 for staying.

    Source: `gemini_three_state` in the repository of the authors of Harmonic R-Learning,
    github.com/erelon/SMDP_Agents, examples/envs/configs.py, commit 1d662de.

    >>> import sojourn as sj
    >>> sj.solve(gemini()).gains, sj.exact.solve_ratio(gemini()).gain
    (array([10., 20.,  0.]), 4.0)
    """
    return from_transitions(
        [
            (0, 0, 1, 0.5, 20.0, 1.0),
            (0, 0, 2, 0.5, 0.0, 19.0),
            (0, 1, 0, 1.0, 4.0, 1.0),
            (1, 0, 1, 1.0, 20.0, 1.0),
            (2, 0, 2, 1.0, 0.0, 19.0),
        ],
        action_names=("gamble", "stay"),
    )


def feinberg() -> SMDP:
    """Two loops and no choice: 7.5 by one criterion for reward per time, 6.67 by the other.

    The loops have rates of 10 and 5, and each is reached equally often, so the mean of what a run earns per unit time is
    (10 + 5) / 2 = 7.5. But a step pays 10 in both loops and takes 1.5 on average, which gives 10 / 1.5 = 6.67.

    States: 0 is the start, 1 and 2 are the loops.

    Actions: one.

    Rewards: 0 at the start, 10 in both loops.

    Durations: 1 at the start and in the first loop, 2 in the second.

    Source: `feinberg_three_state` in the repository of the authors of Harmonic R-Learning,
    github.com/erelon/SMDP_Agents, examples/envs/configs.py, commit 1d662de.

    >>> import sojourn as sj
    >>> sj.solve(feinberg()).gains, round(sj.exact.solve_ratio(feinberg()).gain, 6)
    (array([ 7.5, 10. ,  5. ]), 6.666667)
    """
    return from_transitions(
        [
            (0, 0, 1, 0.5, 0.0, 1.0),
            (0, 0, 2, 0.5, 0.0, 1.0),
            (1, 0, 1, 1.0, 10.0, 1.0),
            (2, 0, 2, 1.0, 10.0, 2.0),
        ]
    )


# --- Whack-a-mole -------------------------------------------------------------------------


def whack_a_mole(
    *,
    rows: int = 2,
    columns: int = 2,
    up: float = 0.2,
    down: float = 0.0,
    hit_duration: float = 1.0,
    duration_per_distance: float = 1.0,
) -> SMDP:
    """Moles come up while the player walks between holes: longer ways take more time, and more moles come up.

    A hole without a mole gets one with probability 0.2 in a unit of time, and so with 1 - 0.8^t in a time of t. A mole stays
    until it is hit; if `down` is above 0, moles also go down by themselves. The player can hit at the current hole, which is
    in vain if there is no mole, or go to any other hole. A board of 3 by 3 has 4,608 states and 1.6 million rows.

    States: the current hole and the set of holes with moles, numbered hole + holes * (sum of 2^h over holes h with a mole).

    Actions: the number of a hole goes there, and is not available at the hole itself; one more action hits.

    Rewards: 1 for hitting a mole, 0 otherwise.

    Durations: the distance for going, 1 for hitting.

    Source: `WhackAMoleSMDP` in the repository of the authors of Harmonic R-Learning, github.com/erelon/SMDP_Agents,
    examples/envs/whack_a_mole.py, commit 1d662de, whose board is 3 by 3.

    >>> whack_a_mole(rows=1, columns=1), whack_a_mole()
    (SMDP(2 states, 2 pairs, 4 rows), SMDP(64 states, 256 pairs, 1404 rows))
    """
    height, width = whole("rows", rows, most=MOST_HOLES), whole("columns", columns, most=MOST_HOLES)
    holes = height * width
    if holes > MOST_HOLES:
        raise ValueError(
            f"rows is {height} and columns is {width}; the board must have at most {MOST_HOLES} holes"
        )
    rise, fall = probability("up", up), probability("down", down)
    hitting = positive("hit_duration", hit_duration)
    pace = positive("duration_per_distance", duration_per_distance)
    made: list[Transition] = []
    laws: dict[tuple[int, float], Floats] = {}
    for moles in range(2**holes):
        for place in range(holes):
            for action in range(holes + 1):
                if action == place:
                    continue
                hit = action == holes
                lasting = hitting if hit else pace * math.dist(divmod(place, width), divmod(action, width))
                left = moles & ~(1 << place) if hit else moles
                if (left, lasting) not in laws:
                    laws[left, lasting] = _later(left, holes, rise, fall, lasting)
                after = place if hit else action
                made += [
                    (place + holes * moles, action, after + holes * to, chance, float(left != moles), lasting)
                    for to, chance in enumerate(laws[left, lasting].tolist())
                    if chance > 0.0
                ]
    return from_transitions(made)


def _later(moles: int, holes: int, rise: float, fall: float, time: float) -> Floats:
    """Return the law of the set of moles after a time; holes are independent of each other."""
    chances = [1.0 - (1.0 - rise) ** time, (1.0 - fall) ** time]  # of a mole, after none and after one
    law = np.ones(1)
    for hole in range(holes):
        there = chances[moles >> hole & 1]
        law = np.concatenate([law * (1.0 - there), law * there])
    return law
