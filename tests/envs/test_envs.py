from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import load_env_creator
from gymnasium.utils.env_checker import check_env

import sojourn as sj
import sojourn.envs
from sojourn.envs.registered import TwoStateEnv
from sojourn.rules.random import Stream, streams, uniform
from sojourn.rules.values import same
from sojourn.runs.loop import Run


class Law(NamedTuple):
    mean: float
    drawn: int


class Ring(NamedTuple):
    """A world with all that a world may have: an array, a value inside, numbers that change."""

    rewards: Any
    law: Law
    noisy: bool = True
    last: float = 0.0

    @property
    def num_states(self) -> int:
        return len(self.rewards)

    @property
    def num_actions(self) -> int:
        return 3


@sj.start.register
def start_ring(world: Ring, rng: Stream) -> tuple[Ring, int]:
    return Ring(world.rewards, world.law, world.noisy, 0.0), sj.random.integer(rng, len(world.rewards))


@sj.step.register
def step_ring(world: Ring, state: int, action: int, rng: Stream) -> tuple[Ring, int, float, float]:
    u = uniform(rng)
    law = Law(world.law.mean, world.law.drawn + 1)
    reward = world.rewards[state] + world.last + action
    after = Ring(world.rewards, law, not world.noisy, u)
    return after, (state + action) % len(world.rewards), reward, law.mean + u


class Faulty(NamedTuple):
    """Breaks a rule at its third step."""

    fault: int
    t: int = 0
    num_states: int = 2
    num_actions: int = 2


@sj.start.register
def start_faulty(world: Faulty, rng: Stream) -> tuple[Faulty, int]:
    return Faulty(world.fault, 0, world.num_states, world.num_actions), 0 if world.fault != 3 else 7


@sj.step.register
def step_faulty(world: Faulty, state: int, action: int, rng: Stream) -> tuple[Faulty, int, float, float]:
    bad = world.t == 2
    after = Faulty(world.fault, world.t + 1, world.num_states, world.num_actions)
    next_state = 5 if bad and world.fault == 0 else 1
    reward = np.inf if bad and world.fault == 1 else 1.0
    return after, next_state, reward, -1.0 if bad and world.fault == 2 else 1.0


RING = Ring(np.array([1.0, -2.0, 0.5]), Law(0.25, 0))
WORLDS = [sj.worlds.TwoState(log_scale=1e-3), RING]


def driven(env: gym.Env[Any, Any], agent: Any, steps: int, episodes: int, seed: int) -> tuple[Any, list[Any]]:
    """What `run` does, by hand, one Gymnasium step after the other."""
    rng, seen = streams(seed, 2)[1], []
    for episode in range(episodes):
        state, _ = env.reset(seed=seed if episode == 0 else None)
        for _ in range(steps):
            action, explored = sj.draw(agent, state, rng)
            next_state, reward, terminated, truncated, info = env.step(action)
            assert (terminated, truncated) == (False, False)
            agent = sj.learn(agent, state, action, float(reward), info["duration"], next_state, explored)
            seen.append((reward, info["duration"], info["clock"]))
            state = next_state
    return agent, seen


def expected(world: Any, agent: Any, steps: int, episodes: int, seed: int) -> Run:
    return sj.run(world, agent, steps, episodes, seed=seed, record=np.arange(1, steps * episodes + 1))


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("world", WORLDS, ids=lambda world: type(world).__name__)
def test_an_env_is_the_world_of_the_compiled_loop(world: Any, compiled: bool) -> None:
    """An agent driven through Gymnasium ends as the agent of `run` does, bit for bit."""
    agent = sj.harmonic_r(world.num_states, world.num_actions, step_size=0.1, rate_step_size=0.1)
    run = expected(world, agent, 150, 3, seed=11)
    by_hand, seen = driven(sj.envs.WorldEnv(world, compiled=compiled), agent, 150, 3, seed=11)
    assert same(by_hand, run.agent)
    rewards, durations, _ = zip(*seen, strict=True)
    assert same(np.cumsum(rewards), run.curve.reward)
    assert same(np.cumsum(durations), run.curve.clock)


def test_the_clock_is_the_sum_of_the_durations_since_the_reset() -> None:
    """Each info has the duration of each step and the clock, which every reset sets to 0."""
    env = sj.envs.WorldEnv(RING)
    for seed in (0, None):
        assert env.reset(seed=seed)[1] == {"clock": 0.0}
        clock = 0.0
        for step in range(20):
            *_, info = env.step(step % 3)
            clock += info["duration"]
            assert info == {"duration": info["duration"], "clock": clock}


