"""The frontier of gain and deviation: against brute force by another formula, and what is said where it is not exact."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import sojourn as sj
from counting import Counted
from sojourn.exact import RiskFrontier, risk_frontier
from sojourn.models import SMDP, from_transitions
from sojourn.models.laws import Lognormal, TwoPoint
from sojourn.models.problems import red_pill_blue_pill, three_rides


def random_rows(seed: int) -> tuple[list[tuple[Any, ...]], list[int]]:
    """Transitions of a model with two to four states, in which each has its own constant reward and duration."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 4, size=rng.integers(2, 5)).tolist()
    rows = [
        (
            state,
            action,
            after,
            float(chance),
            float(rng.normal(0.0, rng.choice([0.3, 3.0]))),
            float(rng.uniform(0.2, 3.0)),
        )
        for state, count in enumerate(counts)
        for action in range(count)
        for after, chance in enumerate(rng.dirichlet(np.ones(len(counts))))
    ]
    return rows, counts


def by_covariances(rows: list[tuple[Any, ...]], policy: tuple[int, ...]) -> tuple[float, float]:
    """The gain and the deviation from the covariances of steps that are 0, 1, 2, ... apart, without a bias."""
    taken = [row for row in rows if row[1] == policy[row[0]]]
    count = len(policy)
    matrix, into = np.zeros((count, count)), np.zeros(count)
    for state, _, after, chance, _, _ in taken:
        matrix[state, after] += chance
    law = np.linalg.matrix_power(matrix, 2**14)[0]
    weight = np.array([law[row[0]] * row[3] for row in taken])
    earned, lasting = (np.array([row[place] for row in taken]) for place in (4, 5))
    gain = weight @ earned / (weight @ lasting)
    surplus = earned - gain * lasting
    later = np.zeros(count)  # the mean surplus of a step by its state
    for row, each in zip(taken, surplus, strict=True):
        into[row[2]] += law[row[0]] * row[3] * each
        later[row[0]] += row[3] * each
    total = weight @ surplus**2
    for _ in range(1000):
        total += 2.0 * into @ later
        later = matrix @ later
    return float(gain), math.sqrt(max(total, 0.0) / (weight @ lasting))


def brute_force(rows: list[tuple[Any, ...]], counts: list[int]) -> list[tuple[float, float]]:
    """The gain and deviation of every policy that no other one dominates, from the largest gain on."""
    found = [by_covariances(rows, policy) for policy in itertools.product(*map(range, counts))]
    return sorted(
        (
            (gain, deviation)
            for gain, deviation in found
            if not any(g >= gain and d <= deviation and (g, d) != (gain, deviation) for g, d in found)
        ),
        reverse=True,
    )


def agrees(seed: int) -> bool:
    rows, counts = random_rows(seed)
    front, wanted = risk_frontier(from_transitions(rows)), brute_force(rows, counts)
    found = list(zip(front.gains, front.deviations, strict=True))
    return front.is_exact and len(found) == len(wanted) and np.allclose(found, wanted, rtol=1e-8, atol=1e-9)


def test_small_models_against_brute_force() -> None:
    """The frontier is that of brute force over all policies, whose deviations come from covariances."""
    assert all(agrees(seed) for seed in range(25))


@pytest.mark.evidence
def test_many_small_models_against_brute_force(counted: Counted) -> None:
    """On 200 random models the frontier is that of brute force."""
    failed = sum(not agrees(seed) for seed in range(200))
    counted("frontiers of gain and deviation against brute force", tried=200, failed=failed)
    assert failed == 0


