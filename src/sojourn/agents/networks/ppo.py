"""Proximal policy optimisation for the average reward, with numbered or continuous actions.

For a rollout of steps, with v the critic, rho_eff the rate, corrected by centring, and s the unit of rewards,

    delta = (r - rho_eff tau) / s + v(o') - v(o),      A = delta + lambda A',

where A' is the advantage of the next step at the same place, or 0 if the episode was truncated (generalised advantage
estimation, Schulman et al. 2016, without a discount). The estimator of the rate sees all steps, one by one and in order.

The policy moves by the clipped objective of Schulman et al. (2017) with the normalised advantages, and the critic moves
towards A + v. A continuous action is normal around a mean that stays between the bounds. If the mean went beyond a bound,
all draws would be moved to the bound and earn the same, and nothing would show the way back.

The first rollout only measures, as observations have no unit before it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sojourn.agents.acting import actor
from sojourn.agents.constructors import slow_estimator
from sojourn.agents.exploration import Decay, Exploration, Linear, chance, later
from sojourn.agents.networks.base import (
    MOST_AT_ONCE,
    Earnings,
    Moments,
    NetworkAgent,
    acting_network,
    bounds_of,
    checked_hidden,
    checked_precision,
    earn,
    earnings,
    moments,
    normalise,
    observe,
    rate_of,
    refit_inputs,
    refit_outputs,
    remember,
    renew_scale,
    renew_units,
    scale_of,
    schedule_of,
    settle,
    to_environment,
    to_network,
    unsound,
    value_error,
    wrong_learned,
    wrong_masks,
    wrong_steps,
)
from sojourn.agents.networks.perceptron import (
    PRECISIONS,
    Adam,
    Kind,
    Perceptron,
    Reals,
    adam,
    backward,
    descend,
    forward,
    inputs_in,
    outputs_in,
    perceptron,
    wrong_adam,
    wrong_network,
)
from sojourn.agents.networks.protocol import Masks, Spaces, Transitions, checked_spaces
from sojourn.data.numbers import at_least_zero, positive, probability, whole
from sojourn.deploy.networks import Network
from sojourn.rates.protocol import Rate
from sojourn.rules.arrays import MOST_COUNTED, Flags, Floats, Ints, infinite, outside
from sojourn.rules.bridge import compiled_apart
from sojourn.rules.elementary import exp, log
from sojourn.rules.kernel import kernel
from sojourn.rules.random import Stream, integer, normal, stream, uniform
from sojourn.rules.values import put, stacked, take

# --- Policies: a probability for each numbered action, or a normal law for continuous ones ---
#
# For each there is the logarithm of the probability of an action, and its slopes by the network's outputs. In units of
# the network, a continuous action z goes from -1 to 1 between its bounds; the logarithms of its deviations are the last
# weights of the network.


_HALF_LOG_TWO_PI = 0.9189385332046727


@compiled_apart
def chances(outputs: Reals, row: int, allowed: Masks, mask: int, out: Floats) -> None:
    """Write the probability of each action: proportional to the exponential of its output, 0 if not allowed."""
    highest = -math.inf
    for action in range(len(out)):
        if allowed[mask, action]:
            highest = max(highest, float(outputs[row, action]))
    total = 0.0
    for action in range(len(out)):
        out[action] = exp(float(outputs[row, action]) - highest) if allowed[mask, action] else 0.0
        total += out[action]
    for action in range(len(out)):
        out[action] /= total


@compiled_apart
def drawn_action(probabilities: Floats, rng: Stream) -> int:
    """Draw an action; one with a probability of 0 is never drawn."""
    left = uniform(rng)
    last = 0
    for action in range(len(probabilities)):
        if probabilities[action] > 0.0:
            last = action
            left -= probabilities[action]
            if left < 0.0:
                return action
    return last  # if rounding has left something over


@compiled_apart
def likeliest(probabilities: Floats) -> int:
    """Return the first of the actions with the largest probability."""
    best = 0
    for action in range(1, len(probabilities)):
        if probabilities[action] > probabilities[best]:
            best = action
    return best


@compiled_apart
def log_chance(probabilities: Floats, action: int) -> float:
    """Return the logarithm of an action's probability."""
    return log(max(probabilities[action], 1e-300))


@compiled_apart
def choice_slopes(
    probabilities: Floats, action: int, push: float, spread: float, slopes: Reals, row: int
) -> None:
    """Write the slopes of push log p(action) + spread H(p) by the outputs, where H is the entropy."""
    entropy = 0.0
    for j in range(len(probabilities)):
        if spread != 0.0 and probabilities[j] > 0.0:
            entropy -= probabilities[j] * log(probabilities[j])
    for j in range(len(probabilities)):
        p = probabilities[j]
        taken = 1.0 if j == action else 0.0
        slope = push * (taken - p)
        if spread != 0.0 and p > 0.0:
            slope -= spread * p * (log(p) + entropy)
        slopes[row, j] = slope


