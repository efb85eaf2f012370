"""What a log says: the record in `log.json`, the lines for a terminal, the chart, and the section of the page."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from sojourn import __version__
from sojourn.answers import policy_map
from sojourn.data.files import Json, load_json, write_json
from sojourn.data.hints import as_json, read_record
from sojourn.data.numbers import nearest, shown
from sojourn.deploy.reading import load_policy
from sojourn.deploy.tables import LabelPolicy
from sojourn.exact.constraints import Constraint
from sojourn.exact.errors import NotSolvedError
from sojourn.exact.logs.bins import Bins, bins
from sojourn.exact.logs.censoring import LAWS
from sojourn.exact.logs.decision_log import Log, label_names
from sojourn.exact.logs.estimates import ASSUMED, Improvement, Label
from sojourn.exact.logs.event_reader import ENDS
from sojourn.exact.logs.events import read_events
from sojourn.exact.logs.log_reader import read_log
from sojourn.exact.logs.markov import MarkovCheck
from sojourn.exact.solve import solve
from sojourn.report import blocks, terminal
from sojourn.report.charts import Axis, Colours, Heatmap, Labels, Regions, Whisker, Whiskers
from sojourn.report.looks import AREAS, BLUE, GREEN, GREY, ORANGE, Look
from sojourn.report.words import counted, number

FILE = "log.json"
_CARRIERS = 3  # rows of advice that come first
_DRAWN = 30  # states whose actions are drawn one by one
_LITTLE = 0.01  # of the distance to the lower limit: luck that is not worth a word


@dataclass(frozen=True)
class RateBounds:
    """A rate per unit time, and the ends of its interval."""

    rate: float
    low: float
    high: float


@dataclass(frozen=True)
class AmountBounds:
    """What there is of a further amount per unit of time: as it was done, and under the advice if there is one."""

    name: str
    behaviour: RateBounds
    advice: RateBounds | None = None


@dataclass(frozen=True)
class Advice:
    """One state: the most common action there, the advised action, and the counts behind the advice."""

    state: str
    action: str
    count: int  # rows with this state and this action
    rows: int  # rows with this state
    commonest: str
    commonest_count: int
    visits: float  # the share of the policy's steps that are in this state
    adds: float | None = None  # what the advice adds to the gain in this state
    done: dict[str, int] = field(default_factory=dict)  # how often each action was taken
    place: tuple[float | str, ...] = ()  # the parts of the state

    @property
    def is_new(self) -> bool:
        """Whether the advice differs from the most common action."""
        return self.action != self.commonest


@dataclass(frozen=True)
class Logged:
    """What a log says."""

    name: str
    rows: int
    duration: float
    actions: int
    level: float
    behaviour: RateBounds
    kept: bool
    gain: float
    low: float
    beats_behaviour: float
    advice: tuple[Advice, ...]
    plain_gain: float | None  # the gain of the log's model, solved as if the model were exact
    sentences: tuple[str, ...]  # about the behaviour, the improvement and the given policy, if there is one
    refused: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    evaluation: RateBounds | None = None
    weighted: RateBounds | None = None
    version: str = ""
    per: str = "unit time"
    markov: MarkovCheck | None = None  # of memory and drift; None if the rows are not known
    parts: tuple[str, ...] = ()  # what the parts of a state are called
    amounts: tuple[AmountBounds, ...] = ()

    def write(self, folder: Path) -> None:
        """Write the record into a folder, which is made if it does not exist."""
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / FILE, as_json(self))


def answered_file(
    file: Path,
    columns: Mapping[str, str],
    level: float,
    policy: Path | None,
    limits: Sequence[Constraint] = (),
    advice: Path | None = None,
) -> Logged:
    """Return all that the log in a file says.

    `columns` has the names of its columns, several of them with commas in between; `policy` is a JSON file, and `advice` the file
    for what is better. With a column of time, it is a table of events.
    """
    alone = [
        name for name in ("unit", "earning", "until", "per") if name in columns and "time" not in columns
    ]
    if alone:
        raise ValueError(f"the {alone[0]} belongs to a log of events; name its column of times, too")
    log = _read_events(file, columns) if "time" in columns else _read_log(file, columns)
    parts = tuple(name.partition(":")[0].strip() for name in columns["state"].split(","))
    return answered(file.name, log, level, None if policy is None else _asked(policy), parts, limits, advice)


def _asked(path: Path) -> dict[str, str] | LabelPolicy:
    """Return the policy in a file that `write_policy` or `--advice` wrote, or in one of names of states and actions."""
    if not path.is_file():
        raise ValueError(f"{path} is not a file; give a JSON file of states and actions")
    data = load_json(path)
    if "format" not in data:
        return {state: str(action) for state, action in data.items()}
    policy = load_policy(path)
    if isinstance(policy, LabelPolicy):
        return policy
    raise ValueError(
        f"{path} is the policy of a learner or of a model; a log needs one in its own words, {{state: action}}"
    )


def _read_log(file: Path, columns: Mapping[str, str]) -> Log:
    after = columns.get("next_state")
    return read_log(
        file,
        state=_several(columns["state"]),
        action=_several(columns.get("action", "action")),
        reward=columns.get("reward", "reward"),
        duration=columns["duration"],
        next_state=None if after is None else _several(after),
        trajectory=columns.get("trajectory"),
        probability=columns.get("probability"),
        censored=columns.get("censored"),
        durations=columns.get("durations", LAWS[0]),
        amounts=_amounts(columns, "amounts"),
    )


def _amounts(columns: Mapping[str, str], name: str) -> dict[str, str]:
    """Return the columns of further amounts by the amounts' names, such as "kwh" or "energy=kwh"."""
    found = {}
    for text in filter(None, map(str.strip, columns.get(name, "").split(","))):
        amount, mark, column = map(str.strip, text.partition("="))
        found[amount] = column if mark else amount
    return found


