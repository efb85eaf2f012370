"""Make one HTML page from sections, which needs no network and no other file."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from sojourn import __version__
from sojourn.report.blocks import Section
from sojourn.report.looks import DASHES, GRADIENTS, PALETTE
from sojourn.report.markup import Writer, text
from sojourn.report.words import counted

SCRIPTS = ("scales", "marks", "axes", "lines", "heatmap", "whiskers", "charts", "tables", "start")
TITLE = "Sojourn report"


def page_of(sections: Sequence[Section], title: str = TITLE) -> str:
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
    """Return the page's script, with all parts in one scope of their own."""
    known = {"DASHES": [" ".join(map(str, dash)) for dash in DASHES], "GRADIENTS": GRADIENTS}
    constants = "".join(f"const {name} = {json.dumps(value)};\n" for name, value in known.items())
    parts = "\n".join(_asset(f"{name}.js") for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{constants}{parts}\n}})();\n'


def _hash(source: str) -> str:
    """Return the hash by which the page's security policy allows this text and no other.

    >>> _hash("")
    'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='
    """
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
