"""Running an agent in a world: one fused loop for every world, agent and estimator.

A seed makes two independent streams of random numbers, one for the world and one for the
agent: the same seed shows every agent the same world noise. The loop's memory does not
depend on the number of steps, and it can be interrupted at any time.
"""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sojourn.agents.checks import ready_agent
from sojourn.agents.protocol import described, draw, learn, policy
from sojourn.agents.values.protocol import is_sound, num_missing, restricted, sizes
from sojourn.rates.protocol import value
from sojourn.rules.compile import compiled_apart, first_meeting, inlined, kernel
from sojourn.rules.numbers import whole
from sojourn.rules.random import Stream, streams
from sojourn.rules.values import Column, canonical, copied, replaced
from sojourn.runs.rehearse import rehearse
from sojourn.worlds.checks import explain_step, ready_world
from sojourn.worlds.protocol import start, step

Points: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]

_draw, _learn, _start, _step, _value = draw.bare, learn.bare, start.bare, step.bare, value.bare

_BLOCK = 5_000_000  # steps between two looks at the keyboard: a fraction of a second
NEVER = np.iinfo(np.int64).max
_NO_HALT = np.zeros(1, dtype=np.bool_)
_NO_POINTS: Points = np.zeros(0, dtype=np.int64)


class Curve(NamedTuple):
    """What a run had come to after each of some numbers of steps.

    step            how many steps had been made
    reward          the reward of all of them together
    greedy_reward   that of the accepted ones
    clock           the time that they took
    rate            the estimated rate then

    >>> import sojourn as sj
    >>> world = sj.Tabular(sj.problems.long_return())
    >>> curve = run(world, sj.policy_agent([0, 0], num_actions=2), steps=100, record=3).curve
    >>> curve.step, curve.reward, curve.clock
    (array([  1,  10, 100]), array([  30.,  150., 1500.]), array([  2.,  15., 150.]))
    """

    step: Points
    reward: Column
    greedy_reward: Column
    clock: Column
    rate: Column


class Run(NamedTuple):
    """One run: the trained agent, the totals, and how they came about.

    The `greedy_` figures are over accepted steps only, those that took the greedy action
    in the agent's reading. `duration` is the total time, the clock at the end. `diverged` says
    that the rate or a number in Q is no longer finite; an action that was -inf from the
    beginning is one that there is not. `rate` is the agent's own estimate, `reward / duration`
    what was earned.

    >>> import sojourn as sj
    >>> world = sj.Tabular(sj.problems.long_return())  # 30 in a time of 2, then the way back in 1
    >>> result = run(world, sj.policy_agent([0, 0], num_actions=2), steps=100)
    >>> result.reward, result.duration, result.rate
    (1500.0, 150.0, 10.0)
    """

    agent: Any
    rate: float
    reward: float
    duration: float
    greedy_reward: float
    greedy_duration: float
    greedy_steps: int
    steps: int
    seed: int
    curve: Curve
    diverged: bool

    @property
    def policy(self) -> Points:
        """The greedy action of every state after training."""
        return policy(self.agent)


def run(
    world: Any,
    agent: Any,
    steps: int,
    episodes: int = 1,
    *,
    seed: int = 0,
    record: int | Points = 100,
    compiled: bool = True,
) -> Run:
    """Let `agent` learn in `world` for some episodes of so many steps each.

    `record` asks for a curve: a number of log-spaced points, or an array of step counts
    such as `evenly_spaced(steps, 1000)`. With `compiled=False` the same source runs in
    Python, about a thousand times slower, for a debugger.

    >>> from sojourn.agents.named import harmonic_r
    >>> from sojourn.worlds.two_state import TwoState
    >>> agent = harmonic_r(num_states=2, num_actions=2, step_size=0.01, rate_step_size=0.01)
    >>> result = run(TwoState(log_scale=1e-3), agent, steps=1000, episodes=4, seed=0)
    >>> result.steps
    4000
    """
    steps, episodes = whole("steps", steps), whole("episodes", episodes)
    world, agent = ready(world, agent)
    seed = whole("seed", seed, least=0)
    _bounded(steps * episodes)
    points = record_points(record, steps * episodes)
    result = walk_through(world, agent, steps, episodes, seed, streams(seed, 2), points, compiled)
    if result.diverged:
        warnings.warn(
            f"{described(agent)} diverged: its values or its rate are no longer finite; "
            "smaller step sizes may help",
            RuntimeWarning,
            stacklevel=2,
        )
    return result


