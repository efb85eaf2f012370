"""The study in words: what was found, verdicts on the paper's statements, the README, lines for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

import polars as pl
from scipy.special import stdtr

from sojourn.studies.bitcoin.durations import largest_rate
from sojourn.studies.bitcoin.plan import (
    CONTROL,
    EXPLORATION,
    LEVEL,
    NAMES,
    OPPONENTS,
    PAPER,
    RULES,
    STEP_SIZE,
    Source,
)
from sojourn.studies.bitcoin.summary import Earned, Numbers, Statement, Summary, Verdict, Verdicts
from sojourn.studies.bitcoin.tables import Tables, late_share
from sojourn.worlds.market.bars import describe


def headlines(summary: Summary) -> list[str]:
    """Return the study in a few lines, for a terminal."""
    data = summary["data"]
    lines = [
        f"data: {data['name']}, {data['rows']:,} bars, {data['segments']} segments, seeds: {summary['seeds']}"
    ]
    lines.append(f"{'segments that Harmonic R-Learning wins, mean over cells':58}{'random':>8}{'scaled':>8}")
    for opponent, name in OPPONENTS.items():
        means = [summary["verdict"][rule][opponent]["mean"] for rule in RULES]
        lines.append(f"  against {name:48}" + "".join(f"{mean:>8.2f}" for mean in means))
    return lines


def in_one_sentence(summary: Summary) -> str:
    """Return in one sentence how often Harmonic wins with scaled durations, and in how many cells it does so clearly."""
    found = summary["verdict"]["scaled"]
    shares = [f"{found[name]['mean']:.0%} of the segments against {OPPONENTS[name]}" for name in PAPER]
    verdicts = [summary["verdict"][rule][name] for rule in RULES for name in PAPER]
    cells, wins = sum(one["cells"] for one in verdicts), sum(one["certain_wins"] for one in verdicts)
    return (
        f"With scaled durations, Harmonic R-Learning wins {' and '.join(shares)}; of all {cells} cells, "
        f"random durations included, it wins {wins} by more than chance would explain."
    )


def with_words(numbers: Numbers, tables: Tables, source: Source) -> Summary:
    """Return the summary: the numbers, a verdict on each of the paper's statements, and what was found."""
    return {
        **numbers,
        "statements": _judged(numbers["verdict"]),
        "findings": [
            *_compared(numbers["verdict"]),
            *_why(tables, source),
            _certain(tables, numbers["seeds"]),
        ],
    }


def readme(summary: Summary, tables: Tables, source: Source) -> str:
    """Return the study as a README."""
    parts = [
        _heading(summary, source),
        _win_tables(tables.win_ratios),
        "## The paper's statements\n\n" + _statements(summary["verdict"]),
        "## What the agents earned\n\n"
        + _earnings(summary["earned"], source)
        + "\n"
        + _filled(_certain(tables, summary["seeds"])),
        "## What the rate can and cannot change here\n\n" + "\n".join(map(_filled, _why(tables, source))),
        _FILES,
    ]
    return "\n".join(parts)


def _filled(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), 98) + "\n"


def _heading(summary: Summary, source: Source) -> str:
    data, settings = summary["data"], summary["settings"]
    origin = (
        "**The data is synthetic**: a seeded market of minute bars, made by Sojourn to resemble Bitcoin's. "
        "Nothing here says anything about real Bitcoin; with `--data FILE` the study runs on real minute bars."
        if data["synthetic"]
        else f"Minute bars from the file `{data['name']}`."
    )
    findings = "".join(
        f"- {finding['what']}: {finding['count']:,}, first {finding['first']}; {finding['remedy']}\n"
        for finding in describe(source.bars())["findings"]
    )
    noted = f"\nNoted in the file:\n\n{findings}" if findings else ""
    short = settings["shortest_segment"]
    shorter = f" (the shortest has {short:,})" if short < settings["segment_length"] else ""
    runs = ", ".join(f"{NAMES[name]} {count:,}" for name, count in summary["diverged"].items() if count)
    diverged = f" Runs that diverged, which are counted as they are: {runs}." if runs else ""
    return f"""# Bitcoin: the market study of Harmonic R-Learning{" (synthetic data)" if data["synthetic"] else ""}

Made by Sojourn {summary["version"]}: {summary["steps"]:,} steps, {summary["seconds"]:.0f} s.

{_filled(origin)}
{data["rows"]:,} bars in all, sha256 `{data["sha256"]}`.
Segments run: {data["segments"]} of {settings["segment_length"]:,} bars{shorter}, seeds: {summary["seeds"]}.{diverged}
{noted}
## What was run

At every minute an agent buys or sells; the action takes 5 to 45 seconds and earns what is left of
the minute's move. Durations are *random* (uniform), or *scaled* between 5 and 45 seconds by the
{"magnitude of the minute's move" if source.by_magnitude else "minute's move in the action's favour, sign included"}. The state is the directions of the last k minutes.
The step size of Q is {STEP_SIZE}; exploration is {EXPLORATION["start"]}, times {EXPLORATION["factor"]} after every step. Each agent runs through each
segment once with each seed; its *final value* is the reward of its greedy steps, averaged over seeds.
"""


