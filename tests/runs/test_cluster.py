"""Sweeps on a Dask cluster whose scheduler or workers go away: a sentence within seconds, and the rest later."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest

import sojourn as sj
from clusters import dask
from sojourn.runs.executors import executor

SECONDS = 10.0  # a few of patience, and those in which the command ends

# Much longer than any of these tests, in many tasks.
SLOW = """
seeds = 8
steps = 1000
episodes = 40
[[world]]
kind = "two-state"
log_scale = { logspace = [1e-5, 1e-1, 400] }
[[agent]]
kind = "smart"
step_size = { logspace = [1e-4, 1e-1, 20] }
"""


def wait_for_parts(out: Path, process: subprocess.Popen[str], more_than: int = 0) -> None:
    deadline = time.monotonic() + 120
    while len(list(out.glob("parts/0*"))) <= more_than:
        assert time.monotonic() < deadline
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.02)


def ended(process: subprocess.Popen[str], seconds: float) -> str:
    """Return the last line of a command that ends within so many seconds."""
    _, errors = process.communicate(timeout=seconds)
    assert process.returncode == 1
    assert "Traceback" not in errors
    return errors.splitlines()[-1]


def test_a_cluster_that_goes_away(tmp_path: Path) -> None:
    """Without workers, without the last worker, without the scheduler: a sentence within seconds, and it goes on."""
    file, out = tmp_path / "slow.toml", tmp_path / "out"
    file.write_text(SLOW)
    with dask(tmp_path / "one") as cluster:
        begin = time.monotonic()
        with pytest.raises(ValueError, match="has no workers; start some"), executor(None, cluster.address):
            pass
        assert time.monotonic() - begin < SECONDS
        worker = cluster.worker()
        process = cluster.sweep(file, out)
        wait_for_parts(out, process)
        worker.kill()
        assert "has no workers left); give the same command again to make them" in ended(process, 2 * SECONDS)
        kept = {path.name for path in out.glob("parts/0*")}
        assert kept
        cluster.worker()
        process = cluster.sweep(file, out)
        wait_for_parts(out, process, more_than=len(kept))
        cluster.scheduler.kill()
        assert "is gone); give the same command again to make them" in ended(process, 2 * SECONDS)
    assert kept <= {path.name for path in out.glob("parts/0*")}


def test_a_worker_with_other_rules(tmp_path: Path) -> None:
    """A worker whose package differs in one rule is refused by its address, and nothing of it is merged."""
    package = tmp_path / "other"
    shutil.copytree(
        Path(sj.__file__).parent, package / "sojourn", ignore=shutil.ignore_patterns("__pycache__")
    )
    rule = package / "sojourn" / "worlds" / "two_state.py"
    rule.write_text(rule.read_text() + "\n# another rule\n")
    specification = sj.parse_sweep({
        "seeds": 2, "steps": 10, "world": [{"kind": "two-state", "log_scale": 0.01}], "agent": [{"kind": "smart"}],
    })  # fmt: skip
    with dask(tmp_path / "one") as cluster:
        cluster.worker(package)
        with (
            executor(None, cluster.address) as (pool, width),
            pytest.raises(
                ValueError, match=r"^the rules at tcp://127\.0\.0\.1:\d+ are not those of this command"
            ),
        ):
            sj.run_sweep(specification, tmp_path / "out", pool, width)
    assert not list((tmp_path / "out").glob("parts/0*"))
    assert not list((tmp_path / "out").glob("*.parquet"))
