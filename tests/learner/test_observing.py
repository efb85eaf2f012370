"""Learners with agents of observations: what an agent sees, from one environment or several, and what files store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import sojourn as sj
from networks_worlds import Offers, Wear
from small_envs import Maze, sentence
from sojourn.learner.by_name import Beginning, Place, begun
from sojourn.learner.watch import tensorboard

pytestmark = pytest.mark.interpreted  # how agents are compiled is what other files are about

SMALL: dict[str, Any] = {"hidden": (4,), "compiled": False}
QUICK: dict[str, dict[str, Any]] = {
    "deep_q": SMALL | {"warm_up": 20, "batch": 4},
    "ppo": SMALL | {"rollout": 16, "batch": 8, "epochs": 2},
    "sac": SMALL | {"warm_up": 20, "batch": 4, "most_resets": 0.1},
}


class Count(gym.Env[Any, Any]):
    """Observes the step in the episode and the number of episodes; episodes end as configured."""

    def __init__(self, ends: int = 0, cuts: int = 0, continuous: bool = False) -> None:
        self.observation_space = spaces.Box(0.0, 1000.0, (2,), np.float64)
        self.action_space: Any = spaces.Box(-1.0, 3.0, (2,)) if continuous else spaces.Discrete(3, start=1)
        self.ends, self.cuts, self.episode, self.t = ends, cuts, -1, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.episode, self.t = self.episode + 1, 0
        return np.array([0.0, self.episode]), {"action_mask": self.mask()}

    def mask(self) -> Any:
        return np.array([1, self.t % 2, 1], dtype=np.int8)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action) or isinstance(action, np.integer)
        self.t += 1
        info = {"duration": 1.0 + 0.1 * self.t + self.np_random.random(), "action_mask": self.mask()}
        ends, cuts = self.t == self.ends, self.t == self.cuts
        return np.array([self.t, self.episode], dtype=float), float(self.t), ends, cuts, info


class Recorder:
    """An agent in plain Python: it acts at random, records what it sees, and learns the mean rate."""

    def __init__(self, spaces: sj.agents.Spaces, **options: Any) -> None:
        self.spaces, self.options, self.shown = spaces, options, []  # type: ignore[var-annotated]
        self.draws = np.random.default_rng(spaces.seed)
        self.meter = sj.RateMeter(sj.Cumulative())

    @property
    def rate(self) -> float:
        return self.meter.rate

    def draw(self, observations: Any, allowed: Any) -> tuple[Any, Any]:
        if self.spaces.is_continuous:
            actions: Any = self.draws.normal(size=(len(observations), len(self.spaces.low))) * 3.0
        else:
            actions = np.array([self.draws.choice(np.flatnonzero(row)) for row in allowed])
        return actions, np.zeros(len(observations), dtype=bool)

    def greedy(self, observations: Any, allowed: Any) -> Any:
        if self.spaces.is_continuous:
            return np.zeros((len(observations), len(self.spaces.low)))
        return np.array([np.flatnonzero(row)[0] for row in allowed])

    def learn(self, transitions: sj.agents.Transitions) -> None:
        self.shown.append(transitions)
        for reward, duration in zip(transitions.rewards, transitions.durations, strict=True):
            self.meter.update(reward, duration)

    def state(self) -> dict[str, Any]:
        estimator: Any = self.meter.estimator
        return {
            "reward": estimator.reward,
            "duration": estimator.duration,
            "draws": str(self.draws.bit_generator.state),
        }

    def restored(self, state: dict[str, Any]) -> None:
        self.meter.estimator = sj.Cumulative(state["reward"], state["duration"])
        self.draws.bit_generator.state = eval(state["draws"])  # noqa: S307 - its own


def rows(agent: Recorder, place: int = 0) -> list[tuple[Any, ...]]:
    """What an agent saw at a place: the state, the next state, and whether the episode was truncated or terminated."""
    return [
        (
            step.observations[i].tolist(),
            step.next_observations[i].tolist(),
            bool(step.cut[i]),
            bool(step.ended[i]),
            float(step.rewards[i]),
        )
        for step in agent.shown
        for i in np.flatnonzero(step.places == place)
    ]


def by_hand(ends: int, cuts: int, steps: int) -> list[tuple[Any, ...]]:
    """The expected rows: termination leads to the next episode, truncation to its own last observation."""
    found, t, episode = [], 0, 0
    for _ in range(steps):
        here, t = [float(t), float(episode)], t + 1
        there, ended, cut = [float(t), float(episode)], t == ends, t == cuts
        if ended or cut:
            there, episode = (there if cut else [0.0, float(episode + 1)]), episode + 1
        found.append((here, there, cut, ended, float(t)))
        t = 0 if ended or cut else t
    return found


@pytest.mark.parametrize(
    ("ends", "cuts"), [(3, 0), (0, 3), (0, 0)], ids=["terminated", "truncated", "endless"]
)
def test_what_an_agent_is_shown(ends: int, cuts: int) -> None:
    """Termination leads to the next episode's first state; truncation leads to its own last state, and is marked."""
    learner = sj.Learner(Count(ends, cuts), Recorder)
    learner.train(10)
    assert rows(learner.agent) == by_hand(ends, cuts, 10)
    masks = [(step.allowed[0, 1], step.next_allowed[0, 1]) for step in learner.agent.shown]
    expected = [(here[0] % 2, there[0] % 2) for here, there, *_ in by_hand(ends, cuts, 10)]
    assert masks == expected


@pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize(("ends", "cuts"), [(3, 0), (0, 3)], ids=["terminated", "truncated"])
def test_a_vector_shows_the_same_at_every_place(mode: AutoresetMode, ends: int, cuts: int) -> None:
    """In every autoreset mode, each place sees what a single environment returns, including masks and durations."""
    lone = sj.Learner(Count(ends, cuts), Recorder, seed=0)
    lone.train(9)
    makers: list[Callable[[], Any]] = [lambda: Count(ends, cuts)] * 2
    learner = sj.Learner(SyncVectorEnv(makers, autoreset_mode=mode), Recorder, seed=0)
    learner.train(30)
    agent: Recorder = learner.agent
    for place in range(2):
        assert rows(agent, place)[:9] == by_hand(ends, cuts, 9)
    durations = [step.durations[list(step.places).index(0)] for step in agent.shown if 0 in step.places]
    masks = [
        step.next_allowed[list(step.places).index(0)].tolist() for step in agent.shown if 0 in step.places
    ]
    assert durations[:9] == [step.durations[0] for step in lone.agent.shown]
    assert masks[:9] == [step.next_allowed[0].tolist() for step in lone.agent.shown]
    assert learner.totals.steps == sum(len(step.rewards) for step in agent.shown) >= 30
    assert learner.totals.reward == sum(step.rewards.sum() for step in agent.shown)


def test_points_are_shown_as_drawn_and_taken_at_the_bounds() -> None:
    """An action beyond the bounds of a Box is clipped, and reaches the environment in its shape and type."""
    taken: list[Any] = []

    class Bounded(Count):
        def step(self, action: Any) -> Any:
            taken.append(action)
            return super().step(action)

    learner = sj.Learner(Bounded(continuous=True), Recorder)
    learner.train(20)
    drawn = np.array([step.actions[0] for step in learner.agent.shown])
    assert (np.abs(drawn) > 3.0).any()
    assert np.array(taken) == pytest.approx(np.clip(drawn, -1.0, 3.0))
    assert all(action.dtype == np.float32 for action in taken)


@pytest.mark.parametrize("kind", ["deep_q", "ppo"])
@pytest.mark.parametrize("make", [Wear, lambda: Maze(ends=0.2), lambda: Maze(masks="both", cuts=0.1)])
def test_train_save_load_train_is_train(kind: str, make: Any, tmp_path: Path) -> None:
    """Forty steps, saving, loading and thirty more equal seventy steps in every bit."""
    learner, whole = (sj.Learner(make(), kind, seed=3, **QUICK[kind]) for _ in range(2))
    learner.train(40)
    learner.save(tmp_path / "learner.zip")
    loaded = sj.Learner.load(tmp_path / "learner.zip", make())
    loaded.train(30)
    whole.train(70)
    assert loaded.totals == whole.totals
    assert_same(loaded, whole)


@pytest.mark.parametrize("kind", ["deep_q", "ppo", "sac"])
def test_a_learner_that_was_never_paid_is_saved_too(kind: str, tmp_path: Path) -> None:
    """As long as nothing was paid and no episode has ended, there are no units yet, and the file can be read all the same."""

    class Unpaid(Count):
        def step(self, action: Any) -> Any:
            observation, _, *others = super().step(action)
            return observation, 0.0, *others

    learner = sj.Learner(Unpaid(continuous=kind != "deep_q"), kind, **QUICK[kind])
    learner.train(40)
    learner.save(tmp_path / "learner.zip")
    assert_same(sj.Learner.load(tmp_path / "learner.zip", Unpaid(continuous=kind != "deep_q")), learner)


