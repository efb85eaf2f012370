"""The notebook of the site: `docs/notebook.ipynb` is run in a fresh kernel, kept with what it shows, and put on a page.

    python docs/notebook.py

runs it and writes it again; it takes ten seconds, and needs nbclient and ipykernel.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).resolve().parent / "notebook.ipynb"
RICH, PLAIN = "text/html", "text/plain"


def executed(path: Path = FILE) -> dict[str, Any]:
    """Return the notebook as a fresh kernel runs it."""
    import nbformat
    from nbclient import NotebookClient

    found = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call] # of nbformat
    NotebookClient(found, timeout=120, kernel_name="python3", record_timing=False).execute()
    ran: dict[str, Any] = json.loads(nbformat.writes(found))  # type: ignore[no-untyped-call]
    return ran


def shown(notebook: dict[str, Any]) -> list[list[tuple[str, str]]]:
    """Return what each cell of code shows, as kinds and texts, without progress."""
    return [
        [
            (RICH, "".join(made["data"][RICH]))
            if RICH in made["data"]
            else (PLAIN, "".join(made["data"][PLAIN]))
            for made in cell["outputs"]
            if "data" in made
        ]
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    ]


def page(path: Path = FILE) -> str:
    """Return the notebook as the Markdown of a page."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    outputs, parts = iter(shown(notebook)), []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] != "code":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        # The site makes wide tables scroll, unless they have a class, as those of Polars do.
        parts += [
            made.replace(' class="dataframe"', "") if kind == RICH else f"```text\n{made}\n```"
            for kind, made in next(outputs)
        ]
    return "\n\n".join(parts)


def main() -> None:
    """Run the notebook, and write it again with what it shows, without its progress."""
    made = executed()
    for cell in made["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = [output for output in cell["outputs"] if "data" in output]
    FILE.write_text(json.dumps(made, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