def _read_events(file: Path, columns: Mapping[str, str]) -> Log:
    action = columns.get("action")
    return read_events(
        file,
        unit=columns.get("unit"),
        time=columns["time"],
        state=[_part(name.strip()) for name in columns["state"].split(",")],
        action=None if action is None else _several(action),
        reward=_amount(columns.get("reward")),
        earning=_amount(columns.get("earning")),
        amounts=_amounts(columns, "amounts"),
        flows=_amounts(columns, "flows"),
        ends=columns.get("ends", ENDS[0]),
        until=_amount(columns.get("until")),
        durations=columns.get("durations", LAWS[0]),
        per=columns.get("per"),
    )


def _part(text: str) -> str | Bins:
    """Return a column of the state, or how it is cut, such as "miles:width=25000"."""
    column, mark, how = text.partition(":")
    if not mark:
        return text
    name, _, given = how.partition("=")
    kinds: dict[str, Callable[[str], Any]] = {"count": int, "width": float, "quantiles": int, "rare": int}
    try:
        return bins(column, **{name: kinds[name](given)})
    except (KeyError, ValueError):
        raise ValueError(
            f"the state has {shown(text)}; write the column, a colon and {', '.join(f'{kind}=N' for kind in kinds)}"
        ) from None


def _amount(given: str | None) -> str | float | None:
    """Return the name of a column, or a number."""
    if given is None:
        return None
    try:
        return float(given)
    except ValueError:
        return given


def _several(column: str) -> str | list[str]:
    names = [name.strip() for name in column.split(",")]
    return names if len(names) > 1 else column


def answered(
    name: str,
    log: Log,
    level: float = 0.95,
    policy: dict[str, str] | LabelPolicy | None = None,
    parts: tuple[str, ...] = ("state",),
    limits: Sequence[Constraint] = (),
    advice: Path | None = None,
) -> Logged:
    """Return all that a log says, also about a policy if one is given, by the names of states and actions.

    `parts` are what the parts of a state are called; advice keeps the `limits` on amounts, and goes to the file `advice` if it is better.

    >>> import sojourn as sj
    >>> log = sj.read_log({
    ...     "state": ["in"] * 90, "action": ["a", "b", "b"] * 30, "reward": [1, 5, 7] * 30, "duration": [1, 2, 2] * 30,
    ... })
    >>> found = answered("shop", log)
    >>> found.kept, found.advice[0].action, found.advice[0].count
    (False, 'b', 59)
    """
    better = log.improve(level, limits=limits)
    behaviour, usual = better.behaviour, log.behaviour.amounts
    names = dict(zip(log.states, label_names(log.states), strict=True))
    actions = dict(zip(log.actions, label_names(log.actions), strict=True))
    labelled = _labelled(policy, names, actions) if isinstance(policy, dict) else policy
    asked = None if labelled is None else log.evaluate(labelled, level)
    if advice is not None and not better.kept:
        better.write_policy(advice)
    return Logged(
        name=name,
        rows=len(log),
        duration=behaviour.duration,
        actions=len(log.actions),
        level=level,
        behaviour=RateBounds(*behaviour[:3]),
        kept=better.kept,
        gain=better.gain,
        low=better.low,
        beats_behaviour=better.beats_behaviour,
        advice=tuple(advised(log, better)),
        plain_gain=_plain(log),
        sentences=(behaviour.sentence, better.sentence, *(() if asked is None else (asked.sentence,))),
        refused=log.refused,
        findings=log.findings,
        evaluation=None if asked is None else RateBounds(*asked[:3]),
        weighted=None if asked is None or asked.weighted is None else RateBounds(*asked.weighted[:3]),
        version=__version__,
        per=log.per,
        markov=None if log.is_of_sums else log.markov(),
        parts=parts,
        amounts=tuple(
            AmountBounds(name, RateBounds(*usual[name]), None if better.kept else RateBounds(*rate))
            for name, rate in better.amounts.items()
        ),
    )


