"""The agents of the literature, by name.

All take the number of states and of actions first, and these options:

    step_size        alpha, the step size of Q
    rate_step_size   beta, the step size of the rate estimator, if it has one
    exploration      epsilon, a number or a `Decay`
    greedy           which steps count as greedy: "action", "draw" or "after"
    rate             an estimator to use instead of the agent's own

`named` has an entry for each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from sojourn.agents.errors import AverageReward, Differential, Discounted, Method, RLearning
from sojourn.agents.learn import READINGS, Decay, LearningAgent, Params
from sojourn.agents.policies import PolicyAgent, RandomAgent
from sojourn.agents.values.protocol import entries
from sojourn.agents.values.table import Table, zeros
from sojourn.rates.contrast import Fixed
from sojourn.rates.harmonic import Harmonic, WeightedHarmonic
from sojourn.rates.protocol import Rate, value
from sojourn.rates.ratio import Cumulative, Exponential, Incremental, SmoothedCumulative
from sojourn.rules.numbers import finite, fraction, positive, probability, within
from sojourn.rules.values import is_value


def smart(
    num_states: int,
    num_actions: int,
    *,
    step_size: float = 0.01,
    exploration: float | Decay = 0.2,
    greedy: str = "action",
    rate: Rate | None = None,
) -> LearningAgent:
    """SMART (Das, Gosavi, Mahadevan and Marchalleck 1999): the rate is `Cumulative`.

    >>> from sojourn.agents.protocol import learn
    >>> agent = learn(smart(num_states=2, num_actions=2), 0, 0, 6.0, 2.0, 1)
    >>> value(agent.rate)
    3.0
    """
    options = _Options(step_size, exploration, greedy)
    return _learning(
        zeros(num_states, num_actions), _estimator(Cumulative, None, rate), AverageReward(), options
    )


def relaxed_smart(  # its arguments are the options that users set by name
    num_states: int,
    num_actions: int,
    *,
    step_size: float = 0.01,
    rate_step_size: float | None = None,
    exploration: float | Decay = 0.2,
    greedy: str = "action",
    variant: str = "paper",
    rate: Rate | None = None,
) -> LearningAgent:
    """Relaxed-SMART: the rate is `Exponential`, or with `variant="gosavi"` `SmoothedCumulative`.

    The Harmonic R-Learning paper and Gosavi (2004) mean different estimators by the name.

    >>> from sojourn.agents.protocol import learn
    >>> for variant in ("paper", "gosavi"):
    ...     agent = relaxed_smart(1, 1, rate_step_size=0.5, variant=variant)
    ...     value(learn(agent, 0, 0, 6.0, 2.0, 0).rate)
    3.0
    1.5
    """
    variants = {"paper": Exponential, "gosavi": SmoothedCumulative}
    if variant not in variants:
        raise ValueError(f"variant is {variant!r}; it must be 'paper' or 'gosavi'")
    options = _Options(step_size, exploration, greedy)
    return _learning(
        zeros(num_states, num_actions),
        _estimator(variants[variant], rate_step_size, rate),
        AverageReward(),
        options,
    )


def harmonic_r(
    num_states: int,
    num_actions: int,
    *,
    step_size: float = 0.01,
    rate_step_size: float | None = None,
    exploration: float | Decay = 0.2,
    greedy: str = "action",
    rate: Rate | None = None,
) -> LearningAgent:
    """Harmonic R-Learning (Shtossel, Vidler, Shaham and Kaminka 2026): the rate is `Harmonic`.

    Rewards of 1 and 4 in a time of 1 each, with equal weights, earn 2.5; their harmonic mean is 1.6:

    >>> from sojourn.agents.protocol import learn
    >>> from sojourn.rates.harmonic import CumulativeHarmonic
    >>> agent = harmonic_r(1, 1, rate=CumulativeHarmonic())  # or rate_step_size=0.01, which forgets
    >>> agent = learn(learn(agent, 0, 0, 1.0, 1.0, 0), 0, 0, 4.0, 1.0, 0)
    >>> value(agent.rate)
    1.6
    """
    options = _Options(step_size, exploration, greedy)
    return _learning(
        zeros(num_states, num_actions), _estimator(Harmonic, rate_step_size, rate), AverageReward(), options
    )


def weighted_harmonic_r(
    num_states: int,
    num_actions: int,
    *,
    step_size: float = 0.01,
    rate_step_size: float | None = None,
    exploration: float | Decay = 0.2,
    greedy: str = "action",
    rate: Rate | None = None,
) -> LearningAgent:
    """Harmonic R-Learning with rates weighted by their reward: the rate is `WeightedHarmonic`.

    >>> from sojourn.agents.protocol import learn
    >>> agent = learn(weighted_harmonic_r(1, 1, rate_step_size=0.5), 0, 0, 6.0, 2.0, 0)
    >>> value(agent.rate), value(learn(agent, 0, 0, 1.0, 1.0, 0).rate)
    (3.0, 2.0)
    """
    options = _Options(step_size, exploration, greedy)
    return _learning(
        zeros(num_states, num_actions),
        _estimator(WeightedHarmonic, rate_step_size, rate),
        AverageReward(),
        options,
    )


def fixed_rate(
    num_states: int,
    num_actions: int,
    *,
    step_size: float = 0.01,
    exploration: float | Decay = 0.2,
    greedy: str = "action",
    rate: float | Rate = 0.0,
) -> LearningAgent:
    """The control: `rate` is a number and stays what it is, 0 by default.

    With a rate of 2, a reward of 6 in a time of 2 is worth 6 - 2 * 2 = 2, and Q goes half way to it:

    >>> from sojourn.agents.protocol import learn
    >>> learn(fixed_rate(1, 1, step_size=0.5, rate=2.0), 0, 0, 6.0, 2.0, 0).q
    array([[1.]])
    """
    known: Rate = rate if is_value(rate) else Fixed(finite("rate", rate))  # type: ignore[arg-type] # or refused
    options = _Options(step_size, exploration, greedy)
    return _learning(zeros(num_states, num_actions), known, AverageReward(), options)


def r_learning(
    num_states: int,
    num_actions: int,
    *,
    step_size: float = 0.01,
    rate_step_size: float | None = None,
    exploration: float | Decay = 0.2,
    greedy: str = "action",
    rate: Rate | None = None,
) -> LearningAgent:
    """R-Learning (Schwartz 1993) with durations: the rate is `Incremental`.

    The first reward, 6, makes Q 3, and the evidence is 6 + 0 - 3:

    >>> from sojourn.agents.protocol import learn
    >>> agent = learn(r_learning(1, 1, step_size=0.5, rate_step_size=0.1), 0, 0, 6.0, 2.0, 0)
    >>> agent.q, round(value(agent.rate), 12)
    (array([[3.]]), 0.3)
    """
    options = _Options(step_size, exploration, greedy)
    estimator = _estimator(Incremental, rate_step_size, rate)
    return _learning(zeros(num_states, num_actions), estimator, RLearning(), options)


def smdp_q_learning(
    num_states: int,
    num_actions: int,
    *,
    step_size: float = 0.01,
    discount_rate: float = 0.01,
    exploration: float | Decay = 0.2,
    greedy: str = "action",
    rate: Rate | None = None,
) -> LearningAgent:
    """Discounted Q-learning in continuous time (Bradtke and Duff 1994).

    `discount_rate` is kappa in e^(-kappa tau). The rate has no part in learning; it
    measures what the greedy steps earn, with `Cumulative` unless told otherwise.

    >>> from sojourn.agents.protocol import learn
    >>> agent = smdp_q_learning(1, 1, step_size=0.5, discount_rate=0.1)
    >>> agent = learn(learn(agent, 0, 0, 6.0, 2.0, 0), 0, 0, 6.0, 2.0, 0)
    >>> agent.q.round(6)  # 3, then half of 6 + 3 e^-0.2 and half of 3
    array([[5.728096]])
    """
    options = _Options(step_size, exploration, greedy)
    method = Discounted(positive("discount_rate", discount_rate))
    return _learning(zeros(num_states, num_actions), _estimator(Cumulative, None, rate), method, options)


def differential_q(  # its arguments are the options that users set by name
    num_states: int,
    num_actions: int,
    *,
    step_size: float = 0.01,
    rate_step_size: float | None = None,
    duration_step_size: float = 0.01,
    exploration: float | Decay = 0.2,
    greedy: str = "action",
    rate: Rate | None = None,
) -> LearningAgent:
    """Inter-option Differential Q-learning (Wan, Naik and Sutton 2021).

    `rate_step_size` is the product eta alpha of that paper; `duration_step_size` is the
    step size of the mean durations L(s, a), which start at 1. Every draw moves the rate.

    >>> from sojourn.agents.protocol import learn
    >>> agent = differential_q(1, 1, step_size=0.5, rate_step_size=0.1, duration_step_size=0.5)
    >>> agent = learn(agent, 0, 0, 6.0, 2.0, 0)
    >>> agent.method.mean_duration.q, agent.q, round(value(agent.rate), 12)
    (array([[1.5]]), array([[2.]]), 0.4)
    """
    values = zeros(num_states, num_actions)
    method = Differential(
        Table(np.ones((num_states, num_actions))), fraction("duration_step_size", duration_step_size)
    )
    estimator = _estimator(Incremental, rate_step_size, rate)
    return _learning(values, estimator, method, _Options(step_size, exploration, greedy))


def random_agent(num_states: int, num_actions: int, *, rate: Rate | None = None) -> RandomAgent:
    """The uniform policy, a baseline; its rate is `Cumulative` unless told otherwise.

    >>> from sojourn.agents.protocol import act
    >>> from sojourn.rules.streams import stream
    >>> agent, rng = random_agent(num_states=1, num_actions=3), stream(0)
    >>> sorted({act(agent, 0, rng) for _ in range(50)})
    [0, 1, 2]
    """
    estimator = _estimator(Cumulative, None, rate)
    return RandomAgent(values=zeros(num_states, num_actions), rate=estimator, accepted=True)


def policy_agent(policy: Sequence[int], num_actions: int, *, rate: Rate | None = None) -> PolicyAgent:
    """Follow a policy, given as the action of each state, to see what it earns.

    >>> policy_agent([0, 1, 1], num_actions=2).q.shape
    (3, 2)
    """
    values = zeros(len(policy), num_actions)
    actions = np.array([within(f"policy[{s}]", action, num_actions) for s, action in enumerate(policy)])
    entries(values)[np.arange(len(actions)), actions] = 1.0  # so that the greedy policy is the one followed
    estimator = _estimator(Cumulative, None, rate)
    return PolicyAgent(values=values, rate=estimator, accepted=True, actions=actions)


class _Options(NamedTuple):
    """The options that all learning agents have, as they were given."""

    step_size: float
    exploration: float | Decay
    greedy: str


def _learning(values: Table, rate: Rate, method: Method, options: _Options) -> LearningAgent:
    """Return a learning agent, its options checked."""
    exploration, greedy = options.exploration, options.greedy
    if not isinstance(exploration, Decay):
        exploration = Decay(start=probability("exploration", exploration), factor=1.0)
    if exploration.floor > exploration.start:
        raise ValueError(f"exploration starts at {exploration.start}, below its floor of {exploration.floor}")
    if greedy not in READINGS:
        raise ValueError(f"greedy is {greedy!r}; it must be one of {', '.join(map(repr, READINGS))}")
    params = Params(
        step_size=fraction("step_size", options.step_size),
        exploration_factor=exploration.factor,
        exploration_floor=exploration.floor,
        greedy=READINGS.index(greedy),
    )
    return LearningAgent(
        values=values,
        rate=rate,
        method=method,
        exploration=exploration.start,
        accepted=False,
        params=params,
    )


def _estimator(kind: Callable[..., Rate], rate_step_size: float | None, rate: Rate | None) -> Rate:
    """Return the agent's usual estimator, or the one plugged in."""
    if rate is not None:
        if rate_step_size is not None:
            raise ValueError("rate and rate_step_size are both given; the estimator brings its own step size")
        value(rate)  # refuses what is no estimator
        return rate
    if kind is Cumulative:
        return kind()
    return kind(fraction("rate_step_size", 0.01 if rate_step_size is None else rate_step_size))
