"""The audit of a named model: its record in `audit.json`, its charts, its terminal output, and its section of the page.

The exact limits are computed in `sojourn.exact.audit`; here they are recorded and shown.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sojourn import __version__
from sojourn.data.files import Json, JsonObject, write_json
from sojourn.data.hints import as_json, plain, read_record
from sojourn.data.numbers import listed
from sojourn.exact.audit.audit import Audit, Limit, audit
from sojourn.models.model_files import named_model
from sojourn.rates.catalogue import named_rate
from sojourn.report import blocks, figures, terminal
from sojourn.report.charts import Axis, Lines, Series, Sheet, Span, Vertical
from sojourn.report.looks import GREEN, GREY, SKY, Look, estimator_looks, title
from sojourn.report.words import number, setting
from sojourn.runs.catalogue import refuse_world

FILE = "audit.json"


@dataclass(frozen=True)
class KeptPolicy:
    """A policy of `sojourn.exact.SelfConfirming` as stored in a file: `margin` is None if it is infinite."""

    policy: tuple[int, ...]
    gain: float
    rate: float
    drift: float
    margin: float | None
    trap: bool


@dataclass(frozen=True)
class LockIn:
    """The policies that a learner with one estimator keeps; `known` is false if the estimator has no finite limit."""

    estimator: str
    known: bool
    policies: tuple[KeptPolicy, ...]


@dataclass(frozen=True)
class Audited:
    """An audit as stored in a file: the limit of every estimator, and the rates for which an optimal policy is greedy.

    These rates go from `low` to `high`; None means that there is no bound. `frontier` has the corners of F over the `rate`:
    its `value`, and the `gain` of the policy that is greedy to the right of each. With `exploration`, a learner that follows
    the policy keeps it at the rates from `held_low` to `held_high`, or at none if `held` is false. `self_confirming` has
    the policies that a learner with each estimator keeps: all of them if `complete`, out of `num_policies` policies.
    """

    name: str
    states: int
    policy: tuple[int, ...]
    gain: float
    best_gain: float
    low: float | None
    high: float | None
    estimators: tuple[Limit, ...]
    frontier: dict[str, tuple[float, ...]]
    exploration: float
    held: bool
    held_low: float | None
    held_high: float | None
    num_policies: float
    complete: bool
    self_confirming: tuple[LockIn, ...]

    def __post_init__(self) -> None:
        """Check that each corner has a rate, a value and a gain."""
        if len({len(self.frontier[name]) for name in ("rate", "value", "gain")}) > 1:
            raise ValueError("rate, value and gain of the frontier differ in length")

    def __getitem__(self, estimator: str) -> Limit:
        return {limit.estimator: limit for limit in self.estimators}[estimator]

    def groups(self) -> list[tuple[Limit, ...]]:
        """Return the estimators, grouped by their limits."""
        found: dict[tuple[float | None, bool | None], list[Limit]] = {}
        for limit in self.estimators:
            rate = None if limit.rate is None else _rounded(limit.rate)
            found.setdefault((rate, limit.keeps_optimum), []).append(limit)
        return [tuple(group) for group in found.values()]


def audit_named(
    name: str,
    options: JsonObject,
    policy: list[int] | None = None,
    exploration: float = 0.2,
    estimators: Mapping[str, str | JsonObject] | None = None,
) -> Audited:
    """Audit a problem by name, or the model in a file, under a policy, or under an optimal one if none is given.

    `estimators` are others to be audited as well, by their labels: names such as `mine:Forgetting`, or tables with a name as `kind` and
    options.

    >>> found = audit_named("long-return", {})
    >>> found.gain, round(found.low, 6), found.high
    (10.0, 7.55102, None)
    >>> found["Harmonic"].rate, found["Harmonic"].keeps_optimum, round(found["Harmonic"].drift, 6)
    (7.5, False, 1.6875)
    """
    refuse_world(name, "audit")
    model = named_model(name, options)
    found = audit(model, policy, exploration=exploration)
    if estimators:
        own = {label: named_rate(given) for label, given in estimators.items()}
        theirs = audit(model, found.policy, own, exploration=exploration)
        both = {**found.estimators, **theirs.estimators}
        found = dataclasses.replace(found, limits=found.limits + theirs.limits, estimators=both)
    return audited(name, found)


def audited(name: str, found: Audit) -> Audited:
    """Return an audit as a record."""
    low, high = found.held or (None, None)
    record = {
        "name": name,
        "states": found.model.num_states,
        "policy": found.policy.tolist(),
        **{
            part: getattr(found, part)
            for part in ("gain", "best_gain", "low", "high", "exploration", "complete")
        },
        "estimators": found.limits,
        "frontier": {part: numbers.tolist() for part, numbers in found.frontier()._asdict().items()},
        "held": found.held is not None,
        "held_low": low,
        "held_high": high,
        "num_policies": float(found.num_policies),
        "self_confirming": [
            {
                "estimator": limit.estimator,
                "known": limit.estimator in found.self_confirming,
                "policies": [
                    {**one._asdict(), "policy": one.policy.tolist()}
                    for one in found.self_confirming.get(limit.estimator, ())
                ],
            }
            for limit in found
        ],
    }
    return read_record(Audited, plain(record))


def document(found: Audited, options: JsonObject) -> dict[str, Json]:
    """Return an audit and its model's options as JSON data for `audit.json`."""
    return {"name": found.name, "options": options, "version": __version__, **as_json(found)}


