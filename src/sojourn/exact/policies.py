"""The exact gain of a policy, its bias, and where it spends its steps.

A policy makes the model a chain with transition matrix P, mean rewards r and durations d. In a
recurrent class the gain g and the bias h solve

    h + g d = r + P h,       h = 0 in one state

and the stationary law x of the steps solves x P = x, with g = x r / x d. From a transient
state the gain is the mean of those of the classes that it leads to, and h(s) + g(s) d(s) = r(s) +
P h there as well. A policy with several recurrent classes has several gains (Puterman, "Markov
Decision Processes", appendix A and chapter 11).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from sojourn.models.chain import Chain, chain_of, classes_of, solved
from sojourn.models.smdp import SMDP
from sojourn.models.structure import named, one_gain
from sojourn.rules.arrays import Floats, Ints, Sparse


@dataclass(frozen=True, eq=False)
class PolicyValue:
    """What a policy is worth in the long run.

    `gains` and `bias` are those of each state. `classes` are the states of each recurrent class,
    and `class_laws` the shares of steps that each state has there.

    >>> import sojourn as sj
    >>> worth = sj.evaluate(sj.problems.long_return(), [0, 0])  # 30 in a time of 2, then 0 in one of 1
    >>> worth.gain, worth.mean_reward, worth.mean_duration, worth.stationary
    (10.0, 15.0, 1.5, array([0.5, 0.5]))
    """

    model: SMDP = field(repr=False)
    gains: Floats = field(repr=False)
    bias: Floats = field(repr=False)
    classes: tuple[Ints, ...] = field(repr=False)
    class_laws: tuple[Floats, ...] = field(repr=False)
    state_duration: Floats = field(repr=False)
    state_reward: Floats = field(repr=False)

    @property
    def gain(self) -> float:
        """The gain, where it is the same from every state."""
        return one_gain(self.gains)

    @property
    def stationary(self) -> Floats:
        """The share of steps that each state has in the long run, where there is one recurrent class."""
        if len(self.classes) > 1:
            shown = ", ".join(named(self.model, states) for states in self.classes[:5])
            raise ValueError(
                f"the policy has {len(self.classes)} recurrent classes, {shown}, and a law for each; use class_laws"
            )
        law = np.zeros(self.model.num_states)
        law[self.classes[0]] = self.class_laws[0]
        return law

    @property
    def mean_duration(self) -> float:
        """The mean duration of a step in the long run."""
        return float(self.stationary @ self.state_duration)

    @property
    def mean_cycle(self) -> Floats:
        """The mean time from one visit of each state to the next; infinite for states that are not visited again.

        By renewal-reward, a state that has the share x of the steps is visited once in 1/x steps.
        """
        with np.errstate(divide="ignore"):
            return np.asarray(self.mean_duration / self.stationary)

    @property
    def mean_reward(self) -> float:
        """The mean reward of a step in the long run."""
        return float(self.stationary @ self.state_reward)


def evaluate(model: SMDP, policy: ArrayLike) -> PolicyValue:
    """Return what a policy is worth: an action for each state, or probabilities [state, action].

    >>> from sojourn.models import from_arrays
    >>> model = from_arrays([[[0.0, 1.0]], [[1.0, 0.0]]], rewards=[[4.0], [0.0]], durations=[[1.0], [3.0]])
    >>> worth = evaluate(model, [0, 0])
    >>> worth.gain, worth.stationary, worth.mean_duration
    (1.0, array([0.5, 0.5]), 2.0)
    >>> worth.mean_cycle  # once round takes 1 + 3
    array([4., 4.])
    """
    chain = chain_of(model, policy)
    gains, bias, classes = valued(chain)
    laws = tuple(_stationary(chain.matrix[states][:, states]) for states in classes)
    return PolicyValue(model, gains, bias, tuple(classes), laws, chain.duration, chain.reward)


def valued(chain: Chain) -> tuple[Floats, Floats, list[Ints]]:
    """Return gains, bias and recurrent classes of a chain."""
    classes = classes_of(chain)
    num_states = len(chain.reward)
    gains, bias = np.zeros(num_states), np.zeros(num_states)
    for states in classes:
        part = Chain(chain.matrix[states][:, states], chain.reward[states], chain.duration[states])
        gains[states], bias[states] = _recurrent(part)
    transient = np.setdiff1d(np.arange(num_states), np.concatenate(classes))
    if transient.size:
        leaving = chain.matrix[transient]
        system = sparse.eye_array(len(transient)) - leaving[:, transient]
        if len(classes) == 1:
            gains[transient] = gains[classes[0][0]]
        else:
            gains[transient] = solved(system, leaving @ gains)
        earned = chain.reward[transient] - gains[transient] * chain.duration[transient]
        bias[transient] = solved(system, earned + leaving @ bias)
    return gains, bias, classes


def _recurrent(chain: Chain) -> tuple[float, Floats]:
    """Return gain and bias of an irreducible chain: h + g d = r + P h, the bias of its first state 0."""
    # The column of the bias that is 0 is free, and g takes it.
    answer = solved(_with_column(_one_minus(chain.matrix), chain.duration), chain.reward)
    gain, answer[0] = float(answer[0]), 0.0
    return gain, answer


def _stationary(matrix: Sparse) -> Floats:
    """Return the law x with x P = x and sum 1 of an irreducible chain."""
    # One of the equations follows from the others, and the sum takes its place.
    first = np.zeros(matrix.shape[0])
    first[0] = 1.0
    law = solved(_with_column(_one_minus(matrix), np.ones(matrix.shape[0])).T, first)
    law = np.maximum(law, 0.0)
    return np.asarray(law / law.sum())


def _one_minus(matrix: Sparse) -> Sparse:
    return (sparse.eye_array(matrix.shape[0], format="csr") - matrix).tocsc()


def _with_column(matrix: Sparse, column: Floats) -> Sparse:
    """Return a matrix with another first column."""
    return sparse.hstack([sparse.csc_array(column[:, None]), matrix[:, 1:]], format="csc")
