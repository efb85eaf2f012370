"""Soft actor-critic for reward per unit time, with continuous actions: RVI-SAC, with durations.

A policy draws an action that is normal before tanh squashes it into its bounds. With rho the rate, s the unit of rewards,
alpha the temperature, H the entropy that a decision should have, and Q' the smaller one of two target networks, a batch of
remembered steps moves both critics towards

    y = (r - rho tau) / s - c (e - E tau) + V(o'),    V(o') = Q'(o', a') - alpha (log p(a' | o') + H),

where the policy draws a' anew. The policy moves by the slope of Q(o, a) - alpha log p(a | o), with the smaller Q, through
the action that it draws, and alpha grows as long as the entropy is below H (Haarnoja et al. 2018).

Others leave out the constant H, which makes no difference as long as all steps last equally long. With durations it does:
every decision would be paid for its entropy, and many short decisions would be paid more often. With H, alpha is the price
of the constraint that decisions have an entropy of H on average. What is paid at this price adds up to nothing, so rho is
the rate of the rewards alone, as any estimator sees it. In the same way, c is the price of the constraint that there are at
most E terminated episodes per unit of time; e is 1 if the step terminated one. This is the reset cost of Hisaki and Ono
(2024). They estimate by a third critic how often the policy terminates; here it is counted while the policy acts.

The values belong to the policy that acts, and so does the rate, which the estimator learns from every step. In RVI-SAC the
rate is f(Q), a share of the mean of V(o') that is followed slowly. That is centring of a rate that is fixed at 0:
`sac(rate=Fixed(0.0), centring=0.1)`. It is not the default, because the mean of V(o') moves with what is in the memory,
and until that has settled the rate is wrong; with durations, wrong rates make wrong decisions.
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
    MOST_STEPS,
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
    wrong_earnings,
    wrong_learned,
    wrong_steps,
)
from sojourn.agents.networks.perceptron import (
    PRECISIONS,
    Adam,
    Kind,
    Perceptron,
    Reals,
    adam,
    approach,
    backward,
    backward_to_inputs,
    descend,
    forward,
    input_slopes_in,
    inputs_in,
    outputs_in,
    perceptron,
    wrong_adam,
    wrong_network,
)
from sojourn.agents.networks.protocol import Masks, Spaces, Transitions, checked_spaces
from sojourn.data.numbers import at_least_zero, finite, fraction, whole
from sojourn.deploy.networks import Network
from sojourn.rates.centred import LEVEL_STEP
from sojourn.rates.protocol import Rate
from sojourn.rates.ratio import Exponential
from sojourn.rules.arrays import MOST_COUNTED, Flags, Floats, Ints, infinite, outside
from sojourn.rules.bridge import compiled_apart
from sojourn.rules.door import told
from sojourn.rules.elementary import exp, log, log1p
from sojourn.rules.kernel import kernel
from sojourn.rules.random import Stream, integer, normal, stream
from sojourn.rules.values import put, stacked, take

_chance, _later = chance.bare, later.bare
_LONGEST = 10.0  # of a gradient
_RENEWAL = 1000  # steps from one change of the units of observations and rewards to the next
_FIRST_TEMPERATURE = 0.1  # in units of rewards
_RESET_STEP = 0.001  # of the estimator of how often episodes are terminated
_NARROWEST, _WIDEST = -10.0, 2.0  # logarithms of the deviations before squashing
_HALF_LOG_TWO_PI, _LOG_FOUR = 0.9189385332046727, 1.3862943611198906

_SEEN, _DUE = range(2)  # places in `counts`: transitions so far, and those since the last batch


class Critic(NamedTuple):
    """A network that values an observation with an action, and the target that follows it slowly."""

    network: Perceptron
    target: Reals
    means: Adam


class PointMemory(NamedTuple):
    """The last transitions, as many as there is room for, with continuous actions in units of the network."""

    observations: Reals
    points: Reals
    rewards: Floats
    durations: Floats
    next_observations: Reals
    ended: Flags


class Draws(NamedTuple):
    """Room for the actions that the policy draws for a batch."""

    noise: Floats  # standard normal numbers
    points: Floats  # the actions, in units of the network
    logs: Floats  # of their densities
    slopes: Floats  # of the smaller Q by the actions


class Multiplier(NamedTuple):
    """The price of a constraint, a single number, and how it moves."""

    number: Reals
    gradient: Reals
    means: Adam


class SAC(NamedTuple):
    """Everything that a soft actor-critic has learned. Its step size is a stack of one.

    `temperature` is the logarithm of alpha, and `reset_cost` is c. Both are in units of rewards.
    """

    actor: Perceptron
    actor_means: Adam
    first: Critic
    second: Critic
    temperature: Multiplier
    reset_cost: Multiplier
    resets: Earnings  # how often episodes are terminated: a rate of terminations
    replay: PointMemory
    chosen: Ints  # the transitions of a batch
    draws: Draws
    aims: Floats  # what the value of each of them should be
    error: Floats  # of the critics in the last batch: a root mean square
    low: Floats
    high: Floats
    furthest: Floats  # from 0 that an action may be, in units of the network: 1 if squashed
    seen: Moments
    earnings: Earnings
    step_size: Exploration
    counts: Ints
    rng: Stream
    warm_up: int  # transitions before anything is learned
    every: int  # transitions from batch to batch
    target_step: float  # how fast the targets follow
    entropy: float  # that a decision should have
    most_resets: float  # per unit of time


@unsound.register
def unsound_sac(learned: SAC) -> str:
    """Its networks must fit its replay and the bounds of its actions."""
    replay, counts, size, dimensions = learned.replay, learned.counts, len(learned.chosen), len(learned.low)
    inputs = replay.observations.shape[1]
    wrong = (
        wrong_network("actor", learned.actor, size, inputs, 2 * dimensions, 0)
        or wrong_adam("actor_means", learned.actor_means)
        or wrong_adam("temperature.means", learned.temperature.means)
        or infinite("temperature.number", learned.temperature.number)
        or wrong_adam("reset_cost.means", learned.reset_cost.means)
        or outside("reset_cost.number", learned.reset_cost.number, 0.0, np.finfo(np.float64).max)
        or wrong_earnings(learned.resets)
        or outside("counts.seen", counts[:1], 0, MOST_COUNTED)
        or outside("counts.due", counts[1:], 0, learned.every - 1)
        or wrong_steps("replay", replay)
        or infinite("replay.points", replay.points)
        or ("" if (learned.low < learned.high).all() else "the bounds of the actions are not in order")
        or infinite("low", learned.low)
        or infinite("high", learned.high)
        or ("" if (learned.furthest > 0.0).all() else "the bounds of means are not above 0")
        or wrong_learned(learned)
    )
    for name, critic in (("first", learned.first), ("second", learned.second)):
        wrong = (
            wrong
            or wrong_network(f"{name}.network", critic.network, size, inputs + dimensions, 1, 0)
            or infinite(f"{name}.target", critic.target)
            or wrong_adam(f"{name}.means", critic.means)
        )
    return wrong


# --- The policy -----------------------------------------------------------------------


@actor.register
def actor_of_sac(learned: SAC) -> Network:
    """Its actor; the critics play no part in it."""
    bounds = (learned.low, learned.high, learned.furthest)
    return acting_network("squashed", learned.actor, learned.seen, *bounds)


@value_error.register
def value_error_of_sac(learned: SAC) -> float:
    """That of both critics in the last batch."""
    return float(learned.error[0])


@compiled_apart
def squashed(u: float, furthest: float) -> float:
    """Return the action in units of the network: tanh(u) between bounds, u where there are none."""
    if furthest == math.inf:
        return u
    small = exp(-2.0 * abs(u))
    return math.copysign((1.0 - small) / (1.0 + small), u)


@compiled_apart
def log_squeeze(u: float, furthest: float) -> float:
    """Return the logarithm of the slope of `squashed` at u, which is 1 - tanh(u)^2 or 1."""
    if furthest == math.inf:
        return 0.0
    far = abs(u)
    return _LOG_FOUR - 2.0 * far - 2.0 * log1p(exp(-2.0 * far))


@compiled_apart
def log_width(outputs: Reals, row: int, dimension: int) -> float:
    """Return the logarithm of the deviation before squashing: the output, or the end of its range."""
    log_deviation = float(outputs[row, outputs.shape[1] // 2 + dimension])
    return min(max(log_deviation, _NARROWEST), _WIDEST)


@compiled_apart
def draw_points(outputs: Reals, rows: int, furthest: Floats, rng: Stream, draws: Draws) -> None:
    """Draw an action for each row of the policy's outputs, and compute the logarithm of its density."""
    for row in range(rows):
        total = 0.0
        for j in range(len(furthest)):
            wide, noise = log_width(outputs, row, j), normal(rng)
            u = float(outputs[row, j]) + exp(wide) * noise
            draws.noise[row, j] = noise
            draws.points[row, j] = squashed(u, furthest[j])
            total -= 0.5 * noise * noise + wide + _HALF_LOG_TWO_PI + log_squeeze(u, furthest[j])
        draws.logs[row] = total


