"""Takes the same step of many runs in SIMD lanes, with the same rules as a single run.

If actions affect neither the next state nor anything else that the world keeps, all runs of one kind of agent are in
the same state at every step, and only their numbers differ. One kernel then takes a step of all runs before the next
step, and the processor handles eight runs with the instructions of one. The numbers are bit for bit those of the loop
that makes one run after the other.

If a step of the world draws no random numbers, each action is tried only once for all runs, so costly steps are
shared: the sines of the two-state world are computed once for 32 runs. Otherwise each run takes its own step.

All this is checked at every step. If actions do affect the world, or a step breaks the rules, `walk_lanes` returns
False, and the runs are repeated one by one.

Lanes are used if the agent learns by rules without loops, in a world that is unaffected by its actions, and if there
are enough runs to repay the compilation. The numbers are the same either way. Only `runs/batch.py` imports this file,
and only then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sojourn.agents.learning import LearningAgent
from sojourn.agents.methods import Relative
from sojourn.agents.protocol import Agent, draw, learn
from sojourn.agents.values.protocol import Table, num_missing, write_policy
from sojourn.rates.protocol import value
from sojourn.rules.arrays import Flags, Ints
from sojourn.rules.borrowed import borrowed
from sojourn.rules.bridge import Function, Numba, bridge, compiled_apart, inlined, written_out
from sojourn.rules.jit.lanes.lane import (
    alike,
    chosen,
    for_each_lane,
    in_lane,
    in_lanes,
    one_lane,
    opened,
    put_lane,
)
from sojourn.rules.kernel import kernel
from sojourn.rules.random import Stream
from sojourn.rules.rule import no_rule, rule
from sojourn.rules.values import LANES, Field, Value, is_value, put
from sojourn.rules.vectors import is_offered, is_state
from sojourn.runs.recording import Course, Curves, RunRows, Totals, counted, fold, has_diverged
from sojourn.worlds.protocol import World, controlled, is_unswayed, observed, start, step
from sojourn.worlds.truth import watched

_draw, _learn, _start, _step, _value = draw.bare, learn.bare, start.bare, step.bare, value.bare

WIDTH = 8  # numbers in a SIMD register
MOST_ACTIONS = 4  # at most this many actions, since all of a state's values are read to select one
_BLOCK = 200_000  # steps between two checks of the halt flag: a fraction of a second

Words: TypeAlias = npt.NDArray[np.uint64]  # streams


class LaneRuns(NamedTuple):
    """The runs; in each field, the last axis is the lane."""

    agents: Agent
    totals: Totals
    rngs: Words
    world_rngs: Words
    invalid: Flags  # lanes whose results must be discarded


# --- The world's step -----------------------------------------------------------------------


class Shared(NamedTuple):
    """For worlds that draw nothing in a step: each action is tried once, and each lane selects its own outcome."""

    actions: tuple[int, ...]


class PerLane(NamedTuple):
    """For worlds that draw random numbers in a step: each lane takes its own step, with its own stream."""

    actions: tuple[int, ...]


Mode: TypeAlias = Shared | PerLane


class ActionOutcomes(NamedTuple):
    """The reward and the duration of each action."""

    rewards: tuple[float, ...]
    durations: tuple[float, ...]


class OwnSteps(NamedTuple):
    """The world before a step and after it, for lanes that take the step themselves."""

    world: World
    after: World
    next_state: int
    rngs: Words


@rule()
def world_step(
    mode: Mode, world: World, state: int, rng: Stream, rngs: Words
) -> tuple[World, int, ActionOutcomes | OwnSteps, bool]:
    """Return the world after a step, the next state, what lanes need to take the step, and whether lanes can take it."""
    raise no_rule("world_step", mode)


@rule()
def lane_outcome(
    outcomes: Value, state: int, action: int, lane: int, num_states: int
) -> tuple[float, float, bool]:
    """Return the reward and the duration of an action, and whether the world moved as expected."""
    raise no_rule("lane_outcome", outcomes)


@inlined
def _is_legal(reward: float, duration: float) -> bool:
    return 0.0 <= duration < np.inf and abs(reward) < np.inf


def _each_action(
    world: World, state: int, rng: Stream, actions: tuple[int, ...]
) -> tuple[World, int, ActionOutcomes, bool]:
    """Try each action; all must lead to the same world and the same state, within the rules."""
    tried = [_step(world, state, action, rng) for action in actions]
    after, next_state, _, _ = tried[0]
    sound = all(
        alike(found[0], after) and found[1] == next_state and _is_legal(found[2], found[3]) for found in tried
    )
    return after, next_state, ActionOutcomes(tuple(t[2] for t in tried), tuple(t[3] for t in tried)), sound


def _resolve_each_action(world: Numba, state: Numba, rng: Numba, actions: Numba) -> Function:
    """Return the same for compiled code, generated, since the length of a tuple is part of its type."""
    numbers = range(actions.count)
    steps = "".join(
        f"    world_{i}, state_{i}, reward_{i}, duration_{i} = step(world, state, {i}, rng)\n"
        f"    sound = sound and state_{i} == state_0 and alike(world_{i}, world_0)\n"
        f"    sound = sound and is_legal(reward_{i}, duration_{i})\n"
        for i in numbers
    )
    rewards, durations = ("".join(f"{part}_{i}, " for i in numbers) for part in ("reward", "duration"))
    return written_out(
        f"def function(world, state, rng, actions):\n    sound = True\n{steps}"
        f"    return world_0, state_0, ActionOutcomes(({rewards}), ({durations})), sound\n",
        {"step": _step, "alike": alike, "is_legal": _is_legal, "ActionOutcomes": ActionOutcomes},
    )


bridge(_each_action, _resolve_each_action)


@world_step.register
def step_by_trial(
    mode: Shared, world: World, state: int, rng: Stream, rngs: Words
) -> tuple[World, int, ActionOutcomes, bool]:
    """Try each action with the first lane's stream, which must remain unchanged."""
    stream = one_lane(rngs, 0)
    first, second, third, fourth = stream[0], stream[1], stream[2], stream[3]
    rng[0], rng[1], rng[2], rng[3] = first, second, third, fourth
    after, next_state, outcomes, sound = _each_action(world, state, rng, mode.actions)
    undrawn = rng[0] == first and rng[1] == second and rng[2] == third and rng[3] == fourth
    return after, next_state, outcomes, sound and undrawn


