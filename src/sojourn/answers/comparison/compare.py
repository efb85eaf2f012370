"""A comparison, from its sweeps to its folder: results, figures, README and record."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from sojourn import __version__
from sojourn.answers.audit import audited
from sojourn.answers.comparison import judge, plan
from sojourn.answers.comparison import section as shown
from sojourn.answers.comparison.judge import ChangingWorld, Comparison, Problem, RunSettings, Trap
from sojourn.answers.comparison.tuning import Judged, tuned
from sojourn.data.files import load_json, own_folder, write_json, write_text, write_whole
from sojourn.data.hints import as_json, plain, read_record
from sojourn.exact.audit.audit import Audit, audit
from sojourn.exact.audit.limits import steps_of
from sojourn.exact.policies import evaluate
from sojourn.models.model_files import named_model
from sojourn.models.smdp import SMDP
from sojourn.rates.catalogue import ESTIMATORS
from sojourn.rates.protocol import limit
from sojourn.report import figures
from sojourn.report.blocks import Budget
from sojourn.report.figures import drawing
from sojourn.report.markdown import markdown
from sojourn.report.words import sentences, setting
from sojourn.runs.executors import executor
from sojourn.runs.progress import Advance, no_progress
from sojourn.runs.results import RESULTS, claim_folder, load_results
from sojourn.runs.spec import Sweep
from sojourn.runs.store import run_sweep

SETTINGS, COMPARISON = "settings.json", "comparison.json"


def compare(
    names: list[str],
    out: Path,
    settings: plan.Settings = plan.Settings(),  # noqa: B008 - it is immutable
    jobs: int | None = None,
    progress: Advance = no_progress,
    formats: Sequence[str] = figures.FORMATS,
) -> Comparison:
    """Compare agents on problems, write the results into a folder, and return what was found."""
    settings = plan.checked_settings(settings)
    titles = plan.titles(names)
    # This raises any error before anything is run.
    audits = {name: _audit(name) for name in titles if not plan.changes(name)}
    for name in titles:
        plan.lengths(name, settings)
    claim_folder(out, SETTINGS)
    _refuse_another(out, names, settings)
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / SETTINGS, {"problems": plain(names), **as_json(settings)})
    problems, worlds, tables, sheets = [], [], [], {}
    for name, title in titles.items():
        if name in audits:
            found, table = _problem(name, title, audits[name], out / title, settings, jobs, progress)
            problems.append(found)
            sheets[title] = shown.sheet(found, "steps" if settings.time is None else "time")
        else:
            world, table = _changing(name, title, out / title, settings, jobs, progress)
            worlds.append(world)
            sheets[title] = shown.changing_sheet(world)
        tables.append(table)
    if problems:
        sheets |= {"outcomes": shown.outcomes_sheet(problems), "earned": shown.earned_sheet(problems)}
    with drawing(jobs, formats) as write_sheets:
        write_sheets(sheets, out / "figures")
    comparison = Comparison(_run_settings(settings), tuple(problems), __version__, tuple(worlds))
    write_whole(out / RESULTS, pl.concat(tables, how="diagonal").write_parquet)
    write_text(out / "README.md", markdown(shown.section(out, as_json(comparison), Budget())))
    written = {"version": comparison.version, **as_json(comparison)}
    write_json(out / COMPARISON, written)  # last, because its presence means that everything is done
    return comparison


def _run_settings(settings: plan.Settings) -> RunSettings:
    return RunSettings(
        steps=settings.steps,
        seeds=settings.seeds,
        tuning_seeds=settings.tuning_seeds,
        time=settings.time,
        grids={
            name: {option: tuple(choices) for option, choices in grid.items()}
            for name, grid in plan.grids_over(1.0, settings).items()
        },
        widen=settings.widen,
        estimator_step_size=judge.STEP_SIZE,
        estimator_steps=judge.STEPS,
        estimator_seeds=judge.SEEDS,
    )


def _refuse_another(out: Path, names: list[str], settings: plan.Settings) -> None:
    """Raise an error if the comparison in a folder would be overwritten; adding problems to it is allowed."""
    if not (out / SETTINGS).exists():
        return
    given = load_json(out / SETTINGS)
    earlier, problems = read_record(plan.Settings, given), sentences(given.get("problems"))
    if earlier != settings or not set(problems) <= set(names):
        told = ", ".join(f"{name} {setting(chosen)}" for name, chosen in as_json(earlier).items() if chosen)
        raise ValueError(
            f"{out} holds a comparison on {', '.join(problems)} ({told}); choose another folder with --out"
        )


def _audit(name: str) -> Audit:
    try:
        return audit(named_model(name))
    except ValueError as error:
        raise ValueError(f"agents cannot be compared on {name}: {error}") from None


def _problem(
    name: str,
    title: str,
    exact: Audit,
    folder: Path,
    settings: plan.Settings,
    jobs: int | None,
    progress: Advance,
) -> tuple[Problem, pl.DataFrame]:
    """Return the results on one problem, and the runs behind them."""
    model = exact.model
    known = judge.Judge(model)
    own_folder(folder)
    agents = plan.compared(settings)
    with executor(jobs) as (pool, width):
        runner = _runner(folder, pool, width, progress)

        def judged(sweep: Sweep, part: str) -> pl.DataFrame:
            return _with_lengths(known.judged(runner(sweep, part)), settings, title)

        chosen = tuned(name, settings, judged)
        policies = {agent: both["policy"].options for agent, both in chosen.items()}
        earnings = {agent: both["earned"].options for agent, both in chosen.items()}
        others = {agent: options for agent, options in earnings.items() if options != policies[agent]}
        table = known.with_followed(judged(plan.runs(name, settings, policies), "runs"))
        earning = judged(plan.earning(name, settings, others), "earning") if others else table.clear()
        same = {agent: options for agent, options in earnings.items() if agent not in others}
        if same:
            progress(plan.earning(name, settings, same).num_steps, earlier=True)  # no runs of their own
    found = Problem(
        name=title,
        gain=known.gain,
        states=model.num_states,
        audit=audited(title, exact),
        agents=judge.results(table, earning, chosen, agents),
        curves=judge.learning(table, agents),
        trap=_trap(model, judge.trap(table, "harmonic_r")),
        estimators=judge.errors(model, exact.policy.tolist(), exact.gain, jobs),
    )
    return replace(found, findings=tuple(shown.verdict(found))), table.with_columns(
        pl.lit(title).alias("problem")
    )


def _changing(
    name: str, title: str, folder: Path, settings: plan.Settings, jobs: int | None, progress: Advance
) -> tuple[ChangingWorld, pl.DataFrame]:
    """Return the results in a world that changes, and the runs behind them."""
    own_folder(folder)
    with executor(jobs) as (pool, width):
        runner = _runner(folder, pool, width, progress)

        def judged(sweep: Sweep, part: str) -> pl.DataFrame:
            return judge.with_shares(runner(sweep, part))

        chosen = tuned(name, settings, judged)
        options = {agent: both["earned"].options for agent, both in chosen.items()}
        table = judged(plan.earning(name, settings, options), "runs")
    found = judge.changing_results(table, chosen, plan.compared(settings))
    world = ChangingWorld(title, plan.subject(name).num_states, found)
    return world, table.drop("relative_gain").with_columns(pl.lit(title).alias("problem"))


def _runner(folder: Path, pool: Executor, width: int, progress: Advance) -> Judged:
    """Return a function that runs a sweep into a subfolder, and returns its results."""

    def run(sweep: Sweep, part: str) -> pl.DataFrame:
        advance = no_progress if part.startswith("tuning-") else progress  # not included in the total
        run_sweep(sweep, own_folder(folder / part), pool, width, advance).whole()
        return load_results(folder / part)

    return run


def _with_lengths(table: pl.DataFrame, settings: plan.Settings, title: str) -> pl.DataFrame:
    """Return results with the column length: the steps of a run, or its planned end time."""
    if settings.time is None:
        return table.with_columns(pl.col("steps").alias("length"))
    early = table.filter(pl.col("error").is_null() & (pl.col("duration") < pl.col("time")))
    if early.height:
        raise ValueError(
            f"on {title}, {early.height:,} runs took {early['steps'][0]:,} steps and did not reach their time; steps "
            "take much less time there than the model says, so compare by --steps"
        )
    return table.with_columns(pl.col("time").alias("length"))


def _trap(model: SMDP, held: tuple[list[int], float] | None) -> Trap | None:
    """Return what happens to the rate under the most frequent wrong policy of Harmonic R-Learning."""
    if held is None:
        return None
    policy, share = held
    worth = evaluate(model, np.array(policy))
    if len(worth.classes) > 1:
        return None
    steps = steps_of(model, policy, worth)
    rate = limit(ESTIMATORS["Harmonic"].make(), steps)
    return Trap(
        policy=tuple(policy),
        share=share,
        gain=steps.gain,
        harmonic=rate,
        grows=steps.gain > rate,  # while the policy is followed, regardless of exploration
    )
