"""The list of estimators, and adding to it from outside."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import pytest

import sojourn as sj
from sojourn.models.problems import long_shot
from sojourn.rates import adaptive, contrast, harmonic, power, ratio
from sojourn.rates.catalogue import ESTIMATORS, NamedEstimator, add_estimator
from sojourn.rates.protocol import Rate, Side, Steps, limit, update, value

NONE = Side(0.0, 0.0, 0.0, 0.0)


class MeanReward(NamedTuple):
    """A user's estimator: the mean reward of a step, however long it took."""

    step_size: float
    reward: float = 0.0


class Stranger(NamedTuple):
    """An estimator without a limit."""

    rate: float = 0.0


@sj.update.register
def update_mean_reward(rate: MeanReward, reward: float, duration: float) -> MeanReward:
    return MeanReward(rate.step_size, rate.reward + rate.step_size * (reward - rate.reward))


@sj.value.register
def value_mean_reward(rate: MeanReward) -> float:
    return rate.reward


@sj.limit.register
def limit_mean_reward(rate: MeanReward, steps: sj.rates.Steps) -> float:
    return steps.reward


@sj.update.register
def update_stranger(rate: Stranger, reward: float, duration: float) -> Stranger:
    return Stranger(reward)


@sj.value.register
def value_stranger(rate: Stranger) -> float:
    return rate.rate


@pytest.fixture
def added() -> Iterator[None]:
    """Two estimators of a user among all others."""
    add_estimator(NamedEstimator("MeanReward", MeanReward))
    add_estimator(NamedEstimator("Stranger", Stranger, has_step_size=False))
    yield
    del ESTIMATORS["MeanReward"], ESTIMATORS["Stranger"]


def test_every_estimator_of_ours_is_named_and_has_all_three_rules() -> None:
    """The list has every estimator of every family, under its own name, and each has update, value and limit."""
    families = {
        name
        for module in (adaptive, contrast, harmonic, power, ratio)
        for name, thing in vars(module).items()
        if isinstance(thing, type) and issubclass(thing, tuple) and thing.__module__ == module.__name__
    }
    assert set(ESTIMATORS) == families - {"Rung", "Ladder", "Nine", "Noise"}  # the parts of AdaptiveRatio
    for name, entry in ESTIMATORS.items():
        kind = type(entry.make())
        assert (entry.name, kind.__name__) == (name, name)
        assert update.knows(kind)
        assert value.knows(kind)
        assert limit.knows(kind) == (name not in UNKNOWN)


UNKNOWN = ("AdaptiveRatio", "ClippedExponential")  # limits that are neither proved nor measured for all laws


def test_limits_by_hand() -> None:
    """+2 in a time of 1 or -1 in one of 4, equally often: the gain is 0.2, the harmonic mean 0.875."""

    def moments(a: float, b: float) -> tuple[tuple[float, float], tuple[float, float]]:
        return (0.5 * 2.0**a, 0.5 * 2.0**a * math.log(2.0)), (0.5 * 4.0**b, 0.5 * 4.0**b * math.log(0.25))

    steps = Steps(0.5, 2.5, Side(0.5, 1.0, 0.5, 0.25), Side(0.5, -0.5, 2.0, -2.0), None, 0.875, moments)
    found = {name: limit(entry.make(), steps) for name, entry in ESTIMATORS.items() if name not in UNKNOWN}
    assert found.pop("Fixed") == 0.0
    # Half of the rates are 2 and half are -1/4, constant within each sign: 1 - 1/8 however they are weighted.
    harmonic = (
        "Harmonic",
        "CumulativeHarmonic",
        "WeightedHarmonic",
        "CumulativeWeightedHarmonic",
        "MeanOfRates",
        "PowerMean",
    )
    assert {round(found.pop(name), 14) for name in harmonic} == {0.875}
    assert set(found.values()) == {0.2}
    assert limit(sj.rates.Fixed(1.5), steps) == 1.5
    with pytest.raises(ValueError, match="has no mean_rate; give the mean of r/tau"):
        limit(sj.rates.MeanOfRates(), steps._replace(mean_rate=None))
    with pytest.raises(ValueError, match="has no moments, which the limits of most power means need"):
        limit(sj.rates.PowerMean(0.1), steps._replace(moments=None))
    assert limit(sj.Harmonic(0.1), Steps(0.0, 1.0, NONE, NONE)) == 0.0


