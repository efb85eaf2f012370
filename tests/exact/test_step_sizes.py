"""Means of estimates at given step sizes: by the rules themselves, by formulas for simple cases, and by simulation."""

from __future__ import annotations

import itertools
import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_audit
import sojourn as sj
from sojourn.exact.audit.step_sizes import _points, _transforms
from sojourn.models import from_transitions
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
    means,
    variances,
)  # fmt: skip
from sojourn.rates import Incremental, TimeSmoothed, update
from strategies import fraction_models, model_of_fractions


def audited(model: sj.SMDP, rate: Any, policy: Any = None) -> Any:
    """The mean of one estimator, and how it is known."""
    (found,) = sj.audit(model, policy, estimators=[rate])
    return found.mean, found.mean_is


def pushed(chain: naive_audit.Chain, states: list[int], rate: Any) -> float:
    """The long-run mean by the rule itself: it is linear in the estimate, so that means go through it as they are."""
    share = {s: float(p) for s, p in naive_audit.stationary(chain, states).items()}
    means = dict.fromkeys(states, 0.0)
    for _ in range(20_000):
        arrived = dict.fromkeys(states, 0.0)
        for s in states:
            before = rate._replace(rate=means[s])
            for p, after, r, d in chain[s]:
                arrived[after] += share[s] * float(p) * update.bare(before, float(r), float(d)).rate
        new = {s: arrived[s] / share[s] for s in states}
        change, means = max(abs(new[s] - means[s]) for s in states), new
        if change <= 1e-13 * max(map(abs, means.values())):
            break
    return sum(share[s] * means[s] for s in states)


@settings(max_examples=40)
@given(fraction_models(), st.data())
def test_exact_means_are_those_of_the_rules(fractions: naive_audit.Model, data: st.DataObject) -> None:
    """Means that are called exact are what the update rule makes of means, step by step, in models of any kind."""
    policy = [data.draw(st.sampled_from(sorted(state))) for state in fractions]
    chain = [state[action] for state, action in zip(fractions, policy, strict=True)]
    classes = naive_audit.classes(chain)
    if len(classes) > 1:
        return
    longest = max(float(d) for outcomes in chain for _, _, _, d in outcomes)
    for rate in (TimeSmoothed(step_size=0.3), Incremental(step_size=min(1.0, 1.0 / longest))):
        mean, known = audited(model_of_fractions(fractions), rate, policy)
        assert known == "exact"
        assert mean == pytest.approx(pushed(chain, classes[0], rate), rel=1e-8, abs=1e-9)


STEPS = ((0.5, 1.0, 1.0), (0.3, 9.0, 2.0), (0.2, -1.0, 7.0))  # probability, reward, duration


def independent() -> sj.SMDP:
    """One state, whose steps are independent of each other."""
    return from_transitions([(0, 0, 0, *step) for step in STEPS])


def expectation(function: Any) -> float:
    return float(sum(p * function(r, d) for p, r, d in STEPS))


@pytest.mark.parametrize("beta", [1e-9, 0.01, 0.3])
def test_independent_steps_have_closed_forms(beta: float) -> None:
    """With independent steps, each mean is that of a formula for one step."""
    g, gain = 1.0 - beta, expectation(lambda r, d: r) / expectation(lambda r, d: d)
    weighted = expectation(lambda r, d: (1 - g**d) * r / d) / expectation(lambda r, d: 1 - g**d)
    assert audited(independent(), TimeSmoothed(beta)) == (pytest.approx(weighted, rel=1e-6), "exact")
    assert audited(independent(), Incremental(beta)) == (pytest.approx(gain, rel=1e-12), "exact")
    length = expectation(lambda r, d: d)
    covariance = expectation(lambda r, d: (r - gain * d) * d)
    assert audited(independent(), sj.rates.Exponential(beta)) == (
        pytest.approx(gain - beta / (2 - beta) * covariance / length**2, rel=1e-12),
        "first order",
    )


