"""The part of the page about a comparison: agents on problems whose best gain is known."""

from __future__ import annotations

from pathlib import Path

from sojourn.report.blocks import Block, Charts, Column, Facts, Heading, Points, Prose, Section, Table
from sojourn.report.budget import Budget
from sojourn.report.charts import Chart
from sojourn.report.words import counted, number, setting, several
from sojourn.rules.records import Json, as_json, read_record
from sojourn.studies.audit import section as audit
from sojourn.studies.comparison import changing
from sojourn.studies.comparison.charts import earnings, learning, outcomes, overview
from sojourn.studies.comparison.record import AgentResult, Comparison, Problem, RunSettings
from sojourn.studies.comparison.words import leader

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
        [*blocks, _facts(folder, found)],
    )


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
