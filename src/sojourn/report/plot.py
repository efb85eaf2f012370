"""Draws learning curves, performance profiles and heatmaps from a sweep's tables, on your own matplotlib axes.

    curves(table, ax, figure)           a figure along the steps: mean over the seeds, and its 95 % interval
    profiles(found, ax)                 the performance profiles of `sojourn.stats.profile`, by name
    heatmap(table, ax, x, y, figure)    the mean of a figure for each pair of options
    training(history, ax)               the learned rate, what was earned and the evaluations, from `Learner.history`
    frontier(found, ax)                 the best gain for each bound of a limit, from `sojourn.exact.frontier`, or for each
                                        deviation, from `sojourn.exact.risk_frontier`

`PAPER` has settings of Matplotlib for a figure in a column of a paper: `with plt.rc_context(sj.plot.PAPER): ...`.

Each draws on the `ax` of your own matplotlib figure, in your style. It sets scales and labels, which you may change
afterwards. Agents have the same colours, dashes and markers as in all of Sojourn's figures. There is no legend;
`ax.legend()` adds one. The page "From a sweep to a figure" in the documentation has examples.

>>> import polars as pl
>>> from matplotlib.figure import Figure
>>> ax = Figure().subplots()
>>> table = pl.DataFrame({
...     "cell": ["a"] * 4, "world": ["w"] * 4, "agent": ["smart"] * 4, "seed": [0, 0, 1, 1],
...     "step": [1, 2, 1, 2], "rate": [1.0, 2.0, 3.0, 4.0],
... })
>>> curves(table, ax)
>>> line = ax.get_lines()[-1]
>>> line.get_label(), line.get_ydata().tolist()
('SMART', [2.0, 3.0])
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import polars as pl

from sojourn.data.numbers import nearest, shown
from sojourn.exact.risk_frontier import RiskFrontier
from sojourn.exact.tradeoffs import Frontier
from sojourn.report.charts import Axis, Colours, Heatmap, Labels, Lines, Series, series_of
from sojourn.report.figures import PAPER as PAPER  # noqa: PLC0414 - for users
from sojourn.report.figures import draw
from sojourn.report.looks import looks, plain, title
from sojourn.report.words import number
from sojourn.rules.door import told
from sojourn.rules.intervals import mean_reach
from sojourn.rules.stats import Profile

__all__ = ["curves", "frontier", "heatmap", "profiles", "training"]

Axes: TypeAlias = Any  # matplotlib's, which only `figures` imports
_WORDS = {
    "rate": "learned rate", "earned": "earned per unit time", "reward": "reward so far",
    "greedy_reward": "reward of greedy steps so far", "clock": "time",
}  # fmt: skip
_WATCHED = {"rate": "learned rate", "earned": "earned per unit time", "evaluated": "evaluated"}
_WIDE = 50.0  # beyond this ratio of the last step to the first, steps are on a log scale
_MOST_LABELS = 12  # heatmaps with at most this many rows and columns are annotated with their numbers


@told
def curves(table: pl.DataFrame, ax: Axes, figure: str = "rate") -> None:
    """Draw the mean of a figure over the seeds along the steps, with its 95 % interval shaded, for each agent.

    `table` comes from `load_curves`, and has one cell for each agent and world. If curves were recorded as means, the
    intervals are those in the table. The figures are "rate", "reward", "greedy_reward",
    "clock" and "earned", the reward per unit time so far. The docstring of the module has an example.

    >>> curves(pl.DataFrame({"agent": ["smart"]}), ax=None)
    Traceback (most recent call last):
    TypeError: ax is None; it must be the axes of a matplotlib figure, such as plt.subplots() returns
    """
    _check_axes(ax)
    _check_columns(table, ["cell", "world", "agent", "step"])
    rows = _along(table, figure)
    if rows.is_empty():
        raise ValueError("the table has no rows to draw; give at least one")
    several = rows["world"].n_unique() > 1
    known, series = looks(dict.fromkeys(rows["agent"])), []
    groups = rows.group_by("world", "agent", maintain_order=True)
    for place, ((world, agent), line) in enumerate(groups):
        if line["step"].n_unique() < line.height:
            raise ValueError(f"{agent} in {world} has several cells in the table; choose one of them first")
        name = f"{title(str(agent))}, {world}" if several else title(str(agent))
        look = (plain(place) if several else known[str(agent)]).bare()
        series.append(series_of(name, look, line.sort("step"), "step", "mean", "low", "high"))
    steps = rows["step"].cast(pl.Float64).to_list()
    wide = min(steps) > 0 and max(steps) / min(steps) > _WIDE
    draw(Lines(ax.get_title(), Axis("steps", log=wide), Axis(_WORDS[figure]), series), ax)


def _along(table: pl.DataFrame, figure: str) -> pl.DataFrame:
    """Return the mean of a figure and its interval for each cell and step."""
    if figure not in _WORDS:
        raise ValueError(f"there is no figure {shown(figure)}{nearest(figure, _WORDS)}")
    keys = ("world", "agent", "cell", "step")
    if "rate_mean" in table.columns:
        if figure == "earned":
            ratio = pl.col("reward_mean") / pl.col("clock_mean")
            return table.select(
                *keys, mean=ratio, low=pl.lit(None, pl.Float64), high=pl.lit(None, pl.Float64)
            )
        names = {part: f"{figure}_{part}" for part in ("mean", "low", "high")}
        _check_columns(table, list(names.values()))
        return table.select(*keys, **{part: pl.col(name) for part, name in names.items()})
    _check_columns(table, ["reward", "clock"] if figure == "earned" else [figure])
    value = pl.col("reward") / pl.col("clock") if figure == "earned" else pl.col(figure)
    grouped = table.group_by(keys, maintain_order=True).agg(
        mean=value.mean(), std=value.std(), count=value.count()
    )
    reach = [mean_reach(count) for count in grouped["count"]]
    half = grouped["std"] * pl.Series(reach, dtype=pl.Float64)
    return grouped.with_columns(low=grouped["mean"] - half, high=grouped["mean"] + half)


@told
def profiles(found: Mapping[str, Profile], ax: Axes) -> None:
    """Draw performance profiles: the share of scores above each threshold, with its interval shaded.

    >>> from matplotlib.figure import Figure
    >>> from sojourn.rules import stats
    >>> ax = Figure().subplots()
    >>> profiles({"smart": stats.profile([0.0, 1.0], [0.0, 0.5, 1.0])}, ax)
    >>> ax.get_lines()[-1].get_ydata().tolist()
    [0.5, 0.5, 0.0]
    """
    _check_axes(ax)
    series = [
        Series(title(name), look.bare(), one.thresholds.tolist(), one.share.tolist(), one.low.tolist(), one.high.tolist())
        for (name, one), look in zip(found.items(), looks(found).values(), strict=True)
    ]  # fmt: skip
    shares = Axis("share of runs above", ends=(-0.02, 1.02))
    draw(Lines(ax.get_title(), Axis("score"), shares, series), ax)


@told
def heatmap(table: pl.DataFrame, ax: Axes, x: str, y: str, figure: str = "earned") -> None:
    """Draw the mean of a figure for each combination of the values in the columns `x` and `y`.

    `ax.figure.colorbar(ax.images[0], ax=ax)` adds a colour bar.

    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> table = pl.DataFrame({"step_size": [0.1, 0.1, 0.2], "discount": [1.0, 1.0, 1.0], "earned": [1.0, 3.0, 4.0]})
    >>> heatmap(table, ax, "step_size", "discount")
    >>> ax.images[0].get_array().tolist()
    [[2.0, 4.0]]
    """
    _check_axes(ax)
    _check_columns(table, [x, y, figure])
    means = table.filter(pl.col(x).is_not_null() & pl.col(y).is_not_null())
    means = means.group_by(x, y).agg(pl.col(figure).mean())
    if means.is_empty() or means[figure].null_count() == means.height:
        raise ValueError(f"the table has no row with {x}, {y} and {figure}; give at least one")
    across, up = means[x].unique().sort().to_list(), means[y].unique().sort().to_list()
    known = {(left, right): mean for left, right, mean in means.iter_rows()}
    values = [[known.get((left, right)) for left in across] for right in up]
    low, high = means[figure].min(), means[figure].max()
    few = max(len(across), len(up)) <= _MOST_LABELS
    labels = [["" if mean is None else number(mean, 3) for mean in row] for row in values] if few else ()
    words = _WORDS.get(figure, figure.replace("_", " "))
    colours = Colours(words, low, high)  # type: ignore[arg-type] # all figures are numbers
    chart = Heatmap(
        ax.get_title(), Labels(_option(x), across), Labels(_option(y), up), colours, values, labels
    )
    draw(chart, ax)


@told
def training(history: pl.DataFrame, ax: Axes) -> None:
    """Draw how a training went, from `Learner.history`: the learned rate, what was earned, and evaluations, if there are any.

    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> training(pl.DataFrame({"steps": [1000, 2000], "rate": [1.0, 2.0], "earned": [0.5, 2.5], "evaluated": [None, 2.2]}), ax)
    >>> [line.get_label() for line in ax.get_lines()], ax.get_lines()[-1].get_ydata().tolist()
    (['learned rate', 'earned per unit time', 'evaluated'], [2.2])
    """
    _check_axes(ax)
    _check_columns(history, ["steps", *_WATCHED])
    series = []
    for place, (name, words) in enumerate(_WATCHED.items()):
        known = history.drop_nulls(name).select("steps", name)
        if len(known):
            series.append(Series(words, plain(place), known["steps"].to_list(), known[name].to_list()))
    draw(Lines("", Axis("steps"), Axis("reward per unit time"), series), ax)


@told
def frontier(found: Frontier | RiskFrontier, ax: Axes) -> None:
    """Draw the best gain for each bound of a limit, or for each deviation; bounds that no policy keeps are left out.

    >>> from matplotlib.figure import Figure
    >>> import sojourn as sj
    >>> ax = Figure().subplots()
    >>> model = sj.problems.long_shot()  # 5 per step of 1, or 12 per step of 4
    >>> frontier(sj.exact.frontier(model, sj.exact.at_least("duration", 1, per="steps"), [1, 2.5, 4]), ax)
    >>> ax.get_lines()[-1].get_ydata().round(9).tolist(), ax.get_xlabel()
    ([5.0, 3.4, 3.0], 'duration per steps at least')

    Each mark is a policy, and the line the most that can be earned with this deviation or less:

    >>> ax = Figure().subplots()
    >>> frontier(sj.exact.risk_frontier(sj.problems.three_rides()), ax)
    >>> ax.get_lines()[-1].get_xdata().round(3).tolist(), ax.get_lines()[-1].get_ydata().round(3).tolist()
    ([0.0, 2.887], [8.0, 8.333])
    """
    _check_axes(ax)
    if isinstance(found, RiskFrontier):
        draw(risk_chart(found.gains, found.deviations, is_exact=found.is_exact, title=ax.get_title()), ax)
        return
    rows = found.table().filter(pl.col("gain").is_not_nan()).sort("bound")
    if rows.is_empty():
        raise ValueError("no policy keeps any of the bounds of the frontier; give others")
    words = f"{found.limit.what} {'at least' if found.limit.is_least else 'at most'}"
    series = [series_of("gain", plain(0), rows, "bound", "gain")]
    draw(Lines(ax.get_title(), Axis(words), Axis("gain"), series), ax)


def risk_chart(
    gains: Sequence[float], deviations: Sequence[float | None], *, is_exact: bool, title: str = ""
) -> Lines:
    """Return the chart of a frontier of gain and deviation: a mark for each policy whose deviation is finite.

    >>> risk_chart([8.3, 8.0], [2.9, 0.0], is_exact=True).series[0].x
    [0.0, 2.9]
    """
    known = [
        (deviation, gain)
        for gain, deviation in zip(gains, deviations, strict=True)
        if deviation is not None and math.isfinite(deviation)
    ]
    across, up = [x for x, _ in sorted(known)], [y for _, y in sorted(known)]
    note = "Each mark is a policy; the line is the most that a policy earns with this deviation or less"
    series = [Series("the best gain", plain(0), across, up, kind="steps")]
    axes = Axis("deviation, per root of time", short="deviation"), Axis("gain")
    return Lines(
        title, *axes, series, note=f"{note}." if is_exact else f"{note}, among those found step by step."
    )


def _option(name: str) -> str:
    return name.removeprefix("option_").replace("_", " ")


def _check_axes(ax: Axes) -> None:
    if not (hasattr(ax, "imshow") and hasattr(ax, "get_title") and hasattr(ax, "plot")):
        raise TypeError(
            f"ax is {shown(ax)}; it must be the axes of a matplotlib figure, such as plt.subplots() returns"
        )


def _check_columns(table: pl.DataFrame, names: list[str]) -> None:
    for name in names:
        if name not in table.columns:
            raise ValueError(f"the table has no column {shown(name)}{nearest(name, table.columns)}")
