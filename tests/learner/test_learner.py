from __future__ import annotations

import functools
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

import naive
import sojourn as sj
import sojourn.envs
from small_envs import CART_BINS, TAXI, Gamble, Maze, Scripted, alike, by_hand, is_by_hand, sentence
from sojourn.agents.values.protocol import entries
from sojourn.rules.values import same
from sojourn.runs.loop import Run

AGENTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "smart": (sj.smart, {"step_size": 0.1, "greedy": "after"}),
    "relaxed_smart": (sj.relaxed_smart, {"step_size": 0.1, "rate_step_size": 0.05}),
    "gosavi": (sj.relaxed_smart, {"variant": "gosavi", "rate_step_size": 0.05}),
    "harmonic_r": (sj.harmonic_r, {"step_size": 0.1, "rate_step_size": 0.05, "greedy": "draw"}),
    "weighted_harmonic_r": (
        sj.agents.weighted_harmonic_r,
        {"exploration": sj.agents.Decay(0.5, 0.999, 0.01)},
    ),
    "r_learning": (sj.r_learning, {"step_size": 0.1, "rate_step_size": 0.05}),
    "differential_q": (sj.agents.differential_q, {"step_size": 0.1, "exploration": 1.0}),
    "smdp_q_learning": (sj.agents.smdp_q_learning, {"discount_rate": 0.05, "exploration": 0.0}),
    "fixed_rate": (sj.agents.fixed_rate, {"rate": 0.5}),
    "random_agent": (sj.agents.random_agent, {}),
    "planner": (sj.planner, {}),
}


def two_state(limit: int | None = None) -> Any:
    return gym.make("sojourn/TwoState-v0", log_scale=1e-3, max_episode_steps=limit)


def market(limit: int | None = None) -> Any:
    return gym.make("sojourn/Market-v0", num_bars=400, state_size=3, max_episode_steps=limit)


def is_run(learner: sj.Learner, run: Run) -> bool:
    totals = learner.totals
    return (
        same(learner.agent, run.agent)
        and learner.rate == run.rate
        and learner.policy.tolist() == run.policy.tolist()
        and totals.steps == run.steps
        and (totals.reward, totals.duration) == (run.reward, run.duration)
        and (totals.greedy_steps, totals.greedy_reward, totals.greedy_duration)
        == (run.greedy_steps, run.greedy_reward, run.greedy_duration)
    )


# --- The same as `run` --------------------------------------------------------------


@pytest.mark.parametrize("make", [two_state, market])
@pytest.mark.parametrize("name", list(AGENTS))
def test_a_learner_in_a_worlds_env_is_run(name: str, make: Any) -> None:
    """With the same seed, a learner has the same agent and totals as `run`, bit for bit, also over episodes."""
    constructor, options = AGENTS[name]
    world = make().unwrapped.world
    agent = constructor(world.num_states, world.num_actions, **options)
    learner = sj.Learner(make(121), constructor, seed=5, **options)
    assert learner.train(363).steps == 363
    # Interpreted: the same source and the same bits, without compiling for each.
    assert is_run(learner, sj.run(world, agent, 121, 3, seed=5, compiled=False))


def test_without_a_time_limit_a_learner_is_run_of_one_episode() -> None:
    """An environment that never ends is one episode; an agent object is equivalent to its constructor."""
    agent = sj.smart(2, 2, step_size=0.1)
    learner = sj.Learner(two_state(), agent, seed=9)
    learner.train(800)
    assert is_run(learner, sj.run(sj.worlds.TwoState(1e-3), agent, 800, seed=9))
    assert not agent.q.any()  # the caller's own is not modified
    other = sj.Learner(two_state(), sj.smart, seed=10, step_size=0.1)
    other.train(800)
    assert not same(other.agent, learner.agent)


class Relative(NamedTuple):
    """A user's agent: its values are relative to the table's mean, and each step returns a new table."""

    values: sj.agents.Table
    rate: Any
    accepted: bool
    window: Any  # as many entries as states, by coincidence


@sj.draw.register
def draw_relative(agent: Relative, state: int, rng: Any) -> tuple[int, bool]:
    return sj.random.integer(rng, 2), False


