"""The simulation study, from its sweep to its folder."""

from __future__ import annotations

import json
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sojourn import __version__
from sojourn.report import figures
from sojourn.rules.files import write_text, write_whole
from sojourn.runs.folder import executor, run_sweep
from sojourn.runs.progress import Advance, no_progress
from sojourn.runs.results import RESULTS, TIMINGS, claim_folder, load_results
from sojourn.studies.robustness import study

CHOSEN = (1e-4, 1e-3, 3e-3)  # log-scales looked at more closely
CHOSEN_SHOWN = (1e-5, 1e-4, 1e-3, 1e-2)


def robustness(
    out: Path,
    seeds: int = 5,
    steps: int = 1000,
    episodes: int = 4,
    jobs: int | None = None,
    progress: Advance = no_progress,
) -> dict[str, Any]:
    """Run the paper's simulation study into a folder; return its summary."""
    claim_folder(out)
    sweep = study.specification(seeds, steps, episodes)
    with executor(jobs) as (pool, width):
        run_sweep(sweep, out / "sweep", pool, width, progress)
    # The sweep may have been run in several goes; its seconds are those of its tasks.
    seconds = float(pl.read_parquet(out / "sweep" / TIMINGS)["seconds"].sum()) / width
    begin = time.perf_counter()
    table = study.with_success(load_results(out / "sweep"))
    write_whole(out / RESULTS, table.write_parquet)
    share, earned = study.shares(table), study.realised(steps, min(seeds, 5))
    changed = study.sensitivity(seeds, steps, jobs)
    _draw(out / "figures", table, share, earned, changed, steps)
    summary = study.summary(share, earned, sweep, seconds + time.perf_counter() - begin, __version__)
    summary["sensitivity"] = changed.to_dicts()
    summary |= _judgement(summary, share, table)
    write_text(out / "summary.json", json.dumps(summary, indent=1) + "\n")
    write_text(out / "README.md", _readme(summary))
    return summary


def headlines(summary: dict[str, Any]) -> list[str]:
    """Return the study in a few lines, for a terminal."""
    header = f"{'log-scale':46}" + "".join(f"{study.LOG_SCALES[_nearest(v)]:>9.2g}" for v in CHOSEN_SHOWN)
    lines = [header, "runs that end with B, %, median over seeds"]
    for agent, name in study.NAMES.items():
        medians = [summary["success_median"][agent][_nearest(v)] for v in CHOSEN_SHOWN]
        lines.append(f"  {name:44}" + "".join(f"{100 * share:>9.0f}" for share in medians))
    lines.append("earned per unit time on the steps seen")
    for key, name in (("always_a", "always A"), ("always_b", "always B")):
        earned = [summary["earned"][key][_nearest(v)] for v in CHOSEN_SHOWN]
        lines.append(f"  {name:44}" + "".join(f"{x:>9.3g}" for x in earned))
    return lines


def _nearest(log_scale: float) -> int:
    return int(np.abs(np.log(study.LOG_SCALES) - np.log(log_scale)).argmin())


# --- Figures ------------------------------------------------------------------------


