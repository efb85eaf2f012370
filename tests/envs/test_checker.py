from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from smdpfier import Option, SMDPfier

import sojourn as sj
import sojourn.envs
from small_envs import Scripted
from sojourn.envs.checker import EnvReport


class Sound(gym.Env[Any, Any]):
    """An environment that keeps all rules; `Broken` breaks one of them at its third step."""

    def __init__(self, with_mask: bool = True, with_clock: bool = True) -> None:
        self.observation_space = spaces.Box(0.0, 1.0, shape=(2,))
        self.action_space: Any = spaces.Discrete(3, start=1)
        self.with_mask, self.with_clock = with_mask, with_clock

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.clock, self.t = 0.0, 0
        return self._observe(), self._info()

    def step(self, action: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        assert not self.with_mask or action != 2, "action 2 is masked"
        duration = float(self.np_random.exponential())
        self.clock += duration
        self.t += 1
        return self._observe(), float(action), False, False, self._info() | {"duration": duration}

    def _observe(self) -> Any:
        return self.np_random.random(2).astype(np.float32)

    def _info(self) -> dict[str, Any]:
        info: dict[str, Any] = {"clock": self.clock} if self.with_clock else {}
        return info | ({"action_mask": np.array([1, 0, 1], dtype=np.int8)} if self.with_mask else {})


class Broken(Sound):
    """Breaks one rule, at step 2."""

    def __init__(self, **changes: Any) -> None:
        super().__init__(with_mask="action_mask" in changes)
        self.changes = changes

    def step(self, action: Any) -> Any:
        observation, reward, terminated, truncated, info = super().step(action)
        parts = dict(
            observation=observation, reward=reward, terminated=terminated, truncated=truncated, **info
        )
        if self.t == 3:
            parts |= self.changes
        returned = [parts.pop(name) for name in ("observation", "reward", "terminated", "truncated")]
        return (*returned, {name: part for name, part in parts.items() if part is not KeyError})


def sentence_about(env: Any, **options: Any) -> str:
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the tests compare the whole sentence
        sj.check_smdp_env(env, **({"steps": 50} | options))
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_sound_environment_gets_a_report() -> None:
    """Whoever keeps the rules is told what was seen."""
    report = sj.check_smdp_env(Sound(), steps=2000)
    assert report.steps == 2000
    assert report.mean_duration == pytest.approx(1.0, abs=0.1)
    assert 0.0 < report.shortest < 0.01 < 5.0 < report.longest
    assert report[4:] == (0, 0, 0)
    assert sj.check_smdp_env(Sound(with_mask=False, with_clock=False), steps=2000) == report


@pytest.mark.parametrize("env_id", list(sojourn.envs.ENVIRONMENTS))
def test_sojourns_own_environments_keep_the_rules(env_id: str) -> None:
    """Every environment that is registered passes, with and without a time limit."""
    assert sj.check_smdp_env(gym.make(env_id)).truncated == 0
    assert sj.check_smdp_env(gym.make(env_id, max_episode_steps=100)).truncated == 10


def test_checking_leaves_the_action_space_alone() -> None:
    """The caller's own draws of actions are the same before and after."""
    env, twin = Sound(with_mask=False), spaces.Discrete(3, start=1, seed=3)
    env.action_space = spaces.Discrete(3, start=1, seed=3)
    assert env.action_space.sample() == twin.sample()
    sj.check_smdp_env(env)
    assert [env.action_space.sample() for _ in range(20)] == [twin.sample() for _ in range(20)]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"duration": KeyError},
            'at step 2, info["duration"] is missing, and info has only "clock"; set duration (on the command line, '
            "--duration) to the key of info that has it, to a number if every step takes equally long, or in Python to a function",
        ),
        (
            {"duration": float("nan")},
            'at step 2, info["duration"] is nan; a duration must be finite and not negative',
        ),
        (
            {"duration": -1.0},
            'at step 2, info["duration"] is -1.0; a duration must be finite and not negative',
        ),
        ({"duration": None}, 'at step 2, info["duration"] is None; a duration must be a number'),
        ({"clock": "late"}, "at step 2, info[\"clock\"] is 'late'; it must be a number"),
        ({"reward": float("inf")}, "at step 2, the reward is inf; a reward must be finite"),
        ({"reward": None}, "at step 2, the reward is None; a reward must be a number"),
        (
            {"terminated": True},
            "at step 2, the episode terminated, but an average-reward task goes on for ever; let it truncate or "
            "begin again by itself, or set episodic=True if it is meant to end",
        ),
        (
            {"observation": np.array([0.5, 2.0], dtype=np.float32)},
            "at step 2, step returned the observation array([0.5, 2. ], dtype=float32), which is not in the observation "
            "space, Box(0.0, 1.0, (2,), float32)",
        ),
        (
            {"action_mask": [1, 0]},
            'at step 2, info["action_mask"] is [1, 0], but a mask must have a 0 or 1 for each of the 3 actions; if the '
            'mask is elsewhere, set action_mask="key"',
        ),
        (
            {"action_mask": [1, 2, 0]},
            'at step 2, info["action_mask"] is [1, 2, 0]; its entries must be 0 or 1',
        ),
        (
            {"action_mask": [0, 0, 0]},
            'at step 2, info["action_mask"] allows no action; at least one entry must be 1',
        ),
    ],
)
def test_a_broken_rule_is_named_with_the_step(changes: dict[str, Any], sentence: str) -> None:
    """Each rule that a step breaks has its sentence, with the step and the value."""
    assert sentence_about(Broken(**changes)) == sentence