@compiled_apart
def policy_slopes(
    outputs: Reals, rows: int, furthest: Floats, draws: Draws, alpha: float, slopes: Reals
) -> None:
    """Write the slopes of the mean of alpha log p - Q by the policy's outputs, through the actions that were drawn.

    A deviation at the end of its range is only pulled back.
    """
    dimensions = len(furthest)
    for row in range(rows):
        for j in range(dimensions):
            z = draws.points[row, j]
            by_u = -draws.slopes[row, j]
            if furthest[j] < math.inf:
                by_u = 2.0 * alpha * z - draws.slopes[row, j] * (1.0 - z) * (1.0 + z)
            wide = log_width(outputs, row, j)
            by_width = by_u * exp(wide) * draws.noise[row, j] - alpha
            beyond = float(outputs[row, dimensions + j]) - wide
            slopes[row, j] = by_u / rows
            slopes[row, dimensions + j] = by_width / rows if by_width * beyond >= 0.0 else 0.0


@kernel
def _choose(agent: SAC, observations: Floats, allowed: Masks, actions: Floats, explored: Flags) -> None:
    """Draw actions where `explored` says so, and take the squashed means elsewhere, in the environment's units."""
    inputs, outputs = inputs_in(agent.actor), outputs_in(agent.actor, agent.actor.units)
    for row in range(len(observations)):
        normalise(agent.seen, observations, row, inputs, row)
    forward(agent.actor, agent.actor.weights, len(observations))
    for row in range(len(observations)):
        for j in range(len(agent.low)):
            u = float(outputs[row, j])
            if explored[row]:
                u += exp(log_width(outputs, row, j)) * normal(agent.rng)
            actions[row, j] = to_environment(squashed(u, agent.furthest[j]), agent.low[j], agent.high[j])
        explored[row] = False  # every action that a policy draws is its own