@world_step.register
def step_by_one(
    mode: PerLane, world: World, state: int, rng: Stream, rngs: Words
) -> tuple[World, int, OwnSteps, bool]:
    """Take a step as the first lane would; the others must come to the same world and state."""
    stream = one_lane(rngs, 0)
    rng[0], rng[1], rng[2], rng[3] = stream[0], stream[1], stream[2], stream[3]
    after, next_state, _, _ = _step(world, state, 0, rng)
    return after, next_state, OwnSteps(world, after, next_state, rngs), True


@lane_outcome.register
def outcome_by_action(
    outcomes: ActionOutcomes, state: int, action: int, lane: int, num_states: int
) -> tuple[float, float, bool]:
    """Return the outcome of this lane's action."""
    return chosen(outcomes.rewards, action), chosen(outcomes.durations, action), True


@lane_outcome.register
def outcome_by_step(
    outcomes: OwnSteps, state: int, action: int, lane: int, num_states: int
) -> tuple[float, float, bool]:
    """Take the step."""
    after, next_state, reward, duration = _step(outcomes.world, state, action, one_lane(outcomes.rngs, lane))
    as_expected = next_state == outcomes.next_state and alike(after, outcomes.after)
    return reward, duration, as_expected and _is_legal(reward, duration)


# --- The loop -------------------------------------------------------------------------------


class LaneStep(NamedTuple):
    """What all lanes share in a step."""

    runs: LaneRuns
    outcomes: ActionOutcomes | OwnSteps
    state: int
    next_state: int
    num_states: int
    num_actions: int


