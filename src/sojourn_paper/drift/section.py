"""Presentation of the study of change: its findings, and the section of the page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path

import polars as pl

from sojourn.data.files import Json
from sojourn.data.hints import read_record
from sojourn.report import blocks, terminal
from sojourn.report.figures import FORMATS
from sojourn.runs.progress import Advance, no_progress
from sojourn_paper.drift import charts, family, plan, tables, tracking
from sojourn_paper.drift.control import MIRROR, ONE, TUNED, WORLD
from sojourn_paper.drift.family import EVEN, HORIZON, WORLDS
from sojourn_paper.drift.plan import HARMONIC, Size, title
from sojourn_paper.drift.tables import Bet, Summary, Tracked
from sojourn_paper.drift.tracking import HOWS

ASSUMED = (
    "A trend predicts the future only if it continues in one of the shapes that were fitted: constant, linear, exponential or "
    "power. Beyond the data, nothing supports this."
)


def headlines(summary: Summary) -> list[str]:
    """Return the terminal output: two tables and a sentence."""
    best = [*_ranked(summary, HOWS[0])[:4], summary.tracked("Exponential", HOWS[2])]
    least = min(row.by_trend for row in summary.foretold if row.world == WORLDS[0])
    trend = f"The trend names the action that is better at step {HORIZON:,} in at least {100 * least:.0f} % of histories."
    return terminal.lines([_tracking(best), _control(summary, (TUNED,)), blocks.Prose(trend)])


def in_one_sentence(summary: Summary) -> str:
    """Say in one sentence what the study's main chart shows."""
    best = _ranked(summary, HOWS[0])[0]
    return (
        f"With one setting for all streams, {best.estimator} follows a changing rate best: its error is {_times(best.mean)} times that "
        "of an Exponential with the best step size for each stream."
    )


def with_words(summary: Summary) -> Summary:
    """Return the summary with its findings."""
    return replace(
        summary,
        findings=(
            _on_tracking(summary),
            _on_scores(summary),
            _on_harmonic_tracking(summary),
            _on_control(summary),
            _on_one_setting(summary),
            _on_the_bet(summary),
            _on_the_family(summary),
            _on_the_trend(summary),
        ),
    )


def _ranked(summary: Summary, how: str) -> list[Tracked]:
    rows = (row for row in summary.tracking if row.group == "random" and row.how == how)
    return sorted(rows, key=lambda row: row.mean if row.mean is not None else float("inf"))


def _times(number: float | None) -> str:
    if number is None or number >= 1e6:
        return "over 1e6"
    return f"{number:.2f}" if number < 100.0 else f"{number:,.0f}"


def _told(row: Tracked) -> str:
    return f"{_times(row.mean)} in the geometric mean, {_times(row.high)} at the 90th percentile and {_times(row.worst)} at worst"


def _on_tracking(summary: Summary) -> str:
    adaptive, one = summary.tracked("AdaptiveRatio", HOWS[0]), summary.tracked("Exponential", HOWS[0])
    return (
        f"To follow a rate without tuning, take AdaptiveRatio. Over {summary.size.streams} random streams its error is {_told(adaptive)}, "
        "relative to an Exponential with the best step size for each stream in hindsight. With one step size for all streams, the error "
        f"of an Exponential is {_told(one)}."
    )


def _on_scores(summary: Summary) -> str:
    truth, score = (summary.tracked("Exponential", how) for how in HOWS[1:])
    clipped = summary.tracked("ClippedExponential", HOWS[2])
    return (
        f"A step size can be chosen without knowing the truth. The error of the Exponential with the lowest score on other seeds is "
        f"{_told(score)}; chosen by the truth, it is {_told(truth)}. The error of ClippedExponential, which tolerates heavy tails, is "
        f"{_told(clipped)} if it is chosen by score."
    )


def _on_harmonic_tracking(summary: Summary) -> str:
    harmonic, whole = summary.tracked("Harmonic", HOWS[1]), summary.tracked("Cumulative", HOWS[0])
    return (
        f"Harmonic does not follow the rate, whatever its step size: tuned by the truth, its error is {_told(harmonic)}. Its limit is "
        f"another number. The error of Cumulative, which forgets nothing, is {_told(whole)}."
    )


