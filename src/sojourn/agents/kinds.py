"""The kinds of tabular agent: what each keeps, and how each learns from one transition."""

from __future__ import annotations

from typing import Any, NamedTuple

from sojourn.agents.protocol import (
    Params,
    Table,
    accepts,
    draw,
    greedy_action,
    largest,
    learn,
    next_exploration,
    nth_available,
)
from sojourn.rates.protocol import update, value
from sojourn.rules.elementary import exp
from sojourn.rules.numbers import probability
from sojourn.rules.random import Stream, uniform
from sojourn.rules.values import checked

_update, _value = update.bare, value.bare


# --- SMART and all that differ from it only in the estimator ------------------------


@checked(exploration=probability)
class RateAgent(NamedTuple):
    """delta = r - rho tau + max Q(s', .) - Q(s, a); the evidence for rho is r."""

    q: Table
    rate: Any
    exploration: float
    accepted: bool
    params: Params


@learn.register
def learn_rate_agent(
    agent: RateAgent,
    state: int,
    action: int,
    reward: float,
    duration: float,
    next_state: int,
    explored: bool,
) -> RateAgent:
    """Q(s, a) += alpha delta, then the rate."""
    q, rate, params = agent.q, agent.rate, agent.params
    before = not explored or action == greedy_action(q, state)
    delta = reward - _value(rate) * duration + largest(q, next_state) - q[state, action]
    q[state, action] += params.step_size * delta
    accepted = accepts(params, q, state, action, before, explored)
    if accepted:
        rate = _update(rate, reward, duration)
    return RateAgent(
        q=q,
        rate=rate,
        exploration=next_exploration(agent.exploration, params),
        accepted=accepted,
        params=params,
    )


# --- R-Learning ---------------------------------------------------------------------


@checked(exploration=probability)
class RLearningAgent(NamedTuple):
    """As `RateAgent`, but the evidence for rho is r + max Q(s', .) - max Q(s, .)."""

    q: Table
    rate: Any
    exploration: float
    accepted: bool
    params: Params


@learn.register
def learn_r_learning(
    agent: RLearningAgent,
    state: int,
    action: int,
    reward: float,
    duration: float,
    next_state: int,
    explored: bool,
) -> RLearningAgent:
    """The evidence takes max Q(s', .) from before the update and max Q(s, .) from after it."""
    q, rate, params = agent.q, agent.rate, agent.params
    before = not explored or action == greedy_action(q, state)
    ahead = largest(q, next_state)
    delta = reward - _value(rate) * duration + ahead - q[state, action]
    q[state, action] += params.step_size * delta
    accepted = accepts(params, q, state, action, before, explored)
    if accepted:
        rate = _update(rate, reward + ahead - largest(q, state), duration)
    return RLearningAgent(
        q=q,
        rate=rate,
        exploration=next_exploration(agent.exploration, params),
        accepted=accepted,
        params=params,
    )


# --- Discounted Q-learning ----------------------------------------------------------


@checked(exploration=probability)
class DiscountedAgent(NamedTuple):
    """delta = r + e^(-kappa tau) max Q(s', .) - Q(s, a). The rate only measures."""

    q: Table
    rate: Any
    exploration: float
    accepted: bool
    params: Params
    discount_rate: float


@learn.register
def learn_discounted(
    agent: DiscountedAgent,
    state: int,
    action: int,
    reward: float,
    duration: float,
    next_state: int,
    explored: bool,
) -> DiscountedAgent:
    """Q(s, a) += alpha delta with a discount for the time that the action took."""
    q, rate, params = agent.q, agent.rate, agent.params
    before = not explored or action == greedy_action(q, state)
    discount = exp(-agent.discount_rate * duration)
    delta = reward + discount * largest(q, next_state) - q[state, action]
    q[state, action] += params.step_size * delta
    accepted = accepts(params, q, state, action, before, explored)
    if accepted:
        rate = _update(rate, reward, duration)
    return DiscountedAgent(
        q=q,
        rate=rate,
        exploration=next_exploration(agent.exploration, params),
        accepted=accepted,
        params=params,
        discount_rate=agent.discount_rate,
    )


# --- Differential Q-learning --------------------------------------------------------


@checked(exploration=probability)
class DifferentialAgent(NamedTuple):
    """Inter-option Differential Q-learning: steps of Q and rho in units of mean duration L."""

    q: Table
    rate: Any
    exploration: float
    accepted: bool
    params: Params
    mean_duration: Table
    duration_step_size: float


@learn.register
def learn_differential(
    agent: DifferentialAgent,
    state: int,
    action: int,
    reward: float,
    duration: float,
    next_state: int,
    explored: bool,
) -> DifferentialAgent:
    """L += beta_L (tau - L); Q += alpha delta/L; rho += eta alpha delta/L, on every draw."""
    q, params, mean_duration = agent.q, agent.params, agent.mean_duration
    before = not explored or action == greedy_action(q, state)
    rate = _value(agent.rate)
    mean_duration[state, action] += agent.duration_step_size * (duration - mean_duration[state, action])
    delta = reward - rate * duration + largest(q, next_state) - q[state, action]
    delta /= mean_duration[state, action]
    q[state, action] += params.step_size * delta
    return DifferentialAgent(
        q=q,
        # Incremental moves by evidence - rho tau, so with this evidence it moves by delta/L.
        rate=_update(agent.rate, delta + rate * duration, duration),
        exploration=next_exploration(agent.exploration, params),
        accepted=accepts(params, q, state, action, before, explored),
        params=params,
        mean_duration=mean_duration,
        duration_step_size=agent.duration_step_size,
    )


@draw.register(RateAgent)
@draw.register(RLearningAgent)
@draw.register(DiscountedAgent)
@draw.register(DifferentialAgent)
def draw_epsilon_greedy(agent: Any, state: int, rng: Stream) -> tuple[int, bool]:
    """With probability epsilon any action, else the greedy one; one number decides both."""
    u = uniform(rng)
    if u < agent.exploration:
        return nth_available(agent.q, state, u / agent.exploration), True
    return greedy_action(agent.q, state), False


# --- A policy that is followed, not learned -----------------------------------------


class PolicyAgent(NamedTuple):
    """A fixed action in every state; Q says which. All its draws follow its policy, so all count."""

    q: Table
    rate: Any
    accepted: bool
    actions: Any


@draw.register
def draw_policy(agent: PolicyAgent, state: int, rng: Stream) -> tuple[int, bool]:
    """The action of this state."""
    return agent.actions[state], False


@learn.register
def learn_policy(
    agent: PolicyAgent,
    state: int,
    action: int,
    reward: float,
    duration: float,
    next_state: int,
    explored: bool,
) -> PolicyAgent:
    """Only the rate."""
    rate = _update(agent.rate, reward, duration)
    return PolicyAgent(q=agent.q, rate=rate, accepted=True, actions=agent.actions)


# --- The random policy --------------------------------------------------------------


class RandomAgent(NamedTuple):
    """Every action equally likely; Q stays 0. All its draws follow its policy, so all count."""

    q: Table
    rate: Any
    accepted: bool


@draw.register
def draw_random(agent: RandomAgent, state: int, rng: Stream) -> tuple[int, bool]:
    """Any action."""
    return nth_available(agent.q, state, uniform(rng)), False


@learn.register
def learn_random(
    agent: RandomAgent,
    state: int,
    action: int,
    reward: float,
    duration: float,
    next_state: int,
    explored: bool,
) -> RandomAgent:
    """Only the rate."""
    return RandomAgent(q=agent.q, rate=_update(agent.rate, reward, duration), accepted=True)