def test_steps_that_depend_on_each_other() -> None:
    """In a round of 30 in a time of 2, then 0 in a time of 1, all is known by hand, and formulas for one step are wrong."""
    model, policy = sj.problems.long_return(), [0, 0]
    low = 0.5 * 0.75 * 15.0 / (1.0 - 0.125)  # before the job; after it, twice as much
    assert audited(model, TimeSmoothed(0.5), policy) == (pytest.approx(1.5 * low), "exact")
    assert 1.5 * low != pytest.approx((0.75 * 15.0 + 0.5 * 0.0) / (0.75 + 0.5), rel=0.01)
    # At a step size of 1 the job makes 30 of any estimate of 0, and the way back 0 of anything.
    assert audited(model, Incremental(1.0), policy) == (pytest.approx(15.0), "exact")


@pytest.mark.parametrize(
    ("beta", "known"), [(0.99 * 2.0 * 3.3, "exact"), (1.01 * 2.0 * 3.3, "no finite variance")]
)
def test_where_the_variance_of_independent_steps_ends(beta: float, known: str) -> None:
    """With independent steps the variance of `Incremental` is finite if beta E[tau^2] < 2 E[tau]."""
    tau, squared = 0.9 * 1.0 + 0.1 * 24.0, 0.9 * 1.0 + 0.1 * 24.0**2
    model = from_transitions([(0, 0, 0, 1.0, 1.0, TwoPoint(1.0, 24.0, 0.1))])
    assert tau == pytest.approx(3.3)
    assert audited(model, Incremental(beta / squared))[1] == known


@pytest.mark.parametrize(("long", "known"), [(4.9, "exact"), (5.9, "exact"), (6.1, "no finite variance")])
def test_where_the_variance_of_a_cycle_ends(long: float, known: str) -> None:
    """Durations of 1 and `long` in turn multiply an error by 0.5 (1 - long / 2): it dies out up to a duration of 6.

    The condition for independent steps, 0.5 (1 + long^2) < 2 (1 + long), would end at 4.87.
    """
    model = from_transitions([(0, 0, 1, 1.0, 3.0, 1.0), (1, 0, 0, 1.0, 1.0, long)])
    mean, found = audited(model, Incremental(0.5))
    assert found == known
    rate, seen = Incremental(0.5), []
    for reward, duration in itertools.islice(itertools.cycle([(3.0, 1.0), (1.0, long)]), 2_000):
        rate = update.bare(rate, reward, duration)
        seen.append(rate.rate)
    if known == "exact":
        assert mean == pytest.approx((seen[-1] + seen[-2]) / 2.0, rel=1e-9)
    else:
        assert abs(seen[-1]) > 1e6


def test_first_order_in_a_cycle() -> None:
    """In a round of steps that depend on each other, what `Exponential`'s mean leaves out falls like its step size squared."""
    steps = [(3.0, 1.0), (0.0, 4.0), (-1.0, 2.0), (8.0, 1.0)]
    model = from_transitions([(s, 0, (s + 1) % 4, 1.0, *step) for s, step in enumerate(steps)])
    left = []
    for beta in (0.08, 0.04, 0.02, 0.01):
        mean, _ = audited(model, sj.rates.Exponential(beta))
        rate: Any = sj.rates.Exponential(beta)
        seen = []
        for reward, duration in itertools.islice(itertools.cycle(steps), math.ceil(40.0 / beta) * 4):
            rate = update.bare(rate, reward, duration)
            seen.append(rate.reward / rate.duration)
        left.append(abs(mean - np.mean(seen[-4:])))
        assert left[-1] < 0.1 * abs(mean - 1.25)
    assert all(more > 3.5 * less for more, less in itertools.pairwise(left))


@pytest.mark.parametrize("rate", [TimeSmoothed(0.3), Incremental(0.1), sj.rates.Exponential(0.3)])
def test_probabilities_of_actions_are_mixed(rate: Any) -> None:
    """A policy with probabilities has the means of the model in which its actions are one."""
    law = Exponential(2.0)
    two = from_transitions([(0, 0, 1, 1.0, 1.0, 3.0), (0, 1, 0, 1.0, 4.0, law), (1, 0, 0, 1.0, 2.0, 1.0)])
    one = from_transitions([(0, 0, 1, 0.25, 1.0, 3.0), (0, 0, 0, 0.75, 4.0, law), (1, 0, 0, 1.0, 2.0, 1.0)])
    mean, known = audited(two, rate, [[0.25, 0.75], [1.0, 0.0]])
    assert (mean, known) == (pytest.approx(audited(one, rate)[0], rel=1e-12), audited(one, rate)[1])


