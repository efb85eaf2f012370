"""Notebook display of answers: a few lines, a picture and a table, as self-contained HTML."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import polars as pl

from sojourn.answers import policy_map
from sojourn.answers.log import Done, advised
from sojourn.answers.log import picture as log_picture
from sojourn.answers.solution import limit_lines, rates_line, rates_of
from sojourn.answers.verdict import judged
from sojourn.answers.verdict import picture as verdict_picture
from sojourn.data.numbers import shown
from sojourn.exact.bounds import Solution
from sojourn.exact.logs.decision_log import Log, label_names
from sojourn.exact.logs.estimates import Improvement
from sojourn.exact.policies import PolicyValue
from sojourn.exact.policy_table import actions_taken, split
from sojourn.learner.verdict import Verdict
from sojourn.models.smdp import SMDP
from sojourn.report import figures
from sojourn.report.blocks import Charts
from sojourn.report.charts import Axis, Heatmap, Regions, Sheet, Whisker, Whiskers
from sojourn.report.html import text
from sojourn.report.looks import GREEN, GREY, Look
from sojourn.report.words import number
from sojourn.rules.arrays import Floats
from sojourn.runs.batch import Runs

_MOST_ROWS = 10
_WIDTH = 6.4  # of a picture, in inches
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
        low, high = number(found.lower, 8), number(found.upper, 8)
        ends = (
            f"proven to within {found.upper - found.lower:.1g}"
            if low == high
            else f"proven to lie between {low} and {high}"
        )
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


def log_html(log: Log) -> str:
    """Return what a log has and what was done as HTML for a notebook."""
    words = [
        f"{log!r}: {log.behaviour.sentence}",
        *(f"left out: {each}" for each in log.refused),
        *log.findings,
    ]
    done = Done("the log", tuple(advised(log)))
    drawn, most = log_picture(done), sorted(done.advice, key=lambda one: -one.rows)
    charts = (
        [one for one in drawn.items if isinstance(one, Heatmap | Regions)]
        if isinstance(drawn, Charts)
        else [drawn]
    )
    height = 0.8 * _WIDTH if isinstance(drawn, Charts) else 1.4 + 0.28 * len(drawn.y.values)
    sheet = Sheet([[one] for one in charts], (_WIDTH, height * len(charts)))
    table = pl.DataFrame(
        {
            "state": [one.state for one in most],
            "rows": [one.rows for one in most],
            "usual_action": [one.commonest for one in most],
            "its_share": [one.commonest_count / one.rows for one in most],
        }
    )
    return _html(words, sheet, table, "more states: counts() has them all")


def improvement_html(found: Improvement) -> str:
    """Return advice as HTML for a notebook; states that carry most of the gain come first."""
    usual, rows = found.behaviour, []
    if not found.kept:
        rows.append(Whisker("the advice", Look(GREEN), found.gain, found.low, found.gain))
    rows.insert(0, Whisker("what was done", Look(GREY), usual.rate, usual.low, usual.high))
    axis = Axis(f"reward per {usual.per}")
    chart = Whiskers("", axis, rows, interval=f"{100.0 * found.level:g} % interval", reference=usual.rate)
    most = sorted(found.policy, key=lambda state: -found.adds[state])
    names = dict(zip(found.policy, label_names(tuple(found.policy)), strict=True))
    table = pl.DataFrame(
        {
            "state": [names[state] for state in most],
            "usual_action" if found.kept else "advice": [str(found.policy[state]) for state in most],
            "seen": [found.counts[state] for state in most],
            "visits": [found.visits[state] for state in most],
            "adds_to_the_gain": [found.adds[state] for state in most],
        }
    )
    return _html([found.sentence], Sheet([[chart]], (_WIDTH, 1.8)), table, "more states: policy has them all")


def verdict_html(found: Verdict) -> str:
    """Return a verdict on a learner as HTML for a notebook."""
    words = [found.sentence, *(f"warning: {each}" for each in found.warnings)]
    return _html(words, Sheet([[verdict_picture(judged("the learner", found))]], (_WIDTH, 2.2)), None)


def runs_html(found: Runs) -> str:
    """Return the table of a batch of runs as HTML for a notebook."""
    words = [f"{len(found):,} runs"]
    return _html(
        words, None, pl.DataFrame(found.columns), "more runs: polars.DataFrame(runs.columns) has them all"
    )


def _html(
    words: list[str],
    sheet: Sheet | None,
    table: pl.DataFrame | None,
    more: str = "more states: table() has them all",
) -> str:
    """Return lines, a picture and the first rows of the table, which scrolls; the picture keeps a light background."""
    parts = [f"<p>{text(line)}</p>" for line in words]
    if sheet is not None:
        image = base64.b64encode(figures.files_of(sheet, ["png"])["png"]).decode()
        style = "max-width: 100%; width: 36em; background: white"
        parts.append(f'<img alt="{text(words[0])}" style="{style}" src="data:image/png;base64,{image}">')
    if table is None:
        return "".join(parts)
    head = "".join(f"<th>{text(name.replace('_', ' '))}</th>" for name in table.columns)
    sizes = [float(np.abs(table[name]).max()) if name == "bias" else 0.0 for name in table.columns]
    rows = "".join(
        f"<tr>{''.join(f'<td>{text(_cell(value, size))}</td>' for value, size in zip(row, sizes, strict=True))}</tr>"
        for row in table.head(_MOST_ROWS).iter_rows()
    )
    table_of = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    parts.append(f'<div style="overflow-x: auto">{table_of}</div>')
    if table.height > _MOST_ROWS:
        parts.append(f"<p>and {table.height - _MOST_ROWS:,} {more}</p>")
    return "".join(parts)


def _cell(value: object, size: float) -> str:
    """Return an entry of the table; what rounding left of the largest in its column is 0."""
    if value is None:
        return ""
    if isinstance(value, float):
        return number(0.0 if abs(value) < 1e-12 * size else value, 5)
    return str(value)
