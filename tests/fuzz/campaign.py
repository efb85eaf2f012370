"""Try many spoiled files in a child, and count what came of them: `python -m fuzz.campaign models 1000`."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from fuzz.engine import Spoiler

CORPUS = Path(__file__).parent / "corpus"
PATIENCE, MEMORY = 5.0, 500.0  # seconds of the processor and MB that a file may take
_COMPILING = 60.0  # seconds that a call may take: it may be the first of its kind
_WAIT = 60.0  # seconds beyond, for the processor may have others to serve
FINE = ("accepted", "refused")


class Failure(NamedTuple):
    """A file that was not treated as it should be."""

    target: str
    number: int
    outcome: str
    text: str
    name: str
    data: bytes


class Child:
    """A worker, which is started anew when it dies or hangs."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None
        self.warm: set[str] = set()

    def tried(self, target: str, path: Path) -> dict[str, Any]:
        """Return what came of a file."""
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "fuzz.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, text=True, bufsize=1, cwd=CORPUS,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            )  # fmt: skip
            self.warm = set()
        if target not in self.warm:  # the first files wait for imports and for the compiler
            self.warm.add(target)
            for file in whole_files(target):
                self._ask(target, file, 120.0)
        found = self._ask(target, path, _COMPILING if target == "calls" else PATIENCE)
        if found["outcome"] in FINE and found["memory"] > MEMORY:
            return found | {"outcome": "memory", "text": f"{found['memory']:.0f} MB"}
        return found

    def _ask(self, target: str, path: Path, seconds: float) -> dict[str, Any]:
        process = self.process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{target} {path}\n")
        process.stdin.flush()
        begin, used = time.monotonic(), _processor_seconds(process.pid)
        while not select.select([process.stdout], [], [], 1.0)[0]:
            busy = _processor_seconds(process.pid) - used
            if busy > seconds or time.monotonic() - begin > _WAIT + seconds:
                self.stop()
                return {"outcome": "hang", "text": f"{busy:.1f} s of the processor", "memory": 0.0}
        line = process.stdout.readline()
        if not line:
            code = process.wait()
            self.stop()
            return {"outcome": "death", "text": f"code {code}", "memory": 0.0}
        found: dict[str, Any] = json.loads(line)
        return found

    def stop(self) -> None:
        """End the child."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
        self.process = None


def _processor_seconds(process: int) -> float:
    """Return the time that a process has had, with its children that have ended."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def whole_files(target: str) -> list[Path]:
    """Return the files of the corpus that are as they should be; calls have none."""
    if target == "calls":
        return []
    return sorted(path for path in (CORPUS / target).iterdir() if not path.name.startswith("found-"))


def spoiled(target: str, number: int, seed: int) -> tuple[str, bytes]:
    """Return the name and content of one spoiled file."""
    if target == "calls":
        return str(number), b""
    spoiler = Spoiler(f"{seed}/{target}/{number}")
    file = spoiler.rng.choice(whole_files(target))
    if target != "reports":
        return file.name, spoiler.spoiled(file)
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = spoiler.rng.choice(sorted(parts))
    with tempfile.TemporaryDirectory() as folder:
        part = Path(folder, Path(name).name)
        part.write_bytes(parts[name])
        if spoiler.rng.random() < 0.04:
            del parts[name]
        else:
            parts[name] = spoiler.spoiled(part)
    return file.name, zipped(parts)


def zipped(parts: dict[str, bytes]) -> bytes:
    """Return files as a zip."""
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(zipfile.ZipInfo(name), part, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def campaign(
    target: str, count: int, seed: int = 0, first: int = 0, child: Child | None = None
) -> tuple[Counter[str], list[Failure]]:
    """Try so many files; return how many came to what, and those that failed."""
    counts: Counter[str] = Counter()
    failures: list[Failure] = []
    own, child = child is None, child or Child()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(first, first + count):
            name, data = spoiled(target, number, seed)
            path = Path(folder, name)
            path.write_bytes(data)
            found = child.tried(target, path)
            counts[found["outcome"]] += 1
            if found["outcome"] not in FINE:
                failures.append(Failure(target, number, found["outcome"], found["text"], name, data))
    if own:
        child.stop()
    return counts, failures


def main() -> None:
    """Run a campaign, print its counts, and put one of each kind of failure into the folder FUZZ_OUT."""
    target, count = sys.argv[1], int(sys.argv[2])
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    begin = time.perf_counter()
    counts, failures = campaign(target, count, first=first)
    say = sys.stdout.write
    say(f"{target} {dict(counts)} {time.perf_counter() - begin:.1f} s\n")
    kinds: Counter[str] = Counter()
    for failure in failures:
        kind = failure.outcome + re.sub(r"\S*/\S*|[0-9]+|'[^']*'", "", failure.text)[:80]
        kinds[kind] += 1
        if kinds[kind] <= 2:
            say(f"  {failure.number} {failure.outcome} {failure.name}: {failure.text[:400]}\n")
            if "FUZZ_OUT" in os.environ:
                out = Path(os.environ["FUZZ_OUT"]) / f"{target}-{failure.number}-{failure.name}"
                out.write_bytes(failure.data)
    say(f"  {len(failures)} failures of {len(kinds)} kinds\n")


if __name__ == "__main__":
    main()
