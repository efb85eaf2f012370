"""How long a log of many events takes, and how much memory: from a Parquet file to its advice.

    python bench/logs.py                    # 1 and 10 million events of units with 50 states
    python bench/logs.py --rows 100000

Each size runs in a process of its own, which reads the file, says what the behaviour earns, and looks for better. Seconds
are of the clock and of the CPU (of all threads); memory is the peak of that process, and that of the reader of files beside it.
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

STATES, ACTIONS, ROWS_OF_A_UNIT = 50, 3, 1000


def write(path: Path, rows: int) -> None:
    """Write events with time stamps, units one after the other."""
    rng = np.random.default_rng(1)
    pl.DataFrame(
        {
            "unit": np.arange(rows, dtype=np.int32) // ROWS_OF_A_UNIT,
            "time": np.cumsum(rng.exponential(size=rows)).round(3),
            "state": rng.integers(0, STATES, rows).astype(np.int16),
            "action": rng.integers(0, ACTIONS, rows).astype(np.int8),
            "reward": rng.normal(size=rows).astype(np.float32),
        }
    ).write_parquet(path)


def measure(path: str) -> None:
    """Read a file and answer, and print what it took."""
    began = time.perf_counter()
    log = sj.read_events(path)
    read = time.perf_counter() - began
    log.improve()
    whole = time.perf_counter() - began
    mine, reader = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    cpu = sum(one.ru_utime + one.ru_stime for one in (mine, reader))
    print(
        f"{len(log):>12,} rows: read {read:.1f} s, read and answered {whole:.1f} s ({cpu:.1f} s of CPU), "
        f"{mine.ru_maxrss / 1e6:.2f} + {reader.ru_maxrss / 1e6:.2f} GB"
    )


def main() -> None:
    """Measure each size in a process of its own."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    asked.add_argument("--file", help=argparse.SUPPRESS)
    given = asked.parse_args()
    if given.file:
        measure(given.file)
        return
    for rows in given.rows:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "events.parquet")
            write(path, rows)
            subprocess.run([sys.executable, __file__, "--file", str(path)], check=True)


if __name__ == "__main__":
    main()
