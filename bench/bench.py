"""How fast the compiled loop is: every figure a ratio, all measured in one run.

Four ways to take the same steps: Sojourn compiled, the same loop written in C by hand
(reference.c), Sojourn interpreted, and a plain Python agent with a dictionary, as people
write it. C is built twice: once without contraction of a*b + c, where its results must be
equal to ours, and once as it comes, which is what is timed.

Prints a table and, with --json FILE, writes the figures.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import recorded
import sojourn as sj
import tiles
from sojourn.rates.score import rates_over
from sojourn.rules.random import streams
from sojourn.worlds.protocol import ready_world

HERE = Path(__file__).resolve().parent
STEP_SIZE, RATE_STEP_SIZE, EXPLORATION, LOG_SCALE = 0.01, 0.01, 0.2, 1e-3
TIES = "lowest"  # as the loop in C has them
STEPS, EPISODES, LENGTH, SEED = 1000, 2000, 1_000_000, 1

AGENTS: list[tuple[str, Any, dict[str, Any]]] = [
    ("SMART", sj.smart, {}),
    ("Relaxed-SMART", sj.relaxed_smart, {"rate_step_size": RATE_STEP_SIZE}),
    ("Harmonic", sj.harmonic_r, {"rate_step_size": RATE_STEP_SIZE}),
]
# A run first copies the arrays of its world, unless they are ready; that is no part of a step.
RECORDED = ready_world(recorded.synthetic(LENGTH, num_states=8, seed=0))


def agent_for(index: int, num_states: int) -> Any:
    """Return one of our agents."""
    _, make, options = AGENTS[index]
    return make(num_states, 2, step_size=STEP_SIZE, exploration=EXPLORATION, ties=TIES, **options)


# --- The four ways ------------------------------------------------------------------


def ours(world: str, index: int, share: float = 1.0, compiled: bool = True) -> tuple[Any, int]:
    """Run Sojourn; return the run and its number of steps."""
    if world == "two-state":
        run = sj.run(
            sj.worlds.TwoState(log_scale=LOG_SCALE),
            agent_for(index, 2),
            STEPS,
            max(1, int(EPISODES * share)),
            seed=SEED,
            record=0,
            compiled=compiled,
        )
    else:
        steps = max(1, int(LENGTH * share))
        run = sj.run(RECORDED, agent_for(index, 8), steps, seed=SEED, record=0, compiled=compiled)
    return run, run.steps


def in_c(
    library: Any, world: str, index: int, share: float = 1.0
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], int]:
    """Run the C loop; return its Q, its totals and its number of steps."""
    i64, f64 = ctypes.c_int64, ctypes.c_double
    world_rng, agent_rng = streams(SEED, 2)
    totals = np.zeros(6)
    rates = (f64(STEP_SIZE), f64(RATE_STEP_SIZE), f64(EXPLORATION))
    episodes, length = max(1, int(EPISODES * share)), max(1, int(LENGTH * share))
    if world == "two-state":
        q = np.zeros((2, 2))
        library.run_two_state(
            index, i64(2), i64(2), i64(episodes), i64(STEPS), f64(LOG_SCALE), *rates,
            at(world_rng), at(agent_rng), at(q), at(totals),
        )  # fmt: skip
        return q, totals, STEPS * episodes
    q = np.zeros((8, 2))
    library.run_recorded(
        index, i64(8), i64(2), i64(1), i64(length), at(RECORDED.rewards), at(RECORDED.durations),
        at(RECORDED.states), *rates, at(agent_rng), at(q), at(totals),
    )  # fmt: skip
    return q, totals, length


def at(array: np.ndarray[Any, Any]) -> Any:
    """Return the address of an array."""
    return array.ctypes.data_as(ctypes.c_void_p)


class DictionaryAgent:
    """An agent as people write it: a dictionary of values, a class for the rate, the random module."""

    def __init__(self, rate: Any, actions: range) -> None:
        self.q: dict[tuple[int, int], float] = defaultdict(float)
        self.rate = rate
        self.actions = actions

    def best(self, state: int) -> int:
        """Return the greedy action."""
        return max(self.actions, key=lambda action: self.q[state, action])

    def act(self, state: int) -> int:
        """Return an epsilon-greedy action."""
        if random.random() < EXPLORATION:
            return random.choice(self.actions)
        return self.best(state)

    def learn(self, state: int, action: int, reward: float, duration: float, next_state: int) -> None:
        """Learn from one transition."""
        greedy = action == self.best(state)
        target = reward - self.rate.value() * duration + self.q[next_state, self.best(next_state)]
        self.q[state, action] += STEP_SIZE * (target - self.q[state, action])
        if greedy:
            self.rate.update(reward, duration)


class CumulativeRate:
    """Total reward over total duration."""

    def __init__(self) -> None:
        self.reward = self.duration = 0.0

    def update(self, reward: float, duration: float) -> None:
        """Add one transition."""
        self.reward += reward
        self.duration += duration

    def value(self) -> float:
        """Return the rate."""
        return self.reward / self.duration if self.duration else 0.0


class ExponentialRate(CumulativeRate):
    """Moving mean of the rewards over that of the durations."""

    def update(self, reward: float, duration: float) -> None:
        """Add one transition."""
        self.reward += RATE_STEP_SIZE * (reward - self.reward)
        self.duration += RATE_STEP_SIZE * (duration - self.duration)


class HarmonicRate:
    """Moving modified harmonic mean, as the paper's equations have it."""

    def __init__(self) -> None:
        self.p = self.n = self.w_p = self.w_n = self.w_z = 0.0

    def update(self, reward: float, duration: float) -> None:
        """Add one transition."""
        reciprocal = duration / reward if reward != 0 else 0.0
        self.p += RATE_STEP_SIZE * ((reward > 0) * reciprocal - self.p)
        self.n += RATE_STEP_SIZE * ((reward < 0) * reciprocal - self.n)
        self.w_p += RATE_STEP_SIZE * ((reward > 0) - self.w_p)
        self.w_n += RATE_STEP_SIZE * ((reward < 0) - self.w_n)
        self.w_z += RATE_STEP_SIZE * ((reward == 0) - self.w_z)

    def value(self) -> float:
        """Return the rate."""
        positive = self.w_p / self.p if self.p != 0 else 0.0
        negative = self.w_n / self.n if self.n != 0 else 0.0
        total = self.w_p + self.w_n + self.w_z
        return (self.w_p * positive + self.w_n * negative) / total if total else 0.0


