"""Proximal policy optimisation for the average reward, with numbered or continuous actions.

From a rollout of steps, with v the critic, rho_eff the rate, corrected by centring, and s the unit of rewards,

    delta = (r - rho_eff tau) / s + v(o') - v(o),      A = delta + lambda A',

A' being the advantage of the next step at the same place, nothing where an episode was truncated (generalised advantage
estimation, Schulman et al. 2016, without a discount). The policy then moves by the clipped objective of Schulman et al.
(2017) with A normalised, the critic towards A + v. The estimator of the rate sees all steps, one by one, in order.

The first rollout only measures: observations have no unit before it.
"""

from __future__ import annotations

from typing import NamedTuple

from sojourn.agents.exploration import Exploration, chance, later
from sojourn.agents.networks.adam import Adam, descend
from sojourn.agents.networks.perceptron import Perceptron, backward, forward, inputs_in, outputs_in
from sojourn.agents.networks.policies import (
    chances,
    choice_slopes,
    drawn_action,
    likeliest,
    log_chance,
    log_density,
    log_deviation,
    point_slopes,
)
from sojourn.agents.networks.products import Reals
from sojourn.agents.networks.protocol import Masks, Transitions
from sojourn.agents.networks.scaling import (
    Earnings,
    Moments,
    earn,
    normalise,
    observe,
    rate_of,
    scale_of,
    settle,
)
from sojourn.rules.arrays import Flags, Floats, Ints
from sojourn.rules.bridge import compiled_apart
from sojourn.rules.compile import kernel
from sojourn.rules.elementary import exp
from sojourn.rules.random import integer, normal
from sojourn.rules.stacks import put, take
from sojourn.rules.streams import Stream

_chance, _later = chance.bare, later.bare

# A rate that is wrong moves all aims of the critic by its error times 1 / (1 - lambda) steps. Were the critic to follow
# at once, centring would swing about the rate for ever; it follows the mean of the advantages by this share.
_LEVEL_SHARE = 0.2

_COUNT, _ROLLOUTS = range(2)  # places in `counts`: steps in the rollout, and rollouts so far


class Rollout(NamedTuple):
    """The steps since the policy last moved, and what is computed of them."""

    places: Ints
    observations: Reals
    allowed: Masks
    choices: Ints  # numbered actions; or
    points: Floats  # continuous ones, in units of the network
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
    """How much is learned when, and how."""

    steps: int  # of a rollout
    batch: int
    epochs: int
    trace: float  # lambda
    clip: float
    entropy: float
    longest: float  # of a gradient


class PPO(NamedTuple):
    """All that a PPO agent has learned. Its step size is a stack of one."""

    policy: Perceptron
    policy_means: Adam
    critic: Perceptron
    critic_means: Adam
    rollout: Rollout
    low: Floats
    high: Floats
    chances: Floats  # room for the probabilities of one observation
    seen: Moments
    earnings: Earnings
    step_size: Exploration
    counts: Ints
    rng: Stream
    pace: Pace


@compiled_apart
def _look(agent: PPO, observations: Floats) -> None:
    """Compute the policy's outputs for each observation."""
    inputs = inputs_in(agent.policy)
    for row in range(len(observations)):
        normalise(agent.seen, observations, row, inputs, row)
    forward(agent.policy, agent.policy.weights, len(observations))


@kernel
def choose_choices(agent: PPO, observations: Floats, allowed: Masks, actions: Ints, explored: Flags) -> None:
    """Draw numbered actions, or take the likeliest where `explored` says that chance has no say."""
    _look(agent, observations)
    outputs = outputs_in(agent.policy, agent.policy.units)
    for row in range(len(observations)):
        chances(outputs, row, allowed, row, agent.chances)
        actions[row] = drawn_action(agent.chances, agent.rng) if explored[row] else likeliest(agent.chances)
        explored[row] = False  # all that a policy does is its own


@kernel
def choose_points(agent: PPO, observations: Floats, allowed: Masks, actions: Floats, explored: Flags) -> None:
    """Draw continuous actions, or take their means, in the units of the environment."""
    _look(agent, observations)
    outputs = outputs_in(agent.policy, agent.policy.units)
    for row in range(len(observations)):
        for j in range(len(agent.low)):
            z = float(outputs[row, j])
            if explored[row]:
                z += exp(log_deviation(agent.policy, j, len(agent.low))) * normal(agent.rng)
            actions[row, j] = agent.low[j] + (agent.high[j] - agent.low[j]) * 0.5 * (z + 1.0)
        explored[row] = False


@kernel
def learn_choices(agent: PPO, steps: Transitions) -> None:
    """Take in steps with numbered actions; when the rollout is full, learn from it."""
    for i in range(len(steps.rewards)):
        agent.rollout.choices[agent.counts[_COUNT]] = steps.actions[i]
        _take_in(agent, steps, i)
    if agent.counts[_COUNT] >= agent.pace.steps:
        _learn_from_rollout(agent)


