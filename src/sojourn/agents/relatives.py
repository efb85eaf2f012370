"""Agents of the literature with an error of their own: discounted, differential and relative Q-learning.

They take the options of `sojourn.agents.literature`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sojourn.agents.construct import Options, estimator, learning, refuse_centring
from sojourn.agents.errors import Differential, Discounted
from sojourn.agents.exploration import Decay, Linear
from sojourn.agents.learning import LearningAgent
from sojourn.agents.relative import Latest, Relative, reference_of
from sojourn.agents.values.table import Table, zeros
from sojourn.data.numbers import fraction, positive
from sojourn.rates.protocol import Rate
from sojourn.rates.ratio import Cumulative, Incremental
from sojourn.rates.scheduled import Visits
from sojourn.rules.door import told


@told
def smdp_q_learning(
    num_states: int,
    num_actions: int,
    *,
    step_size: float | Visits = 0.01,
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
    options = Options(step_size, exploration, greedy, ties, initial)
    return learning(num_states, num_actions, estimator(lambda _: Cumulative(), None, rate), method, options)


@told
def differential_q(
    num_states: int,
    num_actions: int,
    *,
    step_size: float | Visits = 0.01,
    rate_step_size: float | Visits | None = None,
    duration_step_size: float = 0.01,
    exploration: float | Decay | Linear = 0.2,
    greedy: str = "action",
    ties: str = "random",
    initial: ArrayLike = 0.0,
    centring: float = 0.0,
    rate: Rate | None = None,
) -> LearningAgent:
    """Inter-option Differential Q-learning (Wan, Naik and Sutton 2021).

    `rate_step_size` is the product eta alpha of that paper; `duration_step_size` is the
    step size of the mean durations L(s, a), which start at 1. Every step moves the rate.

    Errors are divided by L, so `step_size` is a time, and it depends on the unit of time, as the first L does: count time
    in units in which a step takes about 1. In other units of money it learns the same.

    >>> from sojourn.agents.protocol import learn
    >>> from sojourn.rates.protocol import value
    >>> agent = differential_q(1, 1, step_size=0.5, rate_step_size=0.1, duration_step_size=0.5)
    >>> agent = learn(agent, 0, 0, 6.0, 2.0, 0)
    >>> agent.method.mean_duration.q, agent.q, round(value(agent.rate), 12)
    (array([[1.5]]), array([[2.]]), 0.4)
    """
    zeros(num_states, num_actions)  # raises an error if the numbers are wrong
    method = Differential(
        Table(np.ones((num_states, num_actions))), fraction("duration_step_size", duration_step_size)
    )
    options = Options(step_size, exploration, greedy, ties, initial)
    known = estimator(Incremental, rate_step_size, rate, centring)
    return learning(num_states, num_actions, known, method, options)


@told
def rvi_q(
    num_states: int,
    num_actions: int,
    *,
    step_size: float | Visits = 0.01,
    duration_step_size: float = 0.01,
    exploration: float | Decay | Linear = 0.2,
    greedy: str = "action",
    ties: str = "random",
    initial: ArrayLike = 0.0,
    centring: float = 0.0,
    reference: str = "first",
) -> LearningAgent:
    """RVI Q-learning for semi-Markov problems (Yu, Wan and Sutton 2025): the rate is f(Q), not an estimate.

    `reference` is f: "first", the value of the pair visited first; "mean", the mean of all values; "maximum",
    the largest value. `duration_step_size` is the step size of the mean durations T(s, a), which start at 1.

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
    zeros(num_states, num_actions)  # raises an error if the numbers are wrong
    method = Relative(
        reference=reference_of(reference, num_states),
        mean_duration=Table(np.ones((num_states, num_actions))),
        duration_step_size=fraction("duration_step_size", duration_step_size),
    )
    options = Options(step_size, exploration, greedy, ties, initial)
    return learning(num_states, num_actions, Latest(), method, options)