def _on_control(summary: Summary) -> str:
    return (
        f"Better tracking is not better control. With each agent tuned to each world on other seeds, the mean shares of the frozen "
        f"optimum over {summary.size.worlds} random worlds and their mirrors are: {_over_both(summary, TUNED)}."
    )


def _on_one_setting(summary: Summary) -> str:
    return f"With one setting for all worlds, the mean shares are: {_over_both(summary, ONE)}."


def _over_both(summary: Summary, how: str) -> str:
    """Return every agent with its mean share over worlds and mirrors, best first."""
    worlds, mirrors = (
        {row.agent: row.share for row in summary.over("all", how, side)} for side in (WORLD, MIRROR)
    )
    found = [(title(agent), (worlds[agent] + mirrors[agent]) / 2.0) for agent in worlds]
    return ", ".join(f"{name} ({share:.3f})" for name, share in sorted(found, key=lambda pair: -pair[1]))


def _on_the_bet(summary: Summary) -> str:
    if not summary.bet:
        return "Without Harmonic R-Learning and Relaxed-SMART there is nothing to say about a bet on long actions."
    names = {
        "longest": "Where the longest action is always the best",
        "mixed": "Where the best action changes",
        "shortest": "Where the shortest action is always the best",
    }
    rows = {(row.kind, row.side): row for row in summary.bet}
    told = " ".join(
        f"{name} ({rows[kind, WORLD].worlds} worlds): {_ahead(rows[kind, WORLD])}; in their mirrors: {_ahead(rows[kind, MIRROR])}."
        for kind, name in names.items()
        if (kind, WORLD) in rows
    )
    return (
        "A rate that is too low is a bet on long actions. The numbers say how far Harmonic R-Learning is ahead of Relaxed-SMART, which "
        f"differs only in its estimator, in shares of the optimum. {told}"
    )


def _ahead(row: Bet) -> str:
    return f"{row.ahead:+.3f} ({row.low:+.3f} to {row.high:+.3f}), with Harmonic R-Learning first of all agents in {row.first}"


def _on_the_family(summary: Summary) -> str:
    agents = list(dict.fromkeys(row.agent for row in summary.earned))
    below = {
        agent: [row for row in summary.earned if row.agent == agent and row.log_scale < EVEN]
        for agent in agents
    }
    means = {agent: sum(row.share for row in rows) / len(rows) for agent, rows in below.items()}
    ends = sum(row.ended_with_b for row in below[HARMONIC]) / len(below[HARMONIC])
    return (
        f"In the paper's own family, ending with B is costly below v = {EVEN:g}: as a share of what always taking A earned, "
        + ", ".join(
            f"{title(agent)} earned {share:.2f}"
            for agent, share in sorted(means.items(), key=lambda pair: -pair[1])
        )
        + f", on average over log-scales, step sizes and seeds. Harmonic R-Learning ends with B in {100 * ends:.0f} % of these runs. "
        "There, what the paper counts as success is a loss."
    )


def _on_the_trend(summary: Summary) -> str:
    paper, linear = ([row for row in summary.foretold if row.world == world] for world in WORLDS)
    least, best = min(paper, key=lambda row: row.by_trend), min(paper, key=lambda row: row.by_best)
    wrong = [row for row in paper if row.by_average < 0.5]
    span = f" between v = {wrong[0].log_scale:.2g} and {wrong[-1].log_scale:.2g}" if wrong else ""
    apart = next((row.log_scale for row in paper if _distinguished(row.log_scale, summary)), None)
    told = (
        f" From v = {apart:.2g} on, B's growth can be told apart from linear growth."
        if apart is not None
        else ""
    )
    return (
        f"The trend can be learned by models of a trend. Fitted to {int(paper[0].histories)} histories of four episodes at each of the "
        f"{len(paper)} log-scales, they name the action that is better at step {HORIZON:,} in {_least(least.by_trend)} "
        f"(fewest at v = {least.log_scale:.2g}; with the best shape alone, {100 * best.by_best:.0f} %), and in "
        f"{_least(min(row.by_trend for row in linear))} if B grows linearly instead. "
        f"Means of the past name the wrong action{span}.{told} {ASSUMED}"
    )


