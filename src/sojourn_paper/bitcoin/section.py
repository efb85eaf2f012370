"""Presentation of the market study: its findings, verdicts on the paper's statements, and the section of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import polars as pl
from scipy.special import stdtr

from sojourn.data.child import read_table
from sojourn.data.files import write_whole
from sojourn.data.hints import check_kind
from sojourn.report import blocks, terminal
from sojourn.report.charts import Sheet
from sojourn.report.figures import FORMATS
from sojourn.report.words import sentences, setting, several
from sojourn.runs.progress import Advance, no_progress
from sojourn.runs.results import CURVES, RESULTS
from sojourn.runs.spec import Sweep
from sojourn.worlds.market.bars import describe
from sojourn_paper.bitcoin import charts, tables
from sojourn_paper.bitcoin.durations import largest_rate
from sojourn_paper.bitcoin.plan import CONTROL, EXPLORATION, LEVEL, OPPONENTS, PAPER, RULES, STEP_SIZE, Source
from sojourn_paper.bitcoin.tables import (
    Data,
    Numbers,
    Summary,
    Tables,
    Verdict,
    Verdicts,
    late_share,
)
from sojourn_paper.study import Statement


def headlines(summary: Summary) -> list[str]:
    """Return the terminal output: the data, and how often Harmonic R-Learning wins."""
    data = summary["data"]
    what = (
        f"data: {data['name']}, {data['rows']:,} bars, {data['segments']} segments, seeds: {summary['seeds']}"
    )
    return terminal.lines([blocks.Prose(what), _verdicts(summary)])


def in_one_sentence(summary: Summary) -> str:
    """Say how often Harmonic wins with scaled durations, and in how many cells it does so clearly."""
    found = summary["verdict"]["scaled"]
    shares = [f"{found[name]['mean']:.0%} of the segments against {OPPONENTS[name]}" for name in PAPER]
    verdicts = [summary["verdict"][rule][name] for rule in RULES for name in PAPER]
    cells, wins = sum(one["cells"] for one in verdicts), sum(one["certain_wins"] for one in verdicts)
    return (
        f"With scaled durations, Harmonic R-Learning wins {' and '.join(shares)}; of all {cells} cells, "
        f"random durations included, it wins {wins} by more than chance would explain."
    )


def with_words(numbers: Numbers, tables: Tables, source: Source) -> Summary:
    """Return the summary: the numbers, a verdict on each of the paper's statements, and the findings."""
    return {
        **numbers,
        "statements": _judged(numbers["verdict"]),
        "findings": [
            *_compared(numbers["verdict"]),
            *_why(tables, source),
            _certain(tables, numbers["seeds"]),
            *([] if numbers["earned"] else ["No bar of these segments moves, so there was nothing to earn."]),
            *(
                f"Noted in the file: {noted['what']}: {noted['count']:,}, first {noted['first']}; {noted['remedy']}."
                for noted in describe(source.bars())["findings"]
            ),
        ],
    }


def _judged(verdicts: Verdicts) -> list[Statement]:
    """Return a verdict on each of the paper's statements."""
    against = {name: f"Against {OPPONENTS[name]}" for name in PAPER}
    random, scaled = ({name: verdicts[rule][name] for name in against} for rule in ("random", "scaled"))
    told = {
        "Random durations: Harmonic has no advantage": f"{_no_advantage(random)} {_told(random, against)}",
        "Scaled durations: Harmonic clearly wins in most cases": f"{_clear_win(scaled)} {_told(scaled, against)}",
    }
    return [{"statement": statement, "verdict": verdict} for statement, verdict in told.items()]


def _compared(verdicts: Verdicts) -> list[str]:
    """Say how Harmonic compares with the control, and how to read the number of cells."""
    control = {rule: verdicts[rule][CONTROL] for rule in RULES}
    names = {rule: f"{rule.capitalize()} durations" for rule in RULES}
    return [
        f"**Against the control**, which takes the rate to be 0 and so ignores time altogether. {_told(control, names)} "
        "If Harmonic beats SMART but not this control, the reason is not that it knows the rate better.",
        "The cells of a table share their segments and most of their noise, so the number of cells that agree "
        "says less than it seems to.",
    ]


def _no_advantage(verdicts: Mapping[str, Verdict]) -> str:
    cells, wins, _ = _counts(verdicts)
    if not _decidable(verdicts):
        return _undecided(verdicts)
    if wins == 0:
        return f"This data does not contradict it: Harmonic is clearly ahead in none of {cells} cells."
    share = "holds with exceptions" if 4 * wins <= cells else "does not hold"
    return f"This {share} on this data: Harmonic is clearly ahead in {wins} of {cells} cells."


