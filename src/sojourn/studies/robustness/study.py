"""The paper's simulation study: with which action do agents end on the two-state family.

Thirty log-scales, twenty step sizes by twenty rate step sizes, four episodes of a thousand
steps, exploration 0.2. The paper calls a run a *success* if its greedy action in state 0 is B
in the end. A seed fixes the exploration and the noise of all cells at once.

Beside the paper's three agents there are controls, above all `fixed_rate`, which takes the
rate to be 0 and never learns it; and beside success there is what each action *earned* on the
steps that were seen.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from sojourn.agents.named import harmonic_r, policy_agent, relaxed_smart, smart
from sojourn.runs.batch import grid, run_many
from sojourn.runs.grids import Entry, spaced
from sojourn.runs.loop import run
from sojourn.runs.spec import Sweep
from sojourn.worlds.two_state import TwoState, cos_log_drift, sin_log_drift

ACTION_B = 1
LOG_SCALES = spaced("logspace", 1e-5, 1e-1, 30)
STEP_SIZES = spaced("logspace", 1e-4, 1e-1, 20)
EXPLORATION = 0.2

PAPER = {"smart": "SMART", "relaxed_smart": "Relaxed-SMART", "harmonic_r": "Harmonic R-Learning"}
CONTROLS = {
    "fixed_rate": "rate fixed at 0",
    "r_learning": "R-Learning",
    "weighted_harmonic_r": "weighted harmonic",
    "relaxed_smart_gosavi": "Relaxed-SMART (Gosavi)",
}
NAMES = PAPER | CONTROLS


def specification(seeds: int, steps: int = 1000, episodes: int = 4) -> Sweep:
    """Return the study as a sweep."""
    one: dict[str, Any] = {"step_size": STEP_SIZES, "exploration": EXPLORATION}
    two = {**one, "rate_step_size": STEP_SIZES}
    return Sweep(
        name="robustness",
        worlds=[Entry("two_state", {"log_scale": LOG_SCALES})],
        agents=[
            Entry("smart", one),
            Entry("relaxed_smart", two),
            Entry("harmonic_r", two),
            Entry("fixed_rate", one),
            Entry("r_learning", two),
            Entry("weighted_harmonic_r", two),
            Entry("relaxed_smart", {**two, "variant": "gosavi"}, label="relaxed_smart_gosavi"),
        ],
        seeds=list(range(seeds)),
        steps=steps,
        episodes=episodes,
    )


# --- Tables -------------------------------------------------------------------------


def with_success(results: pl.DataFrame) -> pl.DataFrame:
    """Add the greedy action in state 0 and whether it is B; a run that diverged is no success."""
    action = pl.col("policy").list.get(0).cast(pl.Int64)
    success = (action == ACTION_B) & ~pl.col("diverged")
    return results.with_columns(greedy_action=action, success=success.fill_null(value=False))


def shares(results: pl.DataFrame) -> pl.DataFrame:
    """Return the share of successes for each agent, log-scale and seed, over the step sizes."""
    return results.group_by("agent", "log_scale", "seed", maintain_order=True).agg(
        share=pl.col("success").mean(), diverged=pl.col("diverged").mean()
    )


def over_seeds(share: pl.DataFrame) -> pl.DataFrame:
    """Return mean, median and range over the seeds, log-scales ascending."""
    return (
        share.group_by("agent", "log_scale", maintain_order=True)
        .agg(
            mean=pl.col("share").mean(),
            median=pl.col("share").median(),
            low=pl.col("share").min(),
            high=pl.col("share").max(),
        )
        .sort("agent", "log_scale")
    )


def realised(steps: int, seeds: int) -> pl.DataFrame:
    """Return what always taking A and always taking B earn per unit time, on the steps seen."""
    rows = []
    for log_scale in LOG_SCALES:
        earned = []
        for action in (0, 1):
            agent = policy_agent([action, 0], num_actions=2)
            runs = [run(TwoState(log_scale), agent, steps, seed=seed, record=0) for seed in range(seeds)]
            earned.append(float(np.mean([one.reward / one.duration for one in runs])))
        rows.append((log_scale, *earned))
    return pl.DataFrame(rows, schema=["log_scale", "always_a", "always_b"], orient="row")


def learned_rates(results: pl.DataFrame) -> pl.DataFrame:
    """Return the median learned rate of each agent at each log-scale."""
    finite = results.filter(~pl.col("diverged"))
    return finite.group_by("agent", "log_scale", maintain_order=True).agg(rate=pl.col("rate").median())


def rates_by_step(log_scale: float, steps: int) -> pl.DataFrame:
    """Return both actions' reward, duration and rate at every decision step, without noise."""
    t = np.arange(min(steps, int(300.0 / log_scale)))  # beyond, the numbers leave the floats
    reward = np.array([sin_log_drift(float(x), 10.0, log_scale) for x in t])
    duration = np.array([cos_log_drift(float(x), 10.0, log_scale / 2.0) for x in t])
    return pl.DataFrame(
        {"step": t, "reward": reward, "duration": duration, "rate_b": reward / duration, "rate_a": 0.05 * t}
    )


