"""How an estimator of the rate gets its evidence if some steps take no time.

A rate is reward per unit time, so a step that takes no time says nothing about it on its own. Its reward is
*carried* to the next step that takes time, and the estimator gets both together. Agents, `RateMeter` and all other code that
updates an estimator use `carry`.
"""

from __future__ import annotations

from sojourn.rates.protocol import R, update
from sojourn.rules.door import told_inlined

_update = update.bare


@told_inlined
def carry(rate: R, carried: float, reward: float, duration: float) -> tuple[R, float]:
    """Return the estimator after one more step, which may take no time, and the reward that is still carried.

    10 earned in no time and then 1 in a time of 4 count as 11 in a time of 4:

    >>> from sojourn.rates.protocol import value
    >>> from sojourn.rates.ratio import Exponential
    >>> rate, carried = carry(Exponential(step_size=0.1), 0.0, 10.0, 0.0)
    >>> value(rate), carried
    (0.0, 10.0)
    >>> rate, carried = carry(rate, carried, 1.0, 4.0)
    >>> value(rate), carried
    (2.75, 0.0)
    """
    if duration > 0.0:
        return _update(rate, carried + reward, duration), 0.0
    return rate, carried + reward