def assert_same(one: sj.Learner, other: sj.Learner) -> None:
    """Check that two learners have learned the same, bit for bit."""
    first, second = one.agent.state(), other.agent.state()
    assert first.keys() == second.keys()
    assert [name for name in first if first[name].tobytes() != second[name].tobytes()] == []


@pytest.mark.parametrize("kind", ["ppo", "sac"])
@pytest.mark.parametrize(
    "mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP], ids=lambda mode: mode.value
)
def test_vectors_and_points_are_saved_too(mode: AutoresetMode, kind: str, tmp_path: Path) -> None:
    """Continuous actions in three environments at once, saved while a finished episode awaits its reset."""

    def vector() -> Any:
        return SyncVectorEnv([lambda: Count(ends=4, continuous=True)] * 3, autoreset_mode=mode)

    learner, whole = (sj.Learner(vector(), kind, seed=3, **QUICK[kind]) for _ in range(2))
    learner.train(12)  # in the next step all three reset
    learner.save(tmp_path / "learner.zip")
    loaded = sj.Learner.load(tmp_path / "learner.zip", vector())
    loaded.train(48)
    whole.train(60)
    assert loaded.totals == whole.totals
    assert_same(loaded, whole)


def test_a_users_agent_is_saved_and_restored(tmp_path: Path) -> None:
    """A user's agent continues after loading as if uninterrupted; without its constructor, an error asks for it."""
    learner, whole = (sj.Learner(Wear(), Recorder, seed=1) for _ in range(2))
    learner.train(20)
    learner.save(tmp_path / "learner.zip")
    assert "agent=make" in sentence(lambda: sj.Learner.load(tmp_path / "learner.zip", Wear()))
    loaded = sj.Learner.load(tmp_path / "learner.zip", Wear(), agent=Recorder)
    loaded.train(20)
    whole.train(40)
    assert loaded.totals == whole.totals
    assert loaded.rate == whole.rate


