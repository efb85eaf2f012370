"""Standalone policies: tables, files, and acting without the environment."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import polars as pl
import pytest
from gymnasium import spaces

import sojourn as sj
from small_envs import Maze, sentence
from sojourn.envs.registered import ProblemEnv

pytestmark = pytest.mark.interpreted  # how agents are compiled is what other files are about


class Shown(Maze):
    """A maze whose observation is a function of its state number."""

    def __init__(self, space: Any, show: Any) -> None:
        super().__init__(first_action=3)
        self.observation_space, self.show = space, show

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        state, info = super().reset(seed=seed)
        return self.show(state), info

    def step(self, action: Any) -> Any:
        state, *rest = super().step(action)
        return self.show(state), *rest


SPACES: dict[str, tuple[Any, Any, dict[str, Any], list[str]]] = {
    "discrete": (spaces.Discrete(4), lambda s: s, {}, ["observation"]),
    "array": (spaces.MultiDiscrete([2, 2]), lambda s: np.array([s // 2, s % 2]), {}, ["observation_0", "observation_1"]),
    "box": (spaces.Box(0, 4, (1,)), lambda s: np.array([s + 0.5]), {"bins": 4}, ["observation_0"]),
    "dict": (
        spaces.Dict(far=spaces.Discrete(2), near=spaces.Discrete(2)),
        lambda s: {"far": s // 2, "near": s % 2},
        {},
        ["far", "near"],
    ),
    "tuple": (
        spaces.Tuple([spaces.Discrete(2, start=5), spaces.Box(0, 2, (1,))]),
        lambda s: (5 + s // 2, np.array([s % 2 + 0.5])),
        {"bins": [None, 2]},
        ["observation_0", "observation_1_0"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", list(SPACES))
def test_the_table_and_the_loaded_policy_are_the_learners(kind: str, tmp_path: Path) -> None:
    """In every space, the policy gives the same actions in memory, from JSON and from a saved learner."""
    space, show, options, names = SPACES[kind]
    learner = sj.Learner(Shown(space, show), "smart", seed=1, **options)
    learner.train(400)
    table = learner.policy_table()
    assert table.columns == [*names, "action", "value", "action_visits", "state_visits"]
    assert table["action"].to_list() == learner.policy.tolist()
    assert table["state_visits"].sum() == 400
    assert table["value"].to_list() == learner.q.max(axis=1).tolist()
    learner.write_policy(tmp_path / "policy.json")
    learner.save(tmp_path / "learner.sojourn")
    for file in ("policy.json", "learner.sojourn"):
        loaded = sj.load_policy(tmp_path / file)
        assert isinstance(loaded, sj.learner.LearnedPolicy)
        assert [loaded.act(show(state)) for state in range(4)] == learner.policy.tolist()
        assert loaded.act(show(0), action_mask=[0, 0, 1]) == 5
        assert loaded.table().equals(table)
    learner.write_policy(tmp_path / "policy.csv")
    assert pl.read_csv(tmp_path / "policy.csv")["action"].to_list() == learner.policy.tolist()


def test_observations_in_the_table_are_those_of_their_rows() -> None:
    """The table has observations as the environment returns them, and bins by their edges."""
    seen = {}
    for kind in ("array", "box", "tuple"):
        space, show, options, names = SPACES[kind]
        learner = sj.Learner(Shown(space, show), "smart", seed=1, **options)
        learner.train(200)
        seen[kind] = learner.policy_table().select(names).rows()
    assert seen["array"] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert seen["box"] == [("below 1",), ("1 to 2",), ("2 to 3",), ("from 3",)]
    assert seen["tuple"] == [(5, "below 1"), (5, "from 1"), (6, "below 1"), (6, "from 1")]


def test_a_state_that_was_never_visited(tmp_path: Path) -> None:
    """For an unvisited state a learner warns once and a loaded policy raises an error; both say which states they know."""
    space = spaces.Discrete(6)
    learner = sj.Learner(Shown(space, lambda state: state), "smart", seed=1)
    learner.train(100)
    assert [learner.known(state) for state in range(6)] == [True] * 4 + [False] * 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner.act(3)
    with pytest.warns(RuntimeWarning, match="the observation 5 is of a state that was never visited"):
        learner.act(5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner.act(4)  # it has already warned
    learner.write_policy(tmp_path / "policy.json")
    policy = sj.load_policy(tmp_path / "policy.json")
    assert [policy.known(state) for state in range(6)] == [True] * 4 + [False] * 2
    assert isinstance(policy, sj.learner.LearnedPolicy)
    assert len(policy.table()) == 4
    assert "ask known(obs) first" in sentence(lambda: policy.act(5), ValueError)


def test_masked_actions() -> None:
    """A missing action is never chosen; a currently hidden action is chosen where it is allowed."""
    learner = sj.Learner(Maze("state"), "smart", seed=1)
    learner.train(500)
    allowed = [[action for action in range(3) if 1 + state >> action & 1] for state in range(4)]
    actions = learner.policy_table()["action"].to_list()
    assert all(action in choices for action, choices in zip(actions, allowed, strict=True))
    assert actions == learner.policy.tolist()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": 2}, "of version 2"),
        ({"numbers": [0, 0, 1, 2]}, "its states, values and visits do not fit together"),
        ({"numbers": [0, 1, 2, 9]}, "not below 4"),
        ({"values": [[1.0, 2.0]] * 4}, "its states, values and visits do not fit together"),
        ({"values": [[None, None, None]] * 4}, "has no action"),
        ({"visits": [[-1, 0, 0]] * 4}, "visits"),
        ({"first_action": "x"}, "first_action"),
        ({"first_action": 10**30}, "too large"),
        ({"states": {"kind": "discrete", "count": 10**15, "start": 0}}, "not below"),
        ({"states": {"kind": "discrete", "count": 0, "start": 0}}, "its states do not fit together"),
    ],
)
def test_a_file_that_is_not_a_policy(change: dict[str, Any], words: str, tmp_path: Path) -> None:
    """An inconsistent file is refused in one sentence that names it."""
    learner = sj.Learner(Maze(), "smart", seed=1)
    learner.train(100)
    path = tmp_path / "policy.json"
    learner.write_policy(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    said = sentence(lambda: sj.load_policy(path), ValueError)
    assert words in said
    assert str(path) in said


def test_another_extension() -> None:
    """Another extension gets an error that lists the supported ones."""
    learner = sj.Learner(Maze(), "smart")
    assert "must end with .csv" in sentence(lambda: learner.write_policy("policy.txt"), ValueError)


LOADING = """
import sys, time
import gymnasium as gym, sojourn as sj, sojourn.envs
from sojourn.learner.learner import Learner
env = gym.make("FrozenLake-v1", max_episode_steps=10**9)
begin = time.process_time()
learner = Learner.load(sys.argv[1], env)
learner.act(0)
print(time.process_time() - begin)
"""


def test_loading_is_quick(tmp_path: Path) -> None:
    """Loading takes at most half a second in a new process, even after a long episode: nothing is replayed or compiled."""

    class Endless(gym.Wrapper[Any, Any, Any, Any]):
        def step(self, action: Any) -> Any:
            observation, reward, _, truncated, info = self.env.step(action)
            return observation, reward, False, truncated, info

    env = Endless(gym.make("FrozenLake-v1", max_episode_steps=10**9))
    learner = sj.Learner(env, "planner", duration=1.0)
    learner.train(20_000)
    learner.save(tmp_path / "learner.sojourn")
    found = subprocess.run(
        [sys.executable, "-c", LOADING, str(tmp_path / "learner.sojourn")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert float(found.stdout) < 0.5
    begin = time.process_time()
    sj.load_policy(tmp_path / "learner.sojourn").act(0)
    assert time.process_time() - begin < 0.5


def test_names_of_a_model_are_columns(tmp_path: Path) -> None:
    """If the environment's model has names, each row has those of its state and of its best action."""
    model = sj.problems.long_return().with_names(["here", "there"], ["short", "long"])
    learner = sj.Learner(ProblemEnv(model, compiled=False), "smart", seed=1)
    learner.train(300)
    table = learner.policy_table()
    assert table.columns[:4] == ["observation", "state_name", "action_name", "action"]
    assert table["state_name"].to_list() == [["here", "there"][state] for state in table["observation"]]
    assert table["action_name"].to_list() == [["short", "long"][action] for action in table["action"]]
    learner.write_policy(tmp_path / "policy.csv")
    assert pl.read_csv(tmp_path / "policy.csv")["action_name"].to_list() == table["action_name"].to_list()
