"""Faults of an environment are reported for every kind of agent, and what it returns is read before it changes."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import sojourn as sj
from small_envs import sentence
from sojourn.rules.values import named_fields

pytestmark = pytest.mark.interpreted  # how agents are compiled is what other files are about

SMALL: dict[str, Any] = {"hidden": (4,), "compiled": False}
AGENTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "table": (sj.smart, {"bins": 2}),
    "planner": (sj.planner, {"bins": 2}),
    "tiles": (sj.tile_q, {}),
    "deep Q": (sj.deep_q, SMALL | {"warm_up": 8, "batch": 4}),
    "PPO": (sj.ppo, SMALL | {"rollout": 8, "batch": 4, "epochs": 1}),
}


class Walk(gym.Env[Any, Any]):
    """Two numbers that move at random, three actions of which one may be forbidden; truncated or terminated now and then.

    From its sixth step on, `wrong` changes what a step returns and `begins` what a reset shows. With `shares`,
    the environment reuses the objects of observation, mask and info at every step.
    """

    def __init__(
        self,
        wrong: Callable[[list[Any]], object] | None = None,
        begins: Any = None,
        shares: bool = False,
        ends: int = 7,
        dtype: Any = np.float64,
    ) -> None:
        self.observation_space = spaces.Box(0.0, 1.0, (2,), dtype)
        self.action_space: Any = spaces.Discrete(3)
        self.wrong, self.begins, self.shares, self.ends = wrong, begins, shares, ends
        self.t = self.taken = 0
        self.seen, self.mask = np.zeros(2, dtype), np.ones(3, dtype=np.int8)
        self.info: dict[str, Any] = {}

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.t = 0
        self._go_on()
        return (self.seen if self.begins is None else self.begins), self.info

    def step(self, action: Any) -> Any:
        assert self.mask[action], "not allowed"
        self.t, self.taken = self.t + 1, self.taken + 1
        reward = float(self.seen[0] * (action + 1))
        self._go_on()
        self.info["duration"] = 0.5 + float(self.np_random.random())
        cut = self.t == self.ends
        parts = [self.seen, reward, cut and self.taken % 3 == 0, cut and self.taken % 3 != 0, self.info]
        if self.wrong is not None and self.taken >= 6:
            self.wrong(parts)
        return tuple(parts)

    def _go_on(self) -> None:
        if not self.shares:
            self.seen, self.mask, self.info = self.seen.copy(), self.mask.copy(), {}
        self.seen[:] = self.np_random.random(2)
        self.mask[:] = 1
        self.mask[int(self.np_random.integers(3))] = 0
        self.info["action_mask"] = self.mask


def puts(place: int, thing: Any, *ends: int) -> Callable[[list[Any]], object]:
    """Return a fault: this thing is returned in a place, or in info, and the episode ends."""

    def wrong(parts: list[Any]) -> None:
        if isinstance(thing, dict):
            parts[place] = parts[place] | thing
        else:
            parts[place] = thing
        for end in ends:
            parts[end] = True

    return wrong


NAN, ENDS = math.nan, {"": (), " and terminated": (2,), " and truncated": (3,), " and both": (2, 3)}
FAULTS: dict[str, tuple[Callable[[], Walk], str]] = {
    f"{name}{end}": (lambda fault=(place, thing, *places): Walk(puts(*fault)), told)  # type: ignore[misc]
    for end, places in ENDS.items()
    for name, place, thing, told in (
        ("the reward is NaN", 1, NAN, "the reward is nan"),
        ("the duration is NaN", 4, {"duration": NAN}, 'info["duration"] is nan'),
        ("the observation is NaN", 0, np.array([0.5, NAN]), "observation"),
        ("the mask is None", 4, {"action_mask": None}, 'info["action_mask"] is None'),
        ("the action was forbidden", 4, {"forbidden_action": 1}, "does not allow it; "),
    )
    if not (name == "the mask is None" and 2 in places)  # after termination the mask may be anything
}
FAULTS["a reset shows what is outside"] = (
    lambda: Walk(begins=np.array([0.5, 7.0])),
    "reset returned the observation array([0.5, 7. ]), which is not in the observation space, Box(0.0, 1.0, (2,), float64)",
)
LONE = {
    "a reset shows a number": (lambda: Walk(begins=3), "reset returned the observation 3, which is not in")
}
MODES = {mode.value: mode for mode in AutoresetMode}


@pytest.mark.parametrize("fault", [*FAULTS, *LONE])
@pytest.mark.parametrize("agent", AGENTS)
def test_every_fault_is_said_to_every_agent(agent: str, fault: str) -> None:
    """In training, in evaluation and for a baseline, one sentence says what was wrong."""
    (make, options), (wrong, told) = AGENTS[agent], (FAULTS | LONE)[fault]
    assert told in sentence(lambda: sj.Learner(wrong(), make, **options).train(100), ValueError)
    learner = sj.Learner(Walk(), make, **options)
    learner.train(10)
    assert told in sentence(lambda: learner.evaluate(duration=100.0, env=wrong()), ValueError)
    baseline = lambda _observation: 0  # noqa: E731
    followed = Walk(wrong().wrong, begins=wrong().begins)
    followed.step = _unmasked(followed)  # type: ignore[method-assign]
    assert told in sentence(
        lambda: learner.verdict(duration=100.0, baseline=baseline, env=followed), ValueError
    )


def _unmasked(env: Walk) -> Any:
    step = env.step

    def unmasked(action: Any) -> Any:
        env.mask[:] = 1
        return step(action)

    return unmasked


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_is_said_in_a_vector(fault: str, mode: str) -> None:
    """One faulty environment in a vector is reported, whatever the vector's autoreset mode."""
    (make, options), (wrong, told) = AGENTS["deep Q"], FAULTS[fault]
    makers: list[Callable[[], Any]] = [wrong, Walk]
    vector = SyncVectorEnv(makers, autoreset_mode=MODES[mode])
    assert told in sentence(lambda: sj.Learner(vector, make, **options).train(200), ValueError)


