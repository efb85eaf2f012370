from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
from gymnasium.wrappers import TransformReward
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from smdpfier import Option, SMDPfier

import sojourn as sj
import sojourn.envs
from small_envs import CART_BINS, TAXI, Maze, alike, sentence
from sojourn.rules.values import same

pytestmark = pytest.mark.interpreted  # how agents are compiled is what other files are about


def two_state(limit: int | None = None, log_scale: float = 1e-3) -> Any:
    return gym.make("sojourn/TwoState-v0", log_scale=log_scale, max_episode_steps=limit)


def market(limit: int | None = None) -> Any:
    return gym.make(
        "sojourn/Market-v0", num_bars=500, state_size=3, duration="random", max_episode_steps=limit
    )


def options_of_a_cart() -> Any:
    return SMDPfier(gym.make("CartPole-v1"), options_provider=[Option([0, 1], "both"), Option([1], "right")])


def options_of_a_taxi() -> Any:
    moves = [Option([0], "south"), Option([1, 1], "north"), Option([2, 2, 2], "east"), Option([3], "west")]
    return SMDPfier(gym.make(TAXI), options_provider=moves)


ENVS: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "two states": (two_state, {}),
    "two states with a limit": (lambda: two_state(70), {}),
    "two states with two limits": (lambda: gym.wrappers.TimeLimit(two_state(70), 50), {}),
    "bare world": (lambda: sj.envs.WorldEnv(sj.worlds.TwoState(1e-3), compiled=False), {}),
    "market": (market, {}),
    "market with a limit": (lambda: market(60), {}),
    "taxi": (lambda: gym.make(TAXI), {"duration": 1}),
    "lake": (lambda: gym.make("FrozenLake-v1"), {"duration": 0.5}),
    "cart": (lambda: gym.make("CartPole-v1"), {"duration": 0.02, "bins": CART_BINS}),
    "options of a cart": (options_of_a_cart, {"duration": "smdp.duration", "bins": CART_BINS}),
    "options of a taxi": (options_of_a_taxi, {"duration": "smdp.duration"}),
    "maze": (lambda: Maze("state", ends=0.03, cuts=0.03), {}),
    "endless maze": (Maze, {}),
    "limited maze": (lambda: gym.wrappers.TimeLimit(Maze(), 40), {}),
    "wrapped two states": (lambda: TransformReward(two_state(70), lambda reward: 2.0 * float(reward)), {}),
    "wrapped market": (lambda: TransformReward(market(60), lambda reward: 2.0 * float(reward)), {}),
}


@pytest.mark.parametrize("name", list(ENVS))
@pytest.mark.parametrize("pieces", [(130, 700), (1, 1, 60, 70, 300)], ids=str)
def test_saved_and_loaded_training_is_training_at_once(
    name: str, pieces: tuple[int, ...], tmp_path: Path
) -> None:
    """Saving and loading between trainings changes no bit of the result."""
    make, options = ENVS[name]
    path = tmp_path / "learner"
    whole = sj.Learner(make(), sj.smart, seed=7, step_size=0.1, **options)
    whole.train(sum(pieces))
    parts = sj.Learner(make(), sj.smart, seed=7, step_size=0.1, **options)
    for number, piece in enumerate(pieces):
        if number:
            parts.save(path)
            parts = sj.Learner.load(path, make())
        parts.train(piece)
    assert alike(parts, whole)
    assert sum(pieces) == parts.totals.steps


@pytest.mark.parametrize("name", list(ENVS))
def test_a_loaded_learner_is_the_saved_one(name: str, tmp_path: Path) -> None:
    """A loaded learner has the same properties, and saving it again gives the same bytes."""
    make, options = ENVS[name]
    learner = sj.Learner(make(), sj.smart, seed=2, **options)
    learner.train(150)
    learner.save(tmp_path / "one")
    learner.save(tmp_path / "two")
    loaded = sj.Learner.load(tmp_path / "one", make())
    assert alike(loaded, learner)
    assert loaded._table.position is not None
    loaded.save(tmp_path / "three")
    assert loaded.states == learner.states
    assert (loaded.duration, loaded.seed) == (learner.duration, 2)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert (tmp_path / "one").read_bytes() == (tmp_path / "three").read_bytes()


