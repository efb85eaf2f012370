"""Deep Q-learning for the average reward: double, with replay, returns of several steps and a soft target.

With rho_eff the rate, corrected by centring, and s the unit of rewards, a batch of remembered steps moves Q towards

    y = (r - rho_eff tau) / s + Q'(o', argmax Q(o', .)),

where r and tau are the reward and duration of up to five steps that followed one another, o' is where they led, and Q'
is the target network, which follows Q slowly (van Hasselt, Guez and Silver 2016 for the double estimate; the average
reward replaces the discount). The steps end before one that was not greedy, and where an episode was cut off.

A maximum over noisy values is too large, and without a discount nothing makes the excess fade: it is added once for each
return. The part that all states have in common ends up in rho_eff; the rest draws the policy to where values are least
certain. Returns of five steps add it once in five steps. Ending them before a step that explores is Watkins's idea (1989).

Units of observations and rewards are those of all that is remembered. If they were those of the last ten thousand steps, and
nothing happened any more in these, rewards from earlier steps would become huge.

An action that explores is held for n steps, more than n with probability 1 / (n + 1), up to 30 (Dabney, Ostrovski and
Barreto 2021, whose law of n is similar). So exploration also reaches what only many equal actions in a row can reach.

The estimator of the rate sees the steps that took the greedy action, one by one and in order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sojourn.agents.acting import actor
from sojourn.agents.constructors import slow_estimator
from sojourn.agents.exploration import Decay, Exploration, Linear, chance, exploration_of, later
from sojourn.agents.networks.base import (
    MOST_AT_ONCE,
    MOST_STEPS,
    Earnings,
    Moments,
    NetworkAgent,
    acting_network,
    checked_hidden,
    checked_precision,
    completed,
    earn_slowly,
    earnings,
    moments,
    normalise,
    observe_slowly,
    rate_of,
    refit_inputs,
    refit_outputs,
    remember,
    renew_scale,
    renew_units,
    scale_of,
    schedule_of,
    settle,
    unsound,
    value_error,
    wrong_learned,
    wrong_masks,
    wrong_stack,
    wrong_steps,
)
from sojourn.agents.networks.perceptron import (
    PRECISIONS,
    Adam,
    Perceptron,
    Reals,
    adam,
    approach,
    backward,
    descend,
    forward,
    inputs_in,
    outputs_in,
    perceptron,
    wrong_adam,
    wrong_network,
)
from sojourn.agents.networks.protocol import Masks, Memory, Spaces, Transitions, checked_spaces
from sojourn.data.numbers import fraction, whole
from sojourn.deploy.networks import Network
from sojourn.rates.centred import LEVEL_STEP
from sojourn.rates.protocol import Rate
from sojourn.rules.arrays import MOST_COUNTED, Flags, Floats, Ints, infinite, outside
from sojourn.rules.bridge import compiled_apart
from sojourn.rules.door import told
from sojourn.rules.kernel import kernel
from sojourn.rules.random import Stream, integer, stream, uniform
from sojourn.rules.values import arrays_in, put, stacked, take

_chance, _later = chance.bare, later.bare
_MOST_AHEAD = 10_000  # steps
_LONGEST = 10.0  # of a gradient
_RENEWAL = 1000  # steps from one change of the units of observations and rewards to the next

_SEEN, _DUE = range(2)  # places in `counts`: transitions so far, and those since the last batch


class ReplayMemory(NamedTuple):
    """The last transitions, as many as there is room for."""

    observations: Reals
    actions: Ints
    rewards: Floats
    durations: Floats
    next_observations: Reals
    next_allowed: Masks
    explored: Flags
    following: Ints  # the step after it at the same place, or -1


class DeepQ(NamedTuple):
    """Everything that a deep Q agent has learned. Its exploration and step size are stacks of one.

    What is remembered of a batch is where its returns begin, where they end, and their rewards and durations.
    """

    network: Perceptron
    target: Reals
    means: Adam
    replay: ReplayMemory
    begun: Ints
    chosen: Ints  # the last steps of the returns of a batch
    paid: Floats
    lasted: Floats
    best: Ints  # the best action where each of them led
    aims: Floats  # what the value of each of them should be
    seen: Moments
    earnings: Earnings
    exploration: Exploration
    step_size: Exploration
    counts: Ints
    latest: Ints  # which step each place took last, counted from 0; -1 if nothing follows from it
    held: Ints  # the action that explores at each place
    left: Ints  # for how many more steps
    rng: Stream
    lookahead: int  # steps in a return, at most
    hold: int  # steps for which an action that explores is held, at most
    mean_hold: float
    unit_share: float  # the least share of a step in the moments that give units
    warm_up: int  # transitions before anything is learned
    every: int  # transitions from batch to batch
    target_step: float  # how fast the target follows


@unsound.register
def unsound_deep_q(learned: DeepQ) -> str:
    """Its network must fit its replay, and what it remembers must be actions that exist, and where some are allowed."""
    replay, counts = learned.replay, learned.counts
    inputs, actions = replay.observations.shape[1], replay.next_allowed.shape[1]
    return (
        wrong_network("network", learned.network, len(learned.chosen), inputs, actions, 0)
        or infinite("target", learned.target)
        or wrong_adam("means", learned.means)
        or outside("counts.seen", counts[:1], 0, MOST_COUNTED)
        or outside("counts.due", counts[1:], 0, learned.every - 1)
        or outside("replay.actions", replay.actions, 0, actions - 1)
        or outside("replay.following", replay.following, -1, len(replay.rewards) - 1)
        or outside("latest", learned.latest, -1, counts[_SEEN] - 1)
        or outside("held", learned.held, 0, actions - 1)
        or outside("left", learned.left, 0, learned.hold - 1)
        or wrong_masks("replay.next_allowed", replay.next_allowed[: counts[_SEEN]])
        or wrong_steps("replay", replay)
        or wrong_stack("exploration", learned.exploration)
        or wrong_learned(learned)
    )


@actor.register
def actor_of_deep_q(learned: DeepQ) -> Network:
    """Its network; an output is the value of an action."""
    return acting_network("values", learned.network, learned.seen)


@value_error.register
def value_error_of_deep_q(learned: DeepQ) -> float:
    """That of the last batch: a slope is what an action's value was above its aim, over the size of the batch."""
    size = len(learned.chosen)
    slopes = outputs_in(learned.network, learned.network.slopes)[:size]
    return float(np.sqrt(size * np.sum(np.square(slopes, dtype=np.float64)))) if slopes.any() else np.nan


