"""A comparison as it is told: tables for a terminal, why each agent ends where it does, and the section of the page."""

from __future__ import annotations

from pathlib import Path

from sojourn.answers.audit import section as audit
from sojourn.answers.audit.record import Limit
from sojourn.answers.audit.section import greedy_for
from sojourn.answers.comparison import changing
from sojourn.answers.comparison.charts import earnings, learning, outcomes, overview
from sojourn.answers.comparison.record import AgentResult, Comparison, EstimatorError, Problem, RunSettings
from sojourn.data.files import Json
from sojourn.data.hints import as_json, read_record
from sojourn.report.blocks import Block, Budget, Charts, Column, Facts, Heading, Points, Prose, Section, Table
from sojourn.report.charts import Chart
from sojourn.report.words import counted, number, setting, several


def table_lines(found: Problem) -> list[str]:
    """Return the table of one problem for a terminal."""
    lines = [
        f"{found.name}: optimal gain {found.gain:.6g}",
        f"{'':32}{'final policy':>22}{'followed':>10}{'optimal':>9}{'to 99 %':>10}{'earned at best':>24}",
    ]
    for row in found.agents:
        gain = f"{row.relative_gain:.3f} ({row.relative_low:.3f}-{row.relative_high:.3f})"
        earned = f"{row.earning.earned:.3f} ({row.earning.low:.3f}-{row.earning.high:.3f})"
        lines.append(
            f"  {row.name:30}{gain:>22}{row.followed:>10.3f}{100 * row.optimal_share:>7.0f} %"
            f"{_whole(row.steps_99):>10}{earned:>24}"
        )
    return [*lines, *map(_on_edge, _with_edges(found))]


def _with_edges(found: Problem) -> list[AgentResult]:
    return [row for row in found.agents if row.edges or row.earning.edges]


def _on_edge(row: AgentResult) -> str:
    """Say which options of an agent have their best choice on the edge of what was tried."""
    both = ((row.edges, row.options, "policy"), (row.earning.edges, row.earning.options, "earning"))
    told = "; ".join(
        f"{_listed([f'{edge} {options[edge]:g}' for edge in edges])} for {what}"
        for edges, options, what in both
        if edges
    )
    return f"  {row.name} does best on the edge of what was tried: {told}. Widen further, or give it another grid."


def leader(found: Problem) -> str:
    """Say which agents have the highest relative gain at the end, and whose intervals overlap with theirs."""
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


# --- Why ------------------------------------------------------------------------------


def verdict(found: Problem) -> list[str]:
    """Return, in sentences, how Harmonic R-Learning compares with SMART on a problem, and why, if both took part."""
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
    """Say what the harmonic mean converges to under the optimal policy, and what follows from that."""
    if limit.error == 0.0:
        return "Under the optimal policy the harmonic mean converges to the gain itself: here it is a right estimate."
    rate, interval = number(limit.rate), greedy_for(found.audit)
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
        f"optimal policy is greedy for {greedy_for(found.audit)}), and values {moves} with every step."
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


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


# --- The section ---------------------------------------------------------------------

_COLUMNS = [
    Column("agent", numeric=False),
    Column("tuned", numeric=False),
    Column("on the edge", numeric=False),
    Column("relative gain"),
    Column("low"),
    Column("high"),
    Column("followed"),
    Column("low"),
    Column("high"),
    Column("earned"),
    Column("low"),
    Column("high"),
    Column("runs with an optimal policy", digits=0, unit="%"),
    Column("low", digits=0, unit="%"),
    Column("high", digits=0, unit="%"),
    Column("steps to 99 %"),
    Column("time to 99 %"),
    Column("runs that reach 99 %", digits=0, unit="%"),
    Column("rate"),
    Column("rate minus gain"),
    Column("regret"),
]

_FILES = (
    "`comparison.json` has all of this for machines; `results.parquet` has a row for each run and length, with `policy_gain`, "
    "`relative_gain`, `followed` and `earned`; the folder of each problem holds its sweeps. In `figures/`, `outcomes` shows the "
    "final relative gains and `earned` what was earned; the figure of each problem shows the learning curves and the audit."
)
_EARNINGS = [
    Column("agent", numeric=False),
    Column("tuned", numeric=False),
    Column("on the edge", numeric=False),
    Column("earned"),
    Column("low"),
    Column("high"),
]