@pytest.mark.parametrize(("rate", "tolerance"), [
    (TimeSmoothed(0.2), 0.0), (Incremental(0.1), 0.0), (sj.rates.Exponential(0.03), 0.03**2),
])  # fmt: skip
def test_simulated_steps_have_these_means(rate: Any, tolerance: float) -> None:
    """In 1,000 runs of 2,000 steps with laws of all kinds, the mean of the estimate is the one that the audit knows."""
    model = from_transitions([
        (0, 0, 0, 0.9, 2.0, Exponential(1.0)), (0, 0, 1, 0.1, 3.0, Gamma(0.5, 2.0)),
        (1, 0, 0, 0.1, TwoPoint(-3.0, 1.0, 0.5), 8.0), (1, 0, 1, 0.9, 1.0, Uniform(0.1, 5.0)),
    ])  # fmt: skip
    rng, runs, state = np.random.default_rng(3), 1_000, np.zeros(1_000, dtype=int)
    first, second, means = np.zeros(runs), np.zeros(runs), []
    for step in range(2_000):
        back = rng.random(runs) < np.where(state == 0, 0.9, 0.1)
        place = 2 * state + ~back
        reward = np.choose(place, [2.0, 3.0, rng.choice([-3.0, 1.0], runs), 1.0])
        duration = np.choose(
            place, [rng.exponential(1.0, runs), rng.gamma(0.5, 2.0, runs), 8.0, rng.uniform(0.1, 5.0, runs)]
        )
        if isinstance(rate, TimeSmoothed):
            first += (1.0 - (1.0 - rate.step_size) ** duration) * (reward / duration - first)
        elif isinstance(rate, Incremental):
            first += rate.step_size * (reward - first * duration)
        else:
            first += rate.step_size * (reward - first)
            second += rate.step_size * (duration - second)
        if step >= 500:
            means.append(first / second if isinstance(rate, sj.rates.Exponential) else first.copy())
        state = np.where(back, 0, 1)
    each = np.mean(means, axis=0)
    error = each.std(ddof=1) / math.sqrt(runs)
    gain = sj.evaluate(model, [0, 0]).gain
    mean, _ = audited(model, rate)
    assert mean == pytest.approx(each.mean(), abs=5.0 * error + tolerance)
    assert abs(each.mean() - gain) > 5.0 * error + tolerance  # the limit for small step sizes is told apart


@pytest.mark.parametrize(
    "rate", [TimeSmoothed(1e-300), Incremental(1e-300), sj.rates.Exponential(1e-300), sj.Harmonic(0.1)]
)
def test_means_that_are_not_known(rate: Any) -> None:
    """Where floats do not show what a step forgets, or there is no formula, no mean is given."""
    assert audited(sj.problems.long_return(), rate) == (None, None)


# --- Means of functions of a duration ------------------------------------------------------


def density(law: Any) -> tuple[Any, list[float]]:
    """The density of a law, and where an integral of it is best cut."""
    match law:
        case Gamma(shape, scale):
            size = mpmath.gamma(shape) * mpmath.mpf(scale) ** shape
            return lambda x: x ** (shape - 1) * mpmath.exp(-x / scale) / size, [
                0,
                0.1,
                1,
                4,
                12,
                40,
                mpmath.inf,
            ]
        case Weibull(k, scale):
            return lambda x: k / scale * (x / scale) ** (k - 1) * mpmath.exp(-((x / scale) ** k)), [
                0,
                0.5,
                1,
                2,
                4,
                9,
            ]
        case Lognormal(median, sigma):
            cuts = [median * mpmath.exp(sigma * z) for z in range(-12, 13)]
            return lambda x: mpmath.npdf(mpmath.log(x / median), 0, sigma) / x, cuts
        case Uniform(low, high):
            return lambda x: 1 / mpmath.mpf(high - low), [low, low + 0.01, low + 0.5, (low + high) / 2, high]
        case FlooredNormal(location, scale, floor):
            cuts = [location + scale * z for z in range(-12, 13)]
            return lambda x: mpmath.npdf(x, location, scale), [floor, *(cut for cut in cuts if cut > floor)]
    raise AssertionError(law)


