from __future__ import annotations

import math
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

import sojourn as sj
import sojourn.envs
from small_envs import TAXI, Gamble, Maze, Running, Scripted, alike, sentence
from sojourn.learner.evaluation import evaluation
from sojourn.rules.long_run import MicroBatches
from sojourn.rules.values import same

pytestmark = pytest.mark.interpreted  # how agents are compiled is what other files are about


class Weather(gym.Env[Any, Any]):
    """Good and bad days come in spells; exactly 1.5 is earned per unit time, 6 in a time of 4."""

    def __init__(self, cut: int | None = None) -> None:
        self.observation_space = spaces.Discrete(2)
        self.action_space: Any = spaces.Discrete(2)
        self.cut, self.t, self.state = cut, 0, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.state, self.t = int(self.np_random.random() < 0.5), 0
        return self.state, {}

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        change, length, luck = self.np_random.random(3).tolist()
        duration = -math.log1p(-length) * (3.0 if self.state else 1.0)
        reward = (5.0 if self.state else 1.0) + luck - 0.5
        self.state = self.state ^ int(change < 0.2)
        self.t += 1
        return self.state, reward, False, self.t == self.cut, {"duration": duration}


# --- A learner's evaluation ---------------------------------------------------------


@pytest.mark.parametrize("cut", [None, 50])
def test_the_interval_covers_the_rate_as_often_as_it_says(cut: int | None) -> None:
    """Of 200 runs with intervals of 95 % (192 to 200 intervals, of which 99.9 % have 172 to 199 hits), though steps depend on each other."""
    learner = sj.Learner(Weather(cut), sj.agents.random_agent)
    runs = [learner.evaluate(duration=5000.0, seed=seed, env=Weather(cut)) for seed in range(200)]
    found = [each for each in runs if each.low is not None]  # except those whose halves disagree, about 1 %
    bounds = [(each.low, each.high) for each in found if each.low is not None and each.high is not None]
    assert len(bounds) >= 192
    assert 172 <= sum(low <= 1.5 <= high for low, high in bounds) <= 199
    assert len({each.rate for each in runs}) == 200
    assert np.mean([each.rate for each in found]) == pytest.approx(1.5, abs=0.01)
    assert all(low < each.rate < high for (low, high), each in zip(bounds, found, strict=True))


def test_a_run_that_is_too_short_says_how_long_it_should_be() -> None:
    """A short run has no interval, but a sentence that names the time needed, which then suffices."""
    learner = sj.Learner(Weather(), sj.agents.random_agent)
    found = learner.evaluate(duration=100.0)
    assert (found.low, found.high) == (None, None)
    assert found.needed is not None
    assert 4000 < found.needed < 8000
    assert f"too short for an interval, which needs about {found.needed:.2g}" in found.sentence
    again = learner.evaluate(duration=found.needed)
    assert again.needed is None
    assert f"95 % interval {again.low:.6g} to {again.high:.6g}" in again.sentence


def test_an_evaluation_is_the_interval_of_the_whole_run() -> None:
    """Its figures cover all steps seen, including those without time, at the given level."""
    seen = MicroBatches()
    for step in range(2111):
        seen.add(reward=float(step % 7), duration=float(step % 3))
    found = evaluation(seen, 0.9)
    assert found[:3] == seen.interval(0.9)[:3]
    assert found.low != evaluation(seen).low
    assert (found.level, found.steps, found.duration) == (0.9, 2111, 2110.0)


def test_the_rate_is_all_reward_over_all_time() -> None:
    """The policy is followed up to the first step at or past the given time."""
    learner = sj.Learner(Maze(cuts=0.1), sj.smart, seed=1)
    learner.train(500)
    found = learner.evaluate(duration=100.0, seed=3)
    env, reward, duration, steps = Maze(cuts=0.1), 0.0, 0.0, 0
    observation, _ = env.reset(seed=3)
    while duration < 100.0:
        observation, earned, _, truncated, info = env.step(int(learner.policy[observation]))
        reward, duration, steps = reward + earned, duration + info["duration"], steps + 1
        if truncated:
            observation, _ = env.reset()
    assert found.rate == pytest.approx(reward / duration, rel=1e-12)
    assert found.duration == pytest.approx(duration, rel=1e-12)
    assert found.steps == steps


