"""Problems and model files as worlds of sweeps, and sweeps of several lengths."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sojourn as sj
from sojourn.exact.policies import PolicyGains
from sojourn.models import SMDP, from_arrays, load_model, save_model
from sojourn.models.problems import PROBLEMS, admission_control, gosavi, long_shot
from sojourn.runs.build import build_world
from sojourn.worlds.tabular import available

MODEL = """
states = ["up", "down", "off"]
actions = ["run", "mend", "rest"]

[[pairs]]
state = "up"
action = "run"
reward = {reward}
duration = {{ law = "gamma", shape = 2.0, scale = 0.5 }}
next = {{ up = 0.9, down = 0.1 }}

[[pairs]]
state = "down"
action = "mend"
outcomes = [
    {{ next = "up", probability = 0.5, reward = -1.0, duration = 1.0 }},
    {{ next = "up", probability = 0.5, reward = -4.0, duration = 2.0 }},
]

[[pairs]]
state = "down"
action = "rest"
reward = -0.5
duration = 1.0
next = {{ off = 1.0 }}

[[pairs]]
state = "off"
action = "mend"
reward = -6.0
duration = 3.0
next = {{ up = 1.0 }}
"""


def swept(data: dict[str, Any], folder: Path) -> pl.DataFrame:
    with ThreadPoolExecutor(2) as pool:
        outcome = sj.run_sweep(sj.runs.parse_sweep(data), folder, pool, jobs=2)
    assert outcome.lost == 0
    return sj.load_results(folder)


def exact(table: pl.DataFrame) -> None:
    """Check the relations between the columns gain, regret and rate gap, row by row."""
    for row in table.iter_rows(named=True):
        assert row["regret"] == row["gain"] * row["duration"] - row["reward"]
        assert row["rate_gap"] == row["rate"] - row["gain"]


def test_a_problem_with_options(tmp_path: Path) -> None:
    """A problem can be swept by name, its options are axes, and each row has the exact gain of its own world."""
    file = tmp_path / "sweep.toml"
    file.write_text(
        'seeds = 3\nsteps = 400\n[[world]]\nkind = "admission-control"\ncapacity = [5, 20]\n'
        '[[agent]]\nkind = "smart"\nexploration = 0.5\n[[agent]]\nkind = "harmonic-r"\n'
    )
    with ThreadPoolExecutor(2) as pool:
        sj.run_sweep(sj.runs.load_sweep(file), tmp_path / "out", pool, jobs=2)
    table = sj.load_results(tmp_path / "out")
    assert len(table) == 12
    assert set(table["world"]) == {"admission_control"}
    exact(table)
    for row in table.iter_rows(named=True):
        model = admission_control(capacity=int(row["capacity"]))
        assert row["gain"] == sj.solve(model).gain
        size = (model.num_states, 2)
        agent: Any = sj.smart(*size, exploration=0.5) if row["agent"] == "smart" else sj.harmonic_r(*size)
        run = sj.run(sj.worlds.Tabular(model), agent, 400, seed=row["seed"])
        assert (row["reward"], row["duration"], row["rate"]) == (run.reward, run.duration, run.rate)
        assert row["policy"] == run.policy.tolist()
        assert row["policy"][-1] == 0  # a full queue has only one action
        assert row["policy_gain"] == pytest.approx(sj.evaluate(model, run.policy).gains[0], rel=1e-9)
        assert row["earned"] == run.reward / run.duration
    different = dict(zip(table["capacity"], table["gain"], strict=True))
    assert different[5.0] <= different[20.0]  # a longer queue can do whatever a shorter one can


def test_the_gain_of_a_policy_does_not_depend_on_how_actions_are_numbered(tmp_path: Path) -> None:
    """With actions reversed, the final policy is judged by the actions that it stands for; without policies, not at all."""
    data = {
        "seeds": 6, "steps": 30, "world": [{"kind": "long-shot", "actions": ["given", "reversed"]}],
        "agent": [{"kind": "smart", "exploration": 1.0}],
    }  # fmt: skip
    table = swept(data, tmp_path / "out")
    worth = {("given", 0): 5.0, ("given", 1): 3.0, ("reversed", 1): 5.0, ("reversed", 0): 3.0}
    found = {(row["actions"], row["policy"][0]): row["policy_gain"] for row in table.iter_rows(named=True)}
    assert found.keys() >= {("given", 0), ("reversed", 1)}
    assert found == {key: worth[key] for key in found}
    assert swept({**data, "policies": False}, tmp_path / "none")["policy_gain"].null_count() == 12


def test_gains_of_policies_are_those_from_the_first_state() -> None:
    """A policy's gain is the one from the first state, for any model and however many recurrent classes it has."""
    rng = np.random.default_rng(0)
    classes = set()
    for _ in range(60):
        count = int(rng.integers(1, 7))
        rows = [
            (state, action, int(after), 0.5, float(rng.normal()), float(rng.uniform(0.1, 2.0)))
            for state in range(count)
            for action in range(2)
            for after in rng.integers(0, count, 2)
        ]
        model = sj.models.from_transitions(rows)
        judge = PolicyGains(model)
        for policy in rng.integers(0, 2, (3, count)).tolist():
            worth = sj.evaluate(model, policy)
            classes.add(len(worth.classes))
            assert judge(policy) == pytest.approx(worth.gains[0], rel=1e-9, abs=1e-12)
            assert judge(policy) == judge(policy)
    assert len(classes) > 1


