"""What deep Q, PPO and SAC share: units of observations and rewards, the agent around them, its options and its files.

Observations are normalised by the mean and deviation of about the last ten thousand of them (in deep Q, of as many as its
replay memory has by default). Rewards are divided by the root mean square, over as many steps, of r - rho tau, which is
what a step earns beyond the rate. Rates stay in the user's units. So in other units of money and time a network learns the
same, with the same bits if they are powers of two.

As an agent gets better, its observations and rewards change by factors of ten and more, so units must follow. They do
so from time to time. Whenever they change, the weights of the first and the last layer change, too, so that what a
network says in the user's units stays as it was (van Hasselt et al. 2016 for the last layer).
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from sojourn.agents.acting import Actor, actor
from sojourn.agents.exploration import Decay, Exploration, Linear, exploration_of
from sojourn.agents.networks.perceptron import PRECISIONS, Perceptron, Reals
from sojourn.agents.networks.protocol import Actions, Masks, Memory, Spaces, Transitions
from sojourn.data.numbers import fraction, shown, unmasked, whole
from sojourn.deploy.networks import Head, Network
from sojourn.rates.centred import Centred, MeanDuration, levelled_by, own_value, timed
from sojourn.rates.protocol import Rate, carry, stumbling, value
from sojourn.rules.arrays import MOST_COUNTED, Flags, Floats, infinite, misread, outside
from sojourn.rules.bridge import compiled_apart
from sojourn.rules.kernel import Kernel
from sojourn.rules.random import Stream, stream
from sojourn.rules.rule import no_rule, rule
from sojourn.rules.values import (
    Value,
    arrays_in,
    canonical,
    copied,
    put,
    replaced,
    stacked,
    take,
    validated,
    with_arrays,
)

_value = value.bare

_LARGEST = 10.0  # of a normalised observation
_SQUARE_STEP = 0.0001  # of means, at least: about the last ten thousand steps
_SMALLEST = 5e-324  # float above 0
_NARROWEST = 0.01  # unit, relative to the widest so far: inputs that hardly move any more are not magnified


class Moments(NamedTuple):
    """Running means and variances of observations, how many were seen, and the units in which networks see them."""

    means: Floats
    squares: Floats
    seen: Floats
    centres: Floats
    units: Floats
    widest: Floats  # deviations so far


def moments(num_inputs: int) -> Moments:
    """Return moments before any observation, with units in which observations stay as they are."""
    zeros = [np.zeros(num_inputs) for _ in range(4)]
    return Moments(zeros[0], zeros[1], np.zeros(1), zeros[2], np.ones(num_inputs), zeros[3])


def wrong_moments(known: Moments) -> str:
    """Return what is wrong with moments that came from elsewhere, or an empty text."""
    return (
        infinite("seen.means", known.means)
        or outside("seen.squares", known.squares, 0.0, math.inf)
        or outside("seen.seen", known.seen, 0.0, MOST_COUNTED)
        or infinite("seen.centres", known.centres)
        or outside("seen.units", known.units, _SMALLEST, math.inf)
        or outside("seen.widest", known.widest, 0.0, math.inf)
    )


@compiled_apart
def observe(known: Moments, observations: Reals, row: int) -> None:
    """Take in one more observation; the units stay as they are."""
    observe_slowly(known, observations, row, _SQUARE_STEP)


@compiled_apart
def observe_slowly(known: Moments, observations: Reals, row: int, least: float) -> None:
    """Take in one more observation, which moves the means by at least this share; the units stay as they are."""
    known.seen[0] += 1.0
    share = max(least, 1.0 / known.seen[0])
    for j in range(len(known.means)):
        distance = observations[row, j] - known.means[j]
        known.means[j] += share * distance
        known.squares[j] += share * (distance * (observations[row, j] - known.means[j]) - known.squares[j])


@compiled_apart
def normalise(known: Moments, observations: Reals, row: int, out: Reals, at: int) -> None:
    """Write one observation in the units of the network, at most 10 of them from the centre."""
    for j in range(len(known.means)):
        distance = (observations[row, j] - known.centres[j]) / known.units[j]
        out[at, j] = min(max(distance, -_LARGEST), _LARGEST)


@compiled_apart
def _next_unit(known: Moments, j: int) -> float:
    """Return the next unit of an input, by what is known now; an input that has never changed has a unit of 1."""
    deviation = math.sqrt(known.squares[j])
    widest = max(known.widest[j], deviation)
    return max(deviation, _NARROWEST * widest) if widest > 0.0 else 1.0


@compiled_apart
def refit_inputs(known: Moments, network: Perceptron, weights: Reals) -> None:
    """Change weights so that the network says the same about observations in the next units as it says now.

    Inputs that follow the observation, such as those of an action, keep their units.
    """
    inputs, outputs = network.widths[0], network.widths[1]
    for i in range(len(known.means)):
        next_unit = _next_unit(known, i)
        # An input that has not changed so far had no unit of its own, and its weights mean nothing yet.
        unit = known.units[i] if known.widest[i] > 0.0 else next_unit
        shift = (known.means[i] - known.centres[i]) / unit
        stretch = next_unit / unit
        for j in range(outputs):
            weight = weights[i * outputs + j]
            weights[inputs * outputs + j] += weight * shift
            weights[i * outputs + j] = weight * stretch


@compiled_apart
def renew_units(known: Moments) -> None:
    """Change to the next units of observations."""
    for j in range(len(known.means)):
        known.units[j] = _next_unit(known, j)
        known.centres[j] = known.means[j]
        known.widest[j] = max(known.widest[j], math.sqrt(known.squares[j]))


class Earnings(NamedTuple):
    """What an agent knows about rewards and time: its estimator of the rate, and the scale of the rewards.

    `rate` is a stack of one estimator. `carried` is what each place has earned since time last passed there. `square`
    has the running mean square of r - rho tau, and the number of steps in it. `unit` has one number, the unit of
    rewards, or 0 as long as there is none.
    """

    rate: Rate
    carried: Floats
    square: Floats
    unit: Floats


def earnings(rate: Rate, places: int) -> Earnings:
    """Return the earnings of an agent that has seen nothing, in `places` environments at once."""
    return Earnings(stacked([rate]), np.zeros(places), np.zeros(2), np.zeros(1))


@compiled_apart
def _next_scale(known: Earnings) -> float:
    """Return the next unit of rewards: as long as nothing has differed from the rate, the present one."""
    return math.sqrt(known.square[0]) if known.square[0] > 0.0 else float(known.unit[0])


@compiled_apart
def renew_scale(known: Earnings) -> None:
    """Change to the next unit of rewards."""
    known.unit[0] = _next_scale(known)


def wrong_earnings(known: Earnings) -> str:
    """Return what is wrong with earnings that came from elsewhere, or an empty text."""
    rate: Rate = canonical(take(known.rate, 0))
    return (
        wrong_stack("earnings.rate", known.rate)
        or ("" if math.isfinite(_value(rate)) else "its estimate of the rate is not a finite number")
        or stumbling(rate)
        or infinite("earnings.carried", known.carried)
        or outside("earnings.square", known.square, 0.0, math.inf)
        or outside("earnings.unit", known.unit, 0.0, math.inf)
    )


@compiled_apart
def earn(known: Earnings, place: int, reward: float, duration: float, accepted: bool) -> None:
    """Take in one transition, which is evidence for the rate only if it is accepted."""
    earn_slowly(known, place, reward, duration, accepted, _SQUARE_STEP)


@compiled_apart
def earn_slowly(
    known: Earnings, place: int, reward: float, duration: float, accepted: bool, least: float
) -> None:
    """Do the same, but move the mean square by at least this share."""
    rate = timed(take(known.rate, 0), duration)
    left = reward - own_value(rate) * duration
    known.square[1] += 1.0
    known.square[0] += max(least, 1.0 / known.square[1]) * (left * left - known.square[0])
    if known.unit[0] == 0.0:  # what is paid for the first time must not reach a network in the user's unit
        renew_scale(known)
    if accepted:
        rate, known.carried[place] = carry(rate, known.carried[place], reward, duration)
    put(known.rate, 0, rate)


@compiled_apart
def refit_outputs(known: Earnings, network: Perceptron, weights: Reals) -> None:
    """Change weights so that the network says the same in the next unit of rewards as it says now.

    As long as there is no unit, nothing changes.
    """
    if known.unit[0] == 0.0:
        return
    layers = len(network.widths) - 1
    last = 0  # the first weight of the last layer
    for layer in range(layers - 1):
        last += (network.widths[layer] + 1) * network.widths[layer + 1]
    stretch = known.unit[0] / _next_scale(known)
    for i in range(last, last + (network.widths[layers - 1] + 1) * network.widths[layers]):
        weights[i] *= stretch


@compiled_apart
def scale_of(known: Earnings) -> float:
    """Return the unit of rewards; as long as there is none, any would do."""
    return float(known.unit[0]) if known.unit[0] > 0.0 else 1.0


@compiled_apart
def rate_of(known: Earnings) -> float:
    """Return the rate that values are learned with: the estimate and what centring adds to it."""
    return _value(take(known.rate, 0))


@compiled_apart
def settle(known: Earnings, level: float, share: float) -> None:
    """Move the level of the values a share of the way to this level, which is given in units of rewards."""
    put(known.rate, 0, levelled_by(take(known.rate, 0), level * float(known.unit[0]), share))


def acting_network(head: Head, network: Perceptron, seen: Moments, *bounds: Floats) -> Network:
    """Return a copy of what acts: the network with its head, the units of its inputs, and the bounds of its points."""
    sides: list[Any] = [array.copy() for array in (network.weights, seen.centres, seen.units, *bounds)]
    return Network(head, network.widths.tolist(), *sides)


# --- The agent ---------------------------------------------------------------------------


class Learned(Value, Protocol):
    """What a network agent has learned: arrays, and values of arrays."""

    @property
    def seen(self) -> Moments:
        """What it knows about observations."""

    @property
    def earnings(self) -> Earnings:
        """What it knows about rewards and time."""

    @property
    def step_size(self) -> Exploration:
        """How its step size goes on, as a stack of one."""

    @property
    def rng(self) -> Stream:
        """Its random numbers."""


@rule(compiled=False)
def unsound(learned: Learned) -> str:
    """Return why kernels, which check nothing, must not read what was learned, or an empty text."""
    raise no_rule("unsound", learned)


_POLICIES = ("policy", "actor")  # what agents call a network that gives each action a probability


def _decides(name: str) -> bool:
    """Whether an array of this name decides about actions: weights, the units of observations, or tiles."""
    return name.endswith("weights") or name.startswith(("seen.", "values."))


@rule(compiled=False, fallback=True)
def value_error(learned: Learned) -> float:
    """Return how far values were from their aims when they last moved, as a root mean square in units of rewards; nan if unknown."""
    return math.nan


@rule(compiled=False, fallback=True)
def completed(learned: Learned, arrays: Memory) -> Memory:
    """Return the arrays of a file, and those that this version has and the one that wrote the file had not."""
    return arrays


class CompiledAgent(ABC):
    """What agents of observations have in common if kernels choose and learn for them."""

    def __init__(self, kind: str, spaces: Spaces, options: Memory, compiled: bool) -> None:
        self.kind, self.spaces, self.options, self._compiled = kind, spaces, options, compiled
        self._prepared: dict[Kernel[Any], Any] = {}

    @property
    @abstractmethod
    def estimator(self) -> Rate:
        """A copy of the estimator of the rate as it is now."""

    _memory: Any  # everything that it has learned, a value of arrays that kernels write into

    @abstractmethod
    def _choose(self, seen: Floats, mask: Masks, actions: Actions, explored: Flags) -> None:
        """Write actions where `explored` says whether chance may decide, and then whether they are not the best."""

    @property
    def rate(self) -> float:
        """The rate that the agent learns with: the estimate, and what centring adds to it."""
        return float(value(self.estimator))

    @property
    def largest_weight(self) -> float:
        """The size of the largest weight of a network or a tile."""
        weights = [array for name, array in arrays_in(self._memory) if name.endswith("weights")]
        return max((float(np.abs(array).max()) for array in weights), default=0.0)

    def draw(self, observations: ArrayLike, allowed: ArrayLike) -> tuple[Actions, Flags]:
        """Return actions to take, and which of them were not the best."""
        return self._chosen(observations, allowed, chance=True)

    def greedy(self, observations: ArrayLike, allowed: ArrayLike) -> Actions:
        """Return the best actions."""
        return self._chosen(observations, allowed, chance=False)[0]

    def actor(self) -> Actor:
        """Return what acts by what was learned, for a policy file."""
        return actor(self._memory)

    def state(self) -> Memory:
        """Return all arrays by name."""
        return {name: array.copy() for name, array in arrays_in(self._memory)}

    @property
    def is_stochastic(self) -> bool:
        """Whether it has learned a policy that draws actions; values have none, whatever explores."""
        return any(hasattr(self._memory, name) for name in _POLICIES)

    def policy(self) -> Memory:
        """Return the arrays that decide about actions, without what is only needed for learning."""
        return {name: array.copy() for name, array in arrays_in(self._memory) if _decides(name)}

    def with_policy(self, policy: Memory, seed: int | None = None) -> Self:
        """Return an agent that acts by this policy; with a seed, its draws are its own."""
        own = {name: array for name, array in arrays_in(self._memory) if _decides(name)}
        check_arrays(own, policy)
        arrays = dict(policy) if seed is None else {**policy, "rng": stream(seed)}
        names = (name for name, _ in arrays_in(self._memory))
        other = copy.copy(self)
        other._memory = with_arrays(self._memory, lambda array: arrays.get(next(names), array))  # noqa: SLF001 - its own class
        return other

    def _chosen(self, observations: ArrayLike, allowed: ArrayLike, chance: bool) -> tuple[Actions, Flags]:
        spaces = self.spaces
        unmasked("what is seen or allowed", (observations, allowed))
        seen: Floats = np.ascontiguousarray(observations, dtype=np.float64)
        mask: Masks = np.ascontiguousarray(allowed, dtype=np.int8)
        count = len(seen)
        if seen.shape != (count, spaces.num_inputs) or mask.shape != (count, spaces.num_actions):
            raise ValueError(
                f"the observations have the shape {shown(seen.shape)} and the masks {shown(mask.shape)}; this agent "
                f"has {spaces.num_inputs} inputs and {spaces.num_actions} actions to mask"
            )
        actions: Actions = (
            np.zeros((count, len(spaces.low))) if spaces.is_continuous else np.zeros(count, dtype=np.int64)
        )
        explored: Flags = np.full(count, chance)
        self._choose(seen, mask, actions, explored)
        return actions, explored

    def _run(self, kernel: Kernel[Any], *arguments: Any) -> None:
        """Run a kernel, compiled for the types of its first call, which never change."""
        function = self._prepared.get(kernel)
        if function is None:
            function = kernel.prepared(*arguments) if self._compiled else kernel.python
            self._prepared[kernel] = function
        function(*arguments)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_prepared": {}}  # machine code is looked up again

    def __repr__(self) -> str:
        return (
            f"<{self.kind or 'agent of vectors'} with {type(self.estimator).__name__}, rate {self.rate:.4g}>"
        )


class NetworkAgent(CompiledAgent):
    """An agent whose values or policy are a network; `deep_q`, `ppo` and `sac` make one.

    The kernel `choose` takes (learned, observations, allowed, actions, explored) and writes the last two; on the way in,
    `explored` says where chance may decide, and on the way out, where it decided against the best action. The kernel
    `learn` takes (learned, transitions).

    >>> from sojourn.agents.networks.deep_q import deep_q
    >>> agent = deep_q(Spaces(num_inputs=2, num_actions=3), compiled=False)
    >>> agent.greedy(np.zeros((1, 2)), np.array([[0, 1, 0]], dtype=np.int8))
    array([1])
    """

    def __init__(
        self,
        kind: str,
        learned: Learned,
        choose: Kernel[Any],
        learn: Kernel[Any],
        spaces: Spaces,
        options: Memory,
        compiled: bool,
    ) -> None:
        super().__init__(kind, spaces, options, compiled)
        self._memory, self._choose_kernel, self._learn_kernel = learned, choose, learn

    @property
    def learned(self) -> Any:
        """What it has learned."""
        return self._memory

    @property
    def estimator(self) -> Rate:
        """A copy of the estimator of the rate as it is now."""
        estimator: Rate = canonical(take(self.learned.earnings.rate, 0))
        return estimator

    @property
    def error(self) -> float:
        """How far values were from their aims when they last moved, as a root mean square in units of rewards; nan if unknown."""
        return value_error(self.learned)

    def learn(self, transitions: Transitions) -> None:
        """Take in what followed, and learn from a batch whenever one is due."""
        self._run(self._learn_kernel, self.learned, transitions)

    def restored(self, state: Memory) -> None:
        """Take over the arrays of an agent that was made with the same options, unless kernels must not read them."""
        learned = copied(self.learned)
        rate = as_saved(self.estimator, "earnings.rate", state)
        learned = replaced(learned, earnings=replaced(learned.earnings, rate=stacked([rate])))
        written_over(learned, completed(learned, state))
        wrong = unsound(learned)
        if wrong:
            raise ValueError(f"what it has learned cannot be used: {wrong}")
        self._memory = learned

    def _choose(self, seen: Floats, mask: Masks, actions: Actions, explored: Flags) -> None:
        if not 0 < len(seen) <= self.spaces.places:
            raise ValueError(
                f"there are {len(seen)} observations; this agent takes up to {self.spaces.places} at once"
            )
        self._run(self._choose_kernel, self.learned, seen, mask, actions, explored)


# --- Options that network agents share ---------------------------------------------------

MOST_STEPS = 10_000_000  # that are kept, or waited for, before something is learned from them
MOST_AT_ONCE = 65_536  # in a batch


_WIDEST = 4096
_UNBOUNDED = 1e30  # some environments give the largest number that a float can hold for "no bound"


def checked_hidden(hidden: Sequence[int]) -> tuple[int, ...]:
    """Return the widths of hidden layers, or say what is wrong with them.

    >>> checked_hidden([64, 64])
    (64, 64)
    """
    if isinstance(hidden, str) or not isinstance(hidden, Sequence):
        raise TypeError(f"hidden is {shown(hidden)}; it must be a list of widths, such as (64, 64)")
    return tuple(whole(f"hidden[{i}]", width, most=_WIDEST) for i, width in enumerate(hidden))


def checked_precision(precision: str) -> str:
    """Return the name of a precision, or say which names there are."""
    if precision not in PRECISIONS:
        raise ValueError(f"precision is {precision!r}; it must be one of {', '.join(map(repr, PRECISIONS))}")
    return precision


def schedule_of(name: str, given: float | Decay | Linear) -> Exploration:
    """Return a step size that changes with the steps; a number becomes a constant."""
    if isinstance(given, Decay | Linear):
        fraction(f"{name}.start", given.start)
        return exploration_of(given)
    return Decay(start=fraction(name, given), factor=1.0)


def bounds_of(spaces: Spaces) -> tuple[Floats, Floats, Floats]:
    """Return the points of the environment that -1 and 1 of a network stand for, and how far its means may go.

    In each dimension, the points are the bounds of the actions, and means stay between them. Where a bound is infinite,
    the unit is the environment's own, and means may go anywhere.

    >>> low, high, furthest = bounds_of(Spaces(1, low=np.array([0.0, -np.inf]), high=np.array([20.0, np.inf])))
    >>> low.tolist(), high.tolist(), furthest.tolist()
    ([0.0, -1.0], [20.0, 1.0], [1.0, inf])
    """
    low, high = np.asarray(spaces.low, dtype=np.float64), np.asarray(spaces.high, dtype=np.float64)
    bounded = (np.abs(low) < _UNBOUNDED) & (np.abs(high) < _UNBOUNDED)
    return np.where(bounded, low, -1.0), np.where(bounded, high, 1.0), np.where(bounded, 1.0, np.inf)


@compiled_apart
def to_environment(z: float, low: float, high: float) -> float:
    """Return one coordinate of an action in the environment's units, from those of a network."""
    return low + (high - low) * 0.5 * (z + 1.0)