@sj.learn.register
def learn_relative(
    agent: Relative,
    state: int,
    action: int,
    reward: float,
    duration: float,
    next_state: int,
    explored: bool,
) -> Relative:
    q, window, total = agent.values.q.copy(), agent.window.copy(), 0.0
    for s in range(q.shape[0]):
        for a in range(q.shape[1]):
            total += q[s, a]
    for i in range(len(window) - 1):
        window[i] = window[i + 1]
    window[len(window) - 1] = reward
    delta = reward + window[0] - total / q.size + sj.agents.largest(q, next_state) - q[state, action]
    q[state, action] += 0.1 * delta
    return Relative(
        values=sj.agents.Table(q), rate=sj.update(agent.rate, reward, duration), accepted=True, window=window
    )


def test_a_users_agent_is_the_one_of_run() -> None:
    """Rules that return new arrays, read the whole table or use extra arrays learn as in `run`."""
    agent = Relative(sj.agents.Table(np.zeros((2, 2))), sj.Cumulative(), True, np.zeros(2))
    learner = sj.Learner(two_state(), agent, seed=1)
    learner.train(100)
    assert is_run(learner, sj.run(sj.worlds.TwoState(1e-3), agent, 100, seed=1, compiled=False))


@examples(max_examples=15)
@given(st.lists(st.integers(1, 400), min_size=1, max_size=4))
def test_training_in_pieces_is_training_at_once(pieces: list[int]) -> None:
    """train(a) followed by train(b) equals train(a + b), whatever the cut, with both kinds of episode ends."""
    whole = sj.Learner(Maze(ends=0.05, cuts=0.05), sj.smart, seed=4)
    whole.train(sum(pieces))
    parts = sj.Learner(Maze(ends=0.05, cuts=0.05), sj.smart, seed=4)
    for piece in pieces:
        assert parts.train(piece) == parts.totals
    assert alike(whole, parts)


# --- How episodes end ---------------------------------------------------------------


@pytest.mark.parametrize(("ends", "cuts"), [(0.0, 0.0), (0.2, 0.0), (0.0, 0.2), (0.1, 0.1), (1.0, 1.0)])
@pytest.mark.parametrize("first", [0, -2, 7])
def test_what_an_action_led_to(ends: float, cuts: float, first: int) -> None:
    """After a truncation the last observation is the next state; after a termination, the first one after the reset."""

    def make() -> Maze:
        return Maze(ends=ends, cuts=cuts, first_state=first, first_action=-first)

    learner = sj.Learner(make(), sj.smart, step_size=0.1, exploration=0.3, ties="lowest", seed=2)
    learner.train(700)
    expected = by_hand(make(), naive.Cumulative(), 700, step_size=0.1, exploration=0.3, seed=2)
    assert is_by_hand(learner, expected)


def test_the_two_ends_are_not_the_same() -> None:
    """The check above can fail: terminations and truncations at the same steps give different values."""
    one = sj.Learner(Maze(ends=0.2), sj.smart, seed=2)
    other = sj.Learner(Maze(cuts=0.2), sj.smart, seed=2)
    one.train(700)
    other.train(700)
    assert not np.allclose(one.q, other.q)


def test_only_the_first_reset_has_the_seed() -> None:
    """Only the first reset gets the seed; later episodes continue the environment's random stream."""
    seeds: list[int | None] = []

    class Noted(Maze):
        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            seeds.append(seed)
            return super().reset(seed=seed)

    learner = sj.Learner(Noted(cuts=0.5), sj.smart, seed=11)
    assert seeds == []
    learner.train(20)
    learner.train(20)
    assert seeds[0] == 11
    assert len(seeds) > 5
    assert set(seeds[1:]) == {None}


def test_states_and_actions_are_numbered_from_their_first() -> None:
    """Spaces whose numbering does not start at 0 change only the names of the actions."""
    plain, moved = (Maze(first_state=s, first_action=a) for s, a in [(0, 0), (-3, 5)])
    one, other = (sj.Learner(env, sj.smart, seed=1, step_size=0.2) for env in (plain, moved))
    one.train(500)
    other.train(500)
    assert same(one.agent, other.agent)
    assert (one.policy + 5).tolist() == other.policy.tolist()
    assert [one.act(state) + 5 for state in range(4)] == [other.act(state - 3) for state in range(4)]
    assert other.act(-3) == other.policy[0]


