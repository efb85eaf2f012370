"""An exact solution by name: its record in `solution.json`, its words for a terminal, its chart, and its section of the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from sojourn import __version__
from sojourn.answers import policy_map, risk
from sojourn.data.files import Json, JsonObject, write_json, write_text
from sojourn.data.hints import as_json, read_record
from sojourn.exact.bounds import Solution
from sojourn.exact.constraints import Constraint
from sojourn.exact.errors import NotSolvedError
from sojourn.exact.policies import PolicyValue, evaluate
from sojourn.exact.policy_table import ByState, drawn_actions, known_by_state, split
from sojourn.exact.solve import solve, solve_ratio
from sojourn.models.model_files import named_model
from sojourn.models.smdp import SMDP
from sojourn.report import blocks, charts, figures, terminal
from sojourn.report.charts import Axis, Lines, Series
from sojourn.report.looks import plain
from sojourn.report.markdown import markdown
from sojourn.report.words import counted, number, setting
from sojourn.rules.arrays import Floats
from sojourn.runs.catalogue import refuse_world

FILE = "solution.json"
_OFTEN = 0.01  # of the time: states where less is spent are rarely worth a sentence
_EASY = 200_000  # states: up to here one more evaluation does not take long


@dataclass(frozen=True)
class Closest:
    """The action that costs least if it always takes the place of the policy's own, and how long it takes to see that.

    Only states count in which at least 1 % of the time is spent, and only actions that are not as good as the policy's own.
    `time` is how long both policies must run so that the difference shows at a level of 95 % with a probability of 80 %.
    """

    state: int
    action: int
    cost: float
    time: float | None


@dataclass(frozen=True)
class Solved:
    """The largest gain of a model, the bounds it is proven to lie between, and a policy that attains it.

    A model that was estimated has no bounds. If the gain depends on the first state, `gain` is the gain from state 0,
    `gains` has the gain from each state, and `ratio` is the largest ratio of mean reward to mean time over runs from
    state 0.

    `gain` is `maximise` per `per`: the reward per unit time, unless something else was asked for. `rates` has every amount
    per unit time under the policy, if the model counts any besides reward and duration.

    With `limits`, `prices` has a number for each, and `probabilities` the actions of each state by name; `policy` then has the
    likeliest one.

    `deviation` is the standard deviation per square root of time of what the policy earns, `constant` which of rewards and
    durations count as constants in it, and `mean_step` the mean duration of a step. `closest` is the other action that costs
    least if it is always taken. `by_state` has the columns of `sojourn.exact.Solution.table` that are numbers, and `second` the
    second-best actions. `places` has the parts of each state, if it is a tuple, and `parts` what they are called. What would
    take long, or is infinite, is left out. `risk` has the policies that stray less, if they were asked for.
    """

    name: str
    gain: float
    lower: float | None
    upper: float | None
    policy: tuple[int, ...]
    states: int
    solver: str
    seconds: float
    bias: tuple[float, ...] | None = None
    findings: tuple[str, ...] = ()
    state_names: tuple[str, ...] | None = None
    action_names: tuple[str, ...] | None = None
    options: JsonObject = field(default_factory=dict)
    version: str = ""
    gains: tuple[float, ...] | None = None
    ratio: float | None = None
    maximise: str = "reward"
    per: str = "duration"
    rates: dict[str, float] | None = None
    limits: tuple[str, ...] | None = None
    prices: tuple[float, ...] | None = None
    probabilities: tuple[dict[str, float], ...] | None = None
    deviation: float | None = None
    constant: str = ""
    mean_step: float | None = None
    closest: Closest | None = None
    by_state: dict[str, tuple[float | None, ...]] = field(default_factory=dict)
    second: tuple[int | None, ...] | None = None
    parts: tuple[str, ...] | None = None
    places: tuple[tuple[float | str, ...], ...] | None = None
    risk: risk.Risk | None = None

    def __post_init__(self) -> None:
        """Check that all parts are for the same states."""
        per_state = (
            self.policy, self.bias or self.policy, self.state_names or self.policy, self.gains or self.policy,
            self.second or self.policy, self.places or self.policy, *self.by_state.values(),
            *(self.risk.policies if self.risk else ()),
        )  # fmt: skip
        names = len(self.action_names) if self.action_names else max(self.policy, default=0) + 1
        if {len(part) for part in per_state} != {self.states} or not all(
            0 <= one < names for one in self.policy
        ):
            raise ValueError(f"policy, bias, gains and names do not all belong to {self.states} states")

    def state_name(self, state: int) -> str:
        """Return the name of a state, or its number if it has no name."""
        return self.state_names[state] if self.state_names else str(state)

    def action_name(self, state: int) -> str:
        """Return the name of the action that the policy takes in a state, or of those that it draws."""
        if self.probabilities is not None:
            drawn = self.probabilities[state]
            if len(drawn) > 1:
                return drawn_actions(drawn, drawn.values())
        action = self.policy[state]
        return self.action_names[action] if self.action_names else str(action)

    @property
    def unit(self) -> str:
        """What the gain counts, in words."""
        below = "unit time" if self.per == "duration" else self.per
        return f"per {below}" if self.maximise == "reward" else f"{self.maximise} per {below}"

    def write(self, folder: Path) -> None:
        """Write the record, its text and its figure into a folder, which is made if it does not exist."""
        folder.mkdir(parents=True, exist_ok=True)
        record: dict[str, Json] = as_json(self)
        write_json(folder / FILE, record)
        write_text(folder / "README.md", markdown(section(folder, record, blocks.Budget())))
        drawn = policy_map.sheet(drawn_of(self))
        if drawn is not None:
            figures.write(drawn, folder / "figures" / "policy")
        for chart in (part for part in _calmer(self) if isinstance(part, Lines)):
            figures.write(charts.Sheet([[chart]], (5.2, 3.2)), folder / "figures" / "risk")


def solve_named(
    name: str,
    options: JsonObject,
    *,
    maximise: str = "reward",
    per: str = "duration",
    limits: Sequence[Constraint] = (),
    policy: Path | None = None,
    whole: bool = True,
    calmer: bool = False,
) -> Solved:
    """Solve a problem by name, or the model in a file, for the largest of an amount per unit of another one.

    `policy` is a file for the policy, .csv or .json. Unless it must be `whole`, what takes long for a large model is left out.
    With `calmer`, it looks for the policies that stray less, too.

    >>> found = solve_named("long-shot", {})
    >>> found.gain, found.policy, found.action_names
    (5.0, (0,), ('A', 'B'))
    >>> found = solve_named("gemini", {})
    >>> found.gains, found.ratio
    ((10.0, 20.0, 0.0), 4.0)
    """
    refuse_world(name, "solve")
    if calmer and (limits or (maximise, per) != ("reward", "duration")):
        raise ValueError(
            "calmer policies are looked for by reward per unit time; leave out limits and amounts"
        )
    model = named_model(name, options)
    found = solve(model, maximise=maximise, per=per, limits=limits)
    if policy is not None:
        found.write_policy(policy)
    answer = solved(name, options, found, model, maximise, per, whole=whole)
    return replace(answer, risk=risk.risk_of(model)) if calmer else answer


def solved(
    name: str,
    options: JsonObject,
    found: Solution,
    model: SMDP,
    maximise: str = "reward",
    per: str = "duration",
    *,
    whole: bool = True,
) -> Solved:
    """Return a solution as a record."""
    several = len(set(found.gains.tolist())) > 1
    return Solved(
        name=name,
        gain=float(found.gains[0]),
        lower=None if found.is_estimate else found.lower,
        upper=None if found.is_estimate else found.upper,
        policy=tuple((found.policy.argmax(axis=1) if found.limits else found.policy).tolist()),
        states=model.num_states,
        solver=found.solver,
        seconds=found.seconds,
        bias=tuple(found.bias.tolist()),
        findings=tuple(found.findings),
        state_names=None if model.state_names is None else tuple(model.state_names),
        action_names=None if model.action_names is None else tuple(model.action_names),
        options=options,
        version=__version__,
        gains=tuple(found.gains.tolist()) if several else None,
        ratio=solve_ratio(found.model).gain if several else None,
        maximise=maximise,
        per=per,
        rates=rates_of(evaluate(model, found.policy)) if model.amounts else None,
        limits=tuple(map(str, found.limits)) if found.limits else None,
        prices=found.prices if found.limits else None,
        probabilities=_probabilities(model, found.policy) if found.limits else None,
        **(_further(found) if whole or model.num_states <= _EASY else {}),
    )


def _probabilities(model: SMDP, policy: Floats) -> tuple[dict[str, float], ...]:
    names = model.action_names or tuple(map(str, range(model.num_actions)))
    return tuple({names[a]: p for a, p in enumerate(row) if p > 0.0} for row in policy.tolist())


def _further(found: Solution) -> dict[str, Any]:
    """Return what takes one more evaluation: the deviation, and what is known state by state."""
    try:
        worth = found.worth
    except NotSolvedError:
        return {}
    known, parts = known_by_state(worth), split(worth.model)
    columns = {"share_of_time": known.shares, "loss": known.loss, "cost": known.cost}
    columns |= {"reward_may_fall": known.fall, "reward_may_rise": known.rise}
    one = len(worth.classes) == 1 and worth.mean_duration > 0.0
    return {
        "deviation": worth.deviation if one and math.isfinite(worth.deviation) else None,
        "constant": worth.constant,
        "mean_step": worth.mean_duration if one else None,
        "closest": _closest(found, known),
        "by_state": {key: _finite(values) for key, values in columns.items() if values is not None},
        "second": None
        if known.second is None
        else tuple(None if a < 0 else a for a in known.second.tolist()),
        "parts": None if parts is None else parts[0],
        "places": None
        if parts is None
        else tuple(tuple(map(policy_map.as_part, place)) for place in parts[1]),
    }


def _finite(values: Floats) -> tuple[float | None, ...]:
    return tuple(one if math.isfinite(one) else None for one in values.tolist())


def _closest(found: Solution, known: ByState) -> Closest | None:
    """Return the other action that costs least in the long run, in states where much time is spent."""
    if found.limits or known.cost is None or known.second is None or known.shares is None:
        return None
    worth = found.worth
    size = max(
        abs(worth.gain), float(np.nanmax(known.cost, initial=0.0))
    )  # actions that are as good do not count
    dear = np.where((known.shares >= _OFTEN) & (known.cost > 1e-9 * size), known.cost, np.inf)
    state = int(np.argmin(dear))
    if not math.isfinite(dear[state]):
        return None
    other = np.array(found.policy)
    other[state] = known.second[state]
    try:
        time = worth.time_to_tell(evaluate(found.model, other))
    except ValueError:
        time = math.nan
    return Closest(state, int(known.second[state]), float(dear[state]), time if math.isfinite(time) else None)


def rates_of(worth: PolicyValue) -> dict[str, float] | None:
    """Return every amount per unit time under a policy; None if the model counts none, or they depend on chance.

    >>> from sojourn.models import from_dict
    >>> pair = {"reward": 6, "duration": 2, "next": "on", "amounts": {"energy": 5}}
    >>> rates_of(evaluate(from_dict({"on": {"go": pair}}), [0]))
    {'reward': 3.0, 'steps': 0.5, 'energy': 2.5}
    """
    if not worth.model.amounts or len(worth.classes) != 1 or worth.mean_duration == 0.0:
        return None
    return worth.rates


# --- In words ----------------------------------------------------------------------------

_ACTIONS_SHOWN = 60
_NAMES_SHOWN = 20


def lines(found: Solved) -> list[str]:
    """Return the gain with its bounds, the policy, and anything odd about the model."""
    proven = "an estimate without proven bounds"
    if found.lower is not None and found.upper is not None:
        proven = f"between {found.lower:.10g} and {found.upper:.10g}"
    gain = f"gain {found.gain:.10g} {found.unit}"
    if found.gains is not None:
        gain = f"the gain depends on the first state, {found.gain:.10g} {found.unit} from state {found.state_name(0)}"
        proven = f"all {proven}"
    return [
        f"{found.name}: {gain}, {proven} ({counted(found.states, 'state')}, {found.solver}, {found.seconds:.2g} s)",
        *several_lines(found),
        *([] if found.rates is None else [rates_line(found.rates)]),
        *limit_lines(found),
        *terminal.lines(told(found)),
        _policy(found),
        *terminal.lines(_calmer(found)),
        *(f"note: {finding}" for finding in found.findings),
    ]


def told(found: Solved) -> list[blocks.Block]:
    """Return in words how far earnings stray, and how close the closest other action is."""
    return [blocks.Prose(words) for words in (_strays(found), _other(found)) if words]


def _strays(found: Solved) -> str:
    if found.deviation is None or found.mean_step is None:
        return ""
    if found.deviation == 0.0:
        return f"What is earned does not stray from the gain{f' ({found.constant} count as constants in each outcome)' if found.constant else ''}."
    time = 10.0 ** math.ceil(math.log10(1000.0 * found.mean_step) - 1e-9)
    reach = NormalDist().inv_cdf(0.975) * found.deviation * math.sqrt(time)
    low, high = (_near(found.gain * time + end, reach) for end in (-reach, reach))
    below = "a time of" if found.per == "duration" else f"{found.per} of"
    words = (
        f"Over {below} {number(time)} the {found.maximise} will be {low} to {high} with a probability of 95 %"
    )
    words += f" (deviation {number(found.deviation)} times the root of {'time' if found.per == 'duration' else found.per}"
    return words + (f"; {found.constant} count as constants in each outcome)." if found.constant else ").")


def _near(value: float, reach: float) -> str:
    """Return a number to about a hundredth of how far it may stray."""
    digits = 2 - math.floor(math.log10(reach))
    return f"{round(value, digits):,.{max(0, min(digits, 9))}f}"


def _other(found: Solved) -> str:
    if found.closest is None:
        return ""
    other = found.closest
    action = found.action_names[other.action] if found.action_names else str(other.action)
    words = (
        f"In the states that take 1 % of the time or more, the closest other action is {action} in "
        f"{found.state_name(other.state)}: always taken there, it would cost {number(other.cost)} {found.unit}"
    )
    return words + (
        f", which runs of a time of {number(other.time, 2)} under each policy would show."
        if other.time
        else "."
    )


def _calmer(found: Solved) -> list[blocks.Block]:
    """Return what a calmer ride costs, if that was asked for."""
    if found.risk is None:
        return []
    actions = found.action_names or tuple(map(str, range(max(map(max, found.risk.policies)) + 1)))
    return risk.parts(
        found.risk, found.name, lambda state, action: f"{found.state_name(state)}: {actions[action]}"
    )


def rates_line(rates: dict[str, float], digits: int = 10) -> str:
    """Return all amounts per unit time in one line."""
    return "per unit time: " + ", ".join(f"{name} {rate:.{digits}g}" for name, rate in rates.items())


def limit_lines(found: Solved | Solution) -> list[str]:
    """Return each limit with its price."""
    limits = zip(found.limits or (), found.prices or (), strict=True)
    return [
        f"limit: {limit}, price {price:.10g}{'' if price else ' (it does not bind)'}"
        for limit, price in limits
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
        f"the largest ratio of mean {found.maximise} to mean {'time' if found.per == 'duration' else found.per} over runs from state {found.state_name(0)} is {found.ratio:.10g}",
    ]


def _policy(found: Solved) -> str:
    most = _NAMES_SHOWN if found.state_names else _ACTIONS_SHOWN
    shown = range(min(found.states, most))
    more = " ..." if found.states > most else ""
    if found.state_names:
        return "policy: " + "; ".join(f"{found.state_name(s)}: {found.action_name(s)}" for s in shown) + more
    return "policy, the action of each state: " + " ".join(map(found.action_name, shown)) + more


# --- Chart -------------------------------------------------------------------------------

MARKS_SHOWN = 2000  # more would slow the page down
ACTIONS_SHOWN = 16  # with a series of their own


def bias(found: Solved, values: tuple[float, ...], points: int) -> Lines:
    """Return the bias over the states, with a mark for each action; if there are many states, only some are shown."""
    every = -(-len(values) // min(points, MARKS_SHOWN))
    by_action: dict[str, list[int]] = {}
    for state in range(0, len(values), every):
        by_action.setdefault(found.action_name(state), []).append(state)
    series = [
        Series(f"action {action}", plain(place), states, [values[state] for state in states], kind="points")
        for place, (action, states) in enumerate(by_action.items())
        if place < ACTIONS_SHOWN
    ]
    left = len(by_action) - len(series)
    note = "Bias: what starting in a state is worth in addition to the gain, relative to other states."
    if every > 1:
        note += f" One state in {every} is shown."
    if left:
        note += f" Not shown: the states of {counted(left, 'further action')}."
    return Lines(
        f"Bias of each state, and the action taken there: {found.name}",
        Axis("state, by its number", short="state", whole=True),
        Axis("bias"),
        series,
        note=note,
    )


# --- Section of the page -----------------------------------------------------------------


def section(folder: Path, given: dict[str, Json], budget: blocks.Budget) -> blocks.Section:
    """Return what `solution.json` in a folder holds."""
    found = read_record(Solved, given)
    parts: list[blocks.Block] = [blocks.Note(f"{finding}.") for finding in found.findings]
    if found.gains is not None:
        parts.insert(0, blocks.Points(several_lines(found)))
    if found.limits is not None:
        parts.insert(0, blocks.Points(limit_lines(found)))
    if not found.bias:
        parts.insert(0, blocks.Prose("The solver that was used returns no bias."))
    return blocks.Section(
        "exact solution",
        f"The best policy of {found.name}",
        f"The largest gain of {found.name}{'' if found.gains is None else f' from state {found.state_name(0)}'} is "
        f"{number(found.gain, 8)} {found.unit}; "
        + (
            "it is an estimate, like the model, and nothing is proven."
            if found.lower is None
            else f"it is proven to lie between {number(found.lower, 8)} and {number(found.upper, 8)}."
        ),
        picture(found, budget),
        [
            *told(found),
            *_calmer(found),
            *parts,
            *_biases(found, budget),
            *_amounts(found),
            _table(found, budget),
            _facts(folder, found),
        ],
    )


def picture(found: Solved, budget: blocks.Budget) -> charts.Chart | blocks.Charts | None:
    """Return the maps of the policy; or bars if its states are no pairs of numbers; or what the states are worth."""
    drawn = drawn_of(found)
    several = policy_map.maps(drawn)
    if several:
        return several[0] if len(several) == 1 else blocks.Charts(several, small=len(several) > 4)
    shares = policy_map.bars(drawn, min(budget.points, MARKS_SHOWN)) if found.states > 1 else None
    if shares is None and found.bias and found.states > 1:
        return bias(found, found.bias, budget.points)
    return shares


def _biases(found: Solved, budget: blocks.Budget) -> list[blocks.Block]:
    """Return what the states are worth, unless it is the picture."""
    if not found.bias or found.states == 1 or "share_of_time" not in found.by_state:
        return []
    return [bias(found, found.bias, budget.points)]


def drawn_of(found: Solved) -> policy_map.Drawn:
    """Return the policy as it is drawn."""
    names = found.action_names or tuple(map(str, range(max(found.policy, default=0) + 1)))
    shares = found.by_state.get("share_of_time")
    known = None if shares is None else [share or 0.0 for share in shares]
    actions = [names[action] for action in found.policy]
    if found.probabilities is not None:
        actions = [" or ".join(drawn) for drawn in found.probabilities]
    return policy_map.Drawn(Path(found.name).stem, found.places, found.parts or (), actions, names, known)


_COLUMNS = {
    "share_of_time": blocks.Column("share of time", digits=2, unit="%"),
    "loss": blocks.Column("second loses", digits=4),
    "cost": blocks.Column("always, it costs", digits=4),
    "reward_may_fall": blocks.Column("reward may fall by", digits=4),
    "reward_may_rise": blocks.Column("and rise by", digits=4),
}


def _table(found: Solved, budget: blocks.Budget) -> blocks.DataTable:
    shown = range(min(len(found.policy), budget.rows))
    bias = found.bias or (None,) * len(found.policy)
    rows: list[tuple[int | float | str | None, ...]]
    if found.state_names:
        columns = [blocks.Column("number"), *blocks.texts("state")]
        rows = [(i, found.state_name(i), found.action_name(i), bias[i]) for i in shown]
    else:  # states have only their numbers
        columns = [blocks.Column("state")]
        rows = [(i, found.action_name(i), bias[i]) for i in shown]
    columns += [*blocks.texts("action"), blocks.Column("bias", digits=6)]
    known = [(_COLUMNS[key], values) for key, values in found.by_state.items() if key in _COLUMNS]
    if found.second is not None:
        names = found.action_names or tuple(map(str, range(1 + max(filter(None, found.second), default=0))))
        best = [None if action is None else names[action] for action in found.second]
        rows = [(*row, best[i]) for i, row in zip(shown, rows, strict=True)]
        columns += blocks.texts("second best")
    rows = [(*row, *(values[i] for _, values in known)) for i, row in zip(shown, rows, strict=True)]
    columns += [column for column, _ in known]
    left = len(found.policy) - len(rows)
    note = f"Not shown: {counted(left, 'further state')}; `{FILE}` has all states." if left else ""
    return blocks.DataTable(f"The policy: {found.name}", columns, rows, note)


def _amounts(found: Solved) -> list[blocks.Block]:
    if found.rates is None:
        return []
    columns = [*blocks.texts("amount"), *blocks.numbers("per unit time", digits=8)]
    return [blocks.DataTable(f"Amounts under the policy: {found.name}", columns, list(found.rates.items()))]


def _facts(folder: Path, found: Solved) -> blocks.Facts:
    return blocks.Facts(
        "Settings",
        [
            ("problem", found.name),
            *((f"option {key}", setting(value)) for key, value in found.options.items()),
            ("states", number(found.states)),
            ("gain", number(found.gain, 10)),
            ("unit of the gain", found.unit),
            ("lower bound", number(found.lower, 10)),
            ("upper bound", number(found.upper, 10)),
            ("deviation, per root of time", number(found.deviation, 6)),
            ("solver", found.solver),
            ("seconds", number(found.seconds, 3)),
            *blocks.made_by(found.version, folder),
        ],
    )