def overtakes(log_scale: float, horizon: int = 1_000_000) -> float | None:
    """Return the step at which B's rate, without its ripple, passes A's for good.

    Without ripple the rates are 10^(v t/2) and 0.05 t. They may never cross: then B is ahead
    all along, and the step is 0; None means that it is beyond the horizon.
    """
    t = np.arange(1, horizon, dtype=np.float64)
    behind = np.flatnonzero(np.log10(0.05 * t) > log_scale * t / 2.0)
    if behind.size == 0:
        return 0.0
    return None if behind[-1] == t.size - 1 else float(t[behind[-1]] + 1.0)


def touches(log_scale: float, after: int, horizon: int = 20_000) -> int:
    """Return the first step from `after` on at which B's rate, ripple included, is above A's."""
    table = rates_by_step(log_scale, horizon).slice(after)
    return int(table.filter(pl.col("rate_b") > pl.col("rate_a"))["step"][0])


def higher_for_every_seed(share: pl.DataFrame) -> float:
    """Return the share of pairs of log-scale and seed in which Harmonic is at least as high as both others."""
    wide = share.pivot(on="agent", index=["log_scale", "seed"], values="share")
    others = pl.max_horizontal("smart", "relaxed_smart")
    return float(wide.select((pl.col("harmonic_r") >= others).mean()).item())


def sensitivity(seeds: int, steps: int = 1000, jobs: int | None = None) -> pl.DataFrame:
    """Return the shares of success on a coarser grid, with one thing changed at a time."""
    sizes = spaced("logspace", 1e-4, 1e-1, 8)
    variants: list[tuple[str, str, dict[str, Any], int, bool]] = [
        ("greedy", reading, {"greedy": reading}, 4, False) for reading in ("action", "draw", "after")
    ]
    variants += [("ties", "go to A", {}, 4, False), ("ties", "go to B", {}, 4, True)]
    variants += [("episodes", str(count), {}, count, False) for count in (1, 4, 16)]
    rows = []
    for what, setting, options, episodes, prefer_b in variants:
        common = {
            "num_states": 2,
            "num_actions": 2,
            "exploration": EXPLORATION,
            "step_size": sizes,
            **options,
        }
        agents = {
            "smart": grid(smart, **common),
            "relaxed_smart": grid(relaxed_smart, **common, rate_step_size=sizes),
            "harmonic_r": grid(harmonic_r, **common, rate_step_size=sizes),
        }
        if prefer_b:  # a head start too small for anything but to break ties
            for one in agents.values():
                for agent in one.agents:
                    agent.q[0, ACTION_B] = 1e-12
        for log_scale in LOG_SCALES[1::4]:
            runs = run_many(TwoState(log_scale), agents, seeds, steps, episodes, jobs=jobs)
            for name in agents:
                rows_of = runs["agent"] == name
                success = (runs.policy[rows_of, 0] == ACTION_B) & ~runs["diverged"][rows_of]
                share = float(success.mean())
                rows.append((what, setting, name, log_scale, share))
    return pl.DataFrame(rows, schema=["what", "setting", "agent", "log_scale", "share"], orient="row")


# --- Judgement ----------------------------------------------------------------------


def summary(
    share: pl.DataFrame, earned: pl.DataFrame, sweep: Sweep, seconds: float, version: str
) -> dict[str, Any]:
    """Return the study in numbers, for machines."""
    table = over_seeds(share)
    by_agent = {name: table.filter(pl.col("agent") == name) for name in NAMES}
    return {
        "study": "robustness",
        "version": version,
        "steps": sweep.num_steps,
        "seconds": seconds,
        "seeds": len(sweep.seeds),
        "settings": {
            "steps": sweep.steps,
            "episodes": sweep.episodes,
            "exploration": EXPLORATION,
            "step_sizes": STEP_SIZES,
            "runs": sweep.num_runs,
        },
        "names": NAMES,
        "log_scales": LOG_SCALES,
        "success": {name: rows["mean"].to_list() for name, rows in by_agent.items()},
        "success_median": {name: rows["median"].to_list() for name, rows in by_agent.items()},
        "success_range": {
            name: [list(pair) for pair in rows.select("low", "high").iter_rows()]
            for name, rows in by_agent.items()
        },
        "earned": {"always_a": earned["always_a"].to_list(), "always_b": earned["always_b"].to_list()},
        "diverged": {
            name: float(share.filter(pl.col("agent") == name)["diverged"].mean() or 0.0)  # type: ignore[arg-type]
            for name in NAMES
        },
    }