# --- Durations ----------------------------------------------------------------------


class Renamed(gym.Wrapper[Any, Any, Any, Any]):
    """Says the duration elsewhere."""

    def __init__(self, env: Any, path: list[str]) -> None:
        super().__init__(env)
        self.path = path

    def step(self, action: Any) -> Any:
        *first, info = self.env.step(action)
        nested: Any = info.pop("duration")
        for key in reversed(self.path):
            nested = {key: nested}
        return (*first, info | nested)


def half(obs: Any, action: Any, info: Any) -> float:
    return float(info["duration"]) / 2


def test_durations_are_found_wherever_they_are() -> None:
    """A key, a path of keys and a function are equivalent; a number makes all steps equally long."""
    known = sj.Learner(Maze(), sj.smart, seed=3)
    known.train(200)
    for path in (["tau"], ["smdp", "duration"], ["a", "b", "c"]):
        learner = sj.Learner(Renamed(Maze(), path), sj.smart, seed=3, duration=".".join(path))
        learner.train(200)
        assert same(learner.agent, known.agent)
    # With pure exploration, the actions do not depend on the durations.
    plain, halved, constant = (
        sj.Learner(Maze(), sj.smart, seed=3, duration=duration, exploration=1.0)
        for duration in ("duration", half, 0.25)
    )
    for learner in (plain, halved, constant):
        learner.train(100)
    assert halved.totals.duration == pytest.approx(plain.totals.duration / 2)
    assert constant.totals.duration == 25.0


def test_a_function_gets_observation_action_and_info() -> None:
    """A duration function is called once per step, with the step's result and the action."""
    calls: list[tuple[Any, Any, Any]] = []

    def noted(obs: Any, action: Any, info: Any) -> float:
        calls.append((obs, action, info["duration"]))
        return float(info["duration"])

    learner = sj.Learner(Maze(first_state=10, first_action=5), sj.smart, duration=noted, seed=1)
    learner.train(50)
    assert len(calls) == 50
    assert {obs for obs, _, _ in calls} <= {10, 11, 12, 13}
    assert {action for _, action, _ in calls} <= {5, 6, 7}
    assert sum(duration for _, _, duration in calls) == pytest.approx(learner.totals.duration)


@pytest.mark.parametrize(
    ("info", "words"),
    [
        ({}, "is missing"),
        ({"duration": float("nan")}, "is nan"),
        ({"duration": -1.0}, "is -1.0"),
        ({"duration": float("inf")}, "is inf"),
        ({"duration": "long"}, "is 'long'"),
    ],
)
def test_a_wrong_duration_names_the_step(info: dict[str, Any], words: str) -> None:
    """A wrong duration is reported in one sentence with the step's number, and training can continue."""
    good = (1.0, {"duration": 1.0})
    env = Scripted(good, good, good, (1.0, info))
    learner = sj.Learner(env, sj.smart)
    learner.train(1)
    said = sentence(lambda: learner.train(10), ValueError)
    assert said.startswith("step 3: ")
    assert words in said
    assert learner.totals.steps == 3
    learner.train(5)
    assert learner.totals == (8, 8.0, 8.0, *learner.totals[3:])


@pytest.mark.parametrize("reward", [float("nan"), float("inf"), -float("inf")])
def test_a_wrong_reward_names_the_step(reward: float) -> None:
    """A non-finite reward is refused, since it would destroy all values."""
    learner = sj.Learner(Scripted((1.0, {"duration": 1.0}), (reward, {"duration": 1.0})), sj.smart)
    assert sentence(lambda: learner.train(5), ValueError).startswith("step 1: the reward is")
    assert np.isfinite(learner.q).all()


