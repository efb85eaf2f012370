"""The tables that a study leaves in its folder, for its page and for whoever goes on from there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from sojourn.rules.files import own_folder, write_whole


def write_tables(folder: Path, tables: Mapping[str, pl.DataFrame]) -> None:
    """Write tables to the files of these names in a folder, such as "tables/success.parquet"."""
    for name, table in tables.items():
        file = folder / name
        if file.parent != folder:
            own_folder(file.parent)
        write_whole(file, table.write_parquet)


def read_tables(folder: Path, names: Sequence[str]) -> list[pl.DataFrame]:
    """Return the tables in the files of these names; a folder without them is of another version."""
    missing = next((name for name in names if not folder.joinpath(name).is_file()), None)
    if missing is not None:
        raise ValueError(
            f"{folder / missing} is missing: another version wrote this folder; run the study again, which keeps its runs"
        )
    return [pl.read_parquet(folder / name) for name in names]
