"""Further amounts of a log: their rates, the log's model, limits, and the log seen as one amount per another."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sojourn as sj
from log_samples import log_of, machine
from small_envs import sentence
from sojourn.answers.log import answered_file, lines

EVEN = np.full((5, 3), 1.0 / 3.0)


def table(count: int = 3000, seed: int = 3) -> pl.DataFrame:
    """Return a run of a machine with the energy of each row, and with jobs that are lost."""
    rows, rng = log_of(machine(), EVEN, count, seed), np.random.default_rng(seed)
    energy = rows.duration * (1.0 + rows.action) + rng.gamma(2.0, 0.5, count)
    lost = (rng.random(count) < 0.1 * rows.state).astype(float)
    return pl.DataFrame(rows._asdict()).with_columns(kwh=energy, lost=lost)


def test_an_amount_is_what_its_own_log_would_earn() -> None:
    """Behaviour, a policy, advice and an action with a known effect, with their intervals: as of the log with the amount as its reward."""
    rows = table()
    log = sj.read_log(rows, amounts={"energy": "kwh", "lost": "lost"})
    assert log.amounts == ("energy", "lost")
    for name, column in (("energy", "kwh"), ("lost", "lost")):
        own = sj.read_log(rows, reward=column)
        assert log.behaviour.amounts[name] == own.behaviour[:3]
        assert log.seen_as(name).behaviour == own.behaviour
        for policy in ({0: 1}, {1: {0: 0.5, 2: 0.5}}):
            assert log.evaluate(policy).amounts[name] == own.evaluate(policy)[:3]
        better = log.improve()
        assert better.amounts[name] == own.evaluate(better.policy)[:3]
        known: dict[str, Any] = {"duration": 1.0, "next": {0: 1.0}}
        stop = log.with_action("stop", reward=0.0, amounts={name: 3.0}, **known)
        assert stop.evaluate({2: "stop"}).amounts[name] == own.with_action("stop", reward=3.0, **known).evaluate({2: "stop"})[:3]  # fmt: skip
    assert better._replace(amounts={}) == sj.read_log(rows).improve()


def test_one_amount_per_another() -> None:
    """Energy per job lost is the ratio of their rates, for the behaviour and for policies; per step it is a mean."""
    rows = table()
    log = sj.read_log(rows, amounts={"energy": "kwh", "lost": "lost"})
    ratio = log.seen_as("energy", per="lost")
    for policy in ({}, {0: 1}, {4: 2}):
        rates = log.evaluate(policy).amounts
        assert ratio.evaluate(policy).gain == pytest.approx(
            rates["energy"].rate / rates["lost"].rate, rel=1e-9
        )
    assert ratio.behaviour.per == "lost"
    assert log.seen_as("energy", per="steps").behaviour.observed == pytest.approx(
        rows["kwh"].to_numpy().mean()
    )
    assert log.seen_as("steps").behaviour.observed == pytest.approx(3000 / float(rows["duration"].sum()))
    assert ratio.seen_as().behaviour == log.behaviour._replace(amounts=ratio.seen_as().behaviour.amounts)


def test_the_model_of_a_log_counts_its_amounts() -> None:
    """Its rates are those of the log, and `solve` keeps limits on them; a price is what loosening the limit is worth."""
    log = sj.read_log(table(), amounts={"energy": "kwh", "lost": "lost"})
    model, policy = log.model(), {0: 1, 3: 2}
    shares = [[float(log.counts()[s].get(a, 0)) for a in log.actions] for s in log.states]
    usual = np.array(shares) / np.sum(shares, axis=1, keepdims=True)
    for state, action in policy.items():
        usual[state] = np.eye(3)[action]
    for name, rate in log.evaluate(policy).amounts.items():
        assert sj.evaluate(model, usual).per(name) == pytest.approx(rate.rate, rel=1e-3)
    best = [sj.solve(model, limits=[sj.exact.at_most("lost", bound)]) for bound in (0.03, 0.0301)]
    assert sj.evaluate(model, best[0].policy).per("lost") == pytest.approx(0.03)
    assert (best[1].gain - best[0].gain) / 1e-4 == pytest.approx(best[0].prices[0], rel=0.05)


def limited(bound: float, count: int, seeds: range, per: str = "duration") -> tuple[int, int, int, float]:
    """Return how many logs give advice within a limit, how much of it breaks it, how many limits of gains are too high, and the mean gain."""
    model = machine().with_amounts({"lost": 0.1 * np.repeat(np.arange(5.0), 3), "jobs": np.ones(15)})
    advised = broken = wrong = 0
    gains = []
    for seed in seeds:
        rows = table(count, 100 + seed).with_columns(jobs=1.0)
        log = sj.read_log(rows, amounts={"lost": "lost", "jobs": "jobs"})
        better = log.improve(limits=[sj.exact.at_most("lost", bound, per=per)])
        if not better.kept:
            share = np.zeros((5, 3))
            share[list(better.policy), list(better.policy.values())] = 1.0  # type: ignore[index]
            truth = sj.evaluate(model, share)
            advised, broken = advised + 1, broken + (truth.per("lost", per) > bound)
            wrong += better.low > truth.gain
            gains.append(truth.gain)
    return advised, broken, wrong, float(np.mean(gains))


def test_advice_within_limits_keeps_them() -> None:
    """Of 24 logs none breaks its limit, and the gains of advice grow with what is allowed; what was done may break it."""
    found = [limited(bound, 3000, range(8)) for bound in (0.02, 0.03, 0.05)]
    assert [one[1:3] for one in found] == [(0, 0)] * 3
    assert min(one[0] for one in found) >= 7
    assert found[0][3] < found[1][3] < found[2][3]
    assert limited(0.05, 3000, range(4), per="jobs")[1] == 0


def test_what_no_policy_surely_keeps_is_refused() -> None:
    """In a sentence; a limit that does not bind changes nothing; a log of sums has not what is needed."""
    log = sj.read_log(table(500), amounts={"lost": "lost"})
    told = sentence(lambda: log.improve(limits=[sj.exact.at_most("lost", 1e-4)]), ValueError)
    assert told == (
        "no policy of the log keeps lost per unit time at most 0.0001 with a probability of 95 %, and what was done does not either; "
        "allow more, or take a lower level"
    )
    free, loose = log.improve(), log.improve(limits=[sj.exact.at_most("lost", 9.0)])
    assert loose._replace(limits=()) == free
    assert loose.limits == ("lost per unit time at most 9",)
    assert "with lost per unit time at most 9" in loose.sentence


@pytest.mark.evidence
def test_advice_within_limits_keeps_them_in_many_logs(counted: Callable[..., None]) -> None:
    """Three bounds and two sizes, 40 logs each."""
    found = [limited(bound, count, range(40)) for bound in (0.02, 0.03, 0.05) for count in (3000, 10_000)]
    broken = sum(one[1] for one in found)
    counted("advice within limits that breaks them", tried=sum(one[0] for one in found), failed=broken)
    assert broken <= 0.05 * sum(one[0] for one in found)


def test_events_have_amounts_per_row_and_per_time() -> None:
    """By hand: rows of 2 and 3; 1 + 2 lost, 10 per unit of time and 5 per row of energy. A censored row has its lump."""
    events = {"unit": [1] * 3, "time": [0, 2, 5], "state": ["up"] * 3, "reward": [0.0] * 3, "lost": [1.0, 2.0, 7.0], "kw": [10.0] * 3}  # fmt: skip
    given: dict[str, Any] = {
        "amounts": {"lost": "lost", "energy": lambda row: 5.0},
        "flows": {"energy": "kw"},
    }
    log = sj.read_events(events, **given)
    assert log.behaviour.amounts["lost"].rate == pytest.approx(3 / 5)
    assert log.behaviour.amounts["energy"].rate == pytest.approx((10 + 50) / 5)
    watched = sj.read_events(events, until=9, **given)
    mean = (2 + 3 + 4) / 3
    assert watched.behaviour.amounts["lost"].rate == pytest.approx((10 / 3) / mean)
    assert watched.behaviour.amounts["energy"].rate == pytest.approx(10 + 5 / mean)
    assert watched.seen_as("energy", per="lost").behaviour.rate == pytest.approx((10 * mean + 5) / (10 / 3))


def test_sums_have_amounts() -> None:
    """The rates of the rows' log, and nearly its intervals; per unit of time only."""
    rows = table()
    log = sj.read_log(rows, amounts={"energy": "kwh"})
    made = rows.with_columns(energy="kwh")
    names = ("reward", "duration", "energy")
    products = [(a, b) for a in names for b in names]
    sums = made.group_by("state", "action", "next_state").agg(
        pl.len().alias("count"), *(pl.col(name).sum() for name in names),
        *((pl.col(a) * pl.col(b)).sum().alias(f"{a}_{b}") for a, b in products),
    )  # fmt: skip
    other = sj.Log.from_sums(sums, amounts=["energy"])
    assert other.evaluate({0: 1}).amounts["energy"] == pytest.approx(
        log.evaluate({0: 1}).amounts["energy"], rel=0.02
    )
    assert other.evaluate({0: 1}).amounts["energy"].rate == pytest.approx(
        log.evaluate({0: 1}).amounts["energy"].rate
    )
    assert other.improve().amounts["energy"].rate == pytest.approx(log.improve().amounts["energy"].rate)
    told = sentence(lambda: other.seen_as("reward", per="energy"), ValueError)
    assert told == "sums do not show amounts per other amounts, or per step; count per unit of time"


