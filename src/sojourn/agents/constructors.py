"""The agents that learn values, by name: SMART and its relatives, and Q-learning and Sarsa with tiles.

All take the numbers of states and actions first, and these options:

    step_size        alpha, the step size of Q: a number, a schedule `Visits`, or `FrequencyAdjusted`
    rate_step_size   beta, the step size of the rate estimator, if it has one: a number or a schedule `Visits`
    exploration      epsilon: a number, a `Decay` or a `Linear`
    greedy           which steps count as greedy: "action", "draw", "after" or "every"
    ties             which of equally good actions is drawn: "random" or "lowest"
    initial          the values at the beginning: a number, or an array of states by actions
    centring         kappa, the strength of the feedback that corrects any rate (`Centred`); 0 means none
    rate             an estimator to use instead of the agent's own

Agents with tiles, for states that are vectors, take the number of entries that are seen in a state first, and these:

    bounds           the low and the high bounds of the entries; infinite ones are replaced by what has been seen
    tilings          how many tilings there are
    tiles            how many tiles there are along each side of a tiling
    memory           the largest number of weights for each action; if there are more tiles, they share weights

`catalogue` has an entry for each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sojourn.agents.exploration import Decay, Linear, exploration_of, ties_of
from sojourn.agents.learning import READINGS, LearningAgent
from sojourn.agents.methods import (
    AverageReward,
    Differential,
    Discounted,
    Latest,
    Method,
    Relative,
    RLearning,
    Sarsa,
    Stepwise,
    reference_of,
)
from sojourn.agents.step_sizes import ByVisits, GivenStepSize, step_size_of
from sojourn.agents.values.protocol import Table, Values, emptied, zeros
from sojourn.agents.values.tiles import bounds_of, tiled
from sojourn.data.numbers import at_least_zero, finite, fraction, positive, shown, unmasked
from sojourn.rates.centred import Centred
from sojourn.rates.contrast import Fixed
from sojourn.rates.harmonic import Harmonic, WeightedHarmonic
from sojourn.rates.protocol import Rate, value
from sojourn.rates.ratio import Cumulative, Exponential, Incremental, SmoothedCumulative
from sojourn.rates.scheduled import Scheduled, Visits
from sojourn.rules.door import told
from sojourn.rules.values import is_value
from sojourn.rules.vectors import Bounds

# --- What they share ------------------------------------------------------------------


def learning(
    values: Values,
    rate: Rate,
    method: Method,
    step_size: GivenStepSize,
    exploration: float | Decay | Linear,
    greedy: str,
    ties: str,
) -> LearningAgent:
    """Return a learning agent with these values and options, or say what is wrong with an option."""
    if greedy not in READINGS:
        raise ValueError(f"greedy is {greedy!r}; it must be one of {', '.join(map(repr, READINGS))}")
    return LearningAgent(
        values=values,
        rate=rate,
        method=method,
        step_size=step_size_of(step_size, lambda: emptied(values)),
        exploration=exploration_of(exploration),
        ties=ties_of(ties),
        greedy=READINGS.index(greedy),
        carried=0.0,
        accepted=False,
    )


def initial_table(num_states: int, num_actions: int, initial: ArrayLike) -> Table:
    """Return a table filled with one number, or with an array of states by actions.

    >>> initial_table(1, 2, 5.0)
    Table(q=array([[5., 5.]]))
    """
    table = zeros(num_states, num_actions)
    if np.ndim(initial) == 0:
        table.q[:] = finite("initial", initial)  # type: ignore[arg-type] # or refused
        return table
    given = np.asarray(unmasked("initial", initial))
    if given.dtype.kind not in "biuf" or given.shape != table.q.shape:
        raise ValueError(
            f"initial has the shape {given.shape}; it must be a number, or an array of {num_states} states by "
            f"{num_actions} actions"
        )
    if not (given < np.inf).all() or not np.isfinite(given).any(axis=1).all():
        raise ValueError(
            "initial must have finite values, and -inf only for actions that a state does not have"
        )
    table.q[:] = given
    return table


def estimator(
    kind: Callable[..., Rate],
    rate_step_size: float | Visits | None,
    rate: Rate | None,
    centring: float = 0.0,
) -> Rate:
    """Return the agent's usual estimator, or the one that was given, centred if that is asked for."""
    if rate is not None:
        if rate_step_size is not None:
            raise ValueError(
                "rate and rate_step_size are both given; leave out rate_step_size, as the estimator has its own"
            )
        if not value.knows(type(rate)):
            raise TypeError(
                f"rate is {shown(rate)}; it must be an estimator of the rate, such as sojourn.Cumulative(), or one of yours "
                "with @sojourn.value.register"
            )
        return centred(rate, centring)
    if isinstance(rate_step_size, Visits):
        return centred(Scheduled(kind(rate_step_size.first), rate_step_size), centring)
    if kind is Cumulative:  # which has no step size
        return centred(kind(), centring)
    size = 0.01 if rate_step_size is None else fraction("rate_step_size", rate_step_size)
    return centred(kind(size), centring)


