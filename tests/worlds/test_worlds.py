from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

import sojourn as sj
from sojourn.rules.random import exponential, uniform


def test_two_state_passes_the_checker() -> None:
    """The built-in world passes the checker."""
    sj.check_world(sj.worlds.TwoState(log_scale=1e-3))


def test_generators_are_the_papers() -> None:
    """SinLogD and CosLogD match the paper's formulas."""
    for t in (0, 1, 17, 999):
        assert sj.worlds.sin_log_drift(t, 10, 0.001) == pytest.approx((math.sin(t) + 10) * 10 ** (0.001 * t))
        assert sj.worlds.cos_log_drift(t, 10, 0.0005) == pytest.approx(
            (math.cos(t) + 10) * 10 ** (0.0005 * t)
        )


def test_two_state_by_hand() -> None:
    """Both actions, the way back, and the step count over both states."""
    rng = sj.stream(0)
    world, state = sj.start(sj.worlds.TwoState(log_scale=0.01), rng)
    assert (state, world.t) == (0, 0)
    world, state, reward, duration = sj.step(world, state, 1, rng)
    assert (state, reward, duration) == (1, 10.0, 11.0)
    world, state, reward, duration = sj.step(world, state, 0, rng)
    assert (state, reward, duration, world.t) == (0, 0.0, 1.0, 2)
    world, state, reward, duration = sj.step(world, state, 0, rng)
    assert (state, reward) == (1, 0.1)
    assert 0.5 < duration < 1.5


def test_noise_depends_on_seed_and_step_alone() -> None:
    """Step t has the same noise in every episode, whatever was done before."""
    rng = sj.stream(4)
    first, _ = sj.start(sj.worlds.TwoState(log_scale=1e-3), rng)
    durations = []
    for actions in ((0, 0, 0, 0, 0), (1, 1, 1, 0, 0)):
        world, state = sj.start(first, rng)
        for action in actions:
            world, state, _, duration = sj.step(world, state, action, rng)
        durations.append(duration)
    assert durations[0] == durations[1] != 1.0


def test_noise_has_the_law_it_should() -> None:
    """Durations of A are normal with mean 1 and deviation 0.1."""
    rng = sj.stream(1)
    world, _ = sj.start(sj.worlds.TwoState(log_scale=1e-3), rng)
    durations = []
    for _ in range(4000):
        world, _, _, duration = sj.step(world, 0, 0, rng)
        durations.append(duration)
    assert np.mean(durations) == pytest.approx(1.0, abs=0.006)
    assert np.std(durations) == pytest.approx(0.1, abs=0.005)


def test_durations_never_fall_below_the_floor() -> None:
    """Durations respect the floor, even where wide noise or an offset of 0 would make them negative."""
    world = sj.worlds.TwoState(log_scale=1e-3, offset=0.0, duration_spread=5.0)
    run = sj.run(world, sj.agents.random_agent(2, 2), steps=2000)
    assert run.duration >= 0.001 * 2000


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sj.worlds.TwoState(log_scale=math.nan), "TwoState.log_scale is nan"),
        (
            lambda: sj.worlds.TwoState(log_scale=1e-3, clock="hours"),
            "clock is 'hours'; it must be 'steps' or 'visits'",
        ),
        (lambda: sj.worlds.TwoState(log_scale=1e-3, duration_floor=0.0), "TwoState.duration_floor is 0.0"),
        (lambda: sj.step(sj.worlds.TwoState(log_scale=1e-3), 2, 0, sj.stream(0)), "state is 2"),
        (lambda: sj.step(sj.worlds.TwoState(log_scale=1e-3), 0, -1, sj.stream(0)), "action is -1"),
    ],
)
def test_wrong_numbers_get_one_sentence(call: Any, message: str) -> None:
    """A number out of bounds is refused by name."""
    with pytest.raises(ValueError, match=message):
        call()


class Machine(NamedTuple):
    """The example of the worlds' documentation."""

    risk: float = 0.02
    age: int = 0
    num_states: int = 30
    num_actions: int = 2


@sj.start.register
def start_machine(world: Machine, rng: Any) -> tuple[Machine, int]:
    return Machine(world.risk, 0, world.num_states, world.num_actions), 0


@sj.step.register
def step_machine(world: Machine, state: int, action: int, rng: Any) -> tuple[Machine, int, float, float]:
    if action == 1:
        age, reward, duration = 0, -2.0, 0.5
    elif uniform(rng) < world.risk * state:
        age, reward, duration = 0, -10.0, 1.0 + exponential(rng)
    else:
        age, reward, duration = min(state + 1, world.num_states - 1), 5.0, 1.0
    return Machine(world.risk, age, world.num_states, world.num_actions), age, reward, duration


def test_a_users_world() -> None:
    """A world registered in this file passes the checker, and an agent learns to service the machine."""
    sj.check_world(Machine())
    agent = sj.smart(30, 2, step_size=0.05, exploration=0.1)
    run = sj.run(Machine(), agent, steps=400_000, seed=0)
    idle = sj.run(Machine(), sj.agents.random_agent(30, 2), steps=100_000, seed=0)
    assert run.rate > 1.2 * idle.rate > 0.0
    assert 1 in run.policy


class Broken(NamedTuple):
    """A world that breaks one rule, chosen by `fault`, at its third step."""

    fault: int
    t: int = 0
    num_states: int = 2
    num_actions: int = 2


