"""The problems of the authors of Harmonic R-Learning: their own numbers, and ours.

What their repository says (github.com/erelon/SMDP_Agents, examples/envs/ at commit 1d662de) is written out here; the models
are built from the same definitions, and everything else is computed.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import sojourn as sj
from sojourn.exact.solve import ratio_of
from sojourn.models import SMDP, from_transitions
from sojourn.models.problems import (
    bonus,
    feinberg,
    gemini,
    harmonic_criterion,
    hell_or_heaven,
    high_time_variance,
    ratio_vs_step_rate,
    schwartz,
    two_states_uneven,
    whack_a_mole,
)


def gains(model: SMDP, *policies: list[int]) -> list[float]:
    return [sj.evaluate(model, policy).gain for policy in policies]


def advance(length: int) -> list[int]:
    return [1] * (length + 1)


@pytest.mark.parametrize(
    ("model", "policies", "noted"),
    [
        (high_time_variance(), [[0] * 11, [1, *[0] * 10]], [20 / 11, 1.0]),
        (ratio_vs_step_rate(), [[0], [1]], [1.99 / 990.01, 1.0]),
        (ratio_vs_step_rate(chance=0.5), [[0], [1]], [50.5 / 500.5, 1.0]),
        (harmonic_criterion(), [[0], [1]], [1.0, 0.5]),
        (two_states_uneven(), [[0, 0], [0, 1]], [(0.8 + 0.8 / 1.5) / 2, 0.8 * 0.8 + 0.2 * 0.8 / 3]),
        (bonus(), [[0, 0], [1, 0]], [10.0, 10.0]),
        (schwartz(), [advance(49)], [50 / 50]),
        (schwartz(length=9, payout=30.0), [advance(9)], [3.0]),
    ],
)
def test_gains_are_those_of_the_notes(model: SMDP, policies: list[list[int]], noted: list[float]) -> None:
    """Each policy has the gain that the authors' notes state, and the solver finds the largest of them."""
    assert gains(model, *policies) == pytest.approx(noted, rel=1e-12)
    assert sj.solve(model).gain == pytest.approx(max(noted), rel=1e-9)


def test_three_ways_to_average() -> None:
    """The notes' 1, 5.05 and 0.198 for the gamble, 1.00099 for the jackpot, 9.18 and 5.5 for the burst, are our limits."""
    gamble = sj.audit(harmonic_criterion(), [0])
    found = [gamble[name].rate for name in ("Cumulative", "MeanOfRates", "CumulativeHarmonic")]
    assert found == pytest.approx([1.0, 5.05, 2 / (0.1 + 10)])
    assert gamble.low == pytest.approx((50 - 5.5) / (100 - 5.5))  # where the authors have 0.471
    assert sj.audit(ratio_vs_step_rate(), [0])["MeanOfRates"].rate == pytest.approx(1.00099)
    burst = sj.audit(high_time_variance())
    assert burst["MeanOfRates"].rate == pytest.approx((1 + 10 * 10) / 11)
    assert burst["CumulativeHarmonic"].rate == pytest.approx(11 / 2)
    assert burst["CumulativeWeightedHarmonic"].rate == pytest.approx(20 / 11)


def test_values_that_diverge_as_the_authors_measured() -> None:
    """Pinned at 0.5 and 1.5, the authors saw values move by 254 and -272 in 1,000 decisions; v is 2.6125 alpha."""
    for rate, sign in ((0.5, 1.0), (1.5, -1.0)):
        drift = sj.exact.learned_values(harmonic_criterion(), [0], rate, exploration=0.1).drift
        # With their step size of 0.1 that is 261 in 1,000 steps, between their measurement and their formula's 248.
        assert 1000 * 0.1 * drift == pytest.approx(sign * 0.95 * 2.75 * 100)
    kept = sj.audit(harmonic_criterion(), exploration=0.1).self_confirming["CumulativeHarmonic"]
    # A is kept: 19 times 5.5 - 0.198 * 5.5 is more than 50 - 0.198 * 100. B is not: under it the rate is 0.5, at which A is
    # better. So no agent of theirs took B, although it is greedy at 0.198.
    assert [one.policy.tolist() for one in kept] == [[0]]


def test_criteria_that_differ() -> None:
    """Gambling is worth 10 by the time average and 1 by the ratio; the forced choice 7.5 and 6.667."""
    assert sj.solve(gemini()).gains.tolist() == [10.0, 20.0, 0.0]
    assert sj.solve(gemini()).policy[0] == 0
    assert (ratio_of(gemini(), [0, 0, 0]), ratio_of(gemini(), [1, 0, 0])) == (1.0, 4.0)
    assert (sj.exact.solve_ratio(gemini()).gain, sj.exact.solve_ratio(gemini()).policy[0]) == (4.0, 1)
    assert sj.solve(feinberg()).gains.tolist() == [7.5, 10.0, 5.0]
    assert sj.exact.solve_ratio(feinberg()).gain == pytest.approx(20 / 3)
    assert sj.solve(hell_or_heaven()).gains.tolist() == [1.0, 1.0, -1.0]
    assert sj.exact.solve_ratio(hell_or_heaven(), start=2).gain == -1.0


