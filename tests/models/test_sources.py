"""Problems of the literature, against public material on them other than ours.

The books themselves were not at hand. What is compared: for Gosavi's example the C programs to his book, of which a copy is in
the public repository zmxheart/13301338176-ml (`book-codes-revised/rl/avg-newrnd/smdp-newrnd/global.h`, commit 0221eea); for
Tijms' example 6.1.1 page 236 of the book as the library of Universitas Pertamina shows it, and the tests of the R package
MDP2 (relund/mdp, `tests/testthat/files/HCT_ex6.1.1_v2.R`), which solves it; for Naor's queue the threshold as V. Knight states
it ("Selfish behaviour in queues and some Python code", drvinceknight.blogspot.com, November 2013).
"""

from __future__ import annotations

import numpy as np
import pytest

import sojourn as sj


def test_gosavis_example_has_the_numbers_of_his_programs() -> None:
    """Transition probabilities, rewards and times are TPM, TRM and TTM of the programs to the book."""
    tpm = np.array([[[0.7, 0.3], [0.4, 0.6]], [[0.9, 0.1], [0.2, 0.8]]])  # [action, state, next state]
    trm = np.array([[[6, -5], [7, 12]], [[10, 17], [-14, 13]]])
    ttm = np.array([[[1, 5], [120, 60]], [[50, 75], [7, 2]]])
    model = sj.problems.gosavi()
    for state in range(2):
        for action in range(2):
            pair = model.pair(state, action)
            rows = slice(*model.row_offsets[pair : pair + 2])
            assert model.probability[rows].tolist() == tpm[action, state].tolist()
            assert model.reward[pair] == pytest.approx(tpm[action, state] @ trm[action, state])
            assert model.duration[pair] == pytest.approx(tpm[action, state] @ ttm[action, state])


def test_tijms_example_has_the_gain_that_another_package_finds() -> None:
    """MDP2 solves the same numbers, with two days for a forced repair, to a cost of 0.433789954337899 a day."""
    model = sj.problems.tijms_maintenance()
    best = sj.solve(model)
    assert best.gain == pytest.approx(-0.433789954337899, rel=1e-14)
    law = sj.evaluate(model, best.policy).stationary
    assert law == pytest.approx([0.56603774, 0.28301887, 0.09433962, 0.02358491, 0.03301887], abs=5e-9)


@pytest.mark.parametrize(
    ("arrivals", "services", "reward", "cost"),
    [
        (1.0, 1.2, 5.0, 1.0),
        (1.0, 1.2, 20.0, 1.0),
        (0.5, 1.0, 7.0, 0.5),
        (2.0, 1.0, 9.0, 1.0),
        (1.0, 3.0, 2.0, 1.5),
    ],
)
def test_the_queue_is_let_in_up_to_naors_threshold(
    arrivals: float, services: float, reward: float, cost: float
) -> None:
    """With rho = l / m, the optimal n has v(n) <= m R / C < v(n + 1), v(n) = (n (1 - rho) - rho (1 - rho^n)) / (1 - rho)^2."""
    rho = arrivals / services

    def v(n: int) -> float:
        return (n * (1.0 - rho) - rho * (1.0 - rho**n)) / (1.0 - rho) ** 2

    threshold = next(n for n in range(100) if v(n) <= services * reward / cost < v(n + 1))
    assert 0 < threshold < 25
    model = sj.problems.admission_control(
        arrival_rate=arrivals, service_rate=services, reward=reward, holding_cost=cost, capacity=30
    )
    policy = sj.solve(model).policy
    # Beyond the threshold no state recurs, and what is done there does not matter.
    assert policy[:threshold].tolist() == [1] * threshold
    assert policy[threshold] == 0
