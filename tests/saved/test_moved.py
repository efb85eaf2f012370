"""Old names lead to what they once meant; see `sojourn.data.moved`."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import sojourn
from sojourn.data import moved

TABLE = tomllib.loads(Path(moved.__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def run(code: str) -> str:
    """Return what a new process writes to its standard error; it must not fail."""
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_an_old_module_works_and_warns_once() -> None:
    """A module's old name leads to what it held, with one warning that says where this is now."""
    told = run("from sojourn.rules.files import write_text\nfrom sojourn.rules.files import read_text")
    assert (
        told.count("sojourn.rules.files has moved to sojourn.data.files; the old name works until 1.0") == 1
    )


def test_the_finder_answers_for_our_old_modules_only() -> None:
    """No other import is touched: a missing module of ours or of others is as missing as ever."""
    finder = moved.MovedModules()
    assert finder.find_spec("sojourn.rules.files", None) is not None
    assert finder.find_spec("numpy.rules", None) is finder.find_spec("sojourn.nothing", None) is None


@pytest.mark.parametrize("old", sorted(TABLE["modules"]))
def test_no_old_module_hides_a_new_one(old: str) -> None:
    """What the table calls gone is gone, so that no file is found under two names."""
    base = Path(sojourn.__file__).parents[1].joinpath(*old.split("."))
    assert not base.with_suffix(".py").exists()
    assert not (base / "__init__.py").exists()
