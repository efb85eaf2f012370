from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import sojourn as sj

COMMAND = Path(sys.executable).with_name("sojourn")


def sojourn(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=False)


def test_version() -> None:
    """The command says its version."""
    assert sojourn("--version").stdout.strip() == sj.__version__


def test_help_needs_neither_numba_nor_matplotlib() -> None:
    """What is slow to import stays out of --help."""
    code = (
        "import sys; sys.argv = ['sojourn', '--help']\n"
        "from sojourn.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "assert not {'numba', 'matplotlib', 'scipy', 'polars', 'gymnasium'} & set(sys.modules)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "reproduce" in out.stdout


def test_reproduce_shows_what_was_learned() -> None:
    """The table has the paper's agents at three difficulties, and Harmonic ahead at the hardest."""
    out = sojourn("reproduce", "--seeds", "10")
    assert out.returncode == 0, out.stderr
    rows = re.findall(r"^ +(\S+) +(\S.*\S) +(\d+) of 10 ", out.stdout, flags=re.MULTILINE)
    hits = {(log_scale, agent): int(count) for log_scale, agent, count in rows}
    assert len(hits) == 9
    assert hits["0.0001", "SMART"] <= 1
    assert hits["0.0001", "Relaxed-SMART"] <= 1
    assert hits["0.0001", "Harmonic R-Learning"] >= 4
    assert hits["0.01", "Harmonic R-Learning"] == 10


def test_wrong_options_get_one_sentence() -> None:
    """An error is one line on standard error, with no traceback, and the exit code is not 0."""
    for arguments in (["reproduce", "--step-size", "-1"], ["reproduce", "--rate-step-size", "0"]):
        out = sojourn(*arguments)
        assert out.returncode == 1
        assert out.stderr.startswith("sojourn: ")
        assert out.stderr.count("\n") == 1
    assert sojourn("reproduce", "--seeds", "0").returncode == 2
