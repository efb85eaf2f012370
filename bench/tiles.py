"""Q-learning with tiles against the same loop in C (tiles.c), in one run; a part of bench.py.

`python bench/tiles.py` measures these rows alone.
"""

from __future__ import annotations

import ctypes
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import sojourn as sj
from sojourn.rules.random import streams

STEP_SIZE, RATE_STEP_SIZE, EXPLORATION, CENTRING = 0.03, 0.001, 0.1, 0.1  # the agent's own
STEPS, CHECKED, SEED = 2_000_000, 3000, 1  # as many as in bench.py: to set up a run takes 1.6 ms
WORLDS = {"wear": sj.worlds.continuous.Wear, "offers": sj.worlds.continuous.Offers}


def agent_in(world: Any) -> Any:
    """Return the agent of this benchmark."""
    return sj.tile_q(
        len(world.observed.low),
        world.num_actions,
        bounds=world.observed,
        step_size=STEP_SIZE,
        rate_step_size=RATE_STEP_SIZE,
        exploration=EXPLORATION,
        centring=CENTRING,
    )


def ours(name: str, steps: int, compiled: bool = True) -> Any:
    """Run Sojourn."""
    world = WORLDS[name]()
    return sj.run(world, agent_in(world), steps, seed=SEED, record=0, compiled=compiled)


def in_c(library: Any, name: str, steps: int) -> tuple[Any, Any]:
    """Run the loop in C; return its weights and its totals."""
    i64, f64 = ctypes.c_int64, ctypes.c_double
    world = WORLDS[name]()
    values = agent_in(world).values
    cut, weights, totals = values.cut, values.weights.copy(), np.zeros(6)
    least = np.array(world.observed.low)
    world_rng, agent_rng = streams(SEED, 2)
    arrays = (cut.first, cut.strides, cut.tiles, cut.shifts, weights, least)
    library.run_tiles(
        list(WORLDS).index(name), i64(len(least)), i64(len(cut.tiles)), *map(_at, arrays), i64(steps),
        f64(STEP_SIZE), f64(RATE_STEP_SIZE), f64(EXPLORATION), f64(CENTRING),
        _at(world_rng), _at(agent_rng), _at(totals),
    )  # fmt: skip
    return weights, totals


def _at(array: Any) -> Any:
    return array.ctypes.data_as(ctypes.c_void_p)


def check_equal(library: Any, name: str) -> None:
    """The loop in C and ours must agree, or the comparison means nothing; exp and log of the C library are its own."""
    weights, totals = in_c(library, name, CHECKED)
    run = ours(name, CHECKED)
    expected = [run.reward, run.duration, run.greedy_reward, run.greedy_duration, run.greedy_steps, run.rate]
    alike = np.allclose(weights, run.agent.values.weights, 1e-9, 1e-12)
    if not (alike and np.allclose(totals, expected, 1e-9, 0.0)):
        sys.exit(f"C and Sojourn disagree on tiles in {name}: {totals} and {expected}")


def rows(
    build: Callable[..., Any], fastest: Callable[..., list[float]], folder: Path
) -> list[dict[str, Any]]:
    """Time both, interpreted Sojourn too."""
    exact, plain = (
        build(folder, f"tiles-{name}", *options, source="tiles.c")
        for name, options in (("exact", ["-ffp-contract=off"]), ("plain", []))
    )
    found = []
    for name in WORLDS:
        check_equal(exact, name)
        compiled, c = fastest(
            lambda: ours(name, STEPS).steps,  # noqa: B023
            lambda: (in_c(plain, name, STEPS), STEPS)[1],  # noqa: B023
        )
        (interpreted,) = fastest(lambda: ours(name, 500, compiled=False).steps, rounds=2)  # noqa: B023
        found.append(
            {
                "agent": "tile_q",
                "world": name,
                "compiled_ns": compiled,
                "c_ns": c,
                "interpreted_ns": interpreted,
                "compiled_over_c": compiled / c,
            }
        )
    return found


def main() -> None:
    """Print these rows alone."""
    import bench

    with tempfile.TemporaryDirectory() as temporary:
        for row in rows(bench.build, bench.fastest, Path(temporary)):
            print(row)


if __name__ == "__main__":
    main()
