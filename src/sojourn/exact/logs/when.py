"""When to act: the best state from which on to take an action, such as the age or the wear at which to replace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sojourn.data.numbers import shown
from sojourn.exact.logs.closing import counted
from sojourn.exact.logs.fit import Fit
from sojourn.rules.arrays import Floats


class When(NamedTuple):
    """From which state on an action is best taken, as `Log.when` returns it; or the advice to go on as before.

    With `start`, the action is taken in that state and all above it, and other actions below; None is never. It would earn about
    `gain` per unit of time, and at least `low` with the probability `level`; both allow for the fact that it was chosen on the
    same rows. `gains` has what every start would earn according to the log's model, luck included. If nothing is clearly better
    than what was done, `kept` is true, `start` is the best of `gains`, and `gain` and `low` are those of the behaviour.

    >>> import sojourn as sj
    >>> lives = {"life": [30, 52, 55, 58, 60, 61, 63, 70] * 10, "failed": [True, True, True, True, False, True, True, True] * 10}
    >>> found = sj.exact.read_lives(lives, failure_cost=20, planned_cost=2, ages=[20, 40, 50, 56]).when()
    >>> found.start, round(found.gains[50], 4)  # (2 * 7/8 + 20 * 1/8) in 30/8 + 50 * 7/8
    (50.0, -0.0895)
    """

    action: Any
    start: Any
    gain: float
    low: float
    level: float
    beats_behaviour: float
    behaviour: float
    kept: bool
    gains: dict[Any, float]
    per: str

    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        start = f"{self.start:.6g}" if isinstance(self.start, float) else self.start
        what = f"{self.action} from {start} on" if self.start is not None else f"never {self.action}"
        if self.kept:
            return (
                f"no start of {self.action} is clearly better than what was done, which earns {self.behaviour:.6g} per {self.per}; "
                f"the best in the log's model, {what}, would earn {self.gains[self.start]:.6g}"
            )
        return (
            f"{what} would earn {self.gain:.6g} per {self.per}, at least {self.low:.6g} with a probability of "
            f"{100.0 * self.level:g} %, against {self.behaviour:.6g} as it was done; it is better with a probability of "
            f"{100.0 * min(self.beats_behaviour, 0.999):.1f} %"
        )


def starts(fit: Fit, states: Sequence[object], action: int) -> dict[object, Floats]:
    """Return the policies that take an action from a state on, as shares of pairs by that state; None is never.

    Below, what was done but for the action is done; where nothing else was ever done, the action is.
    """
    wrong = next((state for state in states if not is_number_label(state)), None)
    if wrong is not None:
        raise ValueError(
            f"the log has the state {shown(wrong)}, which is not a number; when needs states with an order, such as an age or a wear"
        )
    order = np.argsort(np.array(states, dtype=np.float64), kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    mine = fit.action == action
    other = np.where(mine, 0.0, fit.taken.astype(np.float64))
    total = np.add.reduceat(other, fit.offsets[:-1])
    only = total == 0.0
    below = np.where(only[fit.state], mine, other / np.where(only, 1.0, total)[fit.state])
    can = np.zeros(len(states), dtype=bool)
    can[fit.state[mine]] = True
    found: dict[object, Floats] = {}
    for at in (*np.flatnonzero(can[order]).tolist(), len(order)):
        acts = ((rank >= at) & can)[fit.state]
        found[states[order[at]] if at < len(order) else None] = np.where(acts, mine, below).astype(np.float64)
    if len(found) < 2:
        raise ValueError(
            f"the action can be taken in {counted(len(found) - 1, 'state', 'states')}; there is nothing to choose"
        )
    return found


def is_number_label(label: object) -> bool:
    """Return whether a label is a number, so that labels have an order."""
    return isinstance(label, int | float) and not isinstance(label, bool)