def test_the_command_shows_amounts(tmp_path: Path) -> None:
    """In its lines and its record, for logs and for events."""
    rows = table(1500)
    rows.write_csv(tmp_path / "log.csv")
    columns = {
        "state": "state",
        "duration": "duration",
        "next_state": "next_state",
        "amounts": "energy=kwh, lost",
    }
    found = answered_file(tmp_path / "log.csv", columns, 0.95, None)
    log = sj.read_log(rows, amounts={"energy": "kwh", "lost": "lost"})
    assert [(one.name, one.behaviour.rate) for one in found.amounts] == [(name, rate.rate) for name, rate in log.behaviour.amounts.items()]  # fmt: skip
    assert any(line.strip().startswith("energy per unit time: 2.8") for line in lines(found))
    within = answered_file(tmp_path / "log.csv", columns, 0.95, None, [sj.exact.at_most("lost", 0.06)])
    assert any("with lost per unit time at most 0.06" in line for line in within.sentences)
    time = np.append(0.0, rows["duration"].cum_sum().to_numpy())[:-1]
    rows.with_columns(time=time).write_csv(tmp_path / "events.csv")
    columns = {"state": "state", "time": "time", "duration": "duration", "flows": "kwh", "amounts": "lost"}
    events = answered_file(tmp_path / "events.csv", columns, 0.95, None)
    assert [one.name for one in events.amounts] == ["lost", "kwh"]


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: sj.read_log(table(9), amounts={"energy": "kw"}), "the log has no column 'kw' for the energy; did you mean 'kwh'?"),
    (lambda: sj.read_log(table(9), amounts={"reward": "kwh"}), "amounts has the name 'reward'; it must be a text, and reward, duration and steps are amounts of every log"),
    (lambda: sj.read_log(table(9), amounts={"lost": "lost"}).seen_as("lust"), "the log has no amount 'lust'; did you mean 'lost'?"),
    (lambda: sj.read_log(table(9).with_columns(zero=0.0), amounts={"lost": "zero"}).seen_as(per="lost"), "the amount 'lost' is 0 in all rows; count per an amount that is never negative and not always 0"),
    (lambda: sj.read_log(table(9)).with_action("a", reward=0.0, duration=1.0, amounts={"b": 1.0}), "amounts has 'b', which the log does not have"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "said"), REFUSED)
def test_what_cannot_be_counted_is_said(call: Callable[[], object], said: str) -> None:
    """In one sentence."""
    assert sentence(call, ValueError) == said


def test_a_row_without_an_amount_is_refused() -> None:
    """As one without a reward."""
    rows = {
        "state": [0] * 4,
        "action": [0] * 4,
        "reward": [1.0] * 4,
        "duration": [1.0] * 4,
        "kwh": [1.0, "?", None, 2.0],
    }
    log = sj.read_log(rows, amounts={"energy": "kwh"})
    assert log.refused == ("1 row has a text where the energy belongs (row 2)", "1 row has no energy (row 3)")
