from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import sojourn as sj
from strategies import magnitudes, one_sign, samples

close = pytest.approx


def test_the_papers_numbers() -> None:
    """The examples of the paper and of the specification come out as printed."""
    assert sj.rates.harmonic_mean([20, 40]) == close(80 / 3)
    assert sj.rates.harmonic_mean([-20, 40]) == -80.0
    assert sj.rates.modified_harmonic_mean([1, 1, -1, -4]) == -0.3
    assert sj.rates.modified_harmonic_mean([1, -1]) == 0.0
    assert sj.rates.modified_harmonic_mean([1, 0, 0, -4]) == -0.75
    assert sj.rates.modified_harmonic_mean([0, 0]) == 0.0


@given(samples)
def test_internal(x: list[float]) -> None:
    """The modified harmonic mean lies between the smallest and the largest datum."""
    mean = sj.rates.modified_harmonic_mean(x)
    slack = 1e-12 * max(map(abs, x))
    assert min(x) - slack <= mean <= max(x) + slack


@given(samples, st.integers(1, 20))
def test_idempotent(x: list[float], n: int) -> None:
    """The mean of equal data is that datum."""
    assert sj.rates.modified_harmonic_mean([x[0]] * n) == close(x[0], rel=1e-14)


@given(samples, st.randoms())
def test_symmetric(x: list[float], random: Any) -> None:
    """The order of the data does not matter, to the last bit."""
    shuffled = list(x)
    random.shuffle(shuffled)
    assert sj.rates.modified_harmonic_mean(x) == sj.rates.modified_harmonic_mean(shuffled)


@given(samples, magnitudes)
def test_homogeneous(x: list[float], c: float) -> None:
    """Scaling the data scales the mean."""
    scaled = sj.rates.modified_harmonic_mean([c * v for v in x])
    assert scaled == close(c * sj.rates.modified_harmonic_mean(x), rel=1e-9, abs=1e-12 * c * max(map(abs, x)))


@given(one_sign, st.sampled_from([1.0, -1.0]))
def test_agrees_with_the_harmonic_mean_on_one_sign(x: list[float], sign: float) -> None:
    """On data of one sign the modified harmonic mean is the harmonic mean."""
    data = [sign * v for v in x]
    assert sj.rates.modified_harmonic_mean(data) == close(sj.rates.harmonic_mean(data), rel=1e-14)


@given(samples, st.data(), magnitudes)
def test_monotone_while_no_sign_changes(x: list[float], data: Any, k: float) -> None:
    """A datum that grows without changing its sign does not lower the mean."""
    i = data.draw(st.integers(0, len(x) - 1))
    grown = x[i] + k
    assume(x[i] != 0.0 and math.copysign(1, grown) == math.copysign(1, x[i]) and grown != 0.0)
    y = [*x[:i], grown, *x[i + 1 :]]
    slack = 1e-12 * max(map(abs, [*x, grown]))
    assert sj.rates.modified_harmonic_mean(y) >= sj.rates.modified_harmonic_mean(x) - slack


def test_not_monotone_across_zero() -> None:
    """Against the paper's theorem: raising -1 to 0 lowers the mean of (-1, -4)."""
    assert sj.rates.modified_harmonic_mean([-1, -4]) == -1.6
    assert sj.rates.modified_harmonic_mean([0, -4]) == -2.0


def test_not_continuous_at_zero() -> None:
    """A datum that goes from 0 to almost 0 moves the mean of (0, 4) from 2 to almost 0."""
    assert sj.rates.modified_harmonic_mean([0, 4]) == 2.0
    assert sj.rates.modified_harmonic_mean([1e-9, 4]) == close(2e-9)


def test_not_associative() -> None:
    """The paper's own counterexample: replacing (1, -1) by its mean, twice 0, moves the mean."""
    assert sj.rates.modified_harmonic_mean([1, 1, -1, -4]) != sj.rates.modified_harmonic_mean([1, 0, 0, -4])