def _bounded(total: int) -> None:
    if total >= NEVER:
        raise ValueError(f"steps times episodes is {total}; it must be less than 2^63")


def log_spaced(total: int, count: int) -> Points:
    """Return at most `count` different step counts from 1 to `total`, evenly spaced in log.

    >>> log_spaced(1000, 4)
    array([   1,   10,  100, 1000])
    """
    total, count = whole("total", total), whole("count", count, least=0)
    return np.unique(np.rint(np.geomspace(1, total, count)).astype(np.int64)) if count else _NO_POINTS


def evenly_spaced(total: int, count: int) -> Points:
    """Return at most `count` different step counts up to `total`, evenly spaced.

    >>> evenly_spaced(1000, 4)
    array([ 250,  500,  750, 1000])
    """
    total, count = whole("total", total), whole("count", count, least=0)
    count = min(count, total)
    return np.arange(1, count + 1, dtype=np.int64) * total // max(count, 1)


def record_points(record: Any, total: int) -> Points:
    """Return the step counts that `record` asks for in a run of `total` steps."""
    if np.ndim(record) == 0:
        return log_spaced(total, record)
    points = np.asarray(record)
    if points.ndim != 1 or points.dtype.kind not in "iu":
        raise TypeError("record must be a whole number or a flat sequence of step counts")
    if points.size and not (points[0] >= 1 and points[-1] <= total and (np.diff(points) > 0).all()):
        raise ValueError(f"record must ascend from at least 1 to at most the {total} steps of the run")
    return points.astype(np.int64)


def ready(world: Any, agent: Any) -> tuple[Any, Any]:
    """Return world and agent as the loop needs them, or say what is wrong with them."""
    world, agent = ready_world(world), ready_agent(agent)
    wanted = (world.num_states, world.num_actions)
    if sizes(agent.values) != wanted:
        raise ValueError(
            f"the agent's values have the shape {sizes(agent.values)}, but {type(world).__name__} has "
            f"{wanted[0]} states and {wanted[1]} actions"
        )
    agent = without_missing(world, agent)
    if first_meeting(world, agent):
        rehearse(world, agent)
    return world, agent


def without_missing(world: Any, agent: Any) -> Any:
    """Return an agent, or a stack of them, that does not take an action which a state does not have."""
    available = getattr(world, "available", None)
    if available is None or available.all():
        return agent
    return replaced(agent, values=restricted(agent.values, available))


# --- The loop -----------------------------------------------------------------------


class Walk(NamedTuple):
    """Where a run stands between two steps."""

    world: Any
    agent: Any
    state: int
    steps: int
    reward: float
    clock: float
    greedy_reward: float
    greedy_duration: float
    greedy_steps: int