def _clear_win(verdicts: Mapping[str, Verdict]) -> str:
    cells, wins, ahead = _counts(verdicts)
    counts = f"of {cells} cells it is ahead in {ahead}, and clearly so (sign test, corrected) in {wins}."
    if 2 * wins > cells:
        return f"This holds on this data: {counts}"
    if not _decidable(verdicts):
        return f"{_undecided(verdicts)} For what it is worth, {counts}"
    if 2 * ahead > cells and wins:
        return f"This holds in part on this data: {counts}"
    if 2 * ahead > cells:
        return f"This is not supported by this data: {counts}"
    return f"This does not hold on this data: {counts}"


def _counts(verdicts: Mapping[str, Verdict]) -> tuple[int, int, int]:
    """Return the number of cells, those in which Harmonic is clearly ahead, and those in which it is ahead at all."""
    cells, wins, ahead = zip(
        *((one["cells"], one["certain_wins"], one["ahead"]) for one in verdicts.values()), strict=True
    )
    return sum(cells), sum(wins), sum(ahead)


def _decidable(verdicts: Mapping[str, Verdict]) -> bool:
    return all(one["decidable"] for one in verdicts.values())


def _undecided(verdicts: Mapping[str, Verdict]) -> str:
    number = next(iter(verdicts.values()))["segments"]
    return f"Segments run: {number}, which are too few to decide: even winning all of them would not be certain enough."


def _told(verdicts: Mapping[str, Verdict], names: dict[str, str]) -> str:
    return " ".join(
        f"{names[key]}: mean win ratio {one['mean']:.2f}, clear wins in {one['certain_wins']} and clear losses in "
        f"{one['certain_losses']} of {one['cells']} cells, smallest corrected p {one['smallest_p']:.2g}"
        + (f", ties {one['ties']}." if one["ties"] else ".")
        for key, one in verdicts.items()
    )


def _certain(tables: Tables, seeds: int) -> str:
    """Say how many differences are statistically significant."""
    pairs = tables.differences.filter(pl.col("error").is_not_null())
    if pairs.is_empty():
        return "Only one seed was run, so nothing here says what another would give."
    certain = pairs.filter(pl.col("difference").abs() > 2.0 * pl.col("error")).height / pairs.height
    return (
        f"Of all {pairs.height:,} differences between Harmonic and another agent on one segment, {certain:.0%} are "
        f"larger than two standard errors over {seeds} seeds; by chance, about {chance(seeds):.0%} would be if the "
        "agents did not differ."
    )


def chance(seeds: int) -> float:
    """Return the probability that a mean over `seeds` seeds is more than two standard errors off.

    >>> round(chance(30), 3)
    0.055
    """
    return 2.0 * float(stdtr(seeds - 1, -2.0))


def _why(tables: Tables, source: Source) -> list[str]:
    """Say what the rate could have influenced."""
    medians = tables.segments.select(pl.col("duration_std", "q01", "q50", "q99").median())
    spread, q01, q50, q99 = medians.row(0)
    narrow = q99 - q01 < 0.25 * (45.0 - 5.0)
    return [
        "Transitions do not depend on the action here: the market decides the next state, whatever the agent does. "
        "So the better action is the one with the larger r - ρτ in the current step.",
        "With *random* durations τ is the same for both actions, and so is ρτ: no rate, right or wrong, changes "
        "which of them is better. "
        + (_SAME if source.by_magnitude else _PROPORTIONAL.format(largest_rate())),
        (
            "Besides, scaled durations hardly differ: scaling by the extremes leaves most of them in a narrow band. "
            if narrow
            else "Scaled durations differ widely on this data. "
        )
        + f"In the median over segments their standard deviation is {spread:.2g} s around {q50:.0f} s, and 98 % of "
        f"them lie between {q01:.1f} and {q99:.1f} s (figure 4, scaled durations).",
        "So knowing the rate better cannot give a better policy here. What the rate does change is the way there: it is "
        "subtracted from the value of the action that was taken. If it is too low, the value of that action keeps "
        "rising above that of the other, which is hardly tried any more, since exploration falls below 0.001 after "
        "5,300 steps. If it is too high, that value falls until the other action is taken instead. "
        + _late(late_share(tables.curves)),
    ]


def _late(share: float) -> str:
    return (
        f"Such differences last: in the median, {share:.0%} of Harmonic's final lead or lag arose after the first "
        "tenth of the segment."
        if share > 0.0
        else "On this data no agent ended ahead of another."
    )


_SAME = "With durations scaled by magnitude the same is true: both actions take equally long."
_PROPORTIONAL = (
    "With *scaled* durations buying earns x (2 - 50/60) more than selling and takes 40 x/X seconds longer, where x is "
    "the move and X is the largest move of the segment; both are proportional to x. So for every rate below "
    "X (2 - 50/60)/40, the better action is the one that follows the sign of the expected move; and no r/τ, and so no "
    "mean of them, ever exceeds {:.1%} of that."
)