def test_another_environment_or_agent_is_refused(tmp_path: Path) -> None:
    """A file does not fit an environment with another number of inputs, and a table's file is not a network's."""
    learner = sj.Learner(Wear(), sj.deep_q, **QUICK["deep_q"])
    learner.train(5)
    learner.save(tmp_path / "learner.zip")
    assert "1 inputs" in sentence(lambda: sj.Learner.load(tmp_path / "learner.zip", Offers()))
    text = (tmp_path / "learner.zip").read_bytes()
    (tmp_path / "damaged.zip").write_bytes(text[: len(text) // 2])
    assert "damaged" in sentence(lambda: sj.Learner.load(tmp_path / "damaged.zip", Wear()))


def test_dict_and_tuple_observations_are_flattened() -> None:
    """Dict and tuple observations are flattened as Gymnasium does: Discrete parts are one-hot, in its order of parts."""
    space = spaces.Dict(
        b=spaces.Tuple([spaces.Discrete(3), spaces.Box(0.0, 9.0, (2,))]), a=spaces.MultiBinary(2)
    )

    class Nested(Wear):
        def __init__(self) -> None:
            super().__init__()
            self.observation_space = space

        def _shown(self, result: Any) -> Any:
            return {
                "b": (1, np.array([result[0], 9.0], dtype=np.float32)),
                "a": np.array([1, 0], dtype=np.int8),
            }

        def reset(self, **options: Any) -> Any:
            observation, info = super().reset(**options)
            return self._shown(observation), info

        def step(self, action: Any) -> Any:
            observation, *rest = super().step(action)
            return self._shown(observation), *rest

    learner = sj.Learner(Nested(), Recorder)
    learner.train(3)
    last = learner.agent.shown[-1].next_observations[0]
    env: Any = learner.env
    assert last == pytest.approx(spaces.flatten(space, env._shown([env.w])))
    assert len(last) == 7


@pytest.mark.parametrize(
    ("observation", "part"),
    [
        (np.array([np.nan]), "entry nan"),
        (np.array([0.1, 0.2]), "shape (2,)"),
        ("full", "'full'"),
        (None, "None"),
    ],
)
def test_wrong_observations_are_refused_with_their_step(observation: Any, part: str) -> None:
    """An observation that is not numeric, has another shape or is not an array gets one sentence with its step."""

    class Wrong(Wear):
        def step(self, action: Any) -> Any:
            _, *rest = super().step(action)
            return observation, *rest

    learner = sj.Learner(Wrong(), sj.deep_q, **SMALL)
    told = sentence(lambda: learner.train(5))
    assert "step 0" in told
    assert part in told


class Graphs(Wear):
    def __init__(self) -> None:
        super().__init__()
        self.observation_space = spaces.Graph(spaces.Box(0.0, 1.0, (1,)), None)


class Choices(Wear):
    def __init__(self) -> None:
        super().__init__()
        self.action_space = spaces.MultiDiscrete([2, 2])


class Unmeasured(Wear):
    def step(self, action: Any) -> Any:
        observation, reward, terminated, truncated, _ = super().step(action)
        return observation, reward, terminated, truncated, {}


@pytest.mark.parametrize(
    ("call", "part"),
    [
        (lambda: sj.Learner(Graphs(), sj.deep_q), "not an array of a fixed size"),
        (lambda: sj.Learner(Choices(), sj.ppo), "Discrete actions, or a Box"),
        (lambda: sj.Learner(Count(continuous=True), sj.deep_q), "ppo"),
        (lambda: sj.Learner(Unmeasured(), sj.ppo, **SMALL).train(3), "duration"),
        (lambda: sj.Learner(Wear(), sj.deep_q, **SMALL).q, "no table"),
        (lambda: sj.Learner(Wear(), sj.deep_q, hiden=(3,)), "hiden"),
        (lambda: sj.Learner(SyncVectorEnv([Maze] * 2), sj.smart), "deep_q, ppo or sac"),
        (lambda: sj.Learner(Wear(), Recorder(sj.agents.Spaces(1, 2)), step=1), "already made"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(call: Any, part: str) -> None:
    """Unsupported spaces, a missing duration, a missing table and unknown options get one sentence."""
    assert part in sentence(call)


class Wrong(Count):
    """Returns something wrong from its fourth step on, or from a reset."""

    def __init__(self, returned: Any = None, begins: Any = None) -> None:
        super().__init__()
        self.returned, self.begins = returned, begins

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        usual = super().reset(seed=seed)
        return usual if self.begins is None else self.begins

    def step(self, action: Any) -> Any:
        observation, reward, ends, cuts, info = super().step(action)
        return (observation, reward, ends, cuts, info) if self.t < 4 else self.returned


@pytest.mark.parametrize("agent", [sj.deep_q, sj.ppo, sj.tile_q], ids=lambda agent: agent.__name__)
@pytest.mark.parametrize(
    ("reward", "part"),
    [
        (None, "the reward is None; a reward must be a number"),
        ("much", "the reward is 'much'; a reward must be a number"),
        (np.array([1.0, 2.0]), "the reward is array([1., 2.]); a reward must be a number"),
        (10**400, "the reward is inf; a reward must be finite"),
        (np.nan, "the reward is nan; a reward must be finite"),
    ],
)
def test_a_wrong_reward_is_refused_with_its_step(agent: Any, reward: Any, part: str) -> None:
    """A non-finite reward is reported with its step for every agent of observations."""
    env = Wrong((np.zeros(2), reward, False, False, {"duration": 1.0}))
    options: dict[str, Any] = {} if agent is sj.tile_q else {"hidden": (4,)}
    assert sentence(lambda: sj.Learner(env, agent, **options).train(20), ValueError) == f"step 3: {part}"


@pytest.mark.parametrize("agent", [Recorder, sj.smart])
def test_an_old_environment_is_refused_in_a_sentence(agent: Any) -> None:
    """An environment with the old interface (four values from a step, one from a reset) gets one sentence."""
    bins: dict[str, Any] = {"bins": 2} if agent is sj.smart else {}
    short = Wrong((np.zeros(2), 1.0, False, {"duration": 1.0}))
    told = sentence(lambda: sj.Learner(short, agent, **bins).train(20), ValueError)
    assert told.startswith("step 3: step returned four values, as environments of the old gym do")
    plain = Wrong(begins=np.zeros(2))
    told = sentence(lambda: sj.Learner(plain, agent, **bins).train(20), ValueError)
    assert told == "reset returned array([0., 0.]); it must return (obs, info)"


class WrongVector(SyncVectorEnv):
    """A vector of three environments with something wrong in one part of a step's result."""

    def __init__(self, place: int, thing: Any) -> None:
        super().__init__([Count] * 3)
        self.place, self.thing = place, thing

    def step(self, actions: Any) -> Any:
        parts = list(super().step(actions))
        if self.place == 4:
            parts[4]["duration"] = self.thing
        else:
            parts[self.place] = self.thing
        return tuple(parts)


@pytest.mark.parametrize(
    ("place", "thing", "part"),
    [
        (0, np.zeros((2, 2)), "the observations have the shape (2, 2); they must have a row for each of 3"),
        (1, np.ones(2), "the rewards have the shape (2,); there must be one for each of 3 environments"),
        (1, ["much"] * 3, "the rewards are ['much', 'much', 'much']; they must be numbers"),
        (1, np.array([1.0, np.inf, 1.0]), "the reward is inf; a reward must be finite"),
        (
            4,
            np.ones(2),
            'info["duration"] is array([1., 1.]); a vector of 3 environments must give an array of 3',
        ),
        (4, 1.0, 'info["duration"] is 1.0; a vector of 3 environments must give an array of 3 durations'),
        (
            4,
            np.array([1.0, -1.0, 1.0]),
            'info["duration"] is -1.0; a duration must be finite and not negative',
        ),
    ],
)
def test_what_a_vector_returns_must_fit_it(place: int, thing: Any, part: str) -> None:
    """Observations, rewards and durations whose count is not that of the environments are refused by shape."""
    told = sentence(lambda: sj.Learner(WrongVector(place, thing), Recorder).train(20), ValueError)
    assert told.startswith(f"step 0: {part}")


def test_the_learner_chooses_by_the_spaces() -> None:
    """The default is a table for discrete observations or bins, PPO for continuous observations or actions."""
    assert "ppo" in sj.Learner(Count(continuous=True)).chosen
    assert sj.Learner(Wear()).chosen.startswith("ppo, because")
    assert "deep_q" not in sj.Learner(Maze()).chosen
    assert sj.Learner(Wear(), bins=[[0.0, 0.5, np.inf]]).states.num_states == 2


def test_callbacks_evaluation_and_tensorboard(tmp_path: Path) -> None:
    """Callbacks, evaluation and TensorBoard work as with a table; evaluation does not modify the learner."""
    learner, calls = sj.Learner(Wear(), sj.deep_q, **SMALL), []
    learner.train(30, callbacks=[tensorboard(str(tmp_path)), lambda one: calls.append(one.totals.steps)])
    assert calls == [30]
    assert any(tmp_path.iterdir())
    before = learner.agent.state()
    found = learner.evaluate(duration=300.0)
    after = learner.agent.state()
    kept = [name for name in before if not name.startswith("network.units")]
    assert all(np.array_equal(before[name], after[name]) for name in kept)
    actions = [learner.act(np.array([w], dtype=np.float32)) for w in np.linspace(0.0, 1.0, 20)]
    assert found.duration > 0.0
    assert set(actions) <= {0, 1}
    assert learner.act([0.5], action_mask=[0, 1]) == 1


def test_a_diverged_network_is_warned_of() -> None:
    """Non-finite weights cause a warning."""
    learner = sj.Learner(Wear(), sj.deep_q, **SMALL)
    learner.train(5)
    learner.agent.learned.network.weights[0] = np.nan
    with pytest.warns(RuntimeWarning, match="no longer finite"):
        learner.train(2)


def test_the_verdict_on_an_agent_that_observes() -> None:
    """The verdict has the policy's earnings next to the exact gain and a user's baseline, and warns of a poor policy."""
    learner = sj.Learner(lambda: sj.envs.WorldEnv(sj.worlds.continuous.Wear(), compiled=False), Recorder)
    learner.train(50)
    best = sj.gain(sj.worlds.continuous.Wear())
    found = learner.verdict(duration=300.0, baseline=lambda obs: int(obs[0] > 0.36))
    assert (found.visited, found.thin, found.moved, found.gain) == (None, None, None, None)
    assert best is not None
    assert found.best_gain == best
    assert found.evaluation.rate < 0.0  # it never replaces the machine
    assert found.baseline is not None
    assert found.baseline.rate == pytest.approx(best, abs=0.15)
    assert found.baseline.high < 0.0
    said = " ".join(found.warnings)
    assert "the best policy has a gain of 0.583015" in said
    assert "the baseline earns more" in said
    with pytest.raises(TypeError, match="it must be a function of the observation"):
        learner.verdict(duration=10.0, baseline=[0, 1])


def test_a_network_is_named_on_the_command_line(tmp_path: Path) -> None:
    """An agent of observations is given by name with options like any other, and a wrong option gets one sentence."""
    place, small = Place("sojourn/Wear-v0", {"compiled": False}), {**QUICK["deep_q"], "hidden": [4]}
    learner = begun(tmp_path / "l", place, Beginning("deep-q", small))
    assert learner.chosen == "deep-q, as asked for"
    assert learner.train(30).steps == 30
    learner.save(tmp_path / "network.zip")
    policy, seen = sj.load_policy(tmp_path / "network.zip"), learner.env.observation_space.sample()
    assert policy.act(seen) == learner.act(seen)
    assert "did you mean 'hidden'" in sentence(
        lambda: begun(tmp_path / "l", place, Beginning("deep-q", {"hiden": 3})), ValueError
    )
