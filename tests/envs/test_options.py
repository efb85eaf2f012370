"""Decisions that last for several steps: options, and actions that are held."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import SyncVectorEnv

import sojourn as sj
from small_envs import TAXI, Maze, Scripted, sentence
from sojourn.envs import Holding, Options, epochs
from sojourn.models import Option, from_arrays, from_options, interrupted


def random_model(rng: np.random.Generator, states: int, actions: int) -> sj.SMDP:
    chances = rng.dirichlet(np.ones(states), size=(states, actions))
    return from_arrays(chances, rng.normal(size=(states, actions)), rng.uniform(0.5, 2.0, (states, actions)))


def world_of(model: Any, compiled: bool = True) -> sj.envs.WorldEnv:
    return sj.envs.WorldEnv(sj.worlds.Tabular(model), compiled=compiled)


def frozen(policy: list[int]) -> Any:
    """A saved policy, as `load_policy` returns one."""
    values = np.eye(2)[np.array(policy)]
    states = sj.envs.states.tabulate(gym.spaces.Discrete(len(policy)))
    return sj.learner.LearnedPolicy(states, 0, values, np.ones_like(values))


def some_options(rng: np.random.Generator, states: int) -> list[Option]:
    """One of each kind: drawn, saved, a function, limited in its steps, and one that does not begin everywhere."""
    drawn = rng.uniform(size=(states, 2))
    return [
        Option(drawn / drawn.sum(axis=1, keepdims=True), rng.uniform(0.3, 1.0, states), name="drawn"),
        Option(frozen([0, 1, 1, 0]), 0.5, name="saved"),
        Option(lambda state: state % 2, lambda state: state == 2, name="a function"),
        Option(1, 0.1, name="for a while", steps=3),
        Option([0, 1, 0, 0], 0.4, initiation=np.arange(states) < 3, name="not from the last"),
        Option(0, steps=2, name="twice"),
    ]


# --- Copies -----------------------------------------------------------------------------


@pytest.mark.interpreted
@pytest.mark.parametrize("kind", ["options", "holding"])
def test_a_learner_is_evaluated_in_a_copy_of_its_own(kind: str) -> None:
    """Of an environment with episodes, an evaluation is that in a new one, and training goes on as if there had been none."""

    def make() -> Any:
        lake = gym.make("FrozenLake-v1", is_slippery=True)
        if kind == "holding":
            return Holding(lake, [1, 2])
        return Options(lake, [Option(np.full((16, 4), 0.25), steps=2)], primitives=True)

    plain, seen, other = (
        sj.Learner(source, "smart", exploration=0.5, seed=0) for source in (make(), make(), make)
    )
    for learner in (plain, seen, other):
        learner.train(1_000)
    moves = [0, 3, 3, 3, 0, 0, 0, 0, 3, 1, 0, 0, 0, 2, 1, 0]  # the best single steps
    good = (
        [2 * move for move in moves] if kind == "holding" else [4, *moves[1:]]
    )  # or drawn ones at the start
    found = seen.evaluate(duration=3_000, policy=good)
    assert found.rate > 0.005
    assert found == other.evaluate(duration=3_000, policy=good)
    assert plain.train(500) == seen.train(500) == other.train(500)


# --- Options ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_what_is_seen_of_options_is_their_model(seed: int) -> None:
    """Mean reward, mean duration and law of the end of each option are those of `from_options`, within five errors."""
    rng = np.random.default_rng(seed)
    model = random_model(rng, 4, 2)
    options = some_options(rng, 4)
    whole, env = from_options(model, options), Options(world_of(model), options)
    state, info = env.reset(seed=seed)
    seen: dict[tuple[int, int], list[tuple[float, float, int]]] = {}
    for _ in range(20_000):
        mask = info.get("action_mask", np.ones(len(options), dtype=np.int8))
        option = int(rng.choice(np.flatnonzero(mask)))
        after, reward, _, _, info = env.step(option)
        seen.setdefault((state, option), []).append((reward, info["duration"], after))
        state = after
    assert len(seen) == whole.num_pairs
    for (state, option), rows in seen.items():
        pair = whole.pair(state, option)
        found = np.array(rows)
        for column, mean in ((0, whole.reward[pair]), (1, whole.duration[pair])):
            error = found[:, column].std() / math.sqrt(len(rows))
            assert abs(found[:, column].mean() - mean) <= 5.0 * error + 1e-9
        law = np.zeros(4)
        row = slice(whole.row_offsets[pair], whole.row_offsets[pair + 1])
        np.add.at(law, whole.successor[row], whole.probability[row])
        shares = np.bincount(found[:, 2].astype(int), minlength=4) / len(rows)
        assert (abs(shares - law) <= 5.0 * np.sqrt(law * (1.0 - law) / len(rows)) + 1e-12).all()


def test_a_learner_comes_to_earn_the_gain_of_the_model_of_its_options() -> None:
    """In four rooms with options only, Differential Q earns what `solve` says of `from_options`, up to its exploration."""
    steps = sj.problems.four_rooms(with_options=False)
    options = sj.problems.hallways()
    best = sj.solve(from_options(steps, options))
    env = Options(world_of(steps), options)
    learner = sj.Learner(env, sj.agents.differential_q, step_size=0.1, rate_step_size=0.003, exploration=0.1)
    learner.train(duration=60_000.0)
    whole = from_options(steps, options)
    values = np.where(whole.pair_table() >= 0, learner.q, -np.inf)
    found = sj.evaluate(whole, values.argmax(axis=1))
    assert found.gain == pytest.approx(best.gain, rel=0.03)
    assert best.gain == pytest.approx(sj.solve(sj.problems.four_rooms(with_primitives=False)).gain, rel=1e-9)


def test_options_are_interrupted_as_in_the_model() -> None:
    """With values, an option ends where another is worth more: the frequencies are those of `interrupted` options."""
    rng = np.random.default_rng(5)
    model = random_model(rng, 5, 2)
    options = [Option([0, 1, 0, 1, 0], 0.2), Option([1, 1, 0, 0, 1], 0.1), Option([1, 0, 0, 1, 1], 0.3)]
    values = rng.normal(size=(5, 3))
    whole = from_options(model, interrupted(model, options, values))
    for given in (values, lambda state: values[state]):
        env = Options(world_of(model), options, interrupt=given)
        state, _ = env.reset(seed=1)
        rows = []
        for step in range(6000):
            after, _, _, _, info = env.step(step % 3)
            rows.append((state, step % 3, info["duration"]))
            state = after
        table = np.array(rows)
        for pair in range(whole.num_pairs):
            state, option = int(whole.state_of_pair()[pair]), int(whole.action[pair])
            durations = table[(table[:, 0] == state) & (table[:, 1] == option), 2]
            error = durations.std() / math.sqrt(len(durations))
            assert abs(durations.mean() - whole.duration[pair]) <= 5.0 * error + 1e-9


@pytest.mark.parametrize("seed", range(20))
def test_interruption_never_earns_less(seed: int) -> None:
    """With the values of a policy over options, interrupting earns at least as much per unit time."""
    rng = np.random.default_rng(seed)
    model = random_model(rng, 6, 2)
    options = [Option(rng.integers(2, size=6), rng.uniform(0.1, 0.6)) for _ in range(3)]
    whole = from_options(model, options)
    policy = rng.integers(3, size=6)
    found = sj.evaluate(whole, policy)
    ends = np.add.reduceat(whole.probability * found.bias[whole.successor], whole.row_offsets[:-1])
    values = (whole.reward - found.gain * whole.duration + ends).reshape(6, 3)
    better = from_options(model, interrupted(model, options, values))
    assert sj.evaluate(better, values.argmax(axis=1)).gain >= found.gain - 1e-9


def test_actions_are_options_of_one_step() -> None:
    """With primitives, every action comes first and takes one step; a policy of these is one of the environment."""
    model = random_model(np.random.default_rng(0), 4, 2)
    env, plain = Options(world_of(model), [Option(1, steps=2)], primitives=True), world_of(model)
    assert env.action_space == gym.spaces.Discrete(3)
    env.reset(seed=3)
    plain.reset(seed=3)
    for step in range(20):
        one, other = env.step(step % 2), plain.step(step % 2)
        assert one[:4] == other[:4]
        assert one[4]["duration"] == other[4]["duration"]
        assert one[4]["steps"] == 1


def test_a_primitive_can_begin_where_the_environment_allows_its_action() -> None:
    """The environment's own mask decides on its actions, and the mask of options stands in its place."""
    env = Options(gym.make(TAXI), [Option(4, steps=1)], primitives=True)
    observation, info = env.reset(seed=0)
    inside: Any = env.unwrapped
    mask = inside.action_mask(observation)
    assert info["action_mask"].tolist() == [*mask.tolist(), mask[4]]
    env.action_space.seed(0)
    for _ in range(50):
        before = info["action_mask"]
        action = int(env.action_space.sample())
        assert before[action] == 1
        _, _, terminated, _, info = env.step(action)
        assert not terminated