@completed.register
def completed_deep_q(learned: DeepQ, arrays: Memory) -> Memory:
    """Version 0.2 did not know which steps followed one another."""
    if "replay.following" in arrays:
        return arrays
    own = dict(arrays_in(learned))
    nothing = {name: np.zeros_like(own[name]) for name in ("begun", "paid", "lasted", "held", "left")}
    none = {name: np.full_like(own[name], -1) for name in ("replay.following", "latest")}
    return {**arrays, **nothing, **none, "replay.explored": np.zeros_like(own["replay.explored"])}


@compiled_apart
def _best(values: Reals, row: int, allowed: Masks, mask: int) -> int:
    """Return the allowed action with the largest value."""
    best = -1
    for action in range(values.shape[1]):
        if allowed[mask, action] and (best < 0 or values[row, action] > values[row, best]):
            best = action
    return best


@kernel
def _choose(agent: DeepQ, observations: Floats, allowed: Masks, actions: Ints, explored: Flags) -> None:
    """Write the greedy action of each observation or, in a share epsilon of all steps, one that explores.

    One random number decides whether and which, another for how long it is held. On the way in, `explored` says where
    chance may decide; on the way out, it says which actions are not the greedy ones.
    """
    inputs, values = inputs_in(agent.network), outputs_in(agent.network, agent.network.units)
    for row in range(len(observations)):
        normalise(agent.seen, observations, row, inputs, row)
    forward(agent.network, agent.network.weights, len(observations))
    epsilon = _chance(take(agent.exploration, 0))
    begins = epsilon / (
        epsilon + (1.0 - epsilon) * agent.mean_hold
    )  # so that a share epsilon of the steps explores
    for row in range(len(observations)):
        greedy = _best(values, row, allowed, row)
        actions[row] = greedy
        if explored[row]:
            _explore(agent, row, allowed, begins, actions)
        explored[row] = actions[row] != greedy


@compiled_apart
def _explore(agent: DeepQ, place: int, allowed: Masks, begins: float, actions: Ints) -> None:
    """Go on with the action that is held, if it is allowed; otherwise let chance decide whether one is held."""
    if agent.left[place] > 0 and allowed[place, agent.held[place]]:
        agent.left[place] -= 1
        actions[place] = agent.held[place]
        return
    agent.left[place] = 0
    u = uniform(agent.rng)
    if u < begins:
        actions[place] = _nth(allowed, place, u / begins)
        if agent.hold > 1:
            agent.held[place] = actions[place]
            agent.left[place] = min(int(1.0 / uniform(agent.rng)), agent.hold) - 1


