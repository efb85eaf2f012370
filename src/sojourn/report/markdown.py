"""Renders blocks as Markdown, for the README in a command's output folder; charts are in `figures/`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from sojourn.report.blocks import (
    Block,
    DataTable,
    Facts,
    Heading,
    Note,
    Points,
    Prose,
    Section,
    Verdicts,
    cell_text,
)
from sojourn.report.html import HOLDS

WIDTH = 98
MOST_ROWS = 40  # rows shown of a table; the complete tables are in files


def markdown(section: Section) -> str:
    """Return a section as a Markdown document.

    >>> print(markdown(Section("study", "Two jobs", "B earns more.", None, [Heading("Why"), Points(["It is short."])])))
    # Two jobs
    <BLANKLINE>
    B earns more.
    <BLANKLINE>
    ## Why
    <BLANKLINE>
    1. It is short.
    <BLANKLINE>
    """
    parts = [f"# {section.title}", _filled(section.lead)]
    headings: list[Heading] = []
    for block in section.blocks:
        texts = list(_block(block))
        if isinstance(block, Heading):  # a heading above nothing but charts is omitted
            headings = [*(one for one in headings if one.level < block.level), block]
        elif texts:
            parts += [f"{'#' * (one.level - 1)} {one.text}" for one in headings]
            parts += texts
            headings = []
    return "\n\n".join(parts) + "\n"


def _block(block: Block) -> Iterator[str]:
    """Yield a block as Markdown, except for headings; charts yield nothing."""
    match block:
        case Prose(words):
            yield _filled(words)
        case Note(words):
            yield _filled(words, "> ", "> ")
        case Points(items):
            yield "\n".join(_filled(item, f"{at}. ", "   ") for at, item in enumerate(items, start=1))
        case Facts(title, items):
            yield f"## {title}"
            yield "\n".join(f"- {name}: {value}" for name, value in items)
        case Verdicts(items):
            rows = [(statement, verdict, HOLDS.get(holds, "")) for statement, verdict, holds in items]
            width = 3 if any(row[2] for row in rows) else 2
            head = ("statement", "here", "verdict")[:width]
            yield _rows(head, ["---"] * width, [row[:width] for row in rows])
        case DataTable():
            yield f"**{block.caption}**"
            yield table_text(block)


def table_text(table: DataTable) -> str:
    """Return a table and its note; a long table is cut to its first rows."""
    marks = ["---:" if column.numeric else "---" for column in table.columns]
    rows = [tuple(map(cell_text, table.columns, row)) for row in table.rows[:MOST_ROWS]]
    parts = [_rows(tuple(column.name for column in table.columns), marks, rows)]
    left = len(table.rows) - MOST_ROWS
    if left > 0:
        parts.append(f"{left:,} more rows are left out here.")
    if table.note:
        parts.append(_filled(table.note))
    return "\n\n".join(parts)


def _rows(head: tuple[str, ...], marks: list[str], rows: list[tuple[str, ...]]) -> str:
    lines = [head, tuple(marks), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _filled(words: str, first: str = "", later: str = "") -> str:
    return textwrap.fill(
        words,
        WIDTH,
        initial_indent=first,
        subsequent_indent=later,
        break_long_words=False,
        break_on_hyphens=False,
    )
