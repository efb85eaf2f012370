"""The study of networks, where observations cannot be enumerated: its runs, its findings, and its section of the page.

The first part runs networks with their own settings on all problems. The second part takes the problems in which
actions affect the durations, and changes one thing at a time: the estimator of the rate, whether it is centred, or
whether the agent observes durations. `sojourn compare` runs, judges and shows such problems too; the code for that is
the library's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from sojourn import __version__
from sojourn.answers.comparison import observed
from sojourn.answers.comparison.observed import OWN, Cell, Observations, ObservedResult, Variant
from sojourn.data.files import Json
from sojourn.data.hints import read_record
from sojourn.data.numbers import positive, whole
from sojourn.report import blocks, figures
from sojourn.report.charts import Sheet, Whiskers
from sojourn.report.words import counted, number
from sojourn.runs.progress import Advance, no_progress

STEPS = {  # steps of a run; slower problems get more
    ("wear", "deep_q"): 100_000,
    ("offers", "deep_q"): 100_000,
    ("offers-16", "deep_q"): 200_000,
    ("workload", "deep_q"): 100_000,
    ("fleet", "deep_q"): 200_000,
    ("c-mu", "ppo"): 500_000,
    ("hold", "ppo"): 1_000_000,
    ("update-or-wait", "ppo"): 500_000,
    ("c-mu", "deep_q"): 100_000,
    ("wear", "ppo"): 200_000,
    ("offers", "ppo"): 200_000,
}
FEWEST = 1000  # steps of a run
SECOND = (("wear", "deep_q"), ("offers", "deep_q"), ("offers", "ppo"), ("update-or-wait", "ppo"))
SECOND_LENGTH = 0.4  # length of the runs of the second part, relative to the first

# What the best agent should reach on each problem, relative to the exact gain; for the fleet, to the best threshold rule.
BARS = {
    "wear": 0.995,
    "offers": 0.995,
    "offers-16": 0.99,
    "workload": 0.995,
    "c-mu": 0.97,
    "hold": 0.98,
    "update-or-wait": 0.98,
    "fleet": 1.0,
}
IGNORED = Variant(ignores_durations=True)
VARIANTS = (
    *(
        Variant(estimator, centring)
        for estimator in ("Exponential", "Harmonic", "Cumulative")
        for centring in (0.1, 0.0)
    ),
    IGNORED,
)


class Size(NamedTuple):
    """The size of the study: the seeds of the two parts, and the length of runs relative to the default."""

    seeds: int = 3
    rate_seeds: int = 2
    length: float = 1.0


def first(size: Size) -> list[Cell]:
    """Return the runs of the first part.

    >>> len(first(Size(seeds=3)))
    33
    """
    return [
        Cell(problem, agent, OWN, seed, max(FEWEST, round(size.length * steps)))
        for seed in range(size.seeds)
        for (problem, agent), steps in STEPS.items()
    ]


def second(size: Size) -> list[Cell]:
    """Return the runs of the second part.

    >>> len(second(Size(rate_seeds=1)))
    28
    """
    return [
        Cell(*pair, variant, seed, max(FEWEST, round(SECOND_LENGTH * size.length * STEPS[pair])))
        for seed in range(size.rate_seeds)
        for pair in SECOND
        for variant in VARIANTS
    ]


def all_cells(size: Size) -> list[Cell]:
    """Return all runs, each once, or raise an error if the size is invalid."""
    whole("seeds", size.seeds)
    whole("rate_seeds", size.rate_seeds, least=0)
    positive("length", size.length)
    return list(dict.fromkeys([*first(size), *second(size)]))


def observations(
    out: Path,
    size: Size = Size(),  # noqa: B008 - it is immutable
    jobs: int | None = None,
    progress: Advance = no_progress,
    formats: Sequence[str] = figures.FORMATS,
) -> Observations:
    """Run the study into a folder; return its findings."""
    runs = observed.completed(out, all_cells(size), jobs, progress)
    found = Observations(
        *size,
        truths=tuple(replace(observed.truth(problem), bar=bar) for problem, bar in BARS.items()),
        first=observed.results([runs[cell] for cell in first(size)]),
        second=observed.results([runs[cell] for cell in second(size)]),
        version=__version__,
    )
    observed.write(out, found, runs, sheets(found), section, formats)
    return found


# --- What was found ----------------------------------------------------------------------


def headlines(found: Observations) -> list[str]:
    """Return the terminal output: a line for each problem and agent, and the findings."""
    return observed.lines(found, findings(found))


def findings(found: Observations) -> list[str]:
    """Return the findings in sentences: which bars are reached, and the effect of other rates."""
    best = {one.problem: found.on(one.problem)[0].relative_gain for one in found.truths}
    short = [
        f"{one.problem} ({best[one.problem]:.4f} of {one.bar:g})"
        for one in found.truths
        if one.bar is not None and best[one.problem] < one.bar
    ]
    told = f"The best agent reaches its bar on {len(best) - len(short)} of {counted(len(best), 'problem')}"
    told += f"; it falls short on {'; '.join(short)}." if short else "."
    centred, bare = Variant("Harmonic"), Variant("Harmonic", 0.0)
    ignoring = _two_variants(found, "{one:.3f} instead of {other:.3f}", IGNORED, OWN)
    harmonic = _two_variants(found, "{one:.3f} with, {other:.3f} without", centred, bare)
    if not found.second:
        return [told]
    return [
        told,
        f"Relative gains of an agent that ignores durations: {ignoring}.",
        f"Relative gains of the harmonic rate with and without centring: {harmonic}.",
    ]


def _two_variants(found: Observations, words: str, one: Variant, other: Variant) -> str:
    """Return the relative gains of two variants for each problem and agent of the second part, in these words."""
    told = []
    for variants in _pairs(found).values():
        gains = {each.variant: each.relative_gain for each in variants}
        both = words.format(one=gains[one.label], other=gains[other.label])
        told.append(f"{variants[0].problem} by {variants[0].title} {both}")
    return "; ".join(told)


def _pairs(found: Observations) -> dict[str, list[ObservedResult]]:
    """Return the results with each kind of rate, by the problem and the agent's title."""
    pairs: dict[str, list[ObservedResult]] = {}
    for one in found.second:
        pairs.setdefault(f"{one.problem}, {one.title}", []).append(one)
    return pairs