def advised(log: Log, better: Improvement | None = None) -> Iterator[Advice]:
    """Yield for each state what was done there and what is better, or only what was done."""
    names = dict(zip(log.states, label_names(log.states), strict=True))
    actions = dict(zip(log.actions, label_names(log.actions), strict=True))
    for state, done in log.counts().items():
        commonest = max(done, key=lambda label: done[label])
        yield Advice(
            state=names[state],
            action=actions[commonest if better is None else better.policy[state]],
            count=done[commonest] if better is None else better.counts[state],
            rows=sum(done.values()),
            commonest=actions[commonest],
            commonest_count=done[commonest],
            visits=math.nan if better is None else better.visits[state],
            adds=None if better is None else better.adds[state],
            done={actions[each]: count for each, count in done.items()},
            place=tuple(map(policy_map.as_part, state if isinstance(state, tuple) else (state,))),
        )


def _plain(log: Log) -> float | None:
    """Return the gain of the model of a log, if it has one that does not depend on the state."""
    try:
        return solve(log.model()).gain
    except (NotSolvedError, ValueError):
        return None


def _labelled(
    policy: dict[str, str], states: dict[Label, str], actions: dict[Label, str]
) -> dict[Label, Label]:
    """Return a policy with the labels of states and actions in place of their names."""
    found: dict[Label, Label] = {}
    by_state, by_action = ({name: label for label, name in names.items()} for names in (states, actions))
    for state, action in policy.items():
        if state not in by_state:
            raise ValueError(
                f"the policy has the state {state!r}, which is not in the log{nearest(state, by_state)}"
            )
        if str(action) not in by_action:
            raise ValueError(
                f"the policy has the action {action!r}, which is not in the log{nearest(str(action), by_action)}"
            )
        found[by_state[state]] = by_action[str(action)]
    return found


# --- In words ----------------------------------------------------------------------------


def lines(found: Logged) -> list[str]:
    """Return for a terminal what was earned, what would be better, and the policy with the counts it rests on."""
    what = f"{found.name}: {counted(found.rows, 'row')}, {counted(len(found.advice), 'state')}, {counted(found.actions, 'action')}"
    left_out = [f"left out: {sentence}" for sentence in found.refused]
    notes = [f"note: {sentence}" for sentence in found.findings]
    words = blocks.Points([what, *left_out, *notes, *_sentences(found), *_carried(found)])
    return terminal.lines(
        [
            words,
            _table(found, found.advice[: blocks.Budget().rows], f"What to do: {found.name}"),
            *map(blocks.Prose, _caution(found)),
        ]
    )


def _sentences(found: Logged) -> list[str]:
    """Return what was found about the behaviour, the improvement, the given policy and the assumptions."""
    told = list(found.sentences)
    if found.weighted is not None:
        told.append(
            f"without a model, from the probabilities of the actions taken: {found.weighted.rate:.6g}, "
            f"{100.0 * found.level:g} % interval {found.weighted.low:.6g} to {found.weighted.high:.6g}"
        )
    told += [_amount_sentence(found, one) for one in found.amounts]
    return told if found.markov is None else [*told, found.markov.verdict]


def _amount_sentence(found: Logged, one: AmountBounds) -> str:
    def bounds(rate: RateBounds) -> str:
        return f"{rate.rate:.6g} ({rate.low:.6g} to {rate.high:.6g})"

    advised = "" if one.advice is None else f", and {bounds(one.advice)} under the advice"
    return f"{one.name} per {found.per}: {bounds(one.behaviour)} as it was done{advised}"


def carrying(found: Logged) -> list[Advice]:
    """Return the three rows of advice that carry most of the gain, without those that carry less than 1 %."""
    least = 0.01 * sum(one.adds or 0.0 for one in found.advice)
    ranked = sorted(found.advice, key=lambda one: -(one.adds or 0.0))[:_CARRIERS]
    return [one for one in ranked if (one.adds or 0.0) > max(least, 0.0)]