def test_what_is_found_without_trying_all() -> None:
    """Step by step the best gain is exact, every policy is what it says, and no change in one state has both better."""
    missed = 0
    for seed in range(8):
        rows, counts = random_rows(seed)
        model = from_transitions(rows)
        front, exact = risk_frontier(model, most=0), risk_frontier(model)
        assert not front.is_exact
        assert front.gains[0] == pytest.approx(exact.gains[0], rel=1e-9)
        for policy, gain, deviation in zip(front.policies, front.gains, front.deviations, strict=True):
            worth = sj.evaluate(model, policy)
            assert (worth.gain, worth.deviation) == (gain, deviation)
        assert front.deviations[-1] >= exact.deviations[-1] * (1.0 - 1e-9)
        missed += front.deviations[-1] > exact.deviations[-1] * (1.0 + 1e-9)
        calmest = front.policies[-1].copy()
        for state, action in ((s, a) for s, count in enumerate(counts) for a in range(count)):
            other = calmest.copy()
            other[state] = action
            assert sj.evaluate(model, other).deviation >= front.deviations[-1] * (1.0 - 1e-9)
    assert missed <= 2


def shown(front: RiskFrontier) -> tuple[list[list[int]], list[float]]:
    return [policy.tolist() for policy in front.policies], [round(each, 6) for each in front.deviations]


@pytest.mark.parametrize("most", [0, 2000])
def test_same_gain_and_rougher_ride(most: int) -> None:
    """Of two policies with the same gain the calmer one counts, and policies with several gains do not."""
    rides = risk_frontier(three_rides(), most)
    assert shown(rides) == ([[1, 0], [2, 0]], [round(math.sqrt(25 / 3), 6), 0.0])
    pills = risk_frontier(red_pill_blue_pill(), most)
    assert pills.gains == pytest.approx((-0.6, -0.7) if most == 0 else (-0.6, -0.65, -0.7), abs=1e-6)
    assert pills.deviations[0] == pytest.approx(math.sqrt(0.05**2 + 0.4**2), rel=1e-6)
    assert pills.deviations[-1] == pytest.approx(0.05, rel=1e-9)


def test_within_a_share_of_the_best_gain() -> None:
    """The calmest policy that loses at most a share: for gains below 0, of their size; with the share 0 the best one."""
    rows = [
        (0, 0, 0, 1.0, TwoPoint(-3.0, -1.0, 0.5), 1.0),
        (0, 1, 0, 1.0, -2.2, 1.0),
        (0, 2, 0, 1.0, -9.0, 1.0),
    ]
    front = risk_frontier(from_transitions(rows))
    assert [front.calmest(share).tolist() for share in (0.0, 0.09, 0.11)] == [[0], [0], [1]]
    assert shown(front) == ([[0], [1]], [1.0, 0.0])
    header, first, *_ = front.table().write_csv().splitlines()
    assert header == "gain,deviation,policy"
    assert first.split(",")[2].split() == [str(action) for action in front.policies[0]]


def test_the_chart_has_every_policy_of_finite_deviation() -> None:
    """Marks are at the deviations and the gains, in their order; what strays without bound is left out."""
    ax = Figure().subplots()
    sj.plot.frontier(risk_frontier(three_rides()), ax)
    (drawn,) = ax.get_lines()
    assert np.asarray(drawn.get_xdata()).tolist() == pytest.approx([0.0, math.sqrt(25 / 3)])
    assert np.asarray(drawn.get_ydata()).tolist() == pytest.approx([8.0, 25 / 3])
    rows = [(0, 0, 0, 1.0, Lognormal(3.0, 30.0), 1.0), (0, 1, 0, 1.0, 1.0, 1.0)]
    wild = Figure().subplots()
    sj.plot.frontier(risk_frontier(from_transitions(rows)), wild)
    assert np.asarray(wild.get_lines()[0].get_xdata()).tolist() == [0.0]


@pytest.mark.parametrize("most", [0, 2000])
@pytest.mark.parametrize("other", [2.0, 1.0])
def test_several_recurrent_classes(most: int, other: float) -> None:
    """A model in which every policy has several recurrent classes is refused, also if their gains are the same."""
    apart = SMDP([0, 1, 2], [0, 1, 2], [0, 1], [1.0, 1.0], [1.0, other], [1.0, 1.0])
    with pytest.raises(ValueError, match="several recurrent classes"):
        risk_frontier(apart, most)
