"""Agents in a world that changes: how they are judged, by what they earned, and how that is shown.

No policy stays the best, so agents are judged by a share: what a run earned, over what the best policy of each time
would have earned, which is the run's reward plus its dynamic regret. Options are chosen by that share, on other seeds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import polars as pl

from sojourn.agents.catalogue import NamedAgent
from sojourn.answers.comparison.record import ChangingResult, ChangingWorld
from sojourn.report.blocks import Block, Column, Heading, Prose, Table
from sojourn.report.charts import Axis, Sheet, Whisker, Whiskers
from sojourn.report.looks import looks, title
from sojourn.report.words import counted, setting
from sojourn.rules.intervals import mean_interval

if TYPE_CHECKING:
    from sojourn.answers.comparison.tuning import Chosen


def judged(table: pl.DataFrame) -> pl.DataFrame:
    """Return results with what was earned as a share, by which options are also chosen; failed runs earned nothing.

    >>> judged(pl.DataFrame({"reward": [8.0, None], "dynamic_regret": [2.0, None]}))["earned"].to_list()
    [0.8, 0.0]
    """
    share = (pl.col("reward") / (pl.col("reward") + pl.col("dynamic_regret"))).fill_null(0.0)
    return table.with_columns(earned=share, relative_gain=share)


def results(
    table: pl.DataFrame, chosen: Mapping[str, Mapping[str, Chosen]], agents: Mapping[str, NamedAgent]
) -> tuple[ChangingResult, ...]:
    """Return what each agent earned with the options that were chosen for it; those that earned most come first."""
    found = []
    for label, agent in agents.items():
        runs, best = table.filter(pl.col("agent") == label), chosen[label]["earned"]
        shares, errors = runs["earned"].to_numpy(), runs["tracking_error"].drop_nulls()
        found.append(
            ChangingResult(
                agent=label,
                name=title(agent),
                options=best.options,
                edges=best.edges,
                share=float(shares.mean()),
                low=(interval := mean_interval(shares))[0],
                high=interval[1],
                dynamic_regret=float(runs["dynamic_regret"].drop_nulls().to_numpy().mean()),
                tracking_error=float(errors.to_numpy().mean()) if len(errors) else None,
                diverged=int(runs["diverged"].sum()),
            )
        )
    return tuple(sorted(found, key=lambda row: -row.share))


# --- Words --------------------------------------------------------------------------


def table_lines(found: ChangingWorld) -> list[str]:
    """Return the table of one world for a terminal."""
    lines = [
        f"{found.name} changes; what was earned is a share of what the best policy of each time would have earned",
        f"{'':32}{'earned':>22}{'dynamic regret':>18}{'tracking error':>18}",
    ]
    for row in found.agents:
        share = f"{row.share:.3f} ({row.low:.3f}-{row.high:.3f})"
        lines.append(f"  {row.name:30}{share:>22}{row.dynamic_regret:>18.4g}{_error(row):>18}")
    return lines


def _error(row: ChangingResult) -> str:
    return "-" if row.tracking_error is None else f"{row.tracking_error:.4g}"


# --- Charts and tables --------------------------------------------------------------


def shares(found: ChangingWorld) -> Whiskers:
    """Return what each agent earned, with its interval."""
    styles = looks(row.agent for row in found.agents)
    return Whiskers(
        f"Earned while it changes: {found.name}",
        Axis("share of the frozen optimum, 95 % interval", short="earned"),
        [Whisker(row.name, styles[row.agent], row.share, row.low, row.high) for row in found.agents],
        interval="95 % interval",
        reference=1.0,
        note="The dotted line is what the best policy of each time would have earned.",
    )


def sheet(found: ChangingWorld) -> Sheet:
    """Return the figure of one world."""
    return Sheet([[shares(found)]], (6.5, 1.2 + 0.25 * len(found.agents)))


def blocks(found: ChangingWorld, opened: bool) -> list[Block]:
    """Return the part of the page about one world; its chart is left out if the page opens with it."""
    columns = [
        Column("agent", numeric=False),
        Column("tuned", numeric=False),
        Column("on the edge", numeric=False),
    ]
    columns += [Column(name) for name in ("earned", "low", "high", "dynamic regret", "tracking error")]
    rows = [
        (
            *(row.name, setting(row.options), ", ".join(edge.replace("_", " ") for edge in row.edges)),
            *(row.share, row.low, row.high, row.dynamic_regret, row.tracking_error),
        )
        for row in found.agents
    ]
    best = found.agents[0]
    return [
        Heading(found.name),
        Prose(
            f"{counted(found.states, 'state')}; the world changes, so no policy stays the best. {best.name} earned most: "
            f"{best.share:.3f} of what the best policy of each time would have earned."
        ),
        *([] if opened else [shares(found)]),
        Table(
            f"The agents in {found.name}",
            columns,
            rows,
            "Earned: the share of what the best policy of each time would have earned (the frozen optimum), with the options "
            "that earn most on other seeds. Low and high are the ends of 95 % intervals. Dynamic regret: what is missing to "
            "that optimum. Tracking error: the mean over time of the squared error of the learned rate.",
        ),
    ]