@compiled_apart
def _nth(allowed: Masks, row: int, share: float) -> int:
    """Return the action at this share, in [0, 1), of the allowed actions."""
    count = 0
    for action in range(allowed.shape[1]):
        count += allowed[row, action]
    left = int(share * count)
    chosen = 0
    for action in range(allowed.shape[1]):
        if allowed[row, action]:
            if left == 0:
                chosen = action
            left -= 1
    return chosen


@kernel
def _learn(agent: DeepQ, steps: Transitions) -> None:
    """Remember each transition, show the greedy ones to the estimator, and learn from the batches that are due."""
    counts = agent.counts
    for i in range(len(steps.rewards)):
        _remember(agent, steps, i)
        place, reward, duration = steps.places[i], steps.rewards[i], steps.durations[i]
        observe_slowly(agent.seen, steps.observations, i, agent.unit_share)
        earn_slowly(agent.earnings, place, reward, duration, not steps.explored[i], agent.unit_share)
        put(agent.exploration, 0, _later(take(agent.exploration, 0)))
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
def _remember(agent: DeepQ, steps: Transitions, i: int) -> None:
    """Write a step into the replay, after the one before it at the same place, if that is still there."""
    replay, number, room = agent.replay, agent.counts[_SEEN], len(agent.replay.rewards)
    at = number % room
    remember(replay, at, steps, i)
    for j in range(replay.next_allowed.shape[1]):
        replay.next_allowed[at, j] = steps.next_allowed[i, j]
    replay.actions[at] = steps.actions[i]
    replay.explored[at] = steps.explored[i]
    replay.following[at] = -1
    before = agent.latest[steps.places[i]]
    if before >= 0 and number - before < room:
        replay.following[before % room] = at
    agent.latest[steps.places[i]] = -1 if steps.cut[i] else number


@compiled_apart
def _look_ahead(agent: DeepQ) -> None:
    """Add up the steps of each return of the batch: those that followed one another, as far as they were greedy."""
    replay, more = agent.replay, agent.lookahead - 1
    for i in range(len(agent.begun)):
        at = agent.begun[i]
        paid, lasted = replay.rewards[at], replay.durations[at]
        left, following = more, replay.following[at]
        while left > 0 and following >= 0 and not replay.explored[following]:
            at = following
            paid += replay.rewards[at]
            lasted += replay.durations[at]
            left, following = left - 1, replay.following[at]
        agent.chosen[i], agent.paid[i], agent.lasted[i] = at, paid, lasted


@compiled_apart
def _renew(agent: DeepQ) -> None:
    """Change to the present units of observations and rewards; what was learned in earlier units is kept."""
    if agent.counts[_SEEN] > agent.warm_up:
        for weights in (agent.network.weights, agent.target):
            refit_inputs(agent.seen, agent.network, weights)
            refit_outputs(agent.earnings, agent.network, weights)
    renew_units(agent.seen)
    renew_scale(agent.earnings)


@compiled_apart
def _learn_from_batch(agent: DeepQ) -> None:
    """Take one step of Adam on the mean of (y - Q)^2 / 2 over a batch, then one step of the target."""
    network, replay, chosen, aims = agent.network, agent.replay, agent.chosen, agent.aims
    size = len(chosen)
    inputs, values = inputs_in(network), outputs_in(network, network.units)
    slopes = outputs_in(network, network.slopes)
    there = min(agent.counts[_SEEN], len(replay.rewards))
    for i in range(size):
        agent.begun[i] = integer(agent.rng, there)
    _look_ahead(agent)
    for i in range(size):
        normalise(agent.seen, replay.next_observations, chosen[i], inputs, i)
    forward(network, network.weights, size)
    for i in range(size):
        agent.best[i] = _best(values, i, replay.next_allowed, chosen[i])
    forward(network, agent.target, size)
    rate, scale = rate_of(agent.earnings), scale_of(agent.earnings)
    level = 0.0
    for i in range(size):
        ahead = values[i, agent.best[i]]
        level += ahead / size
        aims[i] = (agent.paid[i] - rate * agent.lasted[i]) / scale + ahead
        normalise(agent.seen, replay.observations, agent.begun[i], inputs, i)
    forward(network, network.weights, size)
    for i in range(size):
        action = replay.actions[agent.begun[i]]
        for j in range(slopes.shape[1]):
            slopes[i, j] = 0.0
        slopes[i, action] = (values[i, action] - aims[i]) / size
    backward(network, size)
    descend(network.weights, network.gradient, agent.means, _chance(take(agent.step_size, 0)), _LONGEST)
    approach(agent.target, network.weights, agent.target_step)
    settle(agent.earnings, level, LEVEL_STEP)


