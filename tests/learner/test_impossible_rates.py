"""A rate beyond every reward per unit time is impossible: training says so, and stops where it will not come back."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import sojourn as sj
from small_envs import Maze
from sojourn.learner.saved import _restored_limits
from sojourn.learner.watch import RateLimits

pytestmark = pytest.mark.interpreted  # how agents are compiled is what other files are about


def warned(learner: sj.Learner, steps: int) -> list[str]:
    """Train, and return the warnings about impossible rates."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        learner.train(steps)
    return [str(one.message) for one in caught if "impossible" in str(one.message)]


def test_r_learning_that_diverges_is_stopped(tmp_path: Path) -> None:
    """Training stops with one sentence, which the verdict repeats, and the limits are the extremes of reward per time."""

    class Noted(Maze):
        ratios: list[float] = []  # noqa: RUF012 - of all steps

        def step(self, action: Any) -> Any:
            found = super().step(action)
            Noted.ratios.append(found[1] / found[4]["duration"])
            return found

    learner = sj.Learner(Noted(), sj.r_learning, step_size=1.0, rate_step_size=0.3)
    (sentence,) = warned(learner, 20_000)
    low, high = min(Noted.ratios), max(Noted.ratios)
    assert learner.totals.steps == 1000
    assert not low <= learner.rate <= high
    assert f"no step has earned less than {low:.3g} per unit time" in sentence
    assert sentence.startswith("training stops after 1,000 steps: ")
    assert any("impossible" in each for each in learner.verdict(duration=100.0).warnings)
    learner.save(tmp_path / "learner")
    again = sj.Learner.load(tmp_path / "learner", Maze())
    assert again._driver.limits.low == low
    assert len(warned(again, 5000)) == 1
    assert again.totals.steps == 2000


def test_a_rate_of_another_kind_has_no_limits() -> None:
    """Agents without a rate per unit time are left alone."""
    learner = sj.Learner(Maze(), sj.agents.smdp_q_learning)
    assert not learner._driver.limits.is_rate
    assert learner._driver.limits.sentence(1e9) == ""


class Claims:
    """An agent in plain Python that claims a rate."""

    rate = 0.5

    def __init__(self, spaces: sj.agents.Spaces) -> None:
        self.steps = 0

    def draw(self, observations: Any, allowed: Any) -> tuple[Any, Any]:
        return self.greedy(observations, allowed), np.zeros(len(observations), dtype=bool)

    def greedy(self, observations: Any, allowed: Any) -> Any:
        return np.zeros(len(observations), dtype=np.int64)

    def learn(self, transitions: sj.agents.Transitions) -> None:
        self.steps += 1
        self.rate = {2: 1.9, 4: 9169.0, 5: 0.2}.get(self.steps // 1000, 0.5)

    def state(self) -> dict[str, Any]:
        return {"steps": self.steps}

    def restored(self, state: dict[str, Any]) -> None:
        self.steps = state["steps"]


class Coin(gym.Env[Any, Any]):
    """Earns 0 or 1 in a time of 1."""

    observation_space = gym.spaces.Box(0.0, 1.0, (1,))
    action_space: Any = gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return np.zeros(1, dtype=np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return (
            np.zeros(1, dtype=np.float32),
            float(self.np_random.integers(2)),
            False,
            False,
            {"duration": 1.0},
        )


@pytest.mark.parametrize("places", [1, 2])
def test_a_rate_that_overshoots_is_warned_of_once_and_a_lost_one_stops(places: int) -> None:
    """A rate of 1.9 where 1 is the most is warned of once; 9,169 stops the training, which may go on when it came back."""
    env: Any = Coin() if places == 1 else gym.vector.SyncVectorEnv([Coin, Coin])
    learner = sj.Learner(env, Claims)
    first, second = warned(learner, 10_000 * places)
    assert first.startswith(
        "the learned rate is 1.9, which is impossible: no step has earned more than 1 per unit time; if it stays so"
    )
    assert second.startswith(f"training stops after {4000 * places:,} steps: the learned rate is 9.17e+03")
    learner.agent.steps, learner.agent.rate = 5000, 0.2
    assert warned(learner, 3000) == []
    assert learner.totals.steps == 4000 * places + 3000


def test_limits_where_rewards_take_no_time_or_steps_are_unknown() -> None:
    """After a reward in no time any rate is possible; the same holds for a file without limits."""
    limits = RateLimits(0.0)
    limits.see(1.0, 1.0)
    limits.see(0.0, 0.0)
    assert limits.beyond(3.0) == 2.0
    assert limits.beyond(-1.0) == 1.0  # below the first estimate
    limits.see(0.5, 0.0)
    assert limits.beyond(1e300) == 0.0
    assert _restored_limits(None, True).beyond(1e300) == 0.0
    with pytest.raises(ValueError, match="limits of the rate"):
        _restored_limits(np.array([0.0, np.nan, 1.0]), True)
