"""Which runs are taken side by side: the library chooses, and no number depends on it.

The runs must be of an agent that learns by rules without loops, in a world whose course the actions do not change, and
so many that the time which is saved is more than compiling takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from sojourn.agents.learning import LearningAgent
from sojourn.agents.methods import Relative
from sojourn.agents.protocol import Agent
from sojourn.agents.values.protocol import Table
from sojourn.rules.arrays import Flags, Ints
from sojourn.rules.bridge import is_plain
from sojourn.rules.lane_count import LANES
from sojourn.rules.lanes import alike, in_lanes
from sojourn.rules.streams import Stream
from sojourn.rules.values import Field, is_value
from sojourn.runs.course import Course
from sojourn.runs.kept import Curves, Rows
from sojourn.runs.lanes import WIDTH, Crew, Drawing, Outlook, Quiet, Words, walk_lanes
from sojourn.worlds.protocol import World, controlled, is_unswayed, observed, start, step
from sojourn.worlds.truth import watched

_start, _step = start.bare, step.bare

LANES_PAY = 100_000_000  # steps: what they save by then is what compiling costs
MOST_ACTIONS = 4  # all actions' values of a state are read where one is asked for


class Party(NamedTuple):
    """Runs that can be taken side by side: a stack of agents in one world, with the streams [run, world or agent, word]."""

    world: World
    agents: Agent
    rngs: Words
    course: Course
    outlook: Outlook
    one_world: bool  # whether worlds begin alike whatever the seed


def party_of(world: World, agents: Agent, rngs: Words, course: Course) -> Party | None:
    """Return runs as a party, or None if they cannot be taken side by side, or not with profit."""
    rows = len(rngs)
    fits = (
        is_unswayed(world)
        and observed(world) is None
        and controlled(world) is None
        and not watched.knows(type(world))
        and world.num_actions <= MOST_ACTIONS
        and course.time == np.inf
        and _is_plain(agents)
    )
    if not fits or rows < WIDTH or is_plain("lanes"):
        return None
    actions = tuple(range(world.num_actions))
    outlook = Drawing(actions) if _draws(world, rngs[0, 0]) else Quiet(actions)
    others = np.flatnonzero((rngs[:, 0] != rngs[0, 0]).any(axis=1))
    begun = [_start(world, rngs[row, 0].copy())[0] for row in (0, *others[:1])]
    return Party(world, agents, rngs, course, outlook, alike(begun[0], begun[-1]))


def _is_plain(agents: Agent) -> bool:
    """Whether agents learn by rules that know of no loop but over actions: all they have are numbers and tables."""
    return (
        type(agents) is LearningAgent and not isinstance(agents.method, Relative) and _has_plain_parts(agents)
    )


def _has_plain_parts(part: Field) -> bool:
    if isinstance(part, Table):
        return part.q.ndim == 3
    return all(map(_has_plain_parts, part)) if is_value(part) else part.ndim == 1


def _draws(world: World, rng: Stream) -> bool:
    """Whether a world draws numbers in its first step."""
    rng = rng.copy()
    begun, state = _start(world, rng)
    before = rng.copy()
    for action in range(world.num_actions):
        _step(begun, state, action, rng)
    return not np.array_equal(rng, before)


def shifts(party: Party, seeds: Ints, group: int) -> list[Ints]:
    """Return the numbers of runs to be taken side by side; `seeds` tells which have the same seed.

    Runs that share a curve, `group` of them, are in the order of their numbers, as their mean needs them.
    """
    runs = np.arange(len(seeds))
    if party.one_world:
        alike = [runs]
    else:
        kinds = runs % group * (seeds.max() + 1) + seeds
        order = np.argsort(kinds, kind="stable")
        alike = np.split(order, np.flatnonzero(np.diff(kinds[order])) + 1)
    return [some for these in alike for some in np.array_split(these, -(-len(these) // LANES))]


def walk_abreast(
    party: Party, seeds: Ints, curves: Curves, rows: Rows, halt: Flags, compiled: bool = True
) -> Iterator[Ints]:
    """Make runs side by side; yield the numbers of those that are to be made one after the other, at once."""
    all_shifts = shifts(party, seeds, curves.group)
    if len(seeds) < WIDTH * len(all_shifts):
        yield np.arange(len(seeds))
        return
    walk: Callable[..., bool] | None = None if compiled else walk_lanes.python
    everybody = Crew(
        agents=party.agents,
        totals=rows.totals,
        rngs=party.rngs[:, 1],
        world_rngs=party.rngs[:, 0],
        astray=np.zeros(len(seeds), dtype=np.bool_),
    )
    for some in all_shifts:
        crew, chosen = in_lanes(everybody, some), rows._replace(which=some)
        told = (party.world, crew, party.course, party.outlook, curves, chosen, halt)
        walk = walk or walk_lanes.prepared(*told)  # all shifts are of the same types
        if not walk(*told):
            yield some
