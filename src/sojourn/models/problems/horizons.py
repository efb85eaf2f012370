"""Problems about the long run, in which a single payment does not count and an irreversible choice decides everything.

They follow the definitions in the repository of the authors of Harmonic R-Learning,
github.com/erelon/SMDP_Agents, file examples/envs/configs.py at commit 1d662de. In three of them the gain depends on the
start, so a learner without restarts has nothing to learn. `solve` finds a gain for each state, and `solve_ratio` uses
another criterion. These three are not among `PROBLEMS`, on which agents are compared.
"""

from __future__ import annotations

from sojourn.data.numbers import finite, whole
from sojourn.models.laws import TwoPoint
from sojourn.models.problems.loops import MOST_STATES
from sojourn.models.smdp import SMDP
from sojourn.models.transitions import Transition, from_transitions


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
    >>> sj.solve(gemini()).gains, sj.solve_ratio(gemini()).gain
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
    >>> sj.solve(feinberg()).gains, round(sj.solve_ratio(feinberg()).gain, 6)
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
