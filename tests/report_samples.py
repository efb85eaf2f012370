"""Folders as commands write them, small, for the tests of the report."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from asking import ask
from sojourn.answers.verdict import judged
from sojourn.learner.evaluation import Evaluation
from sojourn.learner.verdict import Verdict, Visited
from sojourn.runs.executors import executor
from sojourn.runs.spec import Entry, Sweep
from sojourn.runs.store import run_sweep
from sojourn_paper.bitcoin import section as market_study
from sojourn_paper.bitcoin.plan import Source
from sojourn_paper.bitcoin.plan import specification as market
from sojourn_paper.robustness import section as simulation_study

NASTY = "<img src=x onerror=alert(1)></script><script>alert(2)</script>"


def written(*arguments: str | Path) -> None:
    done = ask(*arguments)
    assert done.returncode == 0, done.stderr


def solution(folder: Path) -> Path:
    written("solve", "admission-control", "-o", "capacity=5", "--out", folder)
    return folder


def audit(folder: Path) -> Path:
    written("audit", "long-shot", "--out", folder)
    return folder


def verdict(folder: Path) -> Path:
    """A verdict of the shape that `sojourn evaluate --out` writes, with a warning that looks like markup."""
    found = Verdict(
        evaluation=Evaluation(2.5, 2.25, 2.75, 0.95, 1000, 1500.0, None),
        learned_rate=2.625,
        visited=Visited(20, 0.9375, 0, 31.0),
        thin=0.125,
        moved=None,
        gain=2.5625,
        best_gain=2.6875,
        baseline=None,
        warnings=(NASTY,),
    )
    judged("queue.sojourn", found).write(folder)
    return folder


def comparison(folder: Path) -> Path:
    """A comparison of the shape that `sojourn compare` writes, with a real audit and invented agents."""
    folder.mkdir(parents=True)
    audited = json.loads((audit(folder / "audited") / "audit.json").read_text())
    shutil.rmtree(folder / "audited")
    agents, curves = [], []
    for place, agent in enumerate(("smart", "relaxed_smart", "harmonic_r", "fixed_rate")):
        gain = 1.0 - 0.2 * place
        agents.append(
            {
                "agent": agent,
                "name": agent.upper(),
                "options": {"step_size": 0.1},
                "edges": ["step_size"] if place else [],
                **{
                    f"{name}{end}": gain + off
                    for name in ("followed", "earned")
                    for end, off in (("", 0.0), ("_low", -0.1), ("_high", 0.1))
                },
                "earning": {
                    "options": {"step_size": 0.2},
                    "edges": [],
                    "earned": gain,
                    "low": gain - 0.1,
                    "high": gain + 0.1,
                },
                "diverged": 0,
                "optimal_share": gain,
                "optimal_low": gain / 2,
                "optimal_high": 1.0,
                "relative_gain": gain,
                "relative_low": gain - 0.1,
                "relative_high": min(1.0, gain + 0.1),
                "steps_99": None if place else 120.0,
                "steps_99_low": None,
                "steps_99_high": None,
                "time_99": None if place else 300.5,
                "time_99_low": None,
                "time_99_high": None,
                "reached_share": gain,
                "rate": 5.0 * gain,
                "rate_gap": 5.0 * (gain - 1),
                "regret": 1000.0 * place,
            }
        )
        steps = [10, 100, 1000, 10_000]
        line = [gain * share for share in (0.25, 0.5, 0.75, 1.0)]
        low, high = [y - 0.05 for y in line], [y + 0.05 for y in line]
        curves.append({"agent": agent, "step": steps, "relative_gain": line, "low": low, "high": high})
    problem = {
        "name": "long-shot",
        "gain": audited["best_gain"],
        "states": audited["states"],
        "audit": audited,
        "agents": agents,
        "curves": curves,
        "findings": ["The first finding.", "The second one."],
    }
    settings = {
        "steps": 10_000,
        "seeds": 30,
        "tuning_seeds": 10,
        "time": None,
        "grids": {"smart": {"step_size": [0.1, 0.3]}},
        "widen": 3,
        "estimator_step_size": 0.01,
        "estimator_steps": 2000,
        "estimator_seeds": 400,
    }
    summary = {
        "version": "0",
        "settings": settings,
        "problems": [problem, {**problem, "name": "long-shot-2"}],
    }
    (folder / "comparison.json").write_text(json.dumps(summary))
    return folder


def sweep(folder: Path, name: str = "small", label: str = "", seeds: int = 3) -> Path:
    sizes: dict[str, float | list[float]] = {"step_size": [0.01, 0.1], "exploration": 0.2}
    specification = Sweep(
        name=name,
        worlds=[Entry("two_state", {"log_scale": [1e-4, 1e-3, 1e-2]})],
        agents=[
            Entry("smart", sizes, label=label),
            Entry("harmonic_r", {**sizes, "rate_step_size": [0.01, 0.1]}),
        ],
        seeds=list(range(seeds)),
        steps=100,
        record=20,
    )
    with executor(2) as (pool, width):
        run_sweep(specification, folder, pool, width)
    return folder


def studies(folder: Path) -> Path:
    """Both studies of the paper at a small size, without their figures, which take most of the time."""
    simulation_study.robustness(folder / "robustness", seeds=2, steps=60, episodes=1, formats=())
    source = Source(segment_length=1000)
    market_study.bitcoin(folder / "bitcoin", source, market(source, 3, (3, 6), (0, 5, 9)), formats=())
    return folder
