"""Renders blocks as lines for a terminal; charts are shown only on the page."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from sojourn.report.blocks import (
    Block,
    Cell,
    Column,
    DataTable,
    Facts,
    Heading,
    Note,
    Points,
    Prose,
    cell_text,
)
from sojourn.report.words import EMPTY, counted

MOST_ROWS = 60  # rows shown of a table
WIDEST = 60  # the widest cell, in characters
WIDTH = 100  # the longest line of a table's note, in characters


def lines(blocks: Iterable[Block]) -> list[str]:
    """Return blocks as lines: one per paragraph, unwrapped, and one per table row.

    >>> lines([Prose("B earns more."), DataTable("", [Column("job", numeric=False), Column("gain")], [("B", 2.5)])])
    ['B earns more.', '', 'job  gain', 'B     2.5']
    """
    found: list[str] = []
    after_table = False
    for block in blocks:
        told = list(_block(block))
        is_table = isinstance(block, DataTable | Heading)
        if found and told and (is_table or after_table):
            found.append("")
        found += told
        after_table = isinstance(block, DataTable) if told else after_table
    return found


def _block(block: Block) -> Iterator[str]:
    match block:
        case Prose(words) | Note(words) | Heading(words):
            yield words
        case Points(items):
            yield from items
        case Facts(_, items):
            yield from (f"{name}: {value}" for name, value in items)
        case DataTable():
            yield from _table(block)


def _table(table: DataTable) -> Iterator[str]:
    """Yield an aligned table, numbers to the right; a long table is cut to its first rows."""
    columns = [(place, column) for place, column in enumerate(table.columns) if column.short is not None]
    heads = [column.short or column.name for _, column in columns]
    rows = [[_cell(column, row[place]) for place, column in columns] for row in table.rows[:MOST_ROWS]]
    widths = [max(map(len, texts)) for texts in zip(heads, *rows, strict=True)]
    if table.caption:
        yield table.caption
    for row in (heads, *rows):
        words = [
            word.rjust(width) if column.numeric else word.ljust(width)
            for word, width, (_, column) in zip(row, widths, columns, strict=True)
        ]
        yield "  ".join(words).rstrip()
    if len(table.rows) > len(rows):
        yield f"and {counted(len(table.rows) - len(rows), 'further row')}"
    yield from textwrap.wrap(table.note, WIDTH)


def _cell(column: Column, value: Cell) -> str:
    words = cell_text(column, value)
    return "-" if words == EMPTY else words[:WIDEST]
