"""A user's module with an estimator, an agent, a world and a problem works everywhere."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import sojourn as sj
from clusters import COMMAND, dask
from sojourn.agents.catalogue import named_agent
from sojourn.answers.audit import audit_named
from sojourn.answers.comparison.compare import compare
from sojourn.answers.comparison.plan import Settings, tuned_options
from sojourn.answers.page import write_report
from sojourn.data.names import users_constructor
from sojourn.envs import make
from sojourn.learner.by_name import Beginning, Place, Training, begun, train_into
from sojourn.rates.catalogue import named_rate
from sojourn.rules.jit.identity import source_of
from sojourn.runs.build import build_agent, build_world
from sojourn.runs.executors import executor
from sojourn.runs.spec import spaced

MODULE = '''
from typing import NamedTuple

import numpy as np

import sojourn as sj
from users_numbers import PAY


class Forgotten(NamedTuple):
    """Sums of rewards and of durations, both forgotten at the same pace."""

    step_size: float = 0.1
    reward: float = 0.0
    duration: float = 0.0


@sj.update.register
def update(rate: Forgotten, reward, duration):
    keep = 1.0 - rate.step_size
    return Forgotten(rate.step_size, keep * rate.reward + reward, keep * rate.duration + duration)


@sj.value.register
def value(rate: Forgotten):
    return rate.reward / rate.duration if rate.duration > 0.0 else 0.0


@sj.limit.register
def limit(rate: Forgotten, steps):
    return steps.reward / steps.duration


class Persistent(NamedTuple):
    values: sj.agents.Table
    rate: Forgotten
    step_size: float
    accepted: bool


@sj.draw.register
def draw(agent: Persistent, state, rng):
    """Keep to action 1, but for one step in ten."""
    explored = sj.random.uniform(rng) < 0.1
    return (0 if explored else 1), explored


@sj.learn.register
def learn(agent: Persistent, state, action, reward, duration, next_state, explored):
    q = agent.values.q
    q[state, action] += agent.step_size * (reward - q[state, action])
    rate = agent.rate if explored else sj.update(agent.rate, reward, duration)
    return Persistent(agent.values, rate, agent.step_size, not explored)


def persistent(num_states, num_actions, *, step_size=0.1, rate: Forgotten | None = None):
    q = np.zeros((num_states, num_actions))
    return Persistent(sj.agents.Table(q), Forgotten() if rate is None else rate, step_size, False)


class Tossed(NamedTuple):
    """A coin that pays for heads; action 1 pays twice as much, in thrice the time."""

    pay: float = PAY
    num_states: int = 2
    num_actions: int = 2


@sj.start.register
def start(world: Tossed, rng):
    return world, 0


@sj.step.register
def step(world: Tossed, state, action, rng):
    heads = sj.random.uniform(rng) < 0.5
    return world, (1 if heads else 0), (world.pay if heads else 0.0) * (1.0 + action), 1.0 + 2.0 * action


def two_jobs(pay: float = 3.0):
    return sj.models.from_transitions([(0, 0, 0, 1.0, 1.0, 1.0), (0, 1, 0, 1.0, pay, 2.0)])


def fails(num_states, num_actions):
    raise ZeroDivisionError("no luck")


def plain(a):
    return a
'''

SWEEP = """
seeds = 2
steps = [10, 20, 30, 40]
record = 3
[[world]]
kind = "users_code:Tossed"
pay = [1, 2]
[[agent]]
kind = "users_code:persistent"
rate = { kind = "users_code:Forgotten", step_size = [0.01, 0.1] }
"""

# The part of the first task is written; then the process is killed, as in a power failure.
KILLED = """
import os, signal, sys
from concurrent.futures import ThreadPoolExecutor
import sojourn as sj
def kill(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
with ThreadPoolExecutor(1) as pool:
    sj.run_sweep(sj.runs.load_sweep("sweep.toml"), "killed", pool, 1, kill)
"""

CELLS = """
import json, sys
import sojourn as sj
from sojourn.runs.recording import Length
from sojourn.runs.spec import canonical_text, cell_ids
sweep = sj.runs.load_sweep("sweep.toml")
agents = [canonical_text("users_code:persistent", options) for options in sweep.agents[0].grid()]
worlds = [canonical_text("users_code:Tossed", options) for options in sweep.worlds[0].grid()]
print(json.dumps([cell for world in worlds for steps in sweep.lengths for cell in cell_ids(world, agents, Length(steps))]))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of the module, as the working directory."""
    place = tmp_path_factory.mktemp("users")
    (place / "users_code.py").write_text(MODULE)
    (place / "users_numbers.py").write_text("PAY = 1.0\n")
    (place / "sweep.toml").write_text(SWEEP)
    path, before = list(sys.path), Path.cwd()
    os.chdir(place)
    yield place
    os.chdir(before)
    sys.path[:] = path


def python(code: str, place: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], cwd=place, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def table(folder: Path) -> pl.DataFrame:
    """The results of the sweep, run here without interruption."""
    with ThreadPoolExecutor(1) as pool:
        sj.run_sweep(sj.runs.load_sweep("sweep.toml"), folder / "whole", pool, jobs=1)
    return sj.load_results(folder / "whole")


def test_a_sweep_runs_what_its_names_stand_for(table: pl.DataFrame) -> None:
    """Every row is the run of the named world, agent and estimator, and identifies them."""
    mine = sys.modules["users_code"]
    assert len(table) == 2 * 2 * 4 * 2
    for row in table.iter_rows(named=True):
        assert (row["world"], row["agent"], row["option_rate"]) == (
            "users_code:Tossed", "users_code:persistent", "users_code:Forgotten",
        )  # fmt: skip
        rate = mine.Forgotten(row["option_rate_step_size"])
        agent, world = mine.persistent(2, 2, rate=rate), mine.Tossed(row["pay"])
        run = sj.run(world, agent, row["steps"], seed=row["seed"], compiled=False)
        assert (row["reward"], row["duration"], row["rate"]) == (run.reward, run.duration, run.rate)
    assert set(table["option_rate_step_size"]) == {0.01, 0.1}


def test_killed_and_resumed_on_two_workers(folder: Path, table: pl.DataFrame) -> None:
    """A sweep killed after its first task is finished by a Dask cluster, with the same tables."""
    assert python(KILLED, folder).returncode == -signal.SIGKILL
    assert len(list((folder / "killed" / "parts").glob("0*.rows.*"))) == 1
    with dask(folder / "dask") as cluster:
        for _ in range(2):
            cluster.worker(folder=folder)
        with executor(None, cluster.address) as (pool, _):
            sj.run_sweep(sj.runs.load_sweep("sweep.toml"), folder / "killed", pool, 2).whole()
    assert_frame_equal(sj.load_results(folder / "killed"), table)
    assert_frame_equal(
        pl.read_parquet(folder / "killed" / "curves.parquet"), pl.read_parquet(folder / "whole" / "curves.parquet")
    )  # fmt: skip


def test_workers_with_other_source_are_refused(folder: Path, tmp_path: Path) -> None:
    """A worker without the module, or with an edited one, is refused by address, and none of its results are kept."""
    other, empty = tmp_path / "other", tmp_path / "empty"
    shutil.copytree(folder, other, ignore=shutil.ignore_patterns("whole", "killed", "dask", "__pycache__"))
    (other / "users_numbers.py").write_text("PAY = 2.0\n")
    empty.mkdir()
    said = {
        empty: r"'users_code:\w+' cannot be found: No module named 'users_code' \(at tcp://127.0.0.1:\d+; a worker finds",
        other: r"the source behind 'users_code:\w+' at tcp://127.0.0.1:\d+ is not that of this command",
    }
    for number, (place, sentence) in enumerate(said.items()):
        with dask(tmp_path / f"dask-{number}") as cluster:
            cluster.worker(folder=place)
            with executor(None, cluster.address) as (pool, _), pytest.raises(ValueError, match=sentence):
                sj.run_sweep(sj.runs.load_sweep("sweep.toml"), tmp_path / f"out-{number}", pool, 1)
        assert not list((tmp_path / f"out-{number}").glob("parts/0*"))


def test_an_edited_line_makes_new_cells(folder: Path, table: pl.DataFrame, tmp_path: Path) -> None:
    """The same source in another folder gives the same ids; an edited line, even in an imported module, gives other ids."""
    ids = {}
    for name, file, old, new in (
        ("same", "users_code.py", "", ""),
        ("edited", "users_code.py", "keep = 1.0 - rate.step_size", "keep = 0.9 - rate.step_size"),
        ("import", "users_numbers.py", "1.0", "1.25"),
    ):
        place = tmp_path / name
        shutil.copytree(
            folder, place, ignore=shutil.ignore_patterns("whole", "killed", "dask*", "__pycache__")
        )
        (place / file).write_text(
            (place / file).read_text().replace(old, new) if old else (place / file).read_text()
        )
        done = python(CELLS, place)
        assert not done.returncode, done.stderr
        ids[name] = set(json.loads(done.stdout))
    assert ids["same"] == set(table["cell"])
    assert len(ids["same"] | ids["edited"] | ids["import"]) == 3 * len(ids["same"])


def test_source_that_is_edited_after_its_import_is_refused(folder: Path, table: pl.DataFrame) -> None:
    """If a file was edited after its import, nothing is run; restoring the file restores the sweep."""
    path = folder / "users_code.py"
    path.write_text(MODULE.replace("< 0.1", "< 0.2"))
    try:
        with pytest.raises(
            ValueError, match=r"'users_code:Tossed' was edited after it was imported.* new process"
        ):
            sj.runs.load_sweep("sweep.toml")
    finally:
        path.write_text(MODULE)
    assert sj.runs.load_sweep("sweep.toml").num_cells == 16
    late = folder / "users_late.py"
    late.write_text("import sojourn as sj\ndef late(a, b):\n    return sj.smart(a, b)\n")
    users_constructor("users_late:late")
    late.write_text("import sojourn as sj\ndef late(a, b):\n    return sj.smart(b, a)\n")
    with pytest.raises(ValueError, match="was edited after it was imported"):
        source_of("users_late:late")


def test_a_folder_of_other_source_is_refused(folder: Path, table: pl.DataFrame, tmp_path: Path) -> None:
    """A sweep resumes in its folder only with the source it was started with."""
    out = tmp_path / "out"
    shutil.copytree(folder / "whole", out)
    text = (out / "sweep.json").read_text()
    (out / "sweep.json").write_text(text.replace(source_of("users_code:persistent"), "0" * 16))
    with (
        ThreadPoolExecutor(1) as pool,
        pytest.raises(ValueError, match=r"before the source behind .* was edited"),
    ):
        sj.run_sweep(sj.runs.load_sweep("sweep.toml"), out, pool, jobs=1)


@pytest.mark.interpreted
def test_a_model_of_a_users_is_a_world_with_a_gain(folder: Path) -> None:
    """A function that returns a model can be swept with its exact gain, solved, and audited with a user's estimator."""
    data = {
        "seeds": 1, "steps": 10, "world": [{"kind": "users_code:two_jobs", "pay": 4, "actions": ["given", "reversed"]}],
        "agent": [{"kind": "smart"}],
    }  # fmt: skip
    with ThreadPoolExecutor(1) as pool:
        sj.run_sweep(sj.runs.parse_sweep(data), folder / "jobs", pool, jobs=1)
    assert sj.load_results(folder / "jobs")["gain"].to_list() == [2.0, 2.0]
    found = audit_named(
        "users_code:two_jobs", {"pay": 5}, estimators={"users_code:Forgotten": "users_code:Forgotten"}
    )
    assert (found.gain, found["users_code:Forgotten"].rate, found["Cumulative"].rate) == (2.5, 2.5, 2.5)


def test_compared_by_name(folder: Path) -> None:
    """A comparison on a user's problem tunes the step size of a user's agent, next to one of ours, and judges its policy."""
    settings = Settings(200, 2, 1, exploration=(0.1,), agents=("users_code:persistent", "smart"), widen=0)
    found = compare(["users_code:two_jobs"], folder / "compared", settings, formats=())
    (problem,) = found.problems
    agents = {row.agent: row for row in problem.agents}
    assert set(agents) == {"users_code:persistent", "smart"}
    assert problem.gain == 1.5
    assert "step_size" in agents["users_code:persistent"].options
    assert agents["users_code:persistent"].earned < 1.0  # action 1 earns 1.5, one step in ten earns 1
    assert agents["smart"].relative_gain == 1.0


@pytest.mark.interpreted
def test_trained_saved_and_evaluated_by_name(folder: Path) -> None:
    """A learner with a user's world, agent and estimator can be trained, saved, loaded and evaluated by name."""
    file, place = folder / "learner.sojourn", Place("users_code:Tossed", {"pay": 3.0})
    new = Beginning("users_code:persistent", {"rate": "users_code:Forgotten", "step_size": 0.01}, seed=3)
    stands, _ = train_into(file, begun(file, place, new), Training(steps=2000))
    assert (stands.agent, stands.estimator, stands.steps) == ("Persistent", "Forgotten", 2000)
    loaded = begun(file, place, None)
    assert loaded.rate == stands.rate
    assert loaded.evaluate(duration=9000.0, seed=1).rate == pytest.approx(
        1.0, abs=0.1
    )  # half the steps pay 6, and each takes 3
    short = make("users_code:Tossed", {}, max_episode_steps=2)
    short.reset(seed=0)
    assert [short.step(0)[3] for _ in range(2)] == [False, True]


@pytest.mark.interpreted
def test_a_command_says_which_module_to_name_and_takes_it(folder: Path) -> None:
    """A command reads a saved learner with a user's classes once the module is named, as the error suggests."""
    file = folder / "named.sojourn"
    new = Beginning("users_code:persistent", {"rate": "users_code:Forgotten"}, seed=3)
    train_into(file, begun(file, Place("sojourn/Jobs-v0", {}), new), Training(steps=50))
    command = [str(COMMAND), "policy", str(file)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.endswith("or add --module users_code to the command\n")
    command = [*command, "--module", "users_code"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("observation,action,value,")


def test_a_report_shows_them(folder: Path, table: pl.DataFrame, tmp_path: Path) -> None:
    """The report of a sweep shows the names of a user's code."""
    write_report([folder / "whole"], tmp_path / "report.html")
    assert "users_code:persistent" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: build_agent("no_such:thing", {}, 2, 2), "'no_such:thing' cannot be found: No module named 'no_such'"),
        (lambda: build_agent("users_code:persistant", {}, 2, 2), r"users_code.py\) has no 'persistant'; did you mean 'persistent'"),
        (lambda: build_agent("users_code:Tossed", {}, 2, 2), r"'users_code:Tossed' makes Tossed\(.*\), which is not an agent"),
        (lambda: build_agent("users_code:plain", {}, 2, 2), "'users_code:plain' does not take the number of states"),
        (lambda: build_agent("users_code:fails", {}, 2, 2), r"'users_code:fails' fails with .* \(ZeroDivisionError: no luck"),
        (lambda: build_agent("users_code:PAY", {}, 2, 2), "'users_code:PAY' is '1.0'; it must be a function or a class"),
        (lambda: build_agent("users_code:persistent", {"step": 1}, 2, 2), "unknown option 'step'; did you mean 'step_size'"),
        (lambda: build_agent("smart", {"rate": "users_code:two_jobs"}, 2, 2), "makes SMDP.*, which is not an estimator"),
        (lambda: build_agent("smart", {"rate": {"step_size": 1}}, 2, 2), "has no name; give its name as kind"),
        (lambda: build_agent("smart", {"rate": "harmonik"}, 2, 2), "unknown estimator 'harmonik'; did you mean 'Harmonic'"),
        (lambda: build_world("users_code:plain", {"a": 3}), "'users_code:plain' makes 3, which is neither a model nor a world"),
        (lambda: build_world("users_code:Tossed", {"actions": "reversed"}), "actions is given, but .* does not make a model; only"),
        (lambda: build_world("subprocess:getoutput", {"cmd": "true"}), "is not made for Sojourn"),
        (lambda: build_world("users_broken:x", {}), r"its module fails when it is imported \(SyntaxError"),
        (lambda: make("users_code:plain", {"a": 3}), "which is neither a model nor a world"),
        (lambda: named_agent("smrt"), "unknown agent 'smrt'; did you mean 'smart'"),
    ],
)  # fmt: skip
def test_wrong_names_are_refused_by_a_sentence(folder: Path, build: Any, sentence: str) -> None:
    """An unknown module, an unknown name, and a name of the wrong kind get one sentence each, and nothing is run."""
    (folder / "users_broken.py").write_text("def x(:\n")
    with pytest.raises((ValueError, TypeError), match=sentence):
        build()