def _draw(
    folder: Path,
    table: pl.DataFrame,
    share: pl.DataFrame,
    earned: pl.DataFrame,
    changed: pl.DataFrame,
    steps: int,
) -> None:
    with figures.figure(6.0, 3.2) as drawing:
        figures.drift(study.rates_by_step(0.001, 1000), drawing.subplots())
        figures.save(drawing, folder / "1-drift")
    with figures.figure(6.0, 3.4) as drawing:
        _crossing(drawing.subplots(), 0.001, steps)
        figures.save(drawing, folder / "2-rates-0.001")
    with figures.figure(7.0, 3.2) as drawing:
        for ax, log_scale in zip(drawing.subplots(1, 2), (0.003, 0.0005), strict=True):
            _crossing(ax, log_scale, steps)
            ax.set_title(f"v = {log_scale:g}")
        figures.save(drawing, folder / "3-rates-0.003-0.0005")

    spread = study.over_seeds(share)
    with figures.figure(6.5, 3.8) as drawing:
        figures.success(spread, study.PAPER, drawing.subplots())
        figures.save(drawing, folder / "4-success")
    with figures.figure(7.0, 4.6) as drawing:
        upper, band = drawing.subplots(2, 1, sharex=True, height_ratios=[12, 1])
        figures.success(spread, study.NAMES, upper, with_range=False)
        upper.set_xlabel("")
        upper.legend(loc="upper center", bbox_to_anchor=(0.5, 1.22), ncols=3)
        figures.better_action(earned, band)
        figures.save(drawing, folder / "5-success-and-controls")
    with figures.figure(6.5, 4.0) as drawing:
        names = {name: study.NAMES[name] for name in study.PAPER}
        figures.rates(study.learned_rates(table), earned, names, drawing.subplots())
        figures.save(drawing, folder / "6-learned-rates")
    _draw_maps(folder, table)
    with figures.figure(7.5, 3.2) as drawing:
        titles = {"greedy": "reading of “greedy”", "ties": "ties at the start", "episodes": "episodes"}
        for ax, (what, title) in zip(drawing.subplots(1, 3, sharey=True), titles.items(), strict=True):
            figures.settings(changed.filter(pl.col("what") == what), study.PAPER, ax)
            ax.set_title(title)
        drawing.axes[0].set_ylabel("runs that end with B, %")
        drawing.axes[1].set_xlabel("log-scale v\nsolid: Harmonic, dashed: SMART, dotted: Relaxed-SMART")
        figures.save(drawing, folder / "8-sensitivity")


def _crossing(ax: Any, log_scale: float, steps: int) -> None:
    table = study.rates_by_step(log_scale, 10_001)
    noise = np.maximum(0.001, np.random.default_rng(0).normal(1.0, 0.1, len(table)))
    table = table.with_columns(noisy_a=pl.col("rate_a") / pl.Series(noise))
    figures.crossing(table, ax, steps, study.overtakes(log_scale))


def _draw_maps(folder: Path, table: pl.DataFrame) -> None:
    agents = [name for name in study.NAMES if name not in ("smart", "fixed_rate")]
    with figures.figure(7.5, 4.8) as drawing:
        axes = drawing.subplots(len(CHOSEN), len(agents), sharex=True, sharey=True)
        for number, (row, log_scale) in enumerate(zip(axes, CHOSEN, strict=True)):
            v = study.LOG_SCALES[_nearest(log_scale)]
            for ax, agent in zip(row, agents, strict=True):
                cells = table.filter((pl.col("agent") == agent) & (pl.col("log_scale") == v))
                image = figures.step_size_map(cells, ax)
                if number == 0:
                    ax.set_title(study.NAMES[agent].replace(" (", "\n(").replace(" R-", "\nR-"), fontsize=8)
            row[0].set_ylabel(f"v = {v:.2g}\nstep size of Q")
        for ax in axes[-1]:
            ax.set_xlabel("step size\nof the rate")
        drawing.colorbar(image, ax=axes, label="seeds that end with B, %", shrink=0.7)
        figures.save(drawing, folder / "7-step-sizes")


# --- Words --------------------------------------------------------------------------