def write(found: Audited, options: JsonObject, folder: Path) -> Path:
    """Write an audit and its figure into a folder, created if necessary; return the figure's PNG."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / FILE, document(found, options))
    figures.write(sheet(found), folder / "figures" / "audit")
    return folder / "figures" / "audit.png"


def _rounded(value: float) -> float:
    return float(f"{value:.9g}") + 0.0  # avoid -0


# --- Charts ------------------------------------------------------------------------------

_RATE = Axis("rate (reward per unit time)", short="rate")


def value_chart(found: Audited) -> Lines:
    """Return the chart of F over the rate, with the optimal gain and the limit of each estimator."""
    curve = Series("F(rate)", Look(GREY, marker=None), found.frontier["rate"], found.frontier["value"])
    best = Series(
        f"optimal gain {found.best_gain:.4g}", Look(GREEN, marker=3), [found.best_gain], [0.0], kind="points"
    )
    return Lines(
        f"Value of the best policy at each rate: {found.name}",
        _RATE,
        Axis("F(rate), reward per step"),
        [curve, best],
        _limits(found),
        [_span(found)],
        note="F is the largest possible mean of reward minus rate times duration in a step; it is 0 at the best gain. "
        "Vertical lines are the estimators' limits.",
    )


def gain_chart(found: Audited) -> Lines:
    """Return the chart of what the greedy policy for each rate earns."""
    return Lines(
        f"What the greedy policy earns at each rate: {found.name}",
        _RATE,
        Axis("gain"),
        [_greedy_gains(found)],
        _limits(found),
        [_span(found)],
        note="Where the line is at its top, a wrong rate does no harm.",
    )


def kept_chart(found: Audited) -> Lines:
    """Return the chart of the policies that learners keep: the gain of each over the rate learned under it."""
    ends = found.frontier["rate"][0], found.frontier["rate"][-1]
    series = [
        _greedy_gains(found),
        Series("the rate is the gain", Look(GREEN, marker=None), ends, ends, weight="thin"),
    ]
    looks = estimator_looks([limit.estimator for limit in found.estimators])
    for names, policies in _alike(found).items():
        rates, gains = ([one.rate for one in policies], [one.gain for one in policies])
        series.append(Series(", ".join(names), looks[names[0]], rates, gains, kind="points"))
    return Lines(
        f"Policies that a learner keeps, exploration {found.exploration:g}: {found.name}",
        _RATE,
        Axis("gain"),
        series,
        note="A point is a policy that a learner keeps once it follows it, shown at the rate that it then learns. A point "
        "below the optimal gain is a trap. A learner whose estimator has no point keeps changing its policy.",
    )


def sheet(found: Audited) -> Sheet:
    """Return the figure of an audit."""
    kept = kept_chart(found)
    return Sheet(
        [
            [
                on_paper(found),
                kept._replace(series=[one._replace(name=_short(one.name)) for one in kept.series]),
            ]
        ],
        (10.5, 4.4),
        titles=[[paper_title(found), f"policies kept with exploration {found.exploration:g}"]],
    )


def on_paper(found: Audited) -> Lines:
    """Return the chart of F for print, with the numbers in its legend, since print has no tooltips."""
    return value_chart(found)._replace(
        verticals=[line._replace(name=f"{_short(line.name)}: {line.x:.4g}") for line in _limits(found)]
    )


def paper_title(found: Audited) -> str:
    """Return the title of the printed chart of F; a file is shown by its name, without folder and extension."""
    return f"{Path(found.name).stem}: where the estimators end"


def _greedy_gains(found: Audited) -> Series:
    rates, gains = found.frontier["rate"], found.frontier["gain"]
    return Series("gain of the greedy policy", Look(GREY, marker=None), rates, gains, kind="steps")


def _alike(found: Audited) -> dict[tuple[str, ...], tuple[KeptPolicy, ...]]:
    """Group the estimators that keep the same policies at the same rates; omit those that keep none."""
    groups: dict[tuple[tuple[float, float], ...], list[LockIn]] = {}
    for each in found.self_confirming:
        if each.policies:
            key = tuple((_rounded(one.rate), _rounded(one.gain)) for one in each.policies)
            groups.setdefault(key, []).append(each)
    return {tuple(one.estimator for one in group): group[-1].policies for group in groups.values()}


def _limits(found: Audited) -> list[Vertical]:
    """Return a line for each different limit, with the names of all estimators that have it."""
    looks = estimator_looks([limit.estimator for limit in found.estimators])
    return [
        Vertical(", ".join(limit.estimator for limit in group), looks[group[0].estimator], group[0].rate)
        for group in found.groups()
        if group[0].rate is not None
    ]


def _short(names: str) -> str:
    first, *others = names.split(", ")
    return f"{first} and {len(others)} more" if len(others) > 1 else names


def _span(found: Audited) -> Span:
    return Span("an optimal policy is greedy", SKY, found.low, found.high)


# --- In words ----------------------------------------------------------------------------

_MOST_GAINS = 4  # policies that a learner keeps, listed on one line
_POLICY_SHOWN = 60
_KEPT = {True: "yes", False: "no", None: "unknown"}
_NOTE = (
    "Drift: in each step, values grow by the step size times this while the policy is followed at that rate; it is 0 at "
    "the policy's gain. Gain where it settles: the policy that is greedy at the limit has a limit of its own, and so on; "
    "an empty entry means that this goes in circles."
)
_SWINGING = " Limits are for small step sizes; at its own, an estimate has no finite variance if some steps last too long for it: {}."
_LOCK_IN = (
    "Examined: {searched}. A policy is kept if it is greedy for the values that result from following it; the values of "
    "rarely taken actions lag behind while values grow, and are ahead while values fall. A trap is a policy that is kept but "
    "not optimal. If no policy at all is kept, the learner keeps changing its policy. The audited policy is kept at {held}."
)


def between(low: float | None, high: float | None, digits: int = 6) -> str:
    """Describe the rates between two bounds; None is no bound.

    >>> between(None, None), between(None, 2.0), between(1.5, None), between(1.5, 2.0)
    ('every rate', 'rates up to 2', 'rates from 1.5 on', 'rates from 1.5 to 2')
    """
    if low is None:
        return "every rate" if high is None else f"rates up to {number(high, digits)}"
    return f"rates from {number(low, digits)} " + ("on" if high is None else f"to {number(high, digits)}")


def lines(found: Audited) -> list[str]:
    """Return an audit's terminal output: the gains, the limits, and the policies that learners keep."""
    gains = (
        f"{found.name}: the policy's gain is {found.gain:.6g}, the optimal one {found.best_gain:.6g}; "
        f"an optimal policy is greedy for {between(found.low, found.high)}"
    )
    return terminal.lines([blocks.Prose(gains), _table(found), _lock_in(found)])


