"""Checkers for user-defined estimators, agents and worlds.

Each checker raises an error that names the first broken rule in one sentence. Whatever passes can be used, compiled,
wherever Sojourn's own values can.
"""

from __future__ import annotations

import math
import pickle
from typing import Any, NamedTuple  # a checker accepts anything

import numpy as np

from sojourn.agents.baselines import RandomAgent, RandomNumbers, random_agent
from sojourn.agents.protocol import Agent, ready_agent
from sojourn.agents.values.protocol import sizes
from sojourn.agents.values.tiles import NoValues
from sojourn.rates.protocol import Rate, update, value
from sojourn.rates.ratio import Cumulative
from sojourn.rules.kernel import kernel
from sojourn.rules.random import Stream, integer
from sojourn.rules.values import Column, Value, canonical, copied, is_value, same
from sojourn.runs.loop import ready, run
from sojourn.worlds.protocol import World, controlled, explore_world, observed, start, step

_update, _value = update.bare, value.bare

_LONG = 50_000  # steps taken in search of rare faults


class RateReport(NamedTuple):
    """What `check_rate` found about an estimator that keeps the rules.

    constant_at_once     a constant stream (r, tau) gives r/tau from the first update on
    constant_in_limit    a constant stream gives r/tau in the limit
    scales_with_reward   multiplying all rewards by c multiplies the rate by c
    scales_with_time     multiplying all durations by k divides the rate by k

    >>> from sojourn.rates.ratio import Cumulative
    >>> all(check_rate(Cumulative()))
    True
    """

    constant_at_once: bool
    constant_in_limit: bool
    scales_with_reward: bool
    scales_with_time: bool


def check_rate(rate: Any) -> RateReport:
    """Check an estimator, and report which laws of averaging rates it obeys.

    The estimator must be fresh: it has not seen a transition yet.

    >>> from sojourn.rates.contrast import TimeSmoothed
    >>> check_rate(TimeSmoothed(step_size=0.1))
    RateReport(constant_at_once=True, constant_in_limit=True, scales_with_reward=True, scales_with_time=False)
    """
    name = type(rate).__name__
    if not (is_value(rate) and update.knows(type(rate)) and value.knows(type(rate))):
        raise TypeError(
            f"{name} is not an estimator; an estimator is a NamedTuple with update and value registered for it"
        )
    rate = canonical(rate)
    rewards, durations = _transitions(500)
    before = copied(rate)
    after = rate
    for reward, duration in zip(rewards[:50].tolist(), durations[:50].tolist(), strict=True):
        after = update(after, reward, duration)
        if type(after) is not type(rate):
            raise TypeError(f"update of {name} returned {type(after).__name__}, not {name}")
        if not math.isfinite(value(after)):
            raise ValueError(
                f"value of {name} is {value(after)} after the reward {reward} in the duration {duration}; it must be finite"
            )
    _check_record(rate, name, before)
    compiled, interpreted = np.empty(len(rewards)), np.empty(len(rewards))
    _trace(rate, rewards, durations, compiled)
    _trace.python(rate, rewards, durations, interpreted)
    if not same(compiled, interpreted):
        at = int(np.flatnonzero(compiled != interpreted)[0])
        raise ValueError(
            f"{name} gives different rates compiled and interpreted after update {at}: {compiled[at]} and "
            f"{interpreted[at]}"
        )
    steady = np.empty(20_000)
    _trace(rate, np.full(len(steady), 3.0), np.full(len(steady), 0.5), steady)
    return RateReport(
        constant_at_once=bool(np.allclose(steady, 6.0, rtol=1e-12, atol=0.0)),
        constant_in_limit=bool(np.isclose(steady[-1], 6.0, rtol=1e-6, atol=0.0)),
        scales_with_reward=_traces_agree(rate, interpreted * 7.0, rewards * 7.0, durations),
        scales_with_time=_traces_agree(rate, interpreted / 7.0, rewards, durations * 7.0),
    )


def check_agent(agent: Any) -> None:
    """Check an agent: its actions must be valid, and it must learn the same compiled and interpreted.

    Its rules must return a new agent rather than modify the given one, and it must survive pickling.

    >>> from sojourn.agents.constructors import smart
    >>> check_agent(smart(num_states=3, num_actions=2))
    """
    num_states, num_actions = sizes(ready_agent(agent).values)
    world = NoisyWorld(num_states, num_actions)
    _, agent = ready(world, agent)
    before = copied(agent)
    _check_runs(world, agent, type(agent).__name__)
    _check_record(agent, type(agent).__name__, before)