def test_the_clock_must_be_the_sum() -> None:
    """A clock that stands still or runs ahead is found."""
    assert sentence_about(Broken(clock=0.0)).startswith('at step 2, info["clock"] is 0.0; it must be ')
    assert sentence_about(Broken(clock=float("nan"))).startswith(
        'at step 2, info["clock"] is nan; it must be '
    )


def test_a_clock_may_go_on_over_resets() -> None:
    """The clock counts from what it was at the reset."""

    class Continuing(Sound):
        total = 0.0

        def reset(self, **options: Any) -> Any:
            observation, info = super().reset(**options)
            self.clock = self.total
            return observation, info | {"clock": self.clock}

        def step(self, action: Any) -> Any:
            returned = super().step(action)
            self.total = self.clock
            return (*returned[:3], self.t == 10, returned[4])

    assert sj.check_smdp_env(Continuing(), steps=50).truncated == 5


def test_durations_of_zero_are_counted() -> None:
    """A step that takes no time is reported; an environment without any time is refused."""
    assert sj.check_smdp_env(Broken(duration=0.0, clock=KeyError), steps=3).zero_durations == 1
    sentence = sentence_about(Sound(with_clock=False), duration=lambda *_: 0, steps=20)
    assert sentence == "none of the 20 steps took any time; a rate needs a clock that goes on"


def test_an_episode_may_end_where_that_is_said() -> None:
    """With episodic=True, termination is counted and not refused."""
    report = sj.check_smdp_env(Broken(terminated=True), steps=30, episodic=True)
    assert (report.terminated, report.truncated) == (10, 0)


class Unseeded(Sound):
    """One part of its steps comes from a generator that no seed reaches."""

    def __init__(self, part: str) -> None:
        super().__init__(with_clock=False, with_mask=part == "mask")
        self.part, self.rng = part, np.random.default_rng(1)

    def reset(self, **options: Any) -> Any:
        observation, info = super().reset(**options)
        return (self.rng.random(2).astype(np.float32) if self.part == "reset" else observation), info

    def step(self, action: Any) -> Any:
        observation, reward, terminated, truncated, info = super().step(action)
        u = self.rng.random()
        if self.part == "observation":
            observation = np.full(2, u, dtype=np.float32)
        elif self.part == "reward":
            reward = u
        elif self.part == "duration":
            info["duration"] = u
        elif self.part == "truncated":
            truncated = u < 0.5
        elif self.part == "mask":
            info["action_mask"] = [1, 0, int(u < 0.5)]
        return observation, reward, terminated, truncated, info


@pytest.mark.parametrize("part", ["observation", "reward", "duration", "truncated", "mask"])
def test_what_no_seed_reaches_is_found(part: str) -> None:
    """With the same seed and actions everything must be the same, durations included."""
    sentence = sentence_about(Unseeded(part))
    assert sentence.startswith(f"the {part} at step ")
    assert " the first time and " in sentence
    assert sentence.endswith(
        " the second, with the seed 0 and the same actions; take all randomness from self.np_random"
    )


def test_a_reset_without_a_seed_is_found() -> None:
    """The first observation, too, must be the seed's."""
    assert sentence_about(Unseeded("reset")).startswith("the observation after the first reset is array(")


class Malformed(Sound):
    def __init__(self, what: str, returned: Any) -> None:
        super().__init__()
        self.what, self.returned = what, returned

    def reset(self, **options: Any) -> Any:
        returned = super().reset(**options)
        return self.returned if self.what == "reset" else returned

    def step(self, action: Any) -> Any:
        returned = super().step(action)
        return self.returned if self.what == "step" else returned


def test_what_is_returned_must_have_the_right_form() -> None:
    """Old or other forms of reset and step are refused."""
    assert sentence_about(Malformed("reset", 0)) == "at step 0, reset returned 0; it must return (obs, info)"
    assert sentence_about(Malformed("step", (0, 1.0, False, {}))) == (
        "at step 0, step returned four values, as environments of the old gym do: truncated is missing; it must return "
        "(obs, reward, terminated, truncated, info)"
    )
    assert sentence_about(Malformed("reset", (np.ones(3), {}))) == (
        "at step 0, reset returned the observation array([1., 1., 1.]), which is not in the observation space, "
        "Box(0.0, 1.0, (2,), float32)"
    )


