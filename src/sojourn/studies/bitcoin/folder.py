"""The Bitcoin study, from its sweep to its folder."""

from __future__ import annotations

import json
import textwrap
import time
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from scipy.special import stdtr

from sojourn import __version__
from sojourn.report import figures
from sojourn.rules.files import write_text, write_whole
from sojourn.runs.folder import executor, run_sweep
from sojourn.runs.progress import Advance, no_progress
from sojourn.runs.results import CURVES, RESULTS, TIMINGS, claim_folder, load_results
from sojourn.runs.spec import Sweep
from sojourn.studies.bitcoin import study
from sojourn.worlds.market.bars import Bars, describe

SHOWN_STEP_SIZE = 0.05  # of the rate, in curves and differences


class Found(NamedTuple):
    """The tables that figures and words are made of."""

    runs: pl.DataFrame
    curves: pl.DataFrame
    finals: pl.DataFrame
    pairs: pl.DataFrame
    ratios: pl.DataFrame
    movement: pl.DataFrame


def bitcoin(
    out: Path,
    source: study.Source,
    sweep: Sweep,
    jobs: int | None = None,
    progress: Advance = no_progress,
) -> dict[str, Any]:
    """Run the paper's Bitcoin study into a folder; return its summary."""
    claim_folder(out)
    with executor(jobs) as (pool, width):
        outcome = run_sweep(sweep, out / "sweep", pool, width, progress)
    if outcome.lost:
        raise ValueError(
            f"{outcome.lost:,} runs were lost ({outcome.reason}); the same command runs them again"
        )
    # The sweep may have been run in several goes; its seconds are those of its tasks.
    seconds = float(pl.read_parquet(out / "sweep" / TIMINGS)["seconds"].sum()) / width
    begin = time.perf_counter()
    found = _tabulate(out, source)
    bars = source.bars()
    _draw(out / "figures", found, _named(bars))
    summary = _summary(found, source, sweep, seconds + time.perf_counter() - begin)
    summary["earned"] = _earned(found)
    summary["statements"] = _judged(summary["verdict"])
    summary["findings"] = [*_compared(summary["verdict"]), *_why(found, source), _certain(found)]
    write_text(out / "summary.json", json.dumps(summary, indent=1) + "\n")
    write_text(out / "README.md", _readme(summary, found, bars, source))
    return summary


def headlines(summary: dict[str, Any]) -> list[str]:
    """Return the study in a few lines, for a terminal."""
    data = summary["data"]
    lines = [
        f"data: {data['name']}, {data['rows']:,} bars, {data['segments']} segments, seeds: {summary['seeds']}"
    ]
    lines.append(f"{'segments that Harmonic R-Learning wins, mean over cells':58}{'random':>8}{'scaled':>8}")
    for opponent, name in study.OPPONENTS.items():
        means = [summary["verdict"][rule][opponent]["mean"] for rule in study.RULES]
        lines.append(f"  against {name:48}" + "".join(f"{mean:>8.2f}" for mean in means))
    return lines


def _named(bars: Bars) -> str:
    return "synthetic data" if bars.synthetic else bars.name


def _tabulate(out: Path, source: study.Source) -> Found:
    """Make the tables from the sweep's, and write those that users read."""
    runs = study.tidy(load_results(out / "sweep"))
    failed = runs.filter(pl.col("error").is_not_null())
    if failed.height:
        raise ValueError(f"{failed.height} runs failed, the first because {failed['error'][0]}")
    curves = study.tidy_curves(pl.read_parquet(out / "sweep" / CURVES), runs)
    write_whole(out / RESULTS, runs.drop("cell", "error").write_parquet)
    write_whole(out / CURVES, curves.write_parquet)
    finals = study.final_values(runs)
    pairs = study.paired(runs)
    movement = study.movement(source, runs["segment"].unique().sort().to_list())
    write_whole(out / "differences.parquet", pairs.write_parquet)
    write_whole(out / "segments.parquet", movement.write_parquet)
    return Found(runs, curves, finals, pairs, study.win_ratios(pairs), movement)