# --- Learning -------------------------------------------------------------------------


@kernel
def _learn(agent: SAC, steps: Transitions) -> None:
    """Remember each transition, show it to the estimators, and learn from the batches that are due."""
    replay, counts = agent.replay, agent.counts
    for i in range(len(steps.rewards)):
        at = counts[_SEEN] % len(replay.rewards)
        remember(replay, at, steps, i)
        for j in range(len(agent.low)):
            replay.points[at, j] = to_network(steps.actions[i, j], agent.low[j], agent.high[j])
        ended = len(steps.ended) > 0 and steps.ended[i]
        replay.ended[at] = ended
        observe(agent.seen, steps.observations, i)
        earn(agent.earnings, steps.places[i], steps.rewards[i], steps.durations[i], True)
        earn(agent.resets, steps.places[i], 1.0 if ended else 0.0, steps.durations[i], True)
        put(agent.step_size, 0, _later(take(agent.step_size, 0)))
        counts[_SEEN] += 1
        counts[_DUE] += 1
        if counts[_SEEN] < agent.warm_up:
            counts[_DUE] = 0
        elif counts[_SEEN] == agent.warm_up or counts[_SEEN] % _RENEWAL == 0:
            _renew(agent)
    while counts[_DUE] >= agent.every:
        counts[_DUE] -= agent.every
        _learn_from_batch(agent)


