"""The folder of an audit: `audit.json` and a figure."""

from __future__ import annotations

from pathlib import Path

from sojourn.report import figures
from sojourn.rules.records import write_json
from sojourn.studies.audit.answer import FILE, Answer


def write(answer: Answer, folder: Path) -> Path:
    """Write an audit and its figure into a folder, which is made if it does not exist; return the figure's PNG."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / FILE, answer.as_json())
    figure = folder / "figures" / "audit"
    with figures.figure(5.5, 4.4) as drawing:
        figures.audit(answer.as_json(), drawing.subplots())
        figures.save(drawing, figure)
    return figure.with_name("audit.png")
