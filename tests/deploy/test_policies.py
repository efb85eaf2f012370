"""Policy files of every agent: in a process with NumPy alone they act as the learner does."""

from __future__ import annotations

import base64
import functools
import json
import subprocess
import sys
import timeit
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

import sojourn as sj
from asking import ask
from small_envs import Maze, sentence
from sojourn.agents.catalogue import AGENTS
from sojourn.deploy import load_policy
from sojourn.deploy.interface import Policy, packed
from sojourn.deploy.networks import Network, NetworkPolicy
from sojourn.deploy.spaces import Flattener
from sojourn.envs.reader import ArrayReader, form_of

pytestmark = pytest.mark.interpreted

TABLES = sorted({e.kind for e in AGENTS.values() if "tile" not in e.name} - {"oracle", "random_agent"})
POINTS = spaces.Box(np.array([-1.0, 0.0], np.float32), np.array([1.0, 20.0], np.float32))
BOX = spaces.Box(-2.0, 2.0, (2,))
MIXED = spaces.Dict(
    a=spaces.Discrete(3, start=1),
    b=spaces.Tuple([spaces.Box(-9, 9, (2,)), spaces.MultiBinary(2)]),
    c=spaces.MultiDiscrete([2, 3], start=[1, 0]),
)
SMALL = {"hidden": (8,), "precision": "double"}
OBSERVERS: dict[str, tuple[str, Any, Any, dict[str, Any]]] = {
    "values": ("deep_q", BOX, spaces.Discrete(3, start=2), {**SMALL, "warm_up": 30, "batch": 4, "replay": 100}),
    "chances": ("ppo", MIXED, spaces.Discrete(3), {**SMALL, "rollout": 32}),
    "points": ("ppo", BOX, POINTS, {**SMALL, "rollout": 32}),
    "squashed points": ("sac", BOX, POINTS, {**SMALL, "warm_up": 30, "batch": 4, "replay": 100}),
    "a point without bounds": ("sac", BOX, spaces.Box(-np.inf, np.inf, (1,)), {**SMALL, "warm_up": 30, "batch": 4}),
    "dense tiles": ("tile_q", BOX, spaces.Discrete(3), {"tilings": 2}),
    "hashed tiles": ("tile_sarsa", MIXED, spaces.Discrete(3), {"memory": 300, "tilings": 2}),
    "two tiles": ("tile_renewal", BOX, spaces.Discrete(3), {"tilings": 2}),
}  # fmt: skip


class Sampled(gym.Env[Any, Any]):
    """Observations are drawn, whatever the action, which is the reward."""

    def __init__(self, seen: Any, done: Any) -> None:
        self.observation_space, self.action_space = seen, done
        seen.seed(0)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> Any:
        return self.observation_space.sample(), float(np.sum(action)), False, False, {"duration": 1.5}


def trained(kind: str, steps: int = 100) -> sj.Learner:
    agent, seen, done, options = OBSERVERS[kind]
    learner = sj.Learner(Sampled(seen, done), agent, seed=1, **options)
    learner.train(steps)
    return learner


@pytest.mark.parametrize("name", TABLES)
def test_tables(name: str, tmp_path: Path) -> None:
    """The policy of every agent with a table has the greedy action of each state, and the agent's options."""
    options: dict[str, Any] = {"rate": 1.0} if name == "fixed_rate" else {}
    learner = sj.Learner(Maze(first_action=3), name, seed=1, **options)
    learner.train(100)
    learner.write_policy(tmp_path / "policy.json")
    policy = load_policy(tmp_path / "policy.json")
    assert [policy.act(state) for state in range(4)] == learner.policy.tolist()
    assert [learner.act(state) for state in range(4)] == learner.policy.tolist()
    assert policy.about["agent"] == name
    assert policy.about["steps"] == 100
    if name not in ("planner",):
        assert policy.about["options"]


@pytest.mark.parametrize("kind", list(OBSERVERS))
def test_agents_of_observations(kind: str, tmp_path: Path) -> None:
    """Networks and tiles act as the learner does, from JSON and from the learner's own file, with masks and without."""
    learner = trained(kind)
    learner.write_policy(tmp_path / "policy.json")
    learner.save(tmp_path / "learner.sojourn")
    policies = [load_policy(tmp_path / "policy.json"), sj.load_policy(tmp_path / "learner.sojourn")]
    seen = [learner.env.observation_space.sample() for _ in range(40)]
    masks: list[Any] = [None] if kind == "points" else [None, [1, 0, 1]]
    for policy in policies:
        for mask in masks:
            for obs in seen:
                expected, found = learner.act(obs, mask), policy.act(obs, mask)
                assert type(found) is type(expected)
                assert np.allclose(found, expected, rtol=1e-6, atol=1e-9)
    assert policies[0].about == policies[1].about
    assert policies[0].about["options"].items() >= {"hidden": [8]}.items() or "tile" in kind