class TwoStatePython:
    """The two-state world as people write it."""

    def reset(self) -> int:
        """Begin an episode."""
        self.t, self.state = 0, 0
        return self.state

    def step(self, action: int) -> tuple[int, float, float]:
        """Take one action."""
        t = self.t
        self.t += 1
        if self.state == 1:
            self.state = 0
            return self.state, 0.0, 1.0
        self.state = 1
        if action == 0:
            return self.state, 0.05 * t, max(0.001, random.gauss(1.0, 0.1))
        reward = (math.sin(t) + 10.0) * 10.0 ** (LOG_SCALE * t)
        return self.state, reward, (math.cos(t) + 10.0) * 10.0 ** (LOG_SCALE / 2.0 * t)


class RecordedPython:
    """The recorded world as people write it: rows of an array."""

    def reset(self) -> int:
        """Begin an episode."""
        self.t = 0
        return int(RECORDED.states[0])

    def step(self, action: int) -> tuple[int, float, float]:
        """Take one action."""
        t = self.t
        self.t += 1
        reward, duration = RECORDED.rewards[t, action], RECORDED.durations[t, action]
        return int(RECORDED.states[t + 1]), float(reward), float(duration)


def plain_python(world: str, index: int, steps: int) -> int:
    """Run the dictionary agent; return the number of steps."""
    agent = DictionaryAgent((CumulativeRate, ExponentialRate, HarmonicRate)[index](), range(2))
    environment: Any = TwoStatePython() if world == "two-state" else RecordedPython()
    random.seed(SEED)
    for _ in range(steps // STEPS):
        state = environment.reset()
        for _ in range(STEPS):
            action = agent.act(state)
            next_state, reward, duration = environment.step(action)
            agent.learn(state, action, reward, duration, next_state)
            state = next_state
    return steps


# --- Measuring ----------------------------------------------------------------------


def fastest(
    *calls: Callable[[], int], rounds: int = 7, clock: Callable[[], float] = time.process_time
) -> list[float]:
    """Return nanoseconds a step of each call, the best of some rounds that take turns.

    They are of processor time, which other work on the machine changes little, unless another clock is given.
    """
    best = [math.inf] * len(calls)
    for _ in range(rounds):
        for index, call in enumerate(calls):
            begin = clock()
            steps = call()
            best[index] = min(best[index], (clock() - begin) / steps * 1e9)
    return best


def build(folder: Path, name: str, *options: str, source: str = "reference.c") -> Any:
    """Build the C loops and load them."""
    compiler = shutil.which("gcc") or sys.exit("the benchmark needs gcc")
    library = folder / f"{name}.so"
    flags = ["-O3", "-march=native", "-shared", "-fPIC", *options]
    subprocess.run([compiler, *flags, "-o", library, HERE / source, "-lm"], check=True)
    return ctypes.CDLL(str(library))


def check_equal(library: Any, world: str, index: int) -> None:
    """The C loop and ours must agree, or the comparison means nothing.

    They agree to the last bit where C needs no sin, cos, pow or log of its library.
    """
    q, totals, _ = in_c(library, world, index, share=0.002)
    run, _ = ours(world, index, share=0.002)
    expected = [run.reward, run.duration, run.greedy_reward, run.greedy_duration, run.greedy_steps, run.rate]
    tolerance = 0.0 if world == "recorded" else 1e-11
    if not (np.allclose(q, run.agent.q, tolerance, 0.0) and np.allclose(totals, expected, tolerance, 0.0)):
        sys.exit(f"C and Sojourn disagree on {AGENTS[index][0]} in the {world} world")


def seconds(code: str, environment: dict[str, str] | None = None, rounds: int = 5) -> float:
    """Return the best time of a fresh Python process that runs `code` and prints seconds."""
    times = []
    for _ in range(rounds):
        out = subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True,
            env={**os.environ, **(environment or {})},
        )  # fmt: skip
        times.append(float(out.stdout.split()[-1]))
    return min(times)