@sj.start.register
def start_broken(world: Broken, rng: Any) -> tuple[Broken, int]:
    return Broken(world.fault, 0, world.num_states, world.num_actions), -1 if world.fault == 5 else 0


@sj.step.register
def step_broken(world: Broken, state: int, action: int, rng: Any) -> tuple[Broken, int, float, float]:
    reward, duration, next_state = 1.0, 1.0, 1
    if world.t == 2:
        if world.fault == 0:
            reward = math.nan
        elif world.fault == 1:
            duration = -0.5
        elif world.fault == 2:
            duration = math.nan
        elif world.fault == 3:
            next_state = 7
        elif world.fault == 4:
            reward = -math.inf
    after = Broken(world.fault, world.t + 1, world.num_states, world.num_actions)
    return after, next_state, reward, duration


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (0, r"step of Broken at step 2 \(state 1, action 0\) returned the reward nan"),
        (1, "returned the duration -0.5; a duration must be finite and at least 0"),
        (2, "returned the duration nan"),
        (3, "returned the state 7; states are 0 to 1"),
        (4, "returned the reward -inf"),
        (5, "start of Broken returned the state -1 at step 0; states are 0 to 1"),
    ],
)
def test_a_world_that_breaks_the_rules_is_stopped(fault: int, message: str, compiled: bool) -> None:
    """The error names the world, the step, the state, the action and the value."""
    agent = sj.smart(2, 2, exploration=0.0)
    with pytest.raises(ValueError, match=message):
        sj.run(Broken(fault), agent, steps=100, compiled=compiled)


class Faults(NamedTuple):
    """A world that breaks one rule rarely, or only in a remote state."""

    fault: int
    num_states: int = 60
    num_actions: int = 2


@sj.start.register
def start_faults(world: Faults, rng: Any) -> tuple[Faults, int]:
    return world, 99 if world.fault == 0 and sj.random.uniform(rng) < 0.1 else 0


@sj.step.register
def step_faults(world: Faults, state: int, action: int, rng: Any) -> tuple[Faults, int, float, float]:
    """Action 1 goes on, action 0 goes back to the first state."""
    duration = -1.0 if world.fault == 1 and state == 59 else 1.0
    reward = math.inf if world.fault == 2 and sj.random.uniform(rng) < 1e-3 else 1.0
    return world, min(state + 1, 59) if action == 1 else 0, reward, duration


@pytest.mark.parametrize(
    ("world", "message"),
    [
        (Faults(0), "start of Faults returned the state 99"),
        (Faults(1), r"\(state 59, action 0\) returned the duration -1.0"),
        (Faults(2), "returned the reward inf"),
    ],
)
def test_the_checker_finds_what_a_run_would_stop_at(
    world: Faults, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checker finds faults in states that random actions never reach, at some starts, and in one step of a thousand."""
    in_python = lambda *args, **options: sj.run(*args, **{**options, "compiled": False})  # noqa: E731
    monkeypatch.setattr("sojourn.runs.check.run", in_python)
    with pytest.raises(ValueError, match=message):
        sj.check_world(world)


class Picky(NamedTuple):
    """A world that declares which actions its states have."""

    available: Any
    num_states: int = 2
    num_actions: int = 2


@sj.start.register
def start_picky(world: Picky, rng: Any) -> tuple[Picky, int]:
    return world, 0


@sj.step.register
def step_picky(world: Picky, state: int, action: int, rng: Any) -> tuple[Picky, int, float, float]:
    return world, 0, 1.0, 1.0


@pytest.mark.parametrize(
    ("available", "message"),
    [
        (np.ones((3, 2), dtype=bool), "it must be an array of bools, 2 states by 2 actions"),
        (np.ones((2, 2)), "it must be an array of bools, 2 states by 2 actions"),
        (np.array([[True, True], [False, False]]), "Picky.available gives state 1 no action"),
    ],
)
def test_wrong_lists_of_actions_are_refused(available: Any, message: str) -> None:
    """A world whose `available` does not fit its states and actions is refused, checked or run."""
    for use in (sj.check_world, lambda world: sj.run(world, sj.smart(2, 2), 10, compiled=False)):
        with pytest.raises(ValueError, match=message):
            use(Picky(available))


class Counting(NamedTuple):
    """A world that writes into its own array."""

    visits: Any
    num_states: int = 1
    num_actions: int = 1


@sj.start.register
def start_counting(world: Counting, rng: Any) -> tuple[Counting, int]:
    return world, 0


@sj.step.register
def step_counting(world: Counting, state: int, action: int, rng: Any) -> tuple[Counting, int, float, float]:
    world.visits[state] += 1.0
    return world, 0, world.visits[state], 1.0


def test_a_worlds_arrays_are_constants() -> None:
    """All runs share a world's arrays, so writing into them is refused in one sentence."""
    visits = np.zeros(1)
    for compiled in (True, False):
        with pytest.raises(TypeError, match="step of Counting writes into an array of the world"):
            sj.run(Counting(visits), sj.smart(1, 1), steps=10, compiled=compiled)
    assert visits[0] == 0.0


def test_two_state_overflow_is_an_error() -> None:
    """Rewards that overflow stop the run with one sentence instead of poisoning it."""
    with pytest.raises(ValueError, match="reward inf"):
        sj.run(sj.worlds.TwoState(log_scale=0.1), sj.agents.random_agent(2, 2), steps=10_000)
