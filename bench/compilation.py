"""What a first use costs: seconds of processor time that go into compilation, and how many functions are compiled.

    python bench/compilation.py

Each program runs in three new processes: with no machine code on disk, again, and again with one of its numbers edited. The
second program is the first one to its end: first steps are interpreted, so that up to the first step nothing is compiled.
A busy machine makes processor time longer, too, but far less than a clock would show.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAMS = {
    "the README's six lines, up to the first step": (
        """
import gymnasium as gym
import sojourn as sj
env = gym.make("sojourn.envs:sojourn/AdmissionControl-v0")
""",
        "sj.Learner(env, seed=1).train(1)",
        (4.0, 0.5),
    ),
    "the README's six lines, 30,000 steps and a verdict of 20,000": (
        """
import gymnasium as gym
import sojourn as sj
env = gym.make("sojourn.envs:sojourn/AdmissionControl-v0")
""",
        "learner = sj.Learner(env, seed=1); learner.train(30_000); learner.verdict(duration=20_000.0)",
        None,
    ),
    "the planner, all compiled at once": (
        """
import gymnasium as gym
import sojourn as sj
from sojourn.rules import kernel as kernels
kernels.PATIENCE = 0.0
env = gym.make("sojourn.envs:sojourn/AdmissionControl-v0")
""",
        "sj.Learner(env, seed=1).train(1)",
        None,
    ),
    "a table without a plan, all compiled at once": (
        """
import gymnasium as gym
import sojourn as sj
from sojourn.rules import kernel as kernels
kernels.PATIENCE = 0.0
env = gym.make("sojourn.envs:sojourn/AdmissionControl-v0")
""",
        'sj.Learner(env, "differential_q", seed=1).train(1)',
        (4.0, 0.5),
    ),
    "a world and an estimator of one's own": (
        """
from typing import NamedTuple
import sojourn as sj

class Coin(NamedTuple):
    pay: float = 2.0
    num_states: int = 1
    num_actions: int = 2

@sj.start.register
def start_coin(world: Coin, rng):
    return world, 0

@sj.step.register
def step_coin(world: Coin, state: int, action: int, rng):
    return world, 0, world.pay * sj.random.uniform(rng) + action, 1.0 + action

class Half(NamedTuple):
    rate: float = 0.0

@sj.update.register
def update_half(rate: Half, reward: float, duration: float) -> Half:
    return Half(rate.rate + 0.5 * (reward / duration - rate.rate))

@sj.value.register
def value_half(rate: Half) -> float:
    return rate.rate
""",
        "sj.run(Coin(), sj.smart(1, 2, rate=Half()), steps=10)",
        (2.0, 0.5),
    ),
}
MEASURED = """
import time
{before}
import numba  # not a part of it: whoever uses Numba has it anyway
begun = time.process_time()
{line}
took = time.process_time() - begun
print(took)
"""


def seconds(program: str, cache: Path) -> float:
    """Return what a program takes for the line that is measured, in a process of its own."""
    environment = {**os.environ, "SOJOURN_CACHE_DIR": str(cache), "OPENBLAS_NUM_THREADS": "1"}
    script = cache.parent / "program.py"
    script.write_text(program)
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=True, env=environment
    )
    return float(done.stdout.split()[-1])


def main() -> None:
    """Measure all programs, and print a table."""
    print("seconds of processor time        first     again    edited  functions   bounds: first, again")
    for name, (before, line, bounds) in PROGRAMS.items():
        with tempfile.TemporaryDirectory() as folder:
            cache = Path(folder) / "cache"
            program = MEASURED.format(before=before, line=line)
            first = seconds(program, cache)
            functions = len(list(cache.rglob("*.nbi")))
            again = seconds(program, cache)
            edited = seconds(program.replace("0.5 *", "0.25 *"), cache)
        told = "" if bounds is None else f"   {bounds[0]:.1f}, {bounds[1]:.1f}"
        print(f"{name}\n{first:38.2f}{again:10.2f}{edited:10.2f}{functions:11}{told}")


if __name__ == "__main__":
    main()
