from __future__ import annotations

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


def test_wrong_options_get_one_sentence(tmp_path: Path) -> None:
    """An error is one line on standard error, with no traceback, and the exit code is not 0."""
    (tmp_path / "taken").write_text("a file")
    out = sojourn("reproduce", "robustness", "--out", str(tmp_path / "taken"))
    assert out.returncode == 1
    assert out.stderr.startswith("sojourn: ")
    assert out.stderr.count("\n") == 1
    assert sojourn("reproduce", "robustness", "--seeds", "0").returncode == 2
    assert sojourn("reproduce", "nonsense").returncode == 2