def test_a_reset_without_a_seed_goes_on() -> None:
    """Seeds repeat, resets without one do not, and an env that never had a seed is random."""
    env, other = sj.envs.WorldEnv(RING), sj.envs.WorldEnv(RING)

    def episode(env: gym.Env[Any, Any], seed: int | None) -> list[Any]:
        return [env.reset(seed=seed), *(env.step(1) for _ in range(5))]

    first, second = episode(env, 5), episode(env, None)
    assert first != second
    assert [episode(env, 5), episode(env, None)] == [first, second]
    assert episode(other, None) != episode(sj.envs.WorldEnv(RING), None)


def test_the_random_seed_can_be_read() -> None:
    """A seed that Gymnasium drew reproduces what was seen; a generator of one's own is used."""
    env = sj.envs.WorldEnv(RING)
    first = [env.reset(), env.step(1)]
    again = sj.envs.WorldEnv(RING)
    assert [again.reset(seed=env.np_random_seed), again.step(1)] == first
    twins = [sj.envs.WorldEnv(RING) for _ in range(2)]
    for twin in twins:
        twin.np_random = np.random.default_rng(3)
    assert [twins[0].reset(), twins[0].step(1)] == [twins[1].reset(), twins[1].step(1)]


@pytest.mark.filterwarnings(
    "ignore:.*A Box observation space (min|max)imum value is"
)  # for it may be infinite
@pytest.mark.filterwarnings("ignore:.*For Box action spaces, we recommend")  # a force and a wait have units
@pytest.mark.filterwarnings("ignore:.*does not allow. nothing happened")  # the checker may take any action
@pytest.mark.parametrize("env_id", list(sojourn.envs.ENVIRONMENTS))
def test_both_checkers_pass(env_id: str) -> None:
    """Gymnasium's checker finds nothing to warn of but bounds that the problems have, nor does Sojourn's."""
    check_env(gym.make(env_id).unwrapped)
    assert sj.check_smdp_env(gym.make(env_id), steps=200).steps == 200


LACKING = [  # where many states lack an action
    f"sojourn/{name}-v0"
    for name in (
        "WhackAMole",
        "TijmsMaintenance",
        "FourRooms",
        "TwoChoice",
        "Replacement",
        "HighTimeVariance",
    )
]


@pytest.mark.filterwarnings("ignore:.*does not allow. nothing happened")
@pytest.mark.parametrize("env_id", list(sojourn.envs.ENVIRONMENTS))
def test_random_actions_in_a_vector(env_id: str) -> None:
    """A vector draws from its own space, whatever the states allow; what is not allowed does nothing and takes no time."""
    envs = gym.make_vec(env_id, num_envs=2, vectorization_mode="sync")
    _, infos = envs.reset(seed=1)
    envs.action_space.seed(1)
    clock, lacked = np.zeros(2), 0
    for _ in range(120):
        actions = envs.action_space.sample()
        masks = infos.get("action_mask")
        _, rewards, _, _, infos = envs.step(actions)
        clock += infos["duration"]
        assert infos["clock"] == pytest.approx(clock)
        told = infos.get("_forbidden_action", np.zeros(2, dtype=bool))
        allowed = [True, True] if masks is None else [masks[k][actions[k]] for k in range(2)]
        assert told.tolist() == [not each for each in allowed]
        assert not rewards[told].any()
        assert not infos["duration"][told].any()
        lacked += told.sum()
    assert lacked > 0 or env_id not in LACKING


# In a process of its own, which may fork: one that has used Polars must not.
ASYNC = """
import sys, warnings
import gymnasium as gym, numpy as np
import sojourn.envs
warnings.simplefilter("ignore")
for env_id in sojourn.envs.ENVIRONMENTS:
    envs = gym.make_vec(env_id, num_envs=2, vectorization_mode="async")
    envs.reset(seed=1)
    envs.action_space.seed(1)
    for _ in range(100):
        infos = envs.step(envs.action_space.sample())[4]
    assert infos["duration"].shape == (2,)
    envs.close()
    print(env_id)
"""


@pytest.mark.evidence
def test_random_actions_in_processes() -> None:
    """The same in a vector whose environments run in processes of their own, for every id."""
    done = subprocess.run(
        [sys.executable, "-c", ASYNC], capture_output=True, text=True, check=False, timeout=300
    )
    assert (done.returncode, done.stdout.split()) == (0, list(sojourn.envs.ENVIRONMENTS)), done.stderr


def test_make_takes_the_options_of_the_world() -> None:
    """Every option of TwoState is an argument, with TwoState's default."""
    options: dict[str, Any] = {
        "slope": 1.0,
        "offset": 9.0,
        "duration_mean": 2.0,
        "duration_spread": 0.2,
        "duration_floor": 0.1,
    }
    env: Any = gym.make("sojourn/TwoState-v0", log_scale=0.01, **options).unwrapped
    assert env.world == sj.worlds.TwoState(log_scale=0.01, **options)
    assert TwoStateEnv(0.01).world == sj.worlds.TwoState(0.01)
    arguments = set(inspect.signature(TwoStateEnv).parameters) - {"compiled"}
    assert arguments == set(inspect.signature(sj.worlds.TwoState).parameters) - {"noise_key", "t", "chosen"}
    with pytest.raises(ValueError, match=r"TwoState.log_scale is nan"):
        gym.make("sojourn/TwoState-v0", log_scale=float("nan"))


