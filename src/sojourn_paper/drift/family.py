"""The paper's family: what was earned in it, and what can be predicted.

The paper asks for the action that is better at later steps than any that were seen. Averages of the past cannot tell; the
trend of each action's rewards and durations can, if it continues. Histories come from four episodes of a thousand steps
in which A and B are taken equally often. The horizon is step 10,000, where the paper's own figure ends. As a control, there is
a B that begins with the same slopes and grows linearly: there A is better at every log-scale.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import Executor

import numpy as np
import polars as pl

from sojourn.rules.arrays import Floats, Ints
from sojourn.rules.intervals import share_interval
from sojourn.rules.kernel import kernel
from sojourn.rules.random import Stream, streams, uniform
from sojourn.worlds.protocol import start, step
from sojourn.worlds.two_state import TwoState
from sojourn_paper.drift.plan import FAMILY, Size
from sojourn_paper.drift.trend import History, prospect
from sojourn_paper.robustness.plan import ACTION_B, LOG_SCALES

HORIZON, SEEN, EPISODES, BACK = 10_000, 1000, 4, 1.0
EVEN = 0.002775  # the log-scale from which B earned more on the steps seen: `robustness.tables.even`
WORLDS = ("as in the paper", "linear control")
_SEED = 290_000  # not used in designing the study
_LN10 = math.log(10.0)

_start, _step = start.bare, step.bare


# --- What was earned ----------------------------------------------------------------


def earned(runs: pl.DataFrame, realised: pl.DataFrame) -> pl.DataFrame:
    """Return each agent's earnings as a share of the better action's, and how often it ended with B.

    Means are over step sizes and seeds; low and high are the lowest and the highest seed.
    """
    best = realised.select("log_scale", best=pl.max_horizontal("always_a", "always_b"))
    b = (pl.col("policy").list.get(0) == ACTION_B) & ~pl.col("diverged")
    each = (
        runs.join(best, on="log_scale")
        .with_columns(share=pl.col("earned") / pl.col("best"), ended_with_b=b.fill_null(value=False))
        .group_by("agent", "log_scale", "seed", maintain_order=True)
        .agg(pl.col("share").mean(), pl.col("ended_with_b").mean())
    )
    return (
        each.group_by("agent", "log_scale", maintain_order=True)
        .agg(
            share=pl.col("share").mean(),
            low=pl.col("share").min(),
            high=pl.col("share").max(),
            ended_with_b=pl.col("ended_with_b").mean(),
        )
        .sort(pl.col("agent").replace_strict({name: place for place, name in enumerate(FAMILY)}), "log_scale")
    )


# --- What can be predicted ----------------------------------------------------------


def foretold(size: Size, pool: Executor) -> pl.DataFrame:
    """Return the share of histories in which the trend, or an average of the past, names the action better at the horizon."""
    rows = pool.map(lambda log_scale: list(_foretold(log_scale, size.histories)), LOG_SCALES)
    columns = ["world", "log_scale", "right_is_b", "histories", "by_trend", "low", "high", "by_best"]
    columns += ["by_average", "by_recent", "exponential"]
    return pl.DataFrame([row for several in rows for row in several], schema=columns, orient="row")


def _foretold(log_scale: float, count: int) -> Iterator[tuple[str | float, ...]]:
    for world in WORLDS:
        right = _better_at(log_scale, HORIZON, linear=world != WORLDS[0])
        found = np.zeros(5)
        for seed in range(count):
            both = histories(log_scale, seed, linear=world != WORLDS[0])
            ahead = [prospect(history, BACK) for history in both]
            found += (
                _largest([one.log_rate(HORIZON) for one in ahead]) == right,
                _largest([one.log_rate(HORIZON, by_best=True) for one in ahead]) == right,
                _largest([_average(history, 0.0) for history in both]) == right,
                _largest([_average(history, 0.9 * SEEN) for history in both]) == right,
                ahead[ACTION_B].reward.best.shape == "exponential",
            )
        by_trend, *others = (found / count).tolist()
        low, high = share_interval(int(found[0]), count)
        yield world, log_scale, float(right), float(count), by_trend, low, high, *others


def _largest(rates: list[float]) -> int:
    return int(np.argmax(rates))


def _better_at(log_scale: float, t: int, *, linear: bool) -> int:
    """Return the better action at a step, without the ripple of sine and cosine."""
    grown = [math.log1p(v * _LN10 * t) if linear else v * _LN10 * t for v in (log_scale, log_scale / 2.0)]
    b = math.log(10.0) + grown[0] - float(np.logaddexp(math.log(10.0) + grown[1], math.log(BACK)))
    return int(b > math.log(0.05 * t / (1.0 + BACK)))


def histories(log_scale: float, seed: int, *, linear: bool = False) -> list[History]:
    """Return each action's history in the first state: when it was taken, what it earned and how long it took."""
    total = EPISODES * SEEN
    actions, (rewards, durations) = np.zeros(total, dtype=np.int64), np.zeros((2, total))
    world_rng, choice_rng = streams(_SEED + seed, 2)
    _walk(TwoState(log_scale), world_rng, choice_rng, SEEN, actions, rewards, durations)
    steps = np.tile(np.arange(float(SEEN)), EPISODES)
    found = []
    for action in (0, 1):
        taken = actions == action
        t, r, tau = steps[taken], rewards[taken], durations[taken]
        if linear and action == ACTION_B:
            r = r * np.exp(-_LN10 * log_scale * t) * (1.0 + _LN10 * log_scale * t)
            tau = tau * np.exp(-_LN10 * log_scale / 2.0 * t) * (1.0 + _LN10 * log_scale / 2.0 * t)
        found.append(History(t, r, tau))
    return found


@kernel
def _walk(
    world: TwoState,
    world_rng: Stream,
    choice_rng: Stream,
    length: int,
    actions: Ints,
    rewards: Floats,
    durations: Floats,
) -> None:
    """Take A and B equally often; on the way back the action is -1."""
    state = 0
    for k in range(len(actions)):
        if k % length == 0:
            world, state = _start(world, world_rng)
        action = 1 if uniform(choice_rng) < 0.5 else 0
        actions[k] = action if state == 0 else -1
        world, state, rewards[k], durations[k] = _step(world, state, action, world_rng)


def _average(history: History, since: float) -> float:
    """Return an action's earnings per unit time from step `since` of each episode on, including the way back."""
    late = history.steps >= since
    return float(history.rewards[late].sum() / (history.durations[late] + BACK).sum())
