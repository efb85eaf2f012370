"""The paper's claims on its market study: its data, its setup and its results."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sojourn as sj
from ledger import judged, passes, shows
from paper import test_bitcoin
from sojourn.runs.executors import executor
from sojourn.runs.store import run_sweep
from sojourn.worlds.market.bars import segments
from sojourn_paper.bitcoin import plan, tables
from sojourn_paper.bitcoin import tables as summary
from sojourn_paper.bitcoin.durations import largest_rate, scaled_durations

close = pytest.approx
REAL = Path(__file__).parents[2] / "../shared/data/btcusd_1min.parquet"
MEASURED = Path(__file__).with_name("measured_bitcoin.toml")

needs_recorded = pytest.mark.skipif(
    not REAL.is_file(), reason="the recorded minutes are not part of the project"
)


@pytest.fixture(scope="module")
def parts() -> list[Any]:
    """The moves of the recorded minutes, by segment."""
    bars = pl.read_parquet(REAL, columns=["open", "close"])
    moves = (bars["close"] - bars["open"]).to_numpy()
    return [moves[begin:end] for begin, end in segments(len(moves), 350_000)]


def drawn_market(duration: str) -> tuple[Any, Any, Any]:
    """Moves, rewards and durations of always buying in a synthetic market of heavy-tailed moves."""
    moves = np.random.default_rng(2).standard_t(3, size=2000)
    world, rng = sj.worlds.Market(np.full(2000, 1e4), 1e4 + moves, duration=duration), sj.stream(0)
    world, state = sj.start(world, rng)
    rows = []
    for _ in range(len(moves)):
        world, state, reward, seconds = sj.step(world, state, 0, rng)
        rows.append((reward, seconds))
    rewards, durations = np.array(rows).T
    return world.moves, rewards, durations


# --- The data ---


@needs_recorded
@shows("minutes-a-year")
def test_minutes_a_year() -> str:
    """Of the recorded minutes, more than 500,000 a year have a trade from 2017 on, and 311,565 in 2016."""
    year = pl.from_epoch("timestamp").dt.year().alias("year")
    traded = pl.scan_parquet(REAL).filter(~pl.col("filled")).group_by(year).len().collect()
    counts = dict(traded.iter_rows())
    assert counts[2016] == 311_565
    many = {year: 500_000 < counts[year] <= 366 * 24 * 60 for year in range(2014, 2025)}
    return judged(all(many.values()), all(many[year] for year in range(2017, 2025)))


@shows("segments-21")
def test_segments_of_the_paper() -> str:
    """The minutes from 2012 to the middle of September 2025 are 21 segments of 350,000, the last one shorter."""
    first, last = datetime(2012, 1, 1, tzinfo=UTC), datetime(2025, 9, 15, tzinfo=UTC)
    found = segments(int((last - first).total_seconds()) // 60, 350_000)
    lengths = [end - begin for begin, end in found]
    return judged(len(found) == 21 and set(lengths[:-1]) == {350_000} and lengths[-1] < 350_000)


@needs_recorded
@shows("stylised-facts")
def test_stylised_facts(parts: list[Any]) -> str:
    """In every segment the moves have heavier tails than normal ones, and large moves follow large ones."""
    found, scale = [], []
    for moves in parts:
        size = np.abs(moves)
        kurtosis = float((moves**4).mean() / (moves**2).mean() ** 2)
        clustering = float(np.corrcoef(size[1:], size[:-1])[0, 1])
        found.append(kurtosis > 6.0 and clustering > 0.1)
        scale.append(size.mean())
    assert max(scale) > 10.0 * min(scale)  # the size of a typical move differs between segments
    return judged(all(found))


@needs_recorded
@shows("negative-and-zero-values")
def test_signs_of_the_moves(parts: list[Any]) -> str:
    """In every segment some minutes rise, some fall, and some do not move."""
    return judged(all(set(np.unique(np.sign(moves))) == {-1.0, 0.0, 1.0} for moves in parts))


# --- The setup ---


@shows("quicker-uses-more")
def test_quicker_actions() -> str:
    """An action earns its move minus the part that has passed: quicker actions earn more of it."""
    moves, rewards, durations = drawn_market("random")
    kept = rewards / moves
    assert kept == close(1.0 - durations / 60.0)
    order = np.argsort(durations)
    return judged((np.diff(kept[order]) <= 1e-12).all())


@shows("no-look-ahead")
def test_look_ahead() -> str:
    """A large move in the last minute changes the scaled duration of the first, but no random duration."""
    prices = 100.0 + np.array([0.0, 1.0, -1.0, 2.0, 0.5])
    durations = {}
    for rule in ("random", "scaled"):
        firsts = []
        for last in (0.5, 50.0):
            closes = np.append(prices[:-1], 100.0 + last)
            world, rng = sj.worlds.Market(np.full(5, 100.5), closes, duration=rule), sj.stream(0)
            world, state = sj.start(world, rng)
            firsts.append(sj.step(world, state, 0, rng)[3])
        durations[rule] = firsts
    clean = {rule: first == second for rule, (first, second) in durations.items()}
    return judged(all(clean.values()), clean["random"])


@shows("random-independent")
def test_random_durations_and_rewards() -> str:
    """With random durations a reward is a move times (1 - tau/60), so it shrinks with the duration: they are dependent."""
    moves, rewards, durations = drawn_market("random")
    assert abs(np.corrcoef(np.abs(moves), durations)[0, 1]) < 0.1  # the move is independent of the duration
    size = np.abs(rewards)
    quick, slow = size[durations < 15.0].mean(), size[durations > 35.0].mean()
    assert quick > 1.5 * slow
    return judged(quick == close(slow, rel=0.25))


@shows("scaled-larger-longer")
def test_scaled_durations_and_rewards() -> str:
    """Durations increase with the move; the reward decreases beyond 7/8 of the largest move."""
    moves = np.linspace(-1.0, 1.0, 401)
    world = sj.worlds.Market(np.zeros(401), moves, duration="scaled")
    durations = scaled_durations(world)
    rewards = moves * (1.0 - durations / 60.0)
    assert moves[rewards.argmax()] == close(7.0 / 8.0)
    with_reward = (np.diff(durations[np.argsort(rewards, kind="stable")]) > 0.0).all()
    return judged(with_reward, (np.diff(durations) > 0.0).all())


@needs_recorded
def test_scaled_durations_hardly_differ(parts: list[Any]) -> None:
    """Of the recorded minutes 98 % take 24 to 26 s, in the median over segments: the largest move is far away."""
    outer = [np.quantile(25.0 + 20.0 * part / np.abs(part).max(), [0.01, 0.99]) for part in parts]
    assert np.median(outer, axis=0) == close([24.0, 26.0], abs=0.1)


# --- The results, measured once at full size ---


def measured() -> pl.DataFrame:
    """The win ratios of the recorded study."""
    rows = []
    for rule, opponents in tomllib.loads(MEASURED.read_text()).items():
        for opponent, cells in opponents.items():
            for cell, signs in cells.items():
                size, step = cell.split()
                rows += [
                    {
                        "opponent": opponent,
                        "segment": segment,
                        "duration_rule": rule,
                        "state_size": int(size),
                        "rate_step_size": float(step),
                        "difference": {"+": 1.0, "-": -1.0}[sign],
                        "error": 0.0,
                    }
                    for segment, sign in enumerate(signs)
                ]
    return pl.DataFrame(rows)


def outcome(rule: str, *opponents: str) -> dict[str, float]:
    """The joint outcome of a rule's cells against some opponents."""
    ratios = tables.win_ratios(measured())
    verdicts = [summary.verdict(ratios, rule, opponent) for opponent in opponents]
    assert all(one["decidable"] and one["cells"] == 12 and one["segments"] == 19 for one in verdicts)
    return {
        "cells": sum(one["cells"] for one in verdicts),
        "ahead": sum(one["ahead"] for one in verdicts),
        "certain_wins": sum(one["certain_wins"] for one in verdicts),
        "certain_losses": sum(one["certain_losses"] for one in verdicts),
    } | {f"mean_{name}": round(one["mean"], 2) for name, one in zip(opponents, verdicts, strict=True)}


