"""What the page on the mathematics states in words, and its blocks do not show."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import sojourn as sj
from sojourn.models import from_transitions

close = pytest.approx
sizes = st.lists(st.floats(0.1, 10.0), min_size=1, max_size=4)


# --- The harmonic mean with both signs ---


def uncoupled(
    sizes: list[float], paces: list[float], sign: float, mean_duration: float
) -> list[tuple[float, float]]:
    """Pairs of rewards of one sign and durations of a given mean, with a pace that does not depend on the reward."""
    pairs = [(sign * r, r * s) for r, s in itertools.product(sizes, paces)]
    factor = mean_duration / float(np.mean([d for _, d in pairs]))
    return [(r, d * factor) for r, d in pairs]


def rates_of(pairs: list[tuple[float, float]]) -> tuple[float, float]:
    """The harmonic mean of the rates, and the rate."""
    rewards, durations = np.array(pairs).T
    return sj.rates.modified_harmonic_mean(rewards / durations), sj.rates.ratio_of_means(rewards, durations)


@given(sizes, sizes, sizes, sizes, st.floats(0.1, 10.0), st.integers(0, 5))
def test_equally_long_signs_without_coupling_have_the_rate_as_harmonic_mean(
    gains: list[float],
    paces: list[float],
    losses: list[float],
    others: list[float],
    duration: float,
    zeros: int,
) -> None:
    """If cov(r, tau/r | sign) = 0 and E[tau | sign] is the same for +, - and 0, the harmonic mean is the rate."""
    pairs = uncoupled(gains, paces, 1.0, duration) + uncoupled(losses, others, -1.0, duration)
    found, rate = rates_of(pairs + [(0.0, duration)] * zeros)
    assert found == close(rate, rel=1e-9, abs=1e-9 * max(gains + losses) / duration)


def test_neither_condition_for_both_signs_can_be_dropped() -> None:
    """With a coupling within a sign, or with one sign that takes longer, the harmonic mean is not the rate."""
    right = [(1.0, 1.0), (3.0, 3.0), (-1.0, 1.0), (-1.0, 3.0), (0.0, 2.0)]
    coupled = [(1.0, 2.0), (3.0, 2.0), *right[2:]]
    longer_zeros = [*right[:4], (0.0, 9.0)]
    longer_losses = [*right[:2], (-1.0, 2.0), (-1.0, 6.0), right[4]]
    assert rates_of(right) == close((0.2, 0.2))
    for pairs in (coupled, longer_zeros, longer_losses):
        found, rate = rates_of(pairs)
        assert found != close(rate, rel=0.1)


@given(sizes, sizes)
def test_rewards_of_one_sign_that_do_not_depend_on_durations(
    rewards: list[float], durations: list[float]
) -> None:
    """Their harmonic mean is at most the rate in size, and so at least the rate if they are losses."""
    pairs = list(itertools.product(rewards, durations))
    found, rate = rates_of(pairs)
    assert found <= rate * (1.0 + 1e-12)
    lost, losses = rates_of([(-r, d) for r, d in pairs])
    assert lost >= losses * (1.0 + 1e-12)


# --- Limits and means at a step size ---


def test_small_rewards_in_short_times_leave_the_harmonic_mean_as_it_is() -> None:
    """If a job takes half its size, the estimate is 2 although the density of sizes does not vanish at 0."""
    rate = sj.Harmonic(0.01)
    for size in np.random.default_rng(1).exponential(size=1000):
        rate = sj.rates.update(rate, size, size / 2.0)
    assert sj.rates.value(rate) == close(2.0)


def test_the_first_order_mean_holds_for_a_gain_of_zero() -> None:
    """1 in a time of 1 or -1 in a time of 3: the mean of `Exponential` is beta / (2 - beta) / 4, though E[r] is 0."""
    rows = [(s, 0, after, 0.5, 1.0 - 2.0 * after, 1.0 + 2.0 * after) for s in (0, 1) for after in (0, 1)]
    found = sj.audit(from_transitions(rows), estimators=[sj.Exponential(0.1)])["Exponential"]
    assert (found.rate, found.mean) == close((0.0, 0.1 / 1.9 / 4.0))


# --- Laws and scores ---


def test_the_laws_of_averaging_are_those_that_the_page_names() -> None:
    """Every estimator obeys all of them but for the exceptions on the page; a constant obeys none."""
    at_once = {"SmoothedCumulative", "Incremental"}
    unit_of_time = {"TimeSmoothed", "TimeForgetting", "Incremental"}
    with_step_size = (
        sj.rates.SmoothedCumulative,
        sj.Exponential,
        sj.Harmonic,
        sj.rates.WeightedHarmonic,
        sj.rates.TimeSmoothed,
        sj.rates.TimeForgetting,
        sj.rates.ClippedExponential,
        sj.rates.PowerMean,
        sj.rates.Incremental,
    )
    without = (
        sj.Cumulative,
        sj.rates.CumulativeHarmonic,
        sj.rates.CumulativeWeightedHarmonic,
        sj.rates.MeanOfRates,
        sj.rates.AdaptiveRatio,
    )
    rates: list[Any] = [make(0.05) for make in with_step_size] + [make() for make in without]
    for rate in rates:
        name = type(rate).__name__
        found = sj.runs.check_rate(rate)
        assert tuple(found) == (name not in at_once, True, True, name not in unit_of_time), name
    assert not any(sj.runs.check_rate(sj.rates.Fixed(2.0)))


def test_scores_on_streams_that_estimators_made_themselves_mislead() -> None:
    """An estimate of 2.5 where 3 is earned scores better than one of 1 where 1 is earned, and yet it is the worse one."""
    wrong = sj.rates.rate_score(sj.rates.Fixed(2.5), [3.0] * 10, [1.0] * 10)
    right = sj.rates.rate_score(sj.rates.Fixed(1.0), [1.0] * 10, [1.0] * 10)
    assert (wrong, right) == close((-43.75, -5.0))
    shared = [sj.rates.rate_score(sj.rates.Fixed(rate), [3.0] * 10, [1.0] * 10) for rate in (2.5, 1.0, 3.0)]
    assert shared[2] < shared[0] < shared[1]  # on one stream, the nearer the better


# --- Centring ---


def alone(second: Fraction, third: Fraction, strength: Fraction, middle: int) -> tuple[Fraction, Fraction]:
    """The errors of a ring's second and third state after one round, in which each state in turn moves until it rests."""
    first = second / (1 + strength)  # y1 = y2 - c y1, where y1 is the level and the first state takes 1
    return third - middle * strength * first, first - strength * first


