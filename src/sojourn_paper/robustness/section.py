"""Presentation of the simulation study: its findings, verdicts on the paper's statements, and the section of the page."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from sojourn.data.files import write_whole
from sojourn.data.hints import check_kind
from sojourn.report import blocks, terminal
from sojourn.report.figures import FORMATS
from sojourn.report.words import number, sentences, several
from sojourn.runs.progress import Advance, no_progress
from sojourn.runs.results import RESULTS
from sojourn.worlds.two_state import CLOCKS
from sojourn_paper.robustness import charts, tables
from sojourn_paper.robustness.plan import CONTROL, HARMONIC, LOG_SCALES, NAMES, nearest, specification
from sojourn_paper.robustness.tables import Numbers, Summary, Tables, even, higher_for_every_seed
from sojourn_paper.study import Statement

SHOWN = (1e-5, 1e-4, 1e-3, 1e-2)  # log-scales of the lines for a terminal
Levels = npt.NDArray[np.float64]


def headlines(summary: Summary) -> list[str]:
    """Return the terminal output: two small tables."""
    places = [nearest(log_scale) for log_scale in SHOWN]
    scales = [blocks.Column(f"v = {LOG_SCALES[place]:.2g}", digits=3) for place in places]
    shares = [column._replace(digits=0, unit="%") for column in scales]
    success, earned = summary["success_median"], summary["earned"]
    rows: list[list[str | float]] = [
        [name, *(success[agent][place] for place in places)] for agent, name in NAMES.items()
    ]
    always = [("A", earned["always_a"]), ("B", earned["always_b"])]
    levels: list[list[str | float]] = [
        [action, *(level[place] for place in places)] for action, level in always
    ]
    return terminal.lines(
        [
            blocks.DataTable(
                "Runs that end with B, median over seeds", [*blocks.texts("agent"), *shares], rows
            ),
            blocks.DataTable(
                "Earned per unit time on the steps seen", [*blocks.texts("always"), *scales], levels
            ),
        ]
    )


def in_one_sentence(summary: Summary) -> str:
    """Say in one sentence what the study's main chart shows."""
    median = {agent: np.array(levels) for agent, levels in summary["success_median"].items()}
    harmonic, others = median[HARMONIC], np.maximum(median["smart"], median["relaxed_smart"])
    often = (
        "at least as often as"
        if (harmonic >= others).all()
        else "sometimes more and sometimes less often than"
    )
    words = f"Harmonic R-Learning ends with action B {often} SMART and Relaxed-SMART"
    wrong = np.array(summary["earned"]["always_a"]) > np.array(summary["earned"]["always_b"])
    if wrong.any() and median[CONTROL][wrong].mean() > harmonic[wrong].mean():
        words += "; where A earned more, an agent that ignores time does so even more often"
    return f"{words}."


def with_words(numbers: Numbers, tables: Tables) -> Summary:
    """Return the summary: the numbers, the findings, and a verdict on each of the paper's statements."""
    seen = _look(numbers, tables)
    statements: list[Statement] = [
        {"statement": statement, "verdict": verdict}
        for statement, verdict in _verdicts(numbers, tables, seen).items()
    ]
    return {**numbers, "findings": _findings(numbers, tables, seen), "statements": statements}


class _Seen(NamedTuple):
    """The basis of findings and verdicts."""

    scales: list[float]
    median: dict[str, Levels]
    spread: Levels  # lowest and highest share of Harmonic R-Learning, over seeds
    earned_a: Levels
    earned_b: Levels
    dominated: bool  # Harmonic R-Learning is nowhere below the paper's other two
    first_b: str  # the log-scale from which B earned more
    zeros: str  # where the other two are at 0 %
    any_zero: bool
    fulls: str  # where Harmonic R-Learning is at 100 %