@compiled_apart
def _renew(agent: SAC) -> None:
    """Change to the present units of observations and rewards; what was learned in earlier units is kept."""
    before = scale_of(agent.earnings)
    if agent.counts[_SEEN] > agent.warm_up:
        refit_inputs(agent.seen, agent.actor, agent.actor.weights)
        _refit(agent, agent.first)
        _refit(agent, agent.second)
    renew_units(agent.seen)
    renew_scale(agent.earnings)
    if agent.counts[_SEEN] > agent.warm_up:
        stretch = before / scale_of(agent.earnings)
        agent.temperature.number[0] += log(stretch)
        agent.reset_cost.number[0] *= stretch


@compiled_apart
def _refit(agent: SAC, critic: Critic) -> None:
    """Change a critic's weights so that it says the same in the next units as it says now."""
    for weights in (critic.network.weights, critic.target):
        refit_inputs(agent.seen, critic.network, weights)
        refit_outputs(agent.earnings, critic.network, weights)


@compiled_apart
def _learn_from_batch(agent: SAC) -> None:
    """Take one step of Adam for both critics, the policy, the temperature and the reset cost; then the targets follow."""
    step_size = _chance(take(agent.step_size, 0))
    alpha = exp(float(agent.temperature.number[0]))
    _aim(agent, alpha)
    square = _judge(agent, agent.first, step_size) + _judge(agent, agent.second, step_size)
    agent.error[0] = math.sqrt(square / 2.0)
    _improve(agent, alpha, step_size)
    if agent.most_resets < math.inf:
        _raise(agent.reset_cost, rate_of(agent.resets) - agent.most_resets, step_size)
        agent.reset_cost.number[0] = max(float(agent.reset_cost.number[0]), 0.0)
    approach(agent.first.target, agent.first.network.weights, agent.target_step)
    approach(agent.second.target, agent.second.network.weights, agent.target_step)


@compiled_apart
def _raise(price: Multiplier, violation: float, step_size: float) -> None:
    """Take one step of Adam: the price of a constraint that is violated rises, that of any other falls."""
    price.gradient[0] = -violation
    descend(price.number, price.gradient, price.means, step_size, math.inf)


@compiled_apart
def _aim(agent: SAC, alpha: float) -> None:
    """Choose the steps of a batch, and compute what the critics should say of them."""
    replay, chosen, aims = agent.replay, agent.chosen, agent.aims
    size = len(chosen)
    inputs, outputs = inputs_in(agent.actor), outputs_in(agent.actor, agent.actor.units)
    there = min(agent.counts[_SEEN], len(replay.rewards))
    for i in range(size):
        chosen[i] = integer(agent.rng, there)
        normalise(agent.seen, replay.next_observations, chosen[i], inputs, i)
    forward(agent.actor, agent.actor.weights, size)
    draw_points(outputs, size, agent.furthest, agent.rng, agent.draws)
    _show(agent, agent.first.network)
    _show(agent, agent.second.network)
    forward(agent.first.network, agent.first.target, size)
    forward(agent.second.network, agent.second.target, size)
    firsts = outputs_in(agent.first.network, agent.first.network.units)
    seconds = outputs_in(agent.second.network, agent.second.network.units)
    rate, scale, cost = rate_of(agent.earnings), scale_of(agent.earnings), float(agent.reset_cost.number[0])
    level = 0.0
    for i in range(size):
        at = chosen[i]
        ahead = min(float(firsts[i, 0]), float(seconds[i, 0])) - alpha * (agent.draws.logs[i] + agent.entropy)
        level += ahead / size
        aims[i] = (replay.rewards[at] - rate * replay.durations[at]) / scale + ahead
        if cost > 0.0:
            aims[i] -= cost * ((1.0 if replay.ended[at] else 0.0) - agent.most_resets * replay.durations[at])
    settle(agent.earnings, level, LEVEL_STEP)


