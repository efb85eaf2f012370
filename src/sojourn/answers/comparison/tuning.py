"""Chooses the options of agents: the best of a grid, which is widened if the best lies on its edge.

The best setting for the final policy is the one whose policies have the largest mean relative gain; ties are broken
by what was earned on the way. The best setting for earning is the one that earned most. Both are sought in the same
runs. After the whole grid, the search continues around the best setting, one choice up and down in each option, until
all neighbours have been tried. Grids are extended geometrically or arithmetically, by their last step: 0.9 comes
after 0.1 and 0.3. An option is not widened beyond what its agent accepts, nor by more than a given number of choices;
if the best choice is then still on the edge, this is reported.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import polars as pl

from sojourn.answers.comparison import plan
from sojourn.answers.comparison.plan import Grid, Settings, subject
from sojourn.runs.build import build_agent
from sojourn.runs.spec import Sweep

Point = dict[str, float]  # a choice for each option
Means = tuple[float, float]  # mean relative gain, mean earnings
Judged = Callable[[Sweep, str], pl.DataFrame]  # runs a sweep into a folder of this name, and judges it


@dataclass(frozen=True)
class TunedOptions:
    """The best options, and those of them on the edge of what was tried."""

    options: Point
    edges: tuple[str, ...]


@dataclass
class OptionSearch:
    """The search state for one agent."""

    grid: Grid  # grows as it is widened
    accepts: Callable[[Point], bool]  # whether the agent accepts a setting
    widen: int
    tried: dict[tuple[float, ...], Means] = field(default_factory=dict)
    added: dict[tuple[str, bool], int] = field(
        default_factory=dict
    )  # choices added at an option's lower or upper end

    def add(self, table: pl.DataFrame) -> None:
        """Record judged runs of this agent."""
        names = list(self.grid)
        means = [pl.col("relative_gain").mean().round(9), pl.col("earned").mean().fill_null(float("-inf"))]
        if not names:
            self.tried[()] = table.select(means).row(0)
            return
        for row in table.group_by(names, maintain_order=True).agg(means).iter_rows():
            self.tried[row[: len(names)]] = row[len(names) :]

    def best(self, measure: str) -> Point:
        """Return the best setting so far; among equals, the one tried first."""
        by_policy = measure == "policy"
        key = max(self.tried, key=lambda point: self.tried[point] if by_policy else self.tried[point][::-1])
        return dict(zip(self.grid, key, strict=True))

    def missing(self) -> list[Point]:
        """Return the untried neighbours of the best settings, widening the grid for them."""
        points = []
        for measure in plan.TUNED_FOR:
            best = self.best(measure)
            for option, up in self._ways():
                beyond = self._neighbour(best, option, up)
                if beyond is None and self._may_widen(best, option, up):
                    beyond = _beyond(self.grid[option], up)
                    self.grid[option].insert(len(self.grid[option]) if up else 0, beyond)
                    self.added[option, up] = self.added.get((option, up), 0) + 1
                if beyond is not None:
                    points.append({**best, option: beyond})
        different = {tuple(point.values()): point for point in points}
        return [point for key, point in different.items() if key not in self.tried]

    def chosen(self, measure: str) -> TunedOptions:
        """Return the best setting, and the edges of the grid on which it lies."""
        best = self.best(measure)
        edges = (
            option
            for option, up in self._ways()
            if self._neighbour(best, option, up) is None and self._goes_on(best, option, up)
        )
        return TunedOptions(best, tuple(dict.fromkeys(edges)))

    def _ways(self) -> Iterator[tuple[str, bool]]:
        """Yield each tuned option with both directions."""
        for option, choices in self.grid.items():
            if len(choices) > 1:
                yield from ((option, False), (option, True))

    def _neighbour(self, point: Point, option: str, up: bool) -> float | None:
        """Return the next choice of an option, or None at the end of the grid."""
        choices = self.grid[option]
        place = choices.index(point[option]) + (1 if up else -1)
        return choices[place] if 0 <= place < len(choices) else None

    def _may_widen(self, point: Point, option: str, up: bool) -> bool:
        return self.added.get((option, up), 0) < self.widen and self._goes_on(point, option, up)

    def _goes_on(self, point: Point, option: str, up: bool) -> bool:
        """Whether the agent would accept a choice beyond the grid."""
        return self.accepts({**point, option: _beyond(self.grid[option], up)})


def _beyond(choices: list[float], up: bool) -> float:
    """Extend a grid at one end: by the ratio of its last two choices, or by their difference.

    >>> _beyond([0.01, 0.03, 0.1], up=True), _beyond([0.0, 0.5], up=False)
    (0.333, -0.5)
    """
    end, inner = (choices[-1], choices[-2]) if up else (choices[0], choices[1])
    beyond = end * (end / inner) if min(end, inner) > 0.0 else 2.0 * end - inner
    return float(f"{beyond:.3g}")


def tuned(problem: str, settings: Settings, judged: Judged) -> dict[str, dict[str, TunedOptions]]:
    """Return the best options of each agent, for its final policy and for what it earns on the way."""
    searches = {
        name: OptionSearch(grid, _acceptance(problem, settings, name), settings.widen)
        for name, grid in plan.grids(problem, settings).items()
    }
    table = judged(plan.tuning(problem, settings), "tuning")
    for number in itertools.count(2):  # it ends: no setting is tried twice, and grids grow by few choices
        for (label,), runs in table.group_by("agent", maintain_order=True):
            searches[str(label).partition(plan.NUMBERED)[0]].add(runs)
        points = {name: found for name, search in searches.items() if (found := search.missing())}
        if not points:
            break
        table = judged(plan.more_tuning(problem, settings, points), f"tuning-{number}")
    return {
        name: {measure: search.chosen(measure) for measure in plan.TUNED_FOR}
        for name, search in searches.items()
    }


def _acceptance(problem: str, settings: Settings, name: str) -> Callable[[Point], bool]:
    """Return a function that says whether an agent's constructor accepts a setting."""
    sizes, agent = subject(problem), plan.compared(settings)[name]

    def accepts(point: Mapping[str, float]) -> bool:
        try:
            build_agent(agent.kind, {**agent.options, **point}, sizes.num_states, sizes.num_actions)
        except (ValueError, TypeError):
            return False
        return True

    return accepts
