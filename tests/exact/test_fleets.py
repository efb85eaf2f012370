"""Real fleets, where their data is: Rust's buses and NASA's turbofans, each with an independent computation beside it."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sojourn as sj
from log_samples import as_log, behaviours, log_of, machine, models
from small_envs import sentence

SHARED = Path(__file__).parents[3] / "shared" / "data"
BUSES, TURBOFANS = SHARED / "buses" / "a530875.asc", SHARED / "cmapss" / "train_FD001.txt"


def fleet(seed: int, units: int = 60) -> pl.DataFrame:
    """Return units that wear one step at a time, or fail and end, with the row of the failure last."""
    rng, rows = np.random.default_rng(seed), []
    for unit in range(units):
        wear, time = 0, 0
        while rng.random() > 0.01 * wear**2:
            rows.append((unit, time, wear, False))
            wear, time = wear + int(rng.random() < 0.4), time + int(rng.integers(1, 4))
        rows.append((unit, time, wear, True))
    return pl.DataFrame(rows, schema=["unit", "time", "wear", "failed"], orient="row")


def read(table: pl.DataFrame, **more: Any) -> sj.Log:
    """Read a fleet that earns 1 per unit of time and pays 200 for a failure; the next unit follows."""
    log = sj.read_events(
        table,
        reward=lambda row: -200.0 * row["failed"],
        earning=1.0,
        ends="renew",
        **{"state": "wear"} | more,
    )
    return log.with_action("overhaul", reward=-40.0, duration=5.0)


def at_level(table: pl.DataFrame, level: float, state: str = "wear") -> float:
    """Return what an overhaul at a level would have earned on these very units."""
    earned = time = 0.0
    for (_,), unit in table.group_by("unit"):
        clock = unit["time"].to_numpy() - unit["time"][0]
        reached = np.flatnonzero(unit[state].to_numpy() >= level)
        pay, lasts = (-40.0, 5.0) if reached.size else (-200.0, 0.0)
        end = clock[reached[0]] if reached.size else clock[-1]
        earned, time = earned + end + pay, time + end + lasts
    return earned / time


def overhauled(log: sj.Log, level: float) -> dict[Any, str]:
    """Return the policy that overhauls from a level on."""
    return {state: "overhaul" for state in log.states if state >= level}  # type: ignore[operator] # numbers


@pytest.mark.parametrize("seed", range(3))
def test_a_known_action_is_worth_what_it_would_have_earned_on_these_very_units(seed: int) -> None:
    """Wear only grows, so the log's model has exactly the counts of units that reach each level: brute force agrees."""
    table = fleet(seed)
    log = read(table)
    levels = [level for level in log.states if log.evaluate(overhauled(log, level)).rests_on >= 10]  # type: ignore[arg-type]
    values = {level: log.evaluate(overhauled(log, level)).gain for level in levels}  # type: ignore[arg-type]
    for level, gain in values.items():
        assert gain == pytest.approx(at_level(table, level), rel=2e-3)  # type: ignore[arg-type]
    assert log.behaviour.rate == pytest.approx(at_level(table, np.inf), rel=1e-9)
    assert log.evaluate({}).gain == log.behaviour.rate
    better = log.improve()
    assert not better.kept
    assert better.low < better.gain <= log.evaluate(better.policy).gain <= max(values.values()) + 1e-6
    assert set(better.counts.values()) >= {0}  # the log never overhauled


def test_limits_with_a_known_action_hold() -> None:
    """In 40 fleets the limit is above the truth (exact, by the same chances) at most twice."""
    rows = []
    for wear in range(11):
        fails = min(0.01 * wear**2, 1.0)
        for worse, chance in ((0, 0.6), (1, 0.4)):
            rows.append((wear, "run", min(wear + worse, 10), (1.0 - fails) * chance, 2.0, 2.0))
        rows.append((wear, "run", 0, fails, -200.0, 1e-12))
        rows.append((wear, "overhaul", 0, 1.0, -40.0, 5.0))
    model = sj.models.from_transitions([row for row in rows if row[3] > 0.0])
    wrong = advised = 0
    for seed in range(40):
        better = read(fleet(100 + seed, 100)).improve()
        share = np.array(
            [[0.0, 1.0] if better.policy.get(wear) == "overhaul" else [1.0, 0.0] for wear in range(11)]
        )
        advised += not better.kept
        wrong += not better.kept and better.low > sj.evaluate(model, share).gain
    assert advised >= 35
    assert wrong <= 2


