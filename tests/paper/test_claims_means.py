"""The paper's claims on means of rates: its theorems, and its statements on independence and coupling."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sojourn as sj
from ledger import judged, passes, shows
from rates import test_means, test_rates
from strategies import magnitudes, one_sign, samples, with_zeros

close = pytest.approx
mean = sj.rates.modified_harmonic_mean


def product(*columns: list[float]) -> list[np.ndarray[Any, np.dtype[np.float64]]]:
    """Every combination of the columns' entries, equally often: exact independence."""
    return list(np.array(list(itertools.product(*columns))).T)


def both(r: Any, tau: Any) -> tuple[float, float]:
    """The harmonic mean of the rates, and the realised rate."""
    return mean(np.asarray(r) / np.asarray(tau)), sj.rates.ratio_of_means(r, tau)


# --- Where the harmonic mean is the rate ---


@shows("harmonic-mean-of-speeds")
def test_speeds() -> str:
    """Over one distance at 20 and again at 40 the speed is the harmonic mean, 26.67, and not 30."""
    distance = 7.0
    durations = [distance / 20.0, distance / 40.0]
    true = sj.rates.ratio_of_means([distance, distance], durations)
    assert sj.rates.harmonic_mean([20, 40]) == close(80.0 / 3.0)
    return judged(true == close(sj.rates.harmonic_mean([20, 40])) and true != close(30.0, abs=1.0))


@shows("harmonic-mean-for-rates")
def test_rates_and_flows() -> str:
    """Over equal distances the mean speed is the harmonic mean; over equal times the arithmetic one."""
    equal_times = sj.rates.ratio_of_means([20.0, 40.0], [1.0, 1.0])
    assert equal_times == 30.0
    assert equal_times != sj.rates.harmonic_mean([20, 40])
    always = equal_times == close(sj.rates.harmonic_mean([20, 40]))
    return judged(always, passes(test_means.test_equal_rewards_have_no_coupling))


@shows("rate-by-harmonic-mean")
def test_the_rate_as_a_harmonic_mean() -> str:
    """1 and 3 in a time of 1 each earn 2, not 1.5; with equal rewards or a random pace it is right, and steadier."""
    found, true = both([1.0, 3.0], [1.0, 1.0])
    assert (found, true) == (1.5, 2.0)
    right = passes(test_means.test_equal_rewards_have_no_coupling)
    steadier = passes(test_rates.test_random_pace_favours_the_harmonic_mean)
    return judged(found == true, right and steadier)


@shows("same-in-some-cases")
def test_same_in_some_cases() -> str:
    """With equal rewards both means agree."""
    return judged(passes(test_means.test_equal_rewards_have_no_coupling))


@shows("harmonic-mean-domain")
def test_domain_of_the_harmonic_mean() -> str:
    """Zeros have no harmonic mean; that of -20 and 40 is -80, outside of them."""
    with pytest.raises(ValueError, match="no reciprocal"):
        sj.rates.harmonic_mean([0.0, 1.0])
    found = sj.rates.harmonic_mean([-20, 40])
    assert found == -80.0
    return judged(not -20.0 <= found <= 40.0)


# --- Theorem 1 and its consequences ---


@given(one_sign, st.data())
def no_coupling_no_difference(r: list[float], data: Any) -> None:
    """H = Q exactly if the covariance is 0, in exact arithmetic, on both kinds of data."""
    tau = data.draw(st.lists(magnitudes, min_size=len(r), max_size=len(r)))
    if data.draw(st.booleans()):
        tau = [2.0 * x for x in r]  # durations proportional to rewards: no coupling
    rewards, durations = ([Fraction(x) for x in column] for column in (r, tau))
    n = len(r)
    pace = [d / x for x, d in zip(rewards, durations, strict=True)]
    covariance = sum(durations) / n - sum(rewards) / n * sum(pace) / n
    assert (n / sum(pace) == sum(rewards) / sum(durations)) == (covariance == 0)


@shows("theorem-1")
def test_theorem_1() -> str:
    """Ratio of means and harmonic mean are equal exactly if cov(r, tau/r) = 0, and H = A(r) / (A(tau) - cov)."""
    return judged(
        passes(no_coupling_no_difference) and passes(test_means.test_identity_of_harmonic_mean_and_coupling)
    )


@shows("covariance-means-dependence")
def test_independent_pace_has_no_covariance() -> str:
    """If r and tau/r are independent, their covariance is 0, so a nonzero covariance shows dependence."""
    r, pace = product([1.0, 2.0, 5.0], [0.5, 3.0])
    independent = sj.rates.coupling(r, r * pace)
    dependent = sj.rates.coupling([1.0, 2.0], [1.0, 1.0])
    assert dependent == -0.125
    return judged(independent == close(0.0, abs=1e-12) and dependent != 0.0)


