"""Renders tables as LaTeX, for a paper with the package booktabs."""

from __future__ import annotations

import re

from sojourn.report.blocks import DataTable, cell_text

_SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"$<$", ">": r"$>$", "|": r"$|$", '"': "''",
    "\N{MINUS SIGN}": "$-$", "\N{PLUS-MINUS SIGN}": r"$\pm$", "\N{MULTIPLICATION SIGN}": r"$\times$",
    "\N{LESS-THAN OR EQUAL TO}": r"$\leq$", "\N{GREATER-THAN OR EQUAL TO}": r"$\geq$", "\N{RIGHTWARDS ARROW}": r"$\to$",
    "\N{INFINITY}": r"$\infty$", "\N{GREEK SMALL LETTER SIGMA}": r"$\sigma$", "\N{GREEK SMALL LETTER RHO}": r"$\rho$",
    "\N{GREEK SMALL LETTER TAU}": r"$\tau$", "\N{EN DASH}": "--", "\N{EM DASH}": "---",
}  # fmt: skip
_NARROW = 5  # columns of a table that fits a column of the page
_NEGATIVE = re.compile(r"^-(?=[\d.])")
_MARKS = ((r"\*\*(.+?)\*\*", r"\\textbf{\1}"), (r"\*(.+?)\*", r"\\emph{\1}"), (r"`(.+?)`", r"\\texttt{\1}"))


def escaped(text: str) -> str:
    r"""Return plain text as LaTeX.

    >>> escaped("50 % of R_1 & more")
    '50 \\% of R\\_1 \\& more'
    """
    return "".join(_SPECIAL.get(mark, mark) for mark in text)


def latex(table: DataTable, label: str = "") -> str:
    r"""Return a whole table, with its caption and its note, as a floating table with horizontal rules only.

    >>> from sojourn.report.blocks import numbers, texts
    >>> print(latex(DataTable("Gains", [*texts("agent"), *numbers("gain")], [("r_learning", -1.5)]), "tab:gains"))
    \begin{table}
    \centering
    \caption{Gains}
    \label{tab:gains}
    \begin{tabular}{lr}
    \toprule
    agent & gain \\
    \midrule
    r\_learning & $-$1.5 \\
    \bottomrule
    \end{tabular}
    \end{table}
    <BLANKLINE>
    """
    rows = [[_cell(cell_text(column, cell), column.numeric) for column, cell in zip(table.columns, row, strict=True)]
            for row in table.rows]  # fmt: skip
    kind = "table*" if len(table.columns) > _NARROW else "table"  # across both columns of the page
    lines = [
        rf"\begin{{{kind}}}",
        r"\centering",
        rf"\caption{{{_marked(table.caption)}}}",
        *([rf"\label{{{label}}}"] if label else []),
        rf"\begin{{tabular}}{{{''.join('r' if column.numeric else 'l' for column in table.columns)}}}",
        r"\toprule",
        _row([escaped(column.name) for column in table.columns]),
        r"\midrule",
        *map(_row, rows),
        r"\bottomrule",
        r"\end{tabular}",
        *([rf"\par\smallskip\footnotesize {_marked(table.note)}"] if table.note else []),
        rf"\end{{{kind}}}",
    ]
    return "\n".join(lines) + "\n"


def _cell(text: str, numeric: bool) -> str:
    return escaped(_NEGATIVE.sub("\N{MINUS SIGN}", text) if numeric else text)


def _row(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def _marked(text: str) -> str:
    """Return text in which *stress*, **strong** and `code` are marked as in Markdown."""
    found = escaped(text)
    for mark, command in _MARKS:
        found = re.sub(mark, command, found)
    return found