def test_a_table_of_surpluses_is_the_learners() -> None:
    """A learner with renewal decisions acts by the surpluses of now, and masks hide actions from it."""
    learner = sj.Learner(Maze("state"), "renewal", seed=1)
    learner.train(300)
    assert [learner.act(state) for state in range(4)] == learner.policy.tolist()
    table, hidden = learner._table.table, learner._table.hidden
    assert np.isneginf(table.values).any()
    for state in range(4):
        row = hidden.values(state)
        shown = table.values[state]
        assert np.isfinite(row).all()
        assert row[np.isfinite(shown)].tolist() == shown[np.isfinite(shown)].tolist()


def test_nothing_but_numpy_is_needed(tmp_path: Path) -> None:
    """A process that loads policies of all kinds and acts imports none of the large libraries, and starts at once."""
    files: list[Path] = []
    mixed: Any = {"a": 1, "b": ([0.5, 0.5], [1, 0]), "c": [1, 0]}
    for kind in OBSERVERS:
        files.append(tmp_path / f"{kind}.json")
        learner = trained(kind, steps=1)
        learner.write_policy(files[-1])
    files.append(tmp_path / "solved.json")
    line: Any = {
        "line": {name: {"reward": 1, "duration": 1, "next": "line"} for name in ("answer", "reject")}
    }
    sj.exact.SolvedPolicy(sj.models.from_dict(line), [[0.5, 0.5]]).write(files[-1])
    program = f"""
import sys, time
import numpy
began = time.process_time()
from sojourn.deploy import Monitor, load_policy
took = time.process_time() - began
for file in {[str(file) for file in files]!r}:
    policy = load_policy(file)
    policy.act({{"solved": 0, "chances": {mixed!r}, "hashed tiles": {mixed!r}}}.get(file.split("/")[-1][:-5], [0.5, 0.5]))
print(took < 0.2)
loaded = {{"numba", "gymnasium", "matplotlib", "polars", "scipy", "rich", "typer", "onnx"}} & set(sys.modules)
print(sorted(loaded))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "True\n[]\n", done.stderr


@pytest.mark.parametrize(
    "space", [BOX, MIXED, spaces.Discrete(3, start=2), spaces.MultiDiscrete(np.array([[2], [4]]))]
)
def test_observations_are_flattened_as_by_gymnasium(space: Any) -> None:
    """An observation becomes the same numbers with Gymnasium and without."""
    space.seed(3)
    flat, reader = Flattener(form_of(space)), ArrayReader(space, spaces.Discrete(2))
    for _ in range(20):
        observation = space.sample()
        assert flat(observation).tolist() == reader.read(observation).tolist()


def test_draws_are_those_of_the_policy(tmp_path: Path) -> None:
    """`sample=True` draws numbered actions with their probabilities, and points around their means; the seed decides."""
    learner = trained("chances")
    learner.write_policy(tmp_path / "policy.json")
    policy, again = (load_policy(tmp_path / "policy.json", seed=5) for _ in range(2))
    assert isinstance(policy, NetworkPolicy)
    obs, count = learner.env.observation_space.sample(), 4000
    drawn = [policy.act(obs, sample=True) for _ in range(count)]
    assert drawn[:50] == [again.act(obs, sample=True) for _ in range(50)]
    chances = np.exp(policy.outputs(obs))
    chances /= chances.sum()
    off = np.bincount(drawn, minlength=3) - count * chances
    assert (abs(off) < 4.5 * np.sqrt(count * chances * (1 - chances))).all()
    masked = [policy.act(obs, [0, 1, 1], sample=True) for _ in range(200)]
    assert set(masked) == {1, 2}

    learner = trained("points")
    learner.write_policy(tmp_path / "points.json")
    policy = load_policy(tmp_path / "points.json")
    assert isinstance(policy, NetworkPolicy)
    obs = learner.env.observation_space.sample()
    z = np.array([policy._point(policy.outputs(obs), True) for _ in range(count)])
    middle, deviation = (
        policy.act(obs),
        np.exp(policy.network.weights[-2:].astype(float)) * np.array([1.0, 10.0]),
    )
    assert (abs(z.mean(axis=0) - middle) < 4.5 * deviation / np.sqrt(count)).all()
    assert np.allclose(z.std(axis=0), deviation, rtol=0.06)
    drawn_points = np.array([policy.act(obs, sample=True) for _ in range(200)])
    assert (drawn_points >= POINTS.low).all()
    assert (drawn_points <= POINTS.high).all()


def test_a_squashed_point() -> None:
    """The head of a squashed normal law takes the hyperbolic tangent of its mean, or of a draw."""
    low, high = np.array([0.0]), np.array([10.0])
    form: Any = {"kind": "points", "low": packed(low), "high": packed(high), "shape": [1], "dtype": "float64"}  # fmt: skip
    ones = np.ones(1)
    net = Network("squashed", [1, 2], np.array([1.0, 0.0, 0.0, -1.0]), 0 * ones, ones, low, high, ones)
    policy = NetworkPolicy(net, {"kind": "numbers", "shape": [1]}, form, seed=1)
    assert policy.act([0.5])[0] == pytest.approx(5.0 * (1.0 + np.tanh(0.5)))
    drawn = np.array([policy.act([0.5], sample=True)[0] for _ in range(4000)])
    back = np.arctanh(drawn / 5.0 - 1.0)
    assert back.mean() == pytest.approx(0.5, abs=4.5 * np.exp(-1.0) / np.sqrt(4000))
    assert back.std() == pytest.approx(np.exp(-1.0), rel=0.06)


def test_decisions_are_fast(tmp_path: Path) -> None:
    """A table decides within 20 microseconds, networks and tiles within 100, on a machine that does little else."""
    learner = sj.Learner(Maze(), "smart", seed=1)
    learner.train(100)
    learner.write_policy(tmp_path / "table.json")
    times: dict[float, tuple[Policy, Any]] = {20e-6: (load_policy(tmp_path / "table.json"), 0)}
    learner = sj.Learner(Sampled(BOX, POINTS), "ppo", hidden=(64, 64))
    learner.write_policy(tmp_path / "network.json")
    times[100e-6] = load_policy(tmp_path / "network.json"), BOX.sample()
    for most, (policy, obs) in times.items():
        taken = min(timeit.repeat(functools.partial(policy.act, obs), number=200, repeat=15)) / 200
        assert taken < most


@pytest.mark.parametrize(
    ("kind", "change", "words"),
    [
        ("values", {"format": "cake"}, "of the format 'cake'"),
        ("values", {"version": 2}, "of version 2"),
        ("values", {"network": {"widths": [2, 8, 4]}}, "weights"),
        ("values", {"network": {"widths": [3, 8, 3]}}, "which do not fit 2 inputs"),
        ("values", {"network": {"head": "normal"}}, "but its actions are numbered"),
        ("values", {"network": {"units": np.zeros(2)}}, "units are not above 0"),
        ("values", {"network": {"centres": np.array([np.inf, 0.0])}}, "must be finite"),
        ("values", {"actions": {"count": 4}}, "3 outputs where its actions need 4"),
        ("values", {"observations": {"shape": [-1]}}, "shape"),
        ("values", {"network": {"weights": {"dtype": "|O", "shape": [1], "base64": ""}}}, "kind"),
        ("values", {"network": {"weights": {"dtype": "<f8", "shape": [1], "base64": "!"}}}, "not in base64"),
        ("values", {"network": {"weights": {"dtype": "<f8", "shape": [9], "base64": "AAAA"}}}, "bytes"),
        ("points", {"actions": {"dtype": "object"}}, "of the kind 'object'"),
        ("dense tiles", {"sets": []}, "no tiles"),
        ("dense tiles", {"sets": {"first": np.array([0, 10**6])}}, "outside the weights"),
        ("dense tiles", {"sets": {"strides": np.array([[-1, 0], [0, 0]])}}, "strides has the entry -1"),
        ("hashed tiles", {"sets": {"weights": np.zeros((3, 3))}}, "not a power of two"),
    ],
)
def test_a_file_that_is_not_a_policy(kind: str, change: dict[str, Any], words: str, tmp_path: Path) -> None:
    """A damaged file is refused in one sentence."""
    learner = trained(kind, steps=1)
    path = tmp_path / "policy.json"
    learner.write_policy(path)
    content = json.loads(path.read_text())
    for name, part in change.items():
        within = content[name][0] if name == "sets" and part else content.get(name)
        if not isinstance(part, dict):
            content[name] = part
            continue
        for key, new in part.items():
            within[key] = packed(new) if isinstance(new, np.ndarray) else new
    path.write_text(json.dumps(content))
    for load in (load_policy, sj.load_policy):
        assert words in sentence(functools.partial(load, path), ValueError)


def test_what_cannot_be_exported(tmp_path: Path) -> None:
    """An agent of the user's own, and a file that is no policy file, are refused in one sentence."""

    class Mine:
        rate = 0.0

        def draw(self, observations: Any, allowed: Any) -> Any:
            return np.zeros(len(observations), dtype=np.int64), np.zeros(len(observations), dtype=bool)

        def learn(self, transitions: Any) -> None:
            return

        def greedy(self, observations: Any, allowed: Any) -> Any:
            return np.zeros(len(observations), dtype=np.int64)

        def state(self) -> dict[str, Any]:
            return {}

        def restored(self, state: dict[str, Any]) -> None:
            return

    learner = sj.Learner(Sampled(BOX, spaces.Discrete(2)), Mine())
    said = sentence(lambda: learner.write_policy(tmp_path / "policy.json"), TypeError)
    assert "is an agent of yours" in said
    learner.save(tmp_path / "learner.sojourn")
    assert "not one of Sojourn's" in sentence(
        lambda: sj.load_policy(tmp_path / "learner.sojourn"), ValueError
    )
    assert "is not a policy file" in sentence(lambda: load_policy(tmp_path / "learner.sojourn"), ValueError)
    (tmp_path / "other.json").write_text("{}")
    assert "without a format" in sentence(lambda: load_policy(tmp_path / "other.json"), ValueError)