def test_steps_without_time_are_learned_from() -> None:
    """Values learn from a step without time as from any other; for the rate, its reward counts with the next step that takes time."""
    entries = [(float(i), {"duration": float(i % 3)}) for i in range(300)]
    learner = sj.Learner(Scripted(*entries), sj.smart, exploration=0.0, ties="lowest", seed=1)
    totals = learner.train(300)
    assert (totals.steps, totals.reward, totals.duration) == (300, sum(range(300)), 300.0)
    q, rate, unpaid = [[0.0, 0.0], [0.0, 0.0]], naive.Cumulative(), 0.0
    for i, (reward, info) in enumerate(entries):
        state, after = i % 2, (i + 1) % 2
        action = q[state].index(max(q[state]))
        delta = reward - rate.value() * info["duration"] + max(q[after]) - q[state][action]
        q[state][action] += 0.01 * delta
        unpaid += reward
        if info["duration"]:
            rate.update(unpaid, info["duration"])
            unpaid = 0.0
    assert learner.q.tolist() == [pytest.approx(row) for row in q]
    assert learner.rate == pytest.approx(rate.value())


@pytest.mark.parametrize(
    "train", [lambda learner: learner.train(20_000), lambda learner: learner.train(duration=5.0)]
)
def test_a_clock_that_never_advances_is_refused(train: Any) -> None:
    """A clock that never advances is refused rather than looping for ever."""
    learner = sj.Learner(Scripted(*[(0.0, {"duration": 0})] * 20_000), sj.smart)
    message = sentence(lambda: train(learner), ValueError)
    assert message.startswith("the last 10,000 steps took no time ('duration' is 0)")
    assert learner.totals.steps == 10_000


@pytest.mark.parametrize("budget", [0.5, 10.0, 1500.0])
def test_training_for_a_time_ends_with_the_step_that_completes_it(budget: float) -> None:
    """Training ends with the step that reaches the time, and the next budget starts there."""
    learner = sj.Learner(Maze(cuts=0.1), sj.smart, seed=6)
    twin = sj.Learner(Maze(cuts=0.1), sj.smart, seed=6)
    for _ in range(2):
        before = learner.totals.duration
        steps = learner.train(duration=budget).steps
        assert learner.totals.duration >= before + budget
        if steps - 1 > twin.totals.steps:
            twin.train(steps - 1 - twin.totals.steps)
        assert twin.totals.duration < before + budget
        twin.train(1)
        assert alike(learner, twin)


# --- What is refused ----------------------------------------------------------------


WRONG: dict[str, Any] = {"q": np.zeros(12), "number": 0.5}
Untyped: Any = sj.Learner  # for arguments that a type checker would refuse


