from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sojourn.exact.audit.limits import powers
from sojourn.models.laws import (
    Constant,
    Exponential,
    FlooredNormal,
    Gamma,
    Lognormal,
    TwoPoint,
    Uniform,
    Weibull,
    flat,
)  # fmt: skip

logs = st.floats(-6.0, 6.0).map(lambda power: 10.0**power)
signed = st.one_of(logs, logs.map(lambda size: -size))
with_zero = st.one_of(signed, st.just(0.0))

LAWS = st.one_of(
    st.builds(Constant, with_zero),
    st.builds(Exponential, signed),
    st.builds(Gamma, st.one_of(logs, st.floats(0.5, 1.5)), signed),
    st.builds(Uniform, with_zero, with_zero),
    st.builds(FlooredNormal, with_zero, logs, with_zero),
    st.builds(TwoPoint, with_zero, with_zero, st.floats(0.0, 1.0)),
    st.builds(Weibull, st.floats(0.4, 20.0).filter(lambda shape: not 0.99 < shape < 1.2), signed),
    st.builds(Lognormal, signed, st.floats(0.01, 4.0)),
)


# --- The oracle: atoms and a density, integrated with thirty digits ------------------------------


def atoms(law: Any) -> list[tuple[Any, Any]]:
    """Return (probability, number) of what the law gives with a probability of its own."""
    match law:
        case Constant(value):
            return [(mpmath.mpf(1), mpmath.mpf(value))]
        case TwoPoint(low, high, probability):
            p = mpmath.mpf(probability)
            return [(1 - p, mpmath.mpf(low)), (p, mpmath.mpf(high))]
        case FlooredNormal(location, scale, floor):
            z = (mpmath.mpf(floor) - location) / scale
            return [(mpmath.ncdf(z), mpmath.mpf(floor))]
        case Uniform(low, high) if low == high:
            return [(mpmath.mpf(1), mpmath.mpf(low))]
    return []


def density(law: Any) -> tuple[Any, Any, Any, list[Any]] | None:
    """Return the density, where it begins and ends, and points at which an integral of it is best cut."""
    match law:
        case Exponential(mean):
            return density(Gamma(1.0, mean))
        case Gamma(shape, scale):
            k, size, sign = mpmath.mpf(shape), abs(mpmath.mpf(scale)), 1 if scale > 0 else -1
            spread = mpmath.sqrt(k) * size
            cuts = [
                sign * max(k * size + step * spread, 0) for step in (-40, -12, -4, -1, 0, 1, 4, 12, 40, 160)
            ]
            span = (0, mpmath.inf) if sign > 0 else (-mpmath.inf, 0)
            return (lambda x: _gamma_density(sign * x / size, k) / size), *span, cuts
        case Uniform(low, high) if low != high:
            begin, end = mpmath.mpf(min(low, high)), mpmath.mpf(max(low, high))
            return (lambda x: 1 / (end - begin)), begin, end, []
        case FlooredNormal(location, scale, floor):
            at, size = mpmath.mpf(location), mpmath.mpf(scale)
            cuts = [at + step * size for step in (-36, -12, -6, -3, -1, 0, 1, 3, 6, 12, 36)]
            begin, end = mpmath.mpf(floor), at + 40 * size
            if out_of_reach(law) and floor * location <= 0.0:
                begin, end = (max(begin, at / 10), end) if location > 0.0 else (begin, min(end, at / 10))
            return (lambda x: mpmath.npdf(x, at, size)), begin, end, cuts
    return None


def _gamma_density(x: Any, shape: Any) -> Any:
    return mpmath.exp((shape - 1) * mpmath.log(x) - x - mpmath.loggamma(shape))


def integral(law: Any, above: bool, power: float, logs: bool = False) -> Any:
    """Return E[|x|^power; x above or below 0], or with the logarithm of |x|, as a sum over atoms and an integral over the density."""
    sign = 1 if above else -1

    def of(x: Any) -> Any:
        return abs(x) ** power * (mpmath.log(abs(x)) if logs else 1)

    total = mpmath.fsum(p * of(x) for p, x in atoms(law) if sign * x > 0)
    if isinstance(law, Gamma) and law.shape < 3.0:
        return _gamma_moment(law, power, above, logs)
    if isinstance(law, Weibull | Lognormal):
        return _power_moment(law, power, above, logs)
    smooth = density(law)
    if smooth is None:
        return total
    f, begin, end, cuts = smooth
    begin, end = (max(begin, 0), end) if above else (begin, min(end, 0))
    if begin >= end:
        return total
    # Next to zero 1/x varies over every power of ten.
    cuts = cuts + [sign * mpmath.mpf(10) ** power for power in range(-12, 13)]
    inside = [begin, *sorted({cut for cut in cuts if begin < cut < end}), end]
    return total + mpmath.quad(lambda x: f(x) * of(x), inside)


