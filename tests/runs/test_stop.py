"""Stopping one piece of work does not stop other work in the same process."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import sojourn as sj
from sojourn.rules.values import stacked, take
from sojourn.runs.batch import run_batch
from sojourn.runs.progress import StopFlag
from sojourn.runs.recording import Length, Recording

WORLD = sj.worlds.TwoState(log_scale=0.0)
NOTHING = Recording(np.zeros(0, dtype=np.int64))


def batch(steps: int, stop: StopFlag) -> int:
    done = run_batch(WORLD, stacked([sj.smart(2, 2)]), [0], Length(steps), NOTHING, stop)
    return int(take(done.totals, 0).steps)


def test_a_flag_stops_its_own_batches_only() -> None:
    """Setting its flag ends a run of an hour at once; a run with another flag is unaffected."""
    mine, other = StopFlag(), StopFlag()
    assert batch(10, mine) == 10
    with ThreadPoolExecutor(1) as pool:
        long = pool.submit(batch, 10**12, mine)
        assert batch(1000, other) == 1000
        assert not long.done()
        mine.set()
        with pytest.raises(CancelledError):
            long.result(timeout=60)
    assert batch(1000, other) == 1000
    with pytest.raises(CancelledError):
        batch(1000, mine)


def sweep(steps: int) -> sj.runs.Sweep:
    return sj.runs.Sweep(
        [sj.runs.Entry("two_state", {"log_scale": [0.0, 1e-6]})],
        [sj.runs.Entry("smart")],
        seeds=[0, 1],
        steps=steps,
    )


def test_a_sweep_that_is_stopped_stops_no_other(tmp_path: Path) -> None:
    """Interrupting one of two sweeps in a process leaves the other to finish with its complete table."""
    interrupted = threading.Event()

    def stop(steps: float, failures: int = 0, *, earlier: bool = False, note: str = "") -> None:
        raise KeyboardInterrupt

    def wait(steps: float, failures: int = 0, *, earlier: bool = False, note: str = "") -> None:
        assert interrupted.wait(timeout=60)

    with ThreadPoolExecutor(1) as starter, ThreadPoolExecutor(2) as one, ThreadPoolExecutor(1) as other:
        going_on = starter.submit(sj.run_sweep, sweep(12_000_000), tmp_path / "other", other, 1, wait)
        with pytest.raises(KeyboardInterrupt):
            sj.run_sweep(sweep(11_000_000), tmp_path / "one", one, 2, stop)
        interrupted.set()
        assert going_on.result(timeout=120).lost == 0
    assert len(sj.load_results(tmp_path / "other")) == 4
