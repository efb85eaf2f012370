"""The tables that a study leaves in its folder, for its page and for further work."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from sojourn.rules.apart import check_columns, read_table
from sojourn.rules.files import own_folder, write_whole


def write_tables(folder: Path, tables: Mapping[str, pl.DataFrame]) -> None:
    """Write tables to the files of these names in a folder, such as "tables/success.parquet"."""
    for name, table in tables.items():
        file = folder / name
        if file.parent != folder:
            own_folder(file.parent)
        write_whole(file, table.write_parquet)


def read_tables(folder: Path, files: Mapping[str, str]) -> list[pl.DataFrame]:
    """Return the tables in these files; raise an error if one is missing.

    Each file is given with its columns: the names of those with texts, a bar, and the names of those with numbers.
    """
    missing = next((name for name in files if not folder.joinpath(name).is_file()), None)
    if missing is not None:
        raise ValueError(
            f"{folder / missing} is missing: another version wrote this folder; run the study again, which keeps its runs"
        )
    tables = []
    for name, columns in files.items():
        texts, _, numbers = columns.partition("|")
        table = read_table(folder / name)
        check_columns(folder / name, table.schema, texts.split(), numbers.split())
        tables.append(table.select(*texts.split(), *numbers.split()))
    return tables