@shows("covariance-separates-estimators")
def test_covariance_separates_on_one_sign() -> str:
    """With (1, 3, -1, -3) in unit times both estimates are 0, though the covariance is 1; on one sign it decides."""
    r, tau = np.array([1.0, 3.0, -1.0, -3.0]), np.ones(4)
    covariance = (tau.mean() - r.mean() * (tau / r).mean()).item()
    assert covariance == close(1.0)
    found, true = both(r, tau)
    return judged(found != true, passes(no_coupling_no_difference))


@shows("nonlinear-means-different")
def test_a_nonlinear_relation_without_difference() -> str:
    """Not linear and the same: tau = (1, 4, 3) for r = (1, 2, 3). Linear and different: tau = r + 1, tau = 1."""
    found, true = both([1.0, 2.0, 3.0], [1.0, 4.0, 3.0])
    assert found == close(0.75)
    for durations in ([2.0, 4.0], [1.0, 1.0]):
        other, ratio = both([1.0, 3.0], durations)
        assert other != close(ratio)
    return judged(found != close(true))


@shows("pairing")
def test_what_a_pairing_changes() -> str:
    """Pairing rewards and durations differently does not change the rate, but changes the harmonic mean."""
    r, tau = [1.0, 2.0, 6.0], [1.0, 3.0, 4.0]
    found, true = zip(*(both(r, order) for order in itertools.permutations(tau)), strict=True)
    assert len({round(x, 9) for x in found}) > 1
    earned = sum(r) / sum(tau)
    ratio_wrong = any(x != close(earned) for x in true)
    harmonic_right = all(x == close(earned) for x in found)
    return judged(ratio_wrong and harmonic_right)


@shows("independent-then-identical")
def test_independence_does_not_make_them_equal() -> str:
    """With rewards 1 or 3 and durations 1 or 2, all four pairs equally likely, it is 1 against 4/3."""
    found, true = both(*product([1.0, 3.0], [1.0, 2.0]))
    assert (found, true) == close((1.0, 4.0 / 3.0))
    return judged(found == close(true))


# --- The modified harmonic mean ---


@shows("defined-everywhere")
def test_defined_everywhere() -> str:
    """Zeros, one sign, both signs: every sample has a finite modified harmonic mean."""

    @given(samples)
    def finite(x: list[float]) -> None:
        assert np.isfinite(mean(x))

    return judged(passes(finite))


@shows("theorem-2")
def test_theorem_2() -> str:
    """On numbers of one sign the modified harmonic mean is the harmonic mean."""
    return judged(passes(test_means.test_agrees_with_the_harmonic_mean_on_one_sign))


@shows("internality")
def test_internality() -> str:
    """The mean lies between the smallest and the largest datum."""
    return judged(passes(test_means.test_internal))


@shows("idempotence")
def test_idempotence() -> str:
    """The mean of equal data is that datum, including 0."""
    assert mean([0.0, 0.0]) == 0.0
    return judged(passes(test_means.test_idempotent))


@shows("symmetry")
def test_symmetry() -> str:
    """The order of the data does not matter."""
    return judged(passes(test_means.test_symmetric))


@shows("monotonicity")
def test_monotonicity() -> str:
    """Raising -1 to 0, 0 to a small number, or -1 to a small number lowers the mean; without a change of sign, raising never does.

    The claim is about all multisets, and its proof treats the step to 0: so no condition saves it.
    """
    pairs = [([-1.0, -4.0], [0.0, -4.0]), ([0.0, 4.0], [1e-9, 4.0]), ([-1.0, 4.0], [1e-9, 4.0])]
    rises = [mean(after) >= mean(before) for before, after in pairs]
    assert passes(test_means.test_monotone_while_no_sign_changes)
    return judged(all(rises))


@shows("monotonicity-proof")
def test_the_step_of_the_proof() -> str:
    """Where -1 becomes 0 and leaves the negatives, H of the negatives (-1, -4) falls from -1.6 to -4."""
    before, after = sj.rates.harmonic_mean([-1, -4]), sj.rates.harmonic_mean([-4])
    assert (before, after) == close((-1.6, -4.0))
    assert mean([0, -4]) == -2.0
    return judged(after >= before and mean([0, -4]) >= mean([-1, -4]))


@shows("theorem-3")
def test_theorem_3() -> str:
    """Of the four properties of a general mean three hold for all data and monotonicity, by the same example, does not."""
    three = (test_means.test_internal, test_means.test_idempotent, test_means.test_symmetric)
    monotone = mean([0, -4]) >= mean([-1, -4])
    return judged(all(passes(test) for test in three) and monotone)


@shows("harmonic-mean-quasi-arithmetic")
def test_the_harmonic_mean_is_associative_on_one_sign() -> str:
    """A block of numbers of one sign can be replaced by copies of its mean."""

    @given(one_sign, one_sign, st.sampled_from([1.0, -1.0]))
    def replaceable(block: list[float], rest: list[float], sign: float) -> None:
        b, x = [sign * v for v in block], [sign * v for v in rest]
        whole = sj.rates.harmonic_mean(b + x)
        assert sj.rates.harmonic_mean([sj.rates.harmonic_mean(b)] * len(b) + x) == close(whole, rel=1e-9)

    return judged(passes(replaceable))


