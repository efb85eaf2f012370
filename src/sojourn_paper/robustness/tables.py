"""The study's tables, computed from the sweep's results and from the two-state family itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TypedDict

import numpy as np
import polars as pl

from sojourn import __version__
from sojourn.agents.baselines import policy_agent
from sojourn.agents.constructors import harmonic_r, relaxed_smart, smart
from sojourn.agents.values.protocol import move
from sojourn.runs.batch import grid, run_many
from sojourn.runs.loop import run
from sojourn.runs.spec import Sweep
from sojourn.worlds.two_state import CLOCKS, TwoState, cos_log_drift, sin_log_drift
from sojourn_paper.robustness.plan import (
    ACTION_B,
    COARSE_SCALES,
    COARSE_SIZES,
    CROSSING,
    DRIFTING,
    EXPLORATION,
    LOG_SCALES,
    NAMES,
    STEP_SIZES,
    TIES,
)
from sojourn_paper.study import Row, Statement, Study

BLOCK = 20  # steps per drawn block, several waves of the ripple


class Tables(NamedTuple):
    """All data behind the text, the figures and the page."""

    shares: pl.DataFrame  # of successes, for each seed
    success: pl.DataFrame  # the same over seeds
    earned: pl.DataFrame  # by always taking one action
    learned: pl.DataFrame  # rates
    maps: pl.DataFrame  # success over both step sizes
    sensitivity: pl.DataFrame
    drift: pl.DataFrame  # of B's reward and duration, step by step
    crossing: pl.DataFrame  # both actions' rates, in blocks of steps
    passing: pl.DataFrame  # where B's rate passes A's


_FILES = {
    "tables/shares.parquet": "agent | log_scale seed share diverged",
    "tables/success.parquet": "agent | log_scale mean median low high",
    "tables/earned.parquet": "| log_scale always_a always_b",
    "tables/learned.parquet": "agent | log_scale rate rate_with_b",
    "tables/maps.parquet": "agent | log_scale step_size rate_step_size share",
    "tables/sensitivity.parquet": "what setting agent | log_scale share",
    "tables/drift.parquet": "| step reward duration rate_b rate_a",
    "tables/crossing.parquet": "| log_scale step rate_a low_a high_a rate_b low_b high_b",
    "tables/passing.parquet": "| log_scale overtakes touches",
}


def tabulate(runs: pl.DataFrame, seeds: int, steps: int, jobs: int | None) -> Tables:
    """Return the tables of runs that `with_success` has judged."""
    share = shares(runs)
    return Tables(
        shares=share,
        success=over_seeds(share),
        earned=realised(steps, min(seeds, 5)),
        learned=learned_rates(runs),
        maps=step_size_maps(runs),
        sensitivity=sensitivity(seeds, steps, jobs),
        drift=rates_by_step(DRIFTING, 1000),
        crossing=pl.concat([rates_by_block(log_scale) for log_scale in CROSSING]),
        passing=passing(),
    )


STUDY = Study(Tables, _FILES)


def read(folder: Path) -> Tables:
    """Return the tables of a study's folder."""
    found = STUDY.read(folder)
    if any(found.maps.null_count().row(0)):
        raise ValueError(f"{folder}/tables/maps.parquet is damaged: it has empty places")
    return found


# --- From the runs ------------------------------------------------------------------


def with_success(results: pl.DataFrame) -> pl.DataFrame:
    """Add the greedy action in state 0 and whether it is B; a diverged run is not a success."""
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


def learned_rates(results: pl.DataFrame) -> pl.DataFrame:
    """Return each agent's median learned rate at each log-scale, over all runs and over those that end with B."""
    finite = results.filter(~pl.col("diverged"))
    return (
        finite.group_by("agent", "log_scale", maintain_order=True)
        .agg(rate=pl.col("rate").median(), rate_with_b=pl.col("rate").filter(pl.col("success")).median())
        .sort("agent", "log_scale")
    )


def step_size_maps(results: pl.DataFrame) -> pl.DataFrame:
    """Return the share of seeds that end with B, over both step sizes."""
    both = results.filter(pl.col("rate_step_size").is_not_null())
    keys = ("agent", "log_scale", "step_size", "rate_step_size")
    return both.group_by(*keys).agg(share=pl.col("success").mean()).sort(*keys)


