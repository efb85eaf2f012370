"""RVI Q-learning for semi-Markov problems: the rate is a function f(Q) of the values themselves.

With T(s, a) the mean duration of a pair, f any of the functions below, tau the duration of the step, and m the mean
duration of all steps,

    T += beta_T (tau - T);      Q(s, a) += alpha (r + max Q(s', .) - Q(s, a) - T f(Q)) / max(T, m / 10)

The values then settle at the level where f(Q) is the optimal rate. `FirstPair` costs nothing; the other two
functions look at all values in every step.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from sojourn.agents.errors import Step, divisor, elapsed, evidence, misplaced, takes_all, td_error
from sojourn.agents.values.protocol import Values, best, move, read, sizes
from sojourn.agents.values.table import Table
from sojourn.rates.centred import MeanDuration, averaged
from sojourn.rates.protocol import update, value, value_as_kept
from sojourn.rules.compile import no_rule, rule
from sojourn.rules.replace import replaced
from sojourn.rules.values import Value


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
    duration_step_size: float
    durations: MeanDuration = MeanDuration()


@td_error.register
def relative(method: Relative, values: Values, rate: float, step: Step) -> tuple[float, Relative]:
    """T += beta_T (tau - T); then the error relative to T f(Q), divided by T."""
    known = read(method.mean_duration, step.state, step.action)
    change = method.duration_step_size * (step.duration - known)
    mean_duration = move(method.mean_duration, step.state, step.action, change)
    durations = averaged(method.durations, step.duration)
    reference = settled(method.reference, step.state, step.action)
    mean = read(mean_duration, step.state, step.action)
    here = read(values, step.state, step.action)
    delta = step.reward + step.ahead - here - mean * level_of(reference, values)
    after = replaced(method, reference=reference, mean_duration=mean_duration, durations=durations)
    return delta / divisor(mean, durations), after


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