@shows("pure-sign-blocks")
def test_pure_sign_blocks() -> str:
    """In data of any signs a block of one sign can be replaced by copies of its mean."""

    @given(one_sign, st.lists(with_zeros, max_size=20), st.sampled_from([1.0, -1.0]))
    def replaceable(block: list[float], rest: list[float], sign: float) -> None:
        b = [sign * v for v in block]
        slack = 1e-9 * max(map(abs, b + rest))
        assert mean([mean(b)] * len(b) + rest) == close(mean(b + rest), rel=1e-9, abs=slack)

    return judged(passes(replaceable))


@shows("theorem-4")
def test_theorem_4() -> str:
    """Replacing (1, -1) in (1, 1, -1, -4) by its mean moves the mean from -0.3 to -0.75."""
    return judged(mean([1, 1, -1, -4]) != mean([1, mean([1, -1]), mean([1, -1]), -4]))


@shows("counterexample-numbers")
def test_the_numbers_of_the_counterexample() -> str:
    """The numbers -0.3, 0 and -0.75 are those of (1, 1, -1, -4); of the multiset as printed they are 0.75 and 0.8."""
    printed = (mean([1, 1, -1, 4]), mean([1, -1]), mean([1, 0, 0, 4]))
    meant = (mean([1, 1, -1, -4]), mean([1, -1]), mean([1, 0, 0, -4]))
    assert printed == close((0.75, 0.0, 0.8))
    return judged(printed == close((-0.3, 0.0, -0.75)), as_meant=meant == close((-0.3, 0.0, -0.75)))


# --- Theorem 5 and the appendix ---

Law = dict[tuple[Fraction, Fraction], Fraction]  # the probability of each (reward, duration)


def sign(x: Fraction) -> int:
    return (x > 0) - (x < 0)


def dependent(law: Law) -> bool:
    """Whether the two coordinates of a law depend on each other."""
    first = {x: sum(p for (y, _), p in law.items() if y == x) for x, _ in law}
    second = {t: sum(p for (_, u), p in law.items() if u == t) for _, t in law}
    return any(law.get((x, t), Fraction(0)) != first[x] * second[t] for x in first for t in second)


def within(law: Law, which: int) -> Law:
    """The law given the sign of the reward."""
    kept = {point: p for point, p in law.items() if sign(point[0]) == which}
    return {point: p / sum(kept.values()) for point, p in kept.items()}


def event(law: Law, which: int) -> Law:
    """The law of whether the reward has a sign, with the duration."""
    found: Law = {}
    for (x, t), p in law.items():
        key = (Fraction(sign(x) == which), t)
        found[key] = found.get(key, Fraction(0)) + p
    return found


@shows("theorem-5")
def test_theorem_5() -> str:
    """Reward 1 in a time of 1 or -1 in a time of 2: dependent, and yet constant within each sign.

    Of any dependent law, though, the sign depends on the duration or some sign has dependence within.
    """
    one, two, half = Fraction(1), Fraction(2), Fraction(1, 2)
    law = {(one, one): half, (-one, two): half}
    assert dependent(law)

    @given(st.lists(st.integers(0, 3), min_size=10, max_size=10).filter(any))
    def sign_or_within(counts: list[int]) -> None:
        points = [(Fraction(x), Fraction(t)) for x in (2, 1, -1, -2, 0) for t in (1, 2)]
        law = {point: Fraction(c, sum(counts)) for point, c in zip(points, counts, strict=True) if c}
        signs: Law = {}
        for (x, t), p in law.items():
            signs[Fraction(sign(x)), t] = signs.get((Fraction(sign(x)), t), Fraction(0)) + p
        kept = {sign(x) for x, _ in law}
        assert not dependent(law) or dependent(signs) or any(dependent(within(law, which)) for which in kept)

    return judged(any(dependent(within(law, which)) for which in (1, -1)), passes(sign_or_within))


@shows("appendix-sign-events")
def test_what_the_appendix_proves() -> str:
    """If the sign of the reward depends on the duration, so does the event of one of the three signs."""
    weights = st.lists(st.integers(0, 3), min_size=6, max_size=6).filter(any)

    @given(weights)
    def some_event_depends(counts: list[int]) -> None:
        points = [(Fraction(x), Fraction(t)) for x in (1, -1, 0) for t in (1, 2)]
        law = {point: Fraction(c, sum(counts)) for point, c in zip(points, counts, strict=True) if c}
        # the rewards here are their own signs
        assert not dependent(law) or any(dependent(event(law, which)) for which in (1, -1, 0))

    return judged(passes(some_event_depends))


@shows("dependence-guarantees-difference")
def test_dependence_does_not_part_the_estimates() -> str:
    """With tau = r s and s independent of r, duration depends on reward and yet both means agree."""
    r, pace = product([1.0, 2.0], [1.0, 3.0])
    tau = r * pace
    law = {(Fraction(x), Fraction(t)): Fraction(1, 4) for x, t in zip(r.tolist(), tau.tolist(), strict=True)}
    assert dependent(law)
    found, true = both(r, tau)
    return judged(found != close(true))