def _least(share: float) -> str:
    return "all of them" if share == 1.0 else f"at least {100 * share:.0f} % of them"


def _distinguished(log_scale: float, summary: Summary) -> bool:
    """Whether, from this log-scale on, B is nearly always taken to be exponential if it is, and hardly ever if it is not."""
    return all(
        row.exponential >= 0.95 if row.world == WORLDS[0] else row.exponential <= 0.05
        for row in summary.foretold
        if row.log_scale >= log_scale
    )


# --- The section -------------------------------------------------------------------------


def section(folder: Path, given: dict[str, Json], budget: blocks.Budget) -> blocks.Section:
    """Return the section on the study of change, given its summary as it is in the file."""
    summary = read_record(Summary, given)
    found, size = tables.STUDY.read(folder), summary.size
    parts: list[blocks.Block] = [
        blocks.Prose(
            f"*Tracking*: 19 named kinds of stream and {size.streams} random ones, {size.steps:,} steps each, with every estimator. "
            f"*Control*: {size.worlds} random worlds that change and their mirrors, until a time of {size.time:,.0f}; and named worlds. "
            f"Step sizes and exploration are chosen on 3 seeds and measured on {size.seeds} others: for each stream or world, or one "
            "setting for all. *The paper's family*: what was earned, and whether the trend of 1,000 steps predicts which action is "
            f"better at step {HORIZON:,}."
        ),
        blocks.Points(summary.findings),
        blocks.Heading("Measuring a rate"),
        blocks.Prose(
            "The *tracking error* is the mean over time of the squared difference between an estimate and the true rate, relative to the best "
            "`Exponential` for that stream in hindsight."
        ),
        charts.tracking(found, HOWS[2]),
        _tracking(summary.tracking[: budget.rows]),
        _streams(summary),
        blocks.Heading("Control under change"),
        blocks.Prose(
            "The charts show the share of what the best policy of each time would have earned. In a *mirror* the rates of the actions are "
            "exchanged, so an agent that simply prefers long actions gains in one as much as it loses in the other."
        ),
        blocks.Charts([charts.control(found, how, side) for how in (TUNED, ONE) for side in (WORLD, MIRROR)]),
        _control(summary),
        *([charts.bet(found)] if found.bet.height else []),
        _named(summary),
        blocks.Heading("The paper's own question"),
        blocks.Charts([charts.earned(found), charts.foretold(found)]),
        _trend(summary),
        blocks.Note(ASSUMED),
        _facts(folder, summary),
        blocks.Heading("Files"),
        blocks.Prose(
            "`summary.json` has all of this for machines, and `tables/` has the data of the figures. `sweep/`, `named/`, `others/` and "
            "`family/` hold the runs and `streams/` the streams, from which the study can be resumed. `figures/`: 1 tracking on random "
            "streams; 2 on named streams; 3 control in random worlds and mirrors; 4 the bet on long actions; 5 control in named "
            "worlds; 6 what was earned in the paper's family; 7 the trend."
        ),
    ]
    return blocks.Section(
        "study",
        "Drift: when rewards and durations change",
        in_one_sentence(summary),
        charts.tracking(found, HOWS[0]),
        parts,
    )


def _tracking(tracked: Iterable[Tracked]) -> blocks.DataTable:
    rows = [(row.group, row.estimator, row.how, row.mean, row.high, row.worst) for row in tracked]
    return blocks.DataTable(
        "Tracking errors relative to the best Exponential",
        [
            *blocks.texts("streams", "estimator", "step size"),
            *blocks.numbers("geometric mean", "90 %", "worst", digits=3),
        ],
        rows,
        "One setting: one step size for all streams. By truth, by score: chosen for each stream on other seeds, with or without the truth.",
    )


