"""Four rooms with options that go from hallway to hallway."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sojourn.data.numbers import finite, probability
from sojourn.models.matrices import from_arrays
from sojourn.models.option_models import Option, primitive
from sojourn.models.smdp import SMDP
from sojourn.models.transitions import Transition, from_transitions
from sojourn.rules.door import told

_PLAN = (
    "#############",
    "#     #     #",
    "#     #     #",
    "#           #",
    "#     #     #",
    "#     #     #",
    "## ####     #",
    "#     ### ###",
    "#     #     #",
    "#     #     #",
    "#           #",
    "#     #     #",
    "#############",
)
_CELLS = [(row, column) for row, line in enumerate(_PLAN) for column, mark in enumerate(line) if mark == " "]
_NUMBER = {cell: number for number, cell in enumerate(_CELLS)}
_MOVES = (("up", -1, 0), ("right", 0, 1), ("down", 1, 0), ("left", 0, -1))
_RARE = 1e-6  # the probability below which the longer ways of an option are lumped together
_LONGEST = 2000  # steps that an option may take, but for such a probability; each length is a transition
_HALLWAYS = {"north": (3, 6), "west": (6, 2), "east": (7, 9), "south": (10, 6)}
_ROOMS = {  # rows and columns, and the two hallways
    "upper left": (range(1, 6), range(1, 6), ("north", "west")),
    "upper right": (range(1, 7), range(7, 12), ("north", "east")),
    "lower left": (range(7, 12), range(1, 6), ("west", "south")),
    "lower right": (range(8, 12), range(7, 12), ("east", "south")),
}


@told
def four_rooms(
    *,
    goal: str | tuple[int, int] = "east",
    with_options: bool = True,
    with_primitives: bool = True,
    slip: float = 1.0 / 3.0,
    goal_reward: float = 1.0,
) -> SMDP:
    """Four rooms: single steps, and options that go to a hallway, however long that takes.

    A step succeeds with probability 2/3; otherwise it goes in one of the three other directions, equally
    likely. A step against a wall stays in place. Each of the eight options belongs to a room and goes to one of its
    two hallways. It can begin in the room and in the room's other hallway, follows a shortest path
    (of equal ones, the first of up, right, down, left), and ends as soon as it is outside the
    room; hallways are outside. Where it ends and after how many steps is computed from the single steps. So
    the means are those of `sojourn.models.from_options`, and simulated durations are whole numbers
    (except for about one in a million, which is longer and gets the mean of such durations). If steps slip so often that
    an option may take more than 2,000 steps, it is refused. The goal is a hallway or a cell
    (row, column) of the 13 by 13 plan with its walls. Reaching it leads back to the start in the same step and ends an option.

    States: all cells but the goal, row by row; 0, the upper left corner, is the start.

    Actions: 0 to 3 are the steps up, right, down and left; 4 to 11 are the options, two for each room.
    Either kind can be left out; without steps, the options are 0 to 7.

    Rewards: 1 for reaching the goal, 0 otherwise.

    Durations: the number of steps: 1 for a step, and as many as it takes for an option.

    Source: R. S. Sutton, D. Precup and S. Singh, "Between MDPs and semi-MDPs", Artificial Intelligence 112, 1999.

    >>> [four_rooms(with_primitives=with_steps).num_pairs for with_steps in (True, False)]  # 103 * 6, 103 * 2
    [618, 206]
    """
    end = _goal(goal)
    if not (with_options or with_primitives):
        raise ValueError("there are neither options nor primitives; leave out at most one of them")
    steps = _steps(end, probability("slip", slip), finite("goal_reward", goal_reward))
    options = [primitive(steps, action) for action in range(4)] if with_primitives else []
    if with_options:
        options += _to_hallways(end)
    rows: list[Transition] = []
    for action, option in enumerate(options):
        for state, after, chance, length in _lengths(steps, option):
            if state != end:
                reward = goal_reward if after == end else 0.0
                rows.append((_shifted(state, end), action, _shifted(after, end), chance, reward, length))
    names = [f"({row}, {column})" for row, column in _CELLS if _NUMBER[row, column] != end]
    return from_transitions(rows, state_names=names, action_names=[str(option.name) for option in options])


@told
def hallways(goal: str | tuple[int, int] = "east") -> list[Option]:
    """Return the eight options of `four_rooms`, for the states of its single steps.

    With `four_rooms(goal=goal, with_options=False)` they are what `sojourn.envs.Options` and `sojourn.models.from_options` take.

    >>> from sojourn.models.option_models import from_options
    >>> whole = from_options(four_rooms(with_options=False), hallways())
    >>> whole.num_pairs, float(round(whole.duration[0], 3))  # from the corner to the north hallway takes this many steps
    (206, 12.477)
    """
    end = _goal(goal)
    return [
        option._replace(
            policy=np.delete(np.asarray(option.policy), end),
            termination=np.delete(np.asarray(option.termination), end),
            initiation=np.delete(np.asarray(option.initiation), end),
        )
        for option in _to_hallways(end)
    ]


def _goal(goal: str | tuple[int, int]) -> int:
    """Return the number of the goal's cell."""
    cell = _HALLWAYS.get(goal) if isinstance(goal, str) else (goal[0], goal[1])
    end = -1 if cell is None else _NUMBER.get(cell, -1)
    if end < 1:
        raise ValueError(
            f"goal is {goal!r}; it must be a hallway ({', '.join(_HALLWAYS)}) or a free cell (row, column), not the start"
        )
    return end


