"""An audit as it is told: in words for a terminal, and its section of the page."""

from __future__ import annotations

from pathlib import Path

from sojourn.answers.audit import charts
from sojourn.answers.audit.record import FILE, Answer, Audited, Limit, LockIn, read_answer
from sojourn.data.files import Json, write_json
from sojourn.data.numbers import listed
from sojourn.report import figures
from sojourn.report.blocks import (
    Block,
    Budget,
    Charts,
    Column,
    Facts,
    Heading,
    Prose,
    Section,
    Table,
    Verdict,
    Verdicts,
)
from sojourn.report.looks import title
from sojourn.report.words import number, setting

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

    >>> from sojourn.answers.audit.compute import audit_named
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
        f"{_digits(limit.rate, 6):>16}{_digits(limit.error, 4):>11}{greedy:>15}"
        f"{_digits(limit.greedy_gain, 4):>10}{_digits(limit.drift, 4):>10}"
    )


def _digits(value: float | None, digits: int = 4) -> str:
    """Return a number with `digits` significant digits, or a dash if there is none."""
    return "-" if value is None else f"{value:.{digits}g}"


# --- The section -------------------------------------------------------------------------

_POLICY_SHOWN = 60
_KEPT = {True: "yes", False: "no", None: "unknown"}
_NOTE = (
    "Drift: in each step, values grow by the step size times this while the policy is followed at that rate; it is 0 at "
    "the policy's gain. Gain where it settles: the policy that is greedy at the limit has a limit of its own, and so on; "
    "an empty entry means that this goes in circles."
)
_LOCK_IN = (
    "Examined: {searched}. A policy is kept if it is greedy for the values that result from following it; the values of "
    "rarely taken actions lag behind while values grow, and are ahead while values fall. A trap is a policy that is kept but "
    "not optimal. If no policy at all is kept, the learner keeps changing its policy. The audited policy is kept at {held}."
)


def section(folder: Path, given: dict[str, Json], budget: Budget) -> Section:
    """Return what `audit.json` in a folder holds."""
    answer = read_answer(given)
    found = answer.audited
    return Section(
        "audit",
        f"Which estimators keep {found.name} optimal",
        _lead(found),
        charts.gain(found),
        [
            Prose(
                "If a policy is followed forever, an estimator of the rate settles at a limit. An agent that uses this "
                "limit as the rate, and is right about everything else, acts optimally only if the limit lies in a "
                "certain interval around the gain."
            ),
            Verdicts([_verdict(found, group) for group in found.groups()]),
            Charts([charts.value(found), charts.kept(found)]),
            _table(found),
            _lock_in(found),
            _facts(folder, answer, budget),
        ],
    )


def blocks(found: Audited) -> list[Block]:
    """Return an audit as part of a comparison."""
    shown = Charts([charts.value(found), charts.gain(found), charts.kept(found)])
    return [Heading("Where the estimators end", 4), shown, _table(found), _lock_in(found)]


def _lead(found: Audited) -> str:
    """Return in one sentence how many estimators keep the optimum, and which do not."""
    keeping = sum(bool(one.keeps_optimum) for one in found.estimators)
    failing = [one.estimator for one in found.estimators if one.keeps_optimum is False]
    words = f"Of {len(found.estimators)} estimators, {keeping} keep the best policy of {found.name}"
    return words + (f"; {listed(failing)} {'does' if len(failing) == 1 else 'do'} not." if failing else ".")


def _interval(found: Audited) -> str:
    """Return in words the rates for which an optimal policy is greedy."""
    if found.low is None:
        return "every rate" if found.high is None else f"every rate up to {number(found.high)}"
    if found.high is None:
        return f"every rate from {number(found.low)} on"
    return f"{number(found.low)} to {number(found.high)}"