@compiled_apart
def _show(agent: SAC, network: Perceptron) -> None:
    """Make the observations that the actor has looked at, and the actions that it has drawn, the inputs of a critic."""
    looked_at, inputs = inputs_in(agent.actor), inputs_in(network)
    width = looked_at.shape[1]
    for i in range(len(agent.chosen)):
        for j in range(width):
            inputs[i, j] = looked_at[i, j]
        for j in range(len(agent.low)):
            inputs[i, width + j] = agent.draws.points[i, j]


@compiled_apart
def _judge(agent: SAC, critic: Critic, step_size: float) -> float:
    """Take one step of Adam on the mean of (y - Q)^2 / 2 over a batch; return the mean of (y - Q)^2 before it."""
    network, replay, chosen = critic.network, agent.replay, agent.chosen
    size, width = len(chosen), replay.observations.shape[1]
    inputs, values = inputs_in(network), outputs_in(network, network.units)
    slopes = outputs_in(network, network.slopes)
    for i in range(size):
        normalise(agent.seen, replay.observations, chosen[i], inputs, i)
        for j in range(len(agent.low)):
            inputs[i, width + j] = replay.points[chosen[i], j]
    forward(network, network.weights, size)
    square = 0.0
    for i in range(size):
        error = float(values[i, 0]) - agent.aims[i]
        square += error * error / size
        slopes[i, 0] = error / size
    backward(network, size)
    descend(network.weights, network.gradient, critic.means, step_size, _LONGEST)
    return square


@compiled_apart
def _improve(agent: SAC, alpha: float, step_size: float) -> None:
    """Take one step of Adam for the policy, and one for the temperature."""
    actor, first, second, size = agent.actor, agent.first.network, agent.second.network, len(agent.chosen)
    inputs, outputs = inputs_in(actor), outputs_in(actor, actor.units)
    for i in range(size):
        normalise(agent.seen, agent.replay.observations, agent.chosen[i], inputs, i)
    forward(actor, actor.weights, size)
    draw_points(outputs, size, agent.furthest, agent.rng, agent.draws)
    _show(agent, first)
    _show(agent, second)
    forward(first, first.weights, size)
    forward(second, second.weights, size)
    firsts, seconds = outputs_in(first, first.units), outputs_in(second, second.units)
    of_first, of_second = outputs_in(first, first.slopes), outputs_in(second, second.slopes)
    for i in range(size):
        is_first = firsts[i, 0] <= seconds[i, 0]
        of_first[i, 0] = 1.0 if is_first else 0.0
        of_second[i, 0] = 0.0 if is_first else 1.0
    backward_to_inputs(first, size)
    backward_to_inputs(second, size)
    by_first, by_second = input_slopes_in(first), input_slopes_in(second)
    surplus = 0.0
    for i in range(size):
        surplus += (agent.draws.logs[i] + agent.entropy) / size
        for j in range(len(agent.low)):
            at = inputs.shape[1] + j  # one of the two has a slope of 0
            agent.draws.slopes[i, j] = float(by_first[i, at]) + float(by_second[i, at])
    policy_slopes(outputs, size, agent.furthest, agent.draws, alpha, outputs_in(actor, actor.slopes))
    backward(actor, size)
    descend(actor.weights, actor.gradient, agent.actor_means, step_size, _LONGEST)
    _raise(agent.temperature, surplus, step_size)


# --- The constructor ------------------------------------------------------------------