class Fluent(Maze):
    def __init__(self, space: Any) -> None:
        super().__init__()
        self.action_space = space


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (lambda: Untyped("CartPole-v1", sj.smart), TypeError, "not a Gymnasium environment"),
        (lambda: Untyped(sj.worlds.TwoState(1e-3), sj.smart), TypeError, "sojourn.envs.WorldEnv"),
        (lambda: Untyped(None, sj.smart), TypeError, "not a Gymnasium environment"),
        (lambda: Untyped(gym.make_vec("CartPole-v1", 2), sj.smart), TypeError, "single one"),
        (lambda: sj.Learner(Fluent(spaces.Box(0, 1)), sj.smart), TypeError, "Discrete actions"),
        (lambda: sj.Learner(Fluent(spaces.MultiDiscrete([2, 2])), sj.smart), TypeError, "Discrete actions"),
        (lambda: sj.Learner(gym.make("CartPole-v1"), sj.smart), ValueError, "give bins"),
        (lambda: sj.Learner(gym.make("CartPole-v1"), sj.smart, bins=4), ValueError, "give the edges"),
        (lambda: sj.Learner(Maze(), sj.smart, bins=4), ValueError, "needs no bins"),
        (lambda: sj.Learner(Maze(), sj.smart(4, 2)), ValueError, "4 states and 3 actions"),
        (lambda: sj.Learner(Maze(), sj.smart(5, 3)), ValueError, "(5, 3)"),
        (lambda: sj.Learner(Maze(), sj.smart(4, 3)._replace(values=WRONG["q"])), (TypeError, ValueError), ""),
        (lambda: sj.Learner(Maze(), sj.smart(4, 3), step_size=0.1), TypeError, "step_size cannot be given"),
        (lambda: sj.Learner(Maze(), sj.smart, step_sise=0.1), TypeError, "step_sise"),
        (lambda: sj.Learner(Maze(), sj.smart, step_size=2.0), ValueError, "step_size is 2.0"),
        (lambda: Untyped(Maze(), 3), TypeError, "int is not an agent"),
        (lambda: Untyped(Maze(), sj.worlds.TwoState(1e-3)), TypeError, "TwoState is not an agent"),
        (lambda: sj.Learner(Maze(), sj.smart, seed=-1), ValueError, "seed is -1"),
        (lambda: sj.Learner(Maze(), sj.smart, seed=WRONG["number"]), TypeError, "seed is 0.5"),
        (lambda: sj.Learner(Maze(), sj.smart, duration=0), ValueError, "duration is 0"),
        (lambda: sj.Learner(Maze(), sj.smart, duration=True), TypeError, "duration is True"),
        (lambda: Untyped(Maze(), sj.smart, duration=None), TypeError, "duration is None"),
        (lambda: sj.Learner(Maze(), sj.smart, duration="a..b"), ValueError, "a..b"),
        (lambda: sj.Learner(Maze(), sj.smart, action_mask=""), ValueError, "action_mask is ''"),
        (lambda: sj.Learner(Maze(), sj.smart).train(), TypeError, "steps or a duration"),
        (lambda: sj.Learner(Maze(), sj.smart).train(5, duration=5.0), TypeError, "steps or a duration"),
        (lambda: sj.Learner(Maze(), sj.smart).train(0), ValueError, "steps is 0"),
        (lambda: sj.Learner(Maze(), sj.smart).train(WRONG["number"]), TypeError, "steps is 0.5"),
        (lambda: sj.Learner(Maze(), sj.smart).train(duration=0.0), ValueError, "duration is 0.0"),
        (lambda: sj.Learner(Maze(), sj.smart).train(duration=np.inf), ValueError, "duration is inf"),
        (
            lambda: Untyped(Maze(), sj.smart).train(duration="tau"),
            TypeError,
            "must be a number, how long to continue",
        ),
        (
            lambda: Untyped(Maze(), sj.smart).evaluate(duration=half),
            TypeError,
            "of a step in Learner(..., duration=...)",
        ),
        (lambda: sj.Learner(Maze(), sj.smart).act(4), ValueError, "the observation 4"),
        (lambda: sj.Learner(Maze(), sj.smart).act(0, [1, 1]), ValueError, "3 actions"),
        (lambda: sj.Learner(Maze(), sj.smart).act(0, [0, 0, 0]), ValueError, "allows no action"),
    ],
)
def test_what_is_wrong_gets_one_sentence(make: Any, kind: Any, words: str) -> None:
    """Each wrong input is refused in one sentence that says what it is."""
    assert words in sentence(make, kind)


class FourValues(Maze):
    """An environment with the old Gym interface."""

    def step(self, action: Any) -> Any:
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward, terminated or truncated, info


def test_a_step_of_four_values_is_told_what_is_missing() -> None:
    """In training and in evaluation, a step with four values gets an error that says what a step must return."""
    learner = sj.Learner(FourValues(), "smart")
    for call in (lambda: learner.train(5), lambda: learner.evaluate(duration=5.0)):
        said = sentence(call, ValueError)
        assert "step returned four values" in said
        assert "truncated is missing" in said
        assert said.endswith("(obs, reward, terminated, truncated, info)")


def timed(*times: float) -> Scripted:
    """Return an environment whose steps take 2, with these clock readings."""
    return Scripted(*[(1.0, {"duration": 2.0, "time": time}) for time in times])


def test_a_clock_is_checked_where_it_is_named() -> None:
    """A clock that advances by each step's duration is accepted, whatever its origin; a deviation is reported with its step."""
    assert sj.Learner(timed(7.0, 9.0, 11.0), "smart", clock="time").train(3).steps == 3
    for times, words in [
        ((7.0, 9.0, 12.0), 'step 2: info["time"] went from 9.0 to 12.0, but the step took 2.0'),
        ((7.0, float("nan")), 'step 1: info["time"] is nan; the clock must be a finite number'),
    ]:
        wrong = functools.partial(sj.Learner(timed(*times), "smart", clock="time").train, 3)
        assert words in sentence(wrong, ValueError)
    assert sj.Learner(timed(7.0, 9.0, 12.0), "smart").train(3).steps == 3  # it is not checked
    judged = sj.Learner(timed(7.0, 9.0, 12.0), "smart", clock="time")
    assert "went from 9.0" in sentence(lambda: judged.evaluate(duration=6.0), ValueError)


