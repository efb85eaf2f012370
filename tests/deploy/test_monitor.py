"""A monitor's false alarms and delays, its restarts, and meters of the rate that survive one."""

from __future__ import annotations

import json
import math
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sojourn as sj
from counting import Counted
from site_builder import loaded
from small_envs import sentence
from sojourn.deploy import Monitor
from sojourn.rates.catalogue import ESTIMATORS
from sojourn.rates.centred import Centred
from sojourn.rates.scheduled import Scheduled, Visits

pytestmark = pytest.mark.interpreted
watching = loaded("watching")


def steps(seed: int, count: int) -> list[tuple[float, float]]:
    rng = np.random.default_rng(seed)
    return list(zip(rng.exponential(2.0, count).tolist(), rng.exponential(1.0, count).tolist(), strict=True))


def test_the_bets_are_those_of_the_formula() -> None:
    """After some batches, the worth of the bets is the sum over all starts of the products of what was won, by hand."""
    monitor = Monitor(2.0, batch=1.0, calibration=20)
    rng = np.random.default_rng(1)
    rewards = rng.normal(2.0, 1.0, 40)
    for reward in rewards.tolist():
        monitor.update(reward, 1.0)
    off = rewards - 2.0
    won = []
    for k in range(20, 40):
        before = off[:k]
        squares = ((before - before.mean()) ** 2).sum()
        products = sum(
            (before[i] - before[:i].mean()) * (before[i - 1] - before[:i].mean()) for i in range(1, k)
        )
        correlation = min(max(products / squares + 1.0 / k, 0.0), 0.9)
        deviation = math.sqrt(1.3 * squares / k * (1.0 + correlation) / (1.0 - correlation))
        x = -off[k] / deviation
        won.append((1.0 + x + x * x / 2.0 if x >= 0.0 else 1.0 / (1.0 - x + x * x / 2.0)) / 1.5)
    expected = sum(math.prod(won[j:]) / ((j + 1.0) * (j + 2.0)) for j in range(20))
    side: Any = monitor.state()["below"]
    assert side["bets"][0]["worth"] == pytest.approx(expected, rel=1e-12)


def test_a_bet_is_never_better_than_fair() -> None:
    """For laws with a mean of 0 and a variance of 1, light and heavy, skewed either way, a bet wins at most nothing on average."""
    rng = np.random.default_rng(0)
    laws = [
        np.array([-1.0, 1.0]),
        rng.exponential(size=100_000),
        -rng.exponential(size=100_000),
        rng.standard_t(2.2, 100_000),
    ]
    laws += [np.array([-1.0] * 999 + [999.0]), np.array([1.0] * 999 + [-999.0])]
    for law in laws:
        x = (law - law.mean()) / law.std()
        for stake in 0.5 ** np.arange(7):
            y = -stake * x
            won = np.where(y >= 0.0, 1.0 + y + y * y / 2.0, 1.0 / (1.0 - y + y * y / 2.0)) / (
                1.0 + stake**2 / 2.0
            )
            assert won.mean() <= 1.0 + 1e-12


def test_false_alarms_are_rare_and_true_ones_soon() -> None:
    """Of 40 runs at the edge of the promise hardly one raises an alarm in 200 batches; after a fall all do, within 60."""
    stream = watching.STREAMS[1]
    assert sum(watching.alarm_after(stream, seed, 200) is not None for seed in range(40)) <= 5
    ends = [watching.alarm_after(stream, seed, 200, change=60, size=1.5) for seed in range(10)]
    assert all(end is not None and 0 < end < 30 for end in ends)


def test_what_was_measured_is_what_the_page_says() -> None:
    """On every stream that the page recommends, false alarms stay within their share; beside it stand those where they do not."""
    found = watching.read()
    assert [row["name"] for row in found["false"]] == [stream.name for stream in watching.STREAMS]
    for row in found["false"]:
        assert not row["sound"] or row["alarms"] <= found["alpha"] * row["runs"]
    assert max(row["alarms"] / row["runs"] for row in found["false"] if not row["sound"]) > found["alpha"]


@pytest.mark.evidence
def test_false_alarms_of_many_runs(counted: Counted) -> None:
    """False alarms stay within their share on light and heavy tails and with memory."""
    for stream in watching.STREAMS:
        if stream.sound:
            false = sum(watching.alarm_after(stream, seed, 600) is not None for seed in range(1000, 1150))
            assert false <= 150 * watching.ALPHA + 3.0 * math.sqrt(150 * watching.ALPHA)
            counted("runs of a monitor with false alarms within their share", tried=150, failed=0)


def test_a_sentence_says_what_has_happened() -> None:
    """The alarm gives the rate since it fell, what was promised, and how likely a false alarm is; it stays until the reset."""
    coin, monitor = random.Random(0), Monitor(0.95, 1.05, batch=10.0, false_alarms=0.02)
    assert not any(monitor.update(coin.choice([1.0, 3.0]), 2.0) for _ in range(1000))
    assert monitor.is_calibrated
    assert 0.9 < monitor.rate < 1.1
    while not monitor.update(coin.choice([0.0, 2.0]), 2.0):
        pass
    said = monitor.alarm
    assert "below what was promised, 0.95 to 1.05" in said
    assert "at most 2 %" in said
    assert 0.3 < float(said.partition(", ")[2].partition(" has")[0]) < 0.7
    assert monitor.update(1.0, 2.0) == said
    monitor.reset()
    assert not monitor.alarm
    while not monitor.update(coin.choice([3.0, 5.0]), 2.0):
        pass
    assert "above what was promised" in monitor.alarm


