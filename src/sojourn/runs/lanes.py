"""Take the same step of many runs side by side, by the same rules as in a single run.

If actions affect neither the next state nor anything that the world keeps, all runs of one kind of agent are in the
same state at every step, and only their numbers differ. One kernel then takes a step of all runs before it goes on to
the next step, and the processor does for eight runs at once what it would do for one. The numbers are the same, to the
last bit, as those of the loop that makes one run after the other.

If a step of the world draws no random numbers, each action is tried only once for all runs, so costly steps are shared:
the sines of the two-state world are computed once for 32 runs. If it draws some, each run takes its own step.

All this is checked at every step. If actions do affect the world, or a step breaks the rules, `walk_lanes` returns
False, and the runs are made again, one after the other.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sojourn.agents.protocol import Agent, draw, learn
from sojourn.agents.values.protocol import num_missing, write_policy
from sojourn.rates.protocol import value
from sojourn.rules.arrays import Flags
from sojourn.rules.borrowed import borrowed
from sojourn.rules.bridge import Function, bridge, compiled_apart, inlined, written_out
from sojourn.rules.compile import kernel, no_rule, rule
from sojourn.rules.lanes import alike, chosen, for_each_lane, in_lane, one_lane, opened, put_lane
from sojourn.rules.stacks import put
from sojourn.rules.streams import Stream
from sojourn.rules.values import Value
from sojourn.rules.vectors import is_offered, is_state
from sojourn.runs.recording import Course, Curves, RunRows, Totals, counted, fold, has_diverged
from sojourn.worlds.protocol import World, start, step

_draw, _learn, _start, _step, _value = draw.bare, learn.bare, start.bare, step.bare, value.bare

WIDTH = 8  # numbers in a wide register: so many lanes are taken at once
_BLOCK = 200_000  # steps between two checks of the halt flag: a fraction of a second

Words: TypeAlias = npt.NDArray[np.uint64]  # streams
Numba: TypeAlias = Any  # one of Numba's types, which have no stubs


class Crew(NamedTuple):
    """The runs: in each part, the last axis is the lane."""

    agents: Agent
    totals: Totals
    rngs: Words
    world_rngs: Words
    astray: Flags  # lanes whose numbers must not be used


# --- What actions lead to -------------------------------------------------------------------


class Quiet(NamedTuple):
    """For worlds that draw nothing in a step: each action is tried once, and each lane takes the outcome of its own."""

    actions: tuple[int, ...]


class Drawing(NamedTuple):
    """For worlds that draw in a step: each lane takes its own step, with its own stream."""

    actions: tuple[int, ...]


Outlook: TypeAlias = Quiet | Drawing


class Foretold(NamedTuple):
    """The reward and the duration of each action."""

    rewards: tuple[float, ...]
    durations: tuple[float, ...]


class Untold(NamedTuple):
    """The world before a step and after it, for lanes that take the step themselves."""

    world: World
    after: World
    next_state: int
    rngs: Words


@rule()
def foreseen(
    outlook: Outlook, world: World, state: int, rng: Stream, rngs: Words
) -> tuple[World, int, Foretold | Untold, bool]:
    """Return the world after a step, the next state, what lanes need to take the step, and whether it can be foreseen."""
    raise no_rule("foreseen", outlook)


@rule()
def met(outcomes: Value, state: int, action: int, lane: int, num_states: int) -> tuple[float, float, bool]:
    """Return the reward and the duration of an action, and whether all was as foreseen."""
    raise no_rule("met", outcomes)


@inlined
def _is_legal(reward: float, duration: float) -> bool:
    return 0.0 <= duration < np.inf and abs(reward) < np.inf


def _each_action(
    world: World, state: int, rng: Stream, actions: tuple[int, ...]
) -> tuple[World, int, Foretold, bool]:
    """Try each action; all must lead to the same world and the same state, within the rules."""
    tried = [_step(world, state, action, rng) for action in actions]
    after, next_state, _, _ = tried[0]
    sound = all(
        alike(found[0], after) and found[1] == next_state and _is_legal(found[2], found[3]) for found in tried
    )
    return after, next_state, Foretold(tuple(t[2] for t in tried), tuple(t[3] for t in tried)), sound


def _resolve_each_action(world: Numba, state: Numba, rng: Numba, actions: Numba) -> Function:
    """Return the same for compiled code, written out, since the length of a tuple is part of its type."""
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
        f"    return world_0, state_0, Foretold(({rewards}), ({durations})), sound\n",
        {"step": _step, "alike": alike, "is_legal": _is_legal, "Foretold": Foretold},
    )


bridge(_each_action, _resolve_each_action)


@foreseen.register
def foreseen_by_trial(
    outlook: Quiet, world: World, state: int, rng: Stream, rngs: Words
) -> tuple[World, int, Foretold, bool]:
    """Try each action with the first lane's stream, which must remain unchanged."""
    stream = one_lane(rngs, 0)
    first, second, third, fourth = stream[0], stream[1], stream[2], stream[3]
    rng[0], rng[1], rng[2], rng[3] = first, second, third, fourth
    after, next_state, outcomes, sound = _each_action(world, state, rng, outlook.actions)
    undrawn = rng[0] == first and rng[1] == second and rng[2] == third and rng[3] == fourth
    return after, next_state, outcomes, sound and undrawn


