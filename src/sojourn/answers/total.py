"""The largest total of a named model, discounted, until some states or of some steps: its record, lines and section."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sojourn import __version__
from sojourn.data.files import Json, JsonObject, write_json, write_text
from sojourn.data.hints import as_json, read_record
from sojourn.exact.policy_files import SolvedPolicy
from sojourn.exact.solve import solve
from sojourn.models.model_files import named_model
from sojourn.models.smdp import SMDP
from sojourn.report import blocks
from sojourn.report.markdown import markdown
from sojourn.report.words import counted, number, setting
from sojourn.runs.catalogue import refuse_world

FILE = "total.json"
_SHOWN = 20  # states on a line


@dataclass(frozen=True)
class Total:
    """The largest mean total from each state, its proven bounds, and a policy that attains it.

    For a total of a number of steps, `policy` is that of the first step. An estimated model has no bounds.
    """

    name: str
    criterion: str
    values: tuple[float, ...]
    lower: tuple[float, ...] | None
    upper: tuple[float, ...] | None
    policy: tuple[str, ...]
    state_names: tuple[str, ...]
    solver: str
    seconds: float
    findings: tuple[str, ...] = ()
    options: JsonObject = field(default_factory=dict)
    version: str = ""

    def write(self, folder: Path) -> None:
        """Write the record and its README into a folder, created if necessary."""
        folder.mkdir(parents=True, exist_ok=True)
        record: dict[str, Json] = as_json(self)
        write_json(folder / FILE, record)
        write_text(folder / "README.md", markdown(section(folder, record, blocks.Budget())))


def total_named(
    name: str,
    options: JsonObject,
    *,
    maximise: str = "reward",
    discount: float | None = None,
    paid: str = "start",
    until: Sequence[str] | None = None,
    steps: int | None = None,
    policy: Path | None = None,
) -> Total:
    """Solve a named problem, or the model in a file, for the largest total.

    >>> found = total_named("long-return", {}, steps=3)
    >>> found.values, found.policy
    ((1540.0, 770.0), ('B', 'A'))
    """
    refuse_world(name, "solve")
    model = named_model(name, options)
    ends = None if not until else [_state(model, each) for each in until]
    found = solve(model, maximise=maximise, discount=discount, paid=paid, until=ends, steps=steps)  # type: ignore[arg-type] # checked there
    first = np.asarray(found.policy if steps is None else found.policy[0])
    if policy is not None:
        SolvedPolicy(model, first).write(policy)
    actions = model.action_names or tuple(map(str, range(model.num_actions)))
    return Total(
        name=name,
        criterion=found.criterion,
        values=tuple(found.values.tolist()),
        lower=None if found.is_estimate else tuple(found.lower.tolist()),
        upper=None if found.is_estimate else tuple(found.upper.tolist()),
        policy=tuple(actions[action] for action in first.tolist()),
        state_names=model.state_names or tuple(map(str, range(model.num_states))),
        solver=found.solver,
        seconds=found.seconds,
        findings=found.findings,
        options=options,
        version=__version__,
    )


def _state(model: SMDP, text: str) -> int:
    return int(text) if model.state_names is None and text.isdecimal() else model.state_number(text)


def lines(found: Total) -> list[str]:
    """Return the terminal output: the totals with their proven error, the policy, and anything odd about the model."""
    shown = range(min(len(found.values), _SHOWN))
    more = " ..." if len(found.values) > _SHOWN else ""
    values = "; ".join(f"{found.state_names[s]}: {found.values[s]:.10g}" for s in shown)
    return [
        f"{found.name}: {found.criterion}, {_proven(found)} ({counted(len(found.values), 'state')}, {found.solver}, "
        f"{found.seconds:.2g} s)",
        f"totals: {values}{more}",
        "policy: " + "; ".join(f"{found.state_names[s]}: {found.policy[s]}" for s in shown) + more,
        *(f"note: {finding}" for finding in found.findings),
    ]


def _proven(found: Total) -> str:
    if found.lower is None or found.upper is None:
        return "an estimate without proven bounds"
    apart = max(high - low for low, high in zip(found.lower, found.upper, strict=True))
    return f"each proven to within {apart:.2g}"


def section(folder: Path, given: dict[str, Json], budget: blocks.Budget) -> blocks.Section:
    """Return the section for the `total.json` in a folder."""
    found = read_record(Total, given)
    shown = range(min(len(found.values), budget.rows))
    low, high = found.lower or (None,) * len(found.values), found.upper or (None,) * len(found.values)
    columns = [*blocks.texts("state", "action"), *blocks.numbers("total", "lower", "upper", digits=8)]
    left = len(found.values) - len(shown)
    note = f"Not shown: {counted(left, 'further state')}; `{FILE}` has all states." if left else ""
    rows = [(found.state_names[s], found.policy[s], found.values[s], low[s], high[s]) for s in shown]
    return blocks.Section(
        "exact solution",
        f"The largest total of {found.name}",
        f"This is the {found.criterion}, from each state; {_proven(found)}.",
        None,
        [
            *(blocks.Note(f"{finding}.") for finding in found.findings),
            blocks.DataTable(f"Totals and the policy: {found.name}", columns, rows, note),
            blocks.Facts(
                "Settings",
                [
                    ("problem", found.name),
                    *((f"option {key}", setting(value)) for key, value in found.options.items()),
                    ("solver", found.solver),
                    ("seconds", number(found.seconds, 3)),
                    *blocks.made_by(found.version, folder),
                ],
            ),
        ],
    )
