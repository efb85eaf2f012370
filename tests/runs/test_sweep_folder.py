from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats as scipy_stats
from typer.testing import CliRunner

import sojourn as sj
from asking import ask, start
from counting import Counted
from sojourn.cli.commands import app
from sojourn.models import save_model
from sojourn.rules.jit.cache import cache_folder
from sojourn.runs import results, tasks
from sojourn.runs.executors import executor

COMMAND = Path(sys.executable).with_name("sojourn")

SMALL: dict[str, Any] = {
    "name": "small",
    "seeds": 3,
    "steps": 50,
    "episodes": 2,
    "record": 4,
    "world": [{"kind": "two-state", "log_scale": [1e-3, 1e-2]}],
    "agent": [
        {"kind": "smart", "step_size": [0.01, 0.1]},
        {"kind": "harmonic-r", "label": "harmonic", "exploration": {"start": 0.5, "factor": 0.9}},
    ],
}

# Many tasks, two seconds on two cores: long enough to be disturbed.
LONG = """
name = "long"
seeds = 8
steps = 1000
episodes = 4
[[world]]
kind = "two-state"
log_scale = { logspace = [1e-5, 1e-1, 12] }
[[agent]]
kind = "smart"
step_size = { logspace = [1e-4, 1e-1, 20] }
[[agent]]
kind = "smart"
label = "with many step sizes"  # of one type with the first: two types would take twice as long to compile
step_size = { linspace = [0.11, 0.9, 400] }
"""
LONGER = (
    LONG.split('[[agent]]\nkind = "smart"\nlabel', maxsplit=1)[0].replace("1e-1, 12]", "1e-1, 30]")
    + """[[agent]]
kind = "harmonic-r"
step_size = { logspace = [1e-4, 1e-1, 20] }
rate_step_size = { logspace = [1e-4, 1e-1, 20] }
"""
)


class Inline(Executor):
    """An executor that runs tasks immediately, or fails on request."""

    def __init__(self, failing: tuple[int, ...] = ()) -> None:
        self.failing = failing
        self.submitted = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.submitted += 1
        if self.submitted in self.failing:
            future.set_exception(ConnectionError("the worker is gone"))
        else:
            future.set_result(fn(*args, **kwargs))
        return future


def contents(folder: Path) -> bytes:
    """Return the tables of a folder as bytes, sorted."""
    table = sj.load_results(folder).sort("agent", "cell", "seed")
    data = table.with_columns(pl.col("policy").cast(pl.List(pl.String)).list.join(" ")).write_csv().encode()
    curves = folder / results.CURVES
    return data + (
        pl.read_parquet(curves).sort("cell", "seed", "step").write_csv().encode() if curves.exists() else b""
    )


def undisturbed(specification: sj.runs.Sweep, folder: Path) -> bytes:
    with ThreadPoolExecutor(2) as pool:
        sj.run_sweep(specification, folder, pool, jobs=2)
    return contents(folder)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> sj.runs.Sweep:
    """A small sweep in many tasks."""
    monkeypatch.setattr(tasks, "BATCH_RUNS", 2)
    return sj.runs.parse_sweep(SMALL)