def two_exits(seed: int) -> SMDP:
    """A state with four gambles on three loops, and loops of random rates."""
    rng = np.random.default_rng(seed)
    rows: list[Any] = []
    for action in range(4):
        chances = rng.dirichlet([1.0] * 3)
        rows += [(0, action, 1 + loop, chances[loop], rng.normal(), rng.uniform(1, 9)) for loop in range(3)]
    for loop in range(3):
        rows += [(1 + loop, a, 1 + loop, 1.0, rng.normal(0, 9), rng.uniform(1, 9)) for a in range(2)]
    return from_transitions(rows)


@pytest.mark.parametrize("seed", range(5))
def test_the_largest_ratio_is_that_of_all_policies(seed: int) -> None:
    """Of all policies, enumerated, none has a larger ratio; and each ratio is that of the means over where one ends."""
    model = two_exits(seed)
    ratios = {}
    for first, *others in itertools.product(range(4), range(2), range(2), range(2)):
        pair = model.pair(0, first)
        rows = slice(model.row_offsets[pair], model.row_offsets[pair + 1])
        loops = [model.pair(1 + loop, action) for loop, action in enumerate(others)]
        chance = model.probability[rows]
        ratios[first, *others] = float(chance @ model.reward[loops] / (chance @ model.duration[loops]))
        assert ratio_of(model, [first, *others]) == pytest.approx(ratios[first, *others], rel=1e-9)
    assert sj.exact.solve_ratio(model).gain == pytest.approx(max(ratios.values()), rel=1e-9)
    assert ratio_of(model, sj.exact.solve_ratio(model).policy) == pytest.approx(
        max(ratios.values()), rel=1e-9
    )


def test_where_the_gain_is_one_number_both_criteria_agree() -> None:
    """In models of one recurrent class the ratio is the gain."""
    for name in ("gosavi", "long-return", "river-swim"):
        model = sj.problems.PROBLEMS[name]()
        assert sj.exact.solve_ratio(model).gain == pytest.approx(sj.solve(model).gain, rel=1e-9)
    with pytest.raises(ValueError, match="start is 7"):
        sj.exact.solve_ratio(gemini(), start=7)


def test_whack_a_mole_by_hand() -> None:
    """One hole pays 0.2 per unit time; a diagonal takes the root of 2, in which a mole comes up with 1 - 0.8^1.414."""
    assert sj.solve(whack_a_mole(rows=1, columns=1)).gain == pytest.approx(0.2)
    # With moles that go, a hole has one at the end of a step of 1 with 0.2 where there was none, with 0.7 where there was.
    # Hitting always leaves none, so it does not matter.
    assert sj.solve(whack_a_mole(rows=1, columns=1, down=0.3)).gain == pytest.approx(0.2)
    model, comes = whack_a_mole(), 1.0 - 0.8 ** math.sqrt(2.0)
    pair = model.pair(0, 3)  # from hole 0 to hole 3, across, without any mole
    assert model.duration[pair] == pytest.approx(math.sqrt(2.0))
    rows = slice(model.row_offsets[pair], model.row_offsets[pair + 1])
    law = dict(zip(model.successor[rows].tolist(), model.probability[rows].tolist(), strict=True))
    assert len(law) == 16
    for moles in range(16):
        number = moles.bit_count()
        assert law[3 + 4 * moles] == pytest.approx(comes**number * (1.0 - comes) ** (4 - number))
    hit = model.pair(2 + 4 * 0b0111, 4)  # at hole 2, with moles in 0, 1 and 2
    assert (model.reward[hit], model.duration[hit]) == (1.0, 1.0)
    with pytest.raises(ValueError, match="rows is 4 and columns is 3; the board must have at most 9 holes"):
        whack_a_mole(rows=4, columns=3)


def test_a_larger_board_pays_more() -> None:
    """More holes can only be better, and going to a mole is better than waiting for one: 2 by 3 has 384 states."""
    boards = [whack_a_mole(rows=1, columns=2), whack_a_mole(), whack_a_mole(rows=2, columns=3)]
    assert [board.num_states for board in boards] == [8, 64, 384]
    found = [sj.solve(board).gain for board in boards]
    assert found == sorted(found)
    assert found[0] > 0.2
    # Were there moles everywhere: a visit has 1 / (1 - 0.2) hits of time 1, as one comes up again at once, and a way of 1.
    assert found[-1] < 1.25 / (1.25 + 1.0)
