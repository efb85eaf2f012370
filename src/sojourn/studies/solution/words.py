"""A solution in words, for a terminal."""

from __future__ import annotations

from sojourn.report.words import counted
from sojourn.studies.solution.answer import Solved

_ACTIONS_SHOWN = 60
_NAMES_SHOWN = 20


def lines(found: Solved) -> list[str]:
    """Return the gain with its bounds, the policy, and anything odd about the model."""
    proven = "an estimate without proven bounds"
    if found.lower is not None and found.upper is not None:
        proven = f"between {found.lower:.10g} and {found.upper:.10g}"
    gain = f"gain {found.gain:.10g} per unit time"
    if found.gains is not None:
        gain = f"the gain depends on the first state, {found.gain:.10g} per unit time from state {found.state_name(0)}"
        proven = f"all {proven}"
    return [
        f"{found.name}: {gain}, {proven} ({counted(found.states, 'state')}, {found.solver}, {found.seconds:.2g} s)",
        *several_lines(found),
        _policy(found),
        *(f"note: {finding}" for finding in found.findings),
    ]


def several_lines(found: Solved) -> list[str]:
    """Return the gain from each state and the ratio over runs, if the gains differ."""
    if found.gains is None:
        return []
    shown = range(min(found.states, _NAMES_SHOWN))
    more = " ..." if found.states > _NAMES_SHOWN else ""
    gains = "; ".join(f"{found.state_name(s)}: {found.gains[s]:.10g}" for s in shown)
    return [
        f"gains: {gains}{more}",
        f"the largest ratio of mean reward to mean time over runs from state {found.state_name(0)} is {found.ratio:.10g}",
    ]


def _policy(found: Solved) -> str:
    most = _NAMES_SHOWN if found.state_names else _ACTIONS_SHOWN
    shown = range(min(found.states, most))
    more = " ..." if found.states > most else ""
    if found.state_names:
        return "policy: " + "; ".join(f"{found.state_name(s)}: {found.action_name(s)}" for s in shown) + more
    return "policy, the action of each state: " + " ".join(map(found.action_name, shown)) + more