def test_shorter_lengths_are_prefixes(tmp_path: Path) -> None:
    """A run of 100 steps is a prefix of that of 1,000: each length has the numbers of a run that stops there."""
    file = tmp_path / "model.toml"
    file.write_text(MODEL.format(reward=5.0))
    data = {
        "seeds": 4, "steps": [1000, 100], "record": 5,
        "world": [{"kind": "model", "data": str(file)}],
        "agent": [{"kind": "smart", "exploration": 1.0}, {"kind": "r-learning"}],
    }  # fmt: skip
    sweep = sj.runs.parse_sweep(data)
    assert (sweep.num_cells, sweep.num_runs, sweep.num_steps) == (4, 16, 8 * 1100)
    table = swept(data, tmp_path / "out")
    assert len(table) == 16
    assert table["cell"].n_unique() == 4
    model = load_model(file)
    assert set(table["gain"]) == {sj.solve(model).gain}
    exact(table)
    curves = pl.read_parquet(tmp_path / "out" / "curves.parquet")
    for row in table.iter_rows(named=True):
        agent: Any = sj.smart(3, 3, exploration=1.0) if row["agent"] == "smart" else sj.r_learning(3, 3)
        run = sj.run(sj.worlds.Tabular(model), agent, steps=row["steps"], seed=row["seed"])
        assert (row["policy"], row["reward"], row["rate"]) == (run.policy.tolist(), run.reward, run.rate)
        curve = curves.filter((pl.col("cell") == row["cell"]) & (pl.col("seed") == row["seed"]))
        assert curve["step"].max() == row["steps"]
    longer = sj.run(
        sj.worlds.Tabular(model), sj.smart(3, 3, exploration=1.0), 1000, seed=2, record=np.array([100, 1000])
    )
    (shorter,) = table.filter(agent="smart", steps=100, seed=2).iter_rows(named=True)
    assert (longer.curve.reward[0], longer.curve.rate[0]) == (shorter["reward"], shorter["rate"])


@pytest.mark.interpreted
def test_missing_actions_are_never_taken(tmp_path: Path) -> None:
    """No agent of a sweep takes, or finally prefers, an action that a state lacks, however it explores."""
    file = tmp_path / "model.toml"
    file.write_text(MODEL.format(reward=-5.0))  # so that 0 would look attractive
    kinds = ["smart", "harmonic-r", "r-learning", "differential-q", "smdp-q-learning", "random-agent"]
    data = {
        "seeds": 3, "steps": 300,
        "world": [{"kind": "model", "data": str(file)}],
        "agent": [{"kind": kind} for kind in kinds],
    }  # fmt: skip
    table = swept(data, tmp_path / "out")
    there = available(load_model(file))
    assert not there.all()
    assert table["error"].null_count() == len(table) == 18
    assert not table["diverged"].any()
    for policy in table["policy"]:
        assert there[np.arange(3), policy].all()


def test_worlds_without_a_model_have_no_gain(tmp_path: Path) -> None:
    """The three columns are null where the gain is unknown, next to worlds where it is known."""
    worlds = [{"kind": "two-state", "log_scale": 1e-3}, {"kind": "gosavi"}]
    table = swept({"seeds": 2, "steps": 50, "world": worlds, "agent": [{"kind": "smart"}]}, tmp_path / "out")
    for name in ("gain", "regret", "rate_gap"):
        assert table.filter(world="two_state")[name].null_count() == 2
        assert table.filter(world="gosavi")[name].null_count() == 0
    assert set(table.filter(world="gosavi")["gain"]) == {sj.solve(gosavi()).gain}


