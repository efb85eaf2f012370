"""A comparison, from its sweeps to its folder: tables, figures, words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sojourn import __version__
from sojourn.exact.audit.audit import Audit, audit
from sojourn.exact.audit.frontier import greedy_line
from sojourn.exact.audit.limits import steps_of
from sojourn.exact.policies import evaluate
from sojourn.models.problems.named import named_model
from sojourn.models.smdp import SMDP
from sojourn.rates.named import ESTIMATORS
from sojourn.rates.protocol import limit
from sojourn.report import figures
from sojourn.rules.files import write_text, write_whole
from sojourn.runs.folder import executor, run_sweep
from sojourn.runs.progress import Advance, no_progress
from sojourn.runs.results import RESULTS, claim_folder, load_results
from sojourn.studies.audit.answers import audit_data
from sojourn.studies.comparison import estimators, judge, plan
from sojourn.studies.comparison.words import readme, verdict

SETTINGS, COMPARISON = "settings.json", "comparison.json"


def compare(
    names: list[str],
    out: Path,
    settings: plan.Settings = plan.Settings(),  # noqa: B008 - it cannot be changed
    jobs: int | None = None,
    progress: Advance = no_progress,
) -> dict[str, Any]:
    """Compare all agents on problems into a folder; return what was found."""
    plan.checked_settings(settings)
    titles = plan.titles(names)
    audits = {name: _audit(name) for name in titles}  # before anything is run: what it refuses is refused now
    claim_folder(out, SETTINGS)
    _refuse_another(out, names, settings)
    out.mkdir(parents=True, exist_ok=True)
    write_text(out / SETTINGS, json.dumps({"problems": names, **settings._asdict()}, indent=1) + "\n")
    problems, tables = [], []
    for name, title in titles.items():
        found, table = _problem(name, title, audits[name], out / title, settings, jobs, progress)
        problems.append(found)
        tables.append(table)
        with figures.figure(8.5, 4.4) as drawing:
            left, right = drawing.subplots(1, 2)
            figures.learning(found["curves"], plan.NAMES, left)
            figures.audit(found["audit"], right)
            figures.save(drawing, out / "figures" / title)
    _draw_outcomes(problems, out / "figures" / "outcomes")
    summary = {
        "version": __version__,
        "settings": {
            **settings._asdict(),
            "exploration": plan.EXPLORATION,
            "step_sizes": plan.STEP_SIZES,
            "rate_step_sizes": plan.RATE_STEP_SIZES,
            "discounts": plan.DISCOUNTS,
            "estimator_step_size": estimators.STEP_SIZE,
            "estimator_steps": estimators.STEPS,
            "estimator_seeds": estimators.SEEDS,
        },
        "problems": problems,
    }
    write_whole(out / RESULTS, pl.concat(tables, how="diagonal").write_parquet)
    write_text(out / "README.md", readme(summary))
    write_text(out / COMPARISON, json.dumps(summary, indent=1) + "\n")  # last: it says that all is done
    return summary


def _refuse_another(out: Path, names: list[str], settings: plan.Settings) -> None:
    """Refuse a folder whose comparison would be lost; one with more problems holds the earlier one."""
    if not (out / SETTINGS).exists():
        return
    held = json.loads((out / SETTINGS).read_text(encoding="utf-8"))
    earlier = held.pop("problems")
    if held != settings._asdict() or not set(earlier) <= set(names):
        told = ", ".join(f"{name} {number:,}" for name, number in held.items())
        raise ValueError(
            f"{out} holds a comparison on {', '.join(earlier)} ({told}); choose another folder with --out"
        )


def _audit(name: str) -> Audit:
    try:
        return audit(named_model(name))
    except ValueError as error:
        raise ValueError(f"agents cannot be compared on {name}: {error}") from None


def _problem(
    name: str,
    title: str,
    audited: Audit,
    folder: Path,
    settings: plan.Settings,
    jobs: int | None,
    progress: Advance,
) -> tuple[dict[str, Any], pl.DataFrame]:
    """Return what was found on one problem, and the runs behind it."""
    model = audited.model
    known = judge.Judge(model)
    with executor(jobs) as (pool, width):
        run_sweep(plan.tuning(name, settings), folder / "tuning", pool, width, progress)
        chosen = judge.chosen(known.judged(load_results(folder / "tuning")))
        run_sweep(plan.runs(name, settings, chosen), folder / "runs", pool, width, progress)
    table = known.judged(load_results(folder / "runs"))
    agents = [{**row, "options": chosen[row["agent"]]} for row in judge.summaries(table)]
    found = {
        "name": title,
        "gain": known.gain,
        "states": model.num_states,
        "audit": {"name": title, **audit_data(audited)},
        "agents": agents,
        "curves": judge.learning(table),
        "trap": _trap(model, judge.trap(table, "harmonic_r")),
        "estimators": estimators.errors(model, audited.policy, audited.gain, jobs),
    }
    return {**found, "findings": verdict(found)}, table.with_columns(pl.lit(title).alias("problem"))


def _draw_outcomes(problems: list[dict[str, Any]], path: Path) -> None:
    """Draw the final relative gains, four problems to a row."""
    columns = min(4, len(problems))
    rows = -(-len(problems) // columns)
    with figures.figure(2.2 + 1.9 * columns, 2.9 * rows) as drawing:
        axes = drawing.subplots(rows, columns, sharey=True, squeeze=False).ravel()
        for ax, found in zip(axes, problems, strict=False):
            figures.outcomes(found, ax)
        for ax in axes[len(problems) :]:
            ax.remove()
        figures.save(drawing, path)


def _trap(model: SMDP, held: tuple[list[int], float] | None) -> dict[str, Any] | None:
    """Return what becomes of the rate under the policy where Harmonic R-Learning is held up most often."""
    if held is None:
        return None
    policy, share = held
    worth = evaluate(model, np.array(policy))
    if len(worth.classes) > 1:
        return None
    steps = steps_of(model, policy, worth)
    rate = limit(ESTIMATORS["Harmonic"].make(), steps)
    return {
        "policy": policy,
        "share": share,
        "gain": steps.gain,
        "harmonic": rate,
        "drift": greedy_line(model, rate).at(rate),
    }
