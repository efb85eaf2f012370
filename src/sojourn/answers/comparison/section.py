"""Presentation of a comparison: its charts, its terminal output, why each agent ends where it does, and its section."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from sojourn.answers import audit
from sojourn.answers.comparison.judge import (
    AgentResult,
    ChangingResult,
    ChangingWorld,
    Comparison,
    EstimatorError,
    Problem,
    RunSettings,
)
from sojourn.data.files import Json
from sojourn.data.hints import as_json, read_record
from sojourn.exact.audit.audit import Limit
from sojourn.report import blocks, charts, terminal
from sojourn.report.looks import looks
from sojourn.report.words import counted, number, setting

# --- Charts ------------------------------------------------------------------------------

_PANELS = 3  # problems in a row of a figure


def learning(found: Problem, points: int, over: str = "steps") -> charts.Lines:
    """Return the chart of each agent's relative gain over steps or time, with about `points` points in all."""
    styles = looks(row.agent for row in found.agents)
    names = {row.agent: row.name for row in found.agents}
    total = sum(len(curve.step) for curve in found.curves)
    every = max(1, -(-total // max(1, points)))
    series = []
    for curve in found.curves:
        last = len(curve.step) - 1
        chosen = [place for place in range(last + 1) if place % every == 0 or place == last]
        numbers = (curve.step, curve.relative_gain, curve.low, curve.high)
        x, y, low, high = ([part[place] for place in chosen] for part in numbers)
        series.append(charts.Series(names[curve.agent], styles[curve.agent], x, y, low, high))
    return charts.Lines(
        f"Learning: {found.name}",
        charts.Axis(over, log=True),
        charts.Axis("relative gain of the greedy policy"),
        series,
        note="Mean over the runs, and its 95 % interval.",
    )


def outcomes(found: Problem) -> charts.Whiskers:
    """Return the chart of each agent's final relative gain, with its interval."""
    numbers = [(row.relative_gain, row.relative_low, row.relative_high) for row in found.agents]
    axis = charts.Axis("relative gain at the end, 95 % interval", short="relative gain")
    note = "The dotted line is the best possible gain."
    return _intervals(f"At the end: {found.name}", axis, found.agents, numbers, note)


def earnings(found: Problem) -> charts.Whiskers:
    """Return the chart of what each agent earned on the way with the options that earn most, with its interval."""
    numbers = [(row.earning.earned, row.earning.low, row.earning.high) for row in found.agents]
    axis = charts.Axis("earned on the way, relative to the optimum, 95 % interval", short="earned")
    note = "The dotted line is what the best policy earns in the long run."
    return _intervals(f"On the way: {found.name}", axis, found.agents, numbers, note)


def shares(found: ChangingWorld) -> charts.Whiskers:
    """Return the chart of what each agent earned in a world that changes, with its interval."""
    numbers = [(row.share, row.low, row.high) for row in found.agents]
    axis = charts.Axis("share of the frozen optimum, 95 % interval", short="earned")
    note = "The dotted line is what the best policy of each time would have earned."
    return _intervals(f"Earned while it changes: {found.name}", axis, found.agents, numbers, note)


def _intervals(
    title: str,
    axis: charts.Axis,
    agents: Sequence[AgentResult | ChangingResult],
    numbers: Sequence[tuple[float, float, float]],
    note: str,
) -> charts.Whiskers:
    """Return the chart of a number for each agent with its interval, relative to 1."""
    styles = looks(row.agent for row in agents)
    rows = [
        charts.Whisker(row.name, styles[row.agent], *triple)
        for row, triple in zip(agents, numbers, strict=True)
    ]
    return charts.Whiskers(title, axis, rows, interval="95 % interval", reference=1.0, note=note)


def overview(problems: Sequence[Problem]) -> charts.Heatmap:
    """Return the heatmap of final relative gains by agent and problem."""
    names = {row.agent: row.name for found in problems for row in found.agents}
    gains = [{row.agent: row.relative_gain for row in found.agents} for found in problems]
    values = [[row.get(agent) for row in gains] for agent in names]
    return charts.Heatmap(
        "Relative gain at the end, mean over the runs",
        charts.Labels("problem", [found.name for found in problems]),
        charts.Labels("agent", list(names.values())),
        charts.Colours("relative gain", 0.0, 1.0),
        values,
        labels=[["" if one is None else f"{one:.2f}" for one in row] for row in values],
    )


def sheet(found: Problem, over: str = "steps") -> charts.Sheet:
    """Return the figure of one problem: learning on the left, the audit on the right."""
    points = sum(len(curve.step) for curve in found.curves)
    titles = ["what the policies are worth", audit.paper_title(found.audit)]
    return charts.Sheet(
        [[learning(found, points, over), audit.on_paper(found.audit)]], (8.5, 4.8), titles=[titles]
    )


def outcomes_sheet(problems: Sequence[Problem]) -> charts.Sheet:
    """Return the figure of the final policies on all problems; agents are named only at the left of each row."""
    return _whiskers(
        [outcomes(found)._replace(x=charts.Axis("relative gain")) for found in problems], problems
    )


def earned_sheet(problems: Sequence[Problem]) -> charts.Sheet:
    """Return the figure of what was earned on the way on all problems, in the same form."""
    return _whiskers([earnings(found)._replace(x=charts.Axis("earned")) for found in problems], problems)


def _whiskers(panels: Sequence[charts.Whiskers], problems: Sequence[Problem]) -> charts.Sheet:
    agents = max(len(panel.rows) for panel in panels)
    firsts = range(0, len(problems), _PANELS)
    width = min(_PANELS, len(problems))
    return charts.Sheet(
        [
            [
                panel.nameless() if place else panel
                for place, panel in enumerate(panels[first : first + _PANELS])
            ]
            for first in firsts
        ],
        (2.0 + 1.7 * width, (0.7 + 0.16 * agents) * len(firsts)),
        titles=[[found.name for found in problems[first : first + _PANELS]] for first in firsts],
        outer_labels=True,
    )


def changing_sheet(found: ChangingWorld) -> charts.Sheet:
    """Return the figure of one world that changes."""
    return charts.Sheet([[shares(found)]], (6.5, 1.2 + 0.25 * len(found.agents)))


# --- In words ----------------------------------------------------------------------------


def lines(found: Comparison) -> list[str]:
    """Return the terminal output: the tables of each problem with a summary, and of each world that changes."""
    shown: list[blocks.Block] = []
    for problem in found.problems:
        shown += [
            blocks.Heading(f"{problem.name}: optimal gain {problem.gain:.6g}"),
            *_tables(problem),
            blocks.Points(problem.findings),
        ]
    return terminal.lines([*shown, *map(_changing_table, found.changing)])


def leader(found: Problem) -> str:
    """Say which agents have the highest final relative gain, and whose intervals overlap with theirs."""
    best = max(found.agents, key=lambda row: row.relative_gain)
    first = [row.name for row in found.agents if row.relative_gain == best.relative_gain]
    told = (
        f"The highest relative gain at the end is {number(best.relative_gain)} (95 % interval "
        f"{number(best.relative_low)} to {number(best.relative_high)}): {', '.join(first)}."
    )
    behind = [row for row in found.agents if row.relative_gain < best.relative_gain]
    near = [row.name for row in behind if row.relative_high >= best.relative_low]
    if not behind:
        return told
    if not near:
        return f"{told} No other agent's interval overlaps with that."
    return f"{told} The intervals of these agents overlap with that: {', '.join(near)}."


def verdict(found: Problem) -> list[str]:
    """Say how Harmonic R-Learning compares with SMART on a problem, and why, if both took part."""
    if not {"harmonic_r", "smart"} <= {row.agent for row in found.agents}:
        return []
    harmonic, smart = found.agent("harmonic_r"), found.agent("smart")
    measured = (
        f"Harmonic R-Learning ends with an optimal policy in {100 * harmonic.optimal_share:.0f} % of the runs "
        f"(steps to 99 %: {_whole(harmonic.steps_99)}), SMART in {100 * smart.optimal_share:.0f} % "
        f"({_whole(smart.steps_99)}). Its median learned rate is {number(harmonic.rate)}, SMART's is "
        f"{number(smart.rate)}; the gain is {found.gain:.4g}."
    )
    told = [measured, _why(found, found.audit["Harmonic"]), _held_up(found), _noise(found)]
    return [sentence for sentence in told if sentence]


def _why(found: Problem, limit: Limit) -> str:
    """Say what the harmonic mean converges to under the optimal policy, and what follows."""
    if limit.error == 0.0:
        return "Under the optimal policy the harmonic mean converges to the gain itself: here it is a right estimate."
    rate, interval = number(limit.rate), _greedy_for(found)
    wrong = f"Under the optimal policy the harmonic mean converges to {rate} instead of {found.gain:.4g}."
    if limit.keeps_optimum:
        return f"{wrong} An optimal policy is greedy for {interval}, and so for this rate too."
    settled = limit.settled_gain
    ends = "and goes in circles from there" if settled is None else f"and settles at a gain of {settled:.4g}"
    return (
        f"{wrong} An optimal policy is greedy only for {interval}, so an agent that has learned {rate} leaves it for a "
        f"policy with the gain {number(limit.greedy_gain)}, {ends}. Values drift at that rate, so with little "
        "exploration the action taken most often may stay ahead."
    )


def _held_up(found: Problem) -> str:
    """Say which wrong policy the agent often has, if there is one."""
    trap = found.trap
    if trap is None or trap.share < 0.05:
        return ""
    moves = "grow" if trap.grows else "fall"
    return (
        f"Of its later policies that were examined, {100 * trap.share:.0f} % are one with the gain {trap.gain:.4g}. "
        f"Under that policy the harmonic mean converges to {trap.harmonic:.4g} (SMART's rate to {trap.gain:.4g}; an "
        f"optimal policy is greedy for {_greedy_for(found)}), and values {moves} with every step."
    )


def _noise(found: Problem) -> str:
    """Say which of two estimates has the smaller error if all else is equal."""
    rows = {row.estimator: row for row in found.estimators}
    one, other = rows["Harmonic"], rows["Exponential"]
    if one.error_high < other.error_low:
        said = "The harmonic mean is the better estimate here"
    elif other.error_high < one.error_low:
        said = "The ratio of means is the better estimate here"
    else:
        said = "Neither estimate is clearly better here"
    return (
        f"{said}: with the same step size under the optimal policy, the root mean square error of the harmonic "
        f"rate is {_error(one)}, and that of Relaxed-SMART's ratio is {_error(other)}."
    )


def _error(row: EstimatorError) -> str:
    return f"{row.error:.3g} ({row.error_low:.3g} to {row.error_high:.3g})"


def _whole(number: float | None) -> str:
    return "-" if number is None else f"{number:,.0f}"


def _greedy_for(found: Problem) -> str:
    return audit.between(found.audit.low, found.audit.high)


# --- The section ---------------------------------------------------------------------

_LOW_HIGH = (blocks.Column("low", short=None), blocks.Column("high", short=None))
_SHARES = (
    blocks.Column("low", digits=0, unit="%", short=None),
    blocks.Column("high", digits=0, unit="%", short=None),
)
_TEXTS = [
    blocks.Column("agent", numeric=False),
    blocks.Column("tuned", numeric=False, short=None),
    blocks.Column("on the edge", numeric=False),
]
_NUMBERS = {  # by the fields of `AgentResult`
    "relative_gain": blocks.Column("relative gain"),
    "relative_low": blocks.Column("low"),
    "relative_high": blocks.Column("high"),
    "followed": blocks.Column("followed"),
    "followed_low": _LOW_HIGH[0],
    "followed_high": _LOW_HIGH[1],
    "earned": blocks.Column("earned", short=None),
    "earned_low": _LOW_HIGH[0],
    "earned_high": _LOW_HIGH[1],
    "optimal_share": blocks.Column("runs with an optimal policy", digits=0, unit="%", short="optimal"),
    "optimal_low": _SHARES[0],
    "optimal_high": _SHARES[1],
    "steps_99": blocks.Column("steps to 99 %", digits=6),
    "time_99": blocks.Column("time to 99 %", short=None),
    "reached_share": blocks.Column("runs that reach 99 %", digits=0, unit="%", short=None),
    "rate": blocks.Column("rate", short=None),
    "rate_gap": blocks.Column("rate minus gain", short=None),
    "regret": blocks.Column("regret", short=None),
}
_INTERVAL = blocks.numbers("earned", "low", "high")

_FILES = (
    "`comparison.json` has all of this for machines; `results.parquet` has a row for each run and length, with `policy_gain`, "
    "`relative_gain`, `followed` and `earned`; the folder of each problem holds its sweeps. In `figures/`, `outcomes` shows the "
    "final relative gains and `earned` what was earned; the figure of each problem shows the learning curves and the audit."
)


def section(folder: Path, given: dict[str, Json], budget: blocks.Budget) -> blocks.Section:
    """Return the section for the `comparison.json` in a folder, problem by problem."""
    found = read_record(Comparison, given)
    settings, problems = found.settings, found.problems
    agents = {row.agent for problem in problems for row in problem.agents}
    agents |= {row.agent for world in found.changing for row in world.agents}
    over, points = "steps" if settings.time is None else "time", budget.points // max(1, len(problems))
    alone = len(problems) == 1
    parts: list[blocks.Block] = []
    for problem in problems:
        shown = [] if alone else [outcomes(problem)]
        parts += _problem(problem, [learning(problem, points, over), *shown, earnings(problem)])
    for place, world in enumerate(found.changing):
        parts += _changing(world, opened=not problems and place == 0)
    names = found.names
    return blocks.Section(
        "comparison",
        "Agents compared on " + (", ".join(names) if len(names) < 4 else f"{len(names)} problems"),
        f"{counted(len(agents), 'agent')}, each tuned on {counted(settings.tuning_seeds, 'seed')} and then run with "
        f"{counted(settings.seeds, 'other seed')} {_long(settings)}"
        + ("; a relative gain of 1 is the best possible." if problems else "."),
        _picture(found),
        [
            *parts,
            *_how_judged(settings),
            _facts(folder, found),
            blocks.Heading("Files"),
            blocks.Prose(_FILES),
        ],
    )


def _how_judged(settings: RunSettings) -> list[blocks.Block]:
    return [
        blocks.Heading("How agents are judged"),
        blocks.Prose(
            "Options are chosen for each problem from all combinations of the choices below (discount rates are divided by the "
            "mean duration). If the best choice lies on the edge of its grid, the grid is widened by up to "
            f"{settings.widen} choices at that end; an option whose best choice is still the last one is *on the edge*. The best "
            "options for the *final policy* are those whose greedy policies have the largest mean gain at the end and, among "
            "these, those that earned most. The best options for *earning* are those that earned most on the way. The two "
            "often differ, so each has runs of its own."
        ),
        blocks.Prose(
            "A policy is judged by its exact gain g: its *relative gain* is 1 - (gain - g) / |gain|, where gain is the optimal one "
            "(if that is 0, the largest rate of any state and action takes the place of |gain|), from the first state, in the "
            "long run. *Followed* is the same from the state in which learning ended, for as many steps as the run had: there, "
            "wrong actions in rarely visited states hardly count. *Earned* is what the run itself earned per unit time, relative "
            "in the same way: what is missing to 1 is regret. A run that diverged counts as the worst possible policy. *Steps to "
            "99 %* is the median over runs of the steps after which the policy has a relative gain of at least 0.99 and keeps "
            "it; *time* is the same in units of the problem's time. Intervals of means are bootstrapped, those of shares are "
            "Wilson's; all are 95 % intervals over runs."
        ),
    ]


def _picture(found: Comparison) -> charts.Chart:
    """Return the chart that comes first: of all problems, of the only one, or of the first world if all worlds change."""
    if not found.problems:
        return shares(found.changing[0])
    return overview(found.problems) if len(found.problems) > 1 else outcomes(found.problems[0])


def _long(settings: RunSettings) -> str:
    if settings.time is None:
        return f"for {counted(settings.steps, 'step')}"
    return f"until the clock reaches {number(settings.time)}"


def _problem(found: Problem, shown: list[charts.Chart]) -> list[blocks.Block]:
    what = f"{counted(found.states, 'state')}; the best gain is {number(found.gain, 8)}. {leader(found)}"
    return [
        blocks.Heading(found.name),
        blocks.Prose(what),
        *([blocks.Points(found.findings)] if found.findings else []),
        blocks.Charts(shown),
        *_tables(found),
        *([_errors(found)] if found.estimators else []),
        *audit.parts(found.audit),
    ]


def _tables(found: Problem) -> list[blocks.DataTable]:
    """Return the tables of how good the agents became, and of what they earned with the options that earn most."""
    numbers = [[getattr(one, field) for field in _NUMBERS] for one in found.agents]
    earned = [[one.earning.earned, one.earning.low, one.earning.high] for one in found.agents]
    return [
        blocks.DataTable(
            f"The agents on {found.name}",
            [*_TEXTS, *_NUMBERS.values()],
            [
                (one.name, *_tuned(one.options, one.edges), *row)
                for one, row in zip(found.agents, numbers, strict=True)
            ],
            "Low and high are the ends of 95 % intervals. An empty entry: most runs never get there. Followed: the same "
            "policy from the state in which learning ended, for as many steps again. Earned: what the runs themselves earned. "
            "On the edge: the best choice is the last that was tried, so widen further, or give another grid.",
        ),
        blocks.DataTable(
            f"With the options that earn most on {found.name}",
            [*_TEXTS, *_INTERVAL],
            [
                (one.name, *_tuned(one.earning.options, one.earning.edges), *row)
                for one, row in zip(found.agents, earned, strict=True)
            ],
            "What was earned on the way, relative to the optimum, with options tuned for it.",
        ),
    ]


def _tuned(options: Mapping[str, float], edges: Sequence[str]) -> tuple[str, str]:
    """Describe the chosen options, and which lie on the edge of what was tried."""
    return setting(options), setting({edge: options[edge] for edge in edges})


def _errors(found: Problem) -> blocks.DataTable:
    """Return the table of how well each estimator does, all else being equal."""
    columns = [*blocks.texts("estimator"), *blocks.numbers("mean", "root mean square error", "low", "high")]
    rows = [(one.estimator, one.mean, one.error, one.error_low, one.error_high) for one in found.estimators]
    note = "All follow the optimal policy and have the same step size, if they have one."
    return blocks.DataTable(f"The estimators alone on {found.name}", columns, rows, note)


def _facts(folder: Path, found: Comparison) -> blocks.Facts:
    return blocks.Facts(
        "Settings",
        [
            *(
                (key.replace("_", " "), setting(value))
                for key, value in as_json(found.settings).items()
                if key != "grids"
            ),
            *(
                (f"agent {name}", "; ".join(setting({option: one}) for option, one in grid.items()))
                for name, grid in found.settings.grids.items()
                if grid
            ),
            ("problems", ", ".join(found.names)),
            *blocks.made_by(found.version, folder),
        ],
    )


# --- Worlds that change ------------------------------------------------------------------


def _changing(found: ChangingWorld, opened: bool) -> list[blocks.Block]:
    """Return the part of the page about one world; its chart is omitted if the page opens with it."""
    best = found.agents[0]
    return [
        blocks.Heading(found.name),
        blocks.Prose(
            f"{counted(found.states, 'state')}; the world changes, so no policy stays the best. {best.name} earned most: "
            f"{best.share:.3f} of what the best policy of each time would have earned."
        ),
        *([] if opened else [shares(found)]),
        _changing_table(found),
    ]


def _changing_table(found: ChangingWorld) -> blocks.DataTable:
    rows = [
        (
            *(row.name, *_tuned(row.options, row.edges)),
            *(row.share, row.low, row.high, row.dynamic_regret, row.tracking_error),
        )
        for row in found.agents
    ]
    return blocks.DataTable(
        f"The agents in {found.name}",
        [*_TEXTS, *_INTERVAL, *blocks.numbers("dynamic regret", "tracking error")],
        rows,
        "Earned: the share of what the best policy of each time would have earned (the frozen optimum), with the options "
        "that earn most on other seeds. Low and high are the ends of 95 % intervals. Dynamic regret: what is missing to "
        "that optimum. Tracking error: the mean over time of the squared error of the learned rate.",
    )
