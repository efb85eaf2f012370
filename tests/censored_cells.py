"""The study of logs with censored rows: new units that are watched for a while, by time stamps of one second, with a known truth.

`python tests/censored_cells.py` tries every cell and prints the tables of the page `docs/logs.md` (minutes; --logs sets how many
logs of a cell are tried, and --units how many units they have).
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.integrate import quad

import sojourn as sj

Draw: TypeAlias = Callable[[np.random.Generator], tuple[float, int]]  # how long, and the next state

NEW, WORN, FAILED = 0, 1, 2
EARNING = (10.0, 6.0, 0.0)  # per unit of time, by state
RUN, FIX = "run", "fix"
COST = {(WORN, FIX): -1.0, (FAILED, FIX): -8.0}
FIXED = 0.3  # the share of worn machines that are fixed
UNITS = (50, 200, 1000)
SHARES = {"20 %": 4.4, "40 %": 1.75, "60 %": 0.85}  # censored rows, and how long units are watched on average


class Cell(NamedTuple):
    """Machines that run until they are worn, and then until they fail or seem new again; worn ones are sometimes fixed."""

    new: Callable[[np.random.Generator], float]  # how long a new machine runs
    means: tuple[float, float]  # of a new one, and of a worn one
    worn: Draw
    renewed: float  # the probability that a worn machine seems new again
    second: float = 0.01  # the tick of the clock, in units of time
    is_lost_early: bool = False  # machines are lost from sight for reasons of their own

    def gain(self, fixed: float) -> float:
        """Return the exact gain if worn machines are fixed with this probability."""
        runs = 1.0 - fixed
        fails = runs * (1.0 - self.renewed)
        time = self.means[0] + runs * self.means[1] + fixed * 0.4 + fails
        earned = EARNING[NEW] * self.means[0] + EARNING[WORN] * (runs * self.means[1] + fixed * 0.4)
        return (earned + fixed * COST[WORN, FIX] + fails * COST[FAILED, FIX]) / time

    def log(self, units: int, watched: float, seed: int, law: str) -> sj.Log:
        """Return the log of units that begin new and are watched for a random time."""
        rng = np.random.default_rng([seed, units])
        rows: list[tuple[int, float, int, str, float]] = []
        for unit in range(units):
            time, state, phase = 0.0, NEW, rng.random() * self.second
            end = watched * rng.uniform(0.2, 1.8)
            while time <= end:
                action = FIX if state == FAILED or (state == WORN and rng.random() < FIXED) else RUN
                stamp = math.floor((time + phase) / self.second) * self.second
                rows.append((unit, stamp, state, action, end))
                if action == FIX:
                    lasts, state = (rng.gamma(2.0, 0.5) if state == FAILED else rng.exponential(0.4)), NEW
                else:
                    lasts, state = (self.new(rng), WORN) if state == NEW else self.worn(rng)
                    if self.is_lost_early and lasts > 1.0 and rng.random() < 0.5:
                        end = min(end, time + 0.5)
                        rows[-1] = (*rows[-1][:4], end)
                time += lasts
        names = ("unit", "time", "state", "action", "until")
        table = {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
        last = dict(zip(table["unit"], table["until"], strict=True))
        table["until"] = [
            max(math.floor(last[u] / self.second) * self.second, t)
            for u, t in zip(table["unit"], table["time"], strict=True)
        ]
        table["cost"] = [COST.get(pair, 0.0) for pair in zip(table["state"], table["action"], strict=True)]
        table["earns"] = [EARNING[state] for state in table["state"]]
        return sj.read_events(table, reward="cost", earning="earns", until="until", durations=law)


def simple(new: Callable[[np.random.Generator, float], float]) -> Cell:
    """A cell in which a worn machine's next state does not depend on how long it runs."""
    return Cell(
        lambda rng: new(rng, 1.0),
        (1.0, 0.7),
        lambda rng: (new(rng, 0.7), NEW if rng.random() < 0.3 else FAILED),
        0.3,
    )


def _lognormal(rng: np.random.Generator, mean: float) -> float:
    return float(rng.lognormal(math.log(mean) - 0.5, 1.0))


def _weibull(shape: float) -> Callable[[np.random.Generator, float], float]:
    scale = 1.0 / math.gamma(1.0 + 1.0 / shape)
    return lambda rng, mean: float(mean * scale * rng.weibull(shape))