@pytest.mark.evidence
def test_learners_are_policies() -> None:
    """An option may follow a learner: one with a network anywhere, one with a table where it has been."""

    def make() -> Any:
        return gym.make("CartPole-v1")

    network = sj.Learner(make(), "ppo", duration=1.0, seed=0, hidden=(8,))
    network.train(200)
    env = Options(make(), [Option(network, steps=4), Option(0, steps=1)])
    observation, info = env.reset(seed=1)
    assert "action_mask" not in info
    plain = make()
    plain.reset(seed=1)
    for _ in range(int(env.step(0)[4]["steps"])):
        observation, *_ = plain.step(network.act(observation))
    np.testing.assert_array_equal(env.step(1)[0], plain.step(0)[0])
    table = sj.Learner(Maze(), "smart", seed=0)
    _, info = Options(Maze(), [Option(table, steps=1)], primitives=True).reset(seed=0)
    assert info["action_mask"].tolist() == [1, 1, 1, 0]


def test_anything_that_acts_is_a_policy() -> None:
    """An object of one's own needs only `act(observation)`."""

    class Right:
        def act(self, seen: Any) -> int:
            return 1

    env = Options(gym.make("CartPole-v1"), [Option(Right(), steps=3)])
    env.reset(seed=0)
    assert env.step(0)[4]["steps"] == 3