def test_rows_are_runs(small: sj.runs.Sweep, tmp_path: Path) -> None:
    """Every row has the numbers, the policy and the curve of its run."""
    undisturbed(small, tmp_path / "out")
    table = sj.load_results(tmp_path / "out")
    curves = pl.read_parquet(tmp_path / "out" / results.CURVES)
    assert len(table) == small.num_runs == 18
    assert table["cell"].n_unique() == small.num_cells
    for row in table.iter_rows(named=True):
        if row["agent"] == "smart":
            agent: Any = sj.smart(2, 2, step_size=row["step_size"])
        else:
            agent = sj.harmonic_r(
                2, 2, exploration=sj.agents.Decay(row["exploration"], row["exploration_factor"])
            )
        world = sj.worlds.TwoState(row["log_scale"])
        run = sj.run(world, agent, 50, 2, seed=row["seed"], record=4, compiled=False)
        for figure in (
            "rate",
            "reward",
            "duration",
            "greedy_reward",
            "greedy_duration",
            "greedy_steps",
            "diverged",
        ):
            assert row[figure] == getattr(run, figure)
        assert row["policy"] == run.policy.tolist()
        curve = curves.filter((pl.col("cell") == row["cell"]) & (pl.col("seed") == row["seed"]))
        assert curve["step"].to_list() == run.curve.step.tolist()
        assert curve["rate"].to_list() == run.curve.rate.tolist()
        for name in ("world", "agent", "log_scale", "step_size", "exploration_factor", "steps"):
            assert curve[name].unique().to_list() == [row[name]]
        assert row["error"] is None


def test_the_schema_is_the_documented_one(small: sj.runs.Sweep, tmp_path: Path) -> None:
    """The columns, their order and their types are as documented."""
    undisturbed(small, tmp_path / "out")
    table = sj.load_results(tmp_path / "out")
    options = ["log_scale", "step_size", "exploration", "exploration_factor"]
    figures = ["rate", "reward", "duration", "greedy_reward", "greedy_duration", "greedy_steps", "diverged"]
    assert table.columns == [
        "cell",
        "world",
        "agent",
        *options,
        "steps",
        "episodes",
        "seed",
        *figures,
        "gain",
        "regret",
        "rate_gap",
        "policy_gain",
        "earned",
        "dynamic_regret",
        "tracking_error",
        "state",
        "policy",
        "error",
    ]
    assert sj.runs.load_curves(tmp_path / "out").columns == [
        *table.columns[: table.columns.index("rate")],
        *("step", "reward", "greedy_reward", "clock", "rate"),
    ]
    assert table.schema["policy"] == pl.List(pl.UInt32)
    for name in ("rate", "gain", "regret", "rate_gap", "dynamic_regret", "tracking_error"):
        assert table.schema[name] == pl.Float64
    assert pl.read_parquet(tmp_path / "out" / results.TIMINGS).columns == ["cell", "seed", "seconds"]
    kept = json.loads((tmp_path / "out" / "sweep.json").read_text())
    assert (kept["schema_version"], kept["rules_version"]) == (6, 7)


def test_mean_curves_have_intervals(tmp_path: Path) -> None:
    """Means over seeds have the same Student intervals as SciPy's; a single seed has none, and CSV export has both tables."""
    for name, more in (("each", {}), ("mean", {"curves": "mean"}), ("one", {"curves": "mean", "seeds": 1})):
        with ThreadPoolExecutor(2) as pool:
            sj.run_sweep(sj.runs.parse_sweep({**SMALL, "seeds": 4, **more}), tmp_path / name, pool, jobs=2)
    each, mean, one = (sj.runs.load_curves(tmp_path / name) for name in ("each", "mean", "one"))
    for row in mean.iter_rows(named=True):
        for name in ("reward", "greedy_reward", "clock", "rate"):
            runs = each.filter(cell=row["cell"], step=row["step"])[name].to_numpy()
            low, high = scipy_stats.t.interval(0.95, 3, loc=runs.mean(), scale=scipy_stats.sem(runs))
            if np.ptp(runs):
                assert (row[f"{name}_low"], row[f"{name}_high"]) == pytest.approx(
                    (low, high), rel=1e-9, abs=1e-9
                )
            else:
                assert row[f"{name}_low"] == row[f"{name}_high"] == pytest.approx(runs[0])
    assert one["rate_low"].null_count() == one["rate_high"].null_count() == one.height
    assert "seed" not in mean.columns
    assert (
        CliRunner()
        .invoke(app, ["results", str(tmp_path / "mean"), "--csv", str(tmp_path / "x.csv")])
        .exit_code
        == 0
    )
    assert pl.read_csv(tmp_path / "x.curves.csv").columns == mean.columns
    assert pl.read_csv(tmp_path / "x.csv").height == sj.load_results(tmp_path / "mean").height


