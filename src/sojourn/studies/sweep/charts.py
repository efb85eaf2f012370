"""The charts of a sweep: results over the values of an option, and over the steps."""

from __future__ import annotations

import polars as pl

from sojourn.report.charts import Axis, Lines, Series, Whisker, Whiskers
from sojourn.report.looks import looks, plain, title
from sojourn.report.words import counted, setting
from sojourn.studies.sweep.tables import GROUPS, by_option, overall, spread

LINES_SHOWN = 12  # in one chart
_REWARD = "reward per unit time"


def option_words(option: str) -> str:
    """Return the name of an option for readers, without the `option_` that some columns have."""
    return option.removeprefix("option_").replace("_", " ")


def lines(table: pl.DataFrame, option: str, figure: str, heading: str) -> Lines:
    """Return the median and the middle half of a figure over the values of an option, for each world and agent."""
    rows, different = by_option(table, option, figure)
    one_world = table["world"].n_unique() == 1
    pairs = rows.select("world", "agent").unique(maintain_order=True).sort("world", "agent").rows()
    styles = looks(dict.fromkeys(agent for _, agent in pairs))
    series = []
    for place, (world, agent) in enumerate(pairs[:LINES_SHOWN]):
        line = rows.filter((pl.col("world") == world) & (pl.col("agent") == agent))
        series.append(
            Series(
                title(agent) if one_world else f"{title(agent)}, {world}",
                styles[agent] if one_world else plain(place),
                line[option].to_list(),
                line["median"].to_list(),
                line["low"].to_list(),
                line["high"].to_list(),
            )
        )
    ends = [end for name in ("median", "low", "high") for end in rows[name].drop_nulls()]
    left = len(pairs) - len(series)
    note = f"Not shown: {counted(left, 'further pair')} of agent and world." if left > 0 else ""
    if different > GROUPS:
        note = f"Its {different:,} values are shown in {GROUPS} groups. {note}".strip()
    return Lines(
        heading,
        Axis(option_words(option), log=spread(rows[option].drop_nulls(), 30.0)),
        Axis(_REWARD, log=spread(ends, 1e4)),
        series,
        note=note,
        height=300,
    )


def whiskers(table: pl.DataFrame, option: str | None, heading: str) -> Whiskers:
    """Return the median and the middle half of what each agent earned, for each word that an option takes."""
    rows = overall(table) if option is None else by_option(table, option, "earned")[0]
    several = rows["world"].n_unique() > 1
    styles = looks(dict.fromkeys(rows["agent"]))
    shown = []
    for world, agent, *choice, median, low, high in rows.head(3 * LINES_SHOWN).iter_rows():
        name = ", ".join([title(agent), *map(setting, choice), *([world] if several else [])])
        shown.append(Whisker(name, styles[agent], median, low, high))
    left = rows.height - len(shown)
    return Whiskers(
        heading,
        Axis("earned per unit time", short="earned"),
        shown,
        interval="middle half",
        note=f"Not shown: {counted(left, 'further row')}." if left > 0 else "",
    )


def along(rows: pl.DataFrame, figure: str, heading: str, points: int) -> Lines:
    """Return a figure over the steps, with at most `points` points for each agent."""
    series = []
    for agent, style in looks(dict.fromkeys(rows["agent"])).items():
        line = rows.filter(pl.col("agent") == agent)
        every = max(1, -(-line.height // points))
        line = line.gather_every(every, offset=(line.height - 1) % every)  # always with the last point
        low, high = line[f"{figure}_low"].to_list(), line[f"{figure}_high"].to_list()
        series.append(Series(title(agent), style, line["step"].to_list(), line[figure].to_list(), low, high))
    first, last = rows["step"].to_numpy().min(), rows["step"].to_numpy().max()
    wide = bool(first > 0 and last / first > 50)
    return Lines(heading, Axis("steps", log=wide), Axis(_REWARD), series, height=320)
