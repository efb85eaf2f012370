"""A solution in words, for a terminal."""

from __future__ import annotations

from sojourn.report.words import counted
from sojourn.studies.solution.answer import Solved

_ACTIONS_SHOWN = 60


def lines(found: Solved) -> list[str]:
    """Return the gain with its bounds, the policy, and what is odd about the model."""
    shown = " ".join(map(str, found.policy[:_ACTIONS_SHOWN]))
    more = " ..." if len(found.policy) > _ACTIONS_SHOWN else ""
    proven = "an estimate without proven bounds"
    if found.lower is not None and found.upper is not None:
        proven = f"between {found.lower:.10g} and {found.upper:.10g}"
    return [
        f"{found.name}: gain {found.gain:.10g} per unit time, {proven} "
        f"({counted(found.states, 'state')}, {found.solver}, {found.seconds:.2g} s)",
        f"policy, the action of each state: {shown}{more}",
        *(f"note: {finding}" for finding in found.findings),
    ]