def test_runs_that_failed_have_a_gain_and_no_regret(tmp_path: Path) -> None:
    """Failed runs have the world's gain, but neither regret nor rate gap."""
    worlds = [{"kind": "two-state", "log_scale": 0.1}, {"kind": "long-shot"}]
    table = swept(
        {"seeds": 1, "steps": 4000, "world": worlds, "agent": [{"kind": "random-agent"}]}, tmp_path / "out"
    )
    (failed,) = table.filter(world="two_state").iter_rows(named=True)
    assert failed["error"]
    assert failed["regret"] is failed["rate_gap"] is None


def test_the_content_of_a_model_decides_its_cells(tmp_path: Path) -> None:
    """Moving the file changes no id; changing a number in it changes all ids, and the folder is refused."""
    file, moved = tmp_path / "model.toml", tmp_path / "moved.toml"
    file.write_text(MODEL.format(reward=5.0))
    moved.write_text(MODEL.format(reward=5.0))

    def data(path: Path) -> dict[str, Any]:
        world = [{"kind": "model", "data": str(path)}]
        return {"seeds": 1, "steps": 20, "world": world, "agent": [{"kind": "smart"}]}

    first = swept(data(file), tmp_path / "first")
    assert swept(data(moved), tmp_path / "moved")["cell"].to_list() == first["cell"].to_list()
    file.write_text(MODEL.format(reward=5.5))
    changed = swept(data(file), tmp_path / "changed")
    assert not set(changed["cell"]) & set(first["cell"])
    assert changed["gain"][0] > first["gain"][0]
    with pytest.raises(ValueError, match="another sweep"), ThreadPoolExecutor(1) as pool:
        sj.run_sweep(sj.runs.parse_sweep(data(file)), tmp_path / "first", pool, jobs=1)


def test_models_of_equal_size_but_different_shape(tmp_path: Path) -> None:
    """Two states with three actions and three with two work in one sweep, each with its own policy."""
    shapes = ((2, 3), (3, 2), (6, 1))
    files = []
    for states, actions in shapes:
        rng = np.random.default_rng(states)
        model = from_arrays(
            rng.dirichlet(np.ones(states), (states, actions)), rng.normal(size=(states, actions))
        )
        files.append(str(tmp_path / f"{states}.toml"))
        save_model(model, files[-1])
    data = {
        "seeds": 2,
        "steps": 50,
        "world": [{"kind": "model", "data": files}],
        "agent": [{"kind": "smart"}],
    }
    table = swept(data, tmp_path / "out")
    for file, (states, actions) in zip(files, shapes, strict=True):
        rows = table.filter(data=file)
        assert [len(policy) for policy in rows["policy"]] == [states, states]
        assert max(max(policy) for policy in rows["policy"]) < actions
        assert set(rows["gain"]) == {sj.solve(load_model(file)).gain}


def small(**keys: Any) -> dict[str, Any]:
    return {"seeds": 1, "steps": 10, "world": [{"kind": "gosavi"}], "agent": [{"kind": "smart"}], **keys}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (small(steps=[]), "steps is empty"),
        (small(steps=[10, 10]), "same length twice"),
        (small(steps=[10, 0]), "steps is 0"),
        (small(world=[{"kind": "gosavy"}]), "unknown world 'gosavy'; did you mean 'gosavi'?"),
        (small(world=[{"kind": "river-swim", "states": 3}]), "unknown option 'states'"),
        (
            small(world=[{"kind": "admission-control", "capacity": 5.5}]),
            r"world 1 \(admission_control\): capacity is 5.5",
        ),
        (small(world=[{"kind": "admission-control", "capacity": "many"}]), "capacity is 'many'"),
        (small(world=[{"kind": "admission-control", "capacity": 0}]), "capacity is 0"),
        (small(world=[{"kind": "long-shot", "short_rewards": [1, 9]}]), "short_rewards is 1.0"),
        (small(world=[{"kind": "model"}]), r"world 1 \(model\): .*data"),
        ({key: value for key, value in small().items() if key != "steps"}, "so 'steps' is needed"),
    ],
)
def test_wrong_worlds_and_lengths_get_one_sentence(data: dict[str, Any], words: str) -> None:
    """The error names the place and what is wrong, without internals."""
    with pytest.raises((ValueError, TypeError), match=words) as caught:
        sj.runs.parse_sweep(data)
    assert "\n" not in str(caught.value)
    assert "_in_file" not in str(caught.value)