def slow_estimator(rate_step_size: float | Visits | None, rate: Rate | None, centring: float) -> Rate:
    """Return the same for agents with tiles or networks, which learn slowly: the usual one has a step size of 0.001."""
    usual = 0.001 if rate is None and rate_step_size is None else rate_step_size
    return estimator(Exponential, usual, rate, centring)


def centred(rate: Rate, centring: float) -> Rate:
    """Return an estimator with centring of this strength; 0 means none."""
    if not at_least_zero("centring", centring):
        return rate
    if isinstance(rate, Centred):
        raise ValueError(  # noqa: TRY004 - either alone is of the right type
            "rate is already centred; leave out centring, or give the estimator without it"
        )
    return Centred(rate, float(centring))


MEANS = Visits(first=1.0, power=1.0, floor=0.0001)  # step sizes that make a moving mean a plain one


def mean_durations(
    num_states: int, num_actions: int, step_size: float | Visits
) -> tuple[Table, float | ByVisits]:
    """Return a mean duration of 1 for each pair, and the step size that these means move with."""
    visits = zeros(num_states, num_actions)
    if isinstance(step_size, Visits):
        return Table(visits.q + 1.0), ByVisits(step_size, visits)
    return Table(visits.q + 1.0), fraction("duration_step_size", step_size)


def refuse_centring(agent: str, centring: float, rate: Rate | None, reason: str) -> None:
    """Refuse centring for an agent whose error has no estimated rate in it."""
    if at_least_zero("centring", centring) or isinstance(rate, Centred):
        raise ValueError(f"centring is given to {agent}, {reason}; leave it out")


# --- SMART, and agents that differ from it in the estimator ---------------------------


# Every argument of an agent is an option that users set by name, so there are more than seven.


