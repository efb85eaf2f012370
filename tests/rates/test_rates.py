from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given

import sojourn as sj
from sojourn.rates import catalogue as named
from strategies import magnitudes, signed, transitions

ESTIMATORS: list[Any] = [entry.make(0.1) for entry in named.ESTIMATORS.values()]
# The laws of the specification: a constant stream at once, in the limit; scaling with reward, with time.
LAWS = {
    "Cumulative": (True, True, True, True),
    "SmoothedCumulative": (False, True, True, True),
    "Exponential": (True, True, True, True),
    "Harmonic": (True, True, True, True),
    "WeightedHarmonic": (True, True, True, True),
    "CumulativeHarmonic": (True, True, True, True),
    "CumulativeWeightedHarmonic": (True, True, True, True),
    "TimeSmoothed": (True, True, True, False),
    "MeanOfRates": (True, True, True, True),
    "PowerMean": (True, True, True, True),
    "AdaptiveRatio": (True, True, True, True),
    "ClippedExponential": (True, True, True, True),
    "TimeForgetting": (True, True, True, False),
    "Incremental": (False, True, True, False),
    "Fixed": (False, False, True, True),  # 0 is 0 in any unit
}

each_estimator = pytest.mark.parametrize("rate", ESTIMATORS, ids=lambda rate: type(rate).__name__)


def fed(rate: Any, stream: list[tuple[float, float]]) -> Any:
    for reward, duration in stream:
        rate = sj.update(rate, reward, duration)
    return rate


@each_estimator
def test_laws_of_the_specification(rate: Any) -> None:
    """Each estimator passes the checker and obeys exactly the laws that it should."""
    assert sj.runs.check_rate(rate) == LAWS[type(rate).__name__]


@each_estimator
def test_zero_before_any_evidence(rate: Any) -> None:
    """The rate before any evidence is 0.0."""
    assert sj.value(rate) == 0.0


@given(signed, magnitudes)
def test_first_update_returns_the_first_rate(reward: float, duration: float) -> None:
    """The self-debiasing estimators need no warm-up."""
    for rate in ESTIMATORS:
        if LAWS[type(rate).__name__][0]:
            assert sj.value(sj.update(rate, reward, duration)) == pytest.approx(reward / duration, rel=1e-12)


@given(transitions)
def test_cumulative_harmonic_is_the_batch_operator(stream: list[tuple[float, float]]) -> None:
    """After every prefix it equals the modified harmonic mean of the rates so far."""
    rate = sj.rates.CumulativeHarmonic()
    for k, (reward, duration) in enumerate(stream, start=1):
        rate = sj.update(rate, reward, duration)
        batch = [r / d for r, d in stream[:k]]
        scale = max(abs(x) for x in batch)
        assert sj.value(rate) == pytest.approx(
            sj.rates.modified_harmonic_mean(batch), rel=1e-12, abs=1e-12 * scale
        )


@given(transitions)
def test_cumulative_is_the_ratio_of_means(stream: list[tuple[float, float]]) -> None:
    """SMART's estimator is the batch ratio of means."""
    rewards, durations = zip(*stream, strict=True)
    scale = max(map(abs, rewards)) / sum(durations)
    expected = sj.rates.ratio_of_means(rewards, durations)
    assert sj.value(fed(sj.Cumulative(), stream)) == pytest.approx(expected, rel=1e-9, abs=1e-12 * scale)


@given(transitions)
def test_weighted_harmonic_is_exponential_on_one_sign(stream: list[tuple[float, float]]) -> None:
    """With rewards of one sign, weighting by the reward undoes the harmonic mean."""
    positive = [(abs(r) + 1e-6, d) for r, d in stream]
    weighted = sj.value(fed(sj.rates.WeightedHarmonic(0.1), positive))
    assert weighted == pytest.approx(sj.value(fed(sj.Exponential(0.1), positive)), rel=1e-12)


@given(transitions)
def test_harmonic_stays_inside_the_rates(stream: list[tuple[float, float]]) -> None:
    """The moving form inherits the internality of the batch operator."""
    rates = [r / d for r, d in stream]
    slack = 1e-9 * max(map(abs, rates))
    assert min(rates) - slack <= sj.value(fed(sj.Harmonic(0.3), stream)) <= max(rates) + slack


def test_long_run_limits() -> None:
    """Under r in {1, 3} and tau = 1, the harmonic limit is 1.5 and the gain is 2."""
    rng = np.random.default_rng(0)
    stream = [(float(r), 1.0) for r in rng.choice([1.0, 3.0], size=40_000)]
    assert sj.value(fed(sj.Cumulative(), stream)) == pytest.approx(2.0, abs=0.02)
    assert sj.value(fed(sj.rates.CumulativeHarmonic(), stream)) == pytest.approx(1.5, abs=0.02)
    late = [sj.value(fed(sj.Harmonic(0.002), stream[k : k + 4000])) for k in range(0, 40_000, 4000)]
    assert np.mean(late) == pytest.approx(1.5, abs=0.05)


def test_random_pace_favours_the_harmonic_mean() -> None:
    """If tau = r s with s independent of r, both are consistent and the harmonic one is steadier."""
    rng = np.random.default_rng(1)
    r = rng.exponential(size=(2000, 100)) + 0.1
    s = rng.uniform(0.5, 1.5, size=r.shape)
    ratio = r.sum(axis=1) / (r * s).sum(axis=1)
    harmonic = 1.0 / s.mean(axis=1)
    assert ratio.mean() == pytest.approx(1.0, abs=0.01)
    assert harmonic.mean() == pytest.approx(1.0, abs=0.01)
    theory = (r**2).mean() / r.mean() ** 2
    assert ratio.var() / harmonic.var() == pytest.approx(theory, rel=0.15)


