"""Vectors of compiled worlds are as many single environments, bit for bit."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import sojourn as sj
import sojourn.envs
from small_envs import sentence
from sojourn.envs.places import single_of

pytestmark = pytest.mark.interpreted


def pair(env_id: str, num_envs: int = 3, **options: Any) -> tuple[Any, Any]:
    """Return a vector of the world, and Gymnasium's vector of single environments."""
    ours = gym.make_vec(env_id, num_envs=num_envs, **options)
    theirs = gym.make_vec(env_id, num_envs=num_envs, vectorization_mode="sync", **options)
    assert isinstance(ours, sj.envs.WorldVectorEnv)
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    assert ours.metadata["autoreset_mode"] == theirs.metadata["autoreset_mode"]
    return ours, theirs


def same(one: Any, other: Any) -> None:
    """Claim that two vectors returned the same: types, numbers and keys."""
    *parts, infos = one
    *others, other_infos = other
    assert infos.keys() == other_infos.keys()
    for here, there in [*zip(parts, others, strict=True), *((infos[key], other_infos[key]) for key in infos)]:
        assert here.dtype == there.dtype
        assert here.shape == there.shape
        assert here.tolist() == there.tolist()


def followed(ours: Any, theirs: Any, steps: int, seed: Any = 5) -> None:
    """Take the same random actions in both, masked ones among them."""
    rng = np.random.default_rng(1)
    same(ours.reset(seed=seed), theirs.reset(seed=seed))
    space = ours.single_action_space
    for _ in range(steps):
        if isinstance(space, gym.spaces.Discrete):
            actions = rng.integers(0, space.n, ours.num_envs)
        else:
            actions = rng.uniform(space.low, space.high, (ours.num_envs, 1))
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", RuntimeWarning
            )  # of forbidden actions, which each environment gives once
            same(ours.step(actions), theirs.step(actions))


@pytest.mark.parametrize(
    "env_id",
    [
        "sojourn/TwoState-v0",  # a world whose fields move
        "sojourn/WhackAMole-v0",
        "sojourn/AdmissionControl-v0",  # a model with masks
        "sojourn/Wear-v0",  # states that are vectors
    ],
)
def test_a_vector_moves_as_single_environments(env_id: str) -> None:
    """Observations, rewards, durations, clocks, masks and refused actions are those of `SyncVectorEnv`, bit for bit."""
    ours, theirs = pair(env_id)
    followed(ours, theirs, 25)
    followed(ours, theirs, 10, seed=[7, None, 2])  # a part of them goes on without a seed


def test_episodes_are_truncated_and_reset_in_the_next_step() -> None:
    """With a limit the vector resets as Gymnasium's does, and the random numbers go on."""
    ours, theirs = pair("sojourn/TwoState-v0", max_episode_steps=4)
    followed(ours, theirs, 13)
    mask = np.array([True, False, True])
    same(ours.reset(options={"reset_mask": mask}), theirs.reset(options={"reset_mask": mask}))
    actions = np.array([1, 0, 1])
    for _ in range(6):
        same(ours.step(actions), theirs.step(actions))


@pytest.mark.evidence
@pytest.mark.compiled
def test_every_vector_moves_as_single_environments() -> None:
    """The same in all of Sojourn's environments, compiled."""
    for env_id in sojourn.envs.ENVIRONMENTS:
        followed(*pair(env_id), 200)


@pytest.mark.compiled
def test_compiled_steps_are_those_in_python() -> None:
    """Steps begin in Python and go on compiled, with the same bits, and a copy goes on where the original was."""
    plain = gym.make_vec("sojourn/TwoState-v0", num_envs=8, compiled=False)
    envs: Any = gym.make_vec("sojourn/TwoState-v0", num_envs=8)
    same(plain.reset(seed=1), envs.reset(seed=1))
    actions = np.zeros(8, dtype=np.int64)
    for _ in range(30):
        same(plain.step(actions), envs.step(actions))
    same(copy.deepcopy(envs).step(actions), pickle.loads(pickle.dumps(plain)).step(actions))
    same(plain.step(actions), envs.step(actions))


def test_a_learner_learns_the_same_in_both() -> None:
    """Deep Q in a vector of worlds learns what it learns in Gymnasium's vector, and is evaluated in a single one."""
    ours, theirs = (
        sj.Learner(envs, "deep_q", seed=2, hidden=(8,)) for envs in pair("sojourn/Wear-v0", num_envs=2)
    )
    for learner in (ours, theirs):
        learner.train(60)
    assert ours.totals == theirs.totals
    assert ours.rate == theirs.rate
    assert ours.evaluate(duration=30.0).rate == theirs.evaluate(duration=30.0).rate
    limited = gym.make_vec("sojourn/Wear-v0", num_envs=2, max_episode_steps=5)
    single = single_of(limited)
    single.reset(seed=0)
    assert [single.step(0)[3] for _ in range(5)] == [False] * 4 + [True]


@pytest.mark.parametrize(
    ("actions", "words"),
    [
        ([0, 2], "action 1 is 2; it must be one of 0 to 1"),
        ([0, 1, 0], "give one action for each of the 2 environments"),
        ([0.5, 1.0], "they must be whole numbers"),
    ],
)
def test_wrong_actions_get_a_sentence(actions: Any, words: str) -> None:
    """An action that there is not, too many of them, and fractions."""
    envs = sj.envs.WorldVectorEnv(sj.worlds.TwoState(log_scale=1e-3), 2, compiled=False)
    assert "call reset() before step()" in sentence(lambda: envs.step([0, 0]), RuntimeError)
    envs.reset(seed=0)
    with pytest.raises((ValueError, TypeError), match=words):
        envs.step(actions)
    assert "one for each of the 2 environments" in sentence(lambda: envs.reset(seed=[1, 2, 3]), ValueError)