def interval(one: ObservedResult) -> str:
    """Return a relative gain with its interval, which a single seed does not have."""
    if one.seeds == 1:
        return f"{one.relative_gain:.4f}"
    return f"{one.relative_gain:.4f} ({one.low:.4f} to {one.high:.4f})"


# --- Charts and the section --------------------------------------------------------------


def rate_charts(found: Observations) -> list[Whiskers]:
    """Return the charts of relative gains by problem and agent, for each kind of rate."""
    return [
        observed.whiskers(
            pair,
            {one.variant: (place, one) for place, one in enumerate(variants)},
            "The dotted line is the best possible gain.",
        )
        for pair, variants in _pairs(found).items()
    ]


def sheets(found: Observations) -> dict[str, Sheet]:
    """Return the figures by name; the one of the rates exists only if they were run."""
    panels = rate_charts(found)
    for panel in range(1, len(panels), 2):  # the panel on its left already shows the names of the rows
        panels[panel] = panels[panel].nameless()
    rows = [panels[start : start + 2] for start in range(0, len(panels), 2)]
    rates = {"rates": Sheet(rows, (8.5, 2.6 * len(rows)))} if rows else {}
    return {"gains": observed.gains_sheet(found), **rates}


def rates(found: Observations) -> blocks.DataTable:
    """Return the table of what agents reach with other rates, a row for each rate."""
    pairs = _pairs(found)
    columns = blocks.texts("rate", *pairs)
    rows = [(several[0].variant, *map(interval, several)) for several in zip(*pairs.values(), strict=True)]
    return blocks.DataTable("Relative gains with one thing changed at a time, in shorter runs", columns, rows)


def section(folder: Path, given: dict[str, Json], budget: blocks.Budget) -> blocks.Section:
    """Return the section for the `observations.json` in a folder, which may also come from `sojourn compare`."""
    found = read_record(Observations, given)
    if found.is_comparison:
        return observed.section(folder, given, budget)
    further: list[blocks.Block] = [
        blocks.Heading("Other rates, and no durations"),
        blocks.Prose(
            "These runs are shorter, and each changes one thing: the estimator of the rate, with the step size 0.001 if it has "
            "one; whether the rate is corrected by the level of the values; or whether the agent is told durations."
        ),
        blocks.Charts(rate_charts(found), small=True),
        rates(found),
    ]
    settings = [
        ("seeds", f"{found.seeds}, and {found.rate_seeds} in the second part"),
        ("length of runs", f"{number(found.length)} times the usual one"),
    ]
    return observed.section_of(folder, found, findings(found), settings, further if found.second else ())
