"""Writes what a paper needs from the output folders of commands: tables as LaTeX and CSV, charts as PDF, one column wide."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import polars as pl

from sojourn.answers.page import found_in, read
from sojourn.data.files import own_folder, write_text
from sojourn.report.blocks import Budget, Charts, DataTable, Section
from sojourn.report.charts import Choosable, Heatmap, Plain, Regions, Sheet, Whiskers
from sojourn.report.figures import write_for_paper
from sojourn.report.latex import latex
from sojourn.rules.door import told

WHOLE = Budget(rows=1_000_000)
WIDTH = 3.3  # inches; the columns of most journals and conferences are 3.25 to 3.5 wide
_LONGEST = 40  # letters of a title in the name of a file


@told
def write_manuscript(folders: Iterable[str | Path], out: str | Path) -> list[Path]:
    """Write all tables and charts about the results in folders into the folder `out`, and return their paths.

    A table is a .tex file, which needs the package booktabs, and a .csv file with all digits; a chart is a .pdf file as wide as
    a column, with serif letters. A chart with choices is written as it is first shown.

    >>> import tempfile
    >>> from sojourn.answers.solution import solve_named
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     solve_named("gosavi", {}).write(Path(folder) / "solved")
    ...     made = write_manuscript([Path(folder) / "solved"], Path(folder) / "paper")
    ...     sorted({path.suffix for path in made})
    ['.csv', '.pdf', '.tex']
    """
    folder, made, outputs = Path(out), list[Path](), found_in(folders)
    own_folder(folder)
    for found in outputs:
        taken: set[str] = set()
        for block in _flat(read(found, WHOLE)):
            title = block.caption if isinstance(block, DataTable) else block.title
            path = folder / _name(found.folder.resolve().name, title, taken)
            made += _table(block, path) if isinstance(block, DataTable) else _chart(block, path)
    return made


def _flat(section: Section) -> Iterator[DataTable | Plain]:
    """Yield the tables and the charts of a section, each once."""
    for block in (section.picture, *section.blocks):
        for one in block.items if isinstance(block, Charts) else (block,):
            if isinstance(one, Choosable):
                yield one.charts[one.start]
            elif isinstance(one, DataTable | Plain):
                yield one


def _name(folder: str, title: str, taken: set[str]) -> str:
    """Return the name of a file, without its ending: the folder and the first words of the title."""
    words = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    name = f"{folder}-{words[:_LONGEST].rpartition('-')[0] if len(words) > _LONGEST else words}".strip("-")
    place = next(at for at in range(1, len(taken) + 2) if f"{name}-{at}" not in taken)
    taken.add(f"{name}-{place}")
    return name if place == 1 else f"{name}-{place}"


def _table(table: DataTable, path: Path) -> list[Path]:
    files = [path.with_name(f"{path.name}{ending}") for ending in (".tex", ".csv")]
    write_text(files[0], latex(table, f"tab:{path.name}"))
    names = [column.name for column in table.columns]
    columns = {
        name if names.count(name) == 1 else f"{name} {at}": [row[at] for row in table.rows]
        for at, name in enumerate(names)
    }
    write_text(files[1], pl.DataFrame(columns, strict=False).write_csv())
    return files


def _chart(chart: Plain, path: Path) -> list[Path]:
    height = 0.7 + 0.2 * len(chart.rows) if isinstance(chart, Whiskers) else 2.3
    if isinstance(chart, Heatmap | Regions):
        height = 2.7
    return [write_for_paper(Sheet([[chart._replace(title="")]], (WIDTH, height)), path)]