def _carried(found: Logged) -> list[str]:
    whole = sum(one.adds or 0.0 for one in found.advice)
    most = [
        f"{one.action} in {one.state} ({100.0 * (one.adds or 0.0) / whole:.0f} %)" for one in carrying(found)
    ]
    return [f"most of the gain comes from {', '.join(most)}"] if most and not found.kept else []


def _caution(found: Logged) -> list[str]:
    """Return a warning if solving the log's model as if it were exact would claim more."""
    if found.plain_gain is None or found.kept:
        return []
    if not found.plain_gain > found.gain + _LITTLE * (found.gain - found.low):
        return []
    return [
        f"Solving the model of the log as if it were exact would claim {found.plain_gain:.6g}; "
        "part of that is luck in states and actions that were rarely seen."
    ]


# --- Chart -------------------------------------------------------------------------------


class Pictured(Protocol):
    """What the picture of a log needs; `Logged` has it."""

    @property
    def name(self) -> str:
        """What the log is called."""

    @property
    def advice(self) -> Sequence[Advice]:
        """What was done in each state, and what is better."""

    @property
    def kept(self) -> bool:
        """Whether there is nothing better."""

    @property
    def parts(self) -> tuple[str, ...]:
        """What the parts of a state are called."""


class Done(NamedTuple):
    """What was done according to a log."""

    name: str
    advice: Sequence[Advice]
    kept: bool = True
    parts: tuple[str, ...] = ("state",)


def rates(found: Logged) -> Whiskers:
    """Return what the log earned, what the advice would earn with its lower limit, and what a given policy would earn."""
    rows = [
        Whisker("what was done", Look(GREY), found.behaviour.rate, found.behaviour.low, found.behaviour.high)
    ]
    if not found.kept:
        rows.append(Whisker("the advice", Look(GREEN), found.gain, found.low, found.gain))
    for name, colour, one in (
        ("the given policy", BLUE, found.evaluation),
        ("the same, without a model", ORANGE, found.weighted),
    ):
        if one is not None:
            rows.append(Whisker(name, Look(colour), one.rate, one.low, one.high))
    return Whiskers(
        f"Reward per {found.per}: {found.name}",
        Axis(f"reward per {found.per}"),
        rows,
        interval=f"{100.0 * found.level:g} % interval",
        reference=found.behaviour.rate,
        note="The advice has only a lower limit, which allows for the policy having been chosen on the same rows.",
    )


def picture(found: Pictured) -> Heatmap | blocks.Charts:
    """Return what was done and what would be done by state, with counts: state by state, or as maps if there are many pairs."""
    if len(found.advice) > _DRAWN:
        order = list(dict.fromkeys(action for one in found.advice for action in one.done))
        drawn = [_map(found, "What was done most often", [one.commonest for one in found.advice], order)]
        if not found.kept:
            drawn.append(_map(found, "What would be done", [one.action for one in found.advice], order))
        known = [one for each in drawn for one in each]
        if len(known) == len(drawn):  # no third part, which would need many maps
            return blocks.Charts([*known, _row_counts(found, known[0])])
    return _by_state(found)


def _by_state(found: Pictured) -> Heatmap:
    """Return how often each action was taken in each state, with the advice marked; of many states, those with the most rows."""
    most = sorted(range(len(found.advice)), key=lambda at: -found.advice[at].rows)[:_DRAWN]
    drawn = [found.advice[at] for at in sorted(most, reverse=True)]  # the first row is at the bottom
    actions = list(dict.fromkeys(action for one in found.advice for action in (*one.done, one.action)))

    def label(one: Advice, action: str) -> str:
        advised = action == one.action and not found.kept
        count = f"{one.done[action]:,}" if action in one.done else "never" if advised else ""
        return f"{count} \N{CHECK MARK}" if advised else count

    left = len(found.advice) - len(drawn)
    note = "Each number is how often the action was taken in the state." + (
        "" if found.kept else " A check mark is on what would be done."
    )
    note += f" Not shown: {counted(left, 'state')} with fewer rows." if left else ""
    return Heatmap(
        f"What was done{'' if found.kept else ', and what would be done'}: {found.name}",
        Labels("action", actions),
        Labels(", ".join(found.parts) or "state", [one.state for one in drawn], short="state"),
        Colours("share of the state's rows", 0.0, 1.0),
        [[one.done.get(action, 0) / max(one.rows, 1) for action in actions] for one in drawn],
        labels=[[label(one, action) for action in actions] for one in drawn],
        note=note,
    )


