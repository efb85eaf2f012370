"""The notebook of the site runs, and shows what it is kept with."""

from __future__ import annotations

import json
import re

from site_builder import loaded

notebook = loaded("notebook")
TIMES = re.compile(r"[\d.]+ s\)|data:image/png;base64,[^\"]+")  # what differs between runs or machines


def test_the_notebook_shows_what_it_is_kept_with() -> None:
    """A fresh kernel shows the same; each answer is a sentence, a picture or a table, and nothing comes from a network."""
    kept, made = notebook.shown(json.loads(notebook.FILE.read_text(encoding="utf-8"))), notebook.executed()
    ran = notebook.shown(made)
    assert [[(kind, TIMES.sub("", text)) for kind, text in cell] for cell in ran] == [
        [(kind, TIMES.sub("", text)) for kind, text in cell] for cell in kept
    ]
    assert all(kind == notebook.RICH for cell in ran for kind, _ in cell)
    assert not any(re.search(r"(src|href)=.https?:", text) for cell in ran for _, text in cell)
    said = "".join(
        "".join(out["text"]) for cell in made["cells"] for out in cell.get("outputs", ()) if "text" in out
    )
    assert "\rtraining: 100 % of 10,000 steps" in said, said


def test_the_page_has_all_cells() -> None:
    """The page is the notebook: its words, its code and what it shows."""
    page = notebook.page()
    for cell in json.loads(notebook.FILE.read_text(encoding="utf-8"))["cells"]:
        assert "".join(cell["source"]) in page