@compiled_apart
def log_deviation(network: Perceptron, dimension: int, dimensions: int) -> float:
    """Return the logarithm of the deviation of one dimension of an action."""
    return float(network.weights[len(network.weights) - dimensions + dimension])


@compiled_apart
def held_mean(outputs: Reals, row: int, dimension: int, furthest: Floats) -> float:
    """Return the mean of one dimension of an action: the output, or the bound if the output is beyond it."""
    end = float(furthest[dimension])
    return min(max(float(outputs[row, dimension]), -end), end)


@compiled_apart
def log_density(
    network: Perceptron, outputs: Reals, row: int, furthest: Floats, points: Floats, at: int
) -> float:
    """Return the logarithm of the density of an action."""
    total = 0.0
    dimensions = points.shape[1]
    for j in range(dimensions):
        deviation = log_deviation(network, j, dimensions)
        z = (points[at, j] - held_mean(outputs, row, j, furthest)) * exp(-deviation)
        total -= 0.5 * z * z + deviation + _HALF_LOG_TWO_PI
    return total


@compiled_apart
def point_slopes(
    network: Perceptron,
    outputs: Reals,
    row: int,
    furthest: Floats,
    points: Floats,
    at: int,
    push: float,
    slopes: Reals,
) -> None:
    """Write the slopes of push log p(action) by the means, and add those by the logarithms of the deviations.

    An output beyond a bound is never pushed farther out, since it might not come back.
    """
    dimensions = points.shape[1]
    for j in range(dimensions):
        narrow = exp(-log_deviation(network, j, dimensions))
        mean = held_mean(outputs, row, j, furthest)
        z = (points[at, j] - mean) * narrow
        slope = push * z * narrow
        slopes[row, j] = slope if slope * (mean - float(outputs[row, j])) <= 0.0 else 0.0
        network.gradient[len(network.gradient) - dimensions + j] += push * (z * z - 1.0)


# --- The rollout ----------------------------------------------------------------------


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


class PPOOptions(NamedTuple):
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
    pace: PPOOptions


@unsound.register
def unsound_ppo(learned: PPO) -> str:
    """Its networks must fit its rollout, whose places and actions must exist; where it saw masks, they allow some action."""
    rollout, counts, dimensions = learned.rollout, learned.counts, len(learned.low)
    room, inputs = rollout.observations.shape
    actions, count = rollout.allowed.shape[1], int(counts[COUNT])
    return (
        wrong_network("policy", learned.policy, room, inputs, dimensions or actions, dimensions)
        or wrong_network("critic", learned.critic, room, inputs, 1, 0)
        or wrong_adam("policy_means", learned.policy_means)
        or wrong_adam("critic_means", learned.critic_means)
        or outside("counts.steps", counts[:1], 0, learned.pace.steps - 1)
        or outside("counts.rollouts", counts[1:], 0, MOST_COUNTED)
        or outside("rollout.places", rollout.places, 0, len(rollout.ahead) - 1)
        or ("" if dimensions else outside("rollout.choices", rollout.choices, 0, actions - 1))
        or ("" if dimensions else wrong_masks("rollout.allowed", rollout.allowed[:count]))
        or wrong_steps("rollout", rollout)
        or infinite("rollout.points", rollout.points)
        or ("" if (learned.low < learned.high).all() else "the bounds of the actions are not in order")
        or infinite("low", learned.low)
        or infinite("high", learned.high)
        or ("" if (learned.furthest > 0.0).all() else "the bounds of means are not above 0")
        or wrong_learned(learned)
    )


@actor.register
def actor_of_ppo(learned: PPO) -> Network:
    """Its policy: the mean of a point, or an output for each numbered action, which the critic plays no part in."""
    if not len(learned.low):
        return acting_network("chances", learned.policy, learned.seen)
    bounds = (learned.low, learned.high, learned.furthest)
    return acting_network("normal", learned.policy, learned.seen, *bounds)


@value_error.register
def value_error_of_ppo(learned: PPO) -> float:
    """The critic's, over the last rollout, before it learned from that."""
    rollout, count = learned.rollout, learned.pace.steps
    if learned.counts[ROLLOUTS] < 2:  # the first only measures
        return math.nan
    return float(np.sqrt(np.mean((rollout.aims[:count] - rollout.values[:count]) ** 2)))


@compiled_apart
def take_in(agent: PPO, steps: Transitions, i: int) -> None:
    """Add a step, except for its action, to the rollout, and show it to the estimator of the rate."""
    rollout = agent.rollout
    at = agent.counts[COUNT]
    remember(rollout, at, steps, i)
    for j in range(rollout.allowed.shape[1]):
        rollout.allowed[at, j] = steps.allowed[i, j]
    rollout.places[at] = steps.places[i]
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
    settle(agent.earnings, level, 1.0)
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


# --- The policy and the critic -----------------------------------------------------------

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
            actions[row, j] = to_environment(z, agent.low[j], agent.high[j])
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
            agent.rollout.points[at, j] = to_network(steps.actions[i, j], agent.low[j], agent.high[j])
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


