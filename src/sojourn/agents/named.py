"""The agents of the literature, by name.

All take the number of states and of actions first, and these options:

    step_size        alpha, the step size of Q
    rate_step_size   beta, the step size of the rate estimator, if it has one
    exploration      epsilon, a number or a `Decay`
    greedy           which steps count as greedy: "action", "draw" or "after"
    rate             an estimator to use instead of the agent's own
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sojourn.agents.kinds import (
    DifferentialAgent,
    DiscountedAgent,
    PolicyAgent,
    RandomAgent,
    RateAgent,
    RLearningAgent,
)
from sojourn.agents.protocol import READINGS, Decay, Params, Table
from sojourn.rates.contrast import Fixed
from sojourn.rates.harmonic import Harmonic, WeightedHarmonic
from sojourn.rates.protocol import value
from sojourn.rates.ratio import Cumulative, Exponential, Incremental, SmoothedCumulative
from sojourn.rules.numbers import finite, fraction, positive, probability, whole, within
from sojourn.rules.values import is_value


def smart(
    num_states: int,
    num_actions: int,
    *,
    step_size: float = 0.01,
    exploration: float | Decay = 0.2,
    greedy: str = "action",
    rate: Any = None,
) -> RateAgent:
    """SMART (Das, Gosavi, Mahadevan and Marchalleck 1999): the rate is `Cumulative`.

    >>> from sojourn.agents.protocol import learn
    >>> agent = learn(smart(num_states=2, num_actions=2), 0, 0, 6.0, 2.0, 1)
    >>> value(agent.rate)
    3.0
    """
    rate = _estimator(Cumulative, None, rate)
    return RateAgent(**_common(num_states, num_actions, step_size, exploration, greedy, rate))


def relaxed_smart(
    num_states: int,
    num_actions: int,
    *,
    step_size: float = 0.01,
    rate_step_size: float | None = None,
    exploration: float | Decay = 0.2,
    greedy: str = "action",
    variant: str = "paper",
    rate: Any = None,
) -> RateAgent:
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
    rate = _estimator(variants[variant], rate_step_size, rate)
    return RateAgent(**_common(num_states, num_actions, step_size, exploration, greedy, rate))


def harmonic_r(
    num_states: int,
    num_actions: int,
    *,
    step_size: float = 0.01,
    rate_step_size: float | None = None,
    exploration: float | Decay = 0.2,
    greedy: str = "action",
    rate: Any = None,
) -> RateAgent:
    """Harmonic R-Learning (Shtossel, Vidler, Shaham and Kaminka 2026): the rate is `Harmonic`.

    Rewards of 1 and 4 in a time of 1 each, with equal weights, earn 2.5; their harmonic mean is 1.6:

    >>> from sojourn.agents.protocol import learn
    >>> from sojourn.rates.harmonic import CumulativeHarmonic
    >>> agent = harmonic_r(1, 1, rate=CumulativeHarmonic())  # or rate_step_size=0.01, which forgets
    >>> agent = learn(learn(agent, 0, 0, 1.0, 1.0, 0), 0, 0, 4.0, 1.0, 0)
    >>> value(agent.rate)
    1.6
    """
    rate = _estimator(Harmonic, rate_step_size, rate)
    return RateAgent(**_common(num_states, num_actions, step_size, exploration, greedy, rate))


def weighted_harmonic_r(
    num_states: int,
    num_actions: int,
    *,
    step_size: float = 0.01,
    rate_step_size: float | None = None,
    exploration: float | Decay = 0.2,
    greedy: str = "action",
    rate: Any = None,
) -> RateAgent:
    """Harmonic R-Learning with rates weighted by their reward: the rate is `WeightedHarmonic`.

    >>> from sojourn.agents.protocol import learn
    >>> agent = learn(weighted_harmonic_r(1, 1, rate_step_size=0.5), 0, 0, 6.0, 2.0, 0)
    >>> value(agent.rate), value(learn(agent, 0, 0, 1.0, 1.0, 0).rate)
    (3.0, 2.0)
    """
    rate = _estimator(WeightedHarmonic, rate_step_size, rate)
    return RateAgent(**_common(num_states, num_actions, step_size, exploration, greedy, rate))


def fixed_rate(
    num_states: int,
    num_actions: int,
    *,
    step_size: float = 0.01,
    exploration: float | Decay = 0.2,
    greedy: str = "action",
    rate: Any = 0.0,
) -> RateAgent:
    """The control: `rate` is a number and stays what it is, 0 by default.

    With a rate of 2, a reward of 6 in a time of 2 is worth 6 - 2 * 2 = 2, and Q goes half way to it:

    >>> from sojourn.agents.protocol import learn
    >>> learn(fixed_rate(1, 1, step_size=0.5, rate=2.0), 0, 0, 6.0, 2.0, 0).q
    array([[1.]])
    """
    if not is_value(rate):
        rate = Fixed(finite("rate", rate))
    return RateAgent(**_common(num_states, num_actions, step_size, exploration, greedy, rate))


def r_learning(
    num_states: int,
    num_actions: int,
    *,
    step_size: float = 0.01,
    rate_step_size: float | None = None,
    exploration: float | Decay = 0.2,
    greedy: str = "action",
    rate: Any = None,
) -> RLearningAgent:
    """R-Learning (Schwartz 1993) with durations: the rate is `Incremental`.

    The first reward, 6, makes Q 3, and the evidence is 6 + 0 - 3:

    >>> from sojourn.agents.protocol import learn
    >>> agent = learn(r_learning(1, 1, step_size=0.5, rate_step_size=0.1), 0, 0, 6.0, 2.0, 0)
    >>> agent.q, round(value(agent.rate), 12)
    (array([[3.]]), 0.3)
    """
    rate = _estimator(Incremental, rate_step_size, rate)
    return RLearningAgent(**_common(num_states, num_actions, step_size, exploration, greedy, rate))


def smdp_q_learning(
    num_states: int,
    num_actions: int,
    *,
    step_size: float = 0.01,
    discount_rate: float = 0.01,
    exploration: float | Decay = 0.2,
    greedy: str = "action",
    rate: Any = None,
) -> DiscountedAgent:
    """Discounted Q-learning in continuous time (Bradtke and Duff 1994).

    `discount_rate` is kappa in e^(-kappa tau). The rate has no part in learning; it
    measures what the greedy steps earn, with `Cumulative` unless told otherwise.

    >>> from sojourn.agents.protocol import learn
    >>> agent = smdp_q_learning(1, 1, step_size=0.5, discount_rate=0.1)
    >>> agent = learn(learn(agent, 0, 0, 6.0, 2.0, 0), 0, 0, 6.0, 2.0, 0)
    >>> agent.q.round(6)  # 3, then half of 6 + 3 e^-0.2 and half of 3
    array([[5.728096]])
    """
    rate = _estimator(Cumulative, None, rate)
    return DiscountedAgent(
        **_common(num_states, num_actions, step_size, exploration, greedy, rate),
        discount_rate=positive("discount_rate", discount_rate),
    )


def differential_q(
    num_states: int,
    num_actions: int,
    *,
    step_size: float = 0.01,
    rate_step_size: float | None = None,
    duration_step_size: float = 0.01,
    exploration: float | Decay = 0.2,
    greedy: str = "action",
    rate: Any = None,
) -> DifferentialAgent:
    """Inter-option Differential Q-learning (Wan, Naik and Sutton 2021).

    `rate_step_size` is the product eta alpha of that paper; `duration_step_size` is the
    step size of the mean durations L(s, a), which start at 1. Every draw moves the rate.

    >>> from sojourn.agents.protocol import learn
    >>> agent = differential_q(1, 1, step_size=0.5, rate_step_size=0.1, duration_step_size=0.5)
    >>> agent = learn(agent, 0, 0, 6.0, 2.0, 0)
    >>> agent.mean_duration, agent.q, round(value(agent.rate), 12)
    (array([[1.5]]), array([[2.]]), 0.4)
    """
    rate = _estimator(Incremental, rate_step_size, rate)
    return DifferentialAgent(
        **_common(num_states, num_actions, step_size, exploration, greedy, rate),
        mean_duration=np.ones((num_states, num_actions)),
        duration_step_size=fraction("duration_step_size", duration_step_size),
    )


def random_agent(num_states: int, num_actions: int, *, rate: Any = None) -> RandomAgent:
    """The uniform policy, a baseline; its rate is `Cumulative` unless told otherwise.

    >>> from sojourn.agents.protocol import act
    >>> from sojourn.rules.random import stream
    >>> agent, rng = random_agent(num_states=1, num_actions=3), stream(0)
    >>> sorted({act(agent, 0, rng) for _ in range(50)})
    [0, 1, 2]
    """
    return RandomAgent(
        q=_zeros(num_states, num_actions), rate=_estimator(Cumulative, None, rate), accepted=True
    )


def policy_agent(policy: Any, num_actions: int, *, rate: Any = None) -> PolicyAgent:
    """Follow a policy, given as the action of each state, to see what it earns.

    >>> policy_agent([0, 1, 1], num_actions=2).q.shape
    (3, 2)
    """
    q = _zeros(len(policy), num_actions)
    actions = np.array([within(f"policy[{s}]", action, num_actions) for s, action in enumerate(policy)])
    q[np.arange(len(actions)), actions] = 1.0  # so that the greedy policy is the one followed
    return PolicyAgent(q=q, rate=_estimator(Cumulative, None, rate), accepted=True, actions=actions)


def _common(
    num_states: int,
    num_actions: int,
    step_size: float,
    exploration: float | Decay,
    greedy: str,
    rate: Any,
) -> dict[str, Any]:
    """Return the fields that all learning agents have, checked."""
    if not isinstance(exploration, Decay):
        exploration = Decay(start=probability("exploration", exploration), factor=1.0)
    if exploration.floor > exploration.start:
        raise ValueError(f"exploration starts at {exploration.start}, below its floor of {exploration.floor}")
    if greedy not in READINGS:
        raise ValueError(f"greedy is {greedy!r}; it must be one of {', '.join(map(repr, READINGS))}")
    params = Params(
        step_size=fraction("step_size", step_size),
        exploration_factor=exploration.factor,
        exploration_floor=exploration.floor,
        greedy=READINGS.index(greedy),
    )
    return {
        "q": _zeros(num_states, num_actions),
        "rate": rate,
        "exploration": exploration.start,
        "accepted": False,
        "params": params,
    }


def _zeros(num_states: int, num_actions: int) -> Table:
    return np.zeros((whole("num_states", num_states), whole("num_actions", num_actions)))


def _estimator(kind: Any, rate_step_size: float | None, rate: Any) -> Any:
    """Return the agent's usual estimator, or the one plugged in."""
    if rate is not None:
        if rate_step_size is not None:
            raise ValueError("rate and rate_step_size are both given; the estimator brings its own step size")
        value(rate)  # refuses what is no estimator
        return rate
    if kind is Cumulative:
        return kind()
    return kind(fraction("rate_step_size", 0.01 if rate_step_size is None else rate_step_size))