@pytest.mark.parametrize("name", ["two states with a limit", "market with a limit", "lake", "cart", "maze"])
def test_training_can_continue_in_the_live_environment(name: str, tmp_path: Path) -> None:
    """Loading into the live environment, whatever its state, is equivalent to loading into a new one."""
    make, options = ENVS[name]
    env = make()
    learner = sj.Learner(env, sj.smart, seed=7, **options)
    learner.train(100)
    learner.save(tmp_path / "learner")
    learner.train(200)
    again = sj.Learner.load(tmp_path / "learner", env)
    again.train(200)
    assert alike(again, learner)


@pytest.mark.parametrize("name", ["two states with a limit", "market", "lake", "maze"])
def test_a_learner_can_be_saved_before_it_is_trained(name: str, tmp_path: Path) -> None:
    """A learner saved before training begins its first episode after loading, with the seed."""
    make, options = ENVS[name]
    learner = sj.Learner(make(), sj.smart, seed=7, **options)
    learner.save(tmp_path / "learner")
    loaded = sj.Learner.load(tmp_path / "learner", make())
    assert alike(loaded, learner)
    loaded.train(300)
    learner.train(300)
    assert alike(loaded, learner)


@pytest.mark.parametrize(
    ("constructor", "options"),
    [
        (sj.agents.differential_q, {"step_size": 0.1}),
        (sj.harmonic_r, {"exploration": sj.agents.Decay(0.9, 0.99, 0.05), "greedy": "draw"}),
        (sj.agents.smdp_q_learning, {"discount_rate": 0.1}),
        (sj.agents.random_agent, {}),
        (sj.agents.policy_agent([0, 1, 2, 1], num_actions=3), {}),
        (sj.r_learning, {"greedy": "after"}),
    ],
)
def test_all_agents_are_saved(constructor: Any, options: dict[str, Any], tmp_path: Path) -> None:
    """Every agent's state is restored: tables, rates, decaying exploration."""
    whole = sj.Learner(Maze(cuts=0.05), constructor, seed=3, **options)
    whole.train(200)
    whole.save(tmp_path / "learner")
    loaded = sj.Learner.load(tmp_path / "learner", Maze(cuts=0.05))
    assert alike(loaded, whole)
    whole.train(200)
    loaded.train(200)
    assert alike(loaded, whole)


@examples(max_examples=25)
@given(
    st.sampled_from(["two states with a limit", "market with a limit", "maze", "lake"]),
    st.lists(st.integers(1, 150), min_size=2, max_size=4),
)
def test_wherever_training_is_cut(name: str, pieces: list[int]) -> None:
    """Training can be cut at any step, including the end of an episode."""
    make, options = ENVS[name]
    whole = sj.Learner(make(), sj.smart, seed=7, **options)
    whole.train(sum(pieces))
    parts = sj.Learner(make(), sj.smart, seed=7, **options)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "learner"
        for piece in pieces:
            parts.train(piece)
            parts.save(path)
            parts = sj.Learner.load(path, make())
    assert alike(parts, whole)


def test_pending_rewards_are_saved(tmp_path: Path) -> None:
    """A reward earned in no time survives saving and counts with the next step."""

    def make() -> Maze:
        return Maze(special={t: {"duration": 0.0} for t in range(0, 1000, 3)})

    whole = sj.Learner(make(), sj.smart, seed=1, greedy="every")
    whole.train(103)
    assert whole.agent.carried != 0.0
    whole.save(tmp_path / "learner")
    loaded = sj.Learner.load(tmp_path / "learner", make())
    whole.train(100)
    loaded.train(100)
    assert alike(loaded, whole)


