"""Problems in which policies with about the same gain differ in risk."""

from __future__ import annotations

from sojourn.data.numbers import finite, positive, probability
from sojourn.models.laws import FlooredNormal, Outcomes
from sojourn.models.smdp import SMDP
from sojourn.models.transitions import from_transitions

_FAR = 20.0  # standard deviations below the mean, where a normal law is cut off


def three_rides(*, bad: float = 1.0, good: float = 15.0, sure: float = 8.0, duration: float = 2.0) -> SMDP:
    """A wild ride, a mixed one and a calm one, which are best for those who seek, ignore and avoid risk.

    The wild ride has the rate 1 or 15, the mixed one 6 or 11, the calm one 8. Each lasts 2, and the way back has the rate 8 in
    a time of 1. So the gains are 8, 25/3 and 8. The certain rates with constant relative risk aversion theta are means of
    three rates, such as 1, 15 and 8: quadratic ones for theta = -1, which are 9.83, 8.58 and 8; geometric ones for theta = 1,
    which are 4.93, 8.08 and 8; harmonic ones for theta = 2, which are 2.52, 7.84 and 8. The best ride is the wild one for
    theta below -0.160, the calm one above 1.336, and between them the mixed one.

    States: 0 is the choice, 1 the way back.

    Actions: in state 0, 0 is the wild ride, 1 the mixed one, 2 the calm one; in state 1 there is only 0.

    Rewards: 2 or 30, 12 or 22, each equally likely, and 16; 8 for the way back.

    Durations: 2 for a ride, 1 for the way back.

    Source: the repository of the authors of Harmonic R-Learning, github.com/erelon/SMDP_Agents,
    simple-smdp-risk-testing.md, commit cf439dd.

    >>> import sojourn as sj
    >>> [round(sj.evaluate(three_rides(), {"choice": ride}).gain, 3) for ride in ("wild", "mixed", "calm")]
    [8.0, 8.333, 8.0]
    """
    time, steady = positive("duration", duration), finite("sure", sure)
    low, high = finite("bad", bad), finite("good", good)
    rides = [
        Outcomes([(0.5, low * time, time), (0.5, high * time, time)]),
        Outcomes([(0.5, 6.0 * time, time), (0.5, 11.0 * time, time)]),
        Outcomes([(1.0, steady * time, time)]),
    ]
    return from_transitions(
        [*((0, action, 1, 1.0, ride) for action, ride in enumerate(rides)), (1, 0, 0, 1.0, steady, 1.0)],
        state_names=("choice", "back"),
        action_names=("wild", "mixed", "calm"),
    )


def red_pill_blue_pill(
    *,
    red: float = -0.7,
    blue_low: float = -1.0,
    blue_high: float = -0.2,
    chance: float = 0.5,
    deviation: float = 0.05,
) -> SMDP:
    """Two worlds: the blue one earns more on average, and the red one has the better of the worst steps.

    A step in the red world earns -0.7 on average, and one in the blue world -0.6: -1 or -0.2, equally likely. All have normal
    noise of deviation 0.05. The mean of the worst quarter of the steps (CVaR at 0.25) is -0.7 - 0.05 phi(z) / 0.25 = -0.76356
    for red, with the quantile z of the normal law, and -1 - 0.05 sqrt(2 / pi) = -1.03989 for blue.

    States: 0 is the red world, 1 the blue one.

    Actions: 0 takes the red pill, which leads to the red world; 1 takes the blue one.

    Rewards: those of the world in which the step begins, whatever is taken.

    Durations: 1.

    Source: "Burning RED", by J. S. Rojas and C.-G. Lee, Reinforcement Learning Journal, 2025, and their program,
    github.com/juansrojas/burning-red, src/environments/env_redpillbluepill.py. There rewards are cut off at 0, four deviations
    above -0.2, which changes none of the digits.

    >>> import sojourn as sj
    >>> model = red_pill_blue_pill()
    >>> red, blue = {"red": "red", "blue": "red"}, {"red": "blue", "blue": "blue"}
    >>> [round(sj.evaluate(model, pill).gain, 5) for pill in (red, blue)]
    [-0.7, -0.6]
    >>> [round(sj.exact.cvar(model, pill, 0.25), 5) for pill in (red, blue)]
    [-0.76356, -1.03989]
    """
    noise, share = positive("deviation", deviation), probability("chance", chance)

    def around(name: str, mean: float) -> FlooredNormal:
        return FlooredNormal(finite(name, mean), noise, mean - _FAR * noise)

    blue = [(share, around("blue_low", blue_low)), (1.0 - share, around("blue_high", blue_high))]
    rows = [(0, pill, pill, 1.0, around("red", red), 1.0) for pill in (0, 1)]
    rows += [(1, pill, pill, p, law, 1.0) for pill in (0, 1) for p, law in blue if p > 0.0]
    return from_transitions(rows, state_names=("red", "blue"), action_names=("red", "blue"))