@told
def deep_q(  # an option for each thing that users tune, as in every constructor of an agent
    spaces: Spaces,
    *,
    hidden: Sequence[int] = (64, 64),
    step_size: float | Decay | Linear = Linear(0.001, 0.00005, 150_000.0),  # noqa: B008 - a value, which cannot change
    exploration: float | Decay | Linear = Linear(1.0, 0.1, 20_000.0),  # noqa: B008 - a value, which cannot change
    batch: int = 64,
    replay: int = 100_000,
    warm_up: int = 1000,
    every: int = 1,
    target_step: float = 0.005,
    lookahead: int = 5,
    hold: int = 30,
    unit_steps: int = 100_000,
    rate: Rate | None = None,
    rate_step_size: float | None = None,
    centring: float = 0.1,
    precision: str = "single",
    compiled: bool = True,
) -> NetworkAgent:
    """Deep Q-learning for reward per unit time: double, with replay, returns of several steps and a soft target.

    `hidden` are the widths of the hidden layers. After the first `warm_up` steps, it learns from a batch out of its
    replay memory every `every` steps, by Adam. It learns from returns of up to `lookahead` steps, which end before one
    that is not greedy. An action that explores is held for up to `hold` steps, but mostly for one or two. The units of
    observations and rewards are those of about the last `unit_steps` steps, which should be as many as are remembered.
    You can give any estimator of the rate; it sees the greedy steps. `centring` corrects it by the level of the values.
    Step size and exploration may follow a schedule over the steps; by default both fall, but not to 0, so that learning
    continues. A tenth of the steps stays random, so that the agent remembers rare mishaps, and its policy, followed
    without chance, does not get stuck in them.

    With `precision="double"` everything is computed in plain loops, which give the same bits on every machine, compiled
    or interpreted; the default uses BLAS in single precision, which is several times faster.

    >>> agent = deep_q(Spaces(num_inputs=2, num_actions=3), hidden=(8,), compiled=False)
    >>> agent
    <deep_q with Centred, rate 0>
    """
    options = {name: option for name, option in locals().items() if name != "spaces"}
    spaces = checked_spaces(spaces, "deep_q", continuous=False)
    widths = (spaces.num_inputs, *checked_hidden(hidden), spaces.num_actions)
    longest = whole("hold", hold, most=_MOST_AHEAD)
    size, room = whole("batch", batch, most=MOST_AT_ONCE), whole("replay", replay, most=MOST_STEPS)
    rng = stream(spaces.seed)
    network = perceptron(widths, max(size, spaces.places), rng, precision=checked_precision(precision))
    kind = PRECISIONS[precision]
    learned = DeepQ(
        network=network,
        target=network.weights.copy(),
        means=adam(network.weights),
        replay=ReplayMemory(
            observations=np.zeros((room, spaces.num_inputs), dtype=kind),
            actions=np.zeros(room, dtype=np.int64),
            rewards=np.zeros(room),
            durations=np.zeros(room),
            next_observations=np.zeros((room, spaces.num_inputs), dtype=kind),
            next_allowed=np.zeros((room, spaces.num_actions), dtype=np.int8),
            explored=np.zeros(room, dtype=np.bool_),
            following=np.full(room, -1, dtype=np.int64),
        ),
        begun=np.zeros(size, dtype=np.int64),
        chosen=np.zeros(size, dtype=np.int64),
        paid=np.zeros(size),
        lasted=np.zeros(size),
        best=np.zeros(size, dtype=np.int64),
        aims=np.zeros(size),
        seen=moments(spaces.num_inputs),
        earnings=earnings(slow_estimator(rate_step_size, rate, centring), spaces.places),
        exploration=stacked([exploration_of(exploration)]),
        step_size=stacked([schedule_of("step_size", step_size)]),
        counts=np.zeros(2, dtype=np.int64),
        latest=np.full(spaces.places, -1, dtype=np.int64),
        held=np.zeros(spaces.places, dtype=np.int64),
        left=np.zeros(spaces.places, dtype=np.int64),
        rng=rng,
        lookahead=whole("lookahead", lookahead, most=_MOST_AHEAD),
        hold=longest,
        unit_share=1.0 / whole("unit_steps", unit_steps, most=MOST_COUNTED),
        mean_hold=math.fsum(1.0 / n for n in range(1, longest + 1)),
        warm_up=whole("warm_up", warm_up, most=MOST_STEPS),
        every=whole("every", every, most=MOST_STEPS),
        target_step=fraction("target_step", target_step),
    )
    return NetworkAgent("deep_q", learned, _choose, _learn, spaces, options, compiled)
