"""The agents of the literature, by name: SMART and its relatives.

All take the numbers of states and actions first, and these options:

    step_size        alpha, the step size of Q: a number, or a schedule `Visits`
    rate_step_size   beta, the step size of the rate estimator, if it has one: likewise
    exploration      epsilon: a number, a `Decay` or a `Linear`
    greedy           which steps count as greedy: "action", "draw", "after" or "every"
    ties             which of equally good actions is drawn: "random" or "lowest"
    initial          the values at the beginning: a number, or an array of states by actions
    centring         kappa, the strength of the feedback that corrects any rate (`Centred`); 0 means none
    rate             an estimator to use instead of the agent's own

`named` has an entry for each of them. `relatives` has the agents that differ in more than the estimator.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from sojourn.agents.construct import Options, centred, estimator, learning
from sojourn.agents.errors import AverageReward, Method, RLearning, Stepwise
from sojourn.agents.exploration import Decay, Linear
from sojourn.agents.learning import LearningAgent
from sojourn.data.numbers import finite
from sojourn.rates.contrast import Fixed
from sojourn.rates.harmonic import Harmonic, WeightedHarmonic
from sojourn.rates.protocol import Rate
from sojourn.rates.ratio import Cumulative, Exponential, Incremental, SmoothedCumulative
from sojourn.rates.scheduled import Visits
from sojourn.rules.door import told
from sojourn.rules.values import is_value

# Every argument of an agent is an option that users set by name, so there are more than seven.


@told
def smart(
    num_states: int,
    num_actions: int,
    *,
    step_size: float | Visits = 0.01,
    exploration: float | Decay | Linear = 0.2,
    greedy: str = "action",
    ties: str = "random",
    initial: ArrayLike = 0.0,
    centring: float = 0.0,
    rate: Rate | None = None,
) -> LearningAgent:
    """SMART (Das, Gosavi, Mahadevan and Marchalleck 1999): the rate is `Cumulative`.

    >>> from sojourn.agents.protocol import learn
    >>> from sojourn.rates.protocol import value
    >>> agent = learn(smart(num_states=2, num_actions=2), 0, 0, 6.0, 2.0, 1)
    >>> value(agent.rate)
    3.0
    """
    options = Options(step_size, exploration, greedy, ties, initial)
    known = estimator(lambda _: Cumulative(), None, rate, centring)
    return learning(num_states, num_actions, known, AverageReward(), options)


@told
def relaxed_smart(
    num_states: int,
    num_actions: int,
    *,
    step_size: float | Visits = 0.01,
    rate_step_size: float | Visits | None = None,
    exploration: float | Decay | Linear = 0.2,
    greedy: str = "action",
    ties: str = "random",
    initial: ArrayLike = 0.0,
    centring: float = 0.0,
    variant: str = "paper",
    rate: Rate | None = None,
) -> LearningAgent:
    """Relaxed-SMART: the rate is `Exponential`, or with `variant="gosavi"` `SmoothedCumulative`.

    The Harmonic R-Learning paper and Gosavi (2004) use this name for different estimators. The code of
    Wan, Naik and Sutton (2021) also has the paper's estimator, under Gosavi's name.

    >>> from sojourn.agents.protocol import learn
    >>> from sojourn.rates.protocol import value
    >>> for variant in ("paper", "gosavi"):
    ...     agent = relaxed_smart(1, 1, rate_step_size=0.5, variant=variant)
    ...     value(learn(agent, 0, 0, 6.0, 2.0, 0).rate)
    3.0
    1.5
    """
    variants = {"paper": Exponential, "gosavi": SmoothedCumulative}
    if variant not in variants:
        raise ValueError(f"variant is {variant!r}; it must be 'paper' or 'gosavi'")
    options = Options(step_size, exploration, greedy, ties, initial)
    known = estimator(variants[variant], rate_step_size, rate, centring)
    return learning(num_states, num_actions, known, AverageReward(), options)


@told
def harmonic_r(
    num_states: int,
    num_actions: int,
    *,
    step_size: float | Visits = 0.01,
    rate_step_size: float | Visits | None = None,
    exploration: float | Decay | Linear = 0.2,
    greedy: str = "action",
    ties: str = "random",
    initial: ArrayLike = 0.0,
    centring: float = 0.0,
    rate: Rate | None = None,
) -> LearningAgent:
    """Harmonic R-Learning (Shtossel, Vidler, Shaham and Kaminka 2026): the rate is `Harmonic`.

    Rewards of 1 and 4, in a time of 1 each, earn 2.5 per unit time; their harmonic mean is 1.6:

    >>> from sojourn.agents.protocol import learn
    >>> from sojourn.rates.harmonic import CumulativeHarmonic
    >>> from sojourn.rates.protocol import value
    >>> agent = harmonic_r(1, 1, rate=CumulativeHarmonic())  # or rate_step_size=0.01, which forgets
    >>> agent = learn(learn(agent, 0, 0, 1.0, 1.0, 0), 0, 0, 4.0, 1.0, 0)
    >>> value(agent.rate)
    1.6

    `centring=0.1` corrects this: the rate that it learns with reaches 2.5, and its policy becomes the best one.

    >>> agent = harmonic_r(1, 1, step_size=0.1, rate=CumulativeHarmonic(), centring=0.1)
    >>> for k in range(2000):
    ...     agent = learn(agent, 0, 0, 1.0 + 3.0 * (k % 2), 1.0, 0)
    >>> round(value(agent.rate), 1)
    2.5
    """
    options = Options(step_size, exploration, greedy, ties, initial)
    known = estimator(Harmonic, rate_step_size, rate, centring)
    return learning(num_states, num_actions, known, AverageReward(), options)


@told
def weighted_harmonic_r(
    num_states: int,
    num_actions: int,
    *,
    step_size: float | Visits = 0.01,
    rate_step_size: float | Visits | None = None,
    exploration: float | Decay | Linear = 0.2,
    greedy: str = "action",
    ties: str = "random",
    initial: ArrayLike = 0.0,
    centring: float = 0.0,
    rate: Rate | None = None,
) -> LearningAgent:
    """Harmonic R-Learning with rates weighted by their reward: the rate is `WeightedHarmonic`.

    >>> from sojourn.agents.protocol import learn
    >>> from sojourn.rates.protocol import value
    >>> agent = learn(weighted_harmonic_r(1, 1, rate_step_size=0.5), 0, 0, 6.0, 2.0, 0)
    >>> value(agent.rate), value(learn(agent, 0, 0, 1.0, 1.0, 0).rate)
    (3.0, 2.0)
    """
    options = Options(step_size, exploration, greedy, ties, initial)
    known = estimator(WeightedHarmonic, rate_step_size, rate, centring)
    return learning(num_states, num_actions, known, AverageReward(), options)


@told
def fixed_rate(
    num_states: int,
    num_actions: int,
    *,
    step_size: float | Visits = 0.01,
    exploration: float | Decay | Linear = 0.2,
    greedy: str = "action",
    ties: str = "random",
    initial: ArrayLike = 0.0,
    centring: float = 0.0,
    rate: float | Rate = 0.0,
) -> LearningAgent:
    """A control for comparisons, which estimates no rate: `rate` is a fixed number, 0 by default.

    With a rate of 2, a reward of 6 in a time of 2 is worth 6 - 2 * 2 = 2, and Q moves half way to it:

    >>> from sojourn.agents.protocol import learn
    >>> learn(fixed_rate(1, 1, step_size=0.5, rate=2.0), 0, 0, 6.0, 2.0, 0).q
    array([[1.]])
    """
    known: Rate = rate if is_value(rate) else Fixed(finite("rate", rate))  # type: ignore[arg-type] # or refused
    options = Options(step_size, exploration, greedy, ties, initial)
    return learning(num_states, num_actions, centred(known, centring), AverageReward(), options)


def r_learning(
    num_states: int,
    num_actions: int,
    *,
    step_size: float | Visits = 0.01,
    rate_step_size: float | Visits | None = None,
    exploration: float | Decay | Linear = 0.2,
    greedy: str = "action",
    ties: str = "random",
    initial: ArrayLike = 0.0,
    centring: float = 0.0,
    durations: str = "known",
    rate: Rate | None = None,
) -> LearningAgent:
    """R-Learning (Schwartz 1993) with durations: the rate is `Incremental`.

    The first reward, 6, makes Q 3, and the evidence is 6 + 0 - 3:

    >>> from sojourn.agents.protocol import learn
    >>> from sojourn.rates.protocol import value
    >>> agent = learn(r_learning(1, 1, step_size=0.5, rate_step_size=0.1), 0, 0, 6.0, 2.0, 0)
    >>> agent.q, round(value(agent.rate), 12)
    (array([[3.]]), 0.3)

    With `durations="ignored"` it is R-Learning as printed, for steps that all take the same time: its rate is
    reward per step, and it does not know that some actions take longer than others.
    """
    methods: dict[str, Method] = {"known": RLearning(), "ignored": Stepwise()}
    if durations not in methods:
        raise ValueError(f"durations is {durations!r}; it must be 'known' or 'ignored'")
    options = Options(step_size, exploration, greedy, ties, initial)
    known = estimator(Incremental, rate_step_size, rate, centring)
    return learning(num_states, num_actions, known, methods[durations], options)
