"""From folders to one HTML file that needs nothing else: no network, no other file."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from sojourn import __version__
from sojourn.claims import load_claims
from sojourn.report.blocks import Section
from sojourn.report.budget import Budget
from sojourn.report.claims import claims_section
from sojourn.report.folders import Found, find, read
from sojourn.report.markup import Writer, text
from sojourn.report.words import counted
from sojourn.whole_files import write_text

LARGEST = 8_000_000  # bytes of a page
SCRIPTS = ("scales", "marks", "axes", "lines", "heatmap", "whiskers", "charts", "tables", "start")
TITLE = "Sojourn report"


def write_report(
    folders: Iterable[str | Path],
    out: str | Path = "report.html",
    title: str = TITLE,
    claims: bool = False,
) -> Path:
    """Write one page about what commands left in folders; return its path.

    With `claims` the ledger of the paper's claims comes last. The page stays under 8 MB: what is
    long is thinned out, and says so.

    >>> import tempfile
    >>> from sojourn.answers import solution_of, write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(Path(folder) / "solved", "solution.json", solution_of("gosavi", {}))
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


def page_of(sections: Sequence[Section], title: str = TITLE) -> str:
    """Return the page that shows sections."""
    writer = Writer()
    style, script = _asset("page.css"), _script()
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


def _script() -> str:
    """Return the page's own script, all parts in one scope that nothing outside sees."""
    parts = "\n".join(_asset(f"{name}.js") for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}\n}})();\n'


def _hash(source: str) -> str:
    """Return what the page's policy allows: this text, and no other.

    >>> _hash("")
    'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='
    """
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