@compiled_apart
def go_on(
    walk: Walk,
    until: int,
    episode: int,
    sizes: tuple[int, int],
    points: Points,
    curve: Any,
    fault: Column,
    halt: Any,
    world_rng: Stream,
    agent_rng: Stream,
) -> Walk:
    """Go on until step `until`, recording on the way, or to a step that breaks the rules, or to a halt."""
    recorded = np.searchsorted(points, walk.steps, side="right")
    while walk.steps < until and fault[0] == 0.0 and not halt[0]:
        if walk.steps % episode == 0:
            walk = _begin(walk, world_rng)
        stop = min(until, points[recorded], (walk.steps // episode + 1) * episode, walk.steps + _BLOCK)
        walk = _stretch(walk, stop - walk.steps, sizes, fault, world_rng, agent_rng)
        if walk.steps == points[recorded]:
            curve[0, recorded] = walk.reward
            curve[1, recorded] = walk.greedy_reward
            curve[2, recorded] = walk.clock
            curve[3, recorded] = _value(walk.agent.rate)
            recorded += 1
    return walk


_walk = kernel(go_on)


@compiled_apart
def _stretch(
    walk: Walk, count: int, sizes: tuple[int, int], fault: Column, world_rng: Stream, agent_rng: Stream
) -> Walk:
    """Take `count` steps. Everything that is done in every step is done here."""
    world, agent, state, steps = walk.world, walk.agent, walk.state, walk.steps
    total, clock = walk.reward, walk.clock
    greedy_reward, greedy_duration, greedy_steps = walk.greedy_reward, walk.greedy_duration, walk.greedy_steps
    num_states, num_actions = sizes
    if not 0 <= state < num_states:
        _blame(fault, -1, -1, 0.0, 1.0, state)
        return Walk(world, agent, state, steps, total, clock, greedy_reward, greedy_duration, greedy_steps)
    # A return and not a break for a fault: with a break, Numba counts references in every step.
    for _ in range(count):
        action, explored = _draw(agent, state, agent_rng)
        if not 0 <= action < num_actions:
            _blame(fault, state, action, 0.0, 1.0, 0)
            return Walk(
                world, agent, state, steps, total, clock, greedy_reward, greedy_duration, greedy_steps
            )
        world, next_state, reward, duration = _step(world, state, action, world_rng)
        if not (0 <= next_state < num_states and 0.0 < duration < np.inf and abs(reward) < np.inf):
            _blame(fault, state, action, reward, duration, next_state)
            return Walk(
                world, agent, state, steps, total, clock, greedy_reward, greedy_duration, greedy_steps
            )
        agent = _learn(agent, state, action, reward, duration, next_state, explored)
        total += reward
        clock += duration
        if agent.accepted:
            greedy_reward += reward
            greedy_duration += duration
            greedy_steps += 1
        state = next_state
        steps += 1
    return Walk(world, agent, state, steps, total, clock, greedy_reward, greedy_duration, greedy_steps)


@inlined
def has_diverged(agent: Any, missing: int) -> bool:
    """Whether the rate or a value is no longer finite, where so many were -inf from the beginning."""
    return not (abs(_value(agent.rate)) < np.inf and is_sound(agent.values, missing))


@inlined
def _begin(walk: Walk, world_rng: Stream) -> Walk:
    """Begin an episode."""
    world, state = _start(walk.world, world_rng)
    return Walk(
        world,
        walk.agent,
        state,
        walk.steps,
        walk.reward,
        walk.clock,
        walk.greedy_reward,
        walk.greedy_duration,
        walk.greedy_steps,
    )


@inlined
def _blame(fault: Column, state: int, action: int, reward: float, duration: float, next_state: int) -> None:
    """Note a step that breaks the rules."""
    fault[0] = 1.0
    fault[1] = state
    fault[2] = action
    fault[3] = reward
    fault[4] = duration
    fault[5] = next_state


def walk_through(
    world: Any,
    agent: Any,
    steps: int,
    episodes: int,
    seed: int,
    rngs: list[Stream],
    points: Points,
    compiled: bool = True,
) -> Run:
    """Run what has been made ready. The streams in `rngs` are used up."""
    total = steps * episodes
    curve, ends, fault = np.empty((4, len(points))), np.append(points, NEVER), np.zeros(6)
    sizes = (world.num_states, world.num_actions)
    walk = Walk(world, copied(agent), 0, 0, 0.0, 0.0, 0.0, 0.0, 0)
    # Compiled, a walk is made into Python objects again in the end, and Numba cannot bear to be
    # interrupted there. Signals reach the main thread only, so the work is done in another.
    with ThreadPoolExecutor(1) as pool:
        while walk.steps < total:
            until = min(total, walk.steps + _BLOCK)
            arguments: Any = (walk, until, steps, sizes, ends, curve, fault, _NO_HALT, *rngs)
            walk = pool.submit(_walk, *arguments).result() if compiled else _walk.python(*arguments)
            if fault[0]:
                raise ValueError(explain(world, agent, walk.steps, *fault[1:]))
    if not compiled:
        walk = canonical(walk)  # the rules leave NumPy scalars where compiled code leaves floats
    return Run(
        agent=walk.agent,
        rate=float(value(walk.agent.rate)),
        reward=walk.reward,
        duration=walk.clock,
        greedy_reward=walk.greedy_reward,
        greedy_duration=walk.greedy_duration,
        greedy_steps=walk.greedy_steps,
        steps=total,
        seed=seed,
        curve=Curve(points, *curve),
        diverged=has_diverged(walk.agent, num_missing(agent.values)),
    )


def explain(
    world: Any,
    agent: Any,
    at: int,
    state: float,
    action: float,
    reward: float,
    duration: float,
    next_state: float,
) -> str:
    """Say in one sentence which rule a step broke."""
    actions = world.num_actions - 1
    if state >= 0 and not 0 <= action <= actions:
        return f"draw of {type(agent).__name__} returned the action {action:.0f} at step {at}; actions are 0 to {actions}"
    return explain_step(world, type(agent).__name__, at, state, action, reward, duration, next_state)
