"""Proximal policy optimisation for the average reward, with numbered or continuous actions.

The policy moves by the clipped objective of Schulman et al. (2017) with the normalised advantages of a `rollout`, and
the critic moves towards A + v. A continuous action is normal around a mean that stays between the bounds. If the mean
went beyond a bound, all draws would be moved to the bound and earn the same, and nothing would show the way back.

The first rollout only measures, as observations have no unit before it.
"""

from __future__ import annotations

from sojourn.agents.exploration import chance
from sojourn.agents.networks.adam import descend
from sojourn.agents.networks.perceptron import backward, forward, inputs_in, outputs_in
from sojourn.agents.networks.policies import (
    chances,
    choice_slopes,
    drawn_action,
    held_mean,
    likeliest,
    log_chance,
    log_density,
    log_deviation,
    point_slopes,
)
from sojourn.agents.networks.protocol import Masks, Transitions
from sojourn.agents.networks.rollout import COUNT, PPO, ROLLOUTS, judge, take_in
from sojourn.agents.networks.scaling import (
    normalise,
    observe,
    refit_inputs,
    refit_outputs,
    renew_scale,
    renew_units,
)
from sojourn.rules.arrays import Flags, Floats, Ints
from sojourn.rules.bridge import compiled_apart
from sojourn.rules.compile import kernel
from sojourn.rules.elementary import exp
from sojourn.rules.random import integer, normal
from sojourn.rules.stacks import take
from sojourn.rules.streams import Stream

_chance = chance.bare


@compiled_apart
def _look(agent: PPO, observations: Floats) -> None:
    """Compute the policy's outputs for each observation."""
    inputs = inputs_in(agent.policy)
    for row in range(len(observations)):
        normalise(agent.seen, observations, row, inputs, row)
    forward(agent.policy, agent.policy.weights, len(observations))


@kernel
def choose_choices(agent: PPO, observations: Floats, allowed: Masks, actions: Ints, explored: Flags) -> None:
    """Draw numbered actions where `explored` says that chance may decide, and take the likeliest ones elsewhere."""
    _look(agent, observations)
    outputs = outputs_in(agent.policy, agent.policy.units)
    for row in range(len(observations)):
        chances(outputs, row, allowed, row, agent.chances)
        actions[row] = drawn_action(agent.chances, agent.rng) if explored[row] else likeliest(agent.chances)
        explored[row] = False  # every action that a policy draws is its own


@kernel
def choose_points(agent: PPO, observations: Floats, allowed: Masks, actions: Floats, explored: Flags) -> None:
    """Draw continuous actions where `explored` says so, and take their means elsewhere, in the environment's units."""
    _look(agent, observations)
    outputs = outputs_in(agent.policy, agent.policy.units)
    for row in range(len(observations)):
        for j in range(len(agent.low)):
            z = held_mean(outputs, row, j, agent.furthest)
            if explored[row]:
                z += exp(log_deviation(agent.policy, j, len(agent.low))) * normal(agent.rng)
            actions[row, j] = agent.low[j] + (agent.high[j] - agent.low[j]) * 0.5 * (z + 1.0)
        explored[row] = False


@kernel
def learn_choices(agent: PPO, steps: Transitions) -> None:
    """Add steps with numbered actions to the rollout; when it is full, learn from it."""
    for i in range(len(steps.rewards)):
        agent.rollout.choices[agent.counts[COUNT]] = steps.actions[i]
        take_in(agent, steps, i)
    if agent.counts[COUNT] >= agent.pace.steps:
        _learn_from_rollout(agent)


@kernel
def learn_points(agent: PPO, steps: Transitions) -> None:
    """Add steps with continuous actions to the rollout; when it is full, learn from it."""
    for i in range(len(steps.rewards)):
        at = agent.counts[COUNT]
        for j in range(len(agent.low)):
            share = (steps.actions[i, j] - agent.low[j]) / (agent.high[j] - agent.low[j])
            agent.rollout.points[at, j] = 2.0 * share - 1.0
        take_in(agent, steps, i)
    if agent.counts[COUNT] >= agent.pace.steps:
        _learn_from_rollout(agent)


@compiled_apart
def _learn_from_rollout(agent: PPO) -> None:
    """Move critic and policy, unless this is the first rollout; then begin the next rollout."""
    count = agent.counts[COUNT]
    if agent.counts[ROLLOUTS] > 0:
        judge(agent, count)
        for i in range(count):
            agent.rollout.order[i] = i
        for _ in range(agent.pace.epochs):
            _shuffle(agent.rollout.order, count, agent.rng)
            for start in range(0, count, agent.pace.batch):
                _improve(agent, start, min(agent.pace.batch, count - start))
    # Observations keep their units for a whole rollout, so that the policy that is improved is the one that acted.
    for i in range(count):
        observe(agent.seen, agent.rollout.observations, i)
    if agent.counts[ROLLOUTS] > 0:
        refit_inputs(agent.seen, agent.policy, agent.policy.weights)
        refit_inputs(agent.seen, agent.critic, agent.critic.weights)
        refit_outputs(agent.earnings, agent.critic, agent.critic.weights)
    renew_units(agent.seen)
    renew_scale(agent.earnings)
    agent.counts[COUNT] = 0
    agent.counts[ROLLOUTS] += 1


@compiled_apart
def _shuffle(order: Ints, count: int, rng: Stream) -> None:
    """Put numbers into a random order (Fisher and Yates)."""
    for left in range(count - 1):
        last = count - 1 - left
        other = integer(rng, last + 1)
        order[last], order[other] = order[other], order[last]


@compiled_apart
def _improve(agent: PPO, start: int, size: int) -> None:
    """Take one step of Adam for the policy and one for the critic, from a batch."""
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
    if dimensions:
        for row in range(size):
            at = rollout.order[start + row]
            log = log_density(policy, outputs, row, agent.furthest, rollout.points, at)
            push = _push(log - rollout.logs[at], rollout.advantages[at], pace.clip) / size
            point_slopes(policy, outputs, row, agent.furthest, rollout.points, at, push, slopes)
    else:
        for row in range(size):
            at = rollout.order[start + row]
            chances(outputs, row, rollout.allowed, at, agent.chances)
            log = log_chance(agent.chances, rollout.choices[at])
            push = _push(log - rollout.logs[at], rollout.advantages[at], pace.clip) / size
            choice_slopes(agent.chances, rollout.choices[at], push, -pace.entropy / size, slopes, row)
    for row in range(size):
        value_slopes[row, 0] = (values[row, 0] - rollout.aims[rollout.order[start + row]]) / size
    step_size = _chance(take(agent.step_size, 0))
    backward(policy, size)
    descend(policy.weights, policy.gradient, agent.policy_means, step_size, pace.longest)
    backward(critic, size)
    descend(critic.weights, critic.gradient, agent.critic_means, step_size, pace.longest)


@compiled_apart
def _push(change: float, advantage: float, clip: float) -> float:
    """Return the slope of the loss of one action by the logarithm of its probability, which has changed by `change`."""
    ratio = exp(min(change, 20.0))
    held = ratio > 1.0 + clip if advantage > 0.0 else ratio < 1.0 - clip
    return 0.0 if held else -ratio * advantage
