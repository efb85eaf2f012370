"""Find out from its files which command wrote a folder, and make the page's section about it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeAlias

import polars as pl

from sojourn.report.blocks import Charts, Note, Section
from sojourn.report.budget import Budget
from sojourn.report.charts import Choosable
from sojourn.rules.names import Catalogue
from sojourn.rules.records import Json, load_json
from sojourn.runs.results import RESULTS

Reader: TypeAlias = Callable[[Path, dict[str, Json], Budget], Section]
READERS: Catalogue[Reader] = Catalogue(
    {
        kind: f"sojourn.studies.{kind}.section:section"
        for kind in (
            "audit",
            "bitcoin",
            "comparison",
            "drift",
            "log",
            "observations",
            "rates",
            "robustness",
            "solution",
            "sweep",
            "verdict",
        )
    }
)
FILES = {
    "comparison.json": "comparison",
    "solution.json": "solution",
    "audit.json": "audit",
    "log.json": "log",
    "observations.json": "observations",
    "rates.json": "rates",
    "verdict.json": "verdict",
}
STUDIES = ("robustness", "bitcoin", "drift")


class Found(NamedTuple):
    """An output that was found: what it is, where, and whether it may be left out if it cannot be read."""

    kind: str
    folder: Path
    optional: bool = False


def find(folder: Path) -> list[Found]:
    """Return what a folder holds; or, if it holds nothing itself, what its subfolders hold.

    A folder that was named must be readable; an unreadable subfolder may be left out, with the reason.
    """
    if not folder.is_dir():
        wrong = "is a file" if folder.exists() else "does not exist"
        raise ValueError(f"{folder} {wrong}; give a folder that a command has written")
    kinds = _kinds(folder)
    if kinds:
        return [Found(kind, folder) for kind in kinds]
    inside = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    found = [Found(kind, path, optional=True) for path in inside for kind in _kinds(path)]
    if not found:
        raise ValueError(
            f"{folder} holds no output of reproduce, sweep, compare, solve, audit, log, rates or evaluate"
        )
    return found


def _kinds(folder: Path) -> list[str]:
    """Return the kinds of output in a folder; unfinished output counts."""
    kinds = [kind for file, kind in FILES.items() if folder.joinpath(file).is_file()]
    if "comparison" in kinds or "observations" in kinds:
        return kinds  # its results.parquet belongs to it
    if folder.joinpath("settings.json").is_file():
        return [*kinds, "comparison"]
    if folder.joinpath("summary.json").is_file() or _begun(folder):
        return [*kinds, "study"]
    if folder.joinpath(RESULTS).is_file() or folder.joinpath("sweep.json").is_file():
        return [*kinds, "sweep"]
    return kinds


def _begun(folder: Path) -> bool:
    """Return whether a study began here: its sweep is in a subfolder and has the name of the study."""
    file = folder / "sweep" / "sweep.json"
    try:
        return file.is_file() and load_json(file).get("name") in STUDIES
    except ValueError:
        return False


def read(found: Found, budget: Budget) -> Section:
    """Return the section of an output; if it cannot be read, the section or an error says why."""
    try:
        return _read(found, budget)
    except ValueError as error:
        if not found.optional:
            raise
        lead = "This folder could not be read."
        return Section("left out", found.folder.name, lead, None, [Note(str(error))])


def _read(found: Found, budget: Budget) -> Section:
    folder, kind = found.folder, found.kind
    if kind == "sweep":
        file, given = folder / RESULTS, _sweep(folder)
    elif kind == "study":
        file = folder / "summary.json"
        if not file.is_file():
            raise ValueError(f"{folder} holds a study that is not finished; run it again to go on")
        given = load_json(file)
        kind = str(given.get("study"))
        if kind not in STUDIES:
            raise ValueError(f"{file} belongs to an unknown study: {kind!r}")
    else:
        file = folder / f"{kind}.json"
        if not file.is_file():
            raise ValueError(f"{folder} holds a {kind} that is not finished; run it again to go on")
        given = load_json(file)
    try:
        return _drawable(READERS[kind](folder, given, budget))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise ValueError(f"a table in {folder} cannot be read: {_first_line(error)}") from None
    except (LookupError, TypeError, AttributeError, ArithmeticError, ValueError) as error:
        if isinstance(error, ValueError) and f"{folder}{os.sep}" in str(error):
            raise  # this is our own message, which names the file
        told = f"no {error}" if isinstance(error, KeyError) else _first_line(error)
        raise ValueError(
            f"{file} is damaged or of another version ({told}); make it again with the command that wrote it"
        ) from None


def _drawable(section: Section) -> Section:
    """Check that every chart of a section has what it shows first, which tables that were cut may lack."""
    for block in (section.picture, *section.blocks):
        for chart in block.items if isinstance(block, Charts) else (block,):
            if isinstance(chart, Choosable) and chart.start not in chart.charts:
                raise ValueError("its tables lack some combinations that can be chosen on the page")
    return section


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def _sweep(folder: Path) -> dict[str, Json]:
    if not folder.joinpath(RESULTS).is_file():
        raise ValueError(f"{folder} holds a sweep that is not finished; run it again to go on")
    file = folder / "sweep.json"
    return load_json(file) if file.is_file() else {}
