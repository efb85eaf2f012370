"""Any sweep on the page: what was run, what came out by world, agent, option and cell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from sojourn.report.blocks import Block, Chart, Charts, Column, Facts, Heading, Note, Prose, Section, Table
from sojourn.report.budget import Budget
from sojourn.report.words import agent_name, counted, looks, number, plain_look, setting, several
from sojourn.runs.results import load_results, summarise
from sojourn.studies.sweep.curves import curves

# Columns of results that are no options; `results.py` describes them.
FIXED = {
    *("cell", "world", "agent", "steps", "episodes", "seed", "rate", "reward", "duration", "greedy_reward"),
    *("greedy_duration", "greedy_steps", "diverged", "policy", "error", "gain", "regret", "rate_gap"),
}
OPTIONS_SHOWN = 6
GROUPS = 60  # of an option's values, if there are more
LINES_SHOWN = 12  # in one chart


def section(folder: Path, given: dict[str, Any], budget: Budget) -> Section:
    """Return a sweep."""
    table = load_results(folder).with_columns(earned=pl.col("reward") / pl.col("duration"))
    name = str(given.get("name") or folder.name)
    options = [column for column in table.columns if column not in FIXED and column != "earned"]
    lengths = given.get("steps")
    if isinstance(lengths, list) and len(lengths) > 1:
        options.append("steps")  # as good as an option
    blocks: list[Block] = []
    synthetic = "data" in options and "synthetic" in set(table["data"].drop_nulls().cast(pl.String))
    if synthetic:
        blocks.append(Note("**Some of the data is synthetic**: a market made by Sojourn, not a real one."))
    failed = table.filter(pl.col("error").is_not_null())
    if failed.height:
        blocks.append(
            Note(f"{counted(failed.height, 'run')} of {table.height:,} failed; the reasons stand below.")
        )
    blocks.append(_summary(table))
    varied = [option for option in options if table[option].drop_nulls().n_unique() > 1]
    called = f"{name}, synthetic data" if synthetic else name
    blocks += _by_option(table, varied, called)
    blocks += curves(folder, table, called, budget)
    blocks += _cells(table, options, varied, budget)
    if failed.height:
        blocks += _failures(failed, budget)
    blocks.append(_facts(folder, given, table))
    return Section(
        "sweep",
        f"Sweep: {name}" + (" (synthetic data)" if synthetic else ""),
        f"{counted(table['cell'].n_unique(), 'cell')}, {counted(table.height, 'run')}, "
        f"{counted(int((table['steps'] * table['episodes']).sum()), 'step')}.",
        blocks,
        synthetic=synthetic,
    )


def _summary(table: pl.DataFrame) -> Table:
    summary = summarise(table)
    words = {"world": "world", "agent": "agent", "rate": "learned rate", "earned": "earned per unit time"}
    columns = [
        Column(words.get(name, name.replace("_", " ")), dtype.is_numeric())
        for name, dtype in summary.schema.items()
    ]
    rows = [
        tuple(agent_name(value) if name == "agent" else value for name, value in row.items())
        for row in summary.iter_rows(named=True)
    ]
    return Table("By world and agent", columns, rows, "Rates and earnings are medians over the runs.")


# --- By option ----------------------------------------------------------------------


def _by_option(table: pl.DataFrame, varied: list[str], called: str) -> list[Block]:
    """Return what was earned, and the rates learned, for each value of each option that varies."""
    good = table.filter(pl.col("error").is_null())
    worlds = good["world"].n_unique()
    charts = []
    for option in [one for one in varied if one not in ("data", "segment")][:OPTIONS_SHOWN]:
        if good[option].dtype.is_numeric():
            charts += [
                _lines(good, option, value, words, worlds, called)
                for value, words in (("earned", "Earned"), ("rate", "Learned rate"))
            ]
        else:
            charts.append(_whiskers(good, option, called))
    if not charts:
        return []
    left = len(varied) - OPTIONS_SHOWN
    text = "Medians over all runs with that value of the option, whatever the others are; shaded is the middle half."
    if left > 0:
        text += f" {counted(left, 'further option')} varied too."
    return [Heading("By option"), Prose(text), Charts(charts)]


def _words(option: str) -> str:
    return option.removeprefix("option_").replace(
        "_", " "
    )  # the prefix keeps it apart from a result's column


def _lines(table: pl.DataFrame, option: str, value: str, words: str, worlds: int, called: str) -> Chart:
    chosen = table.filter(pl.col(option).is_not_null() & pl.col(value).is_finite())
    different = chosen[option].n_unique()
    if different > GROUPS:
        group = (pl.col(option).rank("dense") - 1) * GROUPS // different
        chosen = chosen.with_columns(pl.col(option).median().over(group))
    rows = (
        chosen.group_by("world", "agent", option, maintain_order=True)
        .agg(
            median=pl.col(value).median(),
            low=pl.col(value).quantile(0.25, "linear"),
            high=pl.col(value).quantile(0.75, "linear"),
        )
        .sort(option)
    )
    pairs = rows.select("world", "agent").unique(maintain_order=True).sort("world", "agent").rows()
    styles = looks(dict.fromkeys(agent for _, agent in pairs))
    series = []
    for place, (world, agent) in enumerate(pairs[:LINES_SHOWN]):
        line = rows.filter((pl.col("world") == world) & (pl.col("agent") == agent))
        style = (
            styles[agent]
            if worlds == 1
            else dict(zip(("colour", "dash", "marker"), plain_look(place), strict=True))
        )
        series.append(
            {
                "name": agent_name(agent) if worlds == 1 else f"{agent_name(agent)}, {world}",
                "x": line[option].to_list(),
                "y": line["median"].to_list(),
                "low": line["low"].to_list(),
                "high": line["high"].to_list(),
                **style,
            }
        )
    values = rows[option].drop_nulls().unique().to_list()
    ends = [rows[name].drop_nulls().to_list() for name in ("median", "low", "high")]
    left = len(pairs) - len(series)
    note = f"{counted(left, 'further pair')} of agent and world are left out." if left > 0 else ""
    if different > GROUPS:
        note = f"Its {different:,} values stand in {GROUPS} groups. {note}".strip()
    spec = {
        "type": "lines",
        "x": {"label": _words(option), "log": _spread(values, 30.0)},
        "y": {"label": "reward per unit time", "log": _spread([x for one in ends for x in one], 1e4)},
        "series": series,
        "height": 300,
    }
    return Chart(f"{words} by {_words(option)}: {called}", spec, note)


def _spread(values: list[float], ratio: float) -> bool:
    """Return whether values are positive and so far apart that a log axis shows them better."""
    return bool(values) and min(values) > 0 and max(values) / min(values) >= ratio


def _whiskers(table: pl.DataFrame, option: str, called: str) -> Chart:
    finite = table.filter(pl.col("earned").is_finite() & pl.col(option).is_not_null())
    worlds = finite["world"].n_unique()
    rows = finite.group_by("world", "agent", option, maintain_order=True).agg(
        median=pl.col("earned").median(),
        low=pl.col("earned").quantile(0.25, "linear"),
        high=pl.col("earned").quantile(0.75, "linear"),
    )
    styles = looks(dict.fromkeys(rows["agent"]))
    shown = [
        {
            "name": f"{agent_name(row['agent'])}, {setting(row[option])}"
            + (f", {row['world']}" if worlds > 1 else ""),
            "value": row["median"],
            "low": row["low"],
            "high": row["high"],
            "colour": styles[row["agent"]]["colour"],
            "marker": styles[row["agent"]]["marker"],
        }
        for row in rows.head(3 * LINES_SHOWN).iter_rows(named=True)
    ]
    spec = {
        "type": "whiskers",
        "x": {"label": "earned per unit time", "short": "earned"},
        "rows": shown,
        "interval": "middle half",
    }
    left = rows.height - len(shown)
    note = f"{counted(left, 'further row')} are left out." if left > 0 else ""
    return Chart(f"Earned by {_words(option)}: {called}", spec, note)


# --- By cell ------------------------------------------------------------------------


def _cells(table: pl.DataFrame, options: list[str], varied: list[str], budget: Budget) -> list[Block]:
    """Return means over the seeds of each cell; of many cells those that earned most."""
    measures = [name for name in ("rate", "earned", "gain", "regret", "rate_gap") if _has(table, name)]
    cells = table.group_by("world", "agent", "cell", *options, maintain_order=True).agg(
        runs=pl.len(),
        diverged=pl.col("diverged").sum(),
        **{name: pl.col(name).mean() for name in measures},
        deviation=pl.col("earned").std(),
    )
    total, note = cells.height, ""
    if total > budget.rows:
        pairs = cells.select("world", "agent").n_unique()
        best = max(1, budget.rows // pairs)
        place = pl.col("earned").fill_nan(None).rank("ordinal", descending=True).over("world", "agent")
        cells = cells.filter(place <= best).head(budget.rows)
        note = (
            f"{total - cells.height:,} of {total:,} cells are left out: for each world and agent the {best} that earned "
            "most are shown. `results.parquet` has all."
        )
    columns = [Column("world", numeric=False), Column("agent", numeric=False)]
    columns += [Column(_words(name), table[name].dtype.is_numeric()) for name in varied]
    columns += [Column("runs"), Column("diverged")]
    titles = {"rate": "learned rate", "earned": "earned", "rate_gap": "rate less gain"}
    columns += [Column(titles.get(name, name)) for name in measures]
    columns.append(Column("deviation of earned"))
    shown = cells.select("world", "agent", *varied, "runs", "diverged", *measures, "deviation")
    rows = [
        (row[0], agent_name(row[1]), *(setting(x) if isinstance(x, list | dict) else x for x in row[2:]))
        for row in shown.iter_rows()
    ]
    return [Heading("By cell"), Table("Means over the seeds of each cell", columns, rows, note)]


def _has(table: pl.DataFrame, name: str) -> bool:
    return name in table.columns and table[name].null_count() < table.height


def _failures(failed: pl.DataFrame, budget: Budget) -> list[Block]:
    counts = failed.group_by("world", "agent", "error").len().sort("len", descending=True)
    columns = [
        Column("world", numeric=False),
        Column("agent", numeric=False),
        Column("reason", numeric=False),
    ]
    rows = counts.head(budget.rows).rows()
    return [Heading("Runs that failed"), Table("Why runs failed", [*columns, Column("runs")], rows)]


def _facts(folder: Path, given: dict[str, Any], table: pl.DataFrame) -> Facts:
    seeds = table["seed"].unique().sort().to_list()
    items = [
        ("seeds", several(seeds)),
        ("steps in an episode", several(table["steps"].unique().sort().to_list())),
        ("episodes", several(table["episodes"].unique().sort().to_list())),
    ]
    for kind in ("world", "agent"):
        for entry in given.get(kind, []):
            chosen = {key: value for key, value in entry.items() if key not in ("kind", "label")}
            options = "; ".join(f"{_words(key)} {setting(value)}" for key, value in chosen.items())
            label = str(entry.get("label") or "") or str(entry["kind"])
            items.append((f"{kind} {label}", options or "as it is"))
    if given.get("record"):
        items.append(("points of a curve", number(given["record"])))
    if "rules_version" in given:
        items.append(("version of the rules", str(given["rules_version"])))
    return Facts("Settings", [*items, ("folder", folder.name)])