@in_lane.register
def step_in_lane(now: LaneStep, lane: int) -> None:
    """Take one step of one run, as `_stretch` in `runs/loop.py` does, except that the next state is known."""
    runs, state = now.runs, now.state
    agent, totals = one_lane(runs.agents, lane), one_lane(runs.totals, lane)
    action: Any  # an int, where actions can be enumerated
    action, explored = _draw(agent, state, one_lane(runs.rngs, lane))
    offered = is_offered(state, action, now.num_states, now.num_actions)
    reward, duration, sound = lane_outcome(now.outcomes, state, action, lane, now.num_states)
    agent = _learn(agent, state, action, reward, duration, now.next_state, explored)
    put_lane(runs.agents, lane, agent)
    put_lane(runs.totals, lane, counted(totals, reward, duration, agent.accepted))
    put_lane(runs.invalid, lane, one_lane(runs.invalid, lane) or not offered or not sound)


@compiled_apart
def _side_by_side(
    world: World, state: int, steps: int, count: int, runs: LaneRuns, course: Course, mode: Mode
) -> tuple[World, int, bool]:
    """Take `steps` steps with all lanes; return False at a step that they cannot share."""
    world, runs = borrowed(world), opened(runs, mode.actions)
    rng = np.empty(4, dtype=np.uint64)
    for _ in range(steps):
        after, next_state, outcomes, sound = world_step(mode, world, state, rng, runs.world_rngs)
        if not (sound and is_state(next_state, course.num_states)):
            return world, state, False
        now = LaneStep(runs, outcomes, state, next_state, course.num_states, course.num_actions)
        for_each_lane(now, count)
        world, state = after, next_state
    return world, state, True


@inlined
def _begin(world: World, count: int, runs: LaneRuns) -> tuple[World, int, bool]:
    """Begin an episode in all lanes; return False if they begin differently."""
    first, state = _start(world, one_lane(runs.world_rngs, 0))
    sound = True
    for lane in range(1, count):
        other, other_state = _start(world, one_lane(runs.world_rngs, lane))
        sound = sound and other_state == state and alike(other, first)
    return first, state, sound