def test_only_discrete_actions_can_be_masked() -> None:
    """A mask over other actions is refused."""
    env = Sound()
    env.action_space = spaces.Box(0, 1)
    assert sentence_about(env) == (
        "at step 0, there is an action mask, but the action space is Box(0.0, 1.0, (1,), float32); only Discrete actions "
        "can be masked"
    )


def test_continuous_actions_are_checked_too() -> None:
    """The rules are about time, so the actions may be of any kind."""
    env = Sound(with_mask=False)
    env.action_space = spaces.Box(0, 1, shape=())
    assert sj.check_smdp_env(env, steps=20).steps == 20


def test_what_is_no_environment_is_refused() -> None:
    """The checker takes environments, and whole numbers of steps."""
    with pytest.raises(TypeError, match="str is not an environment"):
        sj.check_smdp_env("sojourn/TwoState-v0")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="steps is 0; it must be at least 1"):
        sj.check_smdp_env(Sound(), steps=0)


# --- Environments of others ---------------------------------------------------------

# Gymnasium numbers its Taxi anew when it changes.
TAXI = max(env_id for env_id in gym.registry if env_id.startswith("Taxi-v"))
MOVES = [Option([0], "south"), Option([1, 1], "north twice"), Option([2, 2, 2], "east"), Option([3], "west")]


def test_a_taxi_with_options() -> None:
    """SMDPfier's durations are in info["smdp"], and so is the mask that is about its options."""
    env = SMDPfier(gym.make(TAXI), options_provider=MOVES)
    report = sj.check_smdp_env(env, duration="smdp.duration", steps=500)
    assert (report.shortest, report.longest, report.terminated) == (1.0, 3.0, 0)
    assert report.truncated > 0
    sentence = sentence_about(env, duration="smdp.duration", action_mask="action_mask")
    assert "a mask must have a 0 or 1 for each of the 4 actions; if the mask is elsewhere" in sentence
    sentence = sentence_about(SMDPfier(gym.make("CartPole-v1"), options_provider=MOVES[:2]))
    assert sentence.startswith(
        'at step 0, info["duration"] is missing, and info has only "smdp"; set duration'
    )


def test_options_that_come_and_go_are_masked() -> None:
    """Where SMDPfier offers fewer options than there are actions, only those are drawn."""

    def offered(observation: Any, info: Any) -> list[Option]:
        return MOVES[: 1 + int(observation) % 4]

    env = SMDPfier(gym.make(TAXI), options_provider=offered, max_options=4)
    assert sj.check_smdp_env(env, duration="smdp.duration", steps=500).steps == 500


def test_a_cart_pole_with_options() -> None:
    """A pole that falls ends the episode: that is said, unless it is meant."""
    env = SMDPfier(gym.make("CartPole-v1"), options_provider=[Option([0, 1], "both"), Option([1], "right")])
    assert ", the episode terminated, but" in sentence_about(env, duration="smdp.duration")
    report = sj.check_smdp_env(env, duration="smdp.duration", steps=500, episodic=True)
    assert isinstance(report, EnvReport)
    assert report.terminated > 10
    assert 1.0 < report.mean_duration < 2.0


def test_steps_that_take_the_same_time() -> None:
    """A number says how long each step takes, in an environment that knows of no durations."""
    report = sj.check_smdp_env(gym.make(TAXI), duration=0.5, steps=300)
    assert (report.shortest, report.mean_duration, report.longest) == (0.5, 0.5, 0.5)


def test_a_clock_of_another_name() -> None:
    """It is checked where it is named, and else it is any number in info."""
    entries = [(1.0, {"duration": 2.0, "time": 2.0}), (1.0, {"duration": 1.0, "time": 3.5})] * 20
    assert sj.check_smdp_env(Rewound(*entries), steps=4).steps == 4
    with pytest.raises(ValueError, match=r'at step 1, info\["time"\] is 3.5; it must be 3.0'):
        sj.check_smdp_env(Rewound(*entries), steps=4, clock="time")


def test_a_mask_from_a_function() -> None:
    """It is asked for each observation, and what is wrong with it is told by the function's name."""

    def legal(obs: int, info: dict[str, Any]) -> list[int]:
        return [1, 0] if obs == 0 else [1, 1]

    entries = [(1.0, {"duration": 1.0})] * 50
    assert sj.check_smdp_env(Rewound(*entries), steps=20, action_mask=legal).steps == 20
    with pytest.raises(ValueError, match="the mask from <lambda> allows no action"):
        sj.check_smdp_env(Rewound(*entries), steps=20, action_mask=lambda obs, info: [0, 0])


class Rewound(Scripted):
    """A script that every reset begins anew."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        self.t = 0
        return super().reset(seed=seed)
