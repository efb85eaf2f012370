"""Worlds that change, by name: their gains, their mirrors, and the authors' baits."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sojourn as sj
from sojourn.worlds.changes import jobs


@pytest.mark.parametrize("number", range(12))
def test_a_mirror_exchanges_the_rates_of_actions(number: int) -> None:
    """By the exact solver, always taking an action earns its rate in every regime, and its counterpart's rate in the mirror."""
    given = jobs.drawn(number)
    world, mirror = (sj.worlds.changes.random_changes(number, mirrored=one) for one in (False, True))
    assert world.gains == pytest.approx(given.rates.max(axis=1), rel=1e-12)
    assert mirror.gains == pytest.approx(world.gains, rel=1e-12)
    last = len(given.durations) - 1
    for rates in given.rates:
        plain, mirrored = (jobs._model(given, one) for one in (rates, rates[::-1]))
        for action in range(last + 1):
            policies = ([one, *([0] if given.way_back else [])] for one in (action, last - action))
            gains = [
                sj.evaluate(model, policy).gain
                for model, policy in zip((plain, mirrored), policies, strict=True)
            ]
            assert gains == pytest.approx([rates[action]] * 2, rel=1e-12)
        assert (plain.duration == mirrored.duration).all()
    assert (given.kind == "longest") == (given.rates.argmax(axis=1) == last).all()


def test_a_mirror_changes_at_the_same_times() -> None:
    """With the same seed, a world and its mirror have the same regimes at all times."""
    number = next(number for number in range(50) if jobs.drawn(number).drawn)
    both = [
        sj.start(sj.worlds.changes.random_changes(number, mirrored=one), sj.stream(3))[0]
        for one in (False, True)
    ]
    clocks = np.linspace(0.0, 20_000.0, 200).tolist()
    paths = [[sj.gain(world, clock) for clock in clocks] for world in both]
    assert len(set(paths[0])) > 1
    assert paths[0] == pytest.approx(paths[1], rel=1e-12)


def test_rush_hours_have_the_gains_of_the_queue() -> None:
    """Admitting fewer than L jobs makes an M/M/1/L queue, whose best gain over L is the regime's."""
    for arrivals, found in zip((0.5, 1.5), sj.worlds.changes.rush_hours().gains, strict=True):
        gains = []
        for limit in range(1, 21):
            weights = [(arrivals / 1.2) ** jobs for jobs in range(limit + 1)]
            shares = [weight / sum(weights) for weight in weights]
            waiting = sum(jobs * share for jobs, share in enumerate(shares))
            gains.append(5.0 * arrivals * (1.0 - shares[-1]) - waiting)
        assert found == pytest.approx(max(gains), rel=1e-9)


def test_paths_are_cut_into_pieces() -> None:
    """A fading trade pays in each piece what it would at its start; the gain of seasons is the better pay at the middle."""
    trade = sj.worlds.changes.fading_trade(first_pay=3.0, half_life=1000.0)
    for clock in (0.0, 99.0, 100.0, 1550.0, 9e9):
        begun = min(math.floor(clock / 100.0), 40) * 100.0
        assert sj.gain(trade, clock) == pytest.approx(max(1.0, 3.0 * 0.5 ** (begun / 1000.0)), rel=1e-12)
    year = sj.worlds.changes.seasons(swing=0.5, period=4000.0)
    for clock in (0.0, 150.0, 3950.0, 4010.0):
        middle = (math.floor(clock / 100.0) % 40 + 0.5) / 40.0
        assert sj.gain(year, clock) == pytest.approx(
            1.0 + abs(0.5 * math.sin(2 * math.pi * middle)), rel=1e-9
        )


BAITS: dict[str, Any] = {
    "ripening": (
        sj.worlds.changes.ripening_bait(),
        lambda n: (19.0 + n / 10_000, 6.0 + 5.5 * math.sin(2 * math.pi * n / 2000)),
        (10.0, 5.0),
    ),
    "rotting": (
        sj.worlds.changes.rotting_bait(bait_floor_after=700),
        lambda n: (20.0, 10.0 * 0.998 ** min(n, 700)),
        (14.0, 1.0),
    ),
}


@pytest.mark.parametrize("name", BAITS)
def test_baits_match_their_definition(name: str) -> None:
    """Rewards of both actions at each decision, and the dynamic regret, match the formulas over two episodes of 900."""
    world, pays, durations = BAITS[name]
    world_rng, choices = sj.stream(1), np.random.default_rng(2)
    owed = earned = 0.0
    for _ in range(2):
        world, state = sj.start(world, world_rng)
        for n in range(900):
            action = int(choices.integers(2))
            world, state, reward, duration = sj.step(world, state, action, world_rng)
            paid = pays(n)
            assert reward == pytest.approx(paid[action], rel=1e-12)
            assert duration == durations[action]
            owed += duration * max(pay / lasting for pay, lasting in zip(paid, durations, strict=True))
            earned += paid[action]
    assert world.truth.dynamic_regret == pytest.approx(owed - earned, rel=1e-9)
    assert sj.gain(world) is None  # not defined as a function of the clock


def test_sweeps_have_regret_and_tracking_error_where_the_truth_is_known(tmp_path: Path) -> None:
    """Both columns equal the run's own figures; they are empty for a world without a truth."""
    worlds = [{"kind": "pay-rise", "hold": [300, 900]}, {"kind": "two-state", "log_scale": 1e-3}]
    sweep = sj.runs.parse_sweep({"seeds": 2, "steps": 400, "world": worlds, "agent": [{"kind": "smart"}]})
    with ThreadPoolExecutor(1) as pool:
        sj.run_sweep(sweep, tmp_path, pool, jobs=1)
    table = sj.load_results(tmp_path)
    for row in table.iter_rows(named=True):
        if row["world"] == "two_state":
            assert row["dynamic_regret"] is row["tracking_error"] is None
        else:
            world = sj.worlds.changes.pay_rise(hold=row["hold"])
            run = sj.run(world, sj.smart(1, 2), 400, seed=row["seed"], compiled=False)
            assert (row["dynamic_regret"], row["tracking_error"]) == (run.dynamic_regret, run.tracking_error)
    assert table["gain"].null_count() == len(table)  # no single one holds throughout


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sj.worlds.changes.random_changes(-1), "number is -1"),
        (lambda: sj.worlds.changes.pay_rise(hold=0.0), "hold is 0.0"),
        (lambda: sj.worlds.changes.seasons(swing=1.0), "swing is 1.0; it must be at least 0 and below 1"),
        (lambda: sj.worlds.changes.fading_trade(first_pay=-1.0), "first_pay is -1.0"),
        (lambda: sj.worlds.changes.rush_hours(capacity=0), "capacity is 0"),
        (lambda: sj.worlds.changes.heavy_tails(tail=1.0), "tail is 1.0; it must be above 1"),
        (
            lambda: sj.worlds.changes.ripening_bait(bait_amplitude=6.0),
            "below bait_offset, so that the bait pays",
        ),
        (lambda: sj.worlds.changes.rotting_bait(bait_decay=1.0), "bait_decay is 1.0"),
        (lambda: sj.worlds.changes.rotting_bait(build_duration=0.0), "build_duration is 0.0"),
    ],
)
def test_wrong_numbers_get_one_sentence(call: Any, message: str) -> None:
    """The error names what is wrong."""
    with pytest.raises((ValueError, TypeError), match=message):
        call()