def test_every_problem_is_a_world() -> None:
    """All named problems can be swept, and ints and equal floats are the same choice."""
    for name in PROBLEMS:
        sweep = sj.runs.parse_sweep(small(world=[{"kind": name}]))
        assert sweep.num_runs == 1
    both = [sj.runs.parse_sweep(small(world=[{"kind": "river-swim", "num_states": n}])) for n in (4, 4.0)]
    assert both[0] == both[1]
    assert build_world("river_swim", {"num_states": 4.0}).num_states == 4


@pytest.mark.parametrize("how", ["run", "run_many", "sweep"])
def test_missing_actions_start_at_minus_infinity(how: str, tmp_path: Path) -> None:
    """Values of missing actions are -inf from the start, in every way to run."""
    file = tmp_path / "model.toml"
    file.write_text(MODEL.format(reward=-5.0))
    model: SMDP = load_model(file)
    agent = sj.smart(3, 3, exploration=1.0)
    if how == "run":
        run = sj.run(sj.worlds.Tabular(model), agent, 500, seed=1)
        assert (np.isneginf(run.agent.q) == ~available(model)).all()
        assert agent.q.tolist() == np.zeros((3, 3)).tolist()  # the given agent is not modified
    elif how == "run_many":
        assert not sj.run_many(sj.worlds.Tabular(model), [agent], [0, 1], 500)["diverged"].any()
    else:
        world = [{"kind": "model", "data": str(file)}]
        data = {"seeds": 2, "steps": 500, "world": world, "agent": [{"kind": "smart", "exploration": 1.0}]}
        assert swept(data, tmp_path / "out")["error"].null_count() == 2


def test_without_missing_actions_values_are_unchanged() -> None:
    """A world with all actions leaves its agent's values unchanged."""
    from sojourn.runs.loop import without_missing

    agent = sj.smart(1, 2)
    assert without_missing(sj.worlds.Tabular(long_shot()), agent) is agent
    assert without_missing(sj.worlds.TwoState(log_scale=1e-3), agent) is agent


def test_a_run_ends_when_its_time_is_up(tmp_path: Path) -> None:
    """A run ends with the step that reaches the time; the table has its last state."""
    ring = sj.models.from_transitions(
        [(s, 0, (s + 1) % 3, 1.0, 1.0, sj.laws.Exponential(2.0)) for s in range(3)]
    )
    save_model(ring, tmp_path / "ring.toml")
    sweep = sj.runs.parse_sweep(
        {
            "seeds": 4,
            "steps": 1000,
            "time": [7.5, 60.0],
            "world": [{"kind": "model", "data": str(tmp_path / "ring.toml")}],
            "agent": [{"kind": "smart"}],
        }
    )
    with ThreadPoolExecutor(2) as pool:
        sj.run_sweep(sweep, tmp_path / "out", pool, jobs=2)
    table = sj.load_results(tmp_path / "out")
    assert (len(table), table["cell"].n_unique()) == (8, 2)
    world, agent = sj.worlds.Tabular(ring), sj.smart(3, 1)
    for row in table.iter_rows(named=True):
        run = sj.run(world, agent, row["steps"], seed=row["seed"], compiled=False)
        before = sj.run(world, agent, row["steps"] - 1, seed=row["seed"], compiled=False)
        assert before.duration < row["time"] <= run.duration == row["duration"]
        assert row["state"] == row["steps"] % 3


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"time": 0.0}, "time is 0.0"),
        ({"time": []}, "time is empty"),
        ({"time": [1.0, 1.0]}, "the same time twice"),
        ({"time": 1.0, "episodes": 2}, "one episode and one number of steps"),
        ({"time": 1.0, "steps": [5, 10]}, "one episode and one number of steps"),
    ],
)
def test_invalid_times_are_refused(changes: dict[str, Any], words: str) -> None:
    """Times must be positive and distinct, and need exactly one maximum number of steps."""
    given = {"seeds": 1, "steps": 10, "world": [{"kind": "gosavi"}], "agent": [{"kind": "smart"}]}
    with pytest.raises(ValueError, match=words):
        sj.runs.parse_sweep({**given, **changes})
