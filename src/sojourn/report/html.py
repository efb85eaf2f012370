"""Renders blocks as HTML, and sections as one page that needs no network and no other file.

Everything shown passes through `text` or `data`, and so is escaped.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from sojourn import __version__
from sojourn.report import blocks, charts
from sojourn.report.charts import Choosable, Heatmap, Json, Lines, Regions, Whiskers, chart_json
from sojourn.report.looks import DASHES, GRADIENTS, PALETTE
from sojourn.report.words import counted

MANY_ROWS = 12  # longer tables get a filter
SHORT = 24  # characters; cells up to this length are not wrapped
LONG = 70  # characters; cells from this length on are wide
HOLDS = {"yes": "holds", "no": "does not hold", "partly": "holds in part", "open": "open"}

# Characters that could end a script element or a line of JavaScript; all are legal in JSON strings.
_UNSAFE = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}
_MARKS = (
    (re.compile(r"`([^`]+)`"), r"<code>\1</code>"),
    (re.compile(r"\*\*([^*]+)\*\*"), r"<strong>\1</strong>"),
    (re.compile(r"(?<![\w*])\*([^*\s][^*]*)\*(?![\w*])"), r"<em>\1</em>"),
)


def text(value: object) -> str:
    """Escape text for an HTML element or a quoted attribute.

    >>> text('<img src="x">')
    '&lt;img src=&quot;x&quot;&gt;'
    """
    return html.escape(str(value), quote=True)


def prose(value: str) -> str:
    """Escape text, and turn its marks for stress and code into HTML elements.

    >>> prose("a *random* number < `1`")
    'a <em>random</em> number &lt; <code>1</code>'
    """
    escaped = text(value)
    for pattern, element in _MARKS:
        escaped = pattern.sub(element, escaped)
    return escaped


def data(value: Json) -> str:
    r"""Return JSON that is safe in a script element; numbers that are not finite become null.

    >>> data({"name": "</script>", "y": [1.0, float("inf"), 0.1234567891]})
    '{"name":"\\u003c/script\\u003e","y":[1,null,0.12345679]}'
    """
    return json.dumps(_plain(value), separators=(",", ":"), allow_nan=False).translate(_UNSAFE)


def _plain(value: Json) -> Json:
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        short = float(f"{value:.8g}")  # more digits than a chart can resolve
        return int(short) if short.is_integer() and abs(short) < 1e15 else short
    return value


class Writer:
    """Renders sections one after the other, and numbers their charts."""

    def __init__(self) -> None:
        self.charts = 0

    def section(self, section: blocks.Section, anchor: str) -> str:
        """Return a section as HTML."""
        badge = '<span class="badge">synthetic data</span>' if section.synthetic else ""
        parts = [
            f'<section id="{text(anchor)}" aria-labelledby="{text(anchor)}-title">',
            f'<p class="kind">{text(section.kind)}{badge}</p>',
            f'<h2 id="{text(anchor)}-title">{text(section.title)}</h2>',
            f'<p class="lead">{prose(section.lead)}</p>',
            *([] if section.picture is None else [self.block(section.picture)]),
            *map(self.block, section.blocks),
            "</section>",
        ]
        return "\n".join(parts)

    def block(self, block: blocks.Block) -> str:
        """Return a block as HTML."""
        match block:
            case blocks.Heading(words, level):
                return f"<h{level:d}>{text(words)}</h{level:d}>"
            case blocks.Prose(words):
                return f"<p>{prose(words)}</p>"
            case blocks.Note(words):
                return f'<p class="note">{prose(words)}</p>'
            case blocks.Points(items):
                return "<ol>" + "".join(f"<li>{prose(item)}</li>" for item in items) + "</ol>"
            case blocks.Facts():
                return _facts(block)
            case blocks.Verdicts():
                return _verdicts(block)
            case blocks.DataTable():
                return table(block)
            case Lines() | Heatmap() | Regions() | Whiskers() | Choosable():
                return self.chart(block)
            case blocks.Charts(several, small):
                inside = "\n".join(map(self.chart, several))
                return f'<div class="charts{" small" if small else ""}">{inside}</div>'

    def chart(self, chart: charts.Chart) -> str:
        """Return a figure that the page's script draws into."""
        self.charts += 1
        name = f"chart-{self.charts}"
        first = chart.first if isinstance(chart, Choosable) else chart
        title, words, given = first.title, first.note, chart_json(chart)
        note = f'<p class="hint">{prose(words)}</p>' if words else ""
        return (
            f'<figure class="chart" id="{name}"><figcaption><span>{text(title)}</span></figcaption>'
            f'<div class="canvas"><p class="hint">Charts need JavaScript.</p></div>{note}'
            f'<script type="application/json">{data(given)}</script></figure>'
        )


def _facts(facts: blocks.Facts) -> str:
    items = "".join(f"<div><dt>{text(name)}</dt><dd>{text(value)}</dd></div>" for name, value in facts.items)
    return f'<details class="facts" open><summary>{text(facts.title)}</summary><dl>{items}</dl></details>'


