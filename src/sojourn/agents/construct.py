"""Makes learning agents from the options that users give, and says what is wrong with these."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sojourn.agents.errors import Method
from sojourn.agents.exploration import Decay, Linear, exploration_of
from sojourn.agents.learning import READINGS, LearningAgent, step_size_of
from sojourn.agents.ties import ties_of
from sojourn.agents.values.protocol import Values
from sojourn.agents.values.table import Table, zeros
from sojourn.data.numbers import at_least_zero, finite, fraction, unmasked
from sojourn.rates.centred import Centred
from sojourn.rates.protocol import Rate, value
from sojourn.rates.scheduled import Scheduled, Visits


class Options(NamedTuple):
    """The options that all learning agents have, as they were given."""

    step_size: float | Visits
    exploration: float | Decay | Linear
    greedy: str
    ties: str
    initial: ArrayLike


def learning(
    num_states: int, num_actions: int, rate: Rate, method: Method, options: Options
) -> LearningAgent:
    """Return a learning agent with a table of values, its options checked."""
    values = initial_table(num_states, num_actions, options.initial)
    return learning_with(values, lambda: zeros(num_states, num_actions), rate, method, options)


def learning_with(
    values: Values, empty: Callable[[], Values], rate: Rate, method: Method, options: Options
) -> LearningAgent:
    """Return a learning agent with these values; `empty` makes values of the same kind, all 0."""
    if options.greedy not in READINGS:
        raise ValueError(f"greedy is {options.greedy!r}; it must be one of {', '.join(map(repr, READINGS))}")
    return LearningAgent(
        values=values,
        rate=rate,
        method=method,
        step_size=step_size_of(options.step_size, empty),
        exploration=exploration_of(options.exploration),
        ties=ties_of(options.ties),
        greedy=READINGS.index(options.greedy),
        carried=0.0,
        accepted=False,
    )


def initial_table(num_states: int, num_actions: int, initial: ArrayLike) -> Table:
    """Return a table filled with one number, or with an array of states by actions.

    >>> initial_table(1, 2, 5.0)
    Table(q=array([[5., 5.]]))
    """
    table = zeros(num_states, num_actions)
    if np.ndim(initial) == 0:
        table.q[:] = finite("initial", initial)  # type: ignore[arg-type] # or refused
        return table
    given = np.asarray(unmasked("initial", initial))
    if given.dtype.kind not in "biuf" or given.shape != table.q.shape:
        raise ValueError(
            f"initial has the shape {given.shape}; it must be a number, or an array of {num_states} states by "
            f"{num_actions} actions"
        )
    if not (given < np.inf).all() or not np.isfinite(given).any(axis=1).all():
        raise ValueError(
            "initial must have finite values, and -inf only for actions that a state does not have"
        )
    table.q[:] = given
    return table


def estimator(
    kind: Callable[..., Rate],
    rate_step_size: float | Visits | None,
    rate: Rate | None,
    centring: float = 0.0,
) -> Rate:
    """Return the agent's usual estimator, or the one that was given, centred if that is asked for."""
    if rate is not None:
        if rate_step_size is not None:
            raise ValueError(
                "rate and rate_step_size are both given; leave out rate_step_size, as the estimator has its own"
            )
        value(rate)  # raises an error if it is not an estimator
        return centred(rate, centring)
    if isinstance(rate_step_size, Visits):
        return centred(Scheduled(kind(rate_step_size.first), rate_step_size), centring)
    size = 0.01 if rate_step_size is None else fraction("rate_step_size", rate_step_size)
    return centred(kind(size), centring)


def centred(rate: Rate, centring: float) -> Rate:
    """Return an estimator with centring of this strength; 0 means none."""
    if not at_least_zero("centring", centring):
        return rate
    if isinstance(rate, Centred):
        raise ValueError(  # noqa: TRY004 - either alone is of the right type
            "rate is already centred; leave out centring, or give the estimator without it"
        )
    return Centred(rate, float(centring))


def refuse_centring(agent: str, centring: float, rate: Rate | None, reason: str) -> None:
    """Refuse centring for an agent whose error has no estimated rate in it."""
    if at_least_zero("centring", centring) or isinstance(rate, Centred):
        raise ValueError(f"centring is given to {agent}, {reason}; leave it out")