def _win_tables(ratios: pl.DataFrame) -> str:
    """Return the win ratios as tables, and how to read them."""
    text = """## Win ratios

The share of segments in which Harmonic's final value is the larger one; in brackets is Wilson's 95 %
interval over segments. A tie is not a win. A star marks a sign test that stays below 0.05 after Holm's
correction. For each rule of durations, the cells against the paper's two agents are corrected together,
and those against the control by themselves.
"""
    for rule in RULES:
        for opponent, name in OPPONENTS.items():
            rows = ratios.filter((pl.col("duration_rule") == rule) & (pl.col("opponent") == opponent))
            steps = sorted(rows["rate_step_size"].unique().to_list())
            text += f"\n**{rule}, against {name}**\n\n| k | "
            text += " | ".join(f"β = {step:g}" for step in steps) + " |\n|---:|" + "---:|" * len(steps) + "\n"
            for (size,), cells in rows.group_by("state_size", maintain_order=True):
                entries = [
                    f"{row['ratio']:.2f}{'*' if row['p_corrected'] < LEVEL else ''} [{row['low']:.2f}, {row['high']:.2f}]"
                    for row in cells.sort("rate_step_size").iter_rows(named=True)
                ]
                text += f"| {size} | " + " | ".join(entries) + " |\n"
    return text


def _statements(verdicts: Verdicts) -> str:
    """Return the verdicts as paragraphs."""
    lines = [f"**{one['statement']}.** {one['verdict']}" for one in _judged(verdicts)]
    return "\n".join(map(_filled, [*lines, *_compared(verdicts)]))


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
    cells = sum(one["cells"] for one in verdicts.values())
    wins = sum(one["certain_wins"] for one in verdicts.values())
    if not _decidable(verdicts):
        return _undecided(verdicts)
    if wins == 0:
        return f"This data does not contradict it: Harmonic is clearly ahead in none of {cells} cells."
    share = "holds with exceptions" if 4 * wins <= cells else "does not hold"
    return f"This {share} on this data: Harmonic is clearly ahead in {wins} of {cells} cells."


def _clear_win(verdicts: Mapping[str, Verdict]) -> str:
    cells = sum(one["cells"] for one in verdicts.values())
    wins = sum(one["certain_wins"] for one in verdicts.values())
    ahead = sum(one["ahead"] for one in verdicts.values())
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


def _earnings(earned: list[Earned], source: Source) -> str:
    if not earned:
        return "No bar of these segments moves, so there was nothing to earn.\n"
    rows = "".join(
        f"| {row['duration_rule']} | {NAMES[row['agent']]} | "
        f"{row['mean']:+.2f} | {row['lowest']:+.2f} | {row['highest']:+.2f} |\n"
        for row in earned
    )
    return f"""Final value in thousandths of all movement (the sum of |close - open| over the segment), mean over
segments and cells, and the range.{"" if source.by_magnitude else _GAINS_TAKE_LONGER}

| durations | agent | mean | lowest | highest |
|---|---|---:|---:|---:|
{rows}"""


def _certain(tables: Tables, seeds: int) -> str:
    """Say how many differences are larger than chance would explain."""
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
    """Return how often a mean over `seeds` seeds is more than two of its standard errors from the true one.

    >>> round(chance(30), 3)
    0.055
    """
    return 2.0 * float(stdtr(seeds - 1, -2.0))


def _why(tables: Tables, source: Source) -> list[str]:
    """Say what the rate could have changed."""
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


_GAINS_TAKE_LONGER = """ With scaled durations a gain takes longer than a loss of the same
size and so keeps less of its move: this alone is a cost to an agent that cannot predict the moves."""
_SAME = "With durations scaled by magnitude the same is true: both actions take equally long."
_PROPORTIONAL = (
    "With *scaled* durations buying earns x (2 - 50/60) more than selling and takes 40 x/X seconds longer, where x is "
    "the move and X is the largest move of the segment; both are proportional to x. So for every rate below "
    "X (2 - 50/60)/40, the better action is the one that follows the sign of the expected move; and no r/τ, and so no "
    "mean of them, ever exceeds {:.1%} of that."
)

_FILES = """## Files

`results.parquet` has a row for each run. `curves.parquet` has the accumulated reward of greedy steps along
each segment (mean and standard deviation over seeds), `differences.parquet` has Harmonic's final value minus
another agent's on each segment, and `segments.parquet` has each segment in numbers. `tables/` has the other
data of the figures, and `summary.json` has the win ratios and verdicts. `sweep/` holds the sweep, which can
be resumed from there. `figures/`: 1 win ratios, as in the paper; 2 the same against the
control; 3 differences on every segment, except those without any movement; 4 the spread of scaled
durations; 5 the accumulated reward along every segment, for each rule of durations and each number of
directions.
"""