def _look(numbers: Numbers, tables: Tables) -> _Seen:
    scales = numbers["log_scales"]
    median = {name: np.array(levels) for name, levels in numbers["success_median"].items()}
    earned_a, earned_b = (tables.earned[name].to_numpy() for name in ("always_a", "always_b"))
    harmonic, others = median[HARMONIC], np.maximum(median["smart"], median["relaxed_smart"])
    first = even(tables.earned, numbers["settings"]["steps"], min(numbers["seeds"], 5))
    zero = [v for v, level in zip(scales, others, strict=True) if level == 0.0]
    full = [v for v, level in zip(scales, harmonic, strict=True) if level == 1.0]
    return _Seen(
        scales=scales,
        median=median,
        spread=np.array(numbers["success_range"][HARMONIC]),
        earned_a=earned_a,
        earned_b=earned_b,
        dominated=bool((harmonic >= others).all()),
        first_b="nowhere" if first is None else f"from v = {first:.4g} on",
        zeros=f"at 0 % up to v = {max(zero):.2g}" if zero else "nowhere both at 0 %",
        any_zero=bool(zero),
        fulls=f"at 100 % from v = {min(full):.2g} on" if full else "nowhere at 100 %",
    )


def _findings(numbers: Numbers, tables: Tables, seen: _Seen) -> list[str]:
    return [
        f"On the paper's measure, Harmonic R-Learning is {'' if seen.dominated else 'not '}at least as high as SMART "
        f"and Relaxed-SMART at every log-scale, in the median over seeds. SMART and Relaxed-SMART are {seen.zeros}; "
        f"Harmonic is {seen.fulls}.",
        _on_seeds(seen, numbers["seeds"]),
        "The measure does not reward earning more. On the steps that agents saw, B earned more "
        f"than A {seen.first_b} (at v = 1e-5, A earned {seen.earned_a[0]:.3g} and B {seen.earned_b[0]:.3g}). At smaller v, "
        "ending with B means ending with the action that earned less. There, B is better only on later steps, which "
        "no agent saw and no estimator of past rates can know about.",
        _on_the_control(seen) + _on_rates(tables, seen),
        _on_the_way_back(tables),
        f"R-Learning diverged in {100 * numbers['diverged']['r_learning']:.0f} % of its runs: its update is unstable "
        "once the rate's step size times a duration exceeds 2, and B's durations grow without bound.",
    ]


def _on_the_way_back(tables: Tables) -> str:
    """Say how often Harmonic still succeeds at the smallest log-scale if the way back is paid."""
    own = tables.sensitivity.filter((pl.col("what") == "way back") & (pl.col("agent") == HARMONIC))
    first = own.filter(pl.col("log_scale") == own["log_scale"].min())
    share = dict(zip(first["setting"], first["share"], strict=True))
    paper, visits = (
        f"{100 * share[f'pays 1, clock of {clock}']:.0f} % instead of {100 * share[f'pays 0, clock of {clock}']:.0f} %"
        for clock in CLOCKS
    )
    return (
        "It is the unpaid way back that lowers Harmonic R-Learning's rate, since a step without reward counts as a rate of "
        f"0. If the way back pays 1, the share of runs that end with B at v = {first['log_scale'][0]:.2g} is {paper}; with "
        f"the clock of the authors' code, which counts visits to the first state, it is {visits}."
    )


def _on_seeds(seen: _Seen, seeds: int) -> str:
    if seeds == 1:
        return (
            "Only one seed was run, so nothing here says what another would give. Outcomes differ between seeds as "
            "much as between agents: run several."
        )
    widest = int((seen.spread[:, 1] - seen.spread[:, 0]).argmax())
    low, high = 100 * seen.spread[widest]
    return (
        f"Seeds matter as much as agents. Harmonic's share at v = {seen.scales[widest]:.2g} lies between {low:.0f} % "
        f"and {high:.0f} % over {seeds} seeds. A chart from one seed says little."
    )


def _on_the_control(seen: _Seen) -> str:
    wrong = seen.earned_a > seen.earned_b
    averages = {
        name: float(levels[wrong].mean()) if wrong.any() else 0.0 for name, levels in seen.median.items()
    }
    best = max((name for name in averages if name != CONTROL), key=lambda name: averages[name])
    beaten = averages[CONTROL] > averages[best]
    return (
        'The control that fixes the rate at 0, and so ignores time altogether, "succeeds" in '
        f"{100 * averages[CONTROL]:.0f} % of the runs where A earned more, against "
        f"{100 * averages[HARMONIC]:.0f} % for Harmonic R-Learning (means of the medians). "
        + (
            f"No learner does so as often; the next is {NAMES[best]}."
            if beaten
            else f"{NAMES[best]} does so more often."
        )
        + " Like the control, Harmonic R-Learning has a rate that is too low, as the figure of learned rates shows; "
        "such a rate favours long actions, and B is a long action."
    )