def _judgement(summary: dict[str, Any], share: pl.DataFrame, table: pl.DataFrame) -> dict[str, Any]:
    """Return what was found, and a verdict on each of the paper's statements, in words."""
    scales, seeds = summary["log_scales"], summary["seeds"]
    median = {name: np.array(levels) for name, levels in summary["success_median"].items()}
    spread = np.array(summary["success_range"]["harmonic_r"])
    earned_a, earned_b = (np.array(summary["earned"][key]) for key in ("always_a", "always_b"))
    harmonic, others = median["harmonic_r"], np.maximum(median["smart"], median["relaxed_smart"])

    wrong = earned_a > earned_b  # where A earned more on the steps seen
    first_b = "nowhere" if wrong.all() else f"from v = {scales[int(np.argmin(wrong))]:.2g} on"
    zero = [v for v, level in zip(scales, others, strict=True) if level == 0.0]
    full = [v for v, level in zip(scales, harmonic, strict=True) if level == 1.0]
    zeros = f"at 0 % up to v = {max(zero):.2g}" if zero else "nowhere both at 0 %"
    fulls = f"at 100 % from v = {min(full):.2g} on" if full else "nowhere at 100 %"
    dominated = bool((harmonic >= others).all())
    averages = {name: float(levels[wrong].mean()) if wrong.any() else 0.0 for name, levels in median.items()}
    best = max((name for name in averages if name != "fixed_rate"), key=lambda name: averages[name])
    beaten = averages["fixed_rate"] > averages[best]
    near = _nearest(1e-3)
    ended = (pl.col("agent") == "harmonic_r") & (pl.col("log_scale") == scales[near]) & pl.col("success")
    rates = table.filter(ended)["rate"].to_numpy()

    findings = [
        f"On the paper's measure, Harmonic R-Learning is {'' if dominated else 'not '}at least as high as SMART "
        f"and Relaxed-SMART at every log-scale, in the median over seeds. SMART and Relaxed-SMART are {zeros}; "
        f"Harmonic is {fulls}.",
        _on_seeds(spread, scales, seeds),
        "The measure does not reward what was asked for. On the steps that any agent ever saw, B earned more "
        f"than A {first_b} (at v = 1e-5, A earned {earned_a[0]:.3g} and B {earned_b[0]:.3g}). At smaller v, to "
        "end with B is to end with the action that earned less. B is better there only on later steps, which "
        "no agent saw and no estimator of past rates can know of.",
        'The control that fixes the rate at 0, and so ignores time altogether, "succeeds" in '
        f"{100 * averages['fixed_rate']:.0f} % of the runs where A earned more, against "
        f"{100 * averages['harmonic_r']:.0f} % for Harmonic R-Learning (means of the medians). "
        + (
            f"No learner does so as often; the next is {study.NAMES[best]}."
            if beaten
            else f"{study.NAMES[best]} does so more often."
        )
        + " What Harmonic R-Learning has in common with the control is a rate that is too low, as the figure of "
        "learned rates shows, and such a rate favours long actions, which B is."
        + (
            ""
            if rates.size == 0
            else f" At v = {scales[near]:.2g}, in its runs that end with B, the median learned rate is "
            f"{np.median(rates):.2g}; B earned {earned_b[near]:.3g} and A {earned_a[near]:.3g}."
        ),
        f"R-Learning diverged in {100 * summary['diverged']['r_learning']:.0f} % of its runs: its step is unstable "
        "once the rate's step size times a duration passes 2, and B's durations grow without bound.",
    ]
    statements = {
        "Harmonic's success is higher in all cases": f"{'supported' if dominated else 'not supported'} on the paper's "
        "measure, in the median over seeds; seed by seed, it is at least as high in "
        f"{100 * study.higher_for_every_seed(share):.0f} % of the cases",
        "SMART and Relaxed-SMART drop to 0 % around the middle of the axis": f"{'supported' if zero else 'not supported'}: "
        f"they are {zeros}",
        "Harmonic keeps a high share where the others fail": f"{100 * harmonic[0]:.0f} % at v = 1e-5 in the median, "
        f"{100 * spread[0, 0]:.0f} % for the least lucky of {seeds}",
        "action B is the optimal one": f"on the steps seen, {first_b}; at smaller v only in a longer run than the agents were given",
        "B overtakes A at step 4,500 for v = 0.001": f"at {study.overtakes(0.001):,.0f} without the ripple of sine and "
        f"cosine; with it, B is first above A at {study.touches(0.001, 1000):,}",
        "log-scales above 0.003 are easier because B dominates within the 1,000 steps": "at v = 0.003 itself, B passes A at "
        f"{study.overtakes(0.003):,.0f}; over the steps seen, B earned more {first_b}",
    }
    return {
        "findings": findings,
        "statements": [{"statement": text, "verdict": verdict} for text, verdict in statements.items()],
    }