def test_truncation_is_for_wrappers() -> None:
    """With a time limit, and only with one, an episode is truncated."""
    env = gym.make("sojourn/TwoState-v0", max_episode_steps=3)
    env.reset(seed=0)
    assert [env.step(0)[2:4] for _ in range(3)] == [(False, False), (False, False), (False, True)]


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_make_vec(mode: Any) -> None:
    """Vectors of environments, in one process or several, have durations and clocks."""
    envs = gym.make_vec("sojourn/TwoState-v0", num_envs=2, vectorization_mode=mode, log_scale=0.01)
    envs.reset(seed=4)
    observations, rewards, _, _, infos = envs.step(np.array([1, 1]))
    assert observations.tolist() == [1, 1]
    assert rewards.tolist() == [10.0, 10.0]
    assert infos["duration"].tolist() == infos["clock"].tolist() == [11.0, 11.0]
    envs.close()


@pytest.mark.parametrize("copier", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
@pytest.mark.parametrize("compiled", [True, False])
def test_a_copy_goes_on_where_the_original_was(copier: Any, compiled: bool) -> None:
    """Copied and pickled environments take the same next steps, and none changes the other."""
    env = sj.envs.WorldEnv(RING, compiled=compiled)
    with pytest.raises(RuntimeError, match=r"call reset\(\) before step"):
        copier(env).step(0)
    env.reset(seed=2)
    env.step(1)
    copied = copier(env)
    ahead = [copied.step(2) for _ in range(5)]
    assert [env.step(2) for _ in range(5)] == ahead
    assert not copied.world.rewards.flags.writeable


@pytest.mark.parametrize(
    ("action", "kind", "sentence"),
    [
        (2, ValueError, "action is 2; it must be one of 0 to 1"),
        (-1, ValueError, "action is -1; it must be at least 0"),
        (0.5, TypeError, "action is 0.5; it must be a whole number"),
        (None, TypeError, "action is None; it must be a whole number"),
    ],
)
def test_a_wrong_action_gets_one_sentence(action: Any, kind: type[Exception], sentence: str) -> None:
    """An action that there is not is refused, and changes nothing."""
    env = TwoStateEnv()
    env.reset(seed=0)
    with pytest.raises(kind) as error:
        env.step(action)
    assert str(error.value) == sentence
    assert env.step(np.int64(1))[:2] == (1, 10.0)


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (0, "step of Faulty at step 2 (state 1, action 1) returned the state 5; states are 0 to 1"),
        (1, "step of Faulty at step 2 (state 1, action 1) returned the reward inf; a reward must be finite"),
        (
            2,
            "step of Faulty at step 2 (state 1, action 1) returned the duration -1.0; "
            "a duration must be finite and at least 0",
        ),
    ],
)
def test_a_world_that_breaks_the_rules_is_named(fault: int, sentence: str) -> None:
    """An env says what the compiled loop says of a faulty world, and then wants a reset."""
    env = sj.envs.WorldEnv(Faulty(fault))
    env.reset(seed=0)
    env.step(1)
    env.step(1)
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the whole sentence is compared
        env.step(1)
    assert str(error.value) == sentence
    with pytest.raises(RuntimeError, match="reset"):
        env.step(1)
    env.reset()
    env.step(1)


def test_a_wrong_first_state_is_named() -> None:
    """A world must start in one of its states."""
    with pytest.raises(ValueError, match="start of Faulty returned the state 7 at step 0; states are 0 to 1"):
        sj.envs.WorldEnv(Faulty(3)).reset(seed=0)


class Introspective(NamedTuple):
    """A world whose step cannot be compiled."""

    num_states: int = 1
    num_actions: int = 1


@sj.start.register
def start_introspective(world: Introspective, rng: Stream) -> tuple[Introspective, int]:
    return world, 0


@sj.step.register
def step_introspective(
    world: Introspective, state: int, action: int, rng: Stream
) -> tuple[Introspective, int, float, float]:
    return world, 0, float(len(inspect.getdoc(world) or "")), 1.0


def test_a_world_that_cannot_be_compiled_runs_in_python() -> None:
    """The first reset says in one sentence that it cannot be compiled, and what to do instead."""
    with pytest.raises(TypeError, match=r"the rules for Introspective cannot be compiled.*compiled=False"):
        sj.envs.WorldEnv(Introspective()).reset(seed=0)
    env = sj.envs.WorldEnv(Introspective(), compiled=False)
    env.reset(seed=0)
    assert env.step(0)[1] == len("A world whose step cannot be compiled.")


