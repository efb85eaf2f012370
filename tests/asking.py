"""The command line, as a program of its own or within this process."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import warnings
from pathlib import Path
from unittest import mock

from sojourn.cli.commands import run

COMMAND = Path(sys.executable).with_name("sojourn")

Answer = subprocess.CompletedProcess[str]


def start(*arguments: str | Path, folder: Path | None = None) -> Answer:
    """Run a command as a user does, in a process of its own."""
    words = [str(COMMAND), *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder)


def ask(*arguments: str | Path, folder: Path | None = None) -> Answer:
    """Run a command in this process, where everything is imported already: imports take longer than most commands."""
    words = ["sojourn", *map(str, arguments)]
    out, err = io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", words),
        mock.patch.dict(os.environ),
        contextlib.chdir(folder or Path.cwd()),
        warnings.catch_warnings(),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.object(warnings, "formatwarning"),
        mock.patch.object(warnings, "showwarning", _printed),
    ):
        warnings.simplefilter("default")
        code = run()
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


def _printed(message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: object) -> None:
    """Print a warning, as Python does where nobody records it."""
    sys.stderr.write(warnings.formatwarning(message, category, filename, lineno))
