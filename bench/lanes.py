"""How fast runs are that are taken side by side: every figure a ratio, all measured in one run.

Five ways to make the same 32 runs: Sojourn side by side, Sojourn one after the other, the loop in C (reference.c), and
lanes in C, once with all that our agents have as numbers of each lane (decay, readings of "greedy", missing actions,
steps without time), and once lean: without what these runs do not use. C with lanes is also built without contraction
of a*b + c, where its results must be equal to ours; what is timed is C as it comes. It needs -fno-trapping-math, or gcc
makes no vector instructions of it.

Prints a table and, with --json FILE, writes the figures.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import sojourn as sj
from bench import (
    AGENTS,
    EXPLORATION,
    LOG_SCALE,
    RATE_STEP_SIZE,
    RECORDED,
    STEP_SIZE,
    agent_for,
    at,
    build,
    fastest,
    geometric_mean,
    in_c,
)
from sojourn.rules.random import streams
from sojourn.rules.values import LANES, stacked
from sojourn.runs.batch import LANES_PAY, Batch, run_batch
from sojourn.runs.build import build_world
from sojourn.runs.recording import Length, Recording
from sojourn.worlds.protocol import ready_world

# Ready: a world's arrays are copied once, and not for each call that is timed.
WORLDS: dict[str, Any] = {
    "two-state": sj.worlds.TwoState(log_scale=LOG_SCALE),
    "recorded": ready_world(RECORDED),
}
LENGTHS = {"two-state": Length(1000, 1000), "recorded": Length(1_000_000)}
NOTHING = Recording(np.zeros(0, dtype=np.int64))
NUMBERS = 28  # of a run of Harmonic: its agent, totals and streams
NUM_STATES = {"two-state": 2, "recorded": 8}


def seeds_in(world: str, runs: int = LANES) -> list[int]:
    """Return the seeds of runs that meet the same world: one seed where it decides the noise."""
    return [1] * runs if world == "two-state" else list(range(1, runs + 1))


def ours(world: str, index: int, planned: int = LANES_PAY, runs: int = LANES) -> Batch:
    """Make runs, side by side if so many steps are planned."""
    agents = stacked([agent_for(index, NUM_STATES[world])] * runs)
    return run_batch(WORLDS[world], agents, seeds_in(world, runs), LENGTHS[world], NOTHING, None, planned)


def steps_of(batch: Batch) -> int:
    """Return the steps of all runs together."""
    return int(np.sum(batch.totals.steps))


def lanes_in_c(library: Any, world: str, index: int) -> tuple[np.ndarray[Any, Any], int]:
    """Make the runs in C; return rewards and rewards of accepted steps, by lane, and the number of steps."""
    i64, f64 = ctypes.c_int64, ctypes.c_double
    pairs = [streams(seed, 2) for seed in seeds_in(world)]
    world_rng, rngs = pairs[0][0], np.ascontiguousarray(np.array([pair[1] for pair in pairs]).T)
    q, out, length = np.zeros((NUM_STATES[world], 2, LANES)), np.zeros((2, LANES)), LENGTHS[world]
    rates = (f64(STEP_SIZE), f64(RATE_STEP_SIZE), f64(EXPLORATION))
    if world == "two-state":
        library.lanes_two_state(
            index, LANES, i64(length.episodes), i64(length.steps), f64(LOG_SCALE), *rates, at(world_rng), at(rngs),
            at(q), at(out),
        )  # fmt: skip
    else:
        library.lanes_recorded(
            index, LANES, i64(8), i64(length.steps), at(RECORDED.rewards), at(RECORDED.durations),
            at(RECORDED.states), *rates, at(rngs), at(q), at(out),
        )  # fmt: skip
    return out, length.total * LANES


def check_equal(library: Any, world: str, index: int) -> None:
    """Side by side, one after the other and in C: all must agree, or the comparison means nothing."""
    lanes, scalar = ours(world, index), ours(world, index, planned=0)
    found, _ = lanes_in_c(library, world, index)
    expected = np.array([scalar.totals.reward, scalar.totals.greedy_reward])
    tolerance = 0.0 if world == "recorded" else 1e-11  # C has its own sine
    same = np.array_equal(lanes.totals.greedy_reward, scalar.totals.greedy_reward)
    if not (same and np.allclose(found, expected, tolerance, 0.0)):
        sys.exit(f"side by side, {AGENTS[index][0]} in the {world} world comes to other numbers")


def compare(folder: Path) -> list[dict[str, Any]]:
    """Time the five ways for each agent and world."""
    quick = "-fno-trapping-math"
    exact, wide = build(folder, "exact", "-ffp-contract=off", quick), build(folder, "wide", quick)
    exact_lean = build(folder, "exact_lean", "-ffp-contract=off", quick, "-DLEAN")
    lean, plain = build(folder, "lean", quick, "-DLEAN"), build(folder, "plain")
    rows = []
    for index, (name, _, _) in enumerate(AGENTS):
        for world in WORLDS:
            check_equal(exact, world, index)
            check_equal(exact_lean, world, index)
            lanes, scalar, c_lanes, c_lean, c = fastest(
                lambda: steps_of(ours(world, index)),  # noqa: B023
                lambda: steps_of(ours(world, index, planned=0)),  # noqa: B023
                lambda: lanes_in_c(wide, world, index)[1],  # noqa: B023
                lambda: lanes_in_c(lean, world, index)[1],  # noqa: B023
                lambda: in_c(plain, world, index)[2],  # noqa: B023
            )
            rows.append(
                {
                    "agent": name,
                    "world": world,
                    "lanes_ns": lanes,
                    "one_after_the_other_ns": scalar,
                    "c_lanes_ns": c_lanes,
                    "c_lean_lanes_ns": c_lean,
                    "c_ns": c,
                    "lanes_over_c": lanes / c,
                    "lanes_over_c_lanes": lanes / c_lanes,
                    "lanes_over_c_lean_lanes": lanes / c_lean,
                }
            )
    return rows


def by_runs() -> dict[int, float]:
    """Return nanoseconds a step for some numbers of runs: Harmonic on the recorded stream."""
    counts = (1, 4, 8, 16, 24, 32, 64)
    calls = [lambda runs=runs: steps_of(ours("recorded", 2, runs=runs)) for runs in counts]
    return dict(zip(counts, fastest(*calls, rounds=3), strict=True))


def drawing() -> float:
    """Return lanes over one after the other in a world that draws: Harmonic in the market, with random durations."""
    world = ready_world(
        build_world("market", {"data": "synthetic", "segment_length": 100_000, "state_size": 9})
    )
    length = Length(100_000)

    def batch(planned: int) -> int:
        agents = stacked([agent_for(2, 512)] * LANES)
        return steps_of(run_batch(world, agents, list(range(1, LANES + 1)), length, NOTHING, None, planned))

    lanes, scalar = fastest(lambda: batch(LANES_PAY), lambda: batch(0), rounds=3)
    return lanes / scalar


def threads() -> float:
    """Return how much faster two threads are than one on many runs."""
    agents = sj.grid(
        sj.harmonic_r, num_states=8, num_actions=2, step_size=[0.01] * 4, rate_step_size=RATE_STEP_SIZE
    )

    def batch(jobs: int) -> int:
        return int(sj.run_many(RECORDED, agents, 2 * LANES, 500_000, jobs=jobs)["steps"].sum())

    one, two = fastest(lambda: batch(1), lambda: batch(2), rounds=3, clock=time.perf_counter)
    return one / two


def megabytes(num_states: int) -> float:
    """Return the memory of the tables and numbers of one shift of lanes."""
    agent = sj.harmonic_r(num_states, 2)
    return LANES * (agent.q.nbytes + 8 * NUMBERS) / 1e6


def main() -> None:
    """Measure everything, print a table, write JSON if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    target = parser.parse_args().json
    with tempfile.TemporaryDirectory() as temporary:
        rows = compare(Path(temporary))
    figures: dict[str, float] = {
        "lanes_over_c_geometric_mean": geometric_mean(row["lanes_over_c"] for row in rows),
        "lanes_over_c_lanes_geometric_mean": geometric_mean(row["lanes_over_c_lanes"] for row in rows),
        "lanes_over_c_lean_lanes_geometric_mean": geometric_mean(
            row["lanes_over_c_lean_lanes"] for row in rows
        ),
        "lanes_over_one_by_one_in_a_market": drawing(),
        "two_threads_over_one": threads(),
        **{f"ns_with_{runs}_runs": each for runs, each in by_runs().items()},
        "mb_a_shift_8_states": megabytes(8),
        "mb_a_shift_4096_states": megabytes(4096),
    }
    table = Table(title="Nanoseconds a step")
    for title in ("agent", "world"):
        table.add_column(title)
    times = {
        "lanes_ns": "lanes",
        "one_after_the_other_ns": "one after the other",
        "c_ns": "C",
        "c_lanes_ns": "C, lanes",
        "c_lean_lanes_ns": "C, lean lanes",
    }
    ratios = {
        "lanes_over_c": "lanes / C",
        "lanes_over_c_lanes": "/ C, lanes",
        "lanes_over_c_lean_lanes": "/ C, lean lanes",
    }
    for title in (*times.values(), *ratios.values()):
        table.add_column(title, justify="right")
    for row in rows:
        shown = [f"{row[key]:.1f}" for key in times] + [f"{row[key]:.2f}" for key in ratios]
        table.add_row(row["agent"], row["world"], *shown)
    console = Console(width=140)
    console.print(table)
    for name, figure in figures.items():
        console.print(f"{name:40} {figure:8.3f}")
    if target is not None:
        target.write_text(json.dumps({"rows": rows, **figures}, indent=2) + "\n")


if __name__ == "__main__":
    main()
