"""Agents with tiles in a Learner learn the same as in a run, in any environment with numeric observations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

import sojourn as sj
from networks_worlds import Offers, Wear
from small_envs import sentence
from sojourn.agents.vector_observer import VectorObserver
from sojourn.envs.reader import ArrayReader
from sojourn.learner.by_name import Beginning, Place, begun, standing
from sojourn.rules.values import same


def interpreted(env: Any, agent: Any, **options: Any) -> sj.Learner:
    """A learner with an interpreted agent."""
    box, actions = env.observation_space.shape[0], int(env.action_space.n)
    return sj.Learner(env, VectorObserver(agent, sj.agents.Spaces(box, actions), compiled=False), **options)


def test_a_learner_comes_to_the_agent_of_a_run(tmp_path: Path) -> None:
    """A compiled learner, saved and loaded halfway, has the weights and the rate of an interpreted run."""
    env = sj.envs.WorldEnv(sj.worlds.continuous.Wear())
    learner = sj.Learner(env, sj.tile_q, tilings=4, seed=3)
    assert learner.chosen == "tile_q, as asked for"
    learner.train(150)
    learner.save(tmp_path / "tiles.zip")
    again = sj.Learner.load(tmp_path / "tiles.zip", sj.envs.WorldEnv(sj.worlds.continuous.Wear()))
    world = sj.worlds.continuous.Wear()
    agent = sj.tile_q(1, 2, bounds=world.observed, tilings=4)
    run = sj.run(world, agent, steps=300, seed=3, compiled=False)
    for one in (learner, again):
        assert one.train(150).reward == run.reward
        assert same(one.agent.agent.values.weights, run.agent.values.weights)
        assert (one.rate, one.agent.estimator) == (run.rate, run.agent.rate)
        assert same(one.agent.state()["stream"], learner.agent.state()["stream"])
    assert {learner.act([5.0]), again.act([5.0])} <= {0, 1}
    assert learner.evaluate(duration=50.0).rate == again.evaluate(duration=50.0).rate
    assert learner.verdict(duration=50.0).best_gain == sj.gain(world)


def test_options_come_back_from_a_file(tmp_path: Path) -> None:
    """A loaded learner has the saved estimator and options."""
    learner = sj.Learner(Wear(), sj.agents.tile_sarsa, rate=sj.Harmonic(0.01), centring=0.0, seed=3)
    learner.save(tmp_path / "tiles.zip")
    again = sj.Learner.load(tmp_path / "tiles.zip", Wear())
    assert (again.agent.kind, again.agent.options) == ("tile_sarsa", learner.agent.options)
    assert again.agent.estimator == sj.Harmonic(0.01)


class Doors(gym.Env[Any, Any]):
    """Observes a number in [0, 1]; the door nearest to it is shut, the next one pays 1, the others nothing."""

    def __init__(self) -> None:
        self.observation_space = spaces.Box(0.0, 1.0, (1,))
        self.action_space: Any = spaces.Discrete(3, start=1)

    def shown(self) -> tuple[Any, dict[str, Any]]:
        self.x = float(self.np_random.random())
        self.shut = int(3 * self.x)
        mask = np.ones(3, dtype=np.int8)
        mask[self.shut] = 0
        return np.array([self.x], dtype=np.float32), {"duration": 1.0, "action_mask": mask}

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return self.shown()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert action - 1 != self.shut
        reward = float(action - 1 == (self.shut + 1) % 3)
        observation, info = self.shown()
        return observation, reward, False, False, info


@pytest.mark.parametrize("make", [sj.tile_q, sj.agents.tile_sarsa])
def test_masks_are_respected_and_the_best_is_learned(make: Any) -> None:
    """A shut door is never chosen, and the paying one is found for every observation."""
    learner = interpreted(Doors(), make(1, 3, bounds=([0.0], [1.0]), step_size=0.3), seed=1)
    learner.train(1200)
    for x, shut in ((0.1, 0), (0.5, 1), (0.9, 2)):
        mask = np.ones(3, dtype=np.int8)
        mask[shut] = 0
        assert learner.act(np.array([x], dtype=np.float32), mask) == (shut + 1) % 3 + 1


def test_several_environments_are_one_after_the_other() -> None:
    """The agent learns from every step of a vector of environments."""
    envs = gym.vector.SyncVectorEnv([Wear] * 3)
    agent = VectorObserver(sj.tile_q(1, 2), sj.agents.Spaces(1, 2, places=3), compiled=False)
    learner = sj.Learner(envs, agent)
    assert learner.train(60).steps == 60
    assert agent.agent.values.box.seen == 60  # type: ignore[attr-defined]


def test_bounds_are_those_of_the_space() -> None:
    """Finite bounds are used, infinite ones and the largest floats count as none, and a constant entry gets some width."""
    most = np.finfo(np.float32).max
    low, high = np.array([[-1.0, 0.0, -most, 2.0], [1.0, np.inf, most, 2.0]], dtype=np.float32)
    box = spaces.Box(low, high)
    found = ArrayReader(box, spaces.Discrete(2)).bounds
    assert found == sj.worlds.Bounds((-1.0, 0.0, -np.inf, 2.0), (1.0, np.inf, np.inf, 3.0))
    assert ArrayReader(spaces.Dict(a=spaces.Box(0, 9, (1,)), b=box), spaces.Discrete(2)).bounds.high[0] == 9.0


def test_tiles_are_named_on_the_command_line(tmp_path: Path) -> None:
    """Tiles can be given by name with options, and the status identifies the agent."""
    place = Place("sojourn/Wear-v0", {})
    learner = begun(tmp_path / "l", place, Beginning("tile-q", {"tilings": 4, "centring": 0.2}))
    assert learner.chosen == "tile-q, as asked for"
    assert (learner.agent.kind, learner.agent.options) == ("tile_q", {"tilings": 4, "centring": 0.2})
    assert (standing(learner).agent, standing(learner).estimator) == ("tile_q", "Centred")
    assert standing(learner).states is None
    assert "did you mean 'tilings'" in sentence(
        lambda: begun(tmp_path / "l", place, Beginning("tile-q", {"tiling": 3})), ValueError
    )


def test_what_tiles_cannot_do_is_said_in_a_sentence() -> None:
    """Discrete observations, continuous actions, too many entries and values of another size get one sentence."""
    wide = Wear()
    wide.observation_space = spaces.Box(0.0, 1.0, (40,))
    points = Wear()
    points.action_space = spaces.Box(-1.0, 1.0, (1,))
    cases: list[tuple[Any, Any, str]] = [
        (
            sj.envs.WorldEnv(sj.worlds.TwoState(log_scale=1e-3)),
            sj.tile_q,
            "can be listed; use an agent with a table",
        ),
        (points, sj.tile_q, "tile_q is for numbered actions only; for continuous actions use ppo or sac"),
        (wide, sj.tile_q, "a state has 40 entries, too many for tiles; use sojourn.deep_q"),
        (Offers(), sj.tile_q(1, 2), "the environment has observations of 2 numbers and 2 actions"),
    ]
    for env, agent, told in cases:
        with pytest.raises(ValueError, match=told):
            sj.Learner(env, agent)
    with pytest.raises(TypeError, match="tilings cannot be given with an agent that is already made"):
        sj.Learner(Offers(), sj.tile_q(2, 2), tilings=3)


def test_spoiled_files_are_refused(tmp_path: Path) -> None:
    """Arrays in a file that would make compiled code read out of bounds are refused."""
    learner = interpreted(Wear(), sj.tile_q(1, 2))
    learner.train(5)
    for name, wrong in (("values.cut.strides", 1 << 40), ("values.latest", 7)):
        state = learner.agent.state()
        state[name][:] = wrong
        with pytest.raises(ValueError, match="cannot be used"):
            interpreted(Wear(), sj.tile_q(1, 2)).agent.restored(state)


class Timed(Wear):
    """Observes the clock, which is wrong after ten steps if asked for."""

    def __init__(self, wrong: bool = False) -> None:
        super().__init__()
        self.wrong, self.time, self.steps = wrong, 0.0, 0

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = super().step(action)
        self.steps += 1
        self.time += info["duration"] + (self.wrong and self.steps == 10)
        return observation, reward, terminated, truncated, info | {"time": self.time}


def test_a_clock_is_checked_for_agents_that_observe(tmp_path: Path) -> None:
    """A wrong clock is reported with its step, in training, in evaluation and after loading."""
    learner = interpreted(Timed(), sj.tile_q(1, 2), clock="time")
    assert learner.train(30).steps == 30
    wrong = interpreted(Timed(wrong=True), sj.tile_q(1, 2), clock="time")
    with pytest.raises(ValueError, match=r'step 9: info\["time"\] went from .* but the step took'):
        wrong.train(30)
    learner.save(tmp_path / "l.zip")
    again = sj.Learner.load(
        tmp_path / "l.zip",
        Timed(),
        agent=lambda spaces: VectorObserver(sj.tile_q(1, 2), spaces, compiled=False),
    )
    with pytest.raises(ValueError, match=r'info\["time"\] went from'):
        again.evaluate(duration=50.0, env=Timed(wrong=True))
    with pytest.raises(TypeError, match="clock is checked in a single environment only"):
        sj.Learner(gym.vector.SyncVectorEnv([Timed] * 2), sj.deep_q, clock="time")