def kept_gains(found: LockIn, complete: bool) -> str:
    """Describe the gains of the policies that a learner with one estimator keeps, largest first.

    >>> found = audit_named("long-return", {})  # two of its actions are identical
    >>> kept_gains(found.self_confirming[3], found.complete)
    '10 (2 policies), 7.624* (2 policies)'
    """
    if not found.known:
        return "not known: so is its limit, or it is infinite"
    if not found.policies:
        return "none: it keeps changing its policy" if complete else "none of these"
    counts: dict[tuple[float, bool], int] = {}
    for kept in found.policies:
        key = _rounded(kept.gain), kept.trap
        counts[key] = counts.get(key, 0) + 1
    told = [
        f"{gain:.4g}{'*' if trap else ''}" + (f" ({count} policies)" if count > 1 else "")
        for (gain, trap), count in counts.items()
    ]
    more = [f"and {len(told) - _MOST_GAINS} more"] if len(told) > _MOST_GAINS else []
    return ", ".join(told[:_MOST_GAINS] + more)


# --- Section of the page -----------------------------------------------------------------


def section(folder: Path, given: dict[str, Json], budget: blocks.Budget) -> blocks.Section:
    """Return the section for the `audit.json` in a folder."""
    found, options, version = read_record(Audited, given), given["options"], given["version"]
    if not (isinstance(options, dict) and isinstance(version, str)):
        raise TypeError("options must be a table, and version a text")
    return blocks.Section(
        "audit",
        f"Which estimators keep {found.name} optimal",
        _lead(found),
        gain_chart(found),
        [
            blocks.Prose(
                "If a policy is followed forever, an estimator of the rate settles at a limit. An agent that uses this "
                "limit as the rate, and is right about everything else, acts optimally only if the limit lies in a "
                "certain interval around the gain."
            ),
            blocks.Verdicts([_verdict(found, group) for group in found.groups()]),
            blocks.Charts([value_chart(found), kept_chart(found)]),
            _table(found),
            _lock_in(found),
            _facts(folder, found, options, version, budget),
        ],
    )


