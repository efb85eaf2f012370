"""The study of networks as it is told: a table for a terminal, what was found, and the section of the page."""

from __future__ import annotations

from pathlib import Path

from sojourn.answers.observations import charts
from sojourn.answers.observations.judge import Observations, Outcome, agent_title
from sojourn.answers.observations.plan import IGNORED, OWN, Variant
from sojourn.data.files import Json
from sojourn.data.hints import read_record
from sojourn.report.blocks import Block, Budget, Charts, Column, Facts, Heading, Points, Prose, Section, Table
from sojourn.report.words import counted, number

HOW_JUDGED = (
    "The relative gain is 1 - (best gain - gain) / |best gain|. To measure a policy's gain, it is followed without random "
    "actions, the best policy is followed with the same random numbers, and the difference of their rates is subtracted "
    "from the exact gain. By chance, a relative gain can come out a little above 1. The gain of the fleet is not known; "
    "the best threshold rule stands for it."
)
SETTINGS = (
    "Every agent has its own settings, the same on all problems: Exponential(0.001) for the rate, centred. Only the "
    "number of steps was chosen for each problem."
)


def interval(one: Outcome) -> str:
    """Return a relative gain with its interval; with only one seed there is none."""
    if one.seeds == 1:
        return f"{one.relative_gain:.4f}"
    return f"{one.relative_gain:.4f} ({one.low:.4f} to {one.high:.4f})"


def headlines(found: Observations) -> list[str]:
    """Return a line for each problem and agent, and what was found."""
    lines = [f"{'':16}{'agent':11}{'steps':>9}{'seeds':>7}  relative gain, 95 % interval"]
    lines += [
        f"{one.problem:16}{agent_title(one.agent):11}{one.steps:>9,}{one.seeds:>7}  {interval(one)}"
        for one in found.first
    ]
    return [*lines, "", *findings(found)]


def findings(found: Observations) -> list[str]:
    """Return what was found, in sentences."""
    if found.is_comparison:
        return _ahead(found)
    return [_bars(found), *_ignored(found), *_harmonic(found)]


def _ahead(found: Observations) -> list[str]:
    """Say which agent is ahead on each problem, and whether its interval overlaps with those of others."""
    told = []
    for one in found.truths:
        order = sorted(
            (each for each in found.first if each.problem == one.problem),
            key=lambda each: -each.relative_gain,
        )
        best, others = order[0], order[1:]
        if not others or best.seeds == 1:
            told.append(
                f"On {one.problem} {agent_title(best.agent)} reaches {best.relative_gain:.4f} of the best gain."
            )
            continue
        near = [agent_title(each.agent) for each in others if each.high >= best.low]
        apart = (
            f"; its interval overlaps with that of {' and that of '.join(near)}"
            if near
            else ", clear of all others"
        )
        told.append(
            f"On {one.problem} {agent_title(best.agent)} is ahead with {best.relative_gain:.4f} of the best gain{apart}."
        )
    return told


def _bars(found: Observations) -> str:
    """Say which problems the best agent solves as well as it should."""
    best = {one.problem: found.best(one.problem) for one in found.truths}
    short = [
        f"{one.problem} ({best[one.problem].relative_gain:.4f} of {one.bar:g})"
        for one in found.truths
        if one.bar is not None and best[one.problem].relative_gain < one.bar
    ]
    told = f"The best agent reaches its bar on {len(best) - len(short)} of {counted(len(best), 'problem')}"
    return f"{told}; it falls short on {'; '.join(short)}." if short else f"{told}."


def _ignored(found: Observations) -> list[str]:
    """Say what it costs to ignore durations."""
    told = []
    for problem, agent in found.pairs:
        by = {one.variant: one for one in found.varied(problem, agent)}
        own, blind = by[OWN.label], by[IGNORED]
        told.append(
            f"{problem} by {agent_title(agent)} {blind.relative_gain:.3f} instead of {own.relative_gain:.3f}"
        )
    return [f"Relative gains of an agent that ignores durations: {'; '.join(told)}."] if told else []


def _harmonic(found: Observations) -> list[str]:
    """Say what the harmonic rate does with and without centring."""
    centred, bare = Variant("Harmonic").label, Variant("Harmonic", 0.0).label
    told = []
    for problem, agent in found.pairs:
        by = {one.variant: one for one in found.varied(problem, agent)}
        told.append(
            f"{problem} by {agent_title(agent)} {by[centred].relative_gain:.3f} with, {by[bare].relative_gain:.3f} without"
        )
    return (
        [f"Relative gains of the harmonic rate with and without centring: {'; '.join(told)}."] if told else []
    )