def check_world(world: Any) -> None:
    """Check a world: its transitions must be valid, and it must behave the same compiled and interpreted.

    Every action is tried in every state reached within 2,000 steps, then runs of 100,000 steps in total are made.
    A rarer fault may still show up in a longer run.

    >>> from sojourn.worlds.two_state import TwoState
    >>> check_world(TwoState(log_scale=1e-3))
    """
    world, agent = ready(world, _any_actions(world))
    before = copied(world)
    if observed(world) is None:
        explore_world(world)
    _check_runs(world, agent, type(world).__name__)
    _check_record(world, type(world).__name__, before)
    # These runs find faults that are rare, or occur only at the start of some episodes.
    run(world, agent, steps=min(_LONG, int(getattr(world, "num_steps", _LONG))), seed=6)
    run(world, agent, steps=10, episodes=_LONG // 10, seed=7)


def _any_actions(world: World) -> Agent:
    """Return a random agent for a world that has not been checked yet."""
    seen, numbers = observed(world), controlled(world)
    if seen is None:
        return random_agent(getattr(world, "num_states", 1), getattr(world, "num_actions", 1))
    values = NoValues(len(seen.low), getattr(world, "num_actions", 0))
    if numbers is None:
        return RandomAgent(values=values, rate=Cumulative(), carried=0.0, accepted=True)
    return RandomNumbers(
        values=values, rate=Cumulative(), carried=0.0, accepted=True, low=numbers.low[0], high=numbers.high[0]
    )


def _check_record(record: Value, name: str, before: Value) -> None:
    if not same(record, before):
        raise ValueError(f"the rules of {name} changed it in place; they must return a new one")
    try:
        restored = pickle.loads(pickle.dumps(record))
    except Exception as error:  # noqa: BLE001 - pickling may raise anything, and that is the answer
        raise TypeError(
            f"{name} cannot be pickled ({error}); define its class at the top level of a module"
        ) from None
    if not same(restored, record):
        raise ValueError(f"{name} is not the same after pickling")


def _check_runs(world: World, agent: Agent, name: str) -> None:
    fast = run(world, agent, steps=100, episodes=3, seed=5)
    again = run(world, agent, steps=100, episodes=3, seed=5)
    slow = run(world, agent, steps=100, episodes=3, seed=5, compiled=False)
    if not same(fast, again):
        raise ValueError(f"{name} gives two different runs for the same seed; take all randomness from rng")
    if not same(fast, slow):
        raise ValueError(f"{name} gives different runs compiled and interpreted")


def _transitions(count: int) -> tuple[Column, Column]:
    """Return positive, negative and zero rewards, over six orders of magnitude, and durations."""
    rng = np.random.default_rng(20)
    rewards = rng.choice([-1.0, 0.0, 1.0], size=count) * 10.0 ** rng.uniform(-3, 3, size=count)
    return rewards, 10.0 ** rng.uniform(-1, 0, size=count)


def _traces_agree(rate: Rate, expected: Column, rewards: Column, durations: Column) -> bool:
    trace = np.empty(len(rewards))
    _trace(rate, rewards, durations, trace)
    return bool(np.allclose(trace, expected, rtol=1e-9, atol=1e-12 * np.abs(expected).max()))


@kernel
def _trace(rate: Rate, rewards: Column, durations: Column, values: Column) -> None:
    """Write the rate after every update into `values`."""
    for k in range(len(rewards)):
        rate = _update(rate, rewards[k], durations[k])
        values[k] = _value(rate)


class NoisyWorld(NamedTuple):
    """A world of pure noise, for checking agents of any size."""

    num_states: int
    num_actions: int


@start.register
def start_noise(world: NoisyWorld, rng: Stream) -> tuple[NoisyWorld, int]:
    """Start in a random state."""
    return world, integer(rng, world.num_states)


@step.register
def step_noise(
    world: NoisyWorld, state: int, action: int, rng: Stream
) -> tuple[NoisyWorld, int, float, float]:
    """Go to a random state, with a positive, negative or zero reward; some steps take no time."""
    kind = integer(rng, 3)
    reward = (kind - 1.0) * (1.0 + action)
    return world, integer(rng, world.num_states), reward, 0.25 * integer(rng, 5)
