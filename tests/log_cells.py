"""The cells of the study of logs: laws with heavy tails, regimes, rare disasters and transient starts, with known truths.

`python tests/log_cells.py` measures the cells that `docs/data/logs.json` lacks, one after the other, and keeps each as it is
done; `--cells NAME` measures some again, and `--doubtful` those whose counts leave a bar open, with more logs on other seeds.
At the end it prints the tables of the page `docs/logs.md`, among them what became of each bar.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.stats import binom

import sojourn as sj
from sojourn.exact.logs.fit import LogRows
from sojourn.rules.arrays import Floats, Ints

STORE = Path(__file__).parents[1] / "docs" / "data" / "logs.json"
ROWS = (200, 500, 2_000, 10_000, 50_000)
SECONDS = 4.0  # of a cell, in which as many logs are tried as fit
SEED, OTHER_SEED, MORE_SECONDS = 9_000_000, 9_500_000, 40.0  # cells in doubt have other seeds and more time
_NOISE = 0.025  # a share outside its bar is noise if the bar's own probability gives it this often
_UNSEEN = 5.0
Noise: TypeAlias = Callable[[np.random.Generator, int], Floats]  # numbers with the mean 1
Stored: TypeAlias = dict[str, dict[str, dict[str, int]]]  # tallies by cell and rows


class Cell(NamedTuple):
    """Two or more true states with actions: what pairs earn and take on average, where they lead, and what is logged."""

    chance: Floats  # [state, action, next state]
    reward: Floats  # [state, action]: means, times a noise with the mean 1
    duration: Floats
    behaviour: Floats  # [state, action]
    noise: Noise
    label: Ints  # the state that the log shows, by true state
    units: int = 0  # rows of a unit, after which another begins in state 0; 0 if there is one unit
    rare: float = 1.0  # the probability in each row of the rarest event that matters
    is_finite: bool = True  # the variance of rewards
    breaks: bool = False  # an assumption, whatever the number of rows

    def is_doubtful(self, rows: int) -> bool:
        """Whether an assumption is broken; a log has not seen what comes up to 5 times for each action."""
        return self.breaks or self.rare * rows / self.reward.shape[1] <= _UNSEEN

    def gain(self, policy: Floats) -> float:
        """Return the exact gain of a policy [state, action]."""
        matrix = np.einsum("sa,sat->st", policy, self.chance)
        system = np.vstack([matrix.T - np.eye(len(matrix)), np.ones(len(matrix))])
        visits = np.linalg.lstsq(system, np.append(np.zeros(len(matrix)), 1.0), rcond=None)[0]
        return float(visits @ (policy * self.reward).sum(1) / (visits @ (policy * self.duration).sum(1)))

    def log(self, rows: int, seed: int) -> sj.exact.Log:
        """Return a log of this many rows."""
        rng = np.random.default_rng([seed, rows])
        upto, onward = self.behaviour.cumsum(1), self.chance.cumsum(2)
        chosen, moved = rng.random(rows).tolist(), rng.random(rows).tolist()
        acts, moves = upto.tolist(), onward.tolist()
        state, action = np.zeros(rows + 1, dtype=np.int64), np.zeros(rows, dtype=np.int64)
        after, unit, now = np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.int64), 0
        for row in range(rows):
            if self.units and row % self.units == 0:
                now = 0
            unit[row] = row // self.units if self.units else 0
            state[row] = now
            act = _place(acts[now], chosen[row])
            now = _place(moves[now][act], moved[row])
            action[row], after[row] = act, now
        true = state[:-1]
        reward = self.reward[true, action] * self.noise(rng, rows)
        duration = self.duration[true, action] * rng.gamma(4.0, 0.25, rows)
        shown = LogRows(self.label[true], action, reward, duration, self.label[after])
        labels = (tuple(range(int(self.label.max()) + 1)), tuple(range(self.reward.shape[1])))
        return sj.exact.Log(shown, unit, None, labels)


def _place(upto: list[float], drawn: float) -> int:
    at = 0
    while at < len(upto) - 1 and drawn >= upto[at]:
        at += 1
    return at


# --- Cells --------------------------------------------------------------------------------


def lognormal(sigma: float) -> Noise:
    return lambda rng, rows: rng.lognormal(-(sigma**2) / 2.0, sigma, rows)


def pareto(shape: float) -> Noise:
    return lambda rng, rows: (rng.pareto(shape, rows) + 1.0) * (shape - 1.0) / shape


def disasters(chance: float) -> Noise:
    """Nearly always 1 or so; seldom as much as all the rest together."""

    def noise(rng: np.random.Generator, rows: int) -> Floats:
        return 0.5 * rng.gamma(4.0, 0.25, rows) + (rng.random(rows) < chance) * 0.5 / chance

    return noise


def calm(rng: np.random.Generator, rows: int) -> Floats:
    return rng.gamma(4.0, 0.25, rows)


def machine(noise: Noise, units: int = 0) -> Cell:
    """A machine that wears in five steps: run it, or renew it; costs are noisy."""
    size = 5
    chance = np.zeros((size, 2, size))
    for wear in range(size):
        chance[wear, 0, min(wear + 1, size - 1)] = 0.3
        chance[wear, 0, wear] += 0.7
        chance[wear, 1, 0] = 1.0
    reward = np.stack([-(1.0 + np.arange(size) ** 1.5), np.full(size, -6.0)], axis=1)
    duration = np.stack([np.ones(size), np.full(size, 1.5)], axis=1)
    behaviour = np.tile([0.75, 0.25], (size, 1))
    if units:
        behaviour = np.tile([0.92, 0.08], (size, 1))
    return Cell(chance, reward, duration, behaviour, noise, np.arange(size), units)


def shop(noise: Noise) -> Cell:
    """One state and three actions of nearly the same worth."""
    return Cell(
        np.ones((1, 3, 1)), np.array([[-1.0, -1.1, -0.95]]), np.ones((1, 3)), np.full((1, 3), 1 / 3), noise, np.zeros(1, dtype=np.int64)
    )  # fmt: skip


def regimes(switch: float, hidden: bool) -> Cell:
    """A good and a bad regime, each with two conditions; what is done matters little and depends on the condition."""
    chance, reward = np.zeros((4, 2, 4)), np.zeros((4, 2))
    for regime in range(2):
        for condition in range(2):
            here = 2 * regime + condition
            for act in range(2):
                for then in range(2):
                    part = 0.7 if then == (condition + act) % 2 else 0.3
                    chance[here, act, 2 * regime + then] = (1.0 - switch) * part
                    chance[here, act, 2 * (1 - regime) + then] = switch * part
                reward[here, act] = (3.0 if regime == 0 else -3.0) + 0.3 * condition - 0.1 * act
    label = np.array([0, 1, 0, 1]) if hidden else np.arange(4)
    return Cell(
        chance, reward, np.ones((4, 2)), np.full((4, 2), 0.5), calm, label, rare=switch, breaks=hidden
    )


def reasons() -> Cell:
    """Whoever decides sees whether a job is easy, and the log does not: easy jobs are rushed."""
    chance, reward = np.full((2, 2, 2), 0.5), np.array([[3.0, 2.6], [0.6, 1.0]])
    behaviour = np.array([[0.9, 0.1], [0.1, 0.9]])
    return Cell(chance, reward, np.ones((2, 2)), behaviour, calm, np.zeros(2, dtype=np.int64), breaks=True)


def cells() -> dict[str, Cell]:
    """Every cell by its name."""
    noises = {
        "gamma": calm, "lognormal 1": lognormal(1.0), "lognormal 1.5": lognormal(1.5), "lognormal 2": lognormal(2.0),
        "Pareto 2.2": pareto(2.2), "Pareto 1.5": pareto(1.5),
        "disasters 1/100": disasters(0.01), "disasters 1/1,000": disasters(0.001),
    }  # fmt: skip
    found = {
        f"{kind}, {name}": make(noise)._replace(
            rare={"1/100": 0.01, "1/1,000": 0.001}.get(name.split()[-1], 1.0), is_finite=name != "Pareto 1.5"
        )
        for kind, make in (("machine", machine), ("shop", shop))
        for name, noise in noises.items()
    }
    found["regimes, switch 1/20"] = regimes(0.05, False)
    found["regimes, switch 1/200"] = regimes(0.005, False)
    found["hidden regimes, switch 1/200"] = regimes(0.005, True)
    found["new units of 20 rows, gamma"] = machine(calm, 20)
    found["new units of 20 rows, lognormal 1"] = machine(lognormal(1.0), 20)
    found["hidden reasons"] = reasons()
    return found


# --- Trials -------------------------------------------------------------------------------


class Tally(NamedTuple):
    """How many logs were tried, and in how many of them things went right or wrong."""

    logs: int
    advised: int
    too_high: int  # the limit, among the logs with advice
    worse: int  # than the behaviour, among the logs with advice
    behaviour: int  # intervals that hold the gain
    evaluated: int  # the same of a given policy
    judged: int  # logs in which that policy could be judged


def tried(cell: Cell, rows: int, seeds: Sequence[int], seconds: float) -> Tally:
    """Make logs until the time has passed or the seeds are used up, at least 20, and count."""
    hidden = int(cell.label.max()) + 1 < len(cell.label)
    before, asked = cell.gain(cell.behaviour), _asked(cell)
    wanted = cell.gain(asked)
    given = {int(state): dict(enumerate(row.tolist())) for state, row in zip(cell.label, asked, strict=True)}
    counts, begun = np.zeros(7, dtype=int), time.process_time()
    for seed in seeds:
        log = cell.log(rows, seed)
        better, behaviour = log.improve(), log.behaviour
        policy = cell.behaviour.copy()
        if not better.kept:
            for state, shown in enumerate(cell.label.tolist()):
                if shown in better.policy:
                    policy[state] = 0.0
                    policy[state, int(str(better.policy[shown]))] = 1.0
        truth, slack = cell.gain(policy), 1e-9 * abs(before)
        answer = None
        if not hidden and all(
            count in log.counts().get(state, {}) for state, row in given.items() for count, share in row.items() if share
        ):  # fmt: skip
            answer = log.evaluate(
                {state: {a: x for a, x in row.items() if x} for state, row in given.items()}
            )
        counts += [
            1,
            not better.kept,
            not better.kept and better.low > truth,
            not better.kept and truth < before - slack,
            behaviour.low <= before <= behaviour.high,
            answer is not None and answer.low <= wanted <= answer.high,
            answer is not None,
        ]
        if counts[0] >= 20 and time.process_time() - begun > seconds:
            break
    return Tally(*counts.tolist())


def _asked(cell: Cell) -> Floats:
    """Return a policy to evaluate: half the behaviour, half its last action."""
    last = np.zeros_like(cell.behaviour)
    last[:, -1] = 1.0
    return np.asarray(0.5 * cell.behaviour + 0.5 * last)


# --- Bars ---------------------------------------------------------------------------------


class Verdict(NamedTuple):
    """What became of a bar in a cell: `held` of `tried` logs, which is met, missed, or outside the bar by no more than noise."""

    bar: str
    cell: str
    rows: int
    held: int
    tried: int
    verdict: str


BARS = (
    "limit too high in at most 5 % of the logs",
    "limit too high in at most 10 % of the logs with advice",
    "the behaviour's interval holds in 92 to 98 %",
    "the interval of `log.evaluate` holds in 92 to 98 %",
)
MET, OPEN, MISSED = "met", "open", "missed"


def verdicts(stored: Stored) -> list[Verdict]:
    """Judge every bar in every cell that breaks no assumption; intervals from 500 rows on, where there is a variance."""
    found = []
    for name, cell in cells().items():
        for rows in ROWS:
            if cell.is_doubtful(rows):
                continue
            one = Tally(**stored[name][str(rows)])
            shares = [
                (BARS[0], one.too_high, one.logs, 0.0, 0.05),
                (BARS[1], one.too_high, one.advised, 0.0, 0.1),
            ]
            if rows >= 500 and cell.is_finite:
                shares.append((BARS[2], one.behaviour, one.logs, 0.92, 0.98))
                shares.append((BARS[3], one.evaluated, one.judged, 0.92, 0.98))
            found += [
                Verdict(bar, name, rows, held, tries, _judged(held, tries, low, high))
                for bar, held, tries, low, high in shares
                if tries
            ]
    return found


def _judged(held: int, tries: int, low: float, high: float) -> str:
    """Return the verdict on a share that should lie between `low` and `high`, by the binomial law of its count."""
    if low * tries <= held <= high * tries:
        return MET
    beyond = binom.cdf(held, tries, low) if held < low * tries else binom.sf(held - 1, tries, high)
    return OPEN if beyond > _NOISE else MISSED


def main() -> None:
    """Measure what is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", nargs="*", default=None)
    parser.add_argument("--doubtful", action="store_true")
    parser.add_argument("--rows", nargs="*", type=int, default=list(ROWS))
    parser.add_argument("--seconds", type=float, default=None)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--store", type=Path, default=STORE)
    given = parser.parse_args()
    stored = json.loads(given.store.read_text()) if given.store.exists() else {}
    again = (
        {(one.cell, one.rows) for one in verdicts(stored) if one.verdict != MET} if given.doubtful else set()
    )
    first, most, seconds = (OTHER_SEED, 10_000, MORE_SECONDS) if given.doubtful else (SEED, 1_000, SECONDS)
    first = first if given.seed is None else given.seed
    for name, cell in cells().items():
        for rows in given.rows:
            missing = str(rows) not in stored.get(name, {})
            asked = missing if given.cells is None else name in given.cells
            if not ((name, rows) in again if given.doubtful else asked):
                continue
            found = tried(cell, rows, range(first, first + most), given.seconds or seconds)
            stored.setdefault(name, {})[str(rows)] = found._asdict()
            given.store.write_text(json.dumps(stored, indent=1) + "\n")
    sys.stdout.write("\n\n".join(tables(stored)) + "\n")