@shows("figure-random")
def test_figure_random() -> str:
    """With random durations Harmonic wins 39 % against SMART and 55 % against Relaxed-SMART, clearly in 1 of 24 cells."""
    found = outcome("random", "smart", "relaxed_smart")
    assert (found["mean_smart"], found["mean_relaxed_smart"], found["cells"]) == (0.39, 0.55, 24)
    clear = tables.win_ratios(measured()).filter(
        pl.col("p_corrected") < plan.LEVEL, pl.col("duration_rule") == "random"
    )
    exceptions = clear.select("opponent", "state_size", "rate_step_size").rows()
    return judged(found["certain_wins"] == 0, exceptions == [("relaxed_smart", 9, 0.1)])


@shows("figure-scaled")
def test_figure_scaled() -> str:
    """With scaled durations Harmonic wins 46 % and 57 %, is ahead in 12 of 24 cells and clearly so in none."""
    found = outcome("scaled", "smart", "relaxed_smart")
    assert (found["mean_smart"], found["mean_relaxed_smart"], found["ahead"]) == (0.46, 0.57, 12)
    return judged(found["certain_wins"] > found["cells"] / 2, other_data=True)


@shows("rate-sensitive-testbed")
def test_the_control_in_the_market() -> str:
    """Against the rate fixed at 0 Harmonic wins 51 % and 54 %, clearly in no cell: knowing the rate does not help."""
    found = [outcome(rule, "fixed_rate") for rule in plan.RULES]
    assert [one["mean_fixed_rate"] for one in found] == [0.51, 0.54]
    return judged(sum(one["certain_wins"] for one in found) > 0)


@shows("dependency-gives-advantage")
def test_what_a_rate_can_change_in_the_market() -> str:
    """No rate below a bound changes which action is better, and no r/tau comes near it: dependence has no effect."""
    assert largest_rate() < 0.25
    no_rate_matters = passes(test_bitcoin.test_no_rate_below_the_bound_changes_the_better_action)
    return judged(not no_rate_matters or outcome("scaled", "smart", "relaxed_smart")["certain_wins"] > 0)


@needs_recorded
def test_the_measured_signs_come_out_again(tmp_path: Path) -> None:
    """On the last segment, with 30 seeds and three directions, each sign against SMART is reproduced."""
    sweep = plan.specification(plan.Source(str(REAL)), 30, state_sizes=(3,), chosen=(18,))
    sweep = replace(sweep, agents=[agent for agent in sweep.agents if agent.kind in ("smart", "harmonic_r")])
    with executor(None) as (pool, width):
        run_sweep(sweep, tmp_path / "out", pool, width)
    pairs = tables.paired(tables.tidy(sj.load_results(tmp_path / "out")))
    keys = ["opponent", *tables.CELL, "segment"]
    both = pairs.join(measured(), on=keys, suffix="_measured")
    assert len(both) == len(pairs) == 6
    assert (both["difference"].sign() == both["difference_measured"]).all()
