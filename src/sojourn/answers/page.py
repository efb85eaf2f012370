"""Makes one HTML page from the output folders of commands.

The files in a folder identify the command that wrote it, and that command's answer makes the section.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import NamedTuple, TypeAlias

import polars as pl

from sojourn.data.files import Json, load_json, write_text
from sojourn.data.names import Catalogue
from sojourn.report.blocks import Budget, Charts, Note, Section
from sojourn.report.charts import Choosable
from sojourn.report.html import TITLE, page_of
from sojourn.rules.door import told
from sojourn.runs.results import RESULTS

Reader: TypeAlias = Callable[[Path, dict[str, Json], Budget], Section]
FILES = {
    f"{kind}.json": kind
    for kind in ("audit", "comparison", "log", "observations", "rates", "solution", "total", "verdict")
}
_PLACES = {"comparison": "comparison.section", "observations": "comparison.observed"}
READERS: Catalogue[Reader] = Catalogue(
    {kind: f"sojourn.answers.{_PLACES.get(kind, kind)}:section" for kind in (*FILES.values(), "sweep")}
)


def studies() -> Catalogue[Reader]:
    """Return the readers from the entry points `sojourn.answers`, by the name in `summary.json` or the file name.

    For a file that both know, such as `observations.json`, an installed package takes precedence over this one.
    """
    return Catalogue({point.name: point.value for point in entry_points(group="sojourn.answers")})


class Output(NamedTuple):
    """An output that was found: its kind, its place, and whether it may be skipped if it cannot be read."""

    kind: str
    folder: Path
    optional: bool = False


def find(folder: Path) -> list[Output]:
    """Return the outputs in a folder or, if it has none itself, in its subfolders.

    A named folder must be readable; an unreadable subfolder may be skipped, with the reason.
    """
    if not folder.is_dir():
        wrong = "is a file" if folder.exists() else "does not exist"
        raise ValueError(f"{folder} {wrong}; give a folder that a command has written")
    kinds = _kinds(folder)
    if kinds:
        return [Output(kind, folder) for kind in kinds]
    inside = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    found = [Output(kind, path, optional=True) for path in inside for kind in _kinds(path)]
    if not found:
        raise ValueError(
            f"{folder} holds no output of reproduce, sweep, compare, solve, audit, log, rates or evaluate"
        )
    return found


def _kinds(folder: Path) -> list[str]:
    """Return the kinds of output in a folder, including unfinished output."""
    kinds = [kind for file, kind in FILES.items() if folder.joinpath(file).is_file()]
    if "comparison" in kinds or "observations" in kinds:
        return kinds  # results.parquet belongs to it
    if folder.joinpath("settings.json").is_file():
        return [*kinds, "comparison"]
    if folder.joinpath("summary.json").is_file() or _begun(folder):
        return [*kinds, "study"]
    if folder.joinpath(RESULTS).is_file() or folder.joinpath("sweep.json").is_file():
        return [*kinds, "sweep"]
    return kinds


def _begun(folder: Path) -> bool:
    """Whether a study was started here: its sweep is in a subfolder and has the study's name."""
    file = folder / "sweep" / "sweep.json"
    try:
        return file.is_file() and load_json(file).get("name") in studies()
    except ValueError:
        return False


def read(found: Output, budget: Budget) -> Section:
    """Return the section for an output; if it cannot be read, a section or an error says why."""
    try:
        return _read(found, budget)
    except ValueError as error:
        if not found.optional:
            raise
        lead = "This folder could not be read."
        return Section("left out", found.folder.name, lead, None, [Note(str(error))])


def _read(found: Output, budget: Budget) -> Section:
    folder, kind, readers = found.folder, found.kind, READERS
    if kind == "sweep":
        file, given = folder / RESULTS, _sweep(folder)
    elif kind == "study":
        file = folder / "summary.json"
        if not file.is_file():
            raise ValueError(f"{folder} holds a study that is not finished; run it again to go on")
        given = load_json(file)
        kind, readers = str(given.get("study")), studies()
        if kind not in readers:
            raise ValueError(f"{file} belongs to an unknown study: {kind!r}")
    else:
        file = folder / f"{kind}.json"
        if not file.is_file():
            raise ValueError(f"{folder} holds a {kind} that is not finished; run it again to go on")
        given = load_json(file)
        readers = studies() if kind in studies() else READERS
    try:
        return _with_checked_charts(readers[kind](folder, given, budget))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise ValueError(f"a table in {folder} cannot be read: {_first_line(error)}") from None
    except (LookupError, TypeError, AttributeError, ArithmeticError, ValueError) as error:
        if isinstance(error, ValueError) and f"{folder}{os.sep}" in str(error):
            raise  # our own message, which names the file
        told = f"no {error}" if isinstance(error, KeyError) else _first_line(error)
        raise ValueError(
            f"{file} is damaged or of another version ({told}); make it again with the command that wrote it"
        ) from None


def _with_checked_charts(section: Section) -> Section:
    """Check that every chart's initial choice has data, which truncated tables may lack."""
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


# --- The page ----------------------------------------------------------------------------

LARGEST = 8_000_000  # bytes of a page


@told
def write_report(
    folders: Iterable[str | Path], out: str | Path = "report.html", title: str = TITLE, claims: bool = False
) -> Path:
    """Write one page about the results in folders, and return its path.

    With `claims`, the ledger of the paper's claims comes last. The page stays under 8 MB: long tables are cut and
    curves thinned out, and the page says so.

    >>> import tempfile
    >>> from sojourn.answers.solution import solve_named
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     solve_named("gosavi", {}).write(Path(folder) / "solved")
    ...     page = write_report([Path(folder) / "solved"], Path(folder) / "report.html")
    ...     "2.104" in page.read_text()
    True
    """
    named = [folders] if isinstance(folders, str | Path) else list(folders)
    found = [one for folder in named for one in find(Path(folder))]
    found = list({(one.kind, one.folder.resolve()): one for one in found}.values())
    if not found:
        raise ValueError("there is nothing to report on; give a folder that a command has written")
    path = Path(out)
    write_text(
        path, _fitting(found, title, [studies()["claims"](path.parent, {}, Budget())] if claims else [])
    )
    return path


def _fitting(found: list[Output], title: str, further: Sequence[Section]) -> str:
    """Render the page with as much detail as fits."""
    budget, before = Budget(), math.inf
    while True:
        sections = [read(one, budget) for one in found]
        page = page_of([*sections, *further], title)
        size = len(page.encode())
        if size <= LARGEST:
            return page
        if size >= before:  # less detail no longer helps
            raise ValueError(
                f"the page would have {size / 1e6:.1f} MB, more than {LARGEST / 1e6:g}; give fewer folders"
            )
        before, budget = size, Budget(rows=max(20, budget.rows // 2), points=max(500, budget.points // 2))