def _on_rates(tables: Tables, seen: _Seen) -> str:
    near = nearest(1e-3)
    own = (pl.col("agent") == HARMONIC) & (pl.col("log_scale") == seen.scales[near])
    rates = tables.learned.filter(own)["rate_with_b"].drop_nulls().to_list()
    if not rates:
        return ""
    return (
        f" At v = {seen.scales[near]:.2g}, in its runs that ended with B, the median learned rate is "
        f"{rates[0]:.2g}; B earned {seen.earned_b[near]:.3g} and A {seen.earned_a[near]:.3g}."
    )


def _verdicts(numbers: Numbers, tables: Tables, seen: _Seen) -> dict[str, str]:
    passing = {row["log_scale"]: row for row in tables.passing.iter_rows(named=True)}
    return {
        "Harmonic's success is higher in all cases": f"{'supported' if seen.dominated else 'not supported'} on the paper's "
        "measure, in the median over seeds; seed by seed, it is at least as high in "
        f"{100 * higher_for_every_seed(tables.shares):.0f} % of the cases",
        "SMART and Relaxed-SMART drop to 0 % around the middle of the axis": f"{'supported' if seen.any_zero else 'not supported'}: "
        f"they are {seen.zeros}",
        "Harmonic keeps a high share where the others fail": f"{100 * seen.median[HARMONIC][0]:.0f} % at v = 1e-5 in the median, "
        f"{100 * seen.spread[0, 0]:.0f} % for the least lucky of {numbers['seeds']}",
        "action B is the optimal one": f"on the steps seen, {seen.first_b}; at smaller v, only in longer runs than the agents had",
        "B overtakes A at step 4,500 for v = 0.001": f"at {passing[0.001]['overtakes']:,.0f} without the ripple of sine and "
        f"cosine; with it, B is first above A at {passing[0.001]['touches']:,}",
        "log-scales above 0.003 are easier because B dominates within the 1,000 steps": "at v = 0.003 itself, B passes A at step "
        f"{passing[0.003]['overtakes']:,.0f}; over the steps seen, B earned more {seen.first_b}",
    }


# --- The section -------------------------------------------------------------------------


def section(folder: Path, given: Any, budget: blocks.Budget) -> blocks.Section:
    """Return the section on the simulation study, given its summary as it is in the file."""
    check_kind(Summary, given, "the summary")
    summary: Summary = given
    found = tables.read(folder)
    settings = summary["settings"]
    statements = [(one["statement"], one["verdict"], "") for one in summary["statements"]]
    parts: list[blocks.Block] = [
        blocks.Prose(
            "The two-state family was run at 30 log-scales v from 1e-5 to 1e-1, with 20 step sizes of Q by 20 of the rate (an "
            "agent without a rate step size has 20 runs in place of 400). A seed fixes exploration and noise for all of "
            "them at once. A run *ends with B*, which the paper calls *success*, if the greedy action in state 0 is B at the "
            "end. A run that diverged is not a success."
        ),
        blocks.Heading("The paper's statements"),
        blocks.Verdicts(statements),
        blocks.Heading("What was found"),
        blocks.Points(sentences(summary["findings"])),
        blocks.Heading("The two actions"),
        blocks.Prose(
            "The reward and the duration of action B grow with the steps, and ripple; so does its rate. The rate of "
            "action A grows too, and is ahead at first. Agents see only the steps before learning ends."
        ),
        blocks.Charts([charts.drift(found), *charts.crossings(found, settings["steps"])]),
        blocks.Heading("Success in numbers"),
        _success_table(summary),
        blocks.Heading("Learned rates"),
        charts.learned_rates(found),
        blocks.Heading("Both step sizes"),
        blocks.Prose(
            "Share of the seeds that end with B, for all step sizes. On the page, a v chosen in one map is shown in all."
        ),
        blocks.Charts(list(charts.maps(found, budget.points).values()), small=True),
        blocks.Heading("Sensitivity"),
        blocks.Prose(
            "Success on a coarser grid, with one thing changed at a time. Unless stated otherwise, ties at the start go "
            "to A, there are four episodes, and a step is *greedy* if it takes the greedy action."
        ),
        blocks.Charts(list(charts.sensitivity(found).values()), small=True),
        _sensitivity_table(summary),
        _facts(folder, summary),
        blocks.Heading("Files"),
        blocks.Prose(
            "`results.parquet` has a row for each run, `summary.json` has the shares, and `tables/` has the data of the "
            "figures. `sweep/` holds the sweep, which can be resumed from there. `figures/`: 1 drift of B's reward and "
            "duration; 2 and 3 both actions' rates and where they cross; 4 success, as in the paper; 5 the same with controls "
            "and the action that earned more; 6 learned rates against earned ones; 7 success over both step sizes; 8 "
            "sensitivity."
        ),
    ]
    return blocks.Section(
        "study of the paper",
        "Robustness: the simulation study of Harmonic R-Learning",
        in_one_sentence(summary),
        charts.success(found),
        parts,
    )


