"""Notebook display of a solution and of a policy's value: a few lines, a picture and a table, as self-contained HTML."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from sojourn.answers import policy_map
from sojourn.answers.solution import limit_lines, rates_line, rates_of
from sojourn.data.numbers import shown
from sojourn.exact.bounds import Solution
from sojourn.exact.policies import PolicyValue
from sojourn.exact.policy_table import actions_taken, split
from sojourn.models.smdp import SMDP
from sojourn.report import figures
from sojourn.report.charts import Sheet
from sojourn.report.html import text
from sojourn.report.words import number
from sojourn.rules.arrays import Floats

_MOST_ROWS = 10
_POINTS = 500


def drawn(worth: PolicyValue) -> policy_map.Drawn:
    """Return a policy in the form for drawing."""
    actions = list(map(str, actions_taken(worth.model, worth.pair_shares)))
    shares = worth.time_shares.tolist() if len(worth.classes) == 1 else None
    return _drawn(worth.model, actions, shares)


def drawn_total(found: Solution) -> policy_map.Drawn:
    """Return the policy of a total in the form for drawing."""
    labels = found.model.action_labels
    return _drawn(found.model, [str(labels[action]) for action in found.first_policy.tolist()], None)


def _drawn(model: SMDP, actions: list[str], shares: list[float] | None) -> policy_map.Drawn:
    parts, order = split(model), list(map(str, model.action_labels))
    places = None if parts is None else [tuple(map(policy_map.as_part, place)) for place in parts[1]]
    return policy_map.Drawn("", places, () if parts is None else parts[0], actions, order, shares)


def plot(worth: PolicyValue, ax: Any = None) -> Any:
    """Draw a policy on matplotlib axes, or on a new figure; return the figure."""
    return _plotted(
        drawn(worth),
        ax,
        "the policy has several recurrent classes, and its states are not pairs of numbers, so there is nothing to draw",
    )


def plot_total(found: Solution, ax: Any = None) -> Any:
    """Do the same for the policy of a total."""
    otherwise = "the states are not pairs of numbers, so there is no map to draw; table() has the values"
    return _plotted(drawn_total(found), ax, otherwise)


def _plotted(policy: policy_map.Drawn, ax: Any, otherwise: str) -> Any:
    sheet = policy_map.sheet(policy, _POINTS)
    if sheet is None:
        raise ValueError(otherwise)
    if ax is None:
        return figures.drawn_sheet(sheet)
    if not hasattr(ax, "imshow"):
        raise TypeError(f"ax is {shown(ax)}; give matplotlib axes, or write the figure: plot().savefig(...)")
    figures.draw(sheet.rows[0][0], ax)
    return ax.figure


def solution_html(found: Solution) -> str:
    """Return a solution as HTML for a notebook."""
    if found.values is not None:
        first = f"the largest {found.criterion} ({found.solver}, {number(found.seconds, 2)} s)"
        return _html([first], policy_map.sheet(drawn_total(found), _POINTS), found.table())
    ends = "an estimate without proven bounds"
    if not found.is_estimate:
        ends = f"proven to lie between {number(found.lower, 8)} and {number(found.upper, 8)}"
    first = f"{_gain(found.gains)}, {ends} ({found.solver}, {number(found.seconds, 2)} s)"
    return _worth_html([first, *limit_lines(found), *found.findings], found.worth)


def value_html(worth: PolicyValue) -> str:
    """Return a policy's value as HTML for a notebook."""
    return _worth_html([_gain(worth.gains)], worth)


def _gain(gains: Floats) -> str:
    low, high = number(float(gains.min()), 8), number(float(gains.max()), 8)
    return f"gain {low}" if gains.min() == gains.max() else f"gain {low} to {high}"


def _worth_html(words: list[str], worth: PolicyValue) -> str:
    rates = rates_of(worth)
    if rates is not None:
        words.append(rates_line(rates, digits=6))
    if len(worth.classes) == 1 and np.isfinite(worth.deviation):
        note = f", with {worth.constant} as constants in each outcome" if worth.constant else ""
        words.append(f"deviation {number(worth.deviation, 6)} times the root of time{note}")
    sheet = policy_map.sheet(drawn(worth), _POINTS) if worth.model.num_states > 1 else None
    return _html(words, sheet, worth.table())


def _html(words: list[str], sheet: Sheet | None, table: Any) -> str:
    """Return lines, a picture and the first rows of the table, which scrolls; the picture keeps a light background."""
    parts = [f"<p>{text(line)}</p>" for line in words]
    if sheet is not None:
        image = base64.b64encode(figures.files_of(sheet, ["png"])["png"]).decode()
        style = "max-width: 100%; width: 36em; background: white"
        parts.append(f'<img alt="{text(words[0])}" style="{style}" src="data:image/png;base64,{image}">')
    head = "".join(f"<th>{text(name.replace('_', ' '))}</th>" for name in table.columns)
    sizes = [table[name].abs().max() if name == "bias" else 0.0 for name in table.columns]
    rows = "".join(
        f"<tr>{''.join(f'<td>{text(_cell(value, size))}</td>' for value, size in zip(row, sizes, strict=True))}</tr>"
        for row in table.head(_MOST_ROWS).iter_rows()
    )
    table_of = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    parts.append(f'<div style="overflow-x: auto">{table_of}</div>')
    if table.height > _MOST_ROWS:
        parts.append(f"<p>and {table.height - _MOST_ROWS:,} more states: table() has them all</p>")
    return "".join(parts)


def _cell(value: object, size: float) -> str:
    """Return an entry of the table; what rounding left of the largest in its column is 0."""
    if value is None:
        return ""
    if isinstance(value, float):
        return number(0.0 if abs(value) < 1e-12 * size else value, 5)
    return str(value)