def test_bits_do_not_depend_on_the_machine(tmp_path: Path) -> None:
    """Arrays are in a file with their lowest byte first, whatever the machine's own order is."""
    data = packed(np.array([1.0], dtype=">f8"))
    assert data["dtype"] == "<f8"
    assert base64.b64decode(data["base64"]) == np.array([1.0], dtype="<f8").tobytes()


def test_the_advice_of_a_log_and_a_solution(tmp_path: Path) -> None:
    """Both become policies that act with NumPy alone: by labels, and by names or numbers with probabilities."""
    rows = {"state": [("a", 1)] * 90, "action": ["x", "y", "y"] * 30, "reward": [1, 5, 7] * 30, "duration": [1.0, 2.0, 2.0] * 30}  # fmt: skip
    sj.read_log(rows).improve().write_policy(tmp_path / "advice.json")
    for load in (load_policy, sj.load_policy):
        policy = load(tmp_path / "advice.json")
        assert policy.act(("a", 1)) == policy.act(["a", 1]) == "y"
        assert not policy.known("b")
        assert "has no state 'b'" in sentence(functools.partial(policy.act, "b"), ValueError)
    assert policy.about["agent"] == "the advice of a log"
    model = sj.problems.admission_control()
    sj.solve(model).write_policy(tmp_path / "solved.json")
    policy = load_policy(tmp_path / "solved.json")
    assert [policy.act(state) for state in range(model.num_states)] == sj.solve(model).policy.tolist()
    assert policy.about["agent"] == "solve"


def test_the_command_says_how_an_agent_was_made(tmp_path: Path) -> None:
    """`sojourn policy --about` prints the agent with all options and its training; without a table, so does the plain command."""
    learner = trained("dense tiles")
    learner.save(tmp_path / "learner.sojourn")
    learner.write_policy(tmp_path / "policy.json")
    told = [ask("policy", tmp_path / file, "--about").stdout for file in ("learner.sojourn", "policy.json")]
    assert told[0] == told[1]
    facts = dict(line.split(maxsplit=1) for line in told[0].splitlines())
    assert facts["agent"] == "tile_q"
    assert (facts["tilings"], facts["tiles"], facts["memory"]) == ("2", "8", "65536")
    assert (facts["steps"], facts["seed"]) == ("100", "1")
    assert "which has no table of states" in ask("policy", tmp_path / "learner.sojourn").stdout
    assert ask("policy", tmp_path / "learner.sojourn", "--out", tmp_path / "again.json").returncode == 0
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "policy.json").read_bytes()
    refused = ask("policy", tmp_path / "learner.sojourn", "--out", tmp_path / "policy.csv")
    assert refused.returncode == 1
    assert "this one has no table for .csv" in refused.stderr
    assert refused.stderr.count("\n") == 1