@foreseen.register
def foreseen_by_one(
    outlook: Drawing, world: World, state: int, rng: Stream, rngs: Words
) -> tuple[World, int, Untold, bool]:
    """Take a step as the first lane would; the others must come to the same world and state."""
    stream = one_lane(rngs, 0)
    rng[0], rng[1], rng[2], rng[3] = stream[0], stream[1], stream[2], stream[3]
    after, next_state, _, _ = _step(world, state, 0, rng)
    return after, next_state, Untold(world, after, next_state, rngs), True


@met.register
def met_as_told(
    outcomes: Foretold, state: int, action: int, lane: int, num_states: int
) -> tuple[float, float, bool]:
    """Return the outcome of this lane's action."""
    return chosen(outcomes.rewards, action), chosen(outcomes.durations, action), True


@met.register
def met_on_the_way(
    outcomes: Untold, state: int, action: int, lane: int, num_states: int
) -> tuple[float, float, bool]:
    """Take the step."""
    after, next_state, reward, duration = _step(outcomes.world, state, action, one_lane(outcomes.rngs, lane))
    as_foreseen = next_state == outcomes.next_state and alike(after, outcomes.after)
    return reward, duration, as_foreseen and _is_legal(reward, duration)


# --- The loop -------------------------------------------------------------------------------


class Moment(NamedTuple):
    """What all lanes share in a step."""

    crew: Crew
    outcomes: Foretold | Untold
    state: int
    next_state: int
    num_states: int
    num_actions: int


@in_lane.register
def step_in_lane(now: Moment, lane: int) -> None:
    """Take one step of one run, as `_stretch` in `runs/loop.py` does, except that the next state is known."""
    crew, state = now.crew, now.state
    agent, totals = one_lane(crew.agents, lane), one_lane(crew.totals, lane)
    action: Any  # a whole number, where actions can be listed
    action, explored = _draw(agent, state, one_lane(crew.rngs, lane))
    offered = is_offered(state, action, now.num_states, now.num_actions)
    reward, duration, sound = met(now.outcomes, state, action, lane, now.num_states)
    agent = _learn(agent, state, action, reward, duration, now.next_state, explored)
    put_lane(crew.agents, lane, agent)
    put_lane(crew.totals, lane, counted(totals, reward, duration, agent.accepted))
    put_lane(crew.astray, lane, one_lane(crew.astray, lane) or not offered or not sound)


@compiled_apart
def _side_by_side(
    world: World, state: int, steps: int, count: int, crew: Crew, course: Course, outlook: Outlook
) -> tuple[World, int, bool]:
    """Take `steps` steps with all lanes; stop and return False if a step cannot be foreseen."""
    world, crew = borrowed(world), opened(crew, outlook.actions)
    rng = np.empty(4, dtype=np.uint64)
    for _ in range(steps):
        after, next_state, outcomes, sound = foreseen(outlook, world, state, rng, crew.world_rngs)
        if not (sound and is_state(next_state, course.num_states)):
            return world, state, False
        now = Moment(crew, outcomes, state, next_state, course.num_states, course.num_actions)
        for_each_lane(now, count)
        world, state = after, next_state
    return world, state, True


@inlined
def _begin(world: World, count: int, crew: Crew) -> tuple[World, int, bool]:
    """Begin an episode in all lanes; return False if they begin differently."""
    first, state = _start(world, one_lane(crew.world_rngs, 0))
    sound = True
    for lane in range(1, count):
        other, other_state = _start(world, one_lane(crew.world_rngs, lane))
        sound = sound and other_state == state and alike(other, first)
    return first, state, sound


@kernel
def walk_lanes(
    world: World, crew: Crew, course: Course, outlook: Outlook, curves: Curves, rows: RunRows, halt: Flags
) -> bool:
    """Make the runs of all lanes; write nothing and return False if their numbers must not be used."""
    world, state = borrowed(world), 0
    count, points = len(rows.which), curves.points
    wide = (count + WIDTH - 1) // WIDTH * WIDTH  # lanes that are left over repeat the last run
    lanes = opened(crew, outlook.actions)
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
            world, state, sound = _side_by_side(world, state, stop - steps, wide, crew, course, outlook)
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
        sound = sound and not one_lane(lanes.astray, lane)
    for lane in range(count if sound else 0):
        agent, row = one_lane(lanes.agents, lane), rows.which[lane]
        fold(curves, row, curve[lane])
        put(rows.totals, row, one_lane(lanes.totals, lane))
        rows.rates[row] = _value(agent.rate)
        rows.states[row] = state
        rows.diverged[row] = has_diverged(agent, missing[lane])
        write_policy(agent.values, rows.policies[row])
    return sound
