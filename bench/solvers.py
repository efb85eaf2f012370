"""How fast models are built and solved: against mdpsolver, and a million states on their own.

The first part builds and solves one random sparse model of 50,000 states, 5 actions and 8
successors, every step of duration 1, with mdpsolver (C++, both cores, each of the settings
that comes to an end) and with Sojourn, in turns. What is given to each is ready in the form that it
takes, lists for mdpsolver and arrays for Sojourn. The accuracy of both is measured in the
same way: by the bounds on the gain that their values give. Sojourn is asked for at least the
accuracy that mdpsolver reached.

The second part solves a million states with durations between 0.5 and 1.5 to a gain that is
known to 1e-6, in a process of its own, and says how much memory that took.

Prints a table and, with --json FILE, writes the figures. `--small` is for trying it out.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mdpsolver
import numpy as np
from rich.console import Console
from rich.table import Table

import sojourn as sj
from sojourn.exact.bounds import bounds

ACTIONS, WIDTH, TURNS = 5, 8, 5
SETTINGS: dict[str, dict[str, Any]] = {
    "mdpsolver, mpi": {"algorithm": "mpi"},
    "mdpsolver, mpi, 20 sweeps": {"algorithm": "mpi", "parIterLim": 20},
    "mdpsolver, vi": {"algorithm": "vi"},
    "mdpsolver, vi, one thread": {"algorithm": "vi", "parallel": False},
}


def random_parts(num_states: int, seed: int) -> dict[str, Any]:
    """Return successors, probabilities and rewards of a random model."""
    rng = np.random.default_rng(seed)
    pairs = num_states * ACTIONS
    probability = rng.random((pairs, WIDTH))
    probability /= probability.sum(axis=1, keepdims=True)
    return {
        "pair_offsets": np.arange(num_states + 1) * ACTIONS,
        "row_offsets": np.arange(pairs + 1) * WIDTH,
        "successor": rng.integers(0, num_states, pairs * WIDTH, dtype=np.int32),
        "probability": probability.ravel(),
        "reward": rng.random(pairs),
    }


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return how long some work took, and what it returned."""
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def against_mdpsolver(num_states: int) -> dict[str, dict[str, float]]:
    """Return seconds and the distance of the bounds, for each way."""
    parts = random_parts(num_states, seed=0)
    shape = (num_states, ACTIONS, WIDTH)
    lists = {
        "rewards": parts["reward"].reshape(shape[:2]).tolist(),
        "tranMatProbs": parts["probability"].reshape(shape).tolist(),
        "tranMatColumns": parts["successor"].reshape(shape).tolist(),
    }
    ours = sj.SMDP(**parts, duration=np.ones(num_states * ACTIONS))
    sj.solve(ours)  # which compiles

    def theirs(settings: dict[str, Any]) -> Any:
        model = mdpsolver.model()
        model.mdp(**lists)
        model.solve(criterion="average", tolerance=1e-6, **settings)
        return model

    def build_and_solve(tolerance: float) -> Any:
        return sj.solve(sj.SMDP(**parts, duration=np.ones(num_states * ACTIONS)), tolerance)

    seconds: dict[str, list[float]] = {name: [] for name in (*SETTINGS, "Sojourn")}
    gaps: dict[str, float] = {}
    for _ in range(TURNS):
        for name, settings in SETTINGS.items():
            taken, model = timed(lambda settings=settings: theirs(settings))  # type: ignore[misc]
            seconds[name].append(taken)
            if name not in gaps:
                lower, upper = bounds(ours, np.array(model.getValueVector()))
                gaps[name] = upper - lower
        taken, found = timed(lambda: build_and_solve(min(gaps[name] for name in SETTINGS)))
        seconds["Sojourn"].append(taken)
        gaps["Sojourn"] = found.upper - found.lower
    return {name: {"seconds": statistics.median(taken), "gap": gaps[name]} for name, taken in seconds.items()}


def a_million(num_states: int, results: Any) -> None:
    """Solve a large model, and put into `results` how that went."""
    sj.solve(sj.SMDP(**random_parts(5000, seed=2), duration=np.ones(5000 * ACTIONS)))  # which compiles
    parts = random_parts(num_states, seed=1)
    duration = np.random.default_rng(3).uniform(0.5, 1.5, num_states * ACTIONS)
    building, model = timed(lambda: sj.SMDP(**parts, duration=duration))
    solving, found = timed(lambda: sj.solve(model, 1e-6))
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    peak = int(status.split("VmHWM:")[1].split()[0]) / 2**20
    results.put(
        {
            "states": num_states,
            "build": building,
            "solve": solving,
            "gap": found.upper - found.lower,
            "sweeps": found.iterations,
            "peak_gb": peak,
        }
    )


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    middle, large = (5000, 20_000) if options.small else (50_000, 1_000_000)

    compared = against_mdpsolver(middle)
    fastest = min(SETTINGS, key=lambda name: compared[name]["seconds"])
    table = Table(title=f"Build and solve {middle:,} states x {ACTIONS} actions x {WIDTH} successors")
    for heading in ("", "seconds", "Sojourn / this", "gain known to"):
        table.add_column(heading, justify="left" if not heading else "right")
    for name, figures in compared.items():
        ratio = compared["Sojourn"]["seconds"] / figures["seconds"]
        table.add_row(name, f"{figures['seconds']:.3f}", f"{ratio:.2f}", f"{figures['gap']:.1e}")
    console = Console()
    console.print(table)
    console.print(f"the fastest of mdpsolver's settings is {fastest!r}")

    # A new process, so that its peak of memory is its own.
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    process = context.Process(target=a_million, args=(large, results))
    process.start()
    alone = results.get()
    process.join()
    console.print(
        f"{alone['states']:,} states: built in {alone['build']:.1f} s, solved in {alone['solve']:.1f} s "
        f"({alone['sweeps']} sweeps), gain known to {alone['gap']:.1e}, peak {alone['peak_gb']:.2f} GB"
    )
    if options.json:
        everything = {"against_mdpsolver": compared, "fastest": fastest, "large": alone}
        options.json.write_text(json.dumps(everything, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