def who(found: Observations) -> str:
    """Return the names of the agents for the beginning of a sentence."""
    names = list(dict.fromkeys(agent_title(one.agent) for one in found.first))
    told = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return told[:1].upper() + told[1:]


def gains_table(found: Observations) -> str:
    """Return what the policies are worth, as a table in Markdown."""
    heads = ["problem", "agent", "steps", "seeds", "best gain", "relative gain (95 % interval)", "CPU s"]
    rows = [
        [
            one.problem,
            agent_title(one.agent),
            f"{one.steps:,}",
            str(one.seeds),
            f"{found.truth(one.problem).gain:.5g}",
            interval(one),
            f"{one.seconds:.0f}",
        ]
        for one in found.first
    ]
    return _markdown(heads, ["---", "---", "---:", "---:", "---:", "---", "---:"], rows)


def rates_table(found: Observations) -> str:
    """Return what the agents reach with other rates, a row for each rate, as a table in Markdown."""
    heads = ["rate", *(f"{problem}, {agent_title(agent)}" for problem, agent in found.pairs)]
    labels = list(dict.fromkeys(one.variant for one in found.second))
    by = {(one.problem, one.agent, one.variant): one for one in found.second}
    rows = [[label, *(interval(by[*pair, label]) for pair in found.pairs)] for label in labels]
    return _markdown(heads, ["---"] * len(heads), rows)


def _markdown(heads: list[str], rules: list[str], rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, rules, *rows))


# --- The section -------------------------------------------------------------------------

_COLUMNS = [
    Column("problem", numeric=False),
    Column("agent", numeric=False),
    Column("steps"),
    Column("seeds"),
    Column("best gain", digits=5),
    Column("gain", digits=5),
    Column("relative gain"),
    Column("low"),
    Column("high"),
    Column("learned rate"),
    Column("CPU s", digits=3),
]


def section(folder: Path, given: dict[str, Json], budget: Budget) -> Section:
    """Return what `observations.json` in a folder holds."""
    found = read_record(Observations, given)
    blocks: list[Block] = [
        Points(findings(found)),
        Heading("What the policies are worth"),
        Prose(f"{SETTINGS} {HOW_JUDGED}"),
        gains(found),
    ]
    if found.second:
        blocks += [
            Heading("Other rates, and no durations"),
            Prose(
                "These runs are shorter, and each changes one thing: the estimator of the rate, with the step size 0.001 if it has "
                "one; whether the rate is corrected by the level of the values; or whether the agent is told durations."
            ),
            Charts([charts.rates(found, problem, agent) for problem, agent in found.pairs], small=True),
            rates(found),
        ]
    return Section(
        "study of networks",
        "Observations that cannot be listed",
        f"{who(found)} on {counted(len(found.truths), 'problem')} with continuous observations, compared with the best possible gain.",
        charts.gains(found),
        [
            *blocks,
            _facts(folder, found),
            Prose("`results.parquet` has every run; `figures/` has the charts."),
        ],
    )


def gains(found: Observations) -> Table:
    """Return what the policies are worth."""
    rows = [
        (
            one.problem,
            agent_title(one.agent),
            one.steps,
            one.seeds,
            found.truth(one.problem).gain,
            one.gain,
            one.relative_gain,
            one.low,
            one.high,
            one.learned_rate,
            one.seconds,
        )
        for one in found.first
    ]
    return Table(
        "Policies after learning", _COLUMNS, rows, "Means over seeds, with the 95 % interval of the mean."
    )


def rates(found: Observations) -> Table:
    """Return what the agents reach with other rates, a row for each rate."""
    columns = [
        Column(name, numeric=False)
        for name in ("rate", *(f"{problem}, {agent_title(agent)}" for problem, agent in found.pairs))
    ]
    by = {(one.problem, one.agent, one.variant): one for one in found.second}
    labels = dict.fromkeys(one.variant for one in found.second)
    rows = [(label, *(interval(by[*pair, label]) for pair in found.pairs)) for label in labels]
    return Table("Relative gains with one thing changed at a time, in shorter runs", columns, rows)


def _facts(folder: Path, found: Observations) -> Facts:
    study = [
        ("seeds", f"{found.seeds}, and {found.rate_seeds} in the second part"),
        ("length of runs", f"{number(found.length)} times the usual one"),
    ]
    return Facts(
        "Settings",
        [
            *([("seeds", str(found.seeds))] if found.is_comparison else study),
            ("made by", f"Sojourn {found.version}"),
            ("folder", folder.name),
        ],
    )