def test_an_option_that_cannot_begin_changes_nothing() -> None:
    """As in a world: no time passes, the environment warns once, and a learner would refuse the step."""
    env = Options(Maze(), [Option(0, steps=2), Option(1, steps=2, initiation=lambda state: False)])
    state, info = env.reset(seed=0)
    assert info["action_mask"].tolist() == [1, 0]
    with pytest.warns(RuntimeWarning, match="Options was given the action 1"):
        after, reward, _, _, info = env.step(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env.step(1)
    assert (after, reward, info["duration"], info["forbidden_action"]) == (state, 0.0, 0.0, 1)


def test_the_end_of_an_episode_ends_an_option() -> None:
    """A pole that falls, or a time limit inside, ends the option with what has been earned until then."""
    env = Options(gym.make("CartPole-v1"), [Option(1, steps=100), Option(lambda seen: int(seen[2] > 0.0))])
    env.reset(seed=0)
    _, reward, terminated, truncated, info = env.step(0)
    assert (terminated, truncated) == (True, False)
    assert reward == info["duration"] == info["steps"] < 15
    env.reset(seed=0)
    _, reward, *_ = env.step(1)
    assert reward > 20


def test_durations_are_those_inside() -> None:
    """They are sums of what info says, of a key of one's own, of 1 a step where it says nothing; a change is an error."""
    steps = (1.0, {"duration": 0.25}), (2.0, {"duration": 0.5})
    assert _taken(Options(Scripted(*steps), [Option(0, steps=2)])) == (3.0, 0.75)
    assert _taken(Options(Scripted((1.0, {}), (2.0, {})), [Option(0, steps=2)])) == (3.0, 2.0)
    assert _taken(Options(Scripted(*steps), [Option(0, steps=2)], duration=4.0)) == (3.0, 8.0)
    assert _taken(Holding(Scripted(*steps), [2], price=0.5)) == (2.5, 0.75)
    with pytest.raises(ValueError, match=r'info\["duration"\] is there after some steps only; say how long'):
        _taken(Options(Scripted((1.0, {}), (1.0, {"duration": 1.0})), [Option(0, steps=2)]))


def _taken(env: Any) -> tuple[float, float]:
    env.reset(seed=0)
    _, reward, _, _, info = env.step(0)
    return reward, info["duration"]


ENVIRONMENTS: dict[str, Callable[[], Any]] = {
    "options of a world": lambda: Options(
        world_of(random_model(np.random.default_rng(1), 4, 2), compiled=False),
        some_options(np.random.default_rng(1), 4),
    ),
    "options of a cart": lambda: Options(
        gym.make("CartPole-v1"), [Option(0, 0.3), Option(1, steps=4)], primitives=True
    ),
    "options of a lake": lambda: Options(gym.make("FrozenLake-v1"), [Option(2, 0.5)], primitives=True),
    "options of a pendulum": lambda: Options(
        gym.make("Pendulum-v1"), [Option(np.zeros(1, np.float32), steps=5)]
    ),
    "options of a taxi": lambda: Options(gym.make(TAXI), [Option(0, steps=1)], primitives=True),
    "a cart that is held": lambda: Holding(gym.make("CartPole-v1"), [1, 3], price=0.1),
    "a pendulum that is held": lambda: Holding(gym.make("Pendulum-v1"), range(1, 6)),
    "a taxi that is held": lambda: Holding(gym.make(TAXI), [1, 2]),
}


@pytest.mark.parametrize("name", list(ENVIRONMENTS))
@pytest.mark.filterwarnings("ignore")
def test_checkers_pass(name: str) -> None:
    """Gymnasium's own checker and ours find nothing wrong."""
    check_env(ENVIRONMENTS[name](), skip_render_check=True)
    report = sj.check_smdp_env(ENVIRONMENTS[name](), steps=200, episodic=True)
    assert report.shortest > 0.0


@pytest.mark.parametrize("agent", ["smart", "intra_option"])
def test_training_goes_on_from_a_file(agent: str, tmp_path: Path) -> None:
    """Options whose ends are drawn, around a world: saved and loaded training is training at once, bit for bit."""
    model = random_model(np.random.default_rng(2), 4, 2)
    chosen = [Option([0, 1, 1, 0], 0.3), Option(1, 0.6), Option(0, 0.2, [True, False, True, True])]

    def make() -> Any:
        return gym.wrappers.TimeLimit(Options(world_of(model), chosen), 25)

    whole, parts = sj.Learner(make(), agent, seed=4), sj.Learner(make(), agent, seed=4)
    whole.train(duration=300.0)
    parts.train(duration=120.0)
    parts.save(tmp_path / "learner")
    parts = sj.Learner.load(tmp_path / "learner", make())
    parts.train(duration=300.0 - parts.totals.duration)
    assert parts.totals == whole.totals
    np.testing.assert_array_equal(parts.q, whole.q)


def test_vectors_of_options_are_learned_in() -> None:
    """Several environments of options at once, with masks, by an agent that observes."""
    chosen = [
        Option(0, steps=2),
        Option(1, steps=2),
        Option(0, initiation=lambda seen: seen[0] < 0.0, steps=1),
    ]

    def make() -> Any:
        return Options(gym.make("CartPole-v1"), chosen)

    learner = sj.Learner(SyncVectorEnv([make, make]), "deep_q", seed=0, hidden=(8,))
    totals = learner.train(200)
    assert totals.duration > 200.0


def test_an_option_that_never_ends_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a million steps in one decision, or 10,000 that take no time, the environment says so."""
    monkeypatch.setattr(epochs, "MOST_STEPS", 1000)
    with pytest.raises(ValueError, match=r"^1,000 steps in a row did not end it, in one decision"):
        _step(Options(Maze(), [Option(0)]))
    monkeypatch.setattr(epochs, "MOST_AT_ONCE", 10)
    with pytest.raises(
        ValueError, match=r"^10 steps in a row took no time, in one decision; let it end earlier"
    ):
        _step(Options(Scripted(*[(1.0, {"duration": 0.0})] * 20), [Option(0)]))


# --- Holding ------------------------------------------------------------------------------


def test_what_is_seen_of_holding_is_its_model() -> None:
    """An action held for a number of steps, at a price, is an option that ends then: the frequencies are those of the model."""
    model = random_model(np.random.default_rng(7), 4, 2)
    lengths = [1, 3, 4]
    whole = from_options(
        model, [Option(action, steps=length) for action in range(2) for length in lengths], price=0.25
    )
    env = Holding(world_of(model), lengths, price=0.25)
    state, _ = env.reset(seed=2)
    rows = []
    for step in range(12_000):
        after, reward, _, _, info = env.step(step % 6)
        assert info["steps"] == lengths[step % 3]
        rows.append((state, step % 6, reward, info["duration"], after))
        state = after
    table = np.array(rows)
    for pair in range(whole.num_pairs):
        state, action = int(whole.state_of_pair()[pair]), int(whole.action[pair])
        found = table[(table[:, 0] == state) & (table[:, 1] == action)]
        for column, mean in ((2, whole.reward[pair]), (3, whole.duration[pair])):
            error = found[:, column].std() / math.sqrt(len(found))
            assert abs(found[:, column].mean() - mean) <= 5.0 * error + 1e-9


def test_an_action_is_held_until_a_condition() -> None:
    """A condition ends it early, and with an infinite length nothing else does; the end of an episode ends everything."""
    env = Holding(gym.make("CartPole-v1"), [2, math.inf], until=lambda seen: seen[3] < -0.5)
    env.reset(seed=0)
    observation, _, terminated, _, info = env.step(3)  # to the right until the pole turns left fast
    assert not terminated
    assert observation[3] < -0.5
    assert info["steps"] == 2
    assert env.meaning(2) == (1, 2)
    *_, info = env.step(2)
    assert info["steps"] == 1


def test_an_action_is_held_no_longer_than_it_is_allowed() -> None:
    """Where the environment's mask forbids the action, the agent decides again, and cannot choose it."""
    env = Holding(gym.make(TAXI), [1, 20])
    _, info = env.reset(seed=1)
    assert info["action_mask"].shape == (12,)
    south = 1
    assert info["action_mask"][south] == 1
    *_, info = env.step(south)
    assert 1 <= info["steps"] <= 4
    assert info["action_mask"][:2].tolist() == [0, 0]


def test_a_continuous_action_has_one_more_coordinate() -> None:
    """It is cut into equal parts, one for each length; what is beyond the bounds belongs to the outer ones."""
    env = Holding(gym.make("Pendulum-v1"), [1, 2, 8, 20])
    assert env.action_space.shape == (2,)
    lengths = [env.meaning(np.array([0.5, at]))[1] for at in (-3.0, -1.0, -0.6, -0.4, 0.1, 0.6, 1.0, 5.0)]
    assert lengths == [1, 1, 1, 2, 8, 20, 20, 20]
    plain = gym.make("Pendulum-v1")
    env.reset(seed=5)
    plain.reset(seed=5)
    _, reward, *_ = env.step(np.array([0.5, 0.1]))
    assert reward == sum(float(plain.step(np.array([0.5], np.float32))[1]) for _ in range(8))
    learner = sj.Learner(Holding(gym.make("Pendulum-v1"), [1, 2]), "ppo", seed=0, hidden=(8,))
    assert learner.train(100).duration > 100.0


# --- What is refused ----------------------------------------------------------------------


def _step(env: Any, action: Any = 0) -> Any:
    env.reset(seed=0)
    return env.step(action)


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        (lambda: Options(Maze(), []), "there are no options; give at least one, or primitives=True"),
        (lambda: Options(Maze(), [3]), "options of Options is [3]; it must be a list, each entry an Option"),  # type: ignore[list-item]
        (lambda: Options(Maze(), [Option(7, name="up")]), "the policy of option 0 (up) is 7; it must be one of the actions, Discrete(3), a table of them, or a function of the observation"),
        (lambda: Options(Maze(), [Option([0, 1])]), "the policy of option 0 has 2 rows; it must have one for each of 4 states"),
        (lambda: Options(Maze(), [Option([0, 1, 2, 3])]), "the policy of option 0 has the action 3; the actions are 0 to 2, and -1 for none"),
        (lambda: Options(Maze(), [Option(np.full((4, 3), 0.5))]), "the policy of option 0 must have a probability for each of 3 actions, and rows that sum to 1, or 0 for none"),
        (lambda: Options(Maze(), [Option(0, 2.0)]), "the termination of option 0 is 2.0; it must be at least 0 and at most 1"),
        (lambda: Options(Maze(), [Option(0, steps=0)]), "steps of option 0 is 0; it must be at least 1"),
        (lambda: Options(gym.make("Pendulum-v1"), [], primitives=True), "the action space is Box(-2.0, 2.0, (1,), float32); only Discrete actions can be options of one step, so leave primitives out"),
        (lambda: Options(gym.make("CartPole-v1"), [Option([0, 1])]), "the policy of option 0 is a table, but the observations are of Box([-4.8               -inf -0.41887903        -inf], [4.8  ...; and cannot be listed"),
        (lambda: _step(Options(Maze(), [Option(lambda state: 9)])), "the policy of option 0 gives 9 at the observation 3; the actions are Discrete(3)"),
        (lambda: _step(Options(Maze(), [Option([0, 0, 0, -1])])), "no option can begin at the observation 3; give one that can, or primitives=True"),
        (lambda: _step(Options(Maze(), [Option(0, steps=1)], interrupt=np.zeros((4, 2)))), None),
        (lambda: _step(Options(Maze(), [Option(0, steps=2)], interrupt=np.zeros((4, 2)))), "interrupt gives array([0., 0.]) at the observation"),
        (lambda: _step(Options(Maze(), [Option(0)]), 1), "action is 1; it must be one of 0 to 0"),
        (lambda: Options(Maze(), [Option(0)]).step(0), "the environment has not begun an episode; call reset() before step()"),
        (lambda: Holding(Maze(), []), "there are no lengths; give at least one number of steps"),
        (lambda: Holding(Maze(), [1, 1]), "lengths is [1, 1]; each number of steps must be there once"),
        (lambda: Holding(Maze(), [1.5]), "each of the lengths is 1.5; it must be a whole number"),
        (lambda: Holding(Maze(), [math.inf]), "one of the lengths is infinite; say until when an action is held, with until=..."),
        (lambda: Holding(Maze(), [1], price=-1.0), "price is -1.0; it must be finite and at least 0"),
        (lambda: _step(Holding(Maze(), [2], until=lambda state: state + 7)), "until is"),
        (lambda: Holding(Maze(), [1]).step(0), "the environment has not begun an episode; call reset() before step()"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_sentence(wrong: Any, expected: str | None) -> None:
    """Options and lengths that make no sense are refused, with their place."""
    if expected is None:
        wrong()
        return
    assert expected.partition(" Box([")[0] in sentence(wrong, (ValueError, TypeError, RuntimeError))
