from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import naive
import sojourn as sj
from sojourn.runs.spec import spaced
from sojourn_paper.robustness import plan, tables

COMMAND = Path(sys.executable).with_name("sojourn")


PAPER = (1000, 4)  # steps and episodes of a run in the paper
SHORT = (100, 2)


@pytest.fixture(scope="module", params=[SHORT, pytest.param(PAPER, marks=pytest.mark.evidence)])
def length(request: pytest.FixtureRequest) -> tuple[int, int]:
    """Steps and episodes of a run: few, or as many as in the paper."""
    found: tuple[int, int] = request.param
    return found


@pytest.fixture(scope="module")
def folder(length: tuple[int, int], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study with all the paper's settings and one seed, by the command, as a user runs it."""
    out = tmp_path_factory.mktemp("robustness") / "out"
    steps, episodes = map(str, length)
    words = ["reproduce", "robustness", "--seeds", "1", "--steps", steps, "--episodes", episodes]
    subprocess.run([COMMAND, *words, "--out", out], check=True, capture_output=True)
    return out


def test_the_folder_is_complete(folder: Path) -> None:
    """Results, summary, README and every figure as PNG and SVG exist, and none is empty."""
    assert {"results.parquet", "summary.json", "README.md", "figures", "tables", "sweep"} == {
        p.name for p in folder.iterdir()
    }
    figures = sorted(path.name for path in (folder / "figures").iterdir())
    assert len(figures) == 8 * 2
    assert all(path.stat().st_size > 5000 for path in (folder / "figures").iterdir())


def test_the_summary_has_the_promised_shape(folder: Path, length: tuple[int, int]) -> None:
    """The summary has the documented keys, and its shares are those of the table."""
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["study"] == "robustness"
    assert summary["seeds"] == 1
    assert summary["steps"] == 30 * (2 * 20 + 5 * 400) * length[0] * length[1]
    assert summary["log_scales"] == sorted(summary["log_scales"])
    assert (len(summary["log_scales"]), summary["log_scales"][0], summary["log_scales"][-1]) == (
        30,
        1e-5,
        1e-1,
    )
    table = pl.read_parquet(folder / "results.parquet")
    wanted = {"agent", "log_scale", "step_size", "rate_step_size", "seed", "success", "rate", "greedy_action"}
    assert wanted <= set(table.columns)
    assert len(table) == 30 * (2 * 20 + 5 * 400)
    for agent in plan.NAMES:
        for index in (0, 14, 29):
            rows = table.filter(
                (pl.col("agent") == agent) & (pl.col("log_scale") == summary["log_scales"][index])
            )
            assert summary["success"][agent][index] == pytest.approx(rows["success"].mean())
            low, high = summary["success_range"][agent][index]
            assert low <= summary["success_median"][agent][index] <= high


def oracle_for(row: dict[str, Any]) -> naive.Agent:
    """Return the oracle's agent for a row of the results."""
    settings = naive.Settings(2, 2, row["step_size"], naive.Exploration(0.2))
    if row["agent"] == "relaxed_smart_gosavi":
        return naive.relaxed_smart(settings, row["rate_step_size"], variant="gosavi")
    make = getattr(naive, row["agent"])
    agent: naive.Agent = (
        make(settings) if row["rate_step_size"] is None else make(settings, row["rate_step_size"])
    )
    return agent


def test_the_oracle_agrees_on_a_sample_of_cells(folder: Path, length: tuple[int, int]) -> None:
    """On 60 random cells of all agents, plain Python ends with the same action and the same greedy steps."""
    table = pl.read_parquet(folder / "results.parquet").filter(~pl.col("diverged"))
    rows = table.sample(60, seed=11).to_dicts()
    assert len({row["agent"] for row in rows}) >= 5
    for row in rows:
        steps, episodes = length
        expected = naive.run(
            oracle_for(row), row["log_scale"], steps=steps, episodes=episodes, seed=row["seed"]
        )
        action = expected.policy[0]
        assert (row["greedy_action"], row["success"]) == (action, action == 1), row
        assert row["greedy_steps"] == expected.greedy_steps, row
        assert row["rate"] == pytest.approx(expected.rate, rel=1e-9), row


def test_the_charts_shape_is_the_papers() -> None:
    """In the median over five seeds: Harmonic never below the others, these at 0 for v <= 5e-4, it at 1 for v >= 5e-3."""
    sizes = spaced("logspace", 1e-4, 1e-1, 20)
    common: dict[str, Any] = {"num_states": 2, "num_actions": 2, "step_size": sizes, "exploration": 0.2}
    agents = {
        "smart": sj.grid(sj.smart, **common),
        "relaxed_smart": sj.grid(sj.relaxed_smart, **common, rate_step_size=sizes),
        "harmonic_r": sj.grid(sj.harmonic_r, **common, rate_step_size=sizes),
    }
    for log_scale in plan.LOG_SCALES[::4]:
        runs = sj.run_many(sj.worlds.TwoState(log_scale), agents, seeds=5, steps=1000, episodes=4)
        median = {}
        for name in agents:
            shares = [
                (runs.policy[(runs["agent"] == name) & (runs["seed"] == seed), 0] == 1).mean()
                for seed in range(5)
            ]
            median[name] = float(np.median(shares))
        assert median["harmonic_r"] >= max(median["smart"], median["relaxed_smart"])
        if log_scale <= 5e-4:
            assert median["smart"] == median["relaxed_smart"] == 0.0
        if log_scale >= 5e-3:
            assert median["harmonic_r"] == 1.0


def test_realised_rates_by_hand() -> None:
    """Always taking A earns the sum of its rewards over the time in both states; B likewise."""
    table = tables.realised(steps=100, seeds=1)
    t = np.arange(0, 100, 2)
    first = table.row(0, named=True)
    v = first["log_scale"]
    reward = ((np.sin(t) + 10) * 10 ** (v * t)).sum()
    duration = ((np.cos(t) + 10) * 10 ** (v * t / 2)).sum() + 50
    assert first["always_b"] == pytest.approx(reward / duration, rel=1e-12)
    assert first["always_a"] == pytest.approx(
        0.05 * t.sum() / 100, rel=0.02
    )  # durations of A are 1 on average


def test_headlines_name_the_log_scales_that_they_show() -> None:
    """Each column of the terminal output is headed by the log-scale of its numbers."""
    from sojourn_paper.robustness.section import headlines

    numbers = [place / 100 for place in range(30)]
    summary: Any = {
        "success_median": dict.fromkeys(plan.NAMES, numbers),
        "earned": {"always_a": numbers, "always_b": numbers},
    }
    lines = headlines(summary)
    indices = [round(100 * float(number)) for number in lines[-1].split()[1:]]
    scales = [float(scale) for scale in lines[1].replace("v =", "").split()[1:]]
    assert scales == [float(f"{plan.LOG_SCALES[index]:.2g}") for index in indices]
    assert lines[2].split()[-8::2] == [str(index) for index in indices]


def test_where_the_actions_cross() -> None:
    """The crossing solves 10^(v t/2) = 0.05 t, and there is none if B is always ahead."""
    t = tables.overtakes(0.001)
    assert t is not None
    assert 10 ** (0.0005 * t) >= 0.05 * t
    assert 10 ** (0.0005 * (t - 2)) < 0.05 * (t - 2)
    assert tables.overtakes(1.0) == 0.0
    assert tables.overtakes(1e-7) is None
    first = tables.touches(0.001, 1000)
    rate = (np.sin(first) + 10) / (np.cos(first) + 10) * 10 ** (0.0005 * first)
    assert rate > 0.05 * first
    assert first < t


def test_shares_and_seeds() -> None:
    """Shares are means over step sizes; the spread is over seeds; a diverged run is not a success."""
    table = pl.DataFrame(
        {
            "agent": ["x"] * 6,
            "log_scale": [0.1] * 6,
            "seed": [0, 0, 1, 1, 2, 2],
            "policy": [[1, 0], [1, 0], [1, 0], [0, 0], [0, 0], [1, 0]],
            "diverged": [False, False, False, False, False, True],
        }
    )
    results = tables.with_success(table)
    assert results["success"].to_list() == [True, True, True, False, False, False]
    spread = tables.over_seeds(tables.shares(results)).row(0, named=True)
    assert (spread["mean"], spread["median"], spread["low"], spread["high"]) == (0.5, 0.5, 0.0, 1.0)


@pytest.mark.evidence  # that of drift, which is made in the same way, is short
def test_the_study_goes_on_after_an_interruption(tmp_path: Path) -> None:
    """Finished runs are not repeated, and the summary is the same except for timings."""
    from sojourn_paper.robustness import section as reproduce
    from sojourn_paper.robustness.section import headlines

    first = reproduce.robustness(tmp_path / "out", seeds=1, steps=20, episodes=1, formats=())
    log = (tmp_path / "out" / "sweep" / "sweep.log").read_text()
    again = reproduce.robustness(tmp_path / "out", seeds=1, steps=20, episodes=1, formats=())
    assert (tmp_path / "out" / "sweep" / "sweep.log").read_text() == log
    assert {**first, "seconds": 0} == {**again, "seconds": 0}
    random.seed(0)  # the study does not depend on a global generator
    np.random.seed(0)  # noqa: NPY002
    assert headlines(again) == headlines(first)


def test_a_paid_way_back_leaves_harmonic_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the smallest log-scale Harmonic ends with B in many runs, with neither clock in any if the way back pays 1."""
    monkeypatch.setattr(tables, "COARSE_SCALES", plan.COARSE_SCALES[:1])
    monkeypatch.setattr(tables, "COARSE_SIZES", plan.COARSE_SIZES[::3])
    changes = [change for change in tables.CHANGES if change.what == "way back"]
    share = {
        change.setting: {name: level for name, _, level in tables._changed(change, 4, 1000, 1)}
        for change in changes
    }
    for clock in ("steps", "visits"):
        assert share[f"pays 0, clock of {clock}"]["harmonic_r"] > 0.25
        assert share[f"pays 1, clock of {clock}"]["harmonic_r"] == 0.0
        assert (
            share[f"pays 0, clock of {clock}"]["smart"] == share[f"pays 1, clock of {clock}"]["smart"] == 0.0
        )