def test_agents_by_name_for_comparisons(folder: Path) -> None:
    """A user's agent is tuned by the step sizes among its options, unless its catalogue entry says more."""
    entry = named_agent("users_code:persistent")
    tuned = list(tuned_options(entry))
    assert (entry.kind, entry.title, tuned) == (
        "users_code:persistent",
        "users_code:persistent",
        ["step_size"],
    )
    assert named_agent("harmonic-r-centred").options == {"centring": 0.1}


def test_an_estimator_of_ours_is_named_with_its_options() -> None:
    """`rate` accepts any estimator by name, in any spelling, with a table of its options."""
    assert named_rate("TimeSmoothed") == named_rate("time-smoothed") == sj.rates.TimeSmoothed(0.01)
    assert named_rate({"kind": "fixed", "rate": 2.0}) == sj.rates.Fixed(2.0)
    sweep = sj.runs.parse_sweep({
        "seeds": 1, "steps": 10, "world": [{"kind": "two-state", "log_scale": 0.01}],
        "agent": [{"kind": "smart", "rate": {"kind": "time-smoothed", "step_size": {"logspace": [0.001, 0.1, 3]}}}],
    })  # fmt: skip
    tables: list[Any] = [options["rate"] for options in sweep.agents[0].grid()]
    assert [table["step_size"] for table in tables] == spaced("logspace", 0.001, 0.1, 3)
    with pytest.raises(
        ValueError, match=r"agent 1 \(smart\): unknown option 'size'; did you mean 'step_size'"
    ):
        sj.runs.parse_sweep({
            "seeds": 1, "steps": 10, "world": [{"kind": "two-state", "log_scale": 0.01}],
            "agent": [{"kind": "smart", "rate": {"kind": "time-smoothed", "size": 1}}],
        })  # fmt: skip


def test_a_command_finds_modules_in_its_folder(folder: Path) -> None:
    """`sojourn solve users_code:two_jobs` works only in the module's folder."""
    command = [str(COMMAND), "solve", "users_code:two_jobs", "-o", "pay=5"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert textwrap.shorten(done.stdout, 60).startswith("users_code:two_jobs: gain 2.5 per unit time")
    done = subprocess.run(command, cwd=folder / "whole", capture_output=True, text=True, check=False)
    assert done.stderr == "sojourn: 'users_code:two_jobs' cannot be found: No module named 'users_code'\n"