@compiled_apart
def to_network(point: float, low: float, high: float) -> float:
    """Return one coordinate of an action in a network's units, from those of the environment."""
    return 2.0 * ((point - low) / (high - low)) - 1.0


# --- What a network remembers, for files -------------------------------------------------


def wrong_stack(name: str, stack: Value) -> str:
    """Return what the constructors of a value say about it if it is a stack of one, or an empty text.

    >>> from sojourn.agents.exploration import Decay
    >>> from sojourn.rules.values import stacked
    >>> wrong_stack("exploration", stacked([Decay(0.5, 1.0)])._replace(start=np.array([2.0])))
    'exploration is wrong: Decay.start is 2.0; it must be at least 0 and at most 1'
    """
    try:
        validated(take(stack, 0))
    except (TypeError, ValueError) as error:
        return f"{name} is wrong: {error}"
    return ""


def as_saved(rate: Rate, path: str, arrays: Mapping[str, Any]) -> Rate:
    """Return the estimator, centred as in version 0.2 if that is how the arrays at this path were saved."""
    is_old = f"{path}.durations.mean" in arrays and f"{path}.durations.guess" not in arrays
    return replaced(rate, durations=MeanDuration()) if is_old and isinstance(rate, Centred) else rate


def written_over(value: Value, arrays: Mapping[str, Any]) -> None:
    """Write arrays over those that a value holds, or say which of them does not fit."""
    own = dict(arrays_in(value))
    check_arrays(own, arrays)
    for path, array in own.items():
        array[...] = arrays[path]