def test_actions_have_their_own_numbers() -> None:
    """Evaluation handles spaces whose numbering does not start at 0."""
    found = []
    for first in (0, 6):
        learner = sj.Learner(Maze(first_state=first, first_action=-first), sj.smart, seed=1)
        learner.train(500)
        found.append(learner.evaluate(duration=50.0))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Maze("both", ends=0.05, cuts=0.05),
        lambda: gym.make("sojourn/TwoState-v0", max_episode_steps=30),
        lambda: gym.make("sojourn/Market-v0", num_bars=300, state_size=2, duration="random"),
    ],
)
def test_evaluation_changes_nothing(make: Any) -> None:
    """Evaluation, in a copy or elsewhere, does not affect the learner."""
    learner, twin = (sj.Learner(make(), sj.smart, seed=4) for _ in range(2))
    learner.evaluate(duration=20.0)  # before any training
    for steps in (10, 25, 300):
        learner.train(steps)
        twin.train(steps)
        before = learner.agent
        first = learner.evaluate(duration=60.0)
        assert learner.evaluate(duration=60.0, env=make()) == first
        assert same(learner.agent, before)
        assert alike(learner, twin)
    assert learner.evaluate(duration=60.0, seed=1) == learner.evaluate(duration=60.0)


def test_evaluation_in_the_learners_own_environment() -> None:
    """It is refused, or the learner notices that its environment has moved: actions always fit their states."""
    env = Maze("state")
    learner = sj.Learner(env, sj.smart, seed=4, exploration=1.0)
    for _ in range(20):
        learner.train(7)
        try:
            learner.evaluate(duration=5.0, env=learner.env)
        except ValueError as error:
            assert "\n" not in str(error)  # noqa: PT017 - either way is right
    assert learner.totals.steps == 140
    position = learner._table.position
    assert position is None or position[0] == env.state


def test_a_known_policy_has_a_known_rate() -> None:
    """The better action of the gamble earns 5 per unit time, the other 3."""
    for action, rate in [(0, 5.0), (1, 3.0)]:
        learner = sj.Learner(Gamble(noisy=False), sj.agents.policy_agent([action], num_actions=2))
        assert learner.evaluate(duration=10_000.0)[:3] == (rate, rate, rate)


def test_steps_without_time_in_evaluation() -> None:
    """Rewards in no time count: 10 in no time and 1 in a time of 4 make 2.75; a clock that never advances is refused."""
    entries = [(10.0, {"duration": 0.0}), (1.0, {"duration": 4.0})] * 1000
    found = sj.Learner(Scripted(*entries), sj.smart).evaluate(duration=4000.0)
    assert (found.rate, found.steps, found.duration) == (2.75, 2000, 4000.0)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= 2.75 <= found.high
    still = sj.Learner(Scripted(*[(1.0, {"duration": 0.0})] * 10_001), sj.smart)
    assert "took no time" in sentence(lambda: still.evaluate(duration=10.0), ValueError)
    nothing = MicroBatches()
    nothing.add(1.0, 0.0)
    assert "no time has passed" in sentence(nothing.interval)


@pytest.mark.parametrize("reward", [float("nan"), float("inf")])
def test_a_reward_that_is_not_finite_is_refused(reward: float) -> None:
    """A non-finite reward is refused, so that evaluation never returns NaN."""
    learner = sj.Learner(Scripted((1.0, {"duration": 1.0}), (reward, {"duration": 1.0})), sj.smart)
    assert "reward" in sentence(lambda: learner.evaluate(duration=10.0), ValueError)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"duration": 0.0}, "duration is 0.0"),
        ({"duration": float("inf")}, "duration is inf"),
        ({"duration": "long"}, "duration is 'long'"),
        ({"duration": 10.0, "seed": -1}, "seed is -1"),
        ({"duration": 10.0, "level": 95}, "level"),
        ({"duration": 10.0, "level": "high"}, "level"),
    ],
)
def test_what_is_wrong_gets_one_sentence(options: dict[str, Any], words: str) -> None:
    """A wrong argument is refused by name."""
    learner = sj.Learner(Maze(), sj.smart)
    assert words in sentence(lambda: learner.evaluate(**options))


def test_a_wrong_level_is_refused_before_the_work() -> None:
    """A wrong level is refused before the evaluation starts."""
    env = Scripted()
    learner = sj.Learner(Scripted(), sj.smart)
    with pytest.raises(ValueError, match="level"):
        learner.evaluate(duration=1000.0, level=2.0, env=env)
    assert env.t == 0


def test_an_environment_that_cannot_be_copied() -> None:
    """An environment that cannot be copied gets one sentence with advice; passing another one works."""
    learner = sj.Learner(Running(), sj.smart)
    learner.train(20)
    said = sentence(lambda: learner.evaluate(duration=10.0), ValueError)
    assert "env=" in said
    assert "Learner(make_env, ...)" in said
    assert learner.evaluate(duration=10.0, env=Running()).steps > 0


def test_a_taxi_is_evaluated_within_its_mask() -> None:
    """Masks of resets and steps are respected even in states never seen in training."""
    learner = sj.Learner(gym.make(TAXI), sj.smart, duration=1)
    assert learner.evaluate(duration=250.0).steps == 250