@pytest.mark.parametrize(
    "other",
    [
        lambda: two_state(70, log_scale=2e-3),
        lambda: two_state(None),
        lambda: TransformReward(two_state(70), lambda reward: 2.0 * float(reward)),
    ],
)
def test_another_environment_begins_a_new_episode(other: Any, tmp_path: Path) -> None:
    """In another environment, the agent, its stream and its totals are kept, and a new episode begins."""
    learner = sj.Learner(two_state(70), sj.smart, seed=7)
    learner.train(101)
    learner.save(tmp_path / "learner")
    env = other()
    loaded = sj.Learner.load(tmp_path / "learner", env)
    assert same(loaded.agent, learner.agent)
    assert same(loaded._table.table.rng, learner._table.table.rng)
    assert loaded.totals == learner.totals
    assert loaded._table.position is None
    loaded.train(1)
    assert env.unwrapped._now[-1] == 1  # one step after its reset
    assert loaded.train(200).steps == 302


@pytest.mark.parametrize(
    ("env", "words"),
    [
        (market, "trained with 2 states"),
        (lambda: gym.make(TAXI), "trained with 2 states"),
        (lambda: gym.make("CartPole-v1"), "trained with 2 states"),
        (lambda: "two states", "not a Gymnasium environment"),
        (lambda: gym.make_vec("CartPole-v1", 2), "a single one"),
    ],
)
def test_an_environment_of_another_shape_is_refused(env: Any, words: str, tmp_path: Path) -> None:
    """An environment with other states or actions is refused in one sentence, which does not blame the file."""
    sj.Learner(two_state(), sj.smart).save(tmp_path / "learner")
    said = sentence(lambda: sj.Learner.load(tmp_path / "learner", env()))
    assert words in said
    assert "damaged" not in said


@pytest.mark.parametrize("first", [(0, 1), (1, 0)])
def test_other_numbers_of_states_and_actions_are_refused(first: tuple[int, int], tmp_path: Path) -> None:
    """Spaces of equal size with another start are refused."""
    sj.Learner(Maze(), sj.smart).save(tmp_path / "learner")
    env = Maze(first_state=first[0], first_action=first[1])
    assert "it was trained with" in sentence(lambda: sj.Learner.load(tmp_path / "learner", env), ValueError)


def test_a_function_for_the_duration_is_given_again(tmp_path: Path) -> None:
    """A duration function is not saved, and loading says so; passing it again continues the training."""

    def twice(obs: Any, action: Any, info: Any) -> float:
        return 2.0 * float(info["duration"])

    path = tmp_path / "learner"
    learner = sj.Learner(Maze(), sj.smart, duration=twice)
    learner.train(50)
    learner.save(path)
    assert "pass it again" in sentence(lambda: sj.Learner.load(path, Maze()), ValueError)
    loaded = sj.Learner.load(path, Maze(), duration=twice)
    learner.train(50)
    loaded.train(50)
    assert alike(loaded, learner)


def test_a_learner_whose_training_failed_can_be_saved(tmp_path: Path) -> None:
    """After an error in the middle of a step, the episode is lost, but not what was learned."""
    path = tmp_path / "learner"
    learner = sj.Learner(Maze(special={30: {"duration": -1.0}}), sj.smart)
    with pytest.raises(ValueError, match="step 30"):
        learner.train(100)
    learner.save(path)
    loaded = sj.Learner.load(path, Maze())
    assert same(loaded.agent, learner.agent)
    assert loaded.train(100).steps == 130


def test_an_episode_too_long_to_repeat_begins_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The actions of an episode beyond the limit are not stored, neither in the file nor in memory."""
    monkeypatch.setattr("sojourn.envs.places.MOST_ACTIONS", 100)
    learner = sj.Learner(Maze(), sj.smart)
    learner.train(5000)
    learner.save(tmp_path / "learner")
    loaded = sj.Learner.load(tmp_path / "learner", Maze())
    assert same(loaded.agent, learner.agent)
    assert loaded._table.position is None
    assert loaded.train(10).steps == 5010
    assert len(learner._table.trace._actions) <= 100 + 1000  # it is checked between blocks


def test_a_callback_can_save(tmp_path: Path) -> None:
    """A file saved by a callback continues like the learner itself."""
    path = tmp_path / "learner"
    learner = sj.Learner(Maze(cuts=0.05), sj.smart)
    learner.train(1000, callbacks=lambda learner: learner.save(path))
    loaded = sj.Learner.load(path, Maze(cuts=0.05))
    learner.train(10)
    loaded.train(10)
    assert alike(loaded, learner)