def higher_for_every_seed(share: pl.DataFrame) -> float:
    """Return the share of pairs of log-scale and seed in which Harmonic is at least as high as both others."""
    wide = share.pivot(on="agent", index=["log_scale", "seed"], values="share")
    others = pl.max_horizontal("smart", "relaxed_smart")
    return float(wide.select((pl.col("harmonic_r") >= others).mean()).item())


# --- From the two-state family ------------------------------------------------------


def realised(steps: int, seeds: int) -> pl.DataFrame:
    """Return the earnings per unit time of always taking A and of always taking B, on the steps seen."""
    rows = [(log_scale, *_earned(log_scale, steps, seeds)) for log_scale in LOG_SCALES]
    return pl.DataFrame(rows, schema=["log_scale", "always_a", "always_b"], orient="row")


def _earned(log_scale: float, steps: int, seeds: int) -> list[float]:
    """Return the earnings per unit time of always taking each action: the mean over seeds."""
    earned = []
    for action in (0, 1):
        agent = policy_agent([action, 0], num_actions=2)
        runs = [run(TwoState(log_scale), agent, steps, seed=seed, record=0) for seed in range(seeds)]
        earned.append(float(np.mean([one.reward / one.duration for one in runs])))
    return earned


def even(earned: pl.DataFrame, steps: int, seeds: int) -> float | None:
    """Return the log-scale from which B earned more, to six digits; None if A earned more at all of them."""
    better = earned.filter(pl.col("always_b") > pl.col("always_a"))["log_scale"].to_list()
    if not better:
        return None
    above = better[0]
    below = max((scale for scale in LOG_SCALES if scale < above), default=above)
    while above - below > 1e-6 * above:
        middle = (below + above) / 2.0
        always_a, always_b = _earned(middle, steps, seeds)
        below, above = (below, middle) if always_b > always_a else (middle, above)
    return float(above)


def rates_by_step(log_scale: float, steps: int) -> pl.DataFrame:
    """Return both actions' reward, duration and rate at every decision step, without noise."""
    t = np.arange(min(steps, int(300.0 / log_scale)))  # larger ones overflow
    reward = np.array([sin_log_drift(float(x), 10.0, log_scale) for x in t])
    duration = np.array([cos_log_drift(float(x), 10.0, log_scale / 2.0) for x in t])
    return pl.DataFrame(
        {"step": t, "reward": reward, "duration": duration, "rate_b": reward / duration, "rate_a": 0.05 * t}
    )


def overtakes(log_scale: float, horizon: int = 1_000_000) -> float | None:
    """Return the step at which B's rate, without its ripple, passes A's for good.

    Without ripple the rates are 10^(v t/2) and 0.05 t. If they never cross, B is always ahead and the step is 0;
    None means that it is beyond the horizon.
    """
    t = np.arange(1, horizon, dtype=np.float64)
    behind = np.flatnonzero(np.log10(0.05 * t) > log_scale * t / 2.0)
    if behind.size == 0:
        return 0.0
    return None if behind[-1] == t.size - 1 else float(t[behind[-1]] + 1.0)


def touches(log_scale: float, after: int, horizon: int = 20_000) -> int:
    """Return the first step from `after` on at which B's rate, ripple included, exceeds A's."""
    table = rates_by_step(log_scale, horizon).slice(after)
    return int(table.filter(pl.col("rate_b") > pl.col("rate_a"))["step"][0])