def test_not_shift_equivariant() -> None:
    """Adding 1 to all data does not add 1 to the mean."""
    assert sj.rates.modified_harmonic_mean([1, 3]) == 1.5
    assert sj.rates.modified_harmonic_mean([2, 4]) != 2.5


def test_unit_durations_do_not_give_the_arithmetic_mean() -> None:
    """Against the paper: with tau = 1 the harmonic estimate of r in {1, 3} is 1.5, not 2."""
    rewards, durations = [1, 3], [1, 1]
    rates = [r / d for r, d in zip(rewards, durations, strict=True)]
    assert sj.rates.modified_harmonic_mean(rates) == 1.5
    assert sj.rates.ratio_of_means(rewards, durations) == 2.0


def test_zeros_count_by_number_not_by_time() -> None:
    """A reward of 1 in a time of 1, and none in a time of 9: 0.5 against the true 0.1."""
    assert sj.rates.modified_harmonic_mean([1.0, 0.0]) == 0.5
    assert sj.rates.ratio_of_means([1, 0], [1, 9]) == 0.1


@given(st.lists(st.tuples(magnitudes, magnitudes), min_size=1, max_size=30))
def test_identity_of_harmonic_mean_and_coupling(pairs: list[tuple[float, float]]) -> None:
    """H(r/tau) = mean(r) / (mean(tau) - C), and the coupling is the covariance it claims to be."""
    r, tau = (np.array(column) for column in zip(*pairs, strict=True))
    c = sj.rates.coupling(r, tau)
    exact_r, exact_tau = [Fraction(x) for x in r], [Fraction(x) for x in tau]
    n = len(pairs)
    paces = [t / x for x, t in zip(exact_r, exact_tau, strict=True)]
    exact = sum(exact_tau) / n - sum(exact_r) / n * sum(paces) / n
    scale = float(sum(exact_r) / n * sum(paces) / n)
    assert c == close(float(exact), rel=1e-12, abs=1e-13 * scale)
    h = sj.rates.harmonic_mean(r / tau)
    assert h * (tau.mean() - c) == close(r.mean(), rel=1e-9, abs=1e-12 * h * scale)


@given(st.lists(magnitudes, min_size=1, max_size=30), magnitudes)
def test_equal_rewards_have_no_coupling(durations: list[float], reward: float) -> None:
    """With equal rewards, harmonic mean and ratio of means agree."""
    rewards = [reward] * len(durations)
    rates = [reward / d for d in durations]
    assert sj.rates.coupling(rewards, durations) == close(0.0, abs=1e-12 * max(durations))
    assert sj.rates.harmonic_mean(rates) == close(sj.rates.ratio_of_means(rewards, durations), rel=1e-12)


def test_weights_by_count_and_by_duration() -> None:
    """Weights |r| make each sign's mean its total reward over its total duration."""
    r, tau = np.array([8.0, 1.0, -3.0, 0.0]), np.array([4.0, 1.0, 2.0, 3.0])
    assert sj.rates.weighted_harmonic_mean(r / tau, np.abs(r)) == close((2 * 9 / 5 + 1 * -3 / 2) / 4)
    by_time = sj.rates.weighted_harmonic_mean(r / tau, np.abs(r), durations=tau)
    assert by_time == close(sj.rates.ratio_of_means(r, tau)) == close(6 / 10)


@given(samples, magnitudes)
def test_equal_weights_change_nothing(x: list[float], w: float) -> None:
    """With equal weights the weighted form is the unweighted one."""
    assert sj.rates.weighted_harmonic_mean(x, [w] * len(x)) == close(
        sj.rates.modified_harmonic_mean(x), rel=1e-12
    )