def parts(found: Audited) -> list[blocks.Block]:
    """Return an audit's blocks as part of a comparison."""
    shown = blocks.Charts([value_chart(found), gain_chart(found), kept_chart(found)])
    return [blocks.Heading("Where the estimators end", 4), shown, _table(found), _lock_in(found)]


def _lead(found: Audited) -> str:
    """Say in one sentence how many estimators keep the optimum, and which do not."""
    keeping = sum(bool(one.keeps_optimum) for one in found.estimators)
    failing = [one.estimator for one in found.estimators if one.keeps_optimum is False]
    words = f"Of {len(found.estimators)} estimators, {keeping} keep the best policy of {found.name}"
    return words + (f"; {listed(failing)} {'does' if len(failing) == 1 else 'do'} not." if failing else ".")


def _verdict(found: Audited, group: tuple[Limit, ...]) -> tuple[str, str, str]:
    """Say whether estimators with the same limit keep the optimum, and why."""
    one = group[0]
    verb, its = ("keep", "Their") if len(group) > 1 else ("keeps", "Its")
    words = "No finite limit is known."
    if one.rate is not None:
        beside = "the gain itself"
        if one.error:
            beside = f"{number(abs(one.error))} {'above' if one.error > 0 else 'below'} the gain"
        words = (
            f"{its} limit is {number(one.rate)}, {beside}, and {'among' if one.keeps_optimum else 'not among'} the rates "
            f"for which an optimal policy is greedy ({between(found.low, found.high, 4)})."
        )
    if one.greedy_gain is not None:
        words += (
            f" The policy that is greedy there earns {number(one.greedy_gain)}; "
            f"the best policy earns {number(found.best_gain)}."
        )
    holds = {True: "yes", False: "no", None: "open"}[one.keeps_optimum]
    return f"{', '.join(map(_with_agents, group))} {verb} the optimum", words, holds