def rates_by_block(log_scale: float, steps: int = 10_001) -> pl.DataFrame:
    """Return both actions' rates in blocks of steps: the mean, and the range due to noise and ripple."""
    table = rates_by_step(log_scale, steps)
    noise = np.maximum(0.001, np.random.default_rng(0).normal(1.0, 0.1, len(table)))
    table = table.with_columns(noisy=pl.col("rate_a") / pl.Series(noise))
    noisy, rate = pl.col("noisy"), pl.col("rate_b")
    return (
        table.group_by(pl.col("step") // BLOCK * BLOCK, maintain_order=True)
        .agg(
            rate_a=pl.col("rate_a").mean(),
            low_a=noisy.min(),
            high_a=noisy.max(),
            rate_b=rate.mean(),
            low_b=rate.min(),
            high_b=rate.max(),
        )
        .select(pl.lit(log_scale).alias("log_scale"), pl.all())
    )


def passing() -> pl.DataFrame:
    """Return where B's rate passes A's: without its ripple for good, and with it for the first time."""
    return pl.DataFrame(
        {
            "log_scale": CROSSING,
            "overtakes": [overtakes(log_scale) for log_scale in CROSSING],
            "touches": [touches(log_scale, 1000) for log_scale in CROSSING],
        }
    )


# --- With one thing changed ---------------------------------------------------------


class Change(NamedTuple):
    """One factor set differently from the study."""

    what: str
    setting: str
    greedy: str = "action"
    episodes: int = 4
    prefer_b: bool = False  # ties at the start go to B
    return_reward: float = 0.0
    clock: str = "steps"


CHANGES = (
    *(Change("greedy", reading, greedy=reading) for reading in ("action", "draw", "after")),
    Change("ties", "go to A"),
    Change("ties", "go to B", prefer_b=True),
    *(Change("episodes", str(count), episodes=count) for count in (1, 4, 16)),
    *(
        Change("way back", f"pays {paid}, clock of {clock}", return_reward=paid, clock=clock)
        for clock in CLOCKS
        for paid in (0, 1)
    ),
)


def sensitivity(seeds: int, steps: int = 1000, jobs: int | None = None) -> pl.DataFrame:
    """Return the shares of success on a coarser grid, with one factor changed at a time."""
    # Some settings are the study's own, and identical under each heading.
    settings = {change: change._replace(what="", setting="") for change in CHANGES}
    found = {each: list(_changed(each, seeds, steps, jobs)) for each in dict.fromkeys(settings.values())}
    rows = [(change.what, change.setting, *row) for change in CHANGES for row in found[settings[change]]]
    return pl.DataFrame(rows, schema=["what", "setting", "agent", "log_scale", "share"], orient="row")


def _changed(change: Change, seeds: int, steps: int, jobs: int | None) -> Iterator[tuple[str, float, float]]:
    common = {"num_states": 2, "num_actions": 2, "exploration": EXPLORATION, "step_size": COARSE_SIZES}
    common |= {"greedy": change.greedy, "ties": TIES}
    agents = {
        "smart": grid(smart, **common),
        "relaxed_smart": grid(relaxed_smart, **common, rate_step_size=COARSE_SIZES),
        "harmonic_r": grid(harmonic_r, **common, rate_step_size=COARSE_SIZES),
    }
    if change.prefer_b:  # a head start that only breaks ties
        for one in agents.values():
            for agent in one.agents:
                move(agent.values, 0, ACTION_B, 1e-12)
    for log_scale in COARSE_SCALES:
        world = TwoState(log_scale, return_reward=change.return_reward, clock=change.clock)
        runs = run_many(world, agents, seeds, steps, change.episodes, jobs=jobs)
        for name in agents:
            chosen = runs["agent"] == name
            success = (runs.policy[chosen, 0] == ACTION_B) & ~runs["diverged"][chosen]
            yield name, log_scale, float(success.mean())


# --- The study in numbers: `summary.json` ------------------------------------------------


class Settings(TypedDict):
    """The settings of the study."""

    steps: int
    episodes: int
    exploration: float
    step_sizes: list[float]
    runs: int


class Numbers(TypedDict):
    """What was measured, by agent and log-scale; `steps` and `seconds` are those of the whole study."""

    study: str
    version: str
    steps: int
    seconds: float
    seeds: int
    settings: Settings
    names: dict[str, str]
    log_scales: list[float]
    success: dict[str, list[float]]
    success_median: dict[str, list[float]]
    success_range: dict[str, list[list[float]]]
    earned: dict[str, list[float]]  # by always taking one action
    diverged: dict[str, float]
    sensitivity: list[Row]


class Summary(Numbers):
    """The numbers, and the text about them."""

    findings: list[str]
    statements: list[Statement]


def numbers(tables: Tables, sweep: Sweep, steps: int, seconds: float) -> Numbers:
    """Return the study in numbers; `steps` is the length of an episode."""
    by_agent = {name: tables.success.filter(pl.col("agent") == name) for name in NAMES}
    shares = {name: tables.shares.filter(pl.col("agent") == name) for name in NAMES}
    return {
        "study": "robustness",
        "version": __version__,
        "steps": sweep.num_steps,
        "seconds": seconds,
        "seeds": len(sweep.seeds),
        "settings": {
            "steps": steps,
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
        "earned": tables.earned.drop("log_scale").to_dict(as_series=False),
        "diverged": {name: rows.select(pl.col("diverged").mean()).item() for name, rows in shares.items()},
        "sensitivity": tables.sensitivity.to_dicts(),
    }
