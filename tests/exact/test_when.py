"""When to act: lives and their best age of replacement, and levels of wear, against closed forms and brute force."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar

import sojourn as sj
from small_envs import sentence

TURBOFANS = Path(__file__).parents[3] / "shared" / "data" / "cmapss" / "train_FD001.txt"
SCALE = 50.0


@cache
def cost(age: float, shape: float, failure: float, planned: float) -> float:
    """Return the cost per unit of time of replacing at an age (Barlow and Hunter 1960): lives are Weibull, with a scale of 50."""

    def alive(t: float) -> float:
        return math.exp(-((t / SCALE) ** shape))

    if age == math.inf:
        return failure / (SCALE * math.gamma(1.0 + 1.0 / shape))
    return (planned * alive(age) + failure * (1.0 - alive(age))) / float(quad(alive, 0.0, age, limit=200)[0])


def best_age(shape: float, failure: float, planned: float) -> float:
    """Return the best age of replacement."""
    found = minimize_scalar(
        lambda age: cost(age, shape, failure, planned), bounds=(1.0, 200.0), method="bounded"
    )
    return float(found.x)


def lives(
    seed: int, count: int, shape: float = 2.0, censored: bool = False, replaced: float = math.inf
) -> dict[str, Any]:
    """Return Weibull lives, some lost from sight, and some replaced at an age."""
    rng = np.random.default_rng([seed, count])
    life = SCALE * rng.weibull(shape, count)
    seen = rng.exponential(SCALE, count) if censored else np.full(count, math.inf)
    lasts, old = np.minimum(np.minimum(life, seen), replaced), np.minimum(life, seen) >= replaced
    return {"life": lasts, "failed": (life <= seen) & ~old, "replaced": old}


def test_the_best_age_of_weibull_lives_is_the_closed_form() -> None:
    """Of 5,000 lives at the quantiles of the law: every age earns what it costs in closed form, and the best is the best."""
    shape, failure, planned = 2.0, 10.0, 2.0
    life = SCALE * (-np.log1p(-(np.arange(5000) + 0.5) / 5000)) ** (1.0 / shape)
    best = best_age(shape, failure, planned)
    ages = [0.5 * best, 0.8 * best, best, 1.2 * best, 2.0 * best]
    log = sj.exact.read_lives(
        {"life": life, "failed": [True] * 5000}, failure_cost=failure, planned_cost=planned, ages=ages
    )
    found = log.when()
    assert found.start == pytest.approx(best)
    for age, gain in found.gains.items():
        assert -gain == pytest.approx(
            cost(math.inf if age is None else age, shape, failure, planned), rel=1e-3
        )
    assert -cost(math.inf, shape, failure, planned) < found.low < -cost(best, shape, failure, planned)
    assert f"replace from {found.start:.6g} on would earn" in found.sentence


def test_ages_are_worth_what_kaplan_and_meier_say() -> None:
    """With ties, lives that are lost from sight and failures on the very age; by exact fractions."""
    rng = np.random.default_rng(3)
    life, seen = rng.integers(1, 12, 80), rng.integers(1, 15, 80)
    lasts, failed = np.minimum(life, seen), life <= seen
    lasts[0], failed[0] = 12, True
    log = sj.exact.read_lives({"life": lasts, "failed": failed}, failure_cost=7, planned_cost=2, failure_time=1, planned_time=0.5, earning=3, ages=[4, 6.5, 9])  # fmt: skip
    for age in (4, 6.5, 9):
        alive, area, last = Fraction(1), Fraction(0), Fraction(0)
        for t in sorted({Fraction(int(y)) for y in lasts[failed] if y <= age}):
            area += alive * (t - last)
            risk, fails = int((lasts >= t).sum()), int((failed & (lasts == t)).sum())
            alive, last = alive * (1 - Fraction(fails, risk)), t
        area += alive * (Fraction(age) - last)
        earned = 3 * area - 7 * (1 - alive) - 2 * alive
        time = area + (1 - alive) + Fraction(1, 2) * alive
        policy = {state: "replace" for state in log.states if state >= age}  # type: ignore[operator] # numbers
        assert log.evaluate(policy).gain == pytest.approx(float(earned / time), rel=2e-4)
        assert log.when().gains[age] == log.evaluate(policy).gain


def test_ages_are_worth_what_they_would_have_cost_on_these_very_lives() -> None:
    """Brute force over lives of which none is lost; also of lives that were replaced, at ages up to that of replacement."""
    table = lives(1, 300)
    found = sj.exact.read_lives(table, failure_cost=10, planned_cost=2).when()
    life = table["life"]
    for age, gain in found.gains.items():
        at = math.inf if age is None else float(age)
        brute = np.where(life <= at, 10.0, 2.0).sum() / np.minimum(life, at).sum()
        assert -gain == pytest.approx(brute, rel=2e-4)
    old = lives(2, 300, replaced=30.0)
    log = sj.exact.read_lives(old, replaced="replaced", failure_cost=10, planned_cost=2)
    done = (10.0 * old["failed"] + 2.0 * old["replaced"]).sum() / old["life"].sum()
    assert log.behaviour.rate == pytest.approx(-done, rel=2e-4)
    assert max(log.states) == 30.0  # type: ignore[type-var]


def promises(
    count: int, logs: int, shape: float, censored: bool, replaced: float = math.inf
) -> tuple[int, int, int, float]:
    """Return how many tables give advice, how many limits are too high, how much advice is worse, and what is realised."""
    failure, planned = 10.0, 2.0
    before = cost(replaced, shape, failure, planned)
    possible = before - cost(best_age(shape, failure, planned), shape, failure, planned)
    advised = wrong = worse = 0
    realised = 0.0
    for seed in range(logs):
        table = lives(seed, count, shape, censored, replaced)
        if not table["failed"].any():
            continue
        found = sj.exact.read_lives(
            table, replaced="replaced", failure_cost=failure, planned_cost=planned
        ).when()
        if not found.kept:
            truth = cost(math.inf if found.start is None else float(found.start), shape, failure, planned)
            advised, wrong, worse = advised + 1, wrong + (found.low > -truth), worse + (truth > before + 1e-9)
            realised += (before - truth) / possible / logs
    return advised, wrong, worse, realised


def test_limits_hold_for_lives() -> None:
    """Of 20 tables of 200 lives, with and without lives lost from sight: no limit is too high, and most of the gain is found."""
    for censored in (False, True):
        advised, wrong, worse, realised = promises(200, 20, 2.0, censored)
        assert (advised, wrong, worse) == (20, 0, 0)
        assert realised >= 0.9
    assert promises(200, 10, 1.0, True)[0] <= 1  # without ageing there is nothing to gain


@pytest.mark.evidence
def test_limits_hold_for_many_lives(counted: Callable[..., None]) -> None:
    """Sizes, shapes, with lives lost from sight and units that were replaced too late or too early."""
    tables = wrong = worse = 0
    for count in (50, 200, 1000):
        for shape, censored, replaced in ((2.0, False, math.inf), (2.0, True, math.inf), (3.0, True, math.inf), (1.0, True, math.inf), (2.0, False, 60.0), (2.0, False, 15.0)):  # fmt: skip
            found = promises(count, 100, shape, censored, replaced)
            tables, wrong, worse = tables + 100, wrong + found[1], worse + found[2]
    counted("limits of the best age of replacement", tried=tables, failed=wrong)
    assert wrong <= 0.01 * tables
    assert worse <= 0.01 * tables


def at_level(table: pl.DataFrame, level: float, takes: float = 0.0) -> float:
    """Return what a replacement at a level would have cost on these very units: 100 for a failure, 20 if it is planned."""
    spent = time = 0.0
    for (_,), unit in table.group_by("unit"):
        clock = unit["time"].to_numpy()
        reached = np.flatnonzero(unit["bin"].to_numpy() >= level)
        spent += 20.0 if reached.size else 100.0
        time += (clock[reached[0]] + takes if reached.size else clock[-1]) - clock[0]
    return spent / time


def test_the_best_level_is_that_of_brute_force() -> None:
    """Wear that only grows: what each level would have cost on these very units, for a log with a known action."""
    rng, rows = np.random.default_rng(4), []
    for unit in range(120):
        wear = 0
        for time in range(200):
            rows.append((unit, time, wear, fails := bool(rng.random() < 0.0005 * wear**2)))
            if fails:
                break
            wear += int(rng.random() < 0.4)
    table = pl.DataFrame(rows, schema=["unit", "time", "bin", "failed"], orient="row")
    log = sj.read_events(table, state="bin", reward=lambda row: -100.0 * row["failed"], ends="renew")
    known = log.with_action(
        "replace", reward=-20.0, duration=0.0, next={0: 1.0}, where=[s for s in log.states if s]
    )
    found = known.when("replace")
    assert not found.kept
    for level, gain in list(found.gains.items())[:12]:
        assert -gain == pytest.approx(at_level(table, float(level)), rel=5e-3)
    brute = {level: at_level(table, level) for level in range(1, 13)}
    assert brute[found.start] <= 1.02 * min(brute.values())
    assert found.low < found.gain < -min(brute.values()) * 0.999


@pytest.mark.skipif(not TURBOFANS.exists(), reason="the turbofans are not part of the project")
def test_nasas_turbofans_by_age_and_by_wear() -> None:
    """The advised age and level are near the best that these very 100 engines would have had, and the level is worth more."""
    flights = pl.DataFrame(np.loadtxt(TURBOFANS)[:, [0, 1, 15]], schema=["unit", "time", "pressure"])
    life = flights.group_by("unit").agg(pl.len().alias("life")).with_columns(failed=True)
    age = sj.exact.read_lives(life, failure_cost=100, planned_cost=20).when()
    brute = {a: np.where(life["life"].to_numpy() <= a, 100.0, 20.0).sum() / np.minimum(life["life"].to_numpy(), a).sum() for a in age.gains if a is not None}  # fmt: skip
    assert -age.gains[age.start] == pytest.approx(brute[age.start], rel=1e-3)
    assert brute[age.start] <= 1.02 * min(brute.values())
    wear = pl.col("pressure").rolling_mean(5, min_samples=1).cum_max().over("unit")
    table = flights.with_columns(wear=wear, failed=pl.col("time") == pl.col("time").max().over("unit"))
    table = table.with_columns(sj.bins("wear", width=0.05).labels(table["wear"]).alias("bin"))
    log = sj.read_events(table, state="bin", reward=lambda row: -100.0 * row["failed"], ends="renew")
    found = log.with_action("replace", reward=-20.0, duration=1.0).when()
    levels = {level: at_level(table, level, 1.0) for level in found.gains if level is not None}
    assert levels[found.start] <= 1.02 * min(levels.values())
    assert -found.gains[found.start] == pytest.approx(levels[found.start], rel=0.02)
    assert -found.low > levels[found.start]
    assert levels[found.start] < 0.8 * brute[age.start]


def spans() -> sj.Log:
    """Return a log with two known actions."""
    log = sj.read_log(
        {"state": [0, 1] * 9, "action": ["run"] * 18, "reward": [1.0] * 18, "duration": [1.0] * 18}
    )
    return log.with_action("mend", reward=0.0, duration=1.0).with_action(
        "sell", reward=0.0, duration=1.0, where=[1]
    )


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: spans().when(), "the log has 2 actions with a known effect; name the action"),
    (lambda: spans().when("buy"), "the log does not have the action 'buy'; it has 'run', 'mend', 'sell'"),
    (lambda: sj.read_log({"state": ["a", "b"] * 9, "action": ["run", "mend"] * 9, "reward": [1.0] * 18, "duration": [1.0] * 18}).when("mend"), "the log has the state 'a', which is not a number; when needs states with an order, such as an age or a wear"),
    (lambda: spans().with_action("go", reward=0.0, duration=0.0, next={0: 1.0}), "duration is 0, and 'go' leads only to states where it can be taken again, which would never end; give a duration above 0, or where it can be taken"),
    (lambda: spans().with_action("go", reward=0.0, duration=1.0, where=[7]), "where has the state 7, which the log does not have; see log.states"),
    (lambda: sj.exact.read_lives({"life": [1.0, 2.0], "failed": [False, False]}, failure_cost=1, planned_cost=1), "none of 2 units failed, so the table does not say when units fail"),
    (lambda: sj.exact.read_lives({"life": [1.0, 2.0], "failed": [True, False]}, failure_cost=1, planned_cost=1, ages=[3]), "no unit lived longer than the first of the ages, 3"),
    (lambda: sj.exact.read_lives({"life": [0.0], "failed": [True]}, failure_cost=1, planned_cost=1), "the log has no row that can be used: 1 row has a life that is not above 0 (row 1)"),
    (lambda: sj.exact.read_lives({"life": [1.0], "failed": ["yes"]}, failure_cost=1, planned_cost=1), "the log has no row that can be used: 1 row has neither true nor false where it says whether it is failed (row 1)"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "said"), REFUSED)
def test_what_cannot_be_asked_is_said(call: Callable[[], object], said: str) -> None:
    """In one sentence."""
    assert sentence(call, ValueError) == said


def test_an_action_of_the_log_has_a_best_start_too() -> None:
    """Without any known effect: a log in which machines were mended at random; the threshold is the best of all policies by state."""
    rng = np.random.default_rng(9)
    rows, state = [], 0
    for _ in range(4000):
        action = "mend" if state == 4 or rng.random() < 0.3 else "run"
        after = 0 if action == "mend" else min(state + int(rng.random() < 0.5), 4)
        rows.append(
            (state, action, -4.0 if action == "mend" else 5.0 - state**2, rng.gamma(4.0, 0.25), after)
        )
        state = after
    names = ("state", "action", "reward", "duration", "next_state")
    log = sj.read_log(dict(zip(names, zip(*rows, strict=True), strict=True)))
    found, better = log.when("mend"), log.improve()
    assert found.start == min(one for one, act in better.policy.items() if act == "mend")  # type: ignore[type-var]
    assert found.gain == pytest.approx(better.gain)
    assert found.low == pytest.approx(better.low)


def test_the_best_age_does_not_depend_on_units() -> None:
    """Of money and time, from millionths to millions."""
    starts = []
    for unit in (1e-6, 1.0, 1e6):
        table = lives(5, 100)
        found = sj.exact.read_lives({"life": table["life"] * unit, "failed": table["failed"]}, failure_cost=10 / unit, planned_cost=2 / unit).when()  # fmt: skip
        starts.append((found.start / unit, found.low * unit * unit))
    assert starts[0] == pytest.approx(starts[1], rel=1e-6)
    assert starts[2] == pytest.approx(starts[1], rel=1e-6)
