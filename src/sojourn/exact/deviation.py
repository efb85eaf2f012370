r"""How far the reward over a long time strays from the gain times that time.

Let h be the bias of a policy and g its gain. In a step of reward r and duration tau from s to s', let

    delta = r - g tau + h(s') - h(s)

Its mean is 0 in every state, so what a run has earned after a long time T, less g T, is a sum of about T / E[tau] numbers
that do not depend on each other on average, and by the central limit theorem for martingales it is normal (compare
W. L. Smith, Proceedings of the Royal Society A 232, 1955), with

    variance sigma^2 T,     sigma^2 = E[delta^2] / E[tau]

Between a row's reward and its duration there is no dependence, as when a model is simulated, so given the row

    E[delta^2] = (E[r] - g E[tau] + h(s') - h(s))^2 + Var[r] + g^2 Var[tau]

All of this is exact. A reward or duration without a law is a constant. If the reward comes evenly while a sojourn lasts, as
the costs of what a queue holds do, it is r = E[r] tau / E[tau], and (E[r] / E[tau] - g)^2 takes the place of g^2.
"""

from __future__ import annotations

import numpy as np

from sojourn.models import laws
from sojourn.models.smdp import SMDP
from sojourn.rules.arrays import Floats


def step_variances(model: SMDP, gains: Floats, bias: Floats, *, flowing: bool = False) -> Floats:
    """Return E[delta^2] of every pair, given the gain and the bias of the states; infinite if a law has no variance.

    If rewards are `flowing`, they come evenly while a sojourn lasts, and so are in proportion to its duration.

    Heads earns 4, tails earns nothing:

    >>> from sojourn.models import from_transitions
    >>> coin = from_transitions([("toss", "go", "toss", 0.5, 4.0, 1.0), ("toss", "go", "toss", 0.5, 0.0, 1.0)])
    >>> step_variances(coin, np.array([2.0]), np.array([0.0]))
    array([4.])
    """
    pair = np.repeat(np.arange(model.num_pairs), np.diff(model.row_offsets))
    state = model.state_of_pair()[pair]
    reward, duration, by_rows = model.flat_laws()
    place = np.arange(model.num_rows) if by_rows else pair
    gain = gains[state]
    with np.errstate(over="ignore"):
        earned, lasting = laws.means(reward)[place], laws.means(duration)[place]
        surplus = earned - gain * lasting
        square = (surplus + bias[model.successor] - bias[state]) ** 2 + laws.variances(reward)[place]
        above = (
            np.where(lasting > 0.0, earned / np.where(lasting > 0.0, lasting, 1.0), 0.0) if flowing else 0.0
        )
        spread = np.where(above == gain, 0.0, np.sqrt(laws.variances(duration)[place]))
        square += ((above - gain) * spread) ** 2
    starts = model.row_offsets[:-1]
    total = np.add.reduceat(model.probability, starts)
    return np.asarray(np.add.reduceat(model.probability * square, starts) / total)


def without_laws(model: SMDP) -> str:
    """Return which of rewards and durations have no laws, so that they count as constants in each outcome; empty if none does.

    >>> from sojourn.models.problems import long_return
    >>> without_laws(long_return())
    'rewards and durations'
    """
    known = (("rewards", model.reward_law), ("durations", model.duration_law))
    return " and ".join(name for name, law in known if law is None)