# --- The section -------------------------------------------------------------------------


def section(folder: Path, given: Any, budget: blocks.Budget) -> blocks.Section:
    """Return the section on the market study, given its summary as it is in the file."""
    check_kind(Summary, given, "the summary")
    summary: Summary = given
    found = tables.STUDY.read(folder)
    data = summary["data"]
    called = "synthetic data" if data["synthetic"] else str(data["name"])
    statements = [(one["statement"], one["verdict"], "") for one in summary["statements"]]
    parts: list[blocks.Block] = [
        *([_SYNTHETIC] if data["synthetic"] else []),
        blocks.Prose(
            "At every minute an agent buys or sells; the action takes 5 to 45 seconds and earns what is left of the minute's "
            f"move. Durations are *random* (uniform), or *scaled* between 5 and 45 seconds by {_SCALED.get(summary['scaled_by'], 'the move')}. The state "
            f"is the directions of the last k minutes. The step size of Q is {STEP_SIZE}; exploration is "
            f"{EXPLORATION['start']}, times {EXPLORATION['factor']} after every step. Each agent runs through each segment "
            "once with each seed; its *final value* is the reward of its greedy steps, averaged over seeds."
        ),
        blocks.Prose(
            "Harmonic wins a segment if its final value is the larger one; below each share is Wilson's 95 % interval "
            "over segments. A tie is not a win. A star marks a sign test below 0.05 after Holm's correction."
        ),
        blocks.Heading("The paper's statements"),
        blocks.Verdicts(statements),
        blocks.Heading("What was found"),
        blocks.Points(sentences(summary["findings"])),
        blocks.Heading("Win ratios"),
        _verdicts(summary),
        _win_ratios(found),
        blocks.Heading("Segment by segment"),
        charts.advantages(found, called),
        charts.curves(found, called, budget.points),
        *_earned(summary, called),
        blocks.Heading("The segments"),
        charts.durations(found, called),
        _segments(found, called, budget.rows),
        _data(data),
        _facts(folder, summary),
        blocks.Heading("Files"),
        blocks.Prose(_FILES),
    ]
    return blocks.Section(
        "study of the paper",
        "Bitcoin: the market study of Harmonic R-Learning"
        + (" (synthetic data)" if data["synthetic"] else ""),
        in_one_sentence(summary),
        blocks.Charts(
            [
                charts.win_map(found.win_ratios, rule, opponent, called)
                for opponent in OPPONENTS
                for rule in RULES
            ]
        ),
        parts,
        synthetic=bool(data["synthetic"]),
    )


_SYNTHETIC = blocks.Note(
    "**The data is synthetic**: a seeded market of minute bars, made by Sojourn to resemble Bitcoin's. "
    "Nothing here says anything about real Bitcoin; with `--data FILE` the study runs on real minute bars."
)
_SCALED = {
    "magnitude": "the magnitude of the minute's move",
    "value": "the minute's move in the action's favour, sign included",
}
_FILES = (
    "`results.parquet` has a row for each run. `curves.parquet` has the accumulated reward of greedy steps along each segment (mean "
    "and standard deviation over seeds), `differences.parquet` has Harmonic's final value minus another agent's on each segment, "
    "and `segments.parquet` has each segment in numbers. `tables/` has the other data of the figures, and `summary.json` has the "
    "win ratios and verdicts. `sweep/` holds the sweep, which can be resumed from there. `figures/`: 1 win ratios, as in the "
    "paper; 2 the same against the control; 3 differences on every segment, except those without any movement; 4 the spread of "
    "scaled durations; 5 the accumulated reward along every segment, for each rule of durations and each number of directions."
)


def _data(data: Data) -> blocks.Facts:
    name = f"{data['name']} (made by Sojourn, not a real market)" if data["synthetic"] else str(data["name"])
    return blocks.Facts(
        "Data",
        [
            ("name", name),
            ("sha256", str(data["sha256"])),
            ("bars", f"{data['rows']:,}"),
            ("segments run", str(data["segments"])),
        ],
    )


def _verdicts(summary: Summary) -> blocks.DataTable:
    columns = [
        *blocks.texts("durations", "against"),
        blocks.Column("mean win ratio", digits=3),
        *blocks.numbers("cells", "ahead in", "clear wins", "clear losses", "ties"),
        blocks.Column("smallest corrected p", digits=2),
    ]
    rows = []
    for rule in RULES:
        for opponent, name in OPPONENTS.items():
            one = summary["verdict"][rule][opponent]
            counts = (one["cells"], one["ahead"], one["certain_wins"], one["certain_losses"], one["ties"])
            rows.append((rule, name, one["mean"], *counts, one["smallest_p"]))
    return blocks.DataTable("How Harmonic R-Learning did over all cells", columns, rows)