def competing() -> Cell:
    """A worn machine fails after a Weibull time, unless it seems new again before: long ones seldom fail."""

    def survival(t: float) -> float:
        return math.exp(-((t / 1.2) ** 3.0) - (t / 0.8))

    def worn(rng: np.random.Generator) -> tuple[float, int]:
        fails, renewed = 0.8 * rng.exponential(), 1.2 * rng.weibull(3.0)
        return (float(fails), FAILED) if fails < renewed else (float(renewed), NEW)

    mean = quad(survival, 0.0, 6.0)[0]
    return Cell(lambda rng: float(rng.gamma(3.0, 1.0 / 3.0)), (1.0, mean), worn, 1.0 - mean / 0.8)


def cells() -> dict[str, Cell]:
    """Every cell by its name."""
    gamma = simple(lambda rng, mean: float(rng.gamma(3.0, mean / 3.0)))
    return {
        "gamma, shape 3": gamma,
        "exponential": simple(lambda rng, mean: float(rng.exponential(mean))),
        "Weibull, shape 2": simple(_weibull(2.0)),
        "Weibull, shape 0.7": simple(_weibull(0.7)),
        "lognormal, sigma 1": simple(_lognormal),
        "competing ends": competing(),
        "gamma, ticks of a third of the mean": gamma._replace(second=1.0 / 3.0),
        "gamma, slow ones lost early": gamma._replace(is_lost_early=True),
    }


class Tally(NamedTuple):
    """Of the logs that were tried: censored rows, behaviour's and a policy's intervals that hold, and limits that do not."""

    logs: int
    censored: float
    held: int
    said: int  # intervals that do not hold, in a log that says that it has not reached its long run
    evaluated: int
    advised: int
    too_high: int
    failed: int  # logs without an answer


def tried(cell: Cell, units: int, watched: float, law: str, logs: int, first: int = 0) -> Tally:
    """Try as many logs, and count."""
    truth, asked = cell.gain(FIXED), cell.gain(1.0)
    tally = Tally(logs, 0.0, 0, 0, 0, 0, 0, 0)
    for seed in range(first, first + logs):
        try:
            log = cell.log(units, watched, seed, law)
        except ValueError:  # it says that no row leads to a state that is left
            tally = tally._replace(failed=tally.failed + 1)
            continue
        if not {FIX, RUN} <= set(log.counts().get(WORN, {})) or FAILED not in log.states:
            tally = tally._replace(failed=tally.failed + 1)
            continue
        behaviour, found, better = log.behaviour, log.evaluate({WORN: FIX}), log.improve()
        held = behaviour.low <= truth <= behaviour.high
        promised = cell.gain(1.0 if better.policy[WORN] == FIX else 0.0)
        tally = Tally(
            logs,
            tally.censored + log.censored / len(log) / logs,
            tally.held + held,
            tally.said + (not held and not behaviour.reached_long_run),
            tally.evaluated + (found.low <= asked <= found.high),
            tally.advised + (not better.kept),
            tally.too_high + (not better.kept and better.low > promised),
            tally.failed,
        )
    return tally


def main() -> None:
    """Print the tables."""
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--logs", type=int, default=200)
    given.add_argument("--laws", nargs="+", default=["kaplan-meier", "weibull"])
    given.add_argument("--units", nargs="+", type=int, default=UNITS)
    asked = given.parse_args()
    logs, sizes = asked.logs, asked.units
    for law in asked.laws:
        _say(f"\n{law}\n\n| log | " + " | ".join(f"{u:,} units, {s}" for u in sizes for s in SHARES) + " |")
        _say("|---|" + "--:|" * (len(sizes) * len(SHARES)))
        shares: list[list[float]] = []
        for name, cell in cells().items():
            found = [tried(cell, units, watched, law, logs) for units in sizes for watched in SHARES.values()]
            shares.append([one.censored for one in found])
            _say(f"| {name} | " + " | ".join(_entry(one) for one in found) + " |")
        _say(f"censored: {np.round(np.array(shares), 2).tolist()}")


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _entry(one: Tally) -> str:
    tried_ = one.logs - one.failed
    if tried_ == 0:
        return ""
    said = f" (+{100.0 * one.said / tried_:.0f})" if one.said else ""
    return f"{100.0 * one.held / tried_:.0f}{said}, {100.0 * one.evaluated / tried_:.0f}; {one.too_high} of {one.advised}"


if __name__ == "__main__":
    main()
