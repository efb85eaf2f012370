"""What PPO keeps of its last steps, and what it computes from them: advantages, and the aims of the critic.

For a rollout of steps, with v the critic, rho_eff the rate, corrected by centring, and s the unit of rewards,

    delta = (r - rho_eff tau) / s + v(o') - v(o),      A = delta + lambda A',

where A' is the advantage of the next step at the same place, or 0 if the episode was truncated (generalised advantage
estimation, Schulman et al. 2016, without a discount). The estimator of the rate sees all steps, one by one and in order.
"""

from __future__ import annotations

from typing import NamedTuple

from sojourn.agents.exploration import Exploration, later
from sojourn.agents.networks.adam import Adam
from sojourn.agents.networks.perceptron import Perceptron, forward, inputs_in, outputs_in
from sojourn.agents.networks.policies import chances, log_chance, log_density
from sojourn.agents.networks.products import Reals
from sojourn.agents.networks.protocol import Masks, Transitions
from sojourn.agents.networks.scaling import Earnings, Moments, earn, normalise, rate_of, scale_of, settle
from sojourn.rules.arrays import Flags, Floats, Ints
from sojourn.rules.bridge import compiled_apart
from sojourn.rules.stacks import put, take
from sojourn.rules.streams import Stream

_later = later.bare

# A wrong rate moves all aims of the critic by its error times 1 / (1 - lambda) steps. If the critic followed at once,
# centring would swing around the rate for ever, so the critic follows only this share of the mean of the advantages.
_LEVEL_SHARE = 0.2

COUNT, ROLLOUTS = range(2)  # places in `counts`: steps in the rollout, and rollouts so far


class Rollout(NamedTuple):
    """The steps since the policy last moved, and what is computed from them."""

    places: Ints
    observations: Reals
    allowed: Masks
    choices: Ints  # actions that are numbered
    points: Floats  # actions that are continuous, in units of the network
    rewards: Floats
    durations: Floats
    next_observations: Reals
    cut: Flags
    values: Floats  # of the critic, where the step began
    logs: Floats  # of the probability of the action
    advantages: Floats
    aims: Floats  # of the critic
    order: Ints
    ahead: Floats  # the advantage of the next step, by place


class Pace(NamedTuple):
    """When and how the agent learns."""

    steps: int  # of a rollout
    batch: int
    epochs: int
    trace: float  # lambda
    clip: float
    entropy: float
    longest: float  # of a gradient


class PPO(NamedTuple):
    """Everything that a PPO agent has learned. Its step size is a stack of one."""

    policy: Perceptron
    policy_means: Adam
    critic: Perceptron
    critic_means: Adam
    rollout: Rollout
    low: Floats
    high: Floats
    furthest: Floats  # from 0 that the mean of an action may be, in units of the network: 1 if bounded
    chances: Floats  # room for the probabilities of one observation
    seen: Moments
    earnings: Earnings
    step_size: Exploration
    counts: Ints
    rng: Stream
    pace: Pace


@compiled_apart
def take_in(agent: PPO, steps: Transitions, i: int) -> None:
    """Add a step, except for its action, to the rollout, and show it to the estimator of the rate."""
    rollout = agent.rollout
    at = agent.counts[COUNT]
    for j in range(rollout.observations.shape[1]):
        rollout.observations[at, j] = steps.observations[i, j]
        rollout.next_observations[at, j] = steps.next_observations[i, j]
    for j in range(rollout.allowed.shape[1]):
        rollout.allowed[at, j] = steps.allowed[i, j]
    rollout.places[at] = steps.places[i]
    rollout.rewards[at] = steps.rewards[i]
    rollout.durations[at] = steps.durations[i]
    rollout.cut[at] = steps.cut[i]
    earn(agent.earnings, steps.places[i], steps.rewards[i], steps.durations[i], True)
    put(agent.step_size, 0, _later(take(agent.step_size, 0)))
    agent.counts[COUNT] += 1


@compiled_apart
def judge(agent: PPO, count: int) -> None:
    """Compute the advantage of each step, the aim of the critic there, and the probability of its action."""
    rollout, critic = agent.rollout, agent.critic
    inputs, values = inputs_in(critic), outputs_in(critic, critic.units)
    rate, scale = rate_of(agent.earnings), scale_of(agent.earnings)
    level, mean = 0.0, 0.0
    for i in range(count):
        normalise(agent.seen, rollout.next_observations, i, inputs, i)
    forward(critic, critic.weights, count)
    for i in range(count):
        rollout.advantages[i] = (rollout.rewards[i] - rate * rollout.durations[i]) / scale + values[i, 0]
        normalise(agent.seen, rollout.observations, i, inputs, i)
    forward(critic, critic.weights, count)
    for i in range(count):
        rollout.values[i] = values[i, 0]
        level += rollout.values[i] / count
    for place in range(len(rollout.ahead)):
        rollout.ahead[place] = 0.0
    for back in range(count):
        i = count - 1 - back
        delta = rollout.advantages[i] - rollout.values[i]
        further = 0.0 if rollout.cut[i] else rollout.ahead[rollout.places[i]]
        rollout.advantages[i] = delta + agent.pace.trace * further
        rollout.ahead[rollout.places[i]] = rollout.advantages[i]
        mean += rollout.advantages[i] / count
    for i in range(count):
        rollout.aims[i] = rollout.values[i] + rollout.advantages[i] - (1.0 - _LEVEL_SHARE) * mean
    settle(agent.earnings, level * scale, 1.0)
    _standardise(rollout.advantages, count)
    _log_chances(agent, count)


@compiled_apart
def _standardise(numbers: Floats, count: int) -> None:
    """Scale numbers to a mean of 0 and a deviation of 1."""
    mean = 0.0
    for i in range(count):
        mean += numbers[i] / count
    square = 0.0
    for i in range(count):
        square += (numbers[i] - mean) * (numbers[i] - mean) / count
    deviation = square**0.5 + 1e-8
    for i in range(count):
        numbers[i] = (numbers[i] - mean) / deviation


@compiled_apart
def _log_chances(agent: PPO, count: int) -> None:
    """Compute the logarithm of the probability of each action, by the policy that drew it."""
    rollout, policy = agent.rollout, agent.policy
    inputs, outputs = inputs_in(policy), outputs_in(policy, policy.units)
    for i in range(count):
        normalise(agent.seen, rollout.observations, i, inputs, i)
    forward(policy, policy.weights, count)
    if len(agent.low):
        for i in range(count):
            rollout.logs[i] = log_density(policy, outputs, i, agent.furthest, rollout.points, i)
    else:
        for i in range(count):
            chances(outputs, i, rollout.allowed, i, agent.chances)
            rollout.logs[i] = log_chance(agent.chances, rollout.choices[i])