def _to_hallways(end: int) -> list[Option]:
    """Return the options of all rooms."""
    return [
        _to_hallway(end, room, target, other)
        for room, (_, _, (one, two)) in _ROOMS.items()
        for target, other in ((one, two), (two, one))
    ]


def _steps(goal: int, slip: float, goal_reward: float) -> SMDP:
    """Return the model of single steps, with a goal that is never left."""
    count = len(_CELLS)
    chances, rewards = np.zeros((2, count, 4, count))
    for number, (row, column) in enumerate(_CELLS):
        after = [_NUMBER.get((row + down, column + right), number) for _, down, right in _MOVES]
        for action in range(4):
            for move in range(4):
                chances[number, action, after[move]] += 1.0 - slip if move == action else slip / 3.0
    chances[goal] = 0.0
    chances[goal, :, goal] = 1.0
    rewards[:, :, goal] = goal_reward
    return from_arrays(chances, rewards, action_names=[name for name, *_ in _MOVES])


def _to_hallway(goal: int, room: str, target: str, other: str) -> Option:
    """Return the option that goes to one hallway of a room."""
    rows, columns, _ = _ROOMS[room]
    inside = {(row, column) for row in rows for column in columns}
    policy, begins, ends = np.full(len(_CELLS), -1), np.zeros(len(_CELLS), dtype=bool), np.ones(len(_CELLS))
    distance = {_HALLWAYS[target]: 0}
    shell = [_HALLWAYS[target]]
    for row, column in shell:  # the list grows meanwhile: breadth-first search
        for action in range(4):
            _, down, right = _MOVES[action]
            cell = (row - down, column - right)
            if cell not in inside | {_HALLWAYS[other]}:
                continue
            if cell not in distance:
                distance[cell] = distance[row, column] + 1
                shell.append(cell)
                policy[_NUMBER[cell]] = action
            elif distance[cell] == distance[row, column] + 1:
                policy[_NUMBER[cell]] = min(policy[_NUMBER[cell]], action)
    begins[[_NUMBER[cell] for cell in inside | {_HALLWAYS[other]}]] = True
    ends[[_NUMBER[cell] for cell in inside]] = 0.0
    # Nothing is chosen at the goal; it is removed at the end.
    policy[goal], begins[goal], ends[goal] = 0, True, 1.0
    return Option(policy, ends, begins, f"{room} to {target}")


def _lengths(steps: SMDP, option: Option) -> Iterator[tuple[int, int, float, float]]:
    """Yield (state, where it ends, probability, number of steps) for an option.

    With P the chain of its policy, C(s, s') = P(s, s') (1 - beta(s')) and E(s, s') = P(s, s') beta(s'), the law of its end
    after exactly k steps is C^(k - 1) E. Once longer ways are rare, they are lumped together with their mean.
    """
    policy = np.asarray(option.policy)
    states = np.flatnonzero(policy >= 0)
    stop = np.broadcast_to(np.asarray(option.termination), len(_CELLS))
    chain = np.zeros((len(states), len(_CELLS)))
    for place, state in enumerate(states.tolist()):
        pair = steps.pair(state, int(policy[state]))
        rows = slice(steps.row_offsets[pair], steps.row_offsets[pair + 1])
        np.add.at(chain[place], steps.successor[rows], steps.probability[rows])
    exits = np.flatnonzero((chain * stop).any(axis=0))
    goes_on, ends = (chain * (1.0 - stop))[:, states], (chain * stop)[:, exits]
    if np.linalg.matrix_power(goes_on, _LONGEST).sum(axis=1).max() >= _RARE:
        raise ValueError(
            f"with this slip, the option {option.name} may take more than {_LONGEST:,} steps; slip must be smaller, "
            "such as 0.8, or with_options false"
        )
    system = np.eye(len(states)) - goes_on
    left = np.linalg.solve(system, ends)  # the law of the ends after more than `length` steps
    length = 0
    while left.sum(axis=1).max() >= _RARE:
        length += 1
        for place, at in np.argwhere(ends):
            yield int(states[place]), int(exits[at]), float(ends[place, at]), float(length)
        left, ends = goes_on @ left, goes_on @ ends
    more = np.linalg.solve(system, left)
    for place, at in np.argwhere(left):
        mean = length + more[place, at] / left[place, at]
        yield int(states[place]), int(exits[at]), float(left[place, at]), float(mean)


def _shifted(cell: int, goal: int) -> int:
    """Return the state of a cell; the goal is left out, and leads to the start."""
    return 0 if cell == goal else cell - (cell > goal)