@told
def smart(
    num_states: int,
    num_actions: int,
    *,
    step_size: GivenStepSize = 0.01,
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
    known = estimator(Cumulative, None, rate, centring)
    values = initial_table(num_states, num_actions, initial)
    return learning(values, known, AverageReward(), step_size, exploration, greedy, ties)


@told
def relaxed_smart(
    num_states: int,
    num_actions: int,
    *,
    step_size: GivenStepSize = 0.01,
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
    known = estimator(variants[variant], rate_step_size, rate, centring)
    values = initial_table(num_states, num_actions, initial)
    return learning(values, known, AverageReward(), step_size, exploration, greedy, ties)


@told
def harmonic_r(
    num_states: int,
    num_actions: int,
    *,
    step_size: GivenStepSize = 0.01,
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
    known = estimator(Harmonic, rate_step_size, rate, centring)
    values = initial_table(num_states, num_actions, initial)
    return learning(values, known, AverageReward(), step_size, exploration, greedy, ties)


@told
def weighted_harmonic_r(
    num_states: int,
    num_actions: int,
    *,
    step_size: GivenStepSize = 0.01,
    rate_step_size: float | Visits | None = None,
    exploration: float | Decay | Linear = 0.2,
    greedy: str = "action",
    ties: str = "random",
    initial: ArrayLike = 0.0,
    centring: float = 0.0,
    rate: Rate | None = None,
) -> LearningAgent:
    """Harmonic R-Learning with rates weighted by their reward: the rate is `WeightedHarmonic`.

    It is from the code of the paper's authors, github.com/erelon/SMDP_Agents.

    >>> from sojourn.agents.protocol import learn
    >>> from sojourn.rates.protocol import value
    >>> agent = learn(weighted_harmonic_r(1, 1, rate_step_size=0.5), 0, 0, 6.0, 2.0, 0)
    >>> value(agent.rate), value(learn(agent, 0, 0, 1.0, 1.0, 0).rate)
    (3.0, 2.0)
    """
    known = estimator(WeightedHarmonic, rate_step_size, rate, centring)
    values = initial_table(num_states, num_actions, initial)
    return learning(values, known, AverageReward(), step_size, exploration, greedy, ties)


@told
def fixed_rate(
    num_states: int,
    num_actions: int,
    *,
    step_size: GivenStepSize = 0.01,
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
    values = initial_table(num_states, num_actions, initial)
    return learning(values, centred(known, centring), AverageReward(), step_size, exploration, greedy, ties)


def r_learning(
    num_states: int,
    num_actions: int,
    *,
    step_size: GivenStepSize = 0.01,
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
    known = estimator(Incremental, rate_step_size, rate, centring)
    values = initial_table(num_states, num_actions, initial)
    return learning(values, known, methods[durations], step_size, exploration, greedy, ties)


# --- Agents with an error of their own ------------------------------------------------


@told
def smdp_q_learning(
    num_states: int,
    num_actions: int,
    *,
    step_size: GivenStepSize = 0.01,
    discount_rate: float = 0.01,
    exploration: float | Decay | Linear = 0.2,
    greedy: str = "action",
    ties: str = "random",
    initial: ArrayLike = 0.0,
    centring: float = 0.0,
    rate: Rate | None = None,
) -> LearningAgent:
    """Discounted Q-learning in continuous time (Bradtke and Duff 1994).

    `discount_rate` is kappa in e^(-kappa tau). The rate plays no part in learning; it measures
    what the greedy steps earn, with `Cumulative` unless you give another estimator.

    >>> from sojourn.agents.protocol import learn
    >>> agent = smdp_q_learning(1, 1, step_size=0.5, discount_rate=0.1)
    >>> agent = learn(learn(agent, 0, 0, 6.0, 2.0, 0), 0, 0, 6.0, 2.0, 0)
    >>> agent.q.round(6)  # 3, then half of 6 + 3 e^-0.2 and half of 3
    array([[5.728096]])
    """
    refuse_centring("smdp_q_learning", centring, rate, "which learns discounted values, without a rate")
    method = Discounted(positive("discount_rate", discount_rate))
    values = initial_table(num_states, num_actions, initial)
    return learning(values, estimator(Cumulative, None, rate), method, step_size, exploration, greedy, ties)


@told
def differential_q(
    num_states: int,
    num_actions: int,
    *,
    step_size: GivenStepSize = 0.01,
    rate_step_size: float | Visits | None = None,
    duration_step_size: float | Visits = MEANS,
    exploration: float | Decay | Linear = 0.2,
    greedy: str = "action",
    ties: str = "random",
    initial: ArrayLike = 0.0,
    centring: float = 0.0,
    rate: Rate | None = None,
) -> LearningAgent:
    """Inter-option Differential Q-learning (Wan, Naik and Sutton 2021).

    `rate_step_size` is the product eta alpha of that paper; `duration_step_size` is the step size of the mean durations
    L(s, a). By default they are plain means of up to 10,000 visits, since a mean that follows each duration makes the
    errors, which are divided by it, means of ratios. Every step moves the rate.

    Errors are divided by L, so `step_size` is a time, and it depends on the unit of time: count time in units in which a
    step takes about 1. In other units of money it learns the same.

    >>> from sojourn.agents.protocol import learn
    >>> from sojourn.rates.protocol import value
    >>> agent = differential_q(1, 1, step_size=0.5, rate_step_size=0.1, duration_step_size=0.5)
    >>> agent = learn(agent, 0, 0, 6.0, 2.0, 0)
    >>> agent.method.mean_duration.q, agent.q, round(value(agent.rate), 12)
    (array([[1.5]]), array([[2.]]), 0.4)
    """
    method = Differential(*mean_durations(num_states, num_actions, duration_step_size))
    known = estimator(Incremental, rate_step_size, rate, centring)
    values = initial_table(num_states, num_actions, initial)
    return learning(values, known, method, step_size, exploration, greedy, ties)


@told
def rvi_q(
    num_states: int,
    num_actions: int,
    *,
    step_size: GivenStepSize = 0.01,
    duration_step_size: float | Visits = MEANS,
    exploration: float | Decay | Linear = 0.2,
    greedy: str = "action",
    ties: str = "random",
    initial: ArrayLike = 0.0,
    centring: float = 0.0,
    reference: str = "first",
) -> LearningAgent:
    """RVI Q-learning for semi-Markov problems (Yu, Wan and Sutton 2025): the rate is f(Q), not an estimate.

    `reference` is f: "first", the value of the pair visited first; "mean", the mean of all values; "maximum",
    the largest value. `duration_step_size` is the step size of the mean durations T(s, a); by default they are plain means
    of up to 10,000 visits, and a T that started at 1 plays no part.

    Values settle where f(Q) is the rate, so that a level of money is compared with money per unit time. What it learns
    depends on the unit of time, and no option makes up for that: count time in units in which a step takes about 1.

    T moves half way from 1 to 2, and Q half way to 6 / 1.5; the rate is this value of Q:

    >>> from sojourn.agents.protocol import learn
    >>> from sojourn.rates.protocol import value
    >>> agent = learn(rvi_q(1, 1, step_size=0.5, duration_step_size=0.5), 0, 0, 6.0, 2.0, 0)
    >>> agent.q, value(agent.rate)
    (array([[2.]]), 2.0)
    """
    refuse_centring("rvi_q", centring, None, "whose rate is already a function of its values")
    durations = mean_durations(num_states, num_actions, duration_step_size)
    method = Relative(reference_of(reference, num_states), *durations)
    values = initial_table(num_states, num_actions, initial)
    return learning(values, Latest(), method, step_size, exploration, greedy, ties)


# --- Agents for states that are vectors -----------------------------------------------


Sides: TypeAlias = Bounds | tuple[Sequence[float], Sequence[float]]


def tile_q(  # an option for each thing that users tune, as in every constructor of an agent
    num_inputs: int,
    num_actions: int,
    *,
    bounds: Sides | None = None,
    tilings: int = 8,
    tiles: int = 8,
    pairs: bool = True,
    memory: int = 65_536,
    step_size: GivenStepSize = 0.03,
    rate_step_size: float | Visits | None = None,
    exploration: float | Decay | Linear = 0.2,
    greedy: str = "action",
    ties: str = "random",
    initial: float = 0.0,
    centring: float = 0.1,
    rate: Rate | None = None,
) -> LearningAgent:
    """Q-learning with tiles (Albus 1975), for states that are vectors. The rate is `Exponential`, centred.

    It learns from every step as `relaxed_smart` does, and can use the same estimators. If a state has more than two entries,
    half of the fine tilings are of pairs of entries; with `pairs=False`, all are of single entries, as in version 0.2. With a step size of 0.5, a job
    that pays 6 in a time of 2 moves the value of its state to 3; a state that shares half of the tiles moves half as far:

    >>> from sojourn.agents.protocol import learn
    >>> from sojourn.agents.values.protocol import read
    >>> agent = tile_q(num_inputs=1, num_actions=2, bounds=([0.0], [1.0]), tilings=2, tiles=4, step_size=0.5)
    >>> agent = learn(agent, (0.5,), 0, 6.0, 2.0, (0.9,))
    >>> float(read(agent.values, (0.5,), 0)), float(read(agent.values, (0.4,), 0))
    (3.0, 1.5)
    """
    values = tiled(
        bounds_of(num_inputs, bounds),
        num_actions,
        tilings=tilings,
        tiles=tiles,
        pairs=pairs,
        memory=memory,
        initial=initial,
    )
    known = slow_estimator(rate_step_size, rate, centring)
    return learning(values, known, AverageReward(), step_size, exploration, greedy, ties)


@told
def tile_sarsa(  # as above
    num_inputs: int,
    num_actions: int,
    *,
    bounds: Sides | None = None,
    tilings: int = 8,
    tiles: int = 8,
    pairs: bool = True,
    memory: int = 65_536,
    step_size: GivenStepSize = 0.03,
    rate_step_size: float | Visits | None = None,
    exploration: float | Decay | Linear = 0.1,
    ties: str = "random",
    initial: float = 0.0,
    centring: float = 0.1,
    rate: Rate | None = None,
) -> LearningAgent:
    """Sarsa with tiles: it learns what its own behaviour earns, exploration included. Every step is evidence.

    The value of the next state is the mean over the actions that may be drawn there (Expected Sarsa, van Seijen et al. 2009). If half of all
    draws explore, a state with values of 0 and 4 is worth 0.5 * 4 + 0.5 * 2 = 3:

    >>> from sojourn.agents.protocol import learn
    >>> from sojourn.agents.values.protocol import move, read
    >>> agent = tile_sarsa(1, 2, bounds=([0.0], [1.0]), step_size=1.0, exploration=0.5, centring=0.0)
    >>> agent = agent._replace(values=move(agent.values, (0.9,), 1, 4.0))
    >>> float(read(learn(agent, (0.1,), 0, 0.0, 1.0, (0.9,)).values, (0.1,), 0))
    3.0
    """
    values = tiled(
        bounds_of(num_inputs, bounds),
        num_actions,
        tilings=tilings,
        tiles=tiles,
        pairs=pairs,
        memory=memory,
        initial=initial,
    )
    known = slow_estimator(rate_step_size, rate, centring)
    return learning(values, known, Sarsa(), step_size, exploration, "every", ties)
