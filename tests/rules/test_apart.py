"""Foreign tables are read in a child process; whatever happens to it, the caller gets a table or a one-sentence error."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from failing_readers import dies, panics, refuses, sleeps, swells, talks
from sojourn.data import child as apart
from sojourn.data.child import read_apart, read_table


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A whole table."""
    pl.DataFrame({"seed": [0, 1], "name": ["a", None]}).write_parquet(tmp_path / "table.parquet")
    return tmp_path / "table.parquet"


@pytest.mark.parametrize(
    ("reading", "kind", "sentence"),
    [
        (panics, ValueError, r"table\.parquet is damaged \(index out of bounds\); fetch or make it again"),
        (
            dies,
            ValueError,
            r"cannot be read: the process that read it was ended by SIGABRT, with 500 MB of memory",
        ),
        (
            swells,
            ValueError,
            r"was ended by SIGABRT, with 500 MB of memory; .* or set SOJOURN_READ_MB to allow more",
        ),
        (refuses, TypeError, "it is of the wrong kind"),
    ],
)
def test_every_failure_of_the_reader_is_one_sentence(
    reading: Any, kind: type[Exception], sentence: str, file: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Panics, crashes and excessive memory end no other process and print nothing; the next table is read as usual."""
    with pytest.raises(kind, match=sentence):
        read_apart(reading, file)
    assert read_table(file)["seed"].to_list() == [0, 1]
    assert capfd.readouterr() == ("", "")


def test_a_hanging_reader_is_killed(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that exceeds its time limit is killed, and the error says so."""
    monkeypatch.setattr(apart, "_LEAST_SECONDS", 0.5)
    with pytest.raises(ValueError, match="the process that read it took too long"):
        read_apart(sleeps, file)


def test_more_memory_can_be_allowed(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Setting SOJOURN_READ_MB, as the error suggests, allows more memory."""
    monkeypatch.setenv("SOJOURN_READ_MB", "1500")
    assert read_apart(swells, file)[0]["size"].item() == 700_000_000


def test_printed_output_does_not_corrupt_the_result(file: Path) -> None:
    """Output printed by a reading does not corrupt the table and the facts that it returns."""
    table, facts = read_apart(talks, file)
    assert table["x"].to_list() == [1.5, None]
    assert facts == {"name": "table.parquet"}


def test_threads_share_one_reader(file: Path) -> None:
    """Each of several concurrent threads gets its own answer."""
    found: list[list[int]] = []
    threads = [
        threading.Thread(target=lambda: found.append(read_table(file)["seed"].to_list())) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[0, 1]] * 8


def test_a_reader_ends_with_its_caller(file: Path) -> None:
    """A killed caller leaves no reader behind."""
    program = (
        "import os, time; from pathlib import Path; from sojourn.rules import apart\n"
        f"apart.read_table(Path({str(file)!r})); print(apart._reader.process.pid, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as caller:
        assert caller.stdout is not None
        reader = int(caller.stdout.readline())
        caller.send_signal(signal.SIGKILL)
    for _ in range(100):
        if not Path(f"/proc/{reader}").exists() or "Z" in Path(f"/proc/{reader}/stat").read_text().split()[2]:
            return
        time.sleep(0.1)
    pytest.fail("the reader is still there")