@kernel
def walk_lanes(
    world: World, runs: LaneRuns, course: Course, mode: Mode, curves: Curves, rows: RunRows, halt: Flags
) -> bool:
    """Make the runs of all lanes; if their results must be discarded, write nothing and return False."""
    world, state = borrowed(world), 0
    count, points = len(rows.which), curves.points
    wide = (count + WIDTH - 1) // WIDTH * WIDTH  # surplus lanes repeat the last run
    lanes = opened(runs, mode.actions)
    curve = np.empty((count, *curves.means.shape[1:]))
    missing = np.empty(count, dtype=np.int64)
    for lane in range(count):
        missing[lane] = num_missing(one_lane(lanes.agents, lane).values)
    steps, recorded, sound = 0, 0, True
    while points[recorded] <= steps:
        recorded += 1
    while steps < course.until and sound and not halt[0]:
        if steps % course.episode == 0:
            world, state, sound = _begin(world, wide, lanes)
            sound = sound and is_state(state, course.num_states)
        stop = min(
            course.until, points[recorded], (steps // course.episode + 1) * course.episode, steps + _BLOCK
        )
        if sound:
            world, state, sound = _side_by_side(world, state, stop - steps, wide, runs, course, mode)
        steps = stop
        if steps == points[recorded]:
            for lane in range(count):
                totals = one_lane(lanes.totals, lane)
                curve[lane, 0, recorded] = totals.reward  # in the order of PARTS
                curve[lane, 1, recorded] = totals.greedy_reward
                curve[lane, 2, recorded] = totals.duration
                curve[lane, 3, recorded] = _value(one_lane(lanes.agents, lane).rate)
            recorded += 1
    for lane in range(wide):
        sound = sound and not one_lane(lanes.invalid, lane)
    for lane in range(count if sound else 0):
        agent, row = one_lane(lanes.agents, lane), rows.which[lane]
        fold(curves, row, curve[lane])
        put(rows.totals, row, one_lane(lanes.totals, lane))
        rows.rates[row] = _value(agent.rate)
        rows.states[row] = state
        rows.diverged[row] = has_diverged(agent, missing[lane])
        write_policy(agent.values, rows.policies[row])
    return sound


# --- Which runs are taken in lanes -----------------------------------------------------------


class LaneGroup(NamedTuple):
    """Runs that lanes can take: a stack of agents in one world, with the streams [run, world or agent, word]."""

    world: World
    agents: Agent
    rngs: Words
    course: Course
    mode: Mode
    one_world: bool  # whether the world starts the same for all seeds


def lane_group(world: World, agents: Agent, rngs: Words, course: Course) -> LaneGroup | None:
    """Return runs as a group, or None if lanes cannot take them, or would not pay."""
    fits = (
        is_unswayed(world)
        and observed(world) is None
        and controlled(world) is None
        and not watched.knows(type(world))
        and world.num_actions <= MOST_ACTIONS
        and course.time == np.inf
        and _is_loop_free(agents)
    )
    if not fits or len(rngs) < WIDTH:
        return None
    actions = tuple(range(world.num_actions))
    mode = PerLane(actions) if _draws(world, rngs[0, 0]) else Shared(actions)
    others = np.flatnonzero((rngs[:, 0] != rngs[0, 0]).any(axis=1))
    begun = [_start(world, rngs[row, 0].copy())[0] for row in (0, *others[:1])]
    return LaneGroup(world, agents, rngs, course, mode, alike(begun[0], begun[-1]))


def _is_loop_free(agents: Agent) -> bool:
    """Whether agents learn by rules that loop over nothing but actions: they consist of numbers and tables only."""
    return (
        type(agents) is LearningAgent and not isinstance(agents.method, Relative) and _has_plain_parts(agents)
    )


def _has_plain_parts(part: Field) -> bool:
    if isinstance(part, Table):
        return part.q.ndim == 3
    return all(map(_has_plain_parts, part)) if is_value(part) else part.ndim == 1


def _draws(world: World, rng: Stream) -> bool:
    """Whether a world draws random numbers in its first step."""
    rng = rng.copy()
    begun, state = _start(world, rng)
    before = rng.copy()
    for action in range(world.num_actions):
        _step(begun, state, action, rng)
    return not np.array_equal(rng, before)


def chunks(group: LaneGroup, seeds: Ints, per_curve: int) -> list[Ints]:
    """Return the indices of runs to be taken together; `seeds` says which share a seed.

    Runs that share a curve, `per_curve` of them, stay in order, because their mean depends on it.
    """
    runs = np.arange(len(seeds))
    if group.one_world:
        same = [runs]
    else:
        kinds = runs % per_curve * (seeds.max() + 1) + seeds
        order = np.argsort(kinds, kind="stable")
        same = np.split(order, np.flatnonzero(np.diff(kinds[order])) + 1)
    return [some for these in same for some in np.array_split(these, -(-len(these) // LANES))]


def run_in_lanes(
    group: LaneGroup, seeds: Ints, curves: Curves, rows: RunRows, halt: Flags, compiled: bool = True
) -> Iterator[Ints]:
    """Make runs in lanes; yield the indices of those that have to be made one by one."""
    parts = chunks(group, seeds, curves.group)
    if len(seeds) < WIDTH * len(parts):
        yield np.arange(len(seeds))
        return
    walk: Callable[..., bool] | None = None if compiled else walk_lanes.python
    everything = LaneRuns(
        agents=group.agents,
        totals=rows.totals,
        rngs=group.rngs[:, 1],
        world_rngs=group.rngs[:, 0],
        invalid=np.zeros(len(seeds), dtype=np.bool_),
    )
    for some in parts:
        runs, part = in_lanes(everything, some), rows._replace(which=some)
        arguments = (group.world, runs, group.course, group.mode, curves, part, halt)
        walk = walk or walk_lanes.prepared(*arguments)  # all chunks are of the same types
        if not walk(*arguments):
            yield some