@pytest.mark.parametrize("jobs", [1, 4])
def test_batches_and_jobs_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int) -> None:
    """The table does not depend on the partition into tasks or on the number of jobs."""
    specification = sj.runs.parse_sweep(SMALL)
    whole = undisturbed(specification, tmp_path / "whole")
    monkeypatch.setattr(tasks, "BATCH_RUNS", 4)
    with ThreadPoolExecutor(jobs) as pool:
        sj.run_sweep(specification, tmp_path / "cut", pool, jobs)
    assert contents(tmp_path / "cut") == whole


def test_lost_tasks_are_run_again(small: sj.runs.Sweep, tmp_path: Path) -> None:
    """Lost tasks are reported, and only they are executed the next time."""
    folder = tmp_path / "out"
    planned = list(tasks.plan(small))
    outcome = sj.run_sweep(small, folder, Inline(failing=(2, 5)), jobs=1)
    assert outcome.lost == planned[1].num_runs + planned[4].num_runs
    with pytest.raises(ValueError, match="not finished; run it again"):
        sj.load_results(folder)
    again = Inline()
    assert sj.run_sweep(small, folder, again, jobs=1).lost == 0
    assert again.submitted == 2 < len(planned)
    assert contents(folder) == undisturbed(small, tmp_path / "other")
    idle = Inline()
    sj.run_sweep(small, folder, idle, jobs=1)
    assert idle.submitted == 0


@pytest.mark.interpreted
def test_options_can_be_words(small: sj.runs.Sweep, tmp_path: Path) -> None:
    """An option that is a word for one agent and missing for others is a text column."""
    agents = [{"kind": "smart"}, {"kind": "relaxed-smart", "variant": ["paper", "gosavi"]}]
    specification = sj.runs.parse_sweep({**SMALL, "agent": agents})
    undisturbed(specification, tmp_path / "out")
    table = sj.load_results(tmp_path / "out").unique(["agent", "variant"], maintain_order=True)
    assert table["variant"].to_list() == [None, "paper", "gosavi"]


@pytest.mark.interpreted
def test_copies_of_a_file_are_one_cell_under_their_own_paths(tmp_path: Path) -> None:
    """Data is identified by its content, so copies share an id; each table keeps the path given in its sweep."""
    paths = [str(tmp_path / name) for name in ("one.json", "copy.json")]
    cells = set()
    for path in paths:
        save_model(sj.problems.long_shot(), path)
        world = {"kind": "model", "data": path}
        sweep = sj.runs.parse_sweep({"seeds": 1, "steps": 10, "world": [world], "agent": [{"kind": "smart"}]})
        with ThreadPoolExecutor(1) as pool:
            sj.run_sweep(sweep, tmp_path / Path(path).stem, pool, jobs=1)
        table = sj.load_results(tmp_path / Path(path).stem)
        assert table["data"].to_list() == [path]
        assert table["gain"].to_list() == [5.0]
        cells.add(table["cell"][0])
    assert len(cells) == 1


def test_failed_runs_are_recorded(tmp_path: Path) -> None:
    """A run that breaks a rule is in the table with its error; the others are complete."""
    worlds = [{"kind": "two-state", "log_scale": [1e-3, 0.1]}]
    data = {**SMALL, "steps": 4000, "seeds": 3, "world": worlds, "agent": [{"kind": "random-agent"}]}
    outcome = sj.run_sweep(sj.runs.parse_sweep(data), tmp_path / "out", Inline(), jobs=1)
    table = sj.load_results(tmp_path / "out")
    failed = table.filter(pl.col("log_scale") == 0.1)
    assert outcome.failed == len(failed) == 3
    assert all("returned the reward inf" in error for error in failed["error"])
    assert failed["rate"].null_count() == 3
    fine = table.filter(pl.col("log_scale") != 0.1)
    assert fine["error"].null_count() == len(fine)