def _gamma_moment(law: Gamma, power: float, above: bool, logs: bool) -> Any:
    """E|x|^power by gamma functions: with a shape below 2 or so the integrand is too steep at zero."""
    if (law.scale > 0.0) != above:
        return mpmath.mpf(0)
    shape, scale = mpmath.mpf(law.shape) + power, abs(mpmath.mpf(law.scale))
    mean = mpmath.gamma(shape) / mpmath.gamma(law.shape) * scale**power
    return mean * (mpmath.log(scale) + mpmath.digamma(shape)) if logs else mean


def _power_moment(law: Weibull | Lognormal, power: float, above: bool, logs: bool) -> Any:
    """E|x|^power as an integral over the exponential or normal number that x is made of."""
    scale = mpmath.mpf(law.scale if isinstance(law, Weibull) else law.median)
    if (scale > 0) != above:
        return mpmath.mpf(0)
    scale, power = abs(scale), mpmath.mpf(power)

    def of(log: Any) -> Any:
        return (log + mpmath.log(scale)) if logs else 1

    if isinstance(law, Weibull):
        # With t = e^u the integrand is smooth, however steep it is at zero.
        k, cuts = mpmath.mpf(law.shape), [-600, -200, -60, -20, -6, -2, 0, 1, 2, 3, 5]
        return scale**power * mpmath.quad(
            lambda u: of(u / k) * mpmath.exp(u * (1 + power / k) - mpmath.exp(u)), cuts
        )
    sigma, cuts = mpmath.mpf(law.sigma), list(range(-30, 31, 3))
    return scale**power * mpmath.quad(
        lambda z: of(sigma * z) * mpmath.exp(power * sigma * z) * mpmath.npdf(z), cuts
    )


def diverges(law: Any, above: bool, power: float = -1.0) -> bool:
    """Whether |x|^power has no mean on this side: there is a density up to zero, which is not too small there."""
    sign = 1.0 if above else -1.0
    match law:
        case Exponential(mean):
            return power <= -1.0 and sign * mean > 0.0
        case Gamma(shape, scale) | Weibull(shape, scale):
            return shape + power <= 0.0 and sign * scale > 0.0
        case Uniform(low, high) if power <= -1.0:
            return min(low, high) < 0.0 < max(low, high) or (0.0 in (low, high) and sign * (low + high) > 0.0)
        case FlooredNormal(_, _, floor) if power <= -1.0:
            return (floor <= 0.0 if above else floor < 0.0) and not out_of_reach(law)
    return False


def out_of_reach(law: FlooredNormal) -> bool:
    """Whether zero is where no run comes: its density counts as none there."""
    return abs(law.location) >= 9.0 * law.scale


def found_of(law: Any, above: bool, power: float) -> tuple[float, float]:
    """E[|x|^power] and E[|x|^power log|x|] on one side of zero."""
    mean, logs = powers(flat([law]), power)[0 if above else 1][0].tolist()
    return mean, logs


def close(found: float, expected: Any, scale: float) -> bool:
    """Whether a number is right to nine digits, of its own or of what it is a difference of."""
    return bool(abs(found - expected) <= 1e-9 * abs(expected) + 1e-13 * scale)


def check(law: Any, above: bool) -> None:
    share, mean, inverse = (found_of(law, above, power)[0] for power in (0.0, 1.0, -1.0))
    with mpmath.workdps(30):
        assert close(share, integral(law, above, 0), 1.0)
        assert close(mean, integral(law, above, 1), max(map(abs, law)))
        if share < 1e-12:
            return  # too rare for its inverse to count
        if diverges(law, above):
            assert inverse == math.inf
        else:
            assert close(inverse, integral(law, above, -1), 0.0)


# --- Every law -----------------------------------------------------------------------------


@settings(max_examples=40)
@given(LAWS)
@example(FlooredNormal(1.0, 0.1, 1e-12))
@example(FlooredNormal(8.0, 1.0, 1e-12))
@example(FlooredNormal(-8.0, 1.0, -1e-12))
@example(FlooredNormal(1.0, 0.1, 0.001))
@example(FlooredNormal(1.0, 0.084, 1e-30))
@example(FlooredNormal(0.0, 1.0, 1e-6))
@example(FlooredNormal(0.0, 1e6, 1e-6))
@example(FlooredNormal(-6.0, 1.0, 0.001))
@example(FlooredNormal(1e3, 1e-6, 1.0))
@example(FlooredNormal(1e3, 1e-16, 1.0))
@example(FlooredNormal(5.0, 1.0, 5.0))
@example(FlooredNormal(20.0, 1.0, -5.0))
@example(FlooredNormal(-20.0, 1.0, -19.0))
@example(FlooredNormal(-9.0, 1.0, -1e6))
@example(FlooredNormal(5.0, 1.0, 100.0))
@example(FlooredNormal(-1e-3, 1e-6, -1.0))
@example(Uniform(1.0, 1.0 + 1e-12))
@example(Uniform(0.0, 2.0))
@example(Uniform(-2.0, 0.0))
@example(Uniform(3.0, -1.0))
@example(Gamma(1.0, 2.0))
@example(Gamma(1.0 + 1e-9, -2.0))
@example(Gamma(1e6, 1e-3))
@example(Weibull(1.0, 2.0))
@example(Weibull(0.5, -3.0))
@example(Weibull(2.5, -3.0))
@example(Lognormal(-2.0, 1.5))
@example(TwoPoint(-1.0, 4.0, 1.0))
@example(TwoPoint(0.0, 4.0, 0.25))
def test_parts_are_the_integrals(law: Any) -> None:
    """Share, mean and inverse on either side of zero are those of numerical integration in thirty digits."""
    check(law, above=True)
    check(law, above=False)