def square_of(law: Any) -> float:
    """The mean square of a law."""
    return float(variances(flat([law]))[0] + means(flat([law]))[0] ** 2)


@pytest.mark.parametrize("speed", [1e-6, 0.01, 3.0])
@pytest.mark.parametrize("law", [
    Gamma(2.5, 0.7), Gamma(40.0, 0.1), Weibull(2.0, 1.5), Lognormal(1.0, 0.8), Lognormal(3.0, 2.0), Uniform(0.0, 50.0),
    Uniform(2.0, 3.0), FlooredNormal(1.0, 1.0, 0.1), FlooredNormal(30.0, 2.0, 1.0), FlooredNormal(-2.0, 1.0, 0.01),
])  # fmt: skip
def test_means_of_functions_are_integrals(law: Any, speed: float) -> None:
    """Means of 1 - e^(-speed tau), of that over tau, and of tau^2 are those of numerical integration."""
    lost, per_time = _transforms(flat([law]), speed)
    f, cuts = density(law)
    at = mpmath.ncdf((law.floor - law.location) / law.scale) if isinstance(law, FlooredNormal) else 0
    functions: list[tuple[float, Any]] = [
        (lost[0], lambda x: -mpmath.expm1(-speed * x)),
        (per_time[0], lambda x: -mpmath.expm1(-speed * x) / x if x else speed),
        (square_of(law), lambda x: x * x),
    ]
    for found, of in functions:
        expected = mpmath.quad(lambda x, of=of: f(x) * of(x), cuts) + (at * of(law.floor) if at else 0)
        assert found == pytest.approx(float(expected), rel=1e-8)


@pytest.mark.parametrize("law", [
    Exponential(3.0), Gamma(0.3, 2.0), Gamma(1.0, 2.0), Weibull(0.5, 2.0), Constant(2.0), TwoPoint(1.0, 5.0, 0.25),
])  # fmt: skip
def test_means_of_functions_in_closed_form(law: Any) -> None:
    """Laws that are steep at zero, and laws of one or two numbers, have the transforms and squares of the textbook."""
    speed = 0.7
    closed: dict[Any, Any] = {
        Exponential: lambda mean: (1 / (1 + speed * mean), math.log1p(speed * mean) / mean, 2 * mean**2),
        Gamma: lambda k, scale: (
            (1 + speed * scale) ** -k,
            ((1 + speed * scale) ** (1 - k) - 1) / (scale * (1 - k)) if k != 1 else math.log1p(speed * scale) / scale,
            k * (k + 1) * scale**2,
        ),
        Constant: lambda d: (math.exp(-speed * d), (1 - math.exp(-speed * d)) / d, d * d),
        TwoPoint: lambda a, b, p: tuple(
            (1 - p) * x + p * y for x, y in zip(closed[Constant](a), closed[Constant](b), strict=True)
        ),
        Weibull: lambda k, scale: (
            float(mpmath.quad(lambda t: mpmath.exp(-t - speed * scale * t**2), [0, 1, 3, 9, 40])),
            float(mpmath.quad(lambda t: -mpmath.exp(-t) * mpmath.expm1(-speed * scale * t**2) / (scale * t**2), [0, 1, 3, 9, 40])),
            scale**2 * 24.0,
        ),
    }  # fmt: skip
    kept, per_time, square = closed[type(law)](*law)
    lost, found = _transforms(flat([law]), speed)
    assert (1.0 - lost[0], found[0]) == (pytest.approx(kept, rel=1e-9), pytest.approx(per_time, rel=1e-9))
    assert square_of(law) == pytest.approx(square, rel=1e-12)
    points, weights = _points(law, speed)
    assert weights.sum() == pytest.approx(1.0, rel=1e-12)
    assert (points > 0.0).all()