def timed_import(module: str) -> str:
    """Return code that times an import."""
    return f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"


FIRST_CALL = """
import time, numba, sojourn as sj
t = time.perf_counter()
sj.run(sj.worlds.TwoState(log_scale=1e-3), sj.harmonic_r(2, 2), steps=10)
print(time.perf_counter() - t)
"""


def start_up(folder: Path) -> dict[str, float]:
    """Time compilation, imports and the command line, each in fresh processes."""
    cache = {"SOJOURN_CACHE_DIR": str(folder / "cache")}
    cold = seconds(FIRST_CALL, cache, rounds=1)
    cached = seconds(FIRST_CALL, cache)
    command = Path(sys.executable).with_name("sojourn")
    helps = []
    for _ in range(5):
        begin = time.perf_counter()
        subprocess.run([command, "--help"], check=True, capture_output=True)
        helps.append(time.perf_counter() - begin)
    return {
        "first_call_cold_s": cold,
        "first_call_cached_s": cached,
        "import_numba_s": seconds(timed_import("numba")),
        "import_sojourn_s": seconds(timed_import("sojourn")),
        "help_s": min(helps),
    }


def threads() -> float:
    """Return how much faster two threads are than one on a batch of runs."""
    agents = [agent_for(index, 2) for index in range(3)]

    def batch(jobs: int) -> int:
        return int(
            sj.run_many(sj.worlds.TwoState(LOG_SCALE), agents, 8, STEPS, 100, jobs=jobs)["steps"].sum()
        )

    one, two = fastest(lambda: batch(1), lambda: batch(2), rounds=5, clock=time.perf_counter)
    return one / two