@pytest.mark.parametrize("strength", [Fraction(1, 1000), Fraction(1, 10), Fraction(1)])
def test_pairs_that_are_updated_alone_for_long_need_not_settle(strength: Fraction) -> None:
    """The page's ring of three: with a middle state that takes 10, an error changes its sign and grows, for any strength.

    A round has an eigenvalue below -1 if and only if 1 + trace + determinant < 0, since it has two real ones of either sign.
    """
    for middle, grows in ((10, True), (1, False)):
        (a, c), (b, d) = (
            alone(Fraction(1), Fraction(0), strength, middle),
            alone(Fraction(0), Fraction(1), strength, middle),
        )
        assert a * d - b * c <= 0
        assert (1 + a + d + (a * d - b * c) < 0) == grows


def test_zero_durations_for_ever_would_break_the_theorem_on_centring() -> None:
    """Waiting in no time has an error of 0 at the right rate, and so is greedy, but it earns nothing: it is refused."""
    rate = Fraction(1)
    work, wait = (
        1 - rate * 1,
        0 - rate * 0,
    )  # the errors of an action that earns 1 in 1, and of one that takes no time
    assert work == wait == 0
    with pytest.raises(ValueError, match="without time passing"):
        from_transitions([(0, 0, 0, 1.0, 1.0, 1.0), (0, 1, 0, 1.0, 0.0, 0.0)])


