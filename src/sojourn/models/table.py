"""Models made from the tables of Gymnasium's toy environments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from sojourn.data.numbers import unmasked, within
from sojourn.models.build import numbers_of
from sojourn.models.smdp import SMDP
from sojourn.models.transitions import from_transitions
from sojourn.rules.arrays import Floats
from sojourn.rules.door import told


@told
def from_table(
    table: Mapping[int, Mapping[int, Sequence[tuple[float, int, float, bool]]]],
    durations: ArrayLike = 1.0,
    *,
    start: ArrayLike | None = None,
    state_names: Sequence[str] | None = None,
    action_names: Sequence[str] | None = None,
) -> SMDP:
    """Return the model of a Gymnasium table `P[s][a] = [(probability, s', reward, terminated), ...]`.

    Durations are one number or an array [s, a]. A model of the long run has no end: after a
    transition that terminates, it goes on at `start`, which is a state or a probability for each state.

    >>> table = {0: {0: [(1.0, 1, 0.0, False)]}, 1: {0: [(1.0, 1, 1.0, True)]}}
    >>> from_table(table, durations=2.0, start=0).successor
    array([1, 0], dtype=int32)
    """
    num_states = len(table)
    first = _start_law(start, num_states)
    numbers = numbers_of("durations", durations)
    rows = []
    for state, choices in table.items():
        for action, outcomes in choices.items():
            duration = float(numbers if numbers.ndim == 0 else numbers[state, action])
            for probability, successor, reward, terminated in outcomes:
                if not terminated:
                    rows.append((state, action, int(successor), probability, reward, duration))
                    continue
                if first is None:
                    raise ValueError(
                        f"state {state}, action {action} ends an episode in state {successor}; "
                        "say with start=... where the next one begins"
                    )
                rows += [
                    (state, action, int(again), probability * first[again], reward, duration)
                    for again in np.flatnonzero(first)
                ]
    # Names are added at the end, so that states and actions keep their numbers.
    model = from_transitions(rows)
    if model.num_states != num_states:
        raise ValueError(
            f"the table has {num_states} states, but its transitions have {model.num_states}; number the states from 0"
        )
    if state_names is None and action_names is None:
        return model
    return model.with_names(state_names, action_names)


def _start_law(start: ArrayLike | None, num_states: int) -> Floats | None:
    if start is None:
        return None
    if np.ndim(unmasked("start", start)) == 0:
        law = np.zeros(num_states)
        law[within("start", np.asarray(start).item(), num_states)] = 1.0
        return law
    law = np.asarray(numbers_of("start", start))
    if law.shape != (num_states,) or not (law >= 0.0).all() or not abs(law.sum() - 1.0) <= 1e-8:
        raise ValueError(f"start must be a state, or {num_states} probabilities that sum to 1")
    return law