@pytest.mark.usefixtures("added")
def test_an_estimator_added_from_outside_is_audited() -> None:
    """One call adds an estimator to the audit; it has the limit that its rule says, and without a rule none."""
    found = sj.audit(long_shot())
    assert [one.estimator for one in found] == list(ESTIMATORS)
    mean = found["MeanReward"]
    assert (mean.rate, mean.error, mean.keeps_optimum, mean.greedy_gain) == (5.0, 0.0, True, 5.0)
    assert found["Stranger"] == sj.exact.Limit("Stranger", agents=())
    assert found["Stranger"].rate is None
    assert found.frontier().rate[-1] > 5.0


def test_estimators_given_to_the_audit() -> None:
    """The audit takes estimators as they are, with labels or under their own names, and says what is wrong."""
    given: dict[str, Rate] = {
        "low": sj.rates.Fixed(1.0),
        "high": sj.rates.Fixed(9.0),
        "mean": MeanReward(0.1),
    }
    found = sj.audit(long_shot(), [1], given)
    assert [(one.estimator, one.rate) for one in found] == [("low", 1.0), ("high", 9.0), ("mean", 12.0)]
    assert [one.estimator for one in sj.audit(long_shot(), estimators=[Stranger()])] == ["Stranger"]
    with pytest.raises(KeyError, match="no estimator 'Harmonic'; there are Stranger"):
        sj.audit(long_shot(), estimators=[Stranger()])["Harmonic"]
    with pytest.raises(ValueError, match="two estimators are called Fixed"):
        sj.audit(long_shot(), estimators=[sj.rates.Fixed(1.0), sj.rates.Fixed(2.0)])
    with pytest.raises(TypeError, match="no value rule for Steps"):
        sj.audit(long_shot(), estimators=[Steps(0.0, 1.0, NONE, NONE)])


class Odd(NamedTuple):
    """An estimator whose limit is whatever it is told."""

    end: float = 0.0


@sj.update.register
def update_odd(rate: Odd, reward: float, duration: float) -> Odd:
    return rate


@sj.value.register
def value_odd(rate: Odd) -> float:
    return 0.0


@sj.limit.register
def limit_odd(rate: Odd, steps: sj.rates.Steps) -> float:
    return rate.end


def test_a_limit_that_is_no_number() -> None:
    """An infinite limit is told, and nothing follows from it; a rule that returns nan is refused."""
    found = sj.audit(long_shot(), estimators=[Odd(float("-inf"))])["Odd"]
    assert found == sj.exact.Limit("Odd", (), rate=float("-inf"), error=float("-inf"))
    with pytest.raises(ValueError, match="the limit rule of Odd returned nan"):
        sj.audit(long_shot(), estimators=[Odd(float("nan"))])


def test_what_is_no_estimator_is_not_added() -> None:
    """An entry must make something that update and value are registered for."""
    with pytest.raises(TypeError, match="'Side' makes a Side, for which update is not registered"):
        add_estimator(NamedEstimator("Side", lambda: NONE, has_step_size=False))
    assert "Side" not in ESTIMATORS
    with pytest.raises(ValueError, match="there is an estimator 'Fixed' already"):
        add_estimator(NamedEstimator("Fixed", sj.rates.Fixed, has_step_size=False))


class Late(NamedTuple):
    reward: float = 0.0
    duration: float = 0.0


@sj.update.register
def update_late(rate: Late, reward: float, duration: float) -> Late:
    return Late(rate.reward + reward, rate.duration + duration)


@sj.value.register
def value_late(rate: Late) -> float:
    return rate.reward / rate.duration if rate.duration > 0.0 else 0.0


def test_a_limit_may_come_after_the_first_run() -> None:
    """`limit` is never compiled, so it can be registered for an estimator that has run already; `value` cannot."""
    sj.run(sj.worlds.TwoState(1e-3), sj.smart(2, 2, rate=Late()), 10)
    sj.limit.register(Late)(lambda rate, steps: steps.reward / steps.duration)
    audit = sj.audit(long_shot(), estimators={"Late": Late()})
    assert audit["Late"].rate == audit.gain
    with pytest.raises(TypeError, match="has been compiled already"):
        sj.value.register(Late)(value_late)
