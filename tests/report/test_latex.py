"""Tables and charts for a paper: LaTeX, CSV and PDF."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.answers.manuscript import write_manuscript
from sojourn.answers.solution import solve_named
from sojourn.report.blocks import DataTable, numbers, texts
from sojourn.report.latex import escaped, latex

SPECIAL = r"\&%$#_{}~^<>|"


@given(st.text(alphabet=f"ab 0-{SPECIAL}", max_size=30))
def test_no_text_means_anything_to_latex(text: str) -> None:
    """Without the commands that we write, no special character is left, and braces match."""
    found = escaped(text)
    commands = r"\\text(backslash|asciitilde|asciicircum)\{\}|\\[&%$#_{}]|\$[<>|-]\$|\$\\[a-z]+\$|''"
    assert not re.search(r"[\\&%$#_{}~^<>|]", re.sub(commands, "", found))


def test_a_table_has_all_its_rows_and_columns() -> None:
    """Each row has as many cells as there are columns, also with cells that LaTeX would take apart; wide tables span the page."""
    for count in (2, 7):
        columns = [*texts("a & b"), *numbers(*(f"x_{i}" for i in range(count - 1)))]
        table = DataTable(
            "50 % of *all*", columns, [("c & d", *[-0.5] * (count - 1)), ("e", *[None] * (count - 1))]
        )
        found = latex(table, "tab:one")
        body = found.partition(r"\toprule")[2].partition(r"\bottomrule")[0]
        rows = [line for line in body.splitlines() if line.endswith(r" \\")]
        assert [len(re.split(r"(?<!\\)&", row)) for row in rows] == [count] * 3
        assert r"\caption{50 \% of \emph{all}}" in found
        assert found.startswith(r"\begin{table*}" if count == 7 else r"\begin{table}")


def test_a_folder_becomes_files_for_a_paper(tmp_path: Path) -> None:
    """The table of a solution has its numbers in both files; charts are PDFs, and no two files have the same name."""
    solve_named("admission-control", {}).write(tmp_path / "solved")
    made = write_manuscript([tmp_path / "solved"], tmp_path / "paper")
    assert len(made) == len(set(made)) == len(list((tmp_path / "paper").iterdir()))
    (table,) = [path for path in made if path.suffix == ".csv"]
    assert pl.read_csv(table).height == 21
    assert table.with_suffix(".tex").read_text().count(r" \\") == 22
    charts = [path for path in made if path.suffix == ".pdf"]
    assert charts
    assert all(path.read_bytes().startswith(b"%PDF") for path in charts)


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    """The sentence is that of the report, and nothing is written."""
    (tmp_path / "other").mkdir()
    with pytest.raises(ValueError, match="holds no output of"):
        write_manuscript([tmp_path / "other"], tmp_path / "paper")
    assert not (tmp_path / "paper").exists()