def test_a_clock_in_large_units_of_time_is_checked_too() -> None:
    """With steps of 2e-12, a clock that advances by 3e-12 is detected."""
    steps = [(1.0, {"duration": 2e-12, "time": time}) for time in (7e-12, 9e-12, 12e-12)]
    assert sj.Learner(Scripted(*steps[:2]), "smart", clock="time").train(2).steps == 2
    wrong = functools.partial(sj.Learner(Scripted(*steps), "smart", clock="time").train, 3)
    assert 'step 2: info["time"] went from 9e-12 to 1.2e-11' in sentence(wrong, ValueError)


def test_info_that_is_no_dictionary_names_the_step() -> None:
    """An info that is not a dictionary is reported in one sentence, even if the duration is a constant."""

    class Silent(Maze):
        def step(self, action: Any) -> Any:
            return (*super().step(action)[:-1], None)

    learner = sj.Learner(Silent(), sj.smart, duration=1)
    assert sentence(lambda: learner.train(5), ValueError).startswith("step 0: ")


def test_an_observation_outside_its_space_names_the_step() -> None:
    """An observation outside its space is reported at the step where it occurs."""

    class Liar(Maze):
        def step(self, action: Any) -> Any:
            observation, *rest = super().step(action)
            return (9 if self.t == 3 else observation, *rest)

    learner = sj.Learner(Liar(), sj.smart)
    said = sentence(lambda: learner.train(10), ValueError)
    assert said == "step 2: the observation 9 is not in the space: it must be one of 0 to 3"


def test_an_error_of_the_environment_is_its_own_and_training_goes_on() -> None:
    """An environment's exceptions pass through with their traceback; the next training begins a new episode."""

    class Fragile(Maze):
        broken = 0

        def step(self, action: Any) -> Any:
            if self.t == 7 and not self.broken:
                self.broken += 1
                raise ArithmeticError("a bug")
            return super().step(action)

    learner = sj.Learner(Fragile(), sj.smart)
    with pytest.raises(ArithmeticError, match="a bug"):
        learner.train(20)
    assert learner.totals.steps == 7
    assert learner.train(20).steps == 27


def test_a_value_error_of_the_environment_keeps_its_traceback() -> None:
    """An environment's own ValueError keeps its traceback, although a wrong duration raises one, too."""

    class Fragile(Maze):
        def step(self, action: Any) -> Any:
            return self._broken()

        def _broken(self) -> Any:
            raise ValueError("operands could not be broadcast together")

    with pytest.raises(ValueError, match="operands") as error:
        sj.Learner(Fragile(), sj.smart).train(20)
    chain: list[Any] = [error.value]
    while chain[-1] is not None:
        last = chain[-1]
        chain.append(last.__cause__ or (None if last.__suppress_context__ else last.__context__))
    names = []
    for each in chain[:-1]:
        trace = each.__traceback__
        while trace is not None:
            names.append(trace.tb_frame.f_code.co_name)
            trace = trace.tb_next
    assert "_broken" in names


# --- Reading ------------------------------------------------------------------------


def test_what_is_read_cannot_be_used_to_change_the_learner() -> None:
    """The table is read-only, and the agent is a copy."""
    learner = sj.Learner(Maze(), sj.smart, seed=1)
    learner.train(100)
    with pytest.raises(ValueError, match="read-only"):
        learner.q[0, 0] = 1.0
    before = learner.q.copy()
    entries(learner.agent.values)[:] = 7.0
    assert same(before, np.array(learner.q))
    assert learner.largest_value == np.abs(before).max()
    assert learner.policy.tolist() == before.argmax(axis=1).tolist() == [learner.act(s) for s in range(4)]


