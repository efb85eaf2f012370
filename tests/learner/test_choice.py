"""Which agent a learner chooses, and how it explains the choice."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import pytest

import sojourn as sj
from small_envs import Gamble, Maze, alike, sentence
from sojourn.agents.planning.planner import Planner
from sojourn.learner import choice

pytestmark = pytest.mark.interpreted  # how agents are compiled is what other files are about


def test_without_an_agent_there_is_a_planner() -> None:
    """The default equals an explicit planner, bit for bit; a sentence says for how many states it was chosen."""
    learner, planner = sj.Learner(Maze(), seed=2), sj.Learner(Maze(), sj.planner, seed=2)
    assert isinstance(learner.agent, Planner)
    assert learner.chosen.startswith("planner, because 4 states can be listed")
    for each in (learner, planner):
        each.train(300)
    assert alike(learner, planner)


def test_with_defaults_the_better_action_is_found() -> None:
    """With defaults, the learner finds that A, with 5 per unit time, beats B, with 3."""
    learner = sj.Learner(Gamble())
    learner.train(500)
    assert learner.policy.tolist() == [0]
    assert learner.rate == pytest.approx(5.0, abs=0.8)


def test_more_pairs_than_a_planner_has_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """With more pairs than a planner has room for, values are learned, and a sentence says why."""
    monkeypatch.setattr(choice, "MOST_PAIRS", 11)
    learner = sj.Learner(Maze())
    assert learner.chosen.startswith("smart, because 4 states with 3 actions are more than")
    monkeypatch.setattr(choice, "MOST_PAIRS", 12)
    assert sj.Learner(Maze()).chosen.startswith("planner")


@pytest.mark.parametrize("name", ["relaxed_smart", "relaxed-smart"])
def test_agents_by_name(name: str) -> None:
    """An agent's name is equivalent to its constructor, with the same options."""
    learner = sj.Learner(Maze(), name, seed=2, step_size=0.1, exploration=0.3)
    twin = sj.Learner(Maze(), sj.relaxed_smart, seed=2, step_size=0.1, exploration=0.3)
    for each in (learner, twin):
        each.train(200)
    assert alike(learner, twin)
    assert learner.chosen == f"{name}, as asked for"
    assert twin.chosen == "relaxed_smart, as asked for"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: sj.Learner(Maze(), "smrt"), "did you mean 'smart'"),
        (lambda: sj.Learner(Maze(), "smart", stepsize=0.1), "stepsize"),
        (lambda: sj.Learner(Maze(), step_size=0.1), 'Learner(env, "smart", step_size=...)'),
        (lambda: sj.Learner(gym.make("CartPole-v1"), "smart"), "give bins=..., such as bins=8"),
        (lambda: sj.Learner(gym.make("Pendulum-v1"), bins=4), "needs Discrete actions"),
    ],
)
def test_what_is_wrong_gets_one_sentence(call: Any, words: str) -> None:
    """Wrong arguments get one sentence that says what to do."""
    assert words in sentence(call)