def check_arrays(own: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Refuse arrays that differ in names, kinds or shapes from an agent's own."""
    if set(own) != set(arrays):
        missing = ", ".join(sorted(set(own) ^ set(arrays))[:3])
        raise ValueError(f"it was saved by another agent, not this one: only one of the two has {missing}")
    for path, array in own.items():
        wrong = misread(path, arrays[path], array.dtype.type, array.shape)
        if wrong:
            raise ValueError(f"it was saved by another agent, not this one: {wrong}")


class RememberedSteps(Value, Protocol):
    """Steps that an agent remembers."""

    @property
    def observations(self) -> Reals:
        """What was seen, a row for each step."""

    @property
    def next_observations(self) -> Reals:
        """What was seen next."""

    @property
    def rewards(self) -> Floats:
        """What each step earned."""

    @property
    def durations(self) -> Floats:
        """How long each step took."""


def wrong_steps(name: str, steps: RememberedSteps) -> str:
    """Return what no step can have had, or an empty text. In single precision, what was seen may be infinite."""
    seen = (steps.observations, steps.next_observations)
    if any(np.isnan(array).any() for array in seen):
        return f"{name} has observations that are not numbers"
    return infinite(f"{name}.rewards", steps.rewards) or outside(
        f"{name}.durations", steps.durations, 0.0, np.finfo(np.float64).max
    )


@compiled_apart
def remember(memory: RememberedSteps, at: int, steps: Transitions, i: int) -> None:
    """Write what was seen and earned in a step into one place of the memory."""
    for j in range(memory.observations.shape[1]):
        memory.observations[at, j] = steps.observations[i, j]
        memory.next_observations[at, j] = steps.next_observations[i, j]
    memory.rewards[at] = steps.rewards[i]
    memory.durations[at] = steps.durations[i]


def wrong_masks(name: str, masks: Masks) -> str:
    """Return what is wrong with masks, each of which must allow an action, or an empty text."""
    sound = ((masks == 0) | (masks == 1)).all() and (masks == 1).any(axis=1).all()
    return (
        "" if sound else f"{name} has a mask that allows no action, or has entries that are neither 0 nor 1"
    )


def wrong_learned(learned: Learned) -> str:
    """Return what is wrong with what all network agents have, or an empty text."""
    return (
        wrong_moments(learned.seen)
        or wrong_earnings(learned.earnings)
        or wrong_stack("step_size", learned.step_size)
        or ("" if learned.rng.any() else "its stream of random numbers is all 0")
    )
