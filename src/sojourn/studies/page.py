"""One HTML page about the results that commands have left in folders."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from sojourn.report.blocks import Section
from sojourn.report.budget import Budget
from sojourn.report.page import TITLE, page_of
from sojourn.rules.files import write_text
from sojourn.studies.claims.ledger import load_claims
from sojourn.studies.claims.section import claims_section
from sojourn.studies.folders import Found, find, read

LARGEST = 8_000_000  # bytes of a page


def write_report(
    folders: Iterable[str | Path],
    out: str | Path = "report.html",
    title: str = TITLE,
    claims: bool = False,
) -> Path:
    """Write one page about the results in folders, and return its path.

    With `claims` the ledger of the paper's claims comes last. The page stays under 8 MB: long tables and curves are
    thinned out, and the page says so.

    >>> import tempfile
    >>> from sojourn.studies.solution.answer import solve_named
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
    write_text(path, _fitting(found, title, [claims_section(load_claims())] if claims else []))
    return path


def _fitting(found: list[Found], title: str, further: Sequence[Section]) -> str:
    """Return the page with as much detail as fits."""
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