# --- The constructor ---------------------------------------------------------------------

_LONGEST = 0.5  # of a gradient
_MOST_STEPS, _MOST_EPOCHS = 1_000_000, 1000  # of a rollout, all of which is in memory
_FIRST_DEVIATION = -0.7  # its logarithm: half of the way from the middle to a bound


def ppo(  # an option for each thing that users tune, as in every constructor of an agent
    spaces: Spaces,
    *,
    hidden: Sequence[int] = (64, 64),
    step_size: float | Decay | Linear = Linear(0.001, 0.00005, 400_000.0),  # noqa: B008 - a value, which cannot change
    rollout: int = 2048,
    batch: int = 128,
    epochs: int = 8,
    trace: float = 0.8,
    clip: float = 0.2,
    entropy: float = 0.0,
    rate: Rate | None = None,
    rate_step_size: float | None = None,
    centring: float = 0.1,
    precision: str = "single",
    compiled: bool = True,
) -> NetworkAgent:
    """Proximal policy optimisation for reward per unit time, with numbered or continuous actions.

    After every `rollout` steps, of all environments together, the policy and the critic learn from these steps in
    batches, using each step `epochs` times. `trace` is lambda of the advantages, `clip` is how far the probability of
    an action may move, and `entropy` is the weight of the policy's entropy. You can give any estimator of the rate; it
    sees every step. `centring` corrects it by the level of the values. `hidden`, `step_size` and `precision` are as in
    `deep_q`.

    Continuous actions begin in the middle of their bounds, with a standard deviation of half the distance to a bound,
    so the bounds should hold only actions that may be worth trying. The best actions stand out only as the deviation
    falls, which takes about 200,000 steps.

    >>> agent = ppo(Spaces(num_inputs=2, low=[-1.0], high=[1.0]), hidden=(8,), compiled=False)
    >>> agent.greedy(np.zeros((1, 2)), np.zeros((1, 0))).shape
    (1, 1)
    """
    options = {name: option for name, option in locals().items() if name != "spaces"}
    spaces = checked_spaces(spaces, "ppo", continuous=True)
    steps, size = whole("rollout", rollout, most=_MOST_STEPS), whole("batch", batch, most=MOST_AT_ONCE)
    room = steps + spaces.places
    rng, layers = stream(spaces.seed), checked_hidden(hidden)
    low, high, furthest = bounds_of(spaces)
    dimensions = len(low)
    # Small weights in its last layer make a policy begin with nearly equal probabilities.
    policy = perceptron(
        (spaces.num_inputs, *layers, dimensions or spaces.num_actions),
        room,
        rng,
        precision=checked_precision(precision),
        last=0.01,
        further=[_FIRST_DEVIATION] * dimensions,
    )
    critic = perceptron((spaces.num_inputs, *layers, 1), room, rng, precision=precision)
    learned = PPO(
        policy=policy,
        policy_means=adam(policy.weights),
        critic=critic,
        critic_means=adam(critic.weights),
        rollout=_empty(spaces, room, dimensions, PRECISIONS[precision]),
        low=low,
        high=high,
        furthest=furthest,
        chances=np.zeros(spaces.num_actions),
        seen=moments(spaces.num_inputs),
        earnings=earnings(slow_estimator(rate_step_size, rate, centring), spaces.places),
        step_size=stacked([schedule_of("step_size", step_size)]),
        counts=np.zeros(2, dtype=np.int64),
        rng=rng,
        pace=PPOOptions(
            steps=steps,
            batch=size,
            epochs=whole("epochs", epochs, most=_MOST_EPOCHS),
            trace=probability("trace", trace),
            clip=positive("clip", clip),
            entropy=at_least_zero("entropy", entropy),
            longest=_LONGEST,
        ),
    )
    choose, learn = (choose_points, learn_points) if dimensions else (choose_choices, learn_choices)
    return NetworkAgent("ppo", learned, choose, learn, spaces, options, compiled)


def _empty(spaces: Spaces, room: int, dimensions: int, kind: Kind) -> Rollout:
    """Return a rollout with room for `room` steps."""
    return Rollout(
        places=np.zeros(room, dtype=np.int64),
        observations=np.zeros((room, spaces.num_inputs), dtype=kind),
        allowed=np.zeros((room, spaces.num_actions), dtype=np.int8),
        choices=np.zeros(room, dtype=np.int64),
        points=np.zeros((room, dimensions)),
        rewards=np.zeros(room),
        durations=np.zeros(room),
        next_observations=np.zeros((room, spaces.num_inputs), dtype=kind),
        cut=np.zeros(room, dtype=np.bool_),
        values=np.zeros(room),
        logs=np.zeros(room),
        advantages=np.zeros(room),
        aims=np.zeros(room),
        order=np.zeros(room, dtype=np.int64),
        ahead=np.zeros(spaces.places),
    )
