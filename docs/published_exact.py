"""Published gains of models, and the models: each is what was published beside a function that says how its states move."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import poisson

import sojourn as sj

Choices = dict[str, dict[str, Any]]

# Mean demand: s, S and the cost per period (K = 64, h = 1, p = 9). Y.-S. Zheng and A. Federgruen, Finding optimal (s, S)
# policies is about as simple as evaluating a single policy, Operations Research 39 (1991).
ZHENG_FEDERGRUEN = {
    10: (6, 40, 35.022), 15: (10, 49, 42.698), 20: (14, 62, 49.173), 25: (19, 56, 54.262), 30: (23, 66, 57.819),
    35: (28, 77, 61.215), 40: (33, 87, 64.512), 45: (37, 97, 67.776), 50: (42, 108, 70.975), 55: (47, 118, 74.149),
    60: (52, 129, 77.306), 65: (56, 75, 78.518), 70: (62, 81, 79.037), 75: (67, 86, 79.554),
}  # fmt: skip
SNYDER_SHEN = (
    4,
    10,
    8.034112,
)  # Fundamentals of Supply Chain Theory, example 4.7: mean demand 6, K = 5, h = 1, p = 4
# Share of the power: own settled blocks per settled block, with no followers. A. Sapirshtein, Y. Sompolinsky and A. Zohar,
# Optimal selfish mining strategies in Bitcoin (2016); branches of up to 75 blocks.
SELFISH = {
    1 / 3: 0.33705, 0.35: 0.37077, 0.375: 0.42600, 0.4: 0.48863, 0.425: 0.56790, 0.45: 0.66815, 0.475: 0.79890
}  # fmt: skip
N_POLICY = {1: 6.0, 2: 4.0, 3: 11 / 3, 4: 3.75, 5: 4.0}  # by the formula of textbooks, see the page


class Row(NamedTuple):
    """A published number beside ours."""

    group: str
    case: str
    published: str  # as it was printed
    ours: float
    lower: float
    upper: float

    @property
    def agrees(self) -> bool:
        """Whether ours is the published number to all of its digits.

        >>> Row("", "", "8.03", 8.034, 8.034, 8.034).agrees, Row("", "", "8.03", 8.036, 8.036, 8.036).agrees
        (True, False)
        """
        digits = len(self.published.partition(".")[2])
        return abs(self.ours - float(self.published)) <= 0.5000001 * 10.0**-digits


# --- Models -------------------------------------------------------------------------


def inventory(mean: float, fixed: float, holding: float, penalty: float) -> sj.exact.Solution:
    """An inventory that is looked at before each period: order now, up to any level, or wait. Unmet demand waits, too.

    Choosing whether and how much takes no time. Demands that are rarer than 1e-16 are left out.
    """
    demand = np.arange(int(poisson.isf(1e-16, mean)) + 1)
    chance = poisson.pmf(demand, mean) / poisson.pmf(demand, mean).sum()

    def moves(state: tuple[str, int]) -> Choices:
        when, level = state
        if when == "how much":
            return {
                up: {"reward": 0.0, "duration": 0.0, "next": ("period", up)}
                for up in range(int(3 * mean) + 40)
            }
        if when == "whether":
            order = {"reward": -fixed, "duration": 0.0, "next": ("how much", 0)}
            wait = {"reward": 0.0, "duration": 0.0, "next": ("period", level)}
            return {"order": order, "wait": wait} if level > -2 * mean else {"order": order}
        left = level - demand
        cost = float(chance @ (holding * np.maximum(left, 0) + penalty * np.maximum(-left, 0)))
        after = {("whether", here): p for here, p in zip(left.tolist(), chance.tolist(), strict=True)}
        return {"sell": {"reward": -cost, "duration": 1.0, "next": after}}

    return sj.solve(sj.models.explore(("how much", 0), moves))


def levels(best: sj.exact.Solution) -> tuple[int, int]:
    """Return s and S: order at s or less, up to S. Levels above S are never met."""
    up_to = best.policy["how much", 0]
    orders = [
        level
        for when, level in best.model.labels
        if when == "whether" and level <= up_to and best.policy[when, level] == "order"
    ]
    return max(orders), up_to


def selfish(
    state: tuple[int, int, int], power: float = 0.35, followers: float = 0.0, longest: int = 75
) -> Choices:
    """What a selfish miner can do with its own and the public branch; the duration counts settled blocks."""
    own, public, fork = state  # 1: others found the last block; 2: both branches are public
    others, found = 1.0 - power, {}

    def act(name: str, mine: tuple[int, ...], theirs: tuple[int, ...], won: float, settled: float) -> None:
        found[name] = {"reward": won, "duration": settled, "next": {mine: power, theirs: others}}

    if public:
        act("adopt", (1, 0, 0), (0, 1, 0), 0.0, public)
    if own > public:
        act("override", (own - public, 0, 0), (own - public - 1, 1, 1), public + 1.0, public + 1.0)
    if own < longest and public < longest and fork < 2:
        act("wait", (own + 1, public, 0), (own, public + 1, 1), 0.0, 0.0)
    if own < longest and public < longest and fork and own >= public > 0:
        after = {(own + 1, public, 2): power, (own - public, 1, 1): followers * others}
        after |= {(own, public + 1, 1): (1.0 - followers) * others}
        won = followers * others * public
        found["match"] = {"reward": won, "duration": won, "next": after}
    return found


def n_policy(state: tuple[int, bool], room: int = 60) -> Choices:
    """M/M/1 with arrivals at 1 and services at 2 whose server may sleep; waking it costs 10, a job costs 1 per unit time."""
    jobs, awake = state
    come = [((min(jobs + 1, room), awake), 1.0)]
    run = {"rates": [*come, ((jobs - 1, jobs > 1), 2.0)] if awake else come, "earning": -float(jobs)}
    wake = {"reward": -10.0, "duration": 0.0, "next": (jobs, True)}
    return {"run": run} if awake or not jobs else {"run": run, "wake": wake}


_WASTE = (1 / 8, 1 / 2, 1 / 4, 1 / 8)


def waste(level: int) -> Choices:
    """Exercise 6.4 of Tijms: a basin for waste holds 4 units; emptying it costs 25 + 5 a unit, what does not fit 30 a unit."""
    fills: dict[int, float] = {}
    for new, chance in enumerate(_WASTE):
        fills[min(level + new, 4)] = fills.get(min(level + new, 4), 0.0) + chance
    excess = sum(chance * max(level + new - 4, 0) for new, chance in enumerate(_WASTE))
    nothing = {"reward": -30.0 * excess, "duration": 1.0, "next": fills}
    empty = {"reward": -25.0 - 5.0 * level, "duration": 1.0, "next": dict(enumerate(_WASTE))}
    return {"nothing": nothing, "empty": empty} if level else {"nothing": nothing}


_DEMANDS = ((0.5, 0.3, 0.2), (0.25, 0.5, 0.25), (0.375, 0.375, 0.25), (0.3, 0.5, 0.2), (0.5, 0.25, 0.25))
_REFILLS = (60.0, 30.0, 50.0, 25.0, 100.0)


def tour(state: tuple[int, int]) -> Choices:
    """Exercise 6.7 of Tijms: a van with up to 5 spares goes round five towns; a town without enough of them costs 200."""
    stock, town = state
    then = (town + 1) % 5

    def after(left: int) -> dict[tuple[int, int], float]:
        found: dict[tuple[int, int], float] = {}
        for used, chance in enumerate(_DEMANDS[then]):
            place = (max(left - used, 0), then)
            found[place] = found.get(place, 0.0) + chance
        return found

    short = 200.0 * sum(_DEMANDS[town][stock + 1 :])
    return {
        "go on": {"reward": -short, "duration": 1.0, "next": after(stock)},
        "refill": {"reward": -_REFILLS[town], "duration": 1.0, "next": after(5)},
    }


_HOURS = ((0, 3, 6, 3, 2), (4, 0, 1, 7, 5), (5, 1, 0, 6, 8), (3, 8, 5, 0, 2), (2, 5, 9, 2, 0))
_FARES = ((0, 8, 12, 6, 6), (20, 0, 2, 14, 16), (16, 2, 0, 18, 16), (6, 10, 20, 0, 6), (8, 16, 20, 8, 0))


def trucks(town: int) -> Choices:
    """Exercise 7.3 of Tijms: which of four towns to drive to next, each with its time and its fare."""
    return {
        str(to): {"reward": _FARES[town][to], "duration": _HOURS[town][to], "next": to}
        for to in range(5)
        if to != town
    }


def two_states(state: int) -> Choices:
    """The example of Gao and Zhou (2024): each action leads to the other state, at its rate and with its reward."""
    rewards, rates = ((5.0, 8.0), (-4.0, -12.0)), ((3.0, 5.0), (2.0, 7.0))
    return {str(a): {"rates": [(1 - state, rates[state][a], rewards[state][a])]} for a in range(2)}


# --- What was published beside what is found -----------------------------------------


def solved(
    group: str, case: str, published: str, start: Any, moves: Callable[..., Any], sign: float = 1.0
) -> Row:
    """Return the row of a model that is to be explored and solved; costs are shown with their sign turned."""
    return _row(group, case, published, sj.solve(sj.models.explore(start, moves)), sign)


def _row(group: str, case: str, published: str, best: sj.exact.Solution, sign: float) -> Row:
    low, high = sorted((sign * best.lower, sign * best.upper))
    return Row(group, case, published, sign * best.gain, low, high)


def inventories() -> Iterator[Row]:
    """Yield all inventories, each with the s and S that were found."""
    for mean, (_, _, cost) in ZHENG_FEDERGRUEN.items():
        yield _inventory("Zheng and Federgruen", f"mean demand {mean}", f"{cost:.3f}", (mean, 64.0, 1.0, 9.0))
    yield _inventory("Snyder and Shen", "example 4.7", f"{SNYDER_SHEN[2]:.6f}", (6.0, 5.0, 1.0, 4.0))


def _inventory(group: str, case: str, published: str, given: tuple[float, float, float, float]) -> Row:
    best = inventory(*given)
    least, up_to = levels(best)
    return _row(group, f"{case}: s {least}, S {up_to}", published, best, -1.0)


def miners(shares: tuple[float, ...] = tuple(SELFISH)) -> Iterator[Row]:
    """Yield selfish miners without followers, and with everybody following."""
    for share in shares:
        moves = partial(selfish, power=share)
        yield solved(
            "Sapirshtein et al.",
            f"share {share:.4g}, no followers",
            f"{SELFISH[share]:.5f}",
            (1, 0, 0),
            moves,
        )
    for share in (0.25, 0.4):
        moves, limit = partial(selfish, power=share, followers=1.0), share / (1.0 - share)
        yield solved("Sapirshtein et al.", f"share {share:g}, all follow", f"{limit:.5f}", (1, 0, 0), moves)


def others() -> Iterator[Row]:
    """Yield the exercises of Tijms, the N-policy and the example of CT-UCRL."""
    yield solved("Tijms", "exercise 6.4", "-17.768692", 0, waste)
    yield solved("Tijms", "exercise 6.7", "-7.813271", (5, 0), tour)
    yield solved("Tijms", "exercise 7.3", "4", 0, trucks)
    yield _row("Tijms", "example 6.1.1", "-0.433790", sj.solve(sj.problems.tijms_maintenance()), 1.0)
    model = sj.models.explore((0, False), n_policy)
    for least, cost in N_POLICY.items():
        rule = {
            (jobs, awake): "wake" if jobs >= least and not awake else "run" for jobs, awake in model.labels
        }
        worth = -sj.evaluate(model, rule).gain
        yield Row("N-policy", f"wake at {least}", f"{cost:.6f}", worth, worth, worth)
    yield _row("N-policy", "the best", f"{min(N_POLICY.values()):.6f}", sj.solve(model), -1.0)
    yield solved("Gao and Zhou", "two states", f"{40 / 7:.6f}", 0, two_states)


def rows() -> list[Row]:
    """Return all published numbers beside ours."""
    return [*inventories(), *miners(), *others()]


# --- On the page --------------------------------------------------------------------


def table(found: list[dict[str, Any]]) -> str:
    """Return published numbers beside ours, to two more digits; one that differs is set in italics.

    >>> print(table([Row("Tijms", "exercise 7.3", "4", 4.0, 4.0, 4.0)._asdict()]))
    | | | published | ours |
    |---|---|---:|---:|
    | Tijms | exercise 7.3 | 4 | 4.00 |
    """
    lines = ["| | | published | ours |", "|---|---|---:|---:|"]
    for row in (Row(**each) for each in found):
        ours = f"{row.ours:.{len(row.published.partition('.')[2]) + 2}f}"
        lines.append(
            f"| {row.group} | {row.case} | {row.published} | {ours if row.agrees else f'*{ours}*'} |"
        )
    return "\n".join(lines)
