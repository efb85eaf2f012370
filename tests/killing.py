"""Kill commands, again and again: before a file operation, or at any moment, and look at what is left.

To start a command takes a second, most of it for imports. So one process imports everything, loads the machine code and
forks for each command; it starts no threads itself. Run as a script, this file is that process: it reads one line of JSON
for each command and answers with one.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

# What leaves a trace in a folder. The n-th of these in a command is a point at which it can be killed.
OPERATIONS = ("open", "replace", "rename", "fsync", "unlink", "mkdir", "rmdir")


class Ended(NamedTuple):
    """How a command ended: killed, or with this exit code."""

    killed: bool
    code: int
    operations: int  # that it did, if it was not killed
    seconds: float
    errors: str  # what it printed


class Killer:
    """Runs commands, and kills them where it is told to."""

    def __init__(self, scratch: Path, *, studies: bool) -> None:
        """Start the process; with `studies` it loads their machine code too."""
        self._notes = scratch / "notes"
        self._notes.mkdir(parents=True)
        self._process = subprocess.Popen(
            [sys.executable, __file__, *(["studies"] if studies else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, command: list[str], *, before: int = 0, after: float = 0.0, storm: bool = False) -> Ended:
        """Run a command; kill it before the n-th file operation, or after so many seconds, or not at all.

        With `storm` it is not killed then, but gets Ctrl-C 27 times in 27 milliseconds.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        job = {
            "command": command,
            "before": before,
            "after": after,
            "storm": storm,
            "notes": str(self._notes),
        }
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return Ended(*json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        """End the process."""
        with self._process:
            pass  # which closes its pipes and waits


def killed_often(
    killer: Killer,
    command: Callable[[Path], list[str]],
    same: Callable[[Path], bool],
    folder: Path,
    kills: int,
) -> tuple[int, int]:
    """Kill a command so often, going on each time; return how often it was killed, and how often that did harm.

    After every third kill the command is run to its end, and `same` says whether its folder is as it should be.
    """
    moments = random.Random(kills)
    whole = killer.run(command(folder / "whole"))
    assert whole.code == 0, whole.errors
    tried = failed = 0
    for attempt in itertools.count():
        place = folder / str(attempt)
        for _ in range(3):
            by_operation = moments.random() < 0.5
            ended = killer.run(
                command(place),
                before=moments.randint(1, whole.operations) if by_operation else 0,
                after=0.0 if by_operation else moments.uniform(0.0, whole.seconds),
            )
            tried += ended.killed
            if not ended.killed:
                failed += ended.code != 0
                break
        last = killer.run(command(place))
        failed += last.killed or last.code != 0 or "Traceback" in last.errors or not same(place)
        if tried >= kills:
            return tried, failed
    raise AssertionError


def stormed(killer: Killer, command: list[str], after: float) -> str:
    """Send a storm of Ctrl-C to a command; return what was wrong with its answer, if anything."""
    ended = killer.run(command, after=after, storm=True)
    if ended.code == 0:  # it was finished before
        return ""
    lines = [
        line for line in ended.errors.splitlines() if not re.match(r"[\w ()]+: \d", line)
    ]  # but for progress
    if ended.code != 130 or len(lines) != 1 or not lines[0].startswith("sojourn: interrupted"):
        return f"ended with {ended.code}: {ended.errors}"
    return ""


# --- The process that forks ---------------------------------------------------------


def serve() -> None:
    """Answer jobs until there are no more."""
    warm_up(studies="studies" in sys.argv)
    for line in sys.stdin:
        job = json.loads(line)
        notes = Path(job["notes"])
        for note in notes.iterdir():
            note.unlink()
        begin = time.monotonic()
        child = os.fork()
        if child == 0:
            obey(job, notes)
        code = os.waitstatus_to_exitcode(disturbed(child, job, notes))
        count = (notes / "operations").read_text() if code >= 0 and (notes / "operations").exists() else "0"
        errors = (notes / "errors").read_text(errors="replace")[-2000:] if (notes / "errors").exists() else ""
        answer = [code == -signal.SIGKILL, code, int(count or 0), time.monotonic() - begin, errors]
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def disturbed(child: int, job: dict[str, Any], notes: Path) -> int:
    """Wait for a process, and at its time kill it, or send it a storm of signals; return its status."""
    begin = time.monotonic()
    while job["after"]:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        if job["storm"] and not (notes / "ready").exists():
            begin = time.monotonic()
        elif time.monotonic() - begin > job["after"]:
            if not job["storm"]:
                os.kill(child, signal.SIGKILL)
            else:
                for _ in range(27):
                    os.kill(child, signal.SIGINT)
                    time.sleep(0.001)
            break
        time.sleep(0.001)
    return os.waitpid(child, 0)[1]


def warm_up(*, studies: bool) -> None:
    """Import what commands import, and load the machine code that they run."""
    import sojourn_paper.robustness.section  # noqa: F401
    from sojourn.answers.comparison.plan import Settings, tuning
    from sojourn.runs.spec import parse_sweep
    from sojourn.runs.tasks import execute, plan
    from sojourn_paper.robustness.plan import specification

    sweeps = [parse_sweep(SWEEP)]
    if studies:
        sweeps += [
            specification(1, 20, 1),
            tuning("gosavi", Settings(100, 1, 1, agents=("smart", "harmonic_r"))),
        ]
    for sweep in sweeps:
        seen: set[str] = set()
        for task in plan(sweep):
            if task.agents.kind not in seen:
                seen.add(task.agents.kind)
                execute(task)


def obey(job: dict[str, Any], notes: Path) -> None:
    """Run a command in this process, which ends with it."""
    errors = os.open(notes / "errors", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    nothing = os.open(os.devnull, os.O_RDWR)
    for place, handle in ((0, nothing), (1, nothing), (2, errors)):
        os.dup2(handle, place)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    tell_when_ready(notes)
    done = counting(int(job["before"]))
    sys.argv = ["sojourn", *job["command"]]
    code = 1
    try:
        from sojourn.cli import main

        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    finally:
        count = done()
        (notes / "operations").write_text(str(count))
        sys.stderr.flush()
        os._exit(code)


def tell_when_ready(notes: Path) -> None:
    """Leave a note when the command has its own answer to Ctrl-C; before, it is Python that is interrupted."""
    install = signal.signal

    def noted(*args: Any) -> Any:
        before = install(*args)
        (notes / "ready").touch()
        return before

    signal.signal = noted  # type: ignore[assignment]


def counting(last: int) -> Callable[[], int]:
    """Count file operations from now on, and kill this process before the last one; return what tells the count."""
    count = 0

    def counted(operation: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal count
            count += 1
            if count == last:
                os.kill(os.getpid(), signal.SIGKILL)
            return operation(*args, **kwargs)

        return call

    for name in OPERATIONS:
        setattr(os, name, counted(getattr(os, name)))
    return lambda: count


# Small, but of many tasks.
SWEEP: dict[str, Any] = {
    "seeds": 2000,
    "steps": 40,
    "record": 2,
    "world": [{"kind": "two-state", "log_scale": [1e-3, 1e-2]}],
    "agent": [{"kind": "smart", "step_size": [0.01, 0.1]}, {"kind": "harmonic-r", "step_size": [0.01, 0.1]}],
}

if __name__ == "__main__":
    serve()