@told
def sac(  # an option for each thing that users tune, as in every constructor of an agent
    spaces: Spaces,
    *,
    hidden: Sequence[int] = (64, 64),
    step_size: float | Decay | Linear = 0.001,
    batch: int = 128,
    replay: int = 100_000,
    warm_up: int = 1000,
    every: int = 1,
    target_step: float = 0.005,
    entropy: float = -2.0,
    most_resets: float | None = None,
    rate: Rate | None = None,
    rate_step_size: float | None = None,
    centring: float = 0.0,
    precision: str = "single",
    compiled: bool = True,
) -> NetworkAgent:
    """Soft actor-critic for reward per unit time: continuous actions, learned from a memory of past steps.

    The policy draws actions that are normal before tanh squashes them into their bounds; where there is no bound, they stay
    normal. After the first `warm_up` steps, two critics, their targets and the policy learn from a batch of remembered steps
    every `every` steps. `entropy` is what a decision should have on average, in nats per dimension of an action whose bounds
    are -1 and 1; the temperature that this takes is learned. The lower it is, the closer the policy comes to the best action,
    and the less it explores. `most_resets` is how many episodes may be terminated per unit of time; a price for each is then
    learned. By default they cost only what the environment says.

    You can give any estimator of the rate; it sees every step. `centring` corrects it by the level of the values; with
    `rate=Fixed(0.0)` and `centring=0.1` the rate is that of RVI-SAC. `hidden`, `step_size`, `replay` and `precision` are as
    in `deep_q`.

    >>> agent = sac(Spaces(num_inputs=2, low=[-1.0], high=[1.0]), hidden=(8,), compiled=False)
    >>> agent.greedy(np.zeros((1, 2)), np.zeros((1, 0))).shape
    (1, 1)
    """
    options = {name: option for name, option in locals().items() if name != "spaces"}
    spaces = checked_spaces(spaces, "sac", continuous=True, numbered=False)
    size, room = whole("batch", batch, most=MOST_AT_ONCE), whole("replay", replay, most=MOST_STEPS)
    rows, kind = max(size, spaces.places), PRECISIONS[checked_precision(precision)]
    rng, layers = stream(spaces.seed), checked_hidden(hidden)
    low, high, furthest = bounds_of(spaces)
    dimensions = len(low)
    # Small weights in its last layer make a policy begin with nearly the same law everywhere.
    widths = (spaces.num_inputs, *layers, 2 * dimensions)
    actor = perceptron(widths, rows, rng, precision=precision, last=0.01)
    first, second = (
        _critic((spaces.num_inputs + dimensions, *layers, 1), rows, rng, precision) for _ in range(2)
    )
    learned = SAC(
        actor=actor,
        actor_means=adam(actor.weights),
        first=first,
        second=second,
        temperature=_multiplier(math.log(_FIRST_TEMPERATURE), kind),
        reset_cost=_multiplier(0.0, kind),
        resets=earnings(Exponential(_RESET_STEP), spaces.places),
        replay=PointMemory(
            observations=np.zeros((room, spaces.num_inputs), dtype=kind),
            points=np.zeros((room, dimensions), dtype=kind),
            rewards=np.zeros(room),
            durations=np.zeros(room),
            next_observations=np.zeros((room, spaces.num_inputs), dtype=kind),
            ended=np.zeros(room, dtype=np.bool_),
        ),
        chosen=np.zeros(size, dtype=np.int64),
        draws=Draws(
            noise=np.zeros((size, dimensions)),
            points=np.zeros((size, dimensions)),
            logs=np.zeros(size),
            slopes=np.zeros((size, dimensions)),
        ),
        aims=np.zeros(size),
        error=np.full(1, np.nan),
        low=low,
        high=high,
        furthest=furthest,
        seen=moments(spaces.num_inputs),
        earnings=earnings(slow_estimator(rate_step_size, rate, centring), spaces.places),
        step_size=stacked([schedule_of("step_size", step_size)]),
        counts=np.zeros(2, dtype=np.int64),
        rng=rng,
        warm_up=whole("warm_up", warm_up, most=MOST_STEPS),
        every=whole("every", every, most=MOST_STEPS),
        target_step=fraction("target_step", target_step),
        entropy=finite("entropy", entropy) * dimensions,
        most_resets=math.inf if most_resets is None else at_least_zero("most_resets", most_resets),
    )
    return NetworkAgent("sac", learned, _choose, _learn, spaces, options, compiled)


def _critic(widths: tuple[int, ...], rows: int, rng: Stream, precision: str) -> Critic:
    """Return a critic with a target of the same weights."""
    network = perceptron(widths, rows, rng, precision=precision)
    return Critic(network, network.weights.copy(), adam(network.weights))


def _multiplier(number: float, kind: Kind) -> Multiplier:
    """Return a price that has not moved yet."""
    numbers: Reals = np.array([number], dtype=kind)
    return Multiplier(numbers, np.zeros_like(numbers), adam(numbers))