def test_a_folder_is_for_one_sweep(small: sj.runs.Sweep, tmp_path: Path) -> None:
    """A folder of another sweep, or with other files, is refused and left untouched."""
    sj.run_sweep(small, tmp_path / "out", Inline(), jobs=1)
    other = sj.runs.parse_sweep({**SMALL, "seeds": 2})
    with pytest.raises(ValueError, match="holds another sweep"):
        sj.run_sweep(other, tmp_path / "out", Inline(), jobs=1)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "lock").write_text("do not touch")
    with pytest.raises(ValueError, match="not empty and holds no sweep"):
        sj.run_sweep(other, tmp_path / "mine", Inline(), jobs=1)
    assert (tmp_path / "mine" / "lock").read_text() == "do not touch"
    (tmp_path / "killed").mkdir()
    for name in (".sweep.json.partial", ".sweep.json.0a1b2c3d.partial"):
        (tmp_path / "killed" / name).touch()
    results.claim_folder(tmp_path / "killed")
    assert sj.run_sweep(small, tmp_path / "killed", Inline(), jobs=1).lost == 0
    assert not list((tmp_path / "killed").glob("**/.*.partial"))


@pytest.mark.interpreted
def test_an_option_does_not_shadow_a_figure(tmp_path: Path) -> None:
    """The option `rate` of an agent has its own column beside the learned rate."""
    agents = [{"kind": "smart"}, {"kind": "fixed-rate", "rate": [0.1, 0.2]}]
    sj.run_sweep(sj.runs.parse_sweep({**SMALL, "agent": agents}), tmp_path / "out", Inline(), jobs=1)
    table = sj.load_results(tmp_path / "out")
    assert table["rate"].null_count() == 0
    fixed = table.filter(pl.col("agent") == "fixed_rate")
    assert (fixed["rate"] == fixed["option_rate"]).all()


def test_estimates() -> None:
    """An estimate is positive and of the right order of magnitude."""
    forecast = tasks.estimate(sj.runs.parse_sweep(SMALL), jobs=2)
    assert 0.0 < forecast.seconds < 10.0
    assert 0 < forecast.memory < 1e8
    assert 0 < forecast.disk < 1e6


# --- The command, as a process ------------------------------------------------------


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    """A long sweep, and its table from an undisturbed run."""
    folder = tmp_path_factory.mktemp("long")
    file = folder / "long.toml"
    file.write_text(LONG)
    return file, undisturbed(sj.runs.load_sweep(file), folder / "undisturbed")


def started(file: Path, out: Path, **options: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [COMMAND, "sweep", file, "--out", out, "--jobs", "2"], stderr=subprocess.PIPE, text=True, **options
    )