def _success_table(summary: Summary) -> blocks.DataTable:
    names, earned = summary["names"], summary["earned"]
    columns = [
        *blocks.numbers("v", digits=3),
        *blocks.numbers(*names.values(), digits=0, unit="%"),
        *blocks.numbers("A earned", "B earned", digits=3),
    ]
    medians = [summary["success_median"][agent] for agent in names]
    parts = [summary["log_scales"], *medians, earned["always_a"], earned["always_b"]]
    if len({len(part) for part in parts}) > 1:
        raise ValueError("log_scales, success_median and earned have different numbers of entries")
    rows = list(zip(*parts, strict=True))
    note = "A earned, B earned: the reward per unit time of always taking that action, over the steps that agents saw."
    return blocks.DataTable("Success, median over seeds, and what each action earned", columns, rows, note)


def _sensitivity_table(summary: Summary) -> blocks.DataTable:
    """Return the table of Harmonic's success with one factor changed at a time."""
    changed = pl.DataFrame(summary["sensitivity"]).filter(pl.col("agent") == HARMONIC)
    rows = changed.group_by("what", "setting", maintain_order=True).agg(pl.col("share").mean()).rows()
    columns = [*blocks.texts("what", "setting"), blocks.Column("success", digits=0, unit="%")]
    return blocks.DataTable("Success of Harmonic R-Learning, mean over eight log-scales", columns, rows)


def _facts(folder: Path, summary: Summary) -> blocks.Facts:
    settings = summary["settings"]
    return blocks.Facts(
        "Settings",
        [
            ("log-scales v", several(summary["log_scales"])),
            ("step sizes, of Q and of the rate", several(settings["step_sizes"])),
            ("exploration", number(settings["exploration"])),
            ("episodes", f"{settings['episodes']} of {settings['steps']:,} steps"),
            ("seeds", str(summary["seeds"])),
            ("runs", f"{settings['runs']:,}, of {summary['steps']:,} steps in all"),
            ("data", "none: the two-state family is defined by formulas"),
            *blocks.made_by(summary["version"], folder, summary["seconds"]),
        ],
    )


# --- The study ---------------------------------------------------------------------------


def robustness(
    out: Path,
    seeds: int = 5,
    steps: int = 1000,
    episodes: int = 4,
    *,
    jobs: int | None = None,
    progress: Advance = no_progress,
    formats: Sequence[str] = FORMATS,
) -> Summary:
    """Run the paper's simulation study into a folder; return its summary."""
    sweep = specification(seeds, steps, episodes)

    def tabulate(swept: dict[str, pl.DataFrame], pool: Executor) -> Tables:
        runs = tables.with_success(swept["sweep"])
        write_whole(out / RESULTS, runs.write_parquet)
        return tables.tabulate(runs, seeds, steps, jobs)

    return tables.STUDY.run(
        out,
        {"sweep": sweep},
        tabulate=tabulate,
        sheets=lambda found: charts.sheets(found, steps),
        summarise=lambda found, seconds: with_words(tables.numbers(found, sweep, steps, seconds), found),
        section=section,
        jobs=jobs,
        progress=progress,
        formats=formats,
    )
