"""Sweeps on a Dask cluster whose scheduler or workers vanish: one sentence within seconds, and the sweep can be resumed."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import sojourn as sj
from clusters import dask
from sojourn.runs.executors import executor

SECONDS = 10.0  # the executor's patience, plus time for the command to end

# Many tasks, and much longer than any of these tests.
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
    """Return the last line of a command that must end within this many seconds."""
    _, errors = process.communicate(timeout=seconds)
    assert process.returncode == 1
    assert "Traceback" not in errors
    return errors.splitlines()[-1]


def test_a_cluster_that_goes_away(tmp_path: Path) -> None:
    """A cluster that lacks or loses its workers or its scheduler gets one sentence within seconds, and the sweep can resume."""
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
    """A worker whose package differs in one rule is refused by address, and none of its results are merged."""
    package = tmp_path / "other"
    shutil.copytree(
        Path(sj.__file__).parent, package / "sojourn", ignore=shutil.ignore_patterns("__pycache__")
    )
    rule = package / "sojourn" / "worlds" / "two_state.py"
    rule.write_text(rule.read_text() + "\n# another rule\n")
    specification = sj.runs.parse_sweep({
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


@pytest.mark.parametrize(
    "there", ["silent", "talks", "hangs up", "nobody", "not an address", "no protocol", ""]
)
def test_a_missing_scheduler_is_reported_within_seconds(there: str) -> None:
    """An address that is wrong, unused, or not a scheduler's gets one sentence within seconds, and nothing else is printed."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        if there == "nobody":
            server.close()
        elif not there.startswith(("silent", "talks", "hangs")):
            address = {"not an address": "nonsense", "no protocol": "foo://bar"}.get(there, "")

        def answer() -> None:
            with contextlib.suppress(OSError):  # after the server is closed
                connection, _ = server.accept()
                with connection:
                    if there != "hangs up":
                        connection.sendall(b"SSH-2.0-OpenSSH\r\n" if there == "talks" else b"")
                        connection.recv(10_000)
                        time.sleep(10 * SECONDS)

        threading.Thread(target=answer, daemon=True).start()
        code = f"from sojourn.runs.executors import executor\nwith executor(1, {address!r}): pass"
        done = subprocess.run(
            [sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=4 * SECONDS
        )
    *traced, last = done.stderr.splitlines()
    assert last.startswith(f"ValueError: there is no Dask scheduler at {address or 'an empty address'}: ")
    assert "".join(traced).count("Traceback") == 1, "which the command line does not show"


def test_a_workers_address_is_refused(tmp_path: Path) -> None:
    """A worker's address is refused, also inside a notebook's event loop; its scheduler's is accepted."""

    async def of_a_notebook(address: str) -> int:
        with executor(None, address) as (_, width):
            return width

    with dask(tmp_path / "one") as cluster:
        cluster.worker()
        assert asyncio.run(of_a_notebook(cluster.address)) == 1
        with executor(None, cluster.address) as (workers, _):
            (worker,) = workers._client.scheduler_info()["workers"]  # type: ignore[attr-defined]
        with pytest.raises(ValueError, match="it is a Worker"):
            asyncio.run(of_a_notebook(worker))