def _readme(summary: dict[str, Any]) -> str:
    scales, seeds, settings = summary["log_scales"], summary["seeds"], summary["settings"]
    median, earned = summary["success_median"], summary["earned"]
    names = " | ".join(study.NAMES.values())
    rows = "\n".join(
        f"| {scales[i]:.2g} | "
        + " | ".join(f"{100 * median[name][i]:.0f}" for name in study.NAMES)
        + f" | {earned['always_a'][i]:.3g} | {earned['always_b'][i]:.3g} |"
        for i in range(0, len(scales), 3)
    )
    found = "\n".join(
        textwrap.fill(text, 98, initial_indent=f"{number}. ", subsequent_indent="   ")
        for number, text in enumerate(summary["findings"], start=1)
    )
    judged = "\n".join(f"| {one['statement']} | {one['verdict']} |" for one in summary["statements"])
    changed = pl.DataFrame(summary["sensitivity"]).filter(pl.col("agent") == "harmonic_r")
    sensitivity = "\n".join(
        f"- {what} {setting}: {100 * level:.0f} %"
        for what, setting, level in changed.group_by("what", "setting", maintain_order=True)
        .agg(pl.col("share").mean())
        .iter_rows()
    )
    return f"""# Robustness: the simulation study of Harmonic R-Learning

Made by Sojourn {summary["version"]}: {settings["runs"]:,} runs, {summary["steps"]:,} steps, {summary["seconds"]:.0f} s.

## What was run

The two-state family at 30 log-scales v from 1e-5 to 1e-1, for 20 step sizes of Q by 20 of the
rate from 1e-4 to 1e-1 (20 runs stand for a whole row where an agent has no rate step size),
exploration 0.2, {settings["episodes"]} episodes of {settings["steps"]:,} steps, number of seeds {seeds}. A seed fixes exploration
and noise for all cells at once. *Success* is the paper's measure: the greedy action in state 0
is B in the end. A run that diverged is no success.

## What was found

Success in %, median over seeds, every third log-scale; and what always taking one action earned
per unit time, over the steps that were seen:

| v | {names} | A earned | B earned |
|---:|{"---:|" * (len(study.NAMES) + 2)}
{rows}

{found}

## The paper's statements

| statement | here |
|---|---|
{judged}

## Sensitivity

Harmonic's success on a coarser grid, mean over eight log-scales, with one thing changed at a time
(ties at the start go to A, four episodes, the reading "action" unless said otherwise):

{sensitivity}

## Files

`results.parquet` has a row for each run, `summary.json` the shares; `sweep/` is the resumable
store behind them. `figures/`, each as PNG, SVG and PDF: 1 drift of B's reward and duration; 2 and
3 both actions' rates and where they cross; 4 success, as in the paper; 5 the same with controls
and the action that earned more; 6 learned rates against earned ones; 7 success over both step
sizes; 8 sensitivity.
"""


def _on_seeds(spread: Any, scales: list[float], seeds: int) -> str:
    if seeds == 1:
        return (
            "One seed was run, so nothing here says what another would give. Outcomes differ between seeds as "
            "much as between agents: run several."
        )
    widest = int((spread[:, 1] - spread[:, 0]).argmax())
    low, high = 100 * spread[widest]
    return (
        f"Seeds matter as much as agents. Harmonic's share at v = {scales[widest]:.2g} lies between {low:.0f} % "
        f"and {high:.0f} % over {seeds} seeds. A chart from one seed says little."
    )