def test_a_known_effect_replaces_what_the_log_shows() -> None:
    """Also of an action that the log has; and a new unit begins where units were seen to begin."""
    table = {"unit": [1, 1, 1, 2, 2, 2], "time": [0, 1, 2, 0, 1, 3], "state": ["a", "b", "a", "c", "b", "a"], "action": ["x", "y", "x"] * 2, "reward": [1.0] * 6}  # fmt: skip
    log = sj.read_events(table, ends="renew").with_action("y", reward=-7.0, duration=2.0)
    model = log.model()
    pair = model.pair(log.states.index("b"), log.actions.index("y"))
    cells = slice(model.row_offsets[pair], model.row_offsets[pair + 1])
    assert (model.reward[pair], model.duration[pair], log.counts()["b"]) == (-7.0, 2.0, {"y": 2})
    assert model.probability[cells].tolist() == [0.5, 0.5]
    assert [log.states[state] for state in model.successor[cells]] == ["a", "c"]
    assert log.evaluate({}).gain == log.behaviour.rate
    for call, said in (
        (lambda: log.with_action("z", reward=1.0, duration=0.0), "duration is 0, and 'z' leads only to states where it can be taken again, which would never end; give a duration above 0, or where it can be taken"),
        (lambda: log.with_action("z", reward=1.0, duration=1.0, next={"d": 1.0}), "next has the state 'd', which the log does not have; see log.states"),
        (lambda: log.with_action("z", reward=1.0, duration=1.0, next={"a": 0.5}), "the probabilities of next sum to 0.5; they must sum to 1"),
    ):  # fmt: skip
        assert sentence(call, ValueError) == said


# --- Data that is not part of the project ---------------------------------------------------


def naive_gain(rows: list[tuple[Any, ...]]) -> float:
    """Return the gain of the shares in (state, reward, duration, next state), by power iteration over counts."""
    moves: defaultdict[Any, Counter[Any]] = defaultdict(Counter)
    pays: defaultdict[Any, float] = defaultdict(float)
    times: defaultdict[Any, float] = defaultdict(float)
    for state, reward, duration, after in rows:
        moves[state][after] += 1
        pays[state] += reward
        times[state] += duration
    visits = dict.fromkeys(moves, 1.0 / len(moves))
    for _ in range(20_000):
        following: defaultdict[Any, float] = defaultdict(float)
        for state, share in visits.items():
            for after, count in moves[state].items():
                following[after] += share * count / moves[state].total()
        visits = {state: 0.5 * share + 0.5 * following[state] for state, share in visits.items()}
    per = [{state: sums[state] / moves[state].total() for state in moves} for sums in (pays, times)]
    earned, taken = (sum(share * mean[state] for state, share in visits.items()) for mean in per)
    return float(earned / taken)


