"""The tables that a study leaves in its folder, for its page and for whoever goes on from there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from sojourn.rules.files import write_whole

TABLES = "tables"


def write_tables(folder: Path, tables: Mapping[str, pl.DataFrame]) -> None:
    """Write each table to a file of its name."""
    inside = folder / TABLES
    inside.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        write_whole(inside / f"{name}.parquet", table.write_parquet)


def read_tables(folder: Path, names: tuple[str, ...]) -> list[pl.DataFrame]:
    """Return the tables of these names; a folder without them is of an older version."""
    files = [folder / TABLES / f"{name}.parquet" for name in names]
    missing = next((file for file in files if not file.is_file()), None)
    if missing is not None:
        raise ValueError(
            f"{missing} is missing: another version wrote this folder; run the study again, which keeps its runs"
        )
    return [pl.read_parquet(file) for file in files]
