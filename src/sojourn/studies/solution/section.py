"""The part of the page about an exact solution: the gain between its bounds, and a policy that attains it."""

from __future__ import annotations

from pathlib import Path

from sojourn.report.blocks import Block, Column, Facts, Note, Points, Prose, Section, Table
from sojourn.report.budget import Budget
from sojourn.report.words import counted, number, setting
from sojourn.rules.records import Json, read_record
from sojourn.studies.solution import charts
from sojourn.studies.solution.answer import FILE, Solved
from sojourn.studies.solution.words import several_lines


def section(folder: Path, given: dict[str, Json], budget: Budget) -> Section:
    """Return what `solution.json` in a folder holds."""
    found = read_record(Solved, given)
    blocks: list[Block] = [Note(f"{finding}.") for finding in found.findings]
    if found.gains is not None:
        blocks.insert(0, Points(several_lines(found)))
    if not found.bias:
        blocks.insert(0, Prose("The solver that was used returns no bias."))
    return Section(
        "exact solution",
        f"The best policy of {found.name}",
        f"The largest gain of {found.name}{'' if found.gains is None else f' from state {found.state_name(0)}'} is "
        f"{number(found.gain, 8)} per unit time; "
        + (
            "it is an estimate, like the model, and nothing is proven."
            if found.lower is None
            else f"it is proven to lie between {number(found.lower, 8)} and {number(found.upper, 8)}."
        ),
        charts.bias(found, found.bias, budget.points) if found.bias and found.states > 1 else None,
        [*blocks, _table(found, budget), _facts(folder, found)],
    )


def _table(found: Solved, budget: Budget) -> Table:
    shown = range(min(len(found.policy), budget.rows))
    bias = found.bias or (None,) * len(found.policy)
    rows: list[tuple[int | float | str | None, ...]]
    if found.state_names:
        columns = [Column("number"), Column("state", numeric=False)]
        rows = [(i, found.state_name(i), found.action_name(i), bias[i]) for i in shown]
    else:  # states have only their numbers
        columns = [Column("state")]
        rows = [(i, found.action_name(i), bias[i]) for i in shown]
    columns += [Column("action", numeric=False), Column("bias", digits=6)]
    left = len(found.policy) - len(rows)
    note = f"Not shown: {counted(left, 'further state')}; `{FILE}` has all states." if left else ""
    return Table(f"The policy: {found.name}", columns, rows, note)


def _facts(folder: Path, found: Solved) -> Facts:
    return Facts(
        "Settings",
        [
            ("problem", found.name),
            *((f"option {key}", setting(value)) for key, value in found.options.items()),
            ("states", number(found.states)),
            ("gain", number(found.gain, 10)),
            ("lower bound", number(found.lower, 10)),
            ("upper bound", number(found.upper, 10)),
            ("solver", found.solver),
            ("seconds", number(found.seconds, 3)),
            ("made by", f"Sojourn {found.version}"),
            ("folder", folder.name),
        ],
    )