def _with_agents(limit: Limit) -> str:
    agents = ", ".join(map(title, limit.agents))
    return f"{limit.estimator} ({agents})" if agents else limit.estimator


def _table(found: Audited) -> blocks.DataTable:
    columns = [
        *blocks.texts("estimator"),
        blocks.Column("agents", numeric=False, short=None),
        blocks.Column("limit", digits=6),
        blocks.Column("error"),
        *blocks.texts("keeps the optimum"),
        blocks.Column("gain if greedy at the limit", digits=6, short="greedy gain"),
        blocks.Column("drift of values", digits=6, short="drift"),
        blocks.Column("gain where it settles", digits=6, short="settles at"),
        blocks.Column("mean at its step size", digits=6, short=None),
        blocks.Column("this mean is", numeric=False, short=None),
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
            one.mean,
            one.mean_is or "not known",
        )
        for one in found.estimators
    ]
    swinging = ", ".join(one.estimator for one in found.estimators if one.mean_is == "no finite variance")
    note = _NOTE + (_SWINGING.format(swinging) if swinging else "")
    return blocks.DataTable(f"Limits of the estimators: {found.name}", columns, rows, note)


def _lock_in(found: Audited) -> blocks.DataTable:
    """Return the table of the policies that a learner keeps with each estimator."""
    columns = [
        *blocks.texts("estimator"),
        blocks.Column("policies kept", short="kept"),
        blocks.Column("traps among them", short="traps"),
        blocks.Column("their gains; * is a trap", numeric=False),
        blocks.Column("largest gain", digits=6, short=None),
        blocks.Column("smallest gain", digits=6, short=None),
    ]
    rows = []
    for each in found.self_confirming:
        gains = [kept.gain for kept in each.policies]
        rows.append(
            (
                each.estimator,
                len(gains) if each.known else None,
                sum(kept.trap for kept in each.policies) if each.known else None,
                kept_gains(each, found.complete),
                max(gains, default=None),
                min(gains, default=None),
            )
        )
    searched = f"those that a learner comes across, of {found.num_policies:.3g} policies"
    if found.complete:
        searched = "the only policy" if found.num_policies == 1 else f"all {found.num_policies:.0f} policies"
    held = between(found.held_low, found.held_high) if found.held else "no rate"
    return blocks.DataTable(
        f"Policies that a learner keeps with exploration {found.exploration:g}: {found.name}",
        columns,
        rows,
        _LOCK_IN.format(searched=searched, held=held),
    )


def _facts(
    folder: Path, found: Audited, options: JsonObject, version: str, budget: blocks.Budget
) -> blocks.Facts:
    shown = found.policy[: min(_POLICY_SHOWN, budget.rows)]
    policy = " ".join(map(str, shown)) + (" ..." if len(found.policy) > _POLICY_SHOWN else "")
    return blocks.Facts(
        "Settings",
        [
            ("problem", found.name),
            *((f"option {key}", setting(value)) for key, value in options.items()),
            ("states", number(found.states)),
            ("policy audited, the action of each state", policy),
            ("its gain", number(found.gain, 8)),
            ("best gain", number(found.best_gain, 8)),
            ("rates that keep it optimal", between(found.low, found.high, 4)),
            *blocks.made_by(version, folder),
        ],
    )