def _map(found: Pictured, title: str, actions: list[str], order: list[str]) -> list[Regions]:
    """Return the map of a policy if states are pairs; an action has the same colour in all maps."""
    places = [one.place for one in found.advice]
    parts = found.parts if len(found.parts) == len(places[0]) else [f"part {at + 1}" for at in range(3)]
    drawn = policy_map.maps(policy_map.Drawn("", places, parts, actions, order, None))
    colours = dict(zip(order, AREAS, strict=False)) if len(order) <= len(AREAS) else {}
    return [
        one._replace(
            title=f"{title}: {found.name}",
            colours=[colours.get(name, colour) for name, colour in zip(one.names, one.colours, strict=True)],
        )
        for one in drawn
    ]


def _row_counts(found: Pictured, like: Regions) -> Heatmap:
    """Return the number of rows of each state, as a map like that of a policy."""
    rows = {one.place: one.rows for one in found.advice}
    values = [[rows.get((x, y)) for x in like.x.values] for y in like.y.values]
    scale = Colours("rows", 0.0, float(max(rows.values())))
    return Heatmap(f"Rows of the log: {found.name}", like.x, like.y, scale, values)


# --- Section of the page -----------------------------------------------------------------


def section(folder: Path, given: dict[str, Json], budget: blocks.Budget) -> blocks.Section:
    """Return what `log.json` in a folder holds."""
    found = read_record(Logged, given)
    most = [] if found.kept else carrying(found)
    parts: list[blocks.Block] = [blocks.Note(f"Assumed: {ASSUMED.removeprefix('if ')}.")]
    if most:
        words = "The row that carries" if len(most) == 1 else f"The {len(most)} rows that carry"
        parts.append(_table(found, most, f"{words} most of the gain: {found.name}"))
    parts += [blocks.Prose(f"{sentence[0].upper()}{sentence[1:]}.") for sentence in _sentences(found)]
    parts += [blocks.Note(f"Left out: {sentence}.") for sentence in found.refused]
    parts += [blocks.Note(f"{sentence[0].upper()}{sentence[1:]}.") for sentence in found.findings]
    parts += map(blocks.Note, _caution(found))
    lead = (
        f"Nothing in the log is clearly better than what was done, which earned {number(found.behaviour.rate, 6)}."
        if found.kept
        else f"Another policy would earn {number(found.gain, 6)} per {found.per} instead of "
        f"{number(found.behaviour.rate, 6)}, and at least {number(found.low, 6)} with a probability of "
        f"{100.0 * found.level:g} %."
    )
    whole = _table(found, found.advice[: budget.rows], f"What to do: {found.name}")
    return blocks.Section(
        "log of decisions",
        f"From {found.name} to a decision",
        lead,
        picture(found),
        [*parts, rates(found), whole, _facts(folder, found)],
    )


def _table(found: Logged, advice: Sequence[Advice], caption: str) -> blocks.DataTable:
    rows = [
        (
            one.state,
            one.commonest,
            one.commonest_count / one.rows,
            "as before" if found.kept else one.action + (" *" if one.is_new else ""),
            one.count,
            one.rows,
            one.visits,
            one.adds,
        )
        for one in advice
    ]
    columns = [
        *blocks.texts("state", "usual action"),
        blocks.Column("its share of rows", digits=0, unit="%", short="share"),
        *blocks.texts("advice"),
        blocks.Column("seen"),
        blocks.Column("rows of the state", short="of rows"),
        blocks.Column("visits if followed", digits=0, unit="%", short=None),
        blocks.Column("adds to the gain", short=None),
    ]
    left = len(found.advice) - len(rows)
    note = "" if found.kept else "* is not the usual action; seen: how often the log has it in that state."
    if left:
        note += f" Not shown: {counted(left, 'further state')}; `{FILE}` has all states."
    return blocks.DataTable(caption, columns, rows, note, searched=len(rows) > 20)


def _facts(folder: Path, found: Logged) -> blocks.Facts:
    return blocks.Facts(
        "The log",
        [
            ("file", found.name),
            ("rows", number(found.rows)),
            ("time", number(found.duration, 6)),
            ("states", number(len(found.advice))),
            ("actions", number(found.actions)),
            ("probability of being better", f"{100.0 * min(found.beats_behaviour, 0.999):.1f} %"),
            ("assumed", ASSUMED.removeprefix("if ")),
            *blocks.made_by(found.version, folder),
        ],
    )