def compare(folder: Path) -> list[dict[str, Any]]:
    """Time the four ways for each agent and world."""
    exact, plain = build(folder, "exact", "-ffp-contract=off"), build(folder, "plain")
    rows = []
    for index, (name, _, _) in enumerate(AGENTS):
        for world in ("two-state", "recorded"):
            check_equal(exact, world, index)
            compiled, c = fastest(lambda: ours(world, index)[1], lambda: in_c(plain, world, index)[2])  # noqa: B023
            interpreted, python = fastest(
                lambda: ours(world, index, share=0.005, compiled=False)[1],  # noqa: B023
                lambda: plain_python(world, index, steps=20_000),  # noqa: B023
                rounds=3,
            )
            rows.append(
                {
                    "agent": name,
                    "world": world,
                    "compiled_ns": compiled,
                    "c_ns": c,
                    "interpreted_ns": interpreted,
                    "python_ns": python,
                    "compiled_over_c": compiled / c,
                    "python_over_compiled": python / compiled,
                }
            )
    return rows


def estimators() -> dict[str, float]:
    """Return the nanoseconds that estimators of the rate take for a transition, each with what it says after it."""
    rng = np.random.default_rng(0)
    rewards, durations = rng.normal(1.0, 1.0, LENGTH), rng.exponential(1.0, LENGTH)
    rates = (
        sj.Exponential(0.01),
        sj.rates.ClippedExponential(0.01),
        sj.rates.TimeForgetting(0.01),
        sj.rates.AdaptiveRatio(),
    )
    spent = fastest(*(lambda rate=rate: len(rates_over(rate, rewards, durations)) for rate in rates))
    return {f"{type(rate).__name__}_ns": each for rate, each in zip(rates, spent, strict=True)}


def geometric_mean(numbers: Iterable[float]) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.mean(np.log(list(numbers)))))


def main() -> None:
    """Measure everything, print a table, write JSON if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    target = parser.parse_args().json
    with tempfile.TemporaryDirectory() as temporary:
        rows = compare(Path(temporary))
        tile_rows = tiles.rows(build, fastest, Path(temporary))
        figures = start_up(Path(temporary))
    ratios = [row["compiled_over_c"] for row in rows]
    figures |= {
        "compiled_over_c_geometric_mean": geometric_mean(ratios),
        "compiled_over_c_worst": max(ratios),
        "tiles_over_c_worst": max(row["compiled_over_c"] for row in tile_rows),
        "python_over_compiled_geometric_mean": geometric_mean(row["python_over_compiled"] for row in rows),
        "python_over_compiled_least": min(row["python_over_compiled"] for row in rows),
        "two_threads_over_one": threads(),
        **estimators(),
        "import_sojourn_over_numba": figures["import_sojourn_s"] / figures["import_numba_s"],
    }
    table = Table(title="Nanoseconds a step")
    for title in ("agent", "world"):
        table.add_column(title)
    for title in ("compiled", "C", "interpreted", "plain Python", "compiled / C", "Python / compiled"):
        table.add_column(title, justify="right")
    for row in rows + tile_rows:  # tiles have no rival in plain Python
        measured = ("compiled_ns", "c_ns", "interpreted_ns", "python_ns")
        table.add_row(
            row["agent"],
            row["world"],
            *(f"{row[key]:,.1f}" if key in row else "" for key in measured),
            f"{row['compiled_over_c']:.2f}",
            f"{row['python_over_compiled']:,.0f}" if "python_over_compiled" in row else "",
        )
    console = Console(width=120)
    console.print(table)
    for name, figure in figures.items():
        console.print(f"{name:36} {figure:8.3f}")
    result = {"steps": rows + tile_rows, "figures": figures}
    if target is not None:
        target.write_text(json.dumps(result, indent=2) + "\n")
    else:
        console.print_json(json.dumps(result))


if __name__ == "__main__":
    main()