def test_rewards_that_never_vary() -> None:
    """Where every batch earns the same, the promise itself raises no alarm, and anything else does at once."""
    monitor = Monitor(0.5, 0.5, batch=1.0)
    assert not any(monitor.update(0.1, 0.2) for _ in range(1000))
    taken = 1
    while not monitor.update(0.09, 0.2):
        taken += 1
    assert taken <= 10
    nothing = Monitor(0.0, batch=1.0)
    assert not any(nothing.update(0.0, 1.0) for _ in range(200))


@pytest.mark.parametrize("at", [0, 7, 333, 1500])
def test_a_restart_changes_no_bit(at: int, tmp_path: Path) -> None:
    """A monitor and a meter that are saved and read back go on with the same bits, whenever that happens."""
    monitor, meter = Monitor(1.5, 2.5, batch=5.0), sj.RateMeter(sj.rates.AdaptiveRatio())
    for step, (reward, duration) in enumerate(steps(3, 3000)):
        if step == at:
            monitor.save(tmp_path / "monitor.json")
            again = Monitor.load(tmp_path / "monitor.json")
            meter_again = sj.RateMeter.restored(json.loads(json.dumps(meter.state())))
        monitor.update(reward, duration)
        meter.update(reward, duration)
        if step >= at:
            again.update(reward, duration)
            meter_again.update(reward, duration)
    assert again.state() == monitor.state()
    assert repr(again.state()) == repr(monitor.state())
    assert repr(meter_again.state()) == repr(meter.state())
    assert meter_again.interval() == meter.interval()


def test_meters_of_every_estimator_are_restored() -> None:
    """Every estimator, centred and scheduled ones too, comes back from JSON as it was, and from a pickle."""
    made = [entry.make() for entry in ESTIMATORS.values()]
    made += [Centred(sj.Exponential(0.1), 0.2), Scheduled(sj.Exponential(1.0), Visits(1.0, 1.0, 0.001))]
    for estimator in made:
        meter = sj.RateMeter(estimator)
        for reward, duration in steps(5, 20):
            meter.update(reward, duration)
        for again in (
            sj.RateMeter.restored(json.loads(json.dumps(meter.state()))),
            pickle.loads(pickle.dumps(meter)),
        ):
            assert repr(again.estimator) == repr(meter.estimator)
            assert again.rate == meter.rate


def test_the_interval_of_a_meter_is_that_of_the_run() -> None:
    """A meter's interval holds the rate of the whole run, and is the one of an evaluation of the same steps."""
    meter = sj.RateMeter(sj.Exponential(step_size=0.1))
    with pytest.raises(ValueError, match="no time has passed"):
        meter.interval()
    for reward, duration in steps(1, 5000):
        meter.update(reward, duration)
    found = meter.interval()
    assert found.low is not None
    assert found.high is not None
    assert found.low < 2.0 < found.high
    assert found.high - found.low < 0.2


def test_wrong_inputs_are_refused(tmp_path: Path) -> None:
    """What is not a promise, a step or a state is refused in one sentence."""
    for call in (
        lambda: Monitor(2.0, 1.0, batch=1.0),
        lambda: Monitor(-math.inf, batch=1.0),
        lambda: Monitor(math.nan, 1.0, batch=1.0),
        lambda: Monitor(0.0, 1.0, batch=0.0),
        lambda: Monitor(0.0, 1.0, batch=1.0, false_alarms=1.0),
        lambda: Monitor(0.0, 1.0, batch=1.0).update(math.nan, 1.0),
        lambda: Monitor(0.0, 1.0, batch=1.0).update(1.0, -1.0),
        lambda: Monitor.restored({}),
        lambda: Monitor.restored({**Monitor(0.0, batch=1.0).state(), "below": None}),
        lambda: Monitor.restored({**Monitor(0.0, batch=1.0).state(), "version": 9}),
        lambda: sj.RateMeter.restored({}),
        lambda: sj.RateMeter.restored({**sj.RateMeter(sj.Cumulative()).state(), "estimator": {"kind": "Cake"}}),
        lambda: sj.RateMeter.restored({**sj.RateMeter(sj.Cumulative()).state(), "estimator": {"kind": "Cumulative", "x": 1}}),
        lambda: sj.RateMeter.restored({**sj.RateMeter(sj.Cumulative()).state(), "estimator": {"kind": "Visits", "first": 1.0}}),
    ):  # fmt: skip
        sentence(call)
    (tmp_path / "no.json").write_text("{}")
    assert "no.json" in sentence(lambda: Monitor.load(tmp_path / "no.json"))
    too_short = sj.learner.Evaluation(1.0, None, None, 0.95, 10, 10.0, 100.0)
    assert "no interval" in sentence(lambda: Monitor.of(too_short))
    assert "give the promise and the time of a batch" in sentence(lambda: Monitor.of("advice"), TypeError)
    assert Monitor.of(too_short._replace(low=0.5, high=1.5)).state()["batch"] == 0.1