def _control(summary: Summary, hows: Sequence[str] = (TUNED, ONE)) -> blocks.DataTable:
    rows = [
        (row.name, how, "worlds" if side == WORLD else "mirrors", row.share, row.low, row.high, row.first)
        for how in hows
        for side in (WORLD, MIRROR)
        for row in summary.over("all", how, side)
    ]
    return blocks.DataTable(
        "Share of the frozen optimum in random worlds",
        [
            *blocks.texts("agent", "setting", "where"),
            *blocks.numbers("share", "low", "high", digits=3),
            blocks.Column("first in", digits=0),
        ],
        rows,
        "Low and high are the ends of the 95 % interval over worlds. First: no other agent earned more.",
    )


def _streams(summary: Summary) -> blocks.DataTable:
    known = {(row.stream, row.estimator, row.how): row.relative for row in summary.streams}
    names = list(dict.fromkeys(row.stream for row in summary.streams))
    columns = [column for column in charts.COLUMNS if (names[0], *column) in known]
    return blocks.DataTable(
        "Named streams: error relative to the best Exponential",
        [*blocks.texts("stream"), *blocks.numbers(*map(", ".join, columns), digits=3)],
        [(name, *(known[name, *column] for column in columns)) for name in names],
        "On bursty, one policy stays in rich states and then in poor ones for a long time: no estimator that sees only rewards and "
        "durations can tell this from a change.",
    )


def _named(summary: Summary) -> blocks.DataTable:
    rows = {(row.world, row.agent): row.share for row in summary.named if row.how == TUNED}
    agents = {row.agent: row.name for row in summary.named}
    worlds = list(dict.fromkeys(row.world for row in summary.named))
    return blocks.DataTable(
        "Named worlds: share of the frozen optimum, tuned",
        [*blocks.texts("world"), *blocks.numbers(*agents.values(), digits=3)],
        [(world.replace("_", " "), *(rows.get((world, agent)) for agent in agents)) for world in worlds],
        "Empty: not run there.",
    )


def _trend(summary: Summary) -> blocks.DataTable:
    shares = ("trend", "best shape", "mean", "last tenth", "exponential")
    return blocks.DataTable(
        f"Histories that name the right action at step {HORIZON:,}",
        [
            *blocks.texts("B"),
            blocks.Column("v", digits=2),
            *blocks.texts("right"),
            *blocks.numbers(*shares, digits=0, unit="%"),
        ],
        [
            (
                row.world,
                row.log_scale,
                "B" if row.right_is_b else "A",
                *(row.by_trend, row.by_best, row.by_average, row.by_recent, row.exponential),
            )
            for row in summary.foretold
        ],
        "By the trend, by its best shape alone, by the mean of the past, and by the mean of its last tenth. Exponential: B's "
        "rewards are taken to grow so.",
    )


def _facts(folder: Path, summary: Summary) -> blocks.Facts:
    size = summary.size
    return blocks.Facts(
        "Settings",
        [
            ("random streams", f"{size.streams:,} of {size.steps:,} steps"),
            ("random worlds", f"{size.worlds:,} and their mirrors, until a time of {size.time:,.0f}"),
            ("seeds", f"{size.seeds}, and 3 others for tuning"),
            ("data", "none: streams and worlds are made from seeds"),
            *blocks.made_by(summary.version, folder, summary.seconds),
        ],
    )


# --- The study ---------------------------------------------------------------------------


def num_steps(size: Size) -> int:
    """Return the largest number of steps that the whole study takes."""
    return tracking.num_steps(size) + sum(sweep.num_steps for sweep in plan.sweeps(size).values())


def drift(
    out: Path,
    size: Size = Size(),  # noqa: B008 - it cannot be changed
    jobs: int | None = None,
    progress: Advance = no_progress,
    formats: Sequence[str] = FORMATS,
) -> Summary:
    """Run the study of change into a folder; return its summary."""

    def tabulate(swept: dict[str, pl.DataFrame], pool: Executor) -> tables.Tables:
        streams = tracking.measure(out / "streams", size, pool, progress)
        return tables.tabulate(size, swept, streams, family.foretold(size, pool))

    return tables.STUDY.run(
        out,
        plan.sweeps(size),
        tabulate=tabulate,
        sheets=charts.sheets,
        summarise=lambda found, seconds: with_words(tables.summarised(found, size, num_steps(size), seconds)),
        section=section,
        jobs=jobs,
        progress=progress,
        formats=formats,
    )
