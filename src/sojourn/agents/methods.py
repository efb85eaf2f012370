"""Methods: how each computes the error of Q(s, a), and what it shows its estimator of the rate.

With rho the estimated rate, r the reward and tau the duration of a step from s to s':

    AverageReward   delta = r - rho tau + max Q(s', .) - Q(s, a)                  evidence r
    RLearning       the same                                                      evidence r + max Q(s', .) - max Q(s, .)
    Stepwise        the same with 1 for tau: R-Learning as printed                the same
    Differential    the same in units of the mean duration L(s, a)                evidence delta, on every draw
    Relative        delta = (r + max Q(s', .) - Q(s, a) - T f(Q)) / T             the rate is f(Q)
    Sarsa           AverageReward, but the mean of Q(s', .) over draws, not max   evidence r, on every draw
    Discounted      delta = r + e^(-kappa tau) max Q(s', .) - Q(s, a)             evidence r; the rate only measures

A mean duration is raised to at least a tenth of the mean over all steps before anything is divided by it, since some
pairs may take no time at all.

A method is a value with four or five rules. To add one, write its value and its rules in a file like this one, and
give it an entry in `catalogue`; `learning` has the rest.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from sojourn.agents.step_sizes import ByVisits, sized
from sojourn.agents.values.protocol import Table, Values, best, mean_available, move, read, sizes
from sojourn.rates.centred import MeanDuration, averaged
from sojourn.rates.protocol import update, value, value_as_kept
from sojourn.rules.bridge import bridge, inlined
from sojourn.rules.elementary import exp
from sojourn.rules.rule import no_rule, rule
from sojourn.rules.values import Value, replaced
from sojourn.rules.vectors import State


class Step(NamedTuple):
    """One transition, and `ahead`: max Q(s', .) before anything was learned from the transition."""

    state: State
    action: int
    reward: float
    duration: float
    ahead: float


class Method(Value, Protocol):
    """Any type that the rules of this file are registered for."""


M = TypeVar("M", bound=Method)


@rule()
def td_error(method: M, values: Values, rate: float, step: Step) -> tuple[float, M]:
    """Return delta, the error of Q(s, a) by this step, and the method after it."""
    raise no_rule("td_error", method)


@rule()
def evidence(method: Method, values: Values, rate: float, step: Step, delta: float) -> float:
    """Return what the estimator of the rate is shown as the reward of this step, after Q(s, a) has moved."""
    raise no_rule("evidence", method)


@rule()
def takes_all(method: Method) -> bool:
    """Whether every step is evidence for the rate, not only steps that count as greedy."""
    raise no_rule("takes_all", method)


@rule()
def elapsed(method: Method, duration: float) -> float:
    """Return the time that passed according to the method; the evidence is for this time."""
    raise no_rule("elapsed", method)


@rule(fallback=True)
def ahead_of(method: Method, values: Values, state: State, epsilon: float) -> float:
    """Return the value of the next state: max Q(s', .) by default. `epsilon` is the probability of exploring there."""
    return best(values, state, 0.0)[1]


@rule(compiled=False)
def misplaced(method: Method, shape: tuple[int, int]) -> str:
    """Return what in a method does not fit values of this shape, or an empty text; few methods need this rule."""
    return ""


@inlined
def divisor(mean_duration: float, durations: MeanDuration) -> float:
    """Return a pair's mean duration to divide by: at least a tenth of the mean over all steps, or 1 while no time has passed.

    >>> divisor(0.0, MeanDuration(mean=2.0, steps=9.0)), divisor(3.0, MeanDuration(mean=2.0, steps=9.0))
    (0.2, 3.0)
    """
    length = max(mean_duration, 0.1 * durations.mean)
    return length if length > 0.0 else 1.0


D = TypeVar("D", "Differential", "Relative")  # methods that keep the mean duration of each pair


@inlined
def measured(method: D, step: Step) -> D:
    """Return a method after a step: the mean duration of the pair moves by beta_L (tau - L), and that of all steps."""
    size, step_size = duration_step(method.duration_step_size, step.state, step.action)
    change = size * (step.duration - read(method.mean_duration, step.state, step.action))
    return replaced(
        method,
        mean_duration=move(method.mean_duration, step.state, step.action, change),
        duration_step_size=step_size,
        durations=averaged(method.durations, step.duration),
    )


@inlined
def unit(method: D, step: Step) -> float:
    """Return the time that the errors of a pair are divided by: its mean duration, or 1 while no time has passed."""
    length = divisor(read(method.mean_duration, step.state, step.action), method.durations)
    return length if length > 0.0 else 1.0


def duration_step(step_size: float | ByVisits, state: State, action: int) -> tuple[float, float | ByVisits]:
    """Return the step size of a pair's mean duration for this visit, and the step sizes after it."""
    return (step_size, step_size) if isinstance(step_size, float) else sized(step_size, state, action)


def _by_visits(step_size: ByVisits, state: State, action: int) -> tuple[float, ByVisits]:
    return sized(step_size, state, action)


def _constant(step_size: float, state: State, action: int) -> tuple[float, float]:
    return step_size, step_size


bridge(duration_step, lambda given, *_: _by_visits if hasattr(given, "instance_class") else _constant)


@inlined
def average_reward_error(reward: float, duration: float, rate: float, ahead: float, here: float) -> float:
    """Return r - rho tau + max Q(s', .) - Q(s, a)."""
    return reward - rate * duration + ahead - here


@inlined
def discounted_error(reward: float, discount: float, ahead: float, here: float) -> float:
    """Return r + e^(-kappa tau) max Q(s', .) - Q(s, a)."""
    return reward + discount * ahead - here


# --- The methods --------------------------------------------------------------------


class AverageReward(NamedTuple):
    """SMART, and all agents that differ from it only in the estimator of the rate."""


class Sarsa(NamedTuple):
    """Expected Sarsa, which learns what its own behaviour earns, exploration included.

    Where Sarsa takes the value of the next action drawn, this takes the mean over all actions that may be drawn. That
    gives the same values in the end, with less noise (van Seijen, van Hasselt, Whiteson and Wiering 2009).
    """


class RLearning(NamedTuple):
    """R-Learning: the evidence for the rate includes the values of both states."""


class Stepwise(NamedTuple):
    """R-Learning as printed: it ignores durations, and its rate is reward per step."""


class Discounted(NamedTuple):
    """SMDP Q-learning: it discounts by the time that the action took, and its rate only measures."""

    discount_rate: float


class Differential(NamedTuple):
    """Inter-option Differential Q-learning: Q and rho move in units of the mean duration L."""

    mean_duration: Table
    duration_step_size: float | ByVisits
    durations: MeanDuration = MeanDuration()


@ahead_of.register
def ahead_of_behaviour(method: Sarsa, values: Values, state: State, epsilon: float) -> float:
    """(1 - epsilon) max Q(s', .) + epsilon times the mean of Q(s', .) over the available actions."""
    return (1.0 - epsilon) * best(values, state, 0.0)[1] + epsilon * mean_available(values, state)


@td_error.register(AverageReward)
@td_error.register(Sarsa)
@td_error.register(RLearning)
def average_reward(method: M, values: Values, rate: float, step: Step) -> tuple[float, M]:
    """The error of average reward."""
    here = read(values, step.state, step.action)
    return average_reward_error(step.reward, step.duration, rate, step.ahead, here), method


@td_error.register
def per_step(method: Stepwise, values: Values, rate: float, step: Step) -> tuple[float, Stepwise]:
    """The error of average reward, as if every step took a time of 1."""
    here = read(values, step.state, step.action)
    return average_reward_error(step.reward, 1.0, rate, step.ahead, here), method


@td_error.register
def discounted(method: Discounted, values: Values, rate: float, step: Step) -> tuple[float, Discounted]:
    """The error of discounted reward."""
    discount = exp(-method.discount_rate * step.duration)
    here = read(values, step.state, step.action)
    return discounted_error(step.reward, discount, step.ahead, here), method


@td_error.register
def differential(method: Differential, values: Values, rate: float, step: Step) -> tuple[float, Differential]:
    """L += beta_L (tau - L); then the error of average reward, divided by L."""
    method = measured(method, step)
    here = read(values, step.state, step.action)
    delta = average_reward_error(step.reward, step.duration, rate, step.ahead, here)
    return delta / unit(method, step), method


@evidence.register(AverageReward)
@evidence.register(Sarsa)
@evidence.register(Discounted)
def reward_itself(method: Method, values: Values, rate: float, step: Step, delta: float) -> float:
    """The reward."""
    return step.reward


@evidence.register(RLearning)
@evidence.register(Stepwise)
def reward_and_values(method: Method, values: Values, rate: float, step: Step, delta: float) -> float:
    """The evidence takes max Q(s', .) from before the update and max Q(s, .) from after it."""
    return step.reward + step.ahead - best(values, step.state, 0.0)[1]


@evidence.register
def error_itself(method: Differential, values: Values, rate: float, step: Step, delta: float) -> float:
    """Delta, in a form that suits `Incremental`: it moves by evidence - rho tau, and so by delta."""
    return delta + rate * step.duration


@takes_all.register(AverageReward)
@takes_all.register(RLearning)
@takes_all.register(Stepwise)
@takes_all.register(Discounted)
def greedy_steps_only(method: Method) -> bool:
    """Only steps that count as greedy."""
    return False


@takes_all.register(Sarsa)
@takes_all.register(Differential)
def every_step(method: Method) -> bool:
    """Every step."""
    return True


@elapsed.register(AverageReward)
@elapsed.register(Sarsa)
@elapsed.register(RLearning)
@elapsed.register(Discounted)
@elapsed.register(Differential)
def duration_itself(method: Method, duration: float) -> float:
    """The duration."""
    return duration


@elapsed.register
def one_step(method: Stepwise, duration: float) -> float:
    """One step."""
    return 1.0


# --- RVI Q-learning -------------------------------------------------------------------
#
# The rate is a function f(Q) of the values themselves. With T(s, a) the mean duration of a pair, f any of the functions
# below, tau the duration of the step, and m the mean duration of all steps,
#
#     T += beta_T (tau - T);      Q(s, a) += alpha (r + max Q(s', .) - Q(s, a) - T f(Q)) / max(T, m / 10)
#
# The values then settle at the level where f(Q) is the optimal rate. `FirstPair` costs nothing; the other two
# functions look at all values in every step.


class Reference(Value, Protocol):
    """A function f(Q) that grows by c when all values grow by c."""


F = TypeVar("F", bound=Reference)


@rule()
def settled(reference: F, state: int, action: int) -> F:
    """Return the reference after a visit to this pair."""
    raise no_rule("settled", reference)


@rule()
def level_of(reference: Reference, values: Values) -> float:
    """Return f(Q)."""
    raise no_rule("level_of", reference)


class FirstPair(NamedTuple):
    """Q at the pair that was visited first; both fields are -1 until then."""

    state: int = -1
    action: int = -1


class MeanOfAll(NamedTuple):
    """The mean of all values of `num_states` states."""

    num_states: int


class LargestOfAll(NamedTuple):
    """The largest of all values of `num_states` states."""

    num_states: int


@settled.register
def settled_first(reference: FirstPair, state: int, action: int) -> FirstPair:
    """The first pair stays the first."""
    return reference if reference.state >= 0 else FirstPair(state=state, action=action)


@settled.register(MeanOfAll)
@settled.register(LargestOfAll)
def settled_already(reference: F, state: int, action: int) -> F:
    """Nothing changes."""
    return reference


@level_of.register
def level_at_first(reference: FirstPair, values: Values) -> float:
    """Q at this pair."""
    return read(values, reference.state, reference.action)


@level_of.register
def mean_level(reference: MeanOfAll, values: Values) -> float:
    """The mean over the available pairs."""
    total, count = 0.0, 0
    for state in range(reference.num_states):
        for action in range(sizes(values)[1]):
            worth = read(values, state, action)
            if worth != -np.inf:
                total += worth
                count += 1
    return total / count


@level_of.register
def largest_level(reference: LargestOfAll, values: Values) -> float:
    """The largest of the best values of all states."""
    highest = best(values, 0, 0.0)[1]
    for state in range(1, reference.num_states):
        highest = max(highest, best(values, state, 0.0)[1])
    return highest


class Relative(NamedTuple):
    """RVI Q-learning: errors relative to f(Q), in units of the mean duration T(s, a)."""

    reference: Reference
    mean_duration: Table
    duration_step_size: float | ByVisits
    durations: MeanDuration = MeanDuration()


@td_error.register
def relative(method: Relative, values: Values, rate: float, step: Step) -> tuple[float, Relative]:
    """T += beta_T (tau - T); then the error relative to T f(Q), divided by T."""
    method = measured(method, step)
    reference = settled(method.reference, step.state, step.action)
    mean = read(method.mean_duration, step.state, step.action)
    here = read(values, step.state, step.action)
    delta = step.reward + step.ahead - here - mean * level_of(reference, values)
    return delta / unit(method, step), replaced(method, reference=reference)


@evidence.register
def level_itself(method: Relative, values: Values, rate: float, step: Step, delta: float) -> float:
    """f(Q), which is the rate."""
    return level_of(method.reference, values)


@takes_all.register
def always(method: Relative) -> bool:
    """The rate is f(Q) at any time."""
    return True


@elapsed.register
def at_once(method: Relative, duration: float) -> float:
    """f(Q) is already a rate, so no time is needed."""
    return 1.0


class Latest(NamedTuple):
    """An estimator that returns what it was last told, since f(Q) is known and needs no estimate.

    >>> value(update(Latest(), 6.0, 1.0))
    6.0
    """

    rate: float = 0.0


@update.register
def update_latest(rate: Latest, reward: float, duration: float) -> Latest:
    """Rho = r / tau."""
    return Latest(rate=reward / duration)


value.register(Latest)(value_as_kept)


@misplaced.register
def misplaced_reference(method: Relative, shape: tuple[int, int]) -> str:
    """A reference must only look at values that exist."""
    reference = method.reference
    if isinstance(reference, FirstPair):
        fits = reference == FirstPair() or (
            0 <= reference.state < shape[0] and 0 <= reference.action < shape[1]
        )
    else:
        fits = not isinstance(reference, MeanOfAll | LargestOfAll) or 1 <= reference.num_states <= shape[0]
    return "" if fits else f"reference is {reference}"


REFERENCES = ("first", "mean", "maximum")


def reference_of(given: str, num_states: int) -> Reference:
    """Return f by its name."""
    if given == REFERENCES[0]:
        return FirstPair()
    if given not in REFERENCES:
        raise ValueError(f"reference is {given!r}; it must be one of {', '.join(map(repr, REFERENCES))}")
    return MeanOfAll(num_states) if given == "mean" else LargestOfAll(num_states)
