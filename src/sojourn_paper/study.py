"""What the paper's studies share: sweeps, tables, figures, a summary and a README in one folder, which can be resumed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypedDict, TypeVar

import polars as pl

from sojourn.answers.page import Reader
from sojourn.data.child import check_columns, read_table
from sojourn.data.files import own_folder, write_json, write_text, write_whole
from sojourn.data.hints import plain
from sojourn.report import figures
from sojourn.report.blocks import Budget
from sojourn.report.charts import Sheet
from sojourn.report.markdown import markdown
from sojourn.runs.executors import executor
from sojourn.runs.progress import Advance, no_progress
from sojourn.runs.results import TIMINGS, claim_folder, load_results
from sojourn.runs.spec import Sweep
from sojourn.runs.store import run_sweep


class Statement(TypedDict):
    """A statement of the paper, and the verdict on it."""

    statement: str
    verdict: str


Row = dict[str, str | float]  # a table by column name
Tables = TypeVar("Tables", bound=tuple[pl.DataFrame, ...])  # a NamedTuple
Summary = TypeVar("Summary")


@dataclass(frozen=True)
class Study(Generic[Tables]):
    """The tables of a study, and their files, in the same order.

    Each file is given with its columns: the names of text columns, a bar, and the names of numeric columns.
    """

    kind: Callable[..., Tables]
    files: Mapping[str, str]

    def write(self, folder: Path, tables: Tables) -> None:
        """Write the tables into the study's folder."""
        for name, table in zip(self.files, tables, strict=True):
            file = folder / name
            if file.parent != folder:
                own_folder(file.parent)
            write_whole(file, table.write_parquet)

    def read(self, folder: Path) -> Tables:
        """Return the tables of a study's folder; raise an error if one is missing."""
        missing = next((name for name in self.files if not folder.joinpath(name).is_file()), None)
        if missing is not None:
            raise ValueError(
                f"{folder / missing} is missing: another version wrote this folder; run the study again, which keeps its runs"
            )
        tables = []
        for name, columns in self.files.items():
            texts, _, numbers = (part.split() for part in columns.partition("|"))
            table = read_table(folder / name)
            check_columns(folder / name, table.schema, texts, numbers)
            tables.append(table.select(*texts, *numbers))
        return self.kind(*tables)

    def run(
        self,
        out: Path,
        sweeps: Mapping[str, Sweep],
        *,
        tabulate: Callable[[dict[str, pl.DataFrame], Executor], Tables],
        sheets: Callable[[Tables], dict[str, Sheet]],
        summarise: Callable[[Tables, float], Summary],
        section: Reader,
        jobs: int | None = None,
        progress: Advance = no_progress,
        formats: Sequence[str] = figures.FORMATS,
    ) -> Summary:
        """Run the sweeps, each in a folder of its name, and write everything derived from them; return the summary.

        `tabulate` turns the sweeps' results into tables, and `summarise` turns the tables and the total
        seconds into a summary.
        """
        claim_folder(out)
        with executor(jobs) as (pool, width):
            runs = {}
            for name, sweep in sweeps.items():
                run_sweep(sweep, own_folder(out / name), pool, width, progress).whole()
                runs[name] = load_results(out / name)
            # Sweeps may have been interrupted and resumed, so the seconds of their tasks are added up.
            swept = sum(float(read_table(out / name / TIMINGS)["seconds"].sum()) for name in sweeps) / width
            begin = time.perf_counter()
            with figures.drawing(jobs, formats) as write_sheets:
                found = tabulate(runs, pool)
                self.write(out, found)
                write_sheets(sheets(found), out / "figures")
        summary = summarise(found, swept + time.perf_counter() - begin)
        document: Any = summary if isinstance(summary, dict) else plain(summary)
        write_text(out / "README.md", markdown(section(out, document, Budget())))
        write_json(out / "summary.json", document)  # last, because its presence means that everything is done
        return summary