@pytest.mark.parametrize("n", [1_000_000, pytest.param(10_000_000, marks=pytest.mark.evidence)])
def test_exact_on_millions_of_values_of_mixed_magnitude(n: int) -> None:
    """Sums over 600 orders of magnitude lose nothing: the answer is known by construction."""
    rng = np.random.default_rng(1)
    exponents = rng.integers(-996, 997, size=n // 2)
    r = np.ldexp(rng.uniform(1.0, 2.0, size=n // 2), exponents)
    cancelling = np.concatenate([r, -r])
    rng.shuffle(cancelling)
    assert sj.rates.ratio_of_means(np.append(cancelling, 3.0), np.ones(n + 1)) == 3.0 / (n + 1)
    powers = np.ldexp(1.0, exponents)
    reciprocals = sum(
        Fraction(2) ** -int(exponent) * int(count)
        for exponent, count in zip(*np.unique(exponents, return_counts=True), strict=True)
    )
    assert sj.rates.harmonic_mean(powers) == close(float(powers.size / reciprocals), rel=1e-15)


def test_extreme_magnitudes_do_not_overflow() -> None:
    """The smallest and the largest floats have means."""
    assert sj.rates.harmonic_mean([5e-324, 5e-324]) == 5e-324
    assert sj.rates.modified_harmonic_mean([1.7e308] * 3) == close(1.7e308)
    assert sj.rates.ratio_of_means([1.7e308] * 4, [1.7e308] * 4) == 1.0
    with pytest.raises(ValueError, match="too large for a float"):
        sj.rates.ratio_of_means([1e308], [1e-10])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sj.rates.harmonic_mean([]), "values is empty"),
        (lambda: sj.rates.modified_harmonic_mean([]), "values is empty"),
        (lambda: sj.rates.modified_harmonic_mean([1, math.nan]), r"values\[1\] is nan"),
        (lambda: sj.rates.modified_harmonic_mean([1, 2, -math.inf]), r"values\[2\] is -inf"),
        (lambda: sj.rates.harmonic_mean([1, 2, 0]), r"values\[2\] is 0"),
        (lambda: sj.rates.harmonic_mean([1, -1]), "sum to 0"),
        (lambda: sj.rates.harmonic_mean([[1, 2], [3, 4]]), "2 dimensions"),
        (lambda: sj.rates.harmonic_mean(["a"]), "values must be a sequence of numbers"),
        (lambda: sj.rates.harmonic_mean(["1", "2"]), "values must be a sequence of numbers"),
        (lambda: sj.rates.harmonic_mean([1j]), "values must be a sequence of numbers"),
        (lambda: sj.rates.harmonic_mean([10**400]), "values must be a sequence of numbers"),
        (lambda: sj.rates.ratio_of_means([1, 2], [1]), "rewards has 2 numbers but durations has 1"),
        (lambda: sj.rates.ratio_of_means([1, 2], [1, 0]), r"durations\[1\] is 0.0"),
        (lambda: sj.rates.ratio_of_means([1, 2], [1, -3]), r"durations\[1\] is -3.0"),
        (lambda: sj.rates.coupling([1, -2], [1, 1]), r"rewards\[1\] is -2.0"),
        (lambda: sj.rates.coupling([1, 0], [1, 1]), r"rewards\[1\] is 0.0"),
        (lambda: sj.rates.weighted_harmonic_mean([1, 2], [1, -1]), r"weights\[1\] is -1.0"),
        (lambda: sj.rates.weighted_harmonic_mean([1, 2], [1]), "values has 2 numbers but weights has 1"),
        (lambda: sj.rates.weighted_harmonic_mean([1, -2], [1, 0]), "negative values are 0"),
    ],
)
def test_wrong_input_gets_one_sentence(call: Any, message: str) -> None:
    """What is wrong is named with its place."""
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_any_iterable_will_do() -> None:
    """Lists, tuples, arrays, ranges and generators are all taken."""
    choices: list[Any] = [[1, 2], (1, 2), np.array([1, 2]), range(1, 3), (v for v in (1, 2))]
    for data in choices:
        assert sj.rates.harmonic_mean(data) == close(4 / 3)