def _summary(found: Found, source: study.Source, sweep: Sweep, seconds: float) -> dict[str, Any]:
    bars = source.bars()
    rows = found.ratios.with_columns(interval=pl.concat_list("low", "high"))
    return {
        "study": "bitcoin",
        "version": __version__,
        "data": {
            "name": bars.name,
            "sha256": bars.sha256,
            "rows": len(bars),
            "synthetic": bars.synthetic,
            "segments": found.movement.height,
        },
        "steps": sweep.num_steps,
        "seconds": seconds,
        "seeds": len(sweep.seeds),
        "settings": {
            "segment_length": source.segment_length,
            "segments": found.movement["segment"].to_list(),
            "shortest_segment": int(found.movement["bars"].min()),  # type: ignore[arg-type]
            "state_sizes": found.runs["state_size"].unique().sort().to_list(),
            "fill": source.fill,
            "repair": source.repair,
        },
        "names": study.NAMES,
        "diverged": {
            agent: int(found.runs.filter(pl.col("agent") == agent)["diverged"].sum()) for agent in study.NAMES
        },
        "scaled_by": "magnitude" if source.by_magnitude else "value",
        "win_ratio": study.nested(rows, "ratio"),
        "win_interval": study.nested(rows, "interval"),
        "sign_test": study.nested(rows, "p"),
        "sign_test_corrected": study.nested(rows, "p_corrected"),
        "verdict": {
            rule: {opponent: study.verdict(found.ratios, rule, opponent) for opponent in study.OPPONENTS}
            for rule in study.RULES
        },
    }


# --- Figures ------------------------------------------------------------------------


def _draw(folder: Path, found: Found, data: str) -> None:
    paper = ("smart", "relaxed_smart")
    with figures.figure(7.0, 5.6) as drawing:
        _draw_maps(drawing, found.ratios, paper)
        drawing.suptitle(f"Share of segments that Harmonic R-Learning wins ({data})", fontsize=10)
        figures.save(drawing, folder / "1-win-ratios")
    with figures.figure(7.0, 3.0) as drawing:
        _draw_maps(drawing, found.ratios, ("fixed_rate",))
        drawing.suptitle(f"Share of segments that Harmonic R-Learning wins ({data})", fontsize=10)
        figures.save(drawing, folder / "2-win-ratios-control")
    _draw_differences(folder, found, data)
    with figures.figure(6.5, 3.2) as drawing:
        ax = figures.duration_spread(found.movement, drawing.subplots())
        ax.set_title(f"How scaled durations spread ({data})")
        figures.save(drawing, folder / "4-durations")
    for rule in study.RULES:
        for size in sorted(found.curves["state_size"].unique()):
            _draw_curves(folder, found.curves, rule, size, data)