def test_environments_of_others_are_learned_in() -> None:
    """Gymnasium's environments work: in a frozen lake without slipping the goal is reached, and carts and taxis run."""
    lake = gym.make("FrozenLake-v1", is_slippery=False, max_episode_steps=100)
    learner = sj.Learner(lake, sj.agents.differential_q, duration=1, step_size=0.2, exploration=0.9)
    learner.train(20_000)
    # The shortest way has six steps, with a reward at its end.
    assert learner.rate == pytest.approx(1 / 6, rel=1e-3)
    assert learner.evaluate(duration=600.0).rate == pytest.approx(1 / 6)
    cart = sj.Learner(gym.make("CartPole-v1"), sj.smart, duration=0.02, bins=CART_BINS)
    assert cart.train(500).duration == pytest.approx(10.0)
    assert cart.states.num_states == 12
    taxi = sj.Learner(gym.make(TAXI), sj.smart, duration=1)
    assert taxi.train(500).steps == 500


# --- Ctrl-C -------------------------------------------------------------------------

INTERRUPTED = """
import signal, sys
import sojourn as sj, gymnasium as gym

signal.signal(signal.SIGINT, signal.default_int_handler)  # background processes ignore it
learner = sj.Learner(gym.make("sojourn/TwoState-v0", log_scale=1e-3, max_episode_steps=700), sj.smart, seed=3)
try:
    learner.train(10**9, callbacks=lambda learner: print("on the way", flush=True))
except KeyboardInterrupt:
    print("interrupted", learner.totals.steps)
learner.train(1234)
learner.save(sys.argv[1])
try:
    print(learner.totals.steps, flush=True)
    while True:
        pass
except KeyboardInterrupt:
    print("Ctrl-C is what it was")
"""


def test_ctrl_c_stops_between_two_steps(tmp_path: Path) -> None:
    """After Ctrl-C the learner can continue as if uninterrupted, and Python's own handler is back."""
    path = tmp_path / "learner"
    command = [sys.executable, "-c", INTERRUPTED, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "on the way\n"
            process.send_signal(signal.SIGINT)
            lines = iter(line for line in process.stdout if line != "on the way\n")
            assert next(lines).startswith("interrupted ")
            steps = int(next(lines))
            process.send_signal(signal.SIGINT)
            assert next(lines) == "Ctrl-C is what it was\n"
            assert process.wait(10) == 0
        finally:
            process.kill()
    whole = sj.Learner(two_state(700), sj.smart, seed=3)
    whole.train(steps)
    assert alike(sj.Learner.load(path, two_state(700)), whole)


def test_ctrl_c_is_left_alone_outside_of_training() -> None:
    """The signal handler is restored, even if training fails or runs in a thread."""
    before = signal.getsignal(signal.SIGINT)
    learner = sj.Learner(Scripted((1.0, {})), sj.smart)
    with pytest.raises(ValueError, match="missing"):
        learner.train(10)
    learner.train(10)
    assert signal.getsignal(signal.SIGINT) is before
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(learner.train, 10).result().steps == 20


# --- Registration -------------------------------------------------------------------

MAKE = "env = gymnasium.make('sojourn/TwoState-v0', log_scale=1e-3); assert env.unwrapped.world.log_scale == 1e-3"


@pytest.mark.parametrize(
    "code",
    [
        f"import sojourn.envs, gymnasium; {MAKE}",
        f"import gymnasium, sojourn.envs; {MAKE}",
        f"from sojourn import Learner; import gymnasium; {MAKE}",
        f"import gymnasium, sojourn; sojourn.envs.WorldEnv; {MAKE}",
        "import gymnasium; gymnasium.make('sojourn.envs:sojourn/TwoState-v0', log_scale=1e-3)",
        "import sys, sojourn; assert not {'gymnasium', 'numba', 'scipy'} & set(sys.modules)",
        "import sys, sojourn.envs; assert 'numba' not in sys.modules",
        "import sys, sojourn, json; assert sojourn.smart and 'gymnasium' not in sys.modules",
        "import sys; before = list(sys.meta_path); import sojourn; assert sys.meta_path[:-1] == before",
    ],
)
def test_environments_are_registered_by_importing_them(code: str) -> None:
    """gymnasium.make knows Sojourn's environments once sojourn.envs is imported; `import sojourn` alone imports little."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_gamble_is_solved() -> None:
    """SMART finds that 5 in a time of 1 is better than 12 in a time of 4."""
    learner = sj.Learner(Gamble(), sj.smart, step_size=0.02, seed=1)
    learner.train(20_000)
    assert learner.policy.tolist() == [0]
    assert learner.rate == pytest.approx(5.0, rel=0.02)