def _win_ratios(found: tables.Tables) -> blocks.DataTable:
    """Return each win ratio with its interval, and a star if its sign test is significant."""
    steps = sorted(found.win_ratios["rate_step_size"].unique().to_list())
    rows = []
    groups = found.win_ratios.group_by("duration_rule", "opponent", "state_size", maintain_order=True)
    for (rule, opponent, size), cells in groups:
        entries = [
            f"{row['ratio']:.2f}{'*' if row['p_corrected'] < LEVEL else ''} [{row['low']:.2f}, {row['high']:.2f}]"
            for row in cells.sort("rate_step_size").iter_rows(named=True)
        ]
        rows.append((rule, OPPONENTS[opponent], size, *entries))
    columns = [*blocks.texts("durations", "against"), blocks.Column("k")]
    columns += blocks.texts(*(f"β = {step:g}" for step in steps))
    note = (
        "For each rule of durations, the cells against the paper's two agents are corrected together, and those against the "
        "control by themselves."
    )
    return blocks.DataTable(
        "Share of segments that Harmonic R-Learning wins, with Wilson's interval", columns, rows, note
    )


def _earned(summary: Summary, called: str) -> list[blocks.Block]:
    if not summary["earned"]:
        return []
    columns = [*blocks.texts("durations", "agent"), *blocks.numbers("mean", "lowest", "highest", digits=3)]
    rows = [
        (
            row["duration_rule"],
            summary["names"][str(row["agent"])],
            row["mean"],
            row["lowest"],
            row["highest"],
        )
        for row in summary["earned"]
    ]
    note = (
        "In thousandths of all movement (the sum of |close - open| over the segment), over segments and cells. With durations "
        "scaled by the move itself, a gain takes longer than a loss of the same size and so keeps less of its move: this alone "
        "is a cost to an agent that cannot predict the moves."
    )
    return [
        blocks.Heading("What the agents earned"),
        blocks.DataTable(f"Final values ({called})", columns, rows, note),
    ]


def _segments(found: tables.Tables, called: str, most: int) -> blocks.DataTable:
    columns = [
        *blocks.numbers("segment", "bars", "all movement", "largest move"),
        blocks.Column("bars that do not move", digits=1, unit="%"),
        *blocks.numbers("median duration, s", "its standard deviation, s"),
    ]
    names = ("segment", "bars", "total_movement", "largest_move", "without_move", "q50", "duration_std")
    rows = found.segments.sort("segment").select(*names).rows()
    left = len(rows) - most
    note = f"{left:,} further segments are left out; `segments.parquet` has them all." if left > 0 else ""
    return blocks.DataTable(f"Each segment in numbers ({called})", columns, rows[:most], note)


def _facts(folder: Path, summary: Summary) -> blocks.Facts:
    settings = summary["settings"]
    diverged = {name: count for name, count in summary["diverged"].items() if count}
    return blocks.Facts(
        "Settings",
        [
            ("bars in a segment", f"{settings['segment_length']:,}"),
            ("segments", several(settings["segments"])),
            ("shortest segment", f"{settings['shortest_segment']:,}"),
            ("directions remembered", several(settings["state_sizes"])),
            ("durations scaled by", str(summary["scaled_by"])),
            ("gaps filled up to", f"{settings['fill']} bars"),
            ("damaged rows repaired", setting(settings["repair"])),
            ("seeds", str(summary["seeds"])),
            ("steps", f"{summary['steps']:,}"),
            ("runs that diverged", setting(diverged) if diverged else "none"),
            *blocks.made_by(summary["version"], folder, summary["seconds"]),
        ],
    )


# --- The study ---------------------------------------------------------------------------


def bitcoin(
    out: Path,
    source: Source,
    sweep: Sweep,
    jobs: int | None = None,
    progress: Advance = no_progress,
    formats: Sequence[str] = FORMATS,
) -> Summary:
    """Run the paper's Bitcoin study into a folder; return its summary."""

    def tabulate(swept: dict[str, pl.DataFrame], pool: Executor) -> Tables:
        runs = tables.tidy(swept["sweep"])
        failed = runs.filter(pl.col("error").is_not_null())
        if failed.height:
            raise ValueError(f"{failed.height} runs failed, the first because {failed['error'][0]}")
        write_whole(out / RESULTS, runs.drop("cell", "error").write_parquet)
        return tables.tabulate(runs, read_table(out / "sweep" / CURVES), source)

    def sheets(found: Tables) -> dict[str, Sheet]:
        bars = source.bars()
        return charts.sheets(found, "synthetic data" if bars.synthetic else bars.name)

    return tables.STUDY.run(
        out,
        {"sweep": sweep},
        tabulate=tabulate,
        sheets=sheets,
        summarise=lambda found, seconds: with_words(
            tables.numbers(found, source, sweep, seconds), found, source
        ),
        section=section,
        jobs=jobs,
        progress=progress,
        formats=formats,
    )