def wait_for_parts(out: Path, more_than: int = 0) -> None:
    deadline = time.monotonic() + 60
    while len(list(out.glob("parts/0*.parquet"))) <= more_than:
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture(scope="module")
def longer(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    """A sweep of several seconds, long enough to be killed twenty times, and its table."""
    folder = tmp_path_factory.mktemp("longer")
    file = folder / "longer.toml"
    file.write_text(LONGER)
    return file, undisturbed(sj.runs.load_sweep(file), folder / "undisturbed")


@pytest.mark.parametrize(
    ("kills", "which"), [(2, "long"), pytest.param(20, "longer", marks=pytest.mark.evidence)]
)
def test_killed_at_random_moments(
    kills: int, which: str, request: pytest.FixtureRequest, counted: Counted, tmp_path: Path
) -> None:
    """A sweep that is killed repeatedly at random moments ends with the table of an undisturbed one."""
    file, expected = request.getfixturevalue(which)
    out = tmp_path / "out"
    moments = random.Random(5)
    for kill in range(kills):
        parts = len(list(out.glob("parts/0*.parquet")))
        process = started(file, out)
        if kill % 2:  # while it works: shortly after it has finished something
            wait_for_parts(out, more_than=parts)
        time.sleep(moments.uniform(0.0, 0.1 if kill % 2 else 1.0))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL, "it finished before it had been killed often enough"
    process = started(file, out)
    process.communicate()
    assert process.returncode == 0
    assert contents(out) == expected
    assert sorted(path.name for path in out.iterdir()) == [
        ".lock", "results.parquet", "sweep.json", "sweep.log", "timings.parquet",
    ]  # fmt: skip
    counted("kills of sweep", tried=kills, failed=0)


def test_interrupted_from_the_keyboard(long: tuple[Path, bytes], tmp_path: Path) -> None:
    """Ctrl-C ends with one sentence and exit code 130, and the same command resumes."""
    file, expected = long
    out = tmp_path / "out"
    process = started(file, out)
    wait_for_parts(out, more_than=3)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert errors.splitlines()[-1] == "sojourn: interrupted; run the same command again to continue"
    assert "Traceback" not in errors
    parts = len(list(out.glob("parts/0*.parquet")))
    assert parts > 3
    process = started(file, out)
    process.communicate()
    assert process.returncode == 0
    assert contents(out) == expected


def test_a_second_process_is_refused(long: tuple[Path, bytes], tmp_path: Path) -> None:
    """A second process on the same folder is refused with a sentence; the first is unaffected."""
    file, expected = long
    out = tmp_path / "out"
    first = started(file, out)
    wait_for_parts(out)
    first.send_signal(signal.SIGSTOP)  # it would finish before the second starts
    second = started(file, out)
    _, errors = second.communicate()
    first.send_signal(signal.SIGCONT)
    assert second.returncode == 1
    assert "is in use by another sweep that is running" in errors.splitlines()[-1]
    first.communicate()
    assert first.returncode == 0
    assert contents(out) == expected


def test_a_full_disk(tmp_path: Path) -> None:
    """A full disk ends the sweep with one sentence; once there is room, it resumes."""
    file, out = tmp_path / "small.toml", tmp_path / "out"
    file.write_text(LONG.replace("1e-1, 12]", "1e-1, 3]").replace("seeds = 8", "seeds = 1"))

    def little_room() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (9_000, 9_000))

    # A separate cache of machine code, filled beforehand, which the full disk cannot affect.
    expected = undisturbed(sj.runs.load_sweep(file), tmp_path / "other")
    shutil.copytree(cache_folder(), tmp_path / "cache" / cache_folder().name)
    environment = {**os.environ, "SOJOURN_CACHE_DIR": str(tmp_path / "cache")}
    process = started(file, out, preexec_fn=little_room, env=environment)
    _, errors = process.communicate()
    assert process.returncode == 1
    assert errors.splitlines()[-1].startswith("sojourn: ")
    assert "Traceback" not in errors
    assert not list(out.glob("**/*.partial"))
    process = started(file, out)
    process.communicate()
    assert process.returncode == 0
    assert contents(out) == expected


