"""The folder of an audit: `audit.json` and a figure."""

from __future__ import annotations

from pathlib import Path

from sojourn.report import figures
from sojourn.rules.records import write_json
from sojourn.studies.audit.answer import FILE, Answer
from sojourn.studies.audit.charts import sheet


def write(answer: Answer, folder: Path) -> Path:
    """Write an audit and its figure into a folder, which is made if it does not exist; return the figure's PNG."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / FILE, answer.as_json())
    figures.write(sheet(answer.audited), folder / "figures" / "audit")
    return folder / "figures" / "audit.png"
