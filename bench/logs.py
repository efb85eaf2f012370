"""How long a log of many events takes, and how much memory: from Parquet files to its advice.

    python bench/logs.py                      # 1 and 10 million events, and 1 million of 5,000 states
    python bench/logs.py --rows 100000000     # 1.4 GB in a temporary folder

The events of all units are mixed, as they happened, with time stamps of one second. States are bins of a measured number. Each size runs
in a process of its own, which reads the files, says what the behaviour earns, and looks for better. Seconds are of the clock and of the
CPU (of all threads); memory is the peak of that process, and that of the reader of files beside it.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

import sojourn as sj

STATES, ROWS_OF_A_UNIT, ROWS_OF_A_FILE = 50, 1000, 10_000_000
ACTIONS = np.array(["run", "service", "replace"])


def write(folder: Path, rows: int, states: int) -> None:
    """Write events of units as they happen, one after the other."""
    rng, start = np.random.default_rng(1), np.datetime64("2020-01-01T00:00:00", "ms")
    for first in range(0, rows, ROWS_OF_A_FILE):
        count = min(ROWS_OF_A_FILE, rows - first)
        seconds = np.arange(first, first + count) // 2
        table = pl.DataFrame(
            {
                "unit": rng.integers(0, max(rows // ROWS_OF_A_UNIT, 1), count, dtype=np.int32),
                "time": start + seconds * np.timedelta64(1000, "ms"),
                "wear": rng.random(count, dtype=np.float32) * states,
                "done": ACTIONS[rng.integers(0, len(ACTIONS), count)],
                "cost": rng.normal(size=count).astype(np.float32),
            }
        )
        table.write_parquet(folder / f"events-{first // ROWS_OF_A_FILE:03}.parquet")


def measure(folder: str) -> None:
    """Read the files and answer, and print what it took."""
    began = time.perf_counter()
    log = sj.read_events(
        f"{folder}/*.parquet",
        time="time",
        state=sj.bins("wear", width=1),
        action="done",
        reward="cost",
        per="hour",
    )
    read = time.perf_counter() - began
    found = log.improve()
    whole = time.perf_counter() - began
    mine, reader = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    cpu = sum(one.ru_utime + one.ru_stime for one in (mine, reader))
    print(
        f"{len(log):>12,} rows, {len(log.states):,} states{', as sums' if log.is_of_sums else ''}: read {read:.1f} s, read and "
        f"answered {whole:.1f} s ({cpu:.1f} s of CPU), {mine.ru_maxrss / 1e6:.2f} + {reader.ru_maxrss / 1e6:.2f} GB; earned "
        f"{found.behaviour.rate:.6g}",
        flush=True,
    )


def main() -> None:
    """Measure each size in a process of its own."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--rows", type=int, nargs="+")
    asked.add_argument("--states", type=int, default=STATES)
    asked.add_argument("--folder", help=argparse.SUPPRESS)
    given = asked.parse_args()
    if given.folder:
        measure(given.folder)
        return
    sizes = [(rows, given.states) for rows in given.rows or (1_000_000, 10_000_000)]
    for rows, states in sizes if given.rows else [*sizes, (1_000_000, 5_000)]:
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), rows, states)
            subprocess.run([sys.executable, __file__, "--folder", folder], check=True)


if __name__ == "__main__":
    main()
