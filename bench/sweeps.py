"""What a sweep costs beyond its steps, and how it uses two cores and memory, measured in one run.

The bare loop is the compiled batch alone, called for the same tasks with everything made
ready beforehand. The sweep does the same and plans, builds, writes part files and merges.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest import mock

import sojourn as sj
from sojourn.runs import batch, tasks
from sojourn_paper.robustness import plan as robustness

SWEEP = robustness.specification(seeds=1)  # the paper's simulation study, with all controls

MEMORY = """
import sys
from concurrent.futures import ThreadPoolExecutor
import sojourn as sj
data = {
    "seeds": 100, "steps": 5,
    "world": [{"kind": "two-state", "log_scale": {"logspace": [1e-5, 1e-2, int(sys.argv[1])]}}],
    "agent": [{"kind": "smart", "step_size": {"linspace": [0.01, 1, 100]}}],
}
with ThreadPoolExecutor(2) as pool:
    sj.run_sweep(sj.runs.parse_sweep(data), sys.argv[2], pool, 2)
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
"""


def swept(folder: Path, jobs: int) -> float:
    """Return the seconds of the whole sweep."""
    begin = time.perf_counter()
    with ThreadPoolExecutor(jobs) as pool:
        sj.run_sweep(SWEEP, folder, pool, jobs)
    return time.perf_counter() - begin


def bare() -> float:
    """Return the seconds of the compiled batches alone."""
    calls: list[tuple[Any, ...]] = []
    with mock.patch.object(batch, "_walk_batch", lambda *args: calls.append(args)):
        for task in tasks.plan(SWEEP):
            tasks.execute(task)
    begin = time.perf_counter()
    for call in calls:
        batch._walk_batch(*call)  # noqa: SLF001 - the loop itself is what is measured
    return time.perf_counter() - begin


def peak(runs: int, folder: Path) -> float:
    """Return the peak memory, in megabytes, of a process that does so many short runs."""
    out = subprocess.run(
        [sys.executable, "-c", MEMORY, str(runs // 10_000), folder],
        check=True,
        capture_output=True,
        text=True,
    )
    return float(out.stdout) / 1024.0


def main() -> None:
    """Measure, print, write JSON if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    target = parser.parse_args().json
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        swept(root / "warm", 1)
        rounds = [(bare(), swept(root / f"one-{k}", 1), swept(root / f"two-{k}", 2)) for k in range(3)]
        loop, one, two = (min(column) for column in zip(*rounds, strict=True))
        figures = {
            "runs": SWEEP.num_runs,
            "steps": SWEEP.num_steps,
            "bare_loop_s": loop,
            "one_thread_s": one,
            "two_threads_s": two,
            "overhead_over_bare_loop": one / loop - 1.0,
            "two_threads_over_one": one / two,
            "peak_mb_ten_thousand_runs": peak(10_000, root / "few"),
            "peak_mb_million_runs": peak(1_000_000, root / "many"),
        }
    for name, figure in figures.items():
        print(f"{name:28} {figure:12,.3f}")
    if target is not None:
        target.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