def test_command_line(tmp_path: Path) -> None:
    """Dry run, run with failures, summary and export, as a user sees them."""
    file, out = tmp_path / "sweep.toml", tmp_path / "out"
    file.write_text(
        'name = "demo"\nseeds = 2\nsteps = 4000\n[[world]]\nkind = "two-state"\nlog_scale = [0.001, 0.1]\n'
        '[[agent]]\nkind = "random-agent"\n'
    )

    dry = ask("sweep", file, "--out", out, "--dry-run")
    assert "demo: 2 cells, 4 runs, 16,000 steps; about" in dry.stdout
    assert not out.exists()
    ran = start("sweep", file, "--out", out)
    assert ran.returncode == 3
    assert "4 runs" in ran.stderr
    assert "2 failed" in ran.stderr
    printed = ask("results", out).stdout
    assert "random actions" in printed  # the title of the kind random_agent
    table = tmp_path / "table.csv"
    assert ask("results", out, "--csv", table).returncode == 0
    assert len(table.read_text().splitlines()) == 5
    (out / "results.parquet").write_bytes(b"nonsense")
    damaged = ask("results", out)
    assert (damaged.returncode, damaged.stderr.count("Traceback")) == (1, 0)
    assert "results.parquet is not a whole Parquet file" in damaged.stderr
    missing = ask("results", tmp_path / "nothing")
    assert (missing.returncode, missing.stderr.count("\n")) == (1, 1)
    file.write_text("seeds = 1\nsteps = 10\nwrold = []\n")
    bad = ask("sweep", file, "--out", tmp_path / "other")
    assert bad.stderr == "sojourn: unknown key 'wrold'; did you mean 'world'?\n"
    none = ask("sweep", tmp_path / "none.toml", "--out", tmp_path / "other")
    assert none.returncode == 1
    assert "none.toml" in none.stderr


PEAK = """
import sys
from concurrent.futures import ThreadPoolExecutor
import sojourn as sj
data = {
    "seeds": 100, "steps": 5,
    "world": [{"kind": "two-state", "log_scale": {"logspace": [1e-5, 1e-2, int(sys.argv[1])]}}],
    "agent": [{"kind": "smart", "step_size": {"linspace": [0.01, 1, 100]}}],
}
with ThreadPoolExecutor(2) as pool:
    outcome = sj.run_sweep(sj.runs.parse_sweep(data), sys.argv[2], pool, 2)
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]
print(outcome.runs, peak)
"""


@pytest.mark.evidence
def test_memory_does_not_grow_with_runs(tmp_path: Path) -> None:
    """A million short runs need no more memory than ten thousand, apart from a constant."""
    peaks = []
    for worlds in (1, 100):
        out = subprocess.run(
            [sys.executable, "-c", PEAK, str(worlds), tmp_path / str(worlds)],
            check=True,
            capture_output=True,
            text=True,
        )
        runs, kilobytes = map(int, out.stdout.split())
        assert runs == worlds * 10_000
        peaks.append(kilobytes / 1024)
    assert peaks[1] - peaks[0] < 150, peaks


@pytest.mark.evidence
def test_a_cluster_that_loses_a_worker(long: tuple[Path, bytes], tmp_path: Path) -> None:
    """On a Dask cluster of two workers, one of them killed half-way, the table is the same."""
    from distributed import Client, LocalCluster

    file, expected = long
    specification = sj.runs.load_sweep(file)
    with LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=2,
        threads_per_worker=1,
        host="127.0.0.1",
        scheduler_port=0,  # any that is free, as for the dashboards
        dashboard_address=":0",
        worker_dashboard_address=":0",
        processes=True,
    ) as cluster:
        with Client(cluster) as client:  # type: ignore[no-untyped-call]
            pids = list(client.run(os.getpid).values())
        done = 0.0
        killed: list[int] = []

        def progress(steps: float, failures: int = 0, *, earlier: bool = False, note: str = "") -> None:
            nonlocal done
            done += steps
            if done > specification.num_steps / 2 and not killed:
                os.kill(pids[0], signal.SIGKILL)
                killed.append(pids[0])

        with executor(None, cluster.scheduler_address) as (pool, width):
            assert width == 2
            outcome = sj.run_sweep(specification, tmp_path / "out", pool, width, progress)
    assert killed
    assert outcome.lost == 0
    assert contents(tmp_path / "out") == expected


def test_a_missing_cluster_is_reported() -> None:
    """A missing cluster is reported in one sentence."""
    with (
        pytest.raises(ValueError, match="no Dask scheduler at tcp"),
        executor(None, "tcp://127.0.0.1:1"),
    ):
        pass