def _draw_maps(drawing: Any, ratios: pl.DataFrame, opponents: tuple[str, ...]) -> None:
    """Draw a heatmap for each rule of durations and opponent."""
    pairs = [(rule, opponent) for rule in study.RULES for opponent in opponents]
    axes = drawing.subplots(len(pairs) // 2, 2, squeeze=False)
    for ax, (rule, opponent) in zip(axes.ravel(), pairs, strict=True):
        rows = ratios.filter((pl.col("duration_rule") == rule) & (pl.col("opponent") == opponent))
        image = figures.win_map(rows, ax)
        ax.set_title(f"{rule} durations, against {study.OPPONENTS[opponent]}", fontsize=9)
        ax.set(xlabel="step size of the rate", ylabel="directions remembered")
    drawing.colorbar(image, ax=axes, label="win ratio; below it, its 95 % interval", shrink=0.8)


def _draw_differences(folder: Path, found: Found, data: str) -> None:
    """Draw Harmonic's advantage on every segment, in thousandths of all the movement there was."""
    total = pl.col("total_movement") / 1000.0
    table = found.pairs.filter(pl.col("rate_step_size") == SHOWN_STEP_SIZE).join(found.movement, on="segment")
    table = table.with_columns(
        share=(pl.col("difference") / total).fill_nan(0.0),
        share_error=(pl.col("error") / total).fill_nan(0.0),
    )
    with figures.figure(8.5, 4.8) as drawing:
        axes = drawing.subplots(len(study.RULES), len(study.OPPONENTS), sharex=True, sharey="row")
        for row, rule in zip(axes, study.RULES, strict=True):
            for ax, (opponent, name) in zip(row, study.OPPONENTS.items(), strict=True):
                cells = (pl.col("duration_rule") == rule) & (pl.col("opponent") == opponent)
                figures.differences(table.filter(cells), ax)
                ax.set_title(f"{rule}, against {name}", fontsize=9)
            row[0].set_ylabel("Harmonic's advantage,\n‰ of all movement")
        for ax in axes[-1]:
            ax.set_xlabel("segment")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        drawing.legend(handles, labels, loc="outside lower center", ncols=len(labels))
        drawing.suptitle(
            f"Harmonic's final value less the other's, ± 2 standard errors ({data}; step size of the rate {SHOWN_STEP_SIZE:g})",
            fontsize=10,
        )
        figures.save(drawing, folder / "3-differences")


def _draw_curves(folder: Path, curves: pl.DataFrame, rule: str, size: int, data: str) -> None:
    """Draw the accumulated reward along every segment, in small charts."""
    step_size = pl.col("rate_step_size")
    rows = curves.filter(
        (pl.col("duration_rule") == rule)
        & (pl.col("state_size") == size)
        & (step_size.is_null() | (step_size == SHOWN_STEP_SIZE))
    )
    numbers = rows["segment"].unique().sort().to_list()
    columns = min(5, len(numbers))
    lines = -(-len(numbers) // columns)
    with figures.figure(max(5.5, 1.75 * columns + 0.4), max(3.2, 1.25 * lines + 0.9)) as drawing:
        axes = drawing.subplots(lines, columns, squeeze=False).ravel()
        for ax, number in zip(axes, numbers, strict=False):
            figures.accumulated(rows.filter(pl.col("segment") == number), study.NAMES, ax)
            ax.set_title(f"segment {number}", fontsize=7, pad=2)
        for ax in axes[len(numbers) :]:
            ax.set_visible(False)
        for ax in axes[max(0, len(numbers) - columns) : len(numbers)]:  # the lowest of each column
            ax.set_xlabel("thousand minutes", fontsize=7)
        drawing.supylabel("reward of greedy steps, accumulated", fontsize=8)
        handles, labels = axes[0].get_legend_handles_labels()
        drawing.legend(
            handles, labels, loc="outside lower center", ncols=min(len(labels), max(2, columns - 1))
        )
        drawing.suptitle(
            f"{rule} durations, last {size} directions, step size of the rate {SHOWN_STEP_SIZE:g} ({data})",
            fontsize=9,
        )
        figures.save(drawing, folder / f"5-curves-{rule}-{size}")


# --- Words --------------------------------------------------------------------------


def _readme(summary: dict[str, Any], found: Found, bars: Bars, source: study.Source) -> str:
    data, verdicts = summary["data"], summary["verdict"]
    origin = (
        "**The data is synthetic**: a seeded market of minutes, made by Sojourn to resemble Bitcoin's. "
        "Nothing here says anything about real Bitcoin; with `--data FILE` the study runs on real minutes."
        if bars.synthetic
        else f"Minute bars from the file `{data['name']}`."
    )
    findings = "".join(
        f"- {finding['what']}: {finding['count']:,}, first {finding['first']}; {finding['remedy']}\n"
        for finding in describe(bars)["findings"]
    )
    parts = [
        _heading(summary, origin, findings, source),
        _win_tables(found.ratios),
        "## The paper's statements\n\n" + _statements(verdicts),
        "## What the agents earned\n\n"
        + _earnings(summary["earned"], source)
        + "\n"
        + _filled(_certain(found)),
        "## What the rate can and cannot change here\n\n" + "\n".join(map(_filled, _why(found, source))),
        _FILES,
    ]
    return "\n".join(parts)


def _filled(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), 98) + "\n"


def _heading(summary: dict[str, Any], origin: str, findings: str, source: study.Source) -> str:
    data = summary["data"]
    settings = summary["settings"]
    noted = f"\nNoted in the file:\n\n{findings}" if findings else ""
    short = settings["shortest_segment"]
    shorter = f" (the shortest has {short:,})" if short < settings["segment_length"] else ""
    runs = ", ".join(f"{study.NAMES[name]} {count:,}" for name, count in summary["diverged"].items() if count)
    diverged = f" Runs that diverged, and count as they are: {runs}." if runs else ""
    return f"""# Bitcoin: the market study of Harmonic R-Learning{" (synthetic data)" if data["synthetic"] else ""}

Made by Sojourn {summary["version"]}: {summary["steps"]:,} steps, {summary["seconds"]:.0f} s.

{_filled(origin)}
{data["rows"]:,} bars in all, sha256 `{data["sha256"]}`.
Segments run: {data["segments"]} of {settings["segment_length"]:,} bars{shorter}, seeds: {summary["seeds"]}.{diverged}
{noted}
## What was run

At every minute an agent buys or sells; the action takes 5 to 45 seconds, and earns what is left of
the minute's move. Durations are *random* (uniform), or *scaled* between 5 and 45 seconds by the
{"magnitude of the minute's move" if source.by_magnitude else "move that the action takes, sign included"}. The state is the direction of the last k minutes.
Step size of Q {study.STEP_SIZE}, exploration {study.EXPLORATION["start"]} times {study.EXPLORATION["factor"]} after every step. Each agent runs through each
segment once; its *final value* is the reward of its greedy steps, in the mean over seeds.
"""


def _win_tables(ratios: pl.DataFrame) -> str:
    """Return the win ratios as tables, and how they are to be read."""
    text = """## Win ratios

The share of segments in which Harmonic's final value is the larger one; in brackets Wilson's 95 %
interval over segments. A tie is no win. A star marks a sign test that stays below 0.05 after Holm's
correction, for the cells of both tables against the paper's agents together, and for those against
the control.
"""
    for rule in study.RULES:
        for opponent, name in study.OPPONENTS.items():
            rows = ratios.filter((pl.col("duration_rule") == rule) & (pl.col("opponent") == opponent))
            steps = sorted(rows["rate_step_size"].unique().to_list())
            text += f"\n**{rule}, against {name}**\n\n| k | "
            text += " | ".join(f"β = {step:g}" for step in steps) + " |\n|---:|" + "---:|" * len(steps) + "\n"
            for (size,), cells in rows.group_by("state_size", maintain_order=True):
                entries = [
                    f"{row['ratio']:.2f}{'*' if row['p_corrected'] < 0.05 else ''} [{row['low']:.2f}, {row['high']:.2f}]"
                    for row in cells.sort("rate_step_size").iter_rows(named=True)
                ]
                text += f"| {size} | " + " | ".join(entries) + " |\n"
    return text


def _statements(verdicts: dict[str, Any]) -> str:
    """Return the verdicts as paragraphs."""
    lines = [f"**{one['statement']}.** {one['verdict']}" for one in _judged(verdicts)]
    return "\n".join(map(_filled, [*lines, *_compared(verdicts)]))


def _judged(verdicts: dict[str, Any]) -> list[dict[str, str]]:
    """Return a verdict on each of the paper's statements."""
    against = {name: f"Against {study.OPPONENTS[name]}" for name in ("smart", "relaxed_smart")}
    random, scaled = ({name: verdicts[rule][name] for name in against} for rule in ("random", "scaled"))
    told = {
        "Random durations: Harmonic has no advantage": f"{_no_advantage(random)} {_told(random, against)}",
        "Scaled durations: Harmonic clearly wins in most cases": f"{_clear_win(scaled)} {_told(scaled, against)}",
    }
    return [{"statement": statement, "verdict": verdict} for statement, verdict in told.items()]


def _compared(verdicts: dict[str, Any]) -> list[str]:
    """Say how the comparison with the control came out, and how to read the number of cells."""
    control = {rule: verdicts[rule]["fixed_rate"] for rule in study.RULES}
    names = {rule: f"{rule.capitalize()} durations" for rule in study.RULES}
    return [
        f"**Against the control**, which takes the rate to be 0 and so ignores time altogether. {_told(control, names)} "
        "An advantage over SMART that is no advantage over this control is none of knowing the rate.",
        "The cells of a table share their segments, and most of their noise; so the number of cells that agree "
        "says less than it seems to.",
    ]


def _no_advantage(verdicts: dict[str, Any]) -> str:
    cells, wins = _sum(verdicts, "cells"), _sum(verdicts, "certain_wins")
    if not _decidable(verdicts):
        return _undecided(verdicts)
    if wins == 0:
        return f"This data does not contradict it: in none of {cells} cells is Harmonic clearly ahead."
    share = "holds with exceptions" if 4 * wins <= cells else "does not hold"
    return f"This {share} on this data: cells in which Harmonic is clearly ahead: {wins} of {cells}."


def _clear_win(verdicts: dict[str, Any]) -> str:
    cells, wins, ahead = (_sum(verdicts, name) for name in ("cells", "certain_wins", "ahead"))
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


def _sum(verdicts: dict[str, Any], name: str) -> int:
    return sum(one[name] for one in verdicts.values())


def _decidable(verdicts: dict[str, Any]) -> bool:
    return all(one["decidable"] for one in verdicts.values())


def _undecided(verdicts: dict[str, Any]) -> str:
    number = next(iter(verdicts.values()))["segments"]
    return f"Segments run: {number}, too few to say: even to win all of them would not be certain enough."


def _told(verdicts: dict[str, Any], names: dict[str, str]) -> str:
    return " ".join(
        f"{names[key]}: mean win ratio {one['mean']:.2f}, clear wins in {one['certain_wins']} and clear losses in "
        f"{one['certain_losses']} of {one['cells']} cells, smallest corrected p {one['smallest_p']:.2g}"
        + (f", ties {one['ties']}." if one["ties"] else ".")
        for key, one in verdicts.items()
    )


def _earned(found: Found) -> list[dict[str, Any]]:
    """Return what agents earned, in thousandths of all the movement there was."""
    both = found.finals.join(found.movement, on="segment").filter(pl.col("total_movement") > 0)
    shares = both.with_columns(share=1000.0 * pl.col("value") / pl.col("total_movement"))
    table = shares.group_by("duration_rule", "agent").agg(
        mean=pl.col("share").mean(), lowest=pl.col("share").min(), highest=pl.col("share").max()
    )
    rows = {(row["duration_rule"], row["agent"]): row for row in table.iter_rows(named=True)}
    return [rows[rule, agent] for rule in study.RULES for agent in study.NAMES if (rule, agent) in rows]


def _earnings(earned: list[dict[str, Any]], source: study.Source) -> str:
    if not earned:
        return "No bar of these segments moves, so there was nothing to earn.\n"
    rows = "".join(
        f"| {row['duration_rule']} | {study.NAMES[row['agent']]} | "
        + " | ".join(f"{row[name]:+.2f}" for name in ("mean", "lowest", "highest"))
        + " |\n"
        for row in earned
    )
    return f"""Final value in thousandths of all movement (the sum of |close - open| over the segment), mean over
segments and cells, and the range.{"" if source.by_magnitude else _GAINS_TAKE_LONGER}

| durations | agent | mean | lowest | highest |
|---|---|---:|---:|---:|
{rows}"""


def _certain(found: Found) -> str:
    """Say how many differences are larger than chance makes them."""
    pairs = found.pairs.filter(pl.col("error").is_not_null())
    if pairs.is_empty():
        return "One seed was run, so nothing here says what another would give."
    seeds = found.runs["seed"].n_unique()
    certain = pairs.filter(pl.col("difference").abs() > 2.0 * pl.col("error")).height / pairs.height
    return (
        f"Of all {pairs.height:,} differences between Harmonic and another agent on one segment, {certain:.0%} are "
        f"larger than two standard errors over {seeds} seeds; about {chance(seeds):.0%} would be so by chance if no "
        "agent differed from another."
    )


def chance(seeds: int) -> float:
    """Return how often a mean of so many is more than two of its standard errors from what it should be.

    >>> round(chance(30), 3)
    0.055
    """
    return 2.0 * float(stdtr(seeds - 1, -2.0))


def _why(found: Found, source: study.Source) -> list[str]:
    """Say what the rate could have changed."""
    moves = found.movement
    names = ("duration_std", "q01", "q50", "q99")
    spread, q01, q50, q99 = (float(moves[name].median()) for name in names)  # type: ignore[arg-type]
    narrow = q99 - q01 < 0.25 * (45.0 - 5.0)
    return [
        "Transitions do not depend on the action here: the next state is the market's, whatever the agent does. "
        "What is left to choose is the action with the larger r - ρτ in this very step.",
        "With *random* durations τ is the same for both actions, so ρτ is too: no rate, right or wrong, changes "
        "which of them is better. "
        + (_SAME if source.by_magnitude else _PROPORTIONAL.format(study.largest_rate())),
        (
            "Scaled durations hardly differ besides: scaling by the extremes leaves most of them in a narrow band. "
            if narrow
            else "Scaled durations differ widely on this data. "
        )
        + f"In the median over segments their standard deviation is {spread:.2g} s around {q50:.0f} s, and 98 % of "
        f"them lie between {q01:.1f} and {q99:.1f} s (figure 4, scaled durations).",
        "So knowing the rate better cannot make a better policy here. What a rate does change is the way there: it is "
        "taken off the value of whatever was done. If it is too low, the value of the action that is taken keeps "
        "rising above that of the other, which is hardly tried any more, since exploration falls below 0.001 after "
        "5,300 steps; if it is too high, that value sinks until the other action is taken instead. "
        + _late(study.late_share(found.curves)),
    ]


def _late(share: float) -> str:
    return (
        f"Such differences last: in the median, {share:.0%} of what Harmonic was ahead or behind in the end arose "
        "after the first tenth of the segment."
        if share > 0.0
        else "On this data no agent ended ahead of another."
    )


_GAINS_TAKE_LONGER = """ With scaled durations a gain takes longer than a loss of the same
size and so keeps less of its move: that alone costs whoever cannot foresee the moves."""
_SAME = "With durations scaled by magnitude it is the same: both actions take as long."
_PROPORTIONAL = (
    "With *scaled* durations buying earns x (2 - 50/60) more than selling and takes 40 x/X seconds longer, with x "
    "the move and X the largest of the segment: both are proportional to x. So the better action is the one "
    "that follows the sign of the expected move, for every rate below X (2 - 50/60)/40; and no r/τ, and so no mean "
    "of them, ever reaches more than {:.1%} of that."
)

_FILES = """## Files

`results.parquet` has a row for each run, `curves.parquet` the accumulated reward of greedy steps along
each segment (mean and standard deviation over seeds), `differences.parquet` Harmonic's final value less
another agent's on each segment, `segments.parquet` what is special about each segment, `summary.json`
the win ratios and verdicts; `sweep/` is the resumable store behind them. `figures/`, each as PNG, SVG
and PDF: 1 win ratios, as in the paper; 2 the same against the control; 3 differences on every segment;
4 the spread of scaled durations; 5 the accumulated reward along every segment, for each rule of
durations and each number of directions.
"""