def test_meter() -> None:
    """A meter is an estimator that remembers; it shows its rate in a line, and a class is no estimator yet."""
    meter = sj.RateMeter(sj.Cumulative())
    assert meter.rate == 0.0
    meter.update(6, 2)
    meter.update(reward=0.0, duration=1.0)
    assert meter.rate == 2.0
    assert repr(meter) == "<RateMeter with Cumulative, rate 2>"
    forgotten: Any = sj.rates.AdaptiveRatio
    with pytest.raises(TypeError, match=r"is the class AdaptiveRatio; make one, AdaptiveRatio\(...\)"):
        sj.RateMeter(forgotten)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sj.update(sj.Cumulative(), math.nan, 1.0), "reward is nan"),
        (lambda: sj.update(sj.Cumulative(), math.inf, 1.0), "reward is inf"),
        (lambda: sj.update(sj.Cumulative(), 1.0, 0.0), "duration is 0.0"),
        (lambda: sj.update(sj.Cumulative(), 1.0, -1.0), "duration is -1.0"),
        (lambda: sj.update(sj.Cumulative(), 1.0, math.nan), "duration is nan"),
        (lambda: sj.Harmonic(step_size=0.0), "Harmonic.step_size is 0.0"),
        (lambda: sj.Harmonic(step_size=-0.1), "Harmonic.step_size is -0.1"),
        (lambda: sj.Exponential(step_size=1.5), "Exponential.step_size is 1.5"),
        (lambda: sj.rates.TimeSmoothed(step_size=1.0), "TimeSmoothed.step_size is 1.0"),
        (lambda: sj.rates.TimeForgetting(step_size=1.0), "TimeForgetting.step_size is 1.0"),
        (lambda: sj.rates.ClippedExponential(step_size=0.0), "ClippedExponential.step_size is 0.0"),
        (lambda: sj.rates.Fixed(math.nan), "Fixed.rate is nan"),
        (lambda: sj.RateMeter(sj.Cumulative()).update(1.0, -1.0), "duration is -1.0"),
    ],
)
def test_wrong_numbers_get_one_sentence(call: Any, message: str) -> None:
    """A number out of its bounds is named and refused."""
    with pytest.raises(ValueError, match=message):
        call()


WRONG: dict[str, Any] = {"text": "not a rate", "number": 3.0, "steps": (5.0, 1.0)}


@pytest.mark.parametrize(
    "call",
    [
        lambda: sj.update(WRONG["text"], 1.0, 1.0),
        lambda: sj.value(WRONG["number"]),
        lambda: sj.limit(WRONG["number"], WRONG["steps"]),
        lambda: sj.limit(sj.Cumulative(), WRONG["steps"]),
        lambda: sj.RateMeter(WRONG["number"]),
        lambda: sj.update(sj.Cumulative(), "1", 1.0),  # type: ignore[arg-type]
        lambda: sj.Harmonic(step_size="big"),  # type: ignore[arg-type]
        lambda: sj.runs.check_rate(object()),
    ],
)
def test_wrong_types_get_one_sentence(call: Any) -> None:
    """What is no estimator, or no number, is refused."""
    with pytest.raises(TypeError) as caught:
        call()
    assert "\n" not in str(caught.value)


class Last(NamedTuple):
    """A user's estimator: the last rate, whole numbers at the start on purpose."""

    rate: float = 0
    updates: int = 0


@sj.update.register
def update_last(rate: Last, reward: float, duration: float) -> Last:
    return Last(rate=reward / duration, updates=rate.updates + 1)


@sj.value.register
def value_last(rate: Last) -> float:
    return rate.rate


def test_a_users_estimator() -> None:
    """An estimator registered in this file passes the checker and runs compiled in an agent."""
    report = sj.runs.check_rate(Last())
    assert report == sj.runs.RateReport(
        constant_at_once=True, constant_in_limit=True, scales_with_reward=True, scales_with_time=True
    )
    agent = sj.smart(2, 2, rate=Last())
    fast = sj.run(sj.worlds.TwoState(log_scale=1e-3), agent, steps=200, seed=1)
    slow = sj.run(sj.worlds.TwoState(log_scale=1e-3), agent, steps=200, seed=1, compiled=False)
    assert (fast.agent.q == slow.agent.q).all()
    assert fast.agent.rate == slow.agent.rate
    assert fast.agent.rate.updates == fast.greedy_steps > 0


class Forgets(NamedTuple):
    """A user's estimator that returns the wrong type."""

    rate: float = 0.0


@sj.update.register
def update_forgets(rate: Forgets, reward: float, duration: float) -> Any:
    return reward / duration


@sj.value.register
def value_forgets(rate: Forgets) -> float:
    return rate.rate


class Explodes(NamedTuple):
    """A user's estimator that divides by a zero reward."""

    rate: float = 0.0


@sj.update.register
def update_explodes(rate: Explodes, reward: float, duration: float) -> Explodes:
    return Explodes(rate=duration / reward if reward != 0.0 else math.inf)


@sj.value.register
def value_explodes(rate: Explodes) -> float:
    return rate.rate


def test_the_checker_finds_faults() -> None:
    """A wrong return type and a value that is not finite are found."""
    with pytest.raises(TypeError, match="update of Forgets returned float"):
        sj.runs.check_rate(Forgets())
    with pytest.raises(ValueError, match="value of Explodes is inf"):
        sj.runs.check_rate(Explodes())