@pytest.mark.parametrize("agent", AGENTS)
def test_one_object_for_all_steps_changes_nothing(agent: str) -> None:
    """Learning is unaffected by an environment that reuses its objects for observations, masks and info."""
    make, options = AGENTS[agent]
    learners = [sj.Learner(Walk(shares=shares), make, seed=2, **options) for shares in (False, True)]
    for learner in learners:
        learner.train(120)
    assert learners[0].totals == learners[1].totals
    assert _learned(learners[0]) == _learned(learners[1])
    apart, shared = (learner.evaluate(duration=50.0) for learner in learners)
    assert apart == shared


# With same-step autoreset, Gymnasium keeps only a reference to the last observation, which the reset overwrites.
@pytest.mark.parametrize("mode", ["NextStep", "Disabled"])
def test_one_object_for_all_steps_of_a_vector_changes_nothing(mode: str) -> None:
    """Learning is unaffected by a vector that reuses its arrays; a step that is only a reset takes no time, whatever info says."""
    make, options = AGENTS["deep Q"]
    learners = []
    for shares in (False, True):
        makers: list[Callable[[], Any]] = [lambda shares=shares: Walk(shares=shares)] * 2  # type: ignore[misc]
        vector = SyncVectorEnv(makers, copy=not shares, autoreset_mode=MODES[mode])
        learners.append(sj.Learner(vector, make, seed=2, **options))
        learners[-1].train(120)
    assert learners[0].totals == learners[1].totals
    assert _learned(learners[0]) == _learned(learners[1])


def _learned(learner: sj.Learner) -> list[bytes]:
    """Return every number of an agent."""
    state = learner.agent.state() if hasattr(learner.agent, "state") else dict(named_fields(learner.agent))
    return [pickle.dumps(thing) for thing in state.values()]


