"""Rewards beyond the rate, for algorithms of other people."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import sojourn as sj
from networks_worlds import Wear
from small_envs import Maze, Scripted, sentence
from sojourn.envs import RateReward, VectorRateReward


def test_the_reward_is_what_was_earned_beyond_the_rate_before() -> None:
    """R - rho tau with the estimate of all steps before; both are told in info."""
    env = RateReward(Maze(), rate=sj.Exponential(0.1))
    plain, meter = Maze(), sj.RateMeter(sj.Exponential(0.1))
    env.reset(seed=1)
    plain.reset(seed=1)
    for t in range(40):
        _, reward, _, _, info = plain.step(t % 3)
        _, surplus, _, _, told = env.step(t % 3)
        assert surplus == reward - meter.rate * info["duration"]
        meter.update(reward, info["duration"])
        assert (told["rate"], told["reward"], env.rate) == (meter.rate, reward, meter.rate)


def test_what_is_earned_in_no_time_counts_with_the_next_step() -> None:
    """6 in no time and 2 in a time of 4 are a rate of 2 to the estimator; both rewards stay whole."""
    env = RateReward(Scripted((6.0, {"duration": 0.0}), (2.0, {"duration": 4.0})), rate=sj.Cumulative())
    env.reset()
    assert [env.step(0)[1], env.step(0)[1], env.rate] == [6.0, 2.0, 2.0]


@pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.value)
def test_a_vector_has_one_rate_for_all(mode: AutoresetMode) -> None:
    """However it resets, the estimator has seen the steps of all environments, and no step that was only a reset."""
    makers: list[Callable[[], Any]] = [lambda: gym.wrappers.TimeLimit(Wear(), 3)] * 2
    env = VectorRateReward(SyncVectorEnv(makers, autoreset_mode=mode), rate=sj.Cumulative())
    env.reset(seed=0)
    total = clock = 0.0
    done = np.zeros(2, dtype=bool)
    for t in range(12):
        if mode is AutoresetMode.DISABLED and done.any():
            env.reset(options={"reset_mask": done})
        before, resets = env.rate, done if mode is AutoresetMode.NEXT_STEP else np.zeros(2, dtype=bool)
        _, surplus, _, truncated, infos = env.step(np.array([0, t % 2]))
        durations = infos.get("duration", np.zeros(2)).copy()
        if mode is AutoresetMode.SAME_STEP and truncated.any():
            durations[truncated] = infos["final_info"]["duration"][truncated]
        earned = infos["reward"]
        assert surplus == pytest.approx(earned - before * durations)
        total, clock = total + earned.sum(), clock + durations.sum()
        assert not earned[resets].any()
        assert not durations[resets].any()
        done = np.asarray(truncated)
        assert env.rate == pytest.approx(total / clock)


def test_it_is_found_with_nothing_but_sojourn_imported() -> None:
    """`sj.envs` is imported when it is first used."""
    code = "import sojourn as sj; print(sj.envs.RateReward.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "RateReward\n"


def test_what_is_wrong_is_said() -> None:
    """A missing duration is a sentence, and what is no estimator is refused."""
    env = RateReward(Scripted((1.0, {})))
    env.reset()
    assert "duration" in sentence(lambda: env.step(0))
    assert "value rule for float" in sentence(lambda: RateReward(Maze(), rate=0.5))  # type: ignore[arg-type]


@pytest.mark.parametrize("reward", [None, float("nan")])
def test_a_reward_that_is_no_number_never_reaches_the_rate(reward: Any) -> None:
    """It is refused before the estimator sees it, by one environment and by a vector."""
    env = RateReward(Scripted((2.0, {"duration": 1.0}), (reward, {"duration": 1.0})), rate=sj.Cumulative())
    env.reset()
    env.step(0)
    assert "the reward is" in sentence(lambda: env.step(0), ValueError)
    assert env.rate == 2.0
    makes = [lambda: Scripted((reward, {"duration": 1.0}))] * 2
    vector = VectorRateReward(SyncVectorEnv(makes), rate=sj.Cumulative())
    vector.reset()
    assert "the reward is nan" in sentence(lambda: vector.step(np.zeros(2, dtype=int)), ValueError)
    assert vector.rate == 0.0


def test_a_learner_in_it_learns_as_before_with_the_rate_at_zero() -> None:
    """With the rate fixed at 0, rewards stay as they were."""
    env = RateReward(Maze(), rate=sj.rates.Fixed(0.0))
    learners = [sj.Learner(one, sj.smart, seed=0) for one in (env, Maze())]
    for learner in learners:
        learner.train(50)
    assert learners[0].totals == learners[1].totals