def _verdicts(verdicts: blocks.Verdicts) -> str:
    items = []
    for statement, verdict, holds in verdicts.items:
        mark = f'<span class="mark">{text(HOLDS[holds])}</span>' if holds else ""
        items.append(
            f'<li data-holds="{text(holds)}"><p class="statement">{prose(_sentence(statement, ""))}{mark}</p>'
            f"<p>{prose(_sentence(verdict, '.'))}</p></li>"
        )
    return f'<ul class="verdicts">{"".join(items)}</ul>'


def _sentence(words: str, end: str) -> str:
    """Return words with an initial capital and the given ending, unless they already end with punctuation."""
    begun = words[:1].upper() + words[1:]
    return begun if begun.endswith((".", "!", "?")) else begun + end


# --- Tables -------------------------------------------------------------------------


def table(block: blocks.DataTable) -> str:
    """Return a table whose header cells are buttons that sort it."""
    searched = block.searched or len(block.rows) > MANY_ROWS
    wordy = any(isinstance(cell, str) and len(cell) >= LONG for row in block.rows for cell in row)
    head = "".join(_header(column) for column in block.columns)
    rows = "".join(
        "<tr>" + "".join(_cell(*pair) for pair in zip(block.columns, row, strict=True)) + "</tr>\n"
        for row in block.rows
    )
    note = f'<p class="hint">{prose(block.note)}</p>' if block.note else ""
    long = " long" if len(block.rows) > MANY_ROWS else ""
    return (
        f'<div class="table"{" data-search" if searched else ""}><p class="caption">{text(block.caption)}</p>'
        f'<div class="scroll{long}" tabindex="0" role="region" aria-label="{text(block.caption)}">'
        f'<table class="{"wordy" if wordy else "plain"}" aria-label="{text(block.caption)}"><thead><tr>{head}</tr></thead>'
        f"<tbody>\n{rows}</tbody></table></div>{note}</div>"
    )


def _header(column: blocks.Column) -> str:
    kind = ' class="number"' if column.numeric else ""
    return f'<th scope="col"{kind}>{text(column.name)}</th>'


def _cell(column: blocks.Column, value: blocks.Cell) -> str:
    words = blocks.cell_text(column, value)
    if not column.numeric:
        kind = "short" if len(words) <= SHORT else "words" if len(words) < LONG else "words many"
        return f'<td class="{kind}" data-label="{text(column.name)}">{text(words)}</td>'
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return f'<td class="number">{text(words)}</td>'
    plain = float(value) if isinstance(value, float) else int(value)  # NumPy's numbers print differently
    return f'<td class="number" data-value="{plain!r}">{text(words)}</td>'


# --- The page -----------------------------------------------------------------------

SCRIPTS = ("scales", "marks", "axes", "lines", "heatmap", "regions", "whiskers", "charts", "tables", "start")
TITLE = "Sojourn report"


def page_of(sections: Sequence[blocks.Section], title: str = TITLE) -> str:
    """Return the HTML page that shows the given sections."""
    writer = Writer()
    style, script = _style(), _script()
    anchors = [f"part-{place}" for place in range(1, len(sections) + 1)]
    contents = "".join(
        f'<li><a href="#{anchor}">{text(section.title)}</a></li>'
        for anchor, section in zip(anchors, sections, strict=True)
    )
    body = "\n".join(map(writer.section, sections, anchors))
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; "
        f"style-src '{_hash(style)}'; script-src '{_hash(script)}'"
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="Sojourn {text(__version__)}">
<link rel="icon" href="data:,">
<title>{text(title)}</title>
<style>{style}</style>
</head>
<body>
<div class="page">
<header class="top"><div><h1>{text(title)}</h1>
<p class="made">Made by Sojourn {text(__version__)}: {counted(len(sections), "part")}.
<span class="screen">Charts: point at them for numbers, drag to zoom, click a name to hide it. Tables: click a column's
name to sort.</span></p></div>
<button type="button" id="theme" hidden>Dark</button></header>
<nav aria-label="Parts"><ol>{contents}</ol></nav>
{body}
</div>
<script>{script}</script>
</body>
</html>
"""


@cache
def _asset(name: str) -> str:
    return Path(__file__).with_name("assets").joinpath(name).read_text(encoding="utf-8")


def _style() -> str:
    """Return the page's style, with the palette of all charts."""
    pairs = [f"--c{place}: light-dark({one.light}, {one.dark});" for place, one in enumerate(PALETTE)]
    classes = [f".c{place} {{ --colour: var(--c{place}); }}" for place in range(len(PALETTE))]
    return f":root {{ {' '.join(pairs)} }}\n{_asset('page.css')}{' '.join(classes)}\n"


def _script() -> str:
    """Return the page's script, with all parts in one private scope."""
    known = {"DASHES": [" ".join(map(str, dash)) for dash in DASHES], "GRADIENTS": GRADIENTS}
    constants = "".join(f"const {name} = {json.dumps(value)};\n" for name, value in known.items())
    parts = "\n".join(_asset(f"{name}.js") for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{constants}{parts}\n}})();\n'


def _hash(source: str) -> str:
    """Return the hash by which the page's Content Security Policy allows exactly this text.

    >>> _hash("")
    'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='
    """
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