def tables(stored: Stored) -> list[str]:
    """Return the tables of the page: wrong limits, intervals that hold (with a star, an assumption is broken), and the bars."""
    head = "| log | " + " | ".join(f"{rows:,} rows" for rows in ROWS) + " |\n|---|" + "--:|" * len(ROWS)
    limits, held = [head], [head]
    for name, cell in cells().items():
        all_found = [
            (Tally(**stored[name][str(rows)]), "*" if cell.is_doubtful(rows) else "") for rows in ROWS
        ]
        wrong = [f"{one.too_high:,} of {one.advised:,} of {one.logs:,}{star}" for one, star in all_found]
        right = [
            f"{100.0 * one.behaviour / one.logs:.1f}"
            + (f", {100.0 * one.evaluated / one.judged:.1f}" if one.judged else "")
            + f" ± {100.0 * math.sqrt(0.05 * 0.95 / one.logs):.1f}{star}"
            for one, star in all_found
        ]
        limits.append(f"| {name} | " + " | ".join(wrong) + " |")
        held.append(f"| {name} | " + " | ".join(right) + " |")
    return ["\n".join(limits), "\n".join(held), *_judged_tables(verdicts(stored))]


def _judged_tables(found: list[Verdict]) -> list[str]:
    """Return how many cells meet each bar, and the others one by one."""
    counted = ["| bar | cells | met | open | missed |\n|---|--:|--:|--:|--:|"]
    for bar in BARS:
        words = [one.verdict for one in found if one.bar == bar]
        counted.append(
            f"| {bar} | {len(words)} | "
            + " | ".join(str(words.count(word)) for word in (MET, OPEN, MISSED))
            + " |"
        )
    each = ["| cell | rows | bar | measured | verdict |\n|---|--:|---|--:|---|"]
    each += [
        f"| {one.cell} | {one.rows:,} | {one.bar} | {100.0 * one.held / one.tried:.1f} % of {one.tried:,} | {one.verdict} |"
        for one in found
        if one.verdict != MET
    ]
    return ["\n".join(counted), "\n".join(each)]


if __name__ == "__main__":
    main()
