"""The columns of tables of runs: their figures, and the options of agents and worlds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from sojourn.rules.values import is_value
from sojourn.runs.loop import Run
from sojourn.runs.totals import Totals

T = TypeVar("T")

# The columns of tables that are figures of a run, in their order.
FIGURES = tuple(name for name in Run._fields if name in {"rate", *Totals._fields, "diverged"})
TRUTHS = ("dynamic_regret", "tracking_error")  # two more, in worlds that know their gain at every time

# Names of columns that no option may take.
_TAKEN = {
    *FIGURES,
    *TRUTHS,
    *("cell", "world", "agent", "steps", "episodes", "seed", "step", "clock", "gain", "regret", "rate_gap"),
    *("policy_gain", "earned", "state", "time", "policy", "error", "seconds"),
}
_FIRSTS = {
    "start",
    "first",
    "kind",
}  # names of the number that a schedule begins with; `kind` names an estimator


def flattened(options: Mapping[str, T]) -> dict[str, T | float]:
    """Return options as columns of a table.

    A schedule becomes a column for each of its numbers, the first of them under the option's own name; an option
    with the name of a figure gets a prefix.

    >>> from sojourn.agents.exploration import Decay
    >>> flattened({"rate": 0.5, "exploration": Decay(0.2, 0.99)})
    {'option_rate': 0.5, 'exploration': 0.2, 'exploration_factor': 0.99, 'exploration_floor': 0.0}
    """
    flat: dict[str, T | float] = {}
    for name, choice in options.items():
        column = f"option_{name}" if name in _TAKEN else name
        parts = choice._asdict() if is_value(choice) else choice
        if isinstance(parts, Mapping) and not _FIRSTS.isdisjoint(parts):
            flat |= {column if part in _FIRSTS else f"{column}_{part}": parts[part] for part in parts}
        else:
            flat[column] = choice
    return flat