def _verdict(found: Audited, group: tuple[Limit, ...]) -> Verdict:
    """Return whether estimators with the same limit keep the optimum, and why."""
    one = group[0]
    verb, its = ("keep", "Their") if len(group) > 1 else ("keeps", "Its")
    words = "No finite limit is known."
    if one.rate is not None:
        inside = "among" if one.keeps_optimum else "not among"
        words = (
            f"{its} limit is {number(one.rate)}, {_beside_the_gain(one)}, and {inside} the rates for which an "
            f"optimal policy is greedy ({_interval(found)})."
        )
    if one.greedy_gain is not None:
        words += (
            f" The policy that is greedy there earns {number(one.greedy_gain)}; "
            f"the best policy earns {number(found.best_gain)}."
        )
    holds = {True: "yes", False: "no", None: "open"}[one.keeps_optimum]
    return Verdict(f"{', '.join(map(_with_agents, group))} {verb} the optimum", words, holds)


def _with_agents(limit: Limit) -> str:
    agents = ", ".join(map(title, limit.agents))
    return f"{limit.estimator} ({agents})" if agents else limit.estimator


def _beside_the_gain(limit: Limit) -> str:
    if not limit.error:
        return "the gain itself"
    return f"{number(abs(limit.error))} {'above' if limit.error > 0 else 'below'} the gain"


def _table(found: Audited) -> Table:
    columns = [
        Column("estimator", numeric=False),
        Column("agents", numeric=False),
        Column("limit", digits=6),
        Column("error"),
        Column("keeps the optimum", numeric=False),
        Column("gain if greedy at the limit", digits=6),
        Column("drift of values", digits=6),
        Column("gain where it settles", digits=6),
    ]
    rows = [
        (
            one.estimator,
            ", ".join(map(title, one.agents)),
            one.rate,
            one.error,
            _KEPT[one.keeps_optimum],
            one.greedy_gain,
            one.drift,
            one.settled_gain,
        )
        for one in found.estimators
    ]
    return Table(f"Limits of the estimators: {found.name}", columns, rows, _NOTE)


def _lock_in(found: Audited) -> Table:
    """Return the policies that a learner keeps with each estimator."""
    columns = [
        Column("estimator", numeric=False),
        Column("policies kept"),
        Column("traps among them"),
        Column("largest gain", digits=6),
        Column("smallest gain", digits=6),
    ]
    rows = []
    for each in found.self_confirming:
        gains = [kept.gain for kept in each.policies]
        traps = sum(kept.trap for kept in each.policies)
        rows.append(
            (
                each.estimator,
                len(gains) if each.known else None,
                traps if each.known else None,
                max(gains, default=None),
                min(gains, default=None),
            )
        )
    title = f"Policies that a learner keeps with exploration {found.exploration:g}: {found.name}"
    return Table(title, columns, rows, _LOCK_IN.format(searched=searched(found), held=held_at(found)))


def _facts(folder: Path, answer: Answer, budget: Budget) -> Facts:
    found = answer.audited
    shown = found.policy[: min(_POLICY_SHOWN, budget.rows)]
    policy = " ".join(map(str, shown)) + (" ..." if len(found.policy) > _POLICY_SHOWN else "")
    return Facts(
        "Settings",
        [
            ("problem", found.name),
            *((f"option {key}", setting(value)) for key, value in answer.made.options.items()),
            ("states", number(found.states)),
            ("policy audited, the action of each state", policy),
            ("its gain", number(found.gain, 8)),
            ("best gain", number(found.best_gain, 8)),
            ("rates that keep it optimal", _interval(found)),
            ("made by", f"Sojourn {answer.made.version}"),
            ("folder", folder.name),
        ],
    )


# --- Its folder --------------------------------------------------------------------------


def write(answer: Answer, folder: Path) -> Path:
    """Write an audit and its figure into a folder, which is made if it does not exist; return the figure's PNG."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / FILE, answer.as_json())
    figures.write(charts.sheet(answer.audited), folder / "figures" / "audit")
    return folder / "figures" / "audit.png"