@kernel
def learn_points(agent: PPO, steps: Transitions) -> None:
    """Take in steps with continuous actions; when the rollout is full, learn from it."""
    for i in range(len(steps.rewards)):
        at = agent.counts[_COUNT]
        for j in range(len(agent.low)):
            share = (steps.actions[i, j] - agent.low[j]) / (agent.high[j] - agent.low[j])
            agent.rollout.points[at, j] = 2.0 * share - 1.0
        _take_in(agent, steps, i)
    if agent.counts[_COUNT] >= agent.pace.steps:
        _learn_from_rollout(agent)


@compiled_apart
def _take_in(agent: PPO, steps: Transitions, i: int) -> None:
    """Add a step to the rollout, all but its action, and show it to the estimator of the rate."""
    rollout = agent.rollout
    at = agent.counts[_COUNT]
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
    agent.counts[_COUNT] += 1


@compiled_apart
def _learn_from_rollout(agent: PPO) -> None:
    """Move critic and policy, unless this is the first rollout; then begin the next."""
    count = agent.counts[_COUNT]
    if agent.counts[_ROLLOUTS] > 0:
        _judge(agent, count)
        for i in range(count):
            agent.rollout.order[i] = i
        for _ in range(agent.pace.epochs):
            _shuffle(agent.rollout.order, count, agent.rng)
            for start in range(0, count, agent.pace.batch):
                _improve(agent, start, min(agent.pace.batch, count - start))
    # Observations keep their units for a whole rollout, so that the policy that is improved is the one that acted.
    for i in range(count):
        observe(agent.seen, agent.rollout.observations, i)
    agent.counts[_COUNT] = 0
    agent.counts[_ROLLOUTS] += 1


@compiled_apart
def _judge(agent: PPO, count: int) -> None:
    """Compute the advantage of each step, what the critic should say of it, and the probability of its action."""
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
    """Give numbers the mean 0 and the deviation 1."""
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
    for i in range(count):
        rollout.logs[i] = _log_of(agent, outputs, i, i)


@compiled_apart
def _log_of(agent: PPO, outputs: Reals, row: int, at: int) -> float:
    """Return the logarithm of the probability of an action of the rollout, by the policy's outputs in a row."""
    if len(agent.low):
        return log_density(agent.policy, outputs, row, agent.rollout.points, at)
    chances(outputs, row, agent.rollout.allowed, at, agent.chances)
    return log_chance(agent.chances, agent.rollout.choices[at])


@compiled_apart
def _shuffle(order: Ints, count: int, rng: Stream) -> None:
    """Bring numbers into a random order (Fisher and Yates)."""
    for left in range(count - 1):
        last = count - 1 - left
        other = integer(rng, last + 1)
        order[last], order[other] = order[other], order[last]


@compiled_apart
def _improve(agent: PPO, start: int, size: int) -> None:
    """One step of Adam for the policy and one for the critic, from a batch."""
    rollout, policy, critic, pace = agent.rollout, agent.policy, agent.critic, agent.pace
    inputs, critic_inputs = inputs_in(policy), inputs_in(critic)
    for row in range(size):
        normalise(agent.seen, rollout.observations, rollout.order[start + row], inputs, row)
        for j in range(inputs.shape[1]):
            critic_inputs[row, j] = inputs[row, j]
    forward(policy, policy.weights, size)
    forward(critic, critic.weights, size)
    outputs, slopes = outputs_in(policy, policy.units), outputs_in(policy, policy.slopes)
    values, value_slopes = outputs_in(critic, critic.units), outputs_in(critic, critic.slopes)
    dimensions = len(agent.low)
    for j in range(dimensions):
        policy.gradient[len(policy.gradient) - dimensions + j] = -pace.entropy
    for row in range(size):
        at = rollout.order[start + row]
        ratio = exp(min(_log_of(agent, outputs, row, at) - rollout.logs[at], 20.0))
        advantage = rollout.advantages[at]
        held = ratio > 1.0 + pace.clip if advantage > 0.0 else ratio < 1.0 - pace.clip
        push = 0.0 if held else -ratio * advantage / size
        if dimensions:
            point_slopes(policy, outputs, row, rollout.points, at, push, slopes)
        else:
            choice_slopes(agent.chances, rollout.choices[at], push, -pace.entropy / size, slopes, row)
        value_slopes[row, 0] = (values[row, 0] - rollout.aims[at]) / size
    step_size = _chance(take(agent.step_size, 0))
    backward(policy, size)
    descend(policy.weights, policy.gradient, agent.policy_means, step_size, pace.longest)
    backward(critic, size)
    descend(critic.weights, critic.gradient, agent.critic_means, step_size, pace.longest)
