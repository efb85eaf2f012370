"""An audit in words, for a terminal and for the pages that quote it."""

from __future__ import annotations

from sojourn.studies.audit.answer import Audited, Limit, LockIn

_HEAD = f"{'in the long run':>16}{'error':>11}{'greedy policy':>15}{'its gain':>10}{'drift':>10}"
_FOOT = (
    "drift: in each step, values grow by the step size times this while the policy is followed at that rate"
)
_MOST_GAINS = 4  # of the policies that a learner keeps, in one line


def greedy_for(found: Audited) -> str:
    """Return in words the rates for which an optimal policy is greedy."""
    if found.low is None:
        return "every rate" if found.high is None else f"rates up to {found.high:.6g}"
    return f"rates from {found.low:.6g} " + ("on" if found.high is None else f"to {found.high:.6g}")


def held_at(found: Audited) -> str:
    """Return in words the rates at which a learner keeps the audited policy."""
    if not found.held:
        return "no rate"
    if found.held_low is None:
        return "every rate" if found.held_high is None else f"rates up to {found.held_high:.6g}"
    return f"rates from {found.held_low:.6g} " + (
        "on" if found.held_high is None else f"to {found.held_high:.6g}"
    )


def searched(found: Audited) -> str:
    """Return in words which policies were examined for lock-in."""
    if found.complete:
        return "the only policy" if found.num_policies == 1 else f"all {found.num_policies:.0f} policies"
    return f"those that a learner comes across, of {found.num_policies:.3g} policies"


def lines(found: Audited) -> list[str]:
    """Return an audit as two tables for a terminal: the limits, and the policies that learners keep."""
    width = 2 + max(len(limit.estimator) for limit in found.estimators)
    return [
        f"{found.name}: the policy's gain is {found.gain:.6g}, the optimal one {found.best_gain:.6g}; "
        f"an optimal policy is greedy for {greedy_for(found)}",
        f"{'estimator':{width}}{_HEAD}",
        *(f"{limit.estimator:{width}}{_row(limit)}" for limit in found.estimators),
        _FOOT,
        "",
        f"with exploration {found.exploration:g}, a learner that follows this policy keeps it at {held_at(found)}",
        f"{'estimator':{width}}gains of the policies that it keeps, of {searched(found)}; * is a trap",
        *(f"{each.estimator:{width}}{kept_gains(each, found.complete)}" for each in found.self_confirming),
    ]


def kept_gains(found: LockIn, complete: bool) -> str:
    """Return in words the gains of the policies that a learner with one estimator keeps.

    >>> from sojourn.studies.audit.compute import audit_named
    >>> found = audit_named("long-return", {}).audited  # two actions are the same there
    >>> kept_gains(found.self_confirming[3], found.complete)
    '10 (2 policies), 7.624* (2 policies)'
    """
    if not found.known:
        return "not known: it has no finite limit"
    if not found.policies:
        return "none: it keeps changing its policy" if complete else "none of these"
    told = [
        f"{gain:.4g}{'*' if trap else ''}" + (f" ({count} policies)" if count > 1 else "")
        for gain, trap, count in found.gains
    ]
    more = [f"and {len(told) - _MOST_GAINS} more"] if len(told) > _MOST_GAINS else []
    return ", ".join(told[:_MOST_GAINS] + more)


def _row(limit: Limit) -> str:
    greedy = {True: "optimal", False: "not optimal", None: "-"}[limit.keeps_optimum]
    return (
        f"{number(limit.rate, 6):>16}{number(limit.error, 4):>11}{greedy:>15}"
        f"{number(limit.greedy_gain, 4):>10}{number(limit.drift, 4):>10}"
    )


def number(value: float | None, digits: int = 4) -> str:
    """Return a number with `digits` significant digits, or a dash if there is none."""
    return "-" if value is None else f"{value:.{digits}g}"