def section(folder: Path, given: dict[str, Json], budget: Budget) -> Section:
    """Return what `comparison.json` in a folder holds, problem by problem."""
    found = read_record(Comparison, given)
    settings, problems = found.settings, found.problems
    agents = {row.agent for problem in problems for row in problem.agents}
    agents |= {row.agent for world in found.changing for row in world.agents}
    over, points = "steps" if settings.time is None else "time", budget.points // max(1, len(problems))
    alone = len(problems) == 1
    blocks: list[Block] = []
    for problem in problems:
        shown = [] if alone else [outcomes(problem)]
        blocks += _problem(problem, [learning(problem, points, over), *shown, earnings(problem)])
    for place, world in enumerate(found.changing):
        blocks += changing.blocks(world, opened=not problems and place == 0)
    names = found.names
    return Section(
        "comparison",
        "Agents compared on " + (", ".join(names) if len(names) < 4 else f"{len(names)} problems"),
        f"{counted(len(agents), 'agent')}, each tuned on {counted(settings.tuning_seeds, 'seed')} and then run with "
        f"{counted(settings.seeds, 'other seed')} {_long(settings)}"
        + ("; a relative gain of 1 is the best possible." if problems else "."),
        _picture(found),
        [*blocks, *_how_judged(settings), _facts(folder, found), Heading("Files"), Prose(_FILES)],
    )


def _how_judged(settings: RunSettings) -> list[Block]:
    return [
        Heading("How agents are judged"),
        Prose(
            "Options are chosen for each problem from all combinations of the choices below (discount rates are divided by the "
            "mean duration). If the best choice lies on the edge of its grid, the grid is widened by up to "
            f"{settings.widen} choices at that end; an option whose best choice is still the last one is *on the edge*. The best "
            "options for the *final policy* are those whose greedy policies have the largest mean gain at the end and, among "
            "these, those that earned most. The best options for *earning* are those that earned most on the way. The two "
            "often differ, so each has runs of its own."
        ),
        Prose(
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


def _picture(found: Comparison) -> Chart:
    """Return the chart that comes first: of all problems, of the only one, or of the first world if all worlds change."""
    if not found.problems:
        return changing.shares(found.changing[0])
    return overview(found.problems) if len(found.problems) > 1 else outcomes(found.problems[0])


def _long(settings: RunSettings) -> str:
    if settings.time is None:
        return f"for {counted(settings.steps, 'step')}"
    return f"until the clock reaches {number(settings.time)}"


def _problem(found: Problem, shown: list[Chart]) -> list[Block]:
    blocks: list[Block] = [
        Heading(found.name),
        Prose(
            f"{counted(found.states, 'state')}; the best gain is {number(found.gain, 8)}. " + leader(found)
        ),
        *([Points(found.findings)] if found.findings else []),
        Charts(shown),
        Table(
            f"The agents on {found.name}",
            _COLUMNS,
            list(map(_row, found.agents)),
            "Low and high are the ends of 95 % intervals. An empty entry: most runs never get there. Followed: the same "
            "policy from the state in which learning ended, for as many steps again. Earned: what the runs themselves earned.",
        ),
        Table(
            f"With the options that earn most on {found.name}",
            _EARNINGS,
            list(map(_earning, found.agents)),
            "What was earned on the way, relative to the optimum, with options tuned for it.",
        ),
    ]
    if found.estimators:
        blocks.append(_errors(found))
    return [*blocks, *audit.blocks(found.audit)]


def _earning(one: AgentResult) -> tuple[str | float | None, ...]:
    best = one.earning
    return (one.name, setting(best.options), _edges(best.edges), best.earned, best.low, best.high)


def _edges(edges: tuple[str, ...]) -> str:
    return ", ".join(edge.replace("_", " ") for edge in edges)


def _row(one: AgentResult) -> tuple[str | float | None, ...]:
    return (
        one.name,
        setting(one.options),
        _edges(one.edges),
        one.relative_gain,
        one.relative_low,
        one.relative_high,
        one.followed,
        one.followed_low,
        one.followed_high,
        one.earned,
        one.earned_low,
        one.earned_high,
        one.optimal_share,
        one.optimal_low,
        one.optimal_high,
        one.steps_99,
        one.time_99,
        one.reached_share,
        one.rate,
        one.rate_gap,
        one.regret,
    )


def _errors(found: Problem) -> Table:
    """Return how well each estimator does if all else is equal."""
    columns = [Column("estimator", numeric=False), Column("mean"), Column("root mean square error")]
    columns += [Column("low"), Column("high")]
    rows = [(one.estimator, one.mean, one.error, one.error_low, one.error_high) for one in found.estimators]
    note = "All follow the optimal policy and have the same step size, if they have one."
    return Table(f"The estimators alone on {found.name}", columns, rows, note)


def _facts(folder: Path, found: Comparison) -> Facts:
    return Facts(
        "Settings",
        [
            *(
                (key.replace("_", " "), several(value) if isinstance(value, list) else setting(value))
                for key, value in as_json(found.settings).items()
                if key != "grids"
            ),
            *(
                (f"agent {name}", "; ".join(setting({option: one}) for option, one in grid.items()))
                for name, grid in found.settings.grids.items()
                if grid
            ),
            ("problems", ", ".join(found.names)),
            ("made by", f"Sojourn {found.version}"),
            ("folder", folder.name),
        ],
    )
