"""Policies as columns of a small linear program, mixtures of them, and a mixture as one policy that draws its actions.

A *column* is a policy, or one of its recurrent classes: how often it takes a step in each state, and what it has of each
amount. What a mixture has of an amount is the mixture of what the columns have. HiGHS finds the best mixture within
limits; its prices are those at which no column earns more than the mixture.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.optimize import linprog

from sojourn.exact.bounds import Solution, repriced
from sojourn.exact.chains import LARGEST, stationary, valued
from sojourn.exact.direct import Factored, cost_in_sweeps, improved_policy
from sojourn.exact.errors import NotSolvedError
from sojourn.models.chain import Chain, chain_of_pairs, classes_of, leading_to, pairs_of
from sojourn.models.smdp import SMDP
from sojourn.models.structure import named, several_classes
from sojourn.rules.arrays import Floats, Ints

Solver: TypeAlias = Callable[
    [SMDP, float, Solution | None], Solution
]  # to a tolerance, from an earlier solution

_ACCURACY = 1e-10  # the smallest tolerance that HiGHS accepts
_SEEN = 1e-13  # shares below are rounding
_TIE = 1e-12  # relative: policies that are closer are as good as each other
_DRAWN = 1e-15  # probabilities below are rounding


class PolicyColumn(NamedTuple):
    """A policy by its pairs: its visits to each state, its rates of the reward and of every excess, and their sizes.

    All are per unit of what the gain is counted per. `size` has the rates of |reward| and of |excess|.
    """

    pairs: Ints
    visits: Floats
    reward: float
    excess: Floats
    size: Floats
    biases: Floats | None = None  # of the reward and of every excess, in large models


class Improved(NamedTuple):
    """What a bias proves at some prices, and how far it is from solving the optimality equation."""

    bias: Floats
    upper: float
    residual: float


class Master:
    """A model with limits: what must not exceed 0 in the long run, the policies that are known, and the way to the next one."""

    def __init__(self, model: SMDP, excess: Sequence[Floats], solve: Solver, tolerance: float) -> None:
        if len(model.structure.parts) > 1:
            sentence = several_classes(model, model.structure.parts).partition(", so its gain")[0]
            raise NotSolvedError(
                f"{sentence}, so what limits allow depends on the start; make a model of one class and solve that"
            )
        self.model = model if model.counts is None else model.with_counts(None)  # so that bounds are finite
        self.excess, self.tolerance, self.solver = list(excess), tolerance, solve
        self.columns: list[PolicyColumn] = []
        self.last: Solution | None = None
        self.rounds = 0
        self._is_factored: bool | None = None
        self._law: Floats | None = None  # of the last policy that was factorised
        self._seen: set[bytes] = set()

    @property
    def is_small(self) -> bool:
        """Whether each policy is found as exactly as floats allow."""
        return self.model.num_states <= LARGEST

    def best(self, weight: float, prices: Floats, tolerance: float | None = None) -> Solution:
        """Return the best policy for the rewards weight a - prices f, and add it to the columns.

        Each reward is rounded up by more than its sum can have been rounded down, so that upper bounds hold.
        """
        priced = self._priced(weight, prices)
        last = self.last
        if last is not None and self.is_factored:
            last = replace(last, policy=self.model.action[self._best_at(weight, prices).pairs])
        self.last = self.solver(priced, tolerance or self.tolerance, last)
        self._add(pairs_of(self.model, self.last.policy))
        return self.last

    def _priced(self, weight: float, prices: Floats) -> SMDP:
        reward = weight * self.model.reward
        if prices.any():
            terms = [reward, *(-p * f for p, f in zip(prices, self.excess, strict=True))]
            slack = 2.0**-52 * (len(terms) + 2) * np.sum(np.abs(terms), axis=0)
            reward = np.sum(terms, axis=0) + slack
        return repriced(self.model, reward)

    def _add(self, pairs: Ints) -> None:
        self.rounds += 1
        if pairs.tobytes() not in self._seen:
            self._seen.add(pairs.tobytes())
            self.columns += self.classes(pairs)

    @property
    def is_factored(self) -> bool:
        """Whether policies are evaluated by factorisations, so that biases at all prices are known with the columns."""
        return all(column.biases is not None for column in self.columns)

    def improved(self, weight: float, prices: Floats, enough: float = -np.inf) -> Improved:
        """Return what the best known policy for weight a - prices f proves; unless that is enough, add a better policy.

        This is one step of policy iteration, instead of all of them. Its bias at any prices is a sum of biases that are
        known, so a policy takes one factorisation, whatever the prices are.
        """
        column, priced = self._best_at(weight, prices), self._priced(weight, prices)
        value = weight * column.reward - float(prices @ column.excess)
        assert column.biases is not None
        bias = weight * column.biases[0] - prices @ column.biases[1:]
        better = improved_policy(priced, column.pairs, bias, value, enough)
        if better.pairs is not None:
            self._add(better.pairs)
        return Improved(bias, better.upper, better.residual)

    def _best_at(self, weight: float, prices: Floats) -> PolicyColumn:
        """Return the latest of the best known policies for the rewards weight a - prices f."""
        values = [weight * column.reward - float(prices @ column.excess) for column in self.columns]
        slack = _TIE * max(abs(value) for value in values)
        return self.columns[max(at for at, value in enumerate(values) if value >= max(values) - slack)]

    def classes(self, pairs: Ints, *, with_biases: bool = True) -> list[PolicyColumn]:
        """Return a column for each recurrent class of a policy."""
        chain = chain_of_pairs(self.model, pairs)
        classes = classes_of(chain)
        return [
            self._column(
                pairs if len(classes) == 1 else leading_to(self.model, states, pairs),
                chain,
                states,
                with_biases,
            )
            for states in classes
        ]

    def _column(self, pairs: Ints, chain: Chain, states: Ints, with_biases: bool) -> PolicyColumn:
        visits = np.zeros(self.model.num_states)
        taken, biases = np.array([self.model.reward[pairs], *(f[pairs] for f in self.excess)]), None
        if self._factorises(chain):
            whole = chain if len(states) == len(chain.reward) else chain_of_pairs(self.model, pairs)
            factored = Factored(whole, states, self._law)
            visits = self._law = factored.law
            biases = _refined(factored, whole, taken)[1] if with_biases else None
        else:
            visits[states] = stationary(chain.matrix[states][:, states])
        visits = visits / (visits @ chain.duration)
        rates = taken @ visits
        return PolicyColumn(pairs, visits, float(rates[0]), rates[1:], np.abs(taken) @ visits, biases)

    def _factorises(self, chain: Chain) -> bool:
        """Whether a chain is factorised; the first large one decides for all."""
        if len(chain.reward) <= LARGEST:
            return False
        if self._is_factored is None:
            self._is_factored = cost_in_sweeps(self.model, self.model.pair_offsets[:-1]) < np.inf
        return self._is_factored

    def valued(self, chain: Chain, rewards: Sequence[Floats]) -> list[tuple[float, Floats]]:
        """Return the gain and the bias of a chain with one recurrent class for each of some rewards."""
        if self._factorises(chain):
            factored = Factored(chain, classes_of(chain)[0], self._law)
            gains, biases = _refined(factored, chain, np.array(rewards))
            return list(zip(gains.tolist(), biases, strict=True))
        found = [valued(chain._replace(reward=each)) for each in rewards]
        return [(float(each.gains[0]), each.bias) for each in found]


def _refined(factored: Factored, chain: Chain, rewards: Floats) -> tuple[Floats, Floats]:
    """Return gains and biases, corrected once for what rounding left of r - g d + P h - h."""
    gains, biases = factored.corrections(rewards)
    left = rewards - np.outer(gains, chain.duration) + (chain.matrix @ biases.T).T - biases
    more, further = factored.corrections(left)
    return gains + more, biases + further


# --- Mixtures -------------------------------------------------------------------------------


class Mixture(NamedTuple):
    """The share of each column, what the mixture earns, and the prices at which no column earns more."""

    shares: Floats
    value: float
    prices: Floats


def best_mixture(columns: Sequence[PolicyColumn], room: Floats) -> Mixture:
    """Return the mixture with the largest reward whose excesses are at most `room`."""
    reward = np.array([column.reward for column in columns])
    excess = np.column_stack([column.excess for column in columns])
    usual, scale = float(reward.mean()), np.abs(excess).max(axis=1)
    size, scale = float(np.abs(reward - usual).max()) or 1.0, np.where(scale > 0.0, scale, 1.0)
    cost, rows, room = (reward - usual) / size, excess / scale[:, None], room / scale
    shares, prices = _program(-cost, rows, room, np.ones(len(cost)))
    kept, binding = np.flatnonzero(shares > _SEEN), np.flatnonzero(prices > 0.0)
    shares = np.where(shares > _SEEN, shares, 0.0) / shares[kept].sum()
    if len(kept) == len(binding) + 1:  # as a rule; HiGHS leaves fewer digits than these equations
        square = np.vstack([np.ones(len(kept)), rows[np.ix_(binding, kept)]])
        with contextlib.suppress(np.linalg.LinAlgError):
            exactly = np.linalg.solve(square, np.append(1.0, room[binding]))
            answer = np.linalg.solve(square.T, cost[kept])
            if exactly.min() >= 0.0 and answer[1:].min(initial=0.0) >= 0.0:
                shares[kept], prices[binding] = exactly / exactly.sum(), answer[1:]
    return Mixture(shares, float(shares @ reward), prices * size / scale)


def closest_mixture(columns: Sequence[PolicyColumn], scale: Floats) -> Mixture:
    """Return the mixture whose largest excess is smallest, each in units of its scale; its value is that excess, or 0."""
    rows = np.column_stack([column.excess / scale for column in columns])
    count = rows.shape[1]
    shares, prices = _program(
        np.append(np.zeros(count), 1.0),
        np.column_stack([rows, -np.ones(len(rows))]),
        np.zeros(len(rows)),
        np.append(np.ones(count), 0.0),
    )
    return Mixture(shares[:-1], float(shares[-1]), prices / (prices.sum() or 1.0) / scale)


def _program(cost: Floats, rows: Floats, room: Floats, total: Floats) -> tuple[Floats, Floats]:
    """Return the cheapest shares >= 0 with rows @ shares <= room and total @ shares = 1, and the prices of the rows."""
    found = linprog(
        cost, A_ub=rows, b_ub=room, A_eq=total[None], b_eq=[1.0], method="highs-ds",
        options={"primal_feasibility_tolerance": _ACCURACY, "dual_feasibility_tolerance": _ACCURACY},
    )  # fmt: skip
    if found.status != 0:
        raise NotSolvedError(
            f"HiGHS does not find the best mixture of {len(cost)} policies within the limits, perhaps because amounts differ "
            f"much in size, so scale them: {found.message.rstrip('.')}"
        )
    return np.maximum(found.x, 0.0), np.maximum(-found.ineqlin.marginals, 0.0)


# --- A mixture as one policy ----------------------------------------------------------------


def drawn(model: SMDP, columns: Sequence[PolicyColumn], shares: Floats) -> Floats:
    """Return, for every pair, the probability with which the policy that does as the mixture takes it.

    States that no column visits keep the action of the column with the largest share.
    """
    weight = np.zeros(model.num_pairs)
    for share, column in zip(shares, columns, strict=False):
        weight[column.pairs] += share * column.visits
    first, counts = model.pair_offsets[:-1], np.diff(model.pair_offsets)
    for _ in range(2):
        total = np.add.reduceat(weight, first)
        if not (total > 0.0).all():
            weight[columns[int(np.argmax(shares))].pairs[~(total > 0.0)]] = 1.0
            total = np.where(total > 0.0, total, 1.0)
        weight = weight / np.repeat(total, counts)
        weight[weight < _DRAWN] = 0.0
    return weight


def as_model(model: SMDP, weight: Floats) -> SMDP:
    """Return the model in which each state has one action, which does as this policy."""
    pairs = np.flatnonzero(weight > 0.0)
    offsets, rows = model.rows_of(pairs)
    sums = np.add.reduceat(model.probability[rows], offsets[:-1])
    share = np.repeat(weight[pairs] / sums, np.diff(offsets))
    first = model.pair_offsets[:-1]
    begins = np.searchsorted(pairs, first)  # every state has a pair
    mixed = SMDP(
        pair_offsets=np.arange(model.num_states + 1),
        row_offsets=np.append(offsets[begins], offsets[-1]),
        successor=model.successor[rows],
        probability=model.probability[rows] * share,
        reward=np.add.reduceat(weight * model.reward, first),
        duration=np.add.reduceat(weight * model.duration, first),
    )
    classes = classes_of(chain_of_pairs(mixed, np.arange(model.num_states)))
    if len(classes) > 1:
        raise NotSolvedError(_apart(model, classes))
    return mixed


def _apart(model: SMDP, classes: list[Ints]) -> str:
    shown = " and in ".join(named(model, states) for states in classes[:3])
    return (
        f"within the limits it is best to spend some of the time in {shown}, but a policy without memory would stay in one of "
        "them for ever; make the states say how long to stay, or change a limit so that one of them is enough"
    )
