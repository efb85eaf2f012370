"""Readers of tables that fail. A child process imports this module by its name, and `tests` may be someone else's package."""

from __future__ import annotations

import os
import time
from pathlib import Path

import polars as pl

from sojourn.data.child import Facts


class Panic(BaseException):
    """What Polars raises is no Exception, either."""


def panics(path: Path) -> tuple[pl.DataFrame, Facts]:
    """Raise what is no Exception."""
    raise Panic("index out\nof bounds")


def dies(path: Path) -> tuple[pl.DataFrame, Facts]:
    """End the process."""
    os.abort()


def swells(path: Path) -> tuple[pl.DataFrame, Facts]:
    """Take 700 MB."""
    return pl.DataFrame({"size": [len(bytearray(700_000_000))]}), {}


def sleeps(path: Path) -> tuple[pl.DataFrame, Facts]:
    """Take a minute."""
    time.sleep(60.0)
    return pl.DataFrame(), {}


def talks(path: Path) -> tuple[pl.DataFrame, Facts]:
    """Print something, and return a table."""
    os.write(1, b"not an answer\n")
    return pl.DataFrame({"x": [1.5, None]}), {"name": path.name}


def refuses(path: Path) -> tuple[pl.DataFrame, Facts]:
    """Raise a TypeError."""
    raise TypeError("it is of the wrong kind")