@pytest.mark.parametrize("power", [-2.5, -0.5, 0.0, 0.3, 3.0])
@pytest.mark.parametrize(
    "law",
    [
        Constant(-3.0),
        TwoPoint(-0.5, 7.0, 0.2),
        Exponential(2.0),
        Gamma(2.5, -3.0),
        Gamma(7.0, 0.1),
        Uniform(-1.0, 4.0),
        Uniform(2.0, 2.001),
        FlooredNormal(1.0, 1.0, 0.2),
        FlooredNormal(-1.0, 2.0, -3.0),
        FlooredNormal(30.0, 1.0, -1.0),
        Weibull(1.5, -2.0),
        Lognormal(3.0, 0.8),
    ],
    ids=str,
)
def test_any_power(law: Any, power: float) -> None:
    """Means of any power, and of the same times the logarithm, are those of numerical integration, and infinite where they diverge."""
    with mpmath.workdps(20):
        for above in (True, False):
            found = found_of(law, above, power)
            if diverges(law, above, power):
                assert found[0] == math.inf
            else:
                wanted = [integral(law, above, power, logs) for logs in (False, True)]
                assert close(found[0], wanted[0], 1e-150)  # what is as rare as this has no digits
                assert close(found[1], wanted[1], float(wanted[0]) + 1e-150)


@settings(max_examples=30)
@given(st.lists(LAWS, min_size=1, max_size=8), st.integers(0, 2**32), st.sampled_from([-1.0, 0.0, 0.5, 1.0]))
def test_many_laws_keep_their_places(laws: list[Any], seed: int, power: float) -> None:
    """Of many laws, some of them the same, each has its own means at its own place."""
    laws = [laws[at] for at in np.random.default_rng(seed).integers(0, len(laws), 12)]
    above, below = powers(flat(laws), power)
    np.testing.assert_allclose(above, [found_of(law, True, power) for law in laws], rtol=1e-14)
    np.testing.assert_allclose(below, [found_of(law, False, power) for law in laws], rtol=1e-14)


@settings(max_examples=30)
@given(LAWS)
def test_the_two_sides_add_up_to_the_mean(law: Any) -> None:
    """What is above zero and what is below make up the mean of the law, and at most all of the draws."""
    above, below = ([found_of(law, side, power)[0] for power in (0.0, 1.0, -1.0)] for side in (True, False))
    assert above[1] - below[1] == pytest.approx(flat_mean(law), rel=1e-12, abs=1e-13 * max(map(abs, law)))
    assert above[0] + below[0] <= 1.0 + 1e-15
    assert min(*above, *below) >= 0.0


def flat_mean(law: Any) -> float:
    """The mean by the textbook, for each law."""
    match law:
        case Gamma(shape, scale):
            return shape * scale
        case Uniform(low, high):
            return low / 2.0 + high / 2.0
        case TwoPoint(low, high, probability):
            return (1.0 - probability) * low + probability * high
        case FlooredNormal(location, scale, floor):
            with mpmath.workdps(40):
                z = (mpmath.mpf(location) - floor) / scale
                return float(floor + scale * (z * mpmath.ncdf(z) + mpmath.npdf(z)))
        case Weibull(shape, scale):
            return float(scale * mpmath.gamma(1 + 1 / mpmath.mpf(shape)))
        case Lognormal(median, sigma):
            return float(median * mpmath.exp(mpmath.mpf(sigma) ** 2 / 2))
    return float(law[0])


@pytest.mark.parametrize(
    "law",
    [
        Gamma(3.5, -2.0),
        Uniform(0.5, 4.0),
        TwoPoint(-3.0, 2.0, 0.4),
        FlooredNormal(1.0, 1.0, 0.2),
        FlooredNormal(12.0, 1.0, -3.0),
    ],
)
def test_draws_have_these_parts(law: Any) -> None:
    """A million draws by NumPy have the shares, means and inverses, within five of their standard errors."""
    rng, count = np.random.default_rng(11), 1_000_000
    match law:
        case Gamma(shape, scale):
            draws = scale * rng.gamma(shape, size=count)
        case Uniform(low, high):
            draws = rng.uniform(low, high, count)
        case TwoPoint(low, high, probability):
            draws = np.where(rng.random(count) < probability, high, low)
        case FlooredNormal(location, scale, floor):
            draws = np.maximum(floor, rng.normal(location, scale, count))
    for above, here in ((True, draws > 0.0), (False, draws < 0.0)):
        sizes = np.abs(np.where(here, draws, 1.0))
        for power in (0.0, 1.0, -1.0):
            seen = here * sizes**power
            found = found_of(law, above, power)[0]
            assert found == pytest.approx(seen.mean(), abs=5.0 * seen.std() / math.sqrt(count) + 1e-12)