def test_what_is_no_world_is_refused() -> None:
    """The constructor says what a world is."""
    number: Any = 3
    with pytest.raises(TypeError, match="int is not a world; a world is"):
        sj.envs.WorldEnv(number)


HEADINGS = [
    "Description",
    "Observation space",
    "Action space",
    "Rewards",
    "Durations",
    "Episode end",
    "Arguments",
]


@pytest.mark.parametrize("env_id", list(sojourn.envs.ENVIRONMENTS))
def test_every_env_says_the_same_things_of_itself(env_id: str) -> None:
    """Each docstring has the same headings in the same order, and the source at the end."""
    entry_point: Any = gym.spec(env_id).entry_point
    docstring = inspect.getdoc(load_env_creator(entry_point))
    assert docstring is not None
    assert docstring.startswith(f"`{env_id}`")
    headings = [line.removeprefix("## ") for line in docstring.splitlines() if line.startswith("## ")]
    assert headings == [*HEADINGS, "Source"]


def test_an_environment_without_a_single_gain_says_none() -> None:
    """Neither drawn times nor decisions that change the law give one gain; known times give that at the start."""
    for name in ("RandomChanges", "RipeningBait", "RottingBait"):
        env: Any = gym.make(f"sojourn/{name}-v0", compiled=False).unwrapped
        assert env.gain is None
        env.reset(seed=0)
        assert env.gain is None
    inside = sj.envs.WorldEnv(sj.worlds.Disturbed(sj.worlds.changes.random_changes()), compiled=False)
    assert inside.gain is None
    known: Any = gym.make("sojourn/PayRise-v0", compiled=False).unwrapped
    assert known.gain == sj.gain(sj.worlds.changes.pay_rise(), 0.0) == 5.0


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_gymnasium_is_imported_only_where_it_is_used() -> None:
    """`import sojourn` and a run need no Gymnasium; to register and make an env needs no Numba."""
    python(
        "import sys, sojourn as sj\n"
        "sj.run(sj.worlds.TwoState(1e-3), sj.smart(2, 2), 10)\n"
        "assert 'gymnasium' not in sys.modules\n"
        "sj.envs.WorldEnv\n"
        "assert 'gymnasium' in sys.modules\n"
    )
    python(
        "import sys, gymnasium as gym, sojourn.envs\n"
        "assert [name for name in sys.modules if name.startswith('sojourn.worlds.')] == ['sojourn.worlds.catalogue']\n"
        "assert 'scipy' not in sys.modules\n"
        "gym.make('sojourn/TwoState-v0')\n"
        "assert 'numba' not in sys.modules\n"
    )


def test_an_env_is_found_with_nothing_but_gymnasium_imported() -> None:
    """The name of the module before the id is enough."""
    code = "import gymnasium as gym; print(gym.make('sojourn.envs:sojourn/TwoState-v0', log_scale=0.5).unwrapped.world.log_scale)"
    assert python(code) == "0.5"


# --- The market, when it is there ---------------------------------------------------


@pytest.fixture
def prices() -> tuple[Any, Any]:
    pytest.importorskip("sojourn.worlds.market.world")
    moves = np.random.default_rng(0).normal(size=501)
    return np.cumsum(moves)[:-1] + 100.0, np.cumsum(moves)[1:] + 100.0


def test_market_env(prices: tuple[Any, Any]) -> None:
    """The market is one more world: the same as compiled, and with its options as arguments."""
    opening, closing = prices
    market: Any = pytest.importorskip("sojourn.worlds.market.world").Market
    made = gym.make("sojourn/Market-v0", open=opening, close=closing, state_size=4, duration="scaled")
    check_env(made.unwrapped)
    world = market(opening, closing, state_size=4, duration="scaled")
    agent = sj.smart(16, 2, step_size=0.1)
    run = expected(world, agent, 300, 2, seed=3)
    assert same(driven(made.unwrapped, agent, 300, 2, seed=3)[0], run.agent)
    assert sj.check_smdp_env(made).zero_durations == 0


def test_market_env_has_synthetic_prices_by_default(prices: tuple[Any, Any]) -> None:
    """Without prices there are synthetic ones, the same each time; half of them is refused."""
    bars = pytest.importorskip("sojourn.worlds.market.instruments").synthetic_bars(1000)
    env: Any = gym.make("sojourn/Market-v0", num_bars=1000).unwrapped
    assert same(np.asarray(env.world.moves), bars.close - bars.open)
    with pytest.raises(ValueError, match="open is given without close"):
        gym.make("sojourn/Market-v0", open=prices[0])
