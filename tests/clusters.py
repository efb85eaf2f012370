"""A Dask cluster for tests: a scheduler and its workers, each a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

COMMAND = Path(sys.executable).with_name("sojourn")


class Dask:
    """A scheduler and its workers, each a process."""

    def __init__(self, scratch: Path) -> None:
        self.file = scratch / "scheduler.json"
        self.processes: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._started(
            "scheduler", "--port", "0", "--host", "127.0.0.1", "--scheduler-file", str(self.file)
        )
        deadline = time.monotonic() + 60
        while not (self.file.exists() and self.file.read_text().endswith("}")):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        self.address = json.loads(self.file.read_text())["address"]

    def worker(self, packages: Path | None = None, folder: Path | None = None) -> subprocess.Popen[bytes]:
        """Start a worker, with the package in another place, or standing in another folder, if that is given."""
        where = {**os.environ, "PYTHONPATH": str(packages)} if packages is not None else dict(os.environ)
        return self._started(
            "worker", self.address, "--nthreads", "1", "--no-nanny", where=where, folder=folder
        )

    def _started(
        self, kind: str, *options: str, where: dict[str, str] | None = None, folder: Path | None = None
    ) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{kind}", "--no-dashboard", *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=where,
            cwd=folder,
        )
        self.processes.append(process)
        return process

    def sweep(self, file: Path, out: Path) -> subprocess.Popen[str]:
        command = [COMMAND, "sweep", file, "--out", out, "--cluster", self.address]
        return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


@contextlib.contextmanager
def dask(scratch: Path) -> Iterator[Dask]:
    scratch.mkdir()
    cluster = Dask(scratch)
    try:
        yield cluster
    finally:
        for process in cluster.processes:
            process.kill()
            process.wait()