@pytest.mark.skipif(not BUSES.exists(), reason="the buses are not part of the project")
def test_rusts_buses() -> None:
    """Behaviour, `evaluate({})` and a count by hand agree, though no bus has reached the long run; so do the thresholds."""
    buses = np.loadtxt(BUSES).reshape(37, 128)
    odometer, first = buses[:, 11:], buses[:, [5]]
    miles = odometer - np.where((first > 0) & (odometer >= first), first, 0.0)
    done = np.where(np.diff(miles, axis=1, append=np.inf) < 0, "replace", "keep")
    bus, month = np.indices(miles.shape)
    table = {"bus": bus.ravel(), "month": month.ravel(), "miles": miles.ravel(), "done": done.ravel()}
    log = sj.read_events(table, unit="bus", time="month", state=[sj.bins("miles", width=25_000)], action="done", reward=lambda row: -7513.0 * (row["done"] == "replace") - 3.42e-4 * row["miles"])  # fmt: skip
    rows: list[tuple[Any, ...]] = []
    for each in range(37):
        for when in range(116):
            here, after = miles[each, when], miles[each, when + 1]
            cost = -7513.0 * (after < here) - 3.42e-4 * here
            rows.append((here // 25_000, cost, 1.0, after // 25_000))
    assert (len(log), log.censored) == (37 * 116, 37)
    assert log.behaviour.rate == log.evaluate({}).gain == pytest.approx(naive_gain(rows), rel=1e-3)
    assert not log.behaviour.reached_long_run
    assert log.behaviour.observed == pytest.approx(sum(row[1] for row in rows) / len(rows))
    better = log.improve()
    assert better.gain >= better.behaviour.rate


@pytest.mark.skipif(not TURBOFANS.exists(), reason="the turbofans are not part of the project")
def test_nasas_turbofans() -> None:
    """The advised threshold is the best by brute force on these very 100 engines, and is worth what they would have earned."""
    flights = pl.DataFrame(np.loadtxt(TURBOFANS)[:, [0, 1, 15]], schema=["unit", "time", "pressure"])
    wear = pl.col("pressure").rolling_mean(5, min_samples=1).cum_max().over("unit")
    table = flights.with_columns(wear=wear, failed=pl.col("time") == pl.col("time").max().over("unit"))
    log = read(table, state=sj.bins("wear", width=0.1))
    better = log.improve()
    table = table.with_columns(sj.bins("wear", width=0.1).labels(table["wear"]).alias("bin"))
    brute = {level: at_level(table, level, "bin") for level in sorted(set(table["bin"]))}
    best = max(brute, key=lambda level: brute[level])
    advised = min(state for state, action in better.policy.items() if action == "overhaul")  # type: ignore[type-var]
    assert advised == best
    assert log.evaluate(better.policy).gain == pytest.approx(brute[best], abs=1e-3)
    assert better.low < brute[best]
    assert log.behaviour.rate == log.evaluate({}).gain == pytest.approx(at_level(table, np.inf), abs=1e-6)


# --- Sums -----------------------------------------------------------------------------------


def summed(table: pl.DataFrame) -> pl.DataFrame:
    """Return the sums of a log that any engine can make."""
    reward, duration = pl.col("reward"), pl.col("duration")
    return table.group_by("state", "action", "next_state").agg(
        pl.len().alias("count"), reward.sum(), duration.sum(),
        (reward * reward).sum().alias("reward_reward"), (duration * duration).sum().alias("duration_duration"),
        (reward * duration).sum().alias("reward_duration"),
    )  # fmt: skip


def test_sums_give_the_answers_of_their_log() -> None:
    """Gains to rounding, the same advice, and nearly the same intervals, since nothing is skewed; partial sums add up."""
    model = machine()
    rows = log_of(model, np.full((5, 3), 1.0 / 3.0), 5000, 4)
    table = pl.DataFrame(rows._asdict())
    log = sj.read_log(table)
    for sums in (summed(table), pl.concat([summed(table[:1700]), summed(table[1700:])])):
        other = sj.Log.from_sums(sums)
        assert (len(other), other.states, other.counts()) == (len(log), log.states, log.counts())
        assert other.evaluate({0: 1}).gain == pytest.approx(log.evaluate({0: 1}).gain, rel=1e-12)
        for one, two in ((log.behaviour, other.behaviour), (log.evaluate({0: 1}), other.evaluate({0: 1}))):
            assert two[:3] == pytest.approx(one[:3], rel=0.02)
        assert other.behaviour.rate == pytest.approx(log.behaviour.rate, rel=1e-12)
        assert other.improve().policy == log.improve().policy
        assert other.improve().gain == pytest.approx(log.improve().gain)
        assert other.improve().low == pytest.approx(log.improve().low, rel=0.1)
        assert "one of sums" in other.findings[-1]
        known = [one.with_action("stop", reward=0.0, duration=1.0, next={0: 1.0}) for one in (log, other)]
        assert known[0].improve().policy == known[1].improve().policy
    told = sentence(lambda: sj.Log.from_sums(summed(table).with_columns(count=0.5)), ValueError)
    assert "a count that is not a whole number from 1" in told


# --- Memory and drift -----------------------------------------------------------------------


def warned(policies: int, seeds: range, names: Sequence[str] = ()) -> tuple[int, int, int]:
    """Return in how many logs that are Markov and stationary memory is found, and drift, and the number of logs."""
    memory = drift = logs = 0
    for model in [model for name, model in models().items() if name in names or not names]:
        for policy in list(behaviours(model).values())[:policies]:
            for count in (300, 3000):
                for seed in seeds:
                    found = as_log(log_of(model, policy, count, 1000 + seed), model).markov()
                    memory, drift, logs = (
                        memory + (not found.is_markov),
                        drift + (not found.is_stationary),
                        logs + 1,
                    )
    return memory, drift, logs


def test_the_checks_seldom_warn_without_a_reason() -> None:
    """Of memory or of drift, in at most 5 % of logs that have neither."""
    memory, drift, logs = warned(2, range(8))
    assert max(memory, drift) <= 0.05 * logs


def test_the_checks_seldom_warn_where_states_are_rare() -> None:
    """Tijms' machine in 300 rows: where a rare state should follow another one once and has not, that is no memory."""
    memory, drift, logs = warned(2, range(40), ["maintenance"])
    assert max(memory, drift) <= 0.05 * logs


@pytest.mark.evidence
def test_the_checks_seldom_warn_in_many_logs(counted: Any) -> None:
    """The same in ten times as many logs, and about so of each model; its four behaviours share seeds, so counts cluster."""
    found = {name: warned(4, range(40), [name]) for name in models()}
    counted(
        "logs that are Markov and stationary, with a warning",
        tried=2 * sum(logs for *_, logs in found.values()),
        failed=sum(memory + drift for memory, drift, _ in found.values()),
    )
    for memory, drift, logs in found.values():
        assert max(memory, drift) <= 0.07 * logs
    memory, drift, logs = (sum(each) for each in zip(*found.values(), strict=True))
    assert max(memory, drift) <= 0.03 * logs


def tickets(seed: int, units: int, remembered: bool) -> sj.Log:
    """Return tickets that are new, in work, waiting or closed; if it is remembered, those that waited are closed less often."""
    rng, rows, begins = np.random.default_rng([7, seed]), [], 0.0
    for unit in range(units):
        begins += rng.exponential(0.5)
        time, state, before = begins, "new", "new"
        while state != "closed":
            action = "handle" if rng.random() < 0.7 else "escalate"
            rows.append((unit, time, state, action))
            time += rng.exponential({"new": 0.5, "work": 2.0, "wait": 4.0}[state])
            chance = 0.5 if not remembered else 0.3 if before == "wait" else 0.6
            chance += 0.1 * (action == "escalate")
            after = "work" if state != "work" else "closed" if rng.random() < chance else "wait"
            before, state = state, after
        rows.append((unit, time, "closed", "handle"))
    table = pl.DataFrame(rows, schema=["unit", "time", "state", "action"], orient="row")
    return sj.read_events(table, reward=lambda row: 1.0 * (row["state"] == "closed"), ends="renew")


def calls(seed: int, count: int, moves: float) -> sj.Log:
    """Return the states of a line of calls in one stream of events, whose rate of arrivals moves up and down twice."""
    rng, time, waiting = np.random.default_rng([7, seed]), 0.0, 0
    rows = []
    for _ in range(count):
        action = "take" if rng.random() < 0.5 else "refer"
        rows.append((time, waiting, action, 2.0 * (action == "take") - 0.2 * waiting))
        arrives = 1.0 + moves * math.sin(4.0 * math.pi * time / count)
        leaves = 1.2 * min(waiting, 3) + (waiting > 0)
        time += rng.exponential(1.0 / (arrives + leaves))
        waiting = min(waiting + 1, 8) if rng.random() < arrives / (arrives + leaves) else max(waiting - 1, 0)
    return sj.read_events(
        pl.DataFrame(rows, schema=["time", "state", "action", "reward"], orient="row"), unit=None
    )


def test_tickets_that_remember_and_calls_that_move_are_found() -> None:
    """In all of three logs each; the verdict names what was found."""
    for seed in range(3):
        assert "the next state depends on the state before" in tickets(seed, 300, True).markov().verdict
        assert "depends on the time" in calls(seed, 3000, 0.8).markov().verdict


@pytest.mark.evidence
def test_tickets_and_calls_get_no_warning_without_a_reason(counted: Any) -> None:
    """In at most 5 % of logs like them in which nothing is remembered and nothing moves."""
    made: list[Callable[[int], sj.Log]] = [
        lambda seed: tickets(seed, 100, False),
        lambda seed: tickets(seed, 400, False),
        lambda seed: calls(seed, 1000, 0.0),
        lambda seed: calls(seed, 4000, 0.0),
    ]
    warnings = [
        sum("nothing speaks" not in make(seed).markov().verdict for seed in range(500)) for make in made
    ]
    counted(
        "tickets and calls that are Markov and stationary, with a warning", tried=2000, failed=sum(warnings)
    )
    assert max(warnings) <= 0.05 * 500


def test_the_checks_find_memory_and_drift() -> None:
    """A hidden phase of the machine, and a rate that moves; the verdict says what to add. Sums cannot be checked."""
    rng = np.random.default_rng(8)
    phase = np.cumsum(rng.random(2000) < 0.05) % 2
    table = {"state": [0] * 2000, "action": rng.integers(0, 2, 2000), "reward": rng.normal(phase), "duration": rng.exponential(size=2000)}  # fmt: skip
    found = sj.read_log(table).markov()
    assert "the reward depends on the reward before" in found.verdict
    assert "add it to the state" in found.verdict
    moving = sj.read_log(table | {"reward": rng.normal(np.linspace(0.0, 0.5, 2000))}).markov()
    assert moving.is_markov
    assert "the log is not stationary: the reward depends on the time" in moving.verdict
    seen = sj.read_log(table | {"state": phase}).markov()
    assert seen.is_markov
    assert seen.is_stationary
    told = sentence(lambda: sj.Log.from_sums(summed(pl.DataFrame(log_of(machine(), np.full((5, 3), 1 / 3), 99, 1)._asdict()))).markov(), ValueError)  # fmt: skip
    assert told.startswith("the log is one of sums")
    assert sj.read_log({"state": [0] * 9, "action": [0] * 9, "reward": [1] * 9, "duration": [1] * 9}).markov().verdict == "the log is too short to tell whether its states are Markov"  # fmt: skip