def test_a_reset_in_a_vector_takes_no_time() -> None:
    """The surplus of a step that is only a reset is 0, even if info still has the previous step's duration."""

    def surpluses(shares: bool) -> list[float]:
        vector = sj.envs.VectorRateReward(SyncVectorEnv([lambda: Walk(shares=shares, ends=3)] * 2))
        _, infos = vector.reset(seed=1)
        found = []
        for _ in range(20):
            _, rewards, _, _, infos = vector.step(infos["action_mask"].argmax(axis=1))
            found += rewards.tolist()
        return found

    assert surpluses(True) == surpluses(False)


@pytest.mark.parametrize("agent", ["table", "planner"])
def test_without_a_mask_all_actions_are_allowed_again(agent: str) -> None:
    """A state without a mask has all actions, even if it had a mask before, as for networks."""

    class Lifted(gym.Env[Any, Any]):
        """One state: action 1 earns more, and is forbidden until the tenth step."""

        observation_space, action_space = spaces.Discrete(1), spaces.Discrete(2)
        t = 0

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            return 0, {"action_mask": [1, 0]}

        def step(self, action: Any) -> Any:
            self.t += 1
            info = {"duration": 1.0} | ({"action_mask": [1, 0]} if self.t < 10 else {})
            return 0, float(action), False, False, info

    learner = sj.Learner(Lifted(), AGENTS[agent][0], seed=1)
    learner.train(500)
    assert learner.policy.tolist() == [1]
    assert learner.rate > 0.5


@pytest.mark.parametrize("agent", ["tiles", "deep Q", "PPO"])
def test_a_step_beyond_the_bounds_is_seen_as_it_is(agent: str) -> None:
    """Observations beyond the bounds of a Box, as many environments return, are refused only at the start of an episode."""
    make, options = AGENTS[agent]
    learner = sj.Learner(Walk(puts(0, np.array([0.5, 1.5]))), make, **options)
    assert learner.train(40).steps == 40


@pytest.mark.parametrize(
    ("space", "wrong"),
    [
        (spaces.Discrete(3, start=1), 0),  # one below the first, which Python would read as the last
        (spaces.Dict(a=spaces.Discrete(3), b=spaces.Box(0, 1)), {"a": -1, "b": np.zeros(1)}),
        (spaces.Tuple([spaces.MultiDiscrete([2, 3])]), (np.array([2, 0]),)),
        (spaces.MultiBinary(2), np.array([0, 7])),
        (
            spaces.Dict(a=spaces.Box(0, 1, (1,)), b=spaces.Box(0, 1, (2,))),
            {"a": np.zeros(2), "b": np.zeros(1)},
        ),
    ],
)
def test_what_flattens_to_something_else_is_refused(space: Any, wrong: Any) -> None:
    """Parts outside their spaces, which Gymnasium would flatten to other observations, get one sentence."""

    class Odd(Walk):
        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            return space.sample(), {}

        def step(self, action: Any) -> Any:
            return (
                (space.sample() if self.np_random.random() < 0.9 else wrong),
                1.0,
                False,
                False,
                {"duration": 1.0},
            )

    env = Odd()
    env.observation_space = space
    told = sentence(lambda: sj.Learner(env, sj.deep_q, **SMALL).train(100), ValueError)
    assert "the observation space is" in told


def test_an_agent_that_diverged_is_not_followed() -> None:
    """A NaN action never reaches the environment; the error blames the agent rather than the durations."""
    env = gym.make("Pendulum-v1")
    learner = sj.Learner(env, sj.ppo, duration=1.0, seed=1, **SMALL, rollout=8, batch=4, epochs=1)
    learner.train(10)
    learner.agent.learned.policy.weights[:] = math.nan
    with pytest.raises(
        ValueError, match=r"step 1\d: the agent chose the action \[\[nan\]\], so it has diverged"
    ):
        learner.train(10)