# --- Exact answers ---


def test_a_derivative_by_a_probability_is_that_of_a_number_before_the_division_by_the_sum() -> None:
    """A coin pays 1 with a probability of p, so the gain is p: 1/2 per unit of the number at p = 1/2, and 1 per unit of p."""
    coin = from_transitions([(0, 0, 0, 0.5, 1.0, 1.0), (0, 0, 0, 0.5, 0.0, 1.0)])
    found = sj.evaluate(coin, [0]).sensitivity.probability
    assert found == close(np.array([0.5, -0.5]))
    assert found[0] / (1.0 - 0.5) == close(1.0)


def test_a_bound_of_totals_is_for_policies_that_end() -> None:
    """To leave costs 5; -5 is the bound although waiting for ever, which never ends, would cost nothing."""
    model = from_transitions([(0, 0, 0, 1.0, 0.0, 1.0), (0, 1, 1, 1.0, -5.0, 1.0), (1, 0, 1, 1.0, 0.0, 1.0)])
    best = sj.solve(model, until=1)
    assert best.values[0] == close(-5.0) == best.upper[0]
    assert sj.solve(model).gain == 0.0


def test_an_optimal_policy_may_waste_a_transient_state() -> None:
    """The way into a loop earns 5 or nothing: both policies are optimal, but only one maximises r - rho d + P h."""
    model = from_transitions([(0, 0, 1, 1.0, 0.0, 1.0), (0, 1, 1, 1.0, 5.0, 1.0), (1, 0, 1, 1.0, 1.0, 1.0)])
    wasteful = sj.evaluate(model, [0, 0])
    assert wasteful.gain == sj.evaluate(model, [1, 0]).gain == sj.solve(model).gain == 1.0
    h = wasteful.bias
    assert 5.0 - 1.0 + h[1] > 0.0 - 1.0 + h[1] == close(h[0])


def test_the_linear_program_is_about_frequencies_per_unit_of_time() -> None:
    """With sum x d = 1 its value is the gain, and x adds up to steps per unit of time, not to 1."""
    model = sj.problems.gosavi()
    count, pairs = model.num_states, len(model.reward)
    flow = np.zeros((count, pairs))
    for pair in range(pairs):
        state = int(np.searchsorted(model.pair_offsets, pair, side="right")) - 1
        flow[state, pair] += 1.0
        rows = slice(model.row_offsets[pair], model.row_offsets[pair + 1])
        np.subtract.at(flow[:, pair], model.successor[rows], model.probability[rows])
    found = linprog(
        -model.reward, A_eq=np.vstack([flow, model.duration]), b_eq=np.append(np.zeros(count), 1.0)
    )
    best = sj.solve(model)
    assert -found.fun == close(best.gain)
    assert found.x.sum() != close(1.0, rel=0.01)
    shares = found.x / found.x.sum()
    assert (shares @ model.reward) / (shares @ model.duration) == close(best.gain)


@pytest.mark.parametrize("lead", [-1.0, 0.0, 1.0])
def test_the_optimality_equation_may_have_several_solutions(lead: float) -> None:
    """Two states that can each be kept at a gain of 1, with a free way between them: h may favour either by up to 1."""
    h = np.array([0.0, lead])
    stay, go = 1.0 - 1.0 + h, 0.0 - 1.0 + h[::-1]
    assert np.maximum(stay, go) == close(h)
    rows = [(s, 0, s, 1.0, 1.0, 1.0) for s in (0, 1)] + [(s, 1, 1 - s, 1.0, 0.0, 1.0) for s in (0, 1)]
    assert sj.solve(from_transitions(sorted(rows))).gain == 1.0
