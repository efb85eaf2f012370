"""Eliminate the states of a chain one after the other, without a subtraction.

Suppose that a chain leaves state k for j at the rate A(k, j). Watched only while it is not in k, it behaves like a chain with
the rates A(i, j) + A(i, k) A(k, j) / out(k), where out(k) = sum over j of A(k, j). What is earned in k is counted on the
way through it. Nothing is ever subtracted, not even for 1 - A(k, k), so every number has small *relative* errors, however
unequal the rates are: a leak of 1e-300 is as exact as one of 0.5 (Grassmann, Taksar and Heyman, Operations Research 33,
1985; O'Cinneide, Numerische Mathematik 65, 1993).

The numbers are floats, or decimals in an array of objects. Floats that would underflow raise FloatingPointError.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Numbers: TypeAlias = npt.NDArray[Any]  # floats, or objects that are decimals


class Eliminated(NamedTuple):
    """The rates and amounts of each state at the time when it was eliminated, and its total rate of leaving."""

    rates: Numbers
    amounts: Numbers
    out: Numbers

    def cycle(self) -> Numbers:
        """Return the mean amounts between two visits to the first state."""
        return np.asarray(self.amounts[0])

    def totals(self) -> Numbers:
        """Return the mean amounts from each state until the first state is reached; 0 in the first state itself."""
        result = np.zeros_like(self.amounts)
        with np.errstate(all="raise"):
            for k in range(1, len(result)):
                ahead = np.flatnonzero(self.rates[k, :k])
                later = (self.rates[k, ahead][:, None] * result[ahead]).sum(axis=0)
                result[k] = (self.amounts[k] + later) / self.out[k]
        return result

    def visits(self) -> Numbers:
        """Return the mean number of visits to each state between two visits to the first one."""
        result = np.zeros_like(self.out)
        result[0] = 1
        with np.errstate(all="raise"):
            for k in range(1, len(result)):
                before = np.flatnonzero(self.rates[:k, k])
                result[k] = (result[before] * self.rates[before, k]).sum() / self.out[k]
        return result


def eliminated(rates: Numbers, amounts: Numbers) -> Eliminated:
    """Eliminate all states but the first, starting with the last; a state's rate to itself does not count.

    `amounts` has in its columns what is earned per step in each state. The first state must be reached from every state.

    >>> rates = np.array([[0.0, 1.0, 0.0], [0.5, 0.0, 0.5], [1.0, 0.0, 0.0]])
    >>> left = eliminated(rates, np.array([[4.0], [0.0], [6.0]]))
    >>> left.cycle(), left.totals()[:, 0], left.visits()
    (array([7.]), array([0., 3., 6.]), array([1. , 1. , 0.5]))
    """
    rates, amounts = rates.copy(), amounts.copy()
    out = np.zeros_like(rates[0])
    with np.errstate(all="raise"):
        for k in range(len(rates) - 1, 0, -1):
            out[k] = rates[k, :k].sum()
            before, ahead = np.flatnonzero(rates[:k, k]), np.flatnonzero(rates[k, :k])
            share = (rates[before, k] / out[k])[:, None]
            rates[np.ix_(before, ahead)] += share * rates[k, ahead]
            amounts[before] += share * amounts[k]
    return Eliminated(rates, amounts, out)
