"""A learner with a factory of environments."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import sojourn as sj
from small_envs import Maze, Running, alike, sentence

pytestmark = pytest.mark.interpreted  # how agents are compiled is what other files are about


def test_the_environment_cannot_be_copied() -> None:
    """The environment in these tests can be neither copied nor pickled."""
    env = Running()
    env.reset(seed=1)
    for attempt in (copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="generator"):
            attempt(env)


def test_what_cannot_be_copied_is_trained_judged_saved_and_loaded(tmp_path: Path) -> None:
    """With a factory, everything works that works with an environment that can be copied."""
    made, copied = (
        sj.Learner(env, sj.smart, seed=3, step_size=0.1)
        for env in (lambda: Running("both", ends=0.05, cuts=0.05), Maze("both", ends=0.05, cuts=0.05))
    )
    for learner in (made, copied):
        learner.train(300)
    assert made.evaluate(duration=100.0) == copied.evaluate(duration=100.0)
    made.save(tmp_path / "learner")
    made = sj.Learner.load(tmp_path / "learner", lambda: Running("both", ends=0.05, cuts=0.05))
    for learner in (made, copied):
        learner.train(300)
    assert alike(made, copied)
    assert made.evaluate(duration=100.0) == copied.evaluate(duration=100.0)


def test_each_evaluation_has_an_environment_of_its_own() -> None:
    """Each evaluation's environment is closed at the end, even if it fails; the training's stays open."""
    Running.opened = 0
    learner = sj.Learner(Running, sj.smart)
    assert Running.opened == 1
    learner.train(50)
    found = {learner.evaluate(duration=20.0) for _ in range(3)}
    assert len(found) == 1
    assert Running.opened == 1
    broken = sj.Learner(lambda: Running(special={5: {"duration": -1.0}}), sj.smart)
    with pytest.raises(ValueError, match="negative"):
        broken.evaluate(duration=20.0)
    assert Running.opened == 2
    assert learner.train(50).steps == 100


class Placed(Maze):
    """A class with its spaces as class attributes."""

    observation_space = gym.spaces.Discrete(4)
    action_space = gym.spaces.Discrete(3)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: None, "the function made None, which is not a Gymnasium environment"),
        (lambda: Maze, "it has no observation_space"),
        (lambda: Placed, "it is a class"),
        (type("Bare", (gym.Env,), {}), "the class Bare has no observation_space; give it one"),
        (lambda: gym.make_vec("CartPole-v1", 2), "a single one"),
    ],
)
def test_a_function_that_makes_something_else(make: Any, words: str) -> None:
    """A factory that returns something else is refused at once, in one sentence that blames it."""
    assert words in sentence(lambda: sj.Learner(make, sj.smart), TypeError)


def test_a_function_that_makes_no_new_environment() -> None:
    """A factory that returns the same environment each time is refused, because evaluation would disturb the training."""
    env = Maze()
    learner = sj.Learner(lambda: env, sj.smart)
    learner.train(10)
    assert "a new one each time" in sentence(lambda: learner.evaluate(duration=10.0), ValueError)
